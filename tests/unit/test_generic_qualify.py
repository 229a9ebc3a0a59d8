"""The self-check before any judgement, proved able to fail; and the digest of what judges."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pytest_kernelverify
from pytest_kernelverify.operations.generic import (
    arithmetic,
    choosing,
    contraction,
    decode,
    dispatch,
    exact,
    implementation_digest,
    indexing,
    integer,
    ordering,
    qualify,
    reduction,
    rounding,
    summing,
)
from pytest_kernelverify.operations.generic.digest import implementation_files

PACKAGE = Path(pytest_kernelverify.__file__).parent
MODULES = (
    arithmetic,
    choosing,
    contraction,
    dispatch,
    exact,
    indexing,
    integer,
    ordering,
    reduction,
    rounding,
    summing,
)


def test_generic_qualifies_itself() -> None:
    assert qualify() == []


def test_the_self_check_takes_less_than_a_moment() -> None:
    qualify()
    started = time.process_time()
    qualify()
    assert time.process_time() - started < 0.2  # 10 ms; generous, so that a loaded machine does not decide


def truncating(real: Any) -> Any:
    def round_words(negative: Any, mantissa: Any, exponent: Any, sticky: Any = False) -> Any:
        drop = np.maximum(decode.bit_length(mantissa) - 24, np.minimum(np.maximum(-149 - exponent, 0), 61))
        return real(negative, mantissa >> np.maximum(drop, 0), exponent + np.maximum(drop, 0))

    return round_words


def away_from_zero(real: Any) -> Any:
    return lambda value, drop: value << -drop if drop <= 0 else (value + (1 << (drop - 1))) >> drop


def flushing(real: Any) -> Any:
    def round_words(*parts: Any) -> Any:
        words = real(*parts)
        return np.where(words & 0x7F800000, words, words & 0x80000000).astype(np.uint32)

    return round_words


def unsigned_zero(real: Any) -> Any:
    def round_words(*parts: Any) -> Any:
        words = real(*parts)
        return np.where(words == 0x80000000, 0, words).astype(np.uint32)

    return round_words


# What is broken: the function, wherever a module has it, and what takes its place.
MUTANTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "truncation": ("round_words", truncating),
    "halves away from zero": ("round_words", lambda real: lambda n, m, e, s=False: real(n, m, e, True)),
    "halves away from zero in products": ("round_even", away_from_zero),
    "no sticky bit": ("round_words", lambda real: lambda n, m, e, s=False: real(n, m, e)),
    "flushed subnormals": ("round_words", flushing),
    "a lost sign of zero": ("round_words", unsigned_zero),
    "an exact scan or scatter": ("never_rounds", lambda real: lambda *parts: True),
    "an exact convolution": ("_never_rounds", lambda real: lambda *parts: True),
    "the order reversed": ("running_sums", lambda real: lambda terms, *rest: real(terms[::-1], *rest)),
    "unstable sorts": ("_stable", lambda real: lambda x, *rest: real(x[..., ::-1], *rest)),
    "zeros told apart": ("order", lambda real: decode.rank),
    "zeros not told apart": ("rank", lambda real: decode.order),
    "infinities dropped": ("linear_specials", lambda real: lambda *parts: None),
    "infinities dropped from products": ("product_classes", lambda real: lambda x, y: (x.nan, x.nan, real(x, y)[2])),
    "unchecked integers": ("in_range", lambda real: lambda name, values: (values & 0xFFFFFFFF).astype(np.uint32)),
    "unchecked indices": ("_rows", lambda real: lambda name, matrix, index: decode.integers(index) * 0),
    "sums cut to one limb": ("_carry", lambda real: lambda limbs, step: limbs * (np.arange(len(limbs)) > 0)[:, None]),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_reference_does_not_qualify(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, change = MUTANTS[mutant]
    holders = [module for module in MODULES if hasattr(module, name)]
    assert holders != []
    for module in holders:
        monkeypatch.setattr(module, name, change(getattr(module, name)))
    assert qualify() != []


def test_a_failure_names_the_plan_and_both_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetic, "round_words", truncating(rounding.round_words))
    (failure,) = [failure for failure in qualify() if failure.startswith("sqrt")]
    assert failure.startswith("sqrt(f32)->f32 compute=f32 gives 3FB504F3")
    assert "; expected 3FB504F3" in failure


def test_the_digest_covers_generic_and_what_it_imports() -> None:
    files = implementation_files()
    own = {f"operations/generic/{path.name}" for path in (PACKAGE / "operations" / "generic").glob("*.py")}
    assert set(files) == own | {"operations/plan.py", "operations/table.py"}
    assert len(implementation_digest()) == 64


def copied(tmp_path: Path) -> Path:
    root = tmp_path / "pytest_kernelverify"
    shutil.copytree(PACKAGE / "operations", root / "operations", ignore=shutil.ignore_patterns("__pycache__"))
    return root


def test_the_digest_is_that_of_the_contents_and_not_of_the_place(tmp_path: Path) -> None:
    root = copied(tmp_path)
    assert implementation_digest(root) == implementation_digest()
    other = copied(tmp_path / "other")
    for path in other.rglob("*.py"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert implementation_digest(other) == implementation_digest()


@pytest.mark.parametrize("name", implementation_files())
def test_one_changed_byte_in_any_file_changes_the_digest(name: str, tmp_path: Path) -> None:
    root = copied(tmp_path)
    path = root / name
    path.write_bytes(path.read_bytes() + b"#\n")
    assert implementation_digest(root) != implementation_digest()


def test_an_import_inside_a_function_is_followed(tmp_path: Path) -> None:
    root = copied(tmp_path)
    (root / "numerics").mkdir()
    (root / "numerics" / "extra.py").write_text("X = 1\n")
    path = root / "operations" / "generic" / "decode.py"
    lazy = "def f():\n    if True:\n        from pytest_kernelverify.numerics import extra\n        return extra\n"
    path.write_text(path.read_text() + "\n\n" + lazy)
    assert "numerics/extra.py" in implementation_files(root)


def test_a_relative_import_is_refused_because_the_digest_would_miss_it(tmp_path: Path) -> None:
    root = copied(tmp_path)
    path = root / "operations" / "generic" / "decode.py"
    path.write_text(path.read_text() + "from . import answer\n")
    with pytest.raises(ValueError, match=r"decode\.py imports relatively"):
        implementation_files(root)


def test_generic_computes_without_floating_point_arrays_or_compiled_code() -> None:
    for path in (PACKAGE / "operations" / "generic").glob("*.py"):
        source = path.read_text(encoding="utf-8")
        for word in (
            "np.float",
            "float32",
            "float64",
            "_oracle",
            "cffi",
            "ctypes",
            "np.sqrt",
            "np.frexp",
            "true_divide",
        ):
            assert word not in source, f"{path.name} mentions {word}"
