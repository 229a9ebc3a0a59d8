"""Whether a manifest is complete: against the operations table, against its provider, and against the oracle's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

from pytest_kernelverify.catalog.profile import (
    ClassificationDisposition,
    PlanClassification,
    ProfileManifest,
    SubjectClassification,
    VerificationProfile,
    VerificationStage,
)
from pytest_kernelverify.operations.facts import ArithmeticFacts
from pytest_kernelverify.operations.plan import VerificationClass
from pytest_kernelverify.operations.table import OPERATIONS, SUBJECTS, check_legal, required_classes

__all__ = ["check_against_oracle", "check_manifest", "same"]

# Each provider of each carrier, and the floating accumulators that its kernels have: Metal has no Float64.
PROVIDERS = {("cpu", "c-library"): ("f32", "f64"), ("metal", "tilelang"): ("f32",)}
_PROFILE_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_VARIANT = re.compile(r"[a-z][a-z0-9_]*")


def same(given: Any, installed: Any) -> bool:
    """Whether two catalog records are equal field for field, each of exactly the same type: no ``__eq__`` is asked."""
    if type(given) is not type(installed):
        return False
    if isinstance(installed, tuple):
        return len(given) == len(installed) and all(map(same, given, installed))
    if is_dataclass(installed):
        named = [field.name for field in fields(installed) if field.compare]
        return all(same(getattr(given, name), getattr(installed, name)) for name in named)
    return bool(given == installed)


def check_manifest(manifest: ProfileManifest) -> None:
    """ValueError unless kernels, plans, classes and subjects are complete, unique, known and as they must be."""
    _check_profile(manifest.profile)
    for what, names in (
        ("kernel", [(kernel.kernel_id, kernel.variant) for kernel in manifest.kernels]),
        ("operation and variant", [(kernel.operation, kernel.variant) for kernel in manifest.kernels]),
        ("plan", [(row.plan.text, row.kernel.variant) for row in manifest.plans]),
        ("plan token", [(row.plan.token, row.kernel.variant) for row in manifest.plans]),
        ("subject", [row.subject for row in manifest.subjects]),
    ):
        _refuse_duplicates(what, names)
    carrying = {subject.operation for subject in SUBJECTS.values()}
    _refuse_difference("operation", {kernel.operation for kernel in manifest.kernels}, {*OPERATIONS, *carrying})
    _refuse_difference("subject", {row.subject for row in manifest.subjects}, set(SUBJECTS))
    planned = {row.kernel for row in manifest.plans}
    for kernel in manifest.kernels:
        if kernel.profile_id != manifest.profile.profile_id:
            raise ValueError(f"kernel {kernel.kernel_id} belongs to profile {kernel.profile_id!r}")
        if not _VARIANT.fullmatch(kernel.variant):
            raise ValueError(f"kernel {kernel.kernel_id}: variant is {kernel.variant!r}; expected a lower-case name")
        if kernel.operation in OPERATIONS and kernel not in planned:
            raise ValueError(f"kernel {kernel.kernel_id} has no plan")
    for plan in manifest.plans:
        _check_plan(plan, manifest)
    for subject in manifest.subjects:
        _check_subject(subject, manifest)


def _check_profile(profile: VerificationProfile) -> None:
    exact = (str, str, str, tuple, ArithmeticFacts, str, bool)
    if type(profile) is not VerificationProfile:
        raise ValueError(f"profile is a {type(profile).__name__}; expected exactly a VerificationProfile")
    for field, kind in zip(fields(profile), exact, strict=True):
        if type(getattr(profile, field.name)) is not kind:
            raise ValueError(f"{field.name} is {getattr(profile, field.name)!r}; expected exactly a {kind.__name__}")
    if not _PROFILE_ID.fullmatch(profile.profile_id):
        raise ValueError(f"profile_id is {profile.profile_id!r}; expected lower-case words joined by '-'")
    if (profile.carrier, profile.provider) not in PROVIDERS:
        known = ", ".join(f"{carrier}/{provider}" for carrier, provider in PROVIDERS)
        raise ValueError(f"unknown carrier/provider {profile.carrier!r}/{profile.provider!r}; known pairs: {known}")
    if not profile.stages or len(set(profile.stages)) != len(profile.stages):
        raise ValueError("stages must name at least one role, each once")
    if profile.layouts not in ("nested", "one stride per axis"):
        raise ValueError(f"layouts is {profile.layouts!r}; expected 'nested' or 'one stride per axis'")


def _check_plan(row: PlanClassification, manifest: ProfileManifest) -> None:
    row.plan.validate()
    if row.kernel not in manifest.kernels:
        raise ValueError(f"plan {row.plan.text} names the unknown kernel {row.kernel.kernel_id!r}")
    if row.plan.operation != row.kernel.operation:
        raise ValueError(f"plan {row.plan.text} stands under kernel {row.kernel.kernel_id} of {row.kernel.operation!r}")
    check_legal(row.plan)
    deferred = row.disposition is ClassificationDisposition.DEFERRED
    if deferred and (row.classes or not (row.reason or "").strip()):
        raise ValueError(f"plan {row.plan.text} is deferred: it needs a reason and no classes")
    if not deferred and (row.reason is not None or not row.classes):
        raise ValueError(f"plan {row.plan.text} is active: it needs at least one class and no reason")
    order = list(VerificationClass)
    if VerificationClass.DEFERRED in row.classes or list(row.classes) != sorted(set(row.classes), key=order.index):
        raise ValueError(f"plan {row.plan.text}: classes must be active, unique and in their order")
    if row.classes != required_classes(row.plan):
        raise ValueError(
            f"plan {row.plan.text} is {_classes(row.classes)}; required: {_classes(required_classes(row.plan))}"
        )


def _classes(classes: Iterable[VerificationClass]) -> str:
    return ", ".join(member.value for member in classes) or "deferred with a reason"


def _check_subject(row: SubjectClassification, manifest: ProfileManifest) -> None:
    subject = SUBJECTS[row.subject]
    if row.kind != subject.kind:
        raise ValueError(f"subject {row.subject} is {row.kind!r}; expected {subject.kind!r}")
    if row.kernel not in manifest.kernels:
        raise ValueError(f"subject {row.subject} names the unknown kernel {row.kernel.kernel_id!r}")
    if row.kernel.operation != subject.operation:
        raise ValueError(
            f"subject {row.subject} runs on {row.kernel.kernel_id} of {row.kernel.operation!r};"
            f" expected a kernel of {subject.operation!r}"
        )
    expected = VerificationClass.BIT_EXACT if row.kind == "movement" else VerificationClass.STRUCTURAL
    if row.classes != (expected,):
        raise ValueError(f"subject {row.subject} must have exactly the class {expected.value}")


def check_against_oracle(manifest: ProfileManifest, oracle: ProfileManifest) -> None:
    """ValueError unless a target has every plan of the oracle with an accumulator its provider has, and no other.

    Any other plan could never be judged, and one that is left out would be lost in silence.
    """
    profile = manifest.profile
    if VerificationStage.TARGET not in profile.stages:
        return
    accumulators = (None, *PROVIDERS[profile.carrier, profile.provider])
    required = {row.plan.text for row in oracle.plans if row.plan.accumulator in accumulators}
    found = {row.plan.text for row in manifest.plans}
    if found != required:
        raise ValueError(
            f"plans do not match those of {oracle.profile.profile_id} that {profile.carrier}/{profile.provider}"
            f" computes: missing={sorted(required - found)}, unknown={sorted(found - required)}"
        )


def _refuse_duplicates(what: str, names: Iterable[object]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"duplicate {what} {name!r}")


def _refuse_difference(what: str, given: set[str], known: set[str]) -> None:
    missing, unknown = sorted(known - given), sorted(given - known)
    if missing or unknown:
        raise ValueError(f"{what}s do not match the operations table: missing={missing}, unknown={unknown}")
