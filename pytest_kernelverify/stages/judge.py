"""Judge one run against its reference: failure is a value, decided here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.diagnosis.detail import failure_detail
from pytest_kernelverify.evidence.record import Mismatch, Outcome
from pytest_kernelverify.numerics.bounds import float_above
from pytest_kernelverify.numerics.comparison import Comparison, Deviations, compare_words
from pytest_kernelverify.operations.facts import ArithmeticFacts
from pytest_kernelverify.running.run_case import CaseRun

__all__ = ["CANONICAL_NAN", "Envelope", "Expectation", "Judgement", "canonical_nans", "judge", "word_values"]

Words = npt.NDArray[Any]

CANONICAL_NAN = 0x7FC00000
_NOTHING_MEASURED = Deviations(None, None, None)


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """For each output element the exact value and the bound on |got - exact|."""

    exact: tuple[Fraction, ...]
    bounds: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Expectation:
    """What the reference says: words or an error kind, and where a bound decides, the envelope."""

    words: Words | None
    error_kind: str | None = None
    envelope: Envelope | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict on one run and what was measured on the way."""

    outcome: Outcome
    diagnostic: str | None = None
    comparison: Comparison | None = None
    first_mismatch: Mismatch | None = None
    bound: float | None = None
    worst_ratio: float | None = None
    detail: Mapping[str, Any] | None = None
    accepted: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def deviations(self) -> Deviations:
        return self.comparison.deviations if self.comparison is not None else _NOTHING_MEASURED


def canonical_nans(words: Words, dtype: str) -> Words:
    """Every NaN word becomes 0x7FC00000; other dtypes are returned as they are."""
    if dtype != "f32":
        return words
    nans = (words & 0x7FFFFFFF) > 0x7F800000
    return np.where(nans, np.uint32(CANONICAL_NAN), words) if nans.any() else words


def word_values(words: Words) -> list[Fraction | None]:
    """The exact value of each binary32 word; None for a NaN or an infinity."""
    values = words.view(np.float32).astype(np.float64).tolist()
    return [Fraction(value) if value - value == 0 else None for value in values]


def judge(case: Case, run: CaseRun, expectation: Expectation, *, payloads: bool, facts: ArithmeticFacts) -> Judgement:
    """``payloads`` compares NaN payloads (bit identity); otherwise every NaN equals every NaN."""
    if run.error is not None and run.error_kind is None:
        return Judgement(outcome=Outcome.ERROR, diagnostic=run.error)
    if run.violation is not None and run.words is None:
        return _failed_without_words(run.violation)
    if run.error_kind is not None or expectation.error_kind is not None:
        return _judge_error(run, expectation)
    assert run.words is not None
    assert expectation.words is not None
    expected, actual = expectation.words, run.words
    if not payloads:
        expected, actual = (canonical_nans(words, case.output_dtype) for words in (expected, actual))
    first = _judge_words(case, expected, actual, expectation.envelope, facts, run.violation)
    if run.other_words is None or first.outcome is not Outcome.PASSED:
        return first
    # Repeatability is not promised: the second run is judged by itself and the difference counted.
    other = run.other_words if payloads else canonical_nans(run.other_words, case.output_dtype)
    second = _judge_words(case, expected, other, expectation.envelope, facts, None)
    differing = {"repeatability": int(np.count_nonzero(run.words != run.other_words))}
    verdict = second if second.outcome is not Outcome.PASSED else first
    return Judgement(
        outcome=verdict.outcome,
        diagnostic=verdict.diagnostic,
        comparison=verdict.comparison,
        first_mismatch=verdict.first_mismatch,
        bound=verdict.bound,
        worst_ratio=verdict.worst_ratio,
        detail=verdict.detail,
        accepted=MappingProxyType({**verdict.accepted, **differing}),
    )


def _failed_without_words(violation: str) -> Judgement:
    return Judgement(outcome=Outcome.FAILED, diagnostic=violation, detail={"diagnosis": violation})


def _judge_error(run: CaseRun, expectation: Expectation) -> Judgement:
    if run.violation is not None:
        return _failed_without_words(run.violation)
    if run.error_kind == expectation.error_kind:
        return Judgement(outcome=Outcome.PASSED)
    wanted = f"the error {expectation.error_kind}" if expectation.error_kind else "a result"
    got = f"the error {run.error_kind}" if run.error_kind else "a result"
    return _failed_without_words(f"expected {wanted}, got {got}")


def _judge_words(
    case: Case,
    expected: Words,
    actual: Words,
    envelope: Envelope | None,
    facts: ArithmeticFacts,
    violation: str | None,
) -> Judgement:
    comparison, index = compare_words(expected, actual, case.output_dtype)
    mismatch = None
    if index is not None:
        mismatch = Mismatch(_coordinate(case, index), int(expected[index]), int(actual[index]))
    accepted: dict[str, int] = {}
    bound = ratio = diagnostic = None
    if envelope is not None:
        wrong, bound, ratio, diagnostic = _outside(case, actual, envelope)
    elif index is None:
        wrong = np.zeros(actual.shape, dtype=bool)
    else:
        wrong = expected != actual
        accepted = _accept(expected, actual, case.output_dtype, facts, wrong)
        if wrong.any():
            where = int(wrong.argmax())
            diagnostic = (
                f"{int(np.count_nonzero(wrong))} of {wrong.size} word(s) differ, the first at"
                f" {list(_coordinate(case, where))}: got {_shown(actual[where], case)}, want"
                f" {_shown(expected[where], case)}"
            )
            mismatch = Mismatch(_coordinate(case, where), int(expected[where]), int(actual[where]))
    diagnostic = violation or diagnostic
    detail = None
    if diagnostic is not None:
        extents = case.output_layout.extents
        detail = failure_detail(expected, actual, case.output_dtype, extents, wrong, diagnostic)
    return Judgement(
        outcome=Outcome.PASSED if diagnostic is None else Outcome.FAILED,
        diagnostic=diagnostic,
        comparison=comparison,
        first_mismatch=mismatch,
        bound=bound,
        worst_ratio=ratio,
        detail=detail,
        accepted=MappingProxyType(accepted),
    )


def _outside(
    case: Case, actual: Words, envelope: Envelope
) -> tuple[npt.NDArray[np.bool_], float | None, float | None, str | None]:
    """Which elements lie outside their envelope, the bound and ratio at the worst one, and the diagnostic."""
    wrong = np.zeros(actual.shape, dtype=bool)
    worst: tuple[Fraction, int] | None = None
    lost = None
    for index, (got, exact, bound) in enumerate(
        zip(word_values(actual), envelope.exact, envelope.bounds, strict=True)
    ):
        if got is None:
            wrong[index] = True
            lost = index if lost is None else lost
            continue
        error = abs(got - exact)
        wrong[index] = error > bound
        share = error / bound
        if worst is None or share > worst[0]:
            worst = share, index
    if lost is not None:
        text = f"got {_shown(actual[lost], case)} at {list(_coordinate(case, lost))} where the exact result is finite"
        return wrong, float_above(envelope.bounds[lost]), float("inf"), text
    if worst is None:
        return wrong, None, None, None
    at_worst, index = worst
    ratio = float(at_worst)
    limit = float_above(envelope.bounds[index])
    if not wrong.any():
        return wrong, limit, ratio, None
    off = float(at_worst * envelope.bounds[index])
    text = (
        f"{int(np.count_nonzero(wrong))} of {wrong.size} element(s) outside the envelope; worst at"
        f" {list(_coordinate(case, index))}: |error| {off:.6g} is {ratio:.4g} times its bound {limit:.6g}"
    )
    return wrong, limit, ratio, text


def _accept(
    expected: Words, actual: Words, dtype: str, facts: ArithmeticFacts, wrong: npt.NDArray[np.bool_]
) -> dict[str, int]:
    """Unmark in ``wrong`` what a looser declared fact allows, and count it."""
    if dtype != "f32":
        return {}
    zero = np.uint32(0x7FFFFFFF)
    allowed = {
        "signed_zero": (facts.signed_zero == "unspecified") & ((expected & zero) == 0) & ((actual & zero) == 0),
        "nan": (facts.nan != "propagates") & ((expected & zero) > 0x7F800000),
        "subnormals": (facts.subnormals != "preserved")
        & ((expected & zero) < 0x00800000)
        & ((expected & zero) > 0)
        & ((actual & zero) == 0),
    }
    accepted = {}
    for fact, mask in allowed.items():
        count = int(np.count_nonzero(mask & wrong))
        if count:
            accepted[fact] = count
            wrong &= ~mask
    return accepted


def _coordinate(case: Case, index: int) -> tuple[int, ...]:
    extents = case.output_layout.extents
    return tuple(int(part) for part in np.unravel_index(index, extents)) if extents else ()


def _shown(word: Any, case: Case) -> str:
    """A word as its value and its bits."""
    if case.output_dtype == "f32":
        return f"{np.uint32(word).view(np.float32):.9g} (0x{int(word):08X})"
    return str(int(word) - (1 << 32) if case.output_dtype == "i32" and int(word) >> 31 else int(word))
