"""Only the installed profile itself is accepted: exact records, exact field types, exact selectors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_kernelverify import (
    ArithmeticFacts,
    VerificationProfile,
    classify_profile_plans,
    kernel_manifest,
    run_oracle_stage,
    verification_profile,
    verify_backend,
)

CPU = verification_profile("cpu-compiled")


class Agreeable:
    """Equal to whatever it is compared with, under any hash."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


class AgreeableProfile(Agreeable, VerificationProfile):
    __slots__ = ()
    __hash__ = VerificationProfile.__hash__


class AgreeableFacts(Agreeable, ArithmeticFacts):
    __slots__ = ()
    __hash__ = ArithmeticFacts.__hash__


class Text(str):
    """A string that nothing distinguishes but its type."""

    __slots__ = ()


class AgreeableText(Agreeable, str):
    """A string that hashes and compares as cpu-compiled."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash("cpu-compiled")


def of(kind: type[VerificationProfile], **change: Any) -> VerificationProfile:
    return kind(**{field.name: getattr(CPU, field.name) for field in fields(CPU)} | change)


entries = pytest.mark.parametrize("entry", [kernel_manifest, classify_profile_plans, run_oracle_stage])


@entries
def test_a_subclass_of_a_profile_is_a_type_error_whatever_it_equals(entry: Callable[[Any], Any]) -> None:
    forged = of(AgreeableProfile, carrier="metal")
    assert forged == CPU
    with pytest.raises(TypeError, match="profile must be a VerificationProfile, not AgreeableProfile"):
        entry(forged)


@entries
@pytest.mark.parametrize(
    "change",
    [
        {"error_channel": 1},
        {"facts": AgreeableFacts(nan="ignored")},
        {"carrier": Text("cpu")},
        {"provider": AgreeableText("c-library")},
        {"profile_id": Text("cpu-compiled")},
        {"layouts": Text("nested")},
        {"stages": tuple(Agreeable() for _ in CPU.stages)},
        {"stages": list(CPU.stages)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_profile_with_fields_that_only_compare_equal_is_a_value_error(
    entry: Callable[[Any], Any], change: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="profile 'cpu-compiled' differs from the installed profile of that id"):
        entry(replace(CPU, **change))


def test_a_copy_of_the_installed_profile_is_the_installed_profile() -> None:
    assert kernel_manifest(replace(CPU)) is kernel_manifest(CPU)


def test_a_selector_of_a_string_subclass_means_its_characters() -> None:
    assert verification_profile(Text("cpu-compiled")) is verification_profile("cpu-compiled")


def test_a_selector_that_compares_as_another_profile_is_unknown() -> None:
    selector = AgreeableText("nothing")
    assert selector == "cpu-compiled"
    for attempt in (verification_profile, verify_backend):
        with pytest.raises(ValueError, match="unknown profile 'nothing'; known profiles: cpu-compiled"):
            attempt(selector)


def test_a_validation_library_is_imported_only_when_a_profile_is_read(tmp_path: Path) -> None:
    code = (
        "import sys\nimport pytest_kernelverify.verify as verify\nbefore = 'pydantic' in sys.modules\n"
        "verify.resolve_target('cpu-compiled')\nprint(before, 'pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
