"""Judge one run against its reference: failure is a value, decided here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
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

__all__ = [
    "CANONICAL_NAN",
    "LEAST_EXPONENT",
    "Envelope",
    "Expectation",
    "Judgement",
    "canonical_nans",
    "errored",
    "judge",
    "outside",
]

Words = npt.NDArray[Any]

CANONICAL_NAN = 0x7FC00000
LEAST_EXPONENT = -150
"""Every finite binary32 value, and half the smallest subnormal, is an integer times 2 to this power."""
_NOTHING_MEASURED = Deviations(None, None, None)


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """For each output element the exact value and the bound on |got - exact|, in integers.

    Element i is ``exact[i] * 2**exponent``, its bound ``bounds[i] / denominators[i] * 2**exponent``; ``exponent`` is at
    most LEAST_EXPONENT.
    """

    exact: tuple[int, ...]
    bounds: tuple[int, ...]
    denominators: tuple[int, ...]
    exponent: int

    def bound_at(self, index: int) -> float:
        """The bound of one element as a float that is not below it."""
        return float_above(Fraction(self.bounds[index], self.denominators[index] << -self.exponent))

    def largest_bound(self) -> float:
        """The largest bound of all elements; 0 of none."""
        return max(map(self.bound_at, range(len(self.bounds))), default=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Expectation:
    """What the reference says: words or an error kind, and where a bound decides, the envelope."""

    words: Words | None
    error_kind: str | None = None
    envelope: Envelope | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict on one run and what was measured on the way.

    ``largest_bound`` is kept where an error prevented a comparison that an envelope would have decided.
    """

    outcome: Outcome
    diagnostic: str | None = None
    comparison: Comparison | None = None
    first_mismatch: Mismatch | None = None
    bound: float | None = None
    worst_ratio: float | None = None
    largest_bound: float | None = None
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


def outside(words: Words, envelope: Envelope) -> tuple[list[int], int | None, float]:
    """Which elements lie outside their envelope, in order; the worst one and its |error|/bound.

    The decision is exact. A NaN or an infinity is outside, and the first one is the worst; of nothing None is.
    """
    shift = -149 - envelope.exponent
    wrong = []
    worst, ratio = None, -1.0
    for index, word, exact, bound, denominator in zip(
        count(), words.tolist(), envelope.exact, envelope.bounds, envelope.denominators
    ):
        field, mantissa = (word >> 23) & 0xFF, word & 0x7FFFFF
        if field == 0xFF:
            wrong.append(index)
            if ratio < float("inf"):
                worst, ratio = index, float("inf")
            continue
        got = (mantissa | 0x800000) << (field - 1 + shift) if field else mantissa << shift
        error = abs((-got if word >> 31 else got) - exact) * denominator
        if error > bound:
            wrong.append(index)
        share = error / bound
        if share > ratio:
            worst, ratio = index, share
    return wrong, worst, ratio


def judge(case: Case, run: CaseRun, expectation: Expectation, *, payloads: bool, facts: ArithmeticFacts) -> Judgement:
    """``payloads`` compares NaN payloads (bit identity); otherwise every NaN equals every NaN."""
    if run.error is not None and run.error_kind is None:
        return errored(run.error, expectation.envelope)
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


def errored(reason: str, envelope: Envelope | None = None) -> Judgement:
    """The judgement of a case that could not be compared; it retains what would have been tolerated."""
    return Judgement(
        outcome=Outcome.ERROR,
        diagnostic=reason,
        largest_bound=envelope.largest_bound() if envelope is not None else None,
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
        wrong, bound, ratio, diagnostic = _bounded(case, actual, envelope)
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


def _bounded(
    case: Case, actual: Words, envelope: Envelope
) -> tuple[npt.NDArray[np.bool_], float | None, float | None, str | None]:
    """Which elements lie outside their envelope, the bound and ratio at the worst one, and the diagnostic."""
    if not actual.size == len(envelope.exact) == len(envelope.bounds) == len(envelope.denominators):
        raise ValueError(f"the result has {actual.size} elements and its envelope {len(envelope.exact)}")
    indices, worst, ratio = outside(actual, envelope)
    wrong = np.zeros(actual.shape, dtype=bool)
    wrong[indices] = True
    if worst is None:
        return wrong, None, None, None
    bound, where = envelope.bound_at(worst), list(_coordinate(case, worst))
    if not indices:
        return wrong, bound, ratio, None
    if ratio == float("inf"):
        text = f"got {_shown(actual[worst], case)} at {where} where the exact result is finite"
        return wrong, bound, ratio, text
    text = (
        f"{len(indices)} of {wrong.size} element(s) outside the envelope; worst at {where}: |error|"
        f" {ratio * bound:.6g} is {ratio:.4g} times its bound {bound:.6g}"
    )
    return wrong, bound, ratio, text


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
