"""The judge: what counts as right, what a declared fact accepts, and where an envelope ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from fake_carrier import THREE, case, operand, raw, words
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.evidence.record import Outcome
from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.operations.facts import STRICT, ArithmeticFacts
from pytest_kernelverify.operations.plan import VerificationClass
from pytest_kernelverify.running.run_case import CaseRun
from pytest_kernelverify.stages.judge import (
    CANONICAL_NAN,
    LEAST_EXPONENT,
    Envelope,
    Expectation,
    Judgement,
    canonical_nans,
    judge,
    outside,
)

NAN, OTHER_NAN, NEGATIVE_NAN, SIGNALLING = 0x7FC00000, 0x7FC01234, 0xFFC00000, 0x7F800001
ZERO, NEGATIVE_ZERO, SUBNORMAL, INFINITY = 0, 0x80000000, 0x00000123, 0x7F800000


def judged(
    expected: Any,
    actual: Any,
    *,
    payloads: bool = False,
    facts: ArithmeticFacts = STRICT,
    dtype: str = "f32",
    **run: Any,
) -> Judgement:
    """The verdict on words that were compared, not bounded."""
    found = CaseRun(words=actual, **run)
    return judge(_case(actual, dtype), found, Expectation(expected), payloads=payloads, facts=facts)


def _case(actual: Any, dtype: str = "f32", extents: tuple[int, ...] | None = None) -> Case:
    layout = Layout.compact((actual.size,) if extents is None else extents)
    return case(operand(np.zeros(layout.size, dtype=np.uint32), layout), output=layout, output_dtype=dtype)


# Words -------------------------------------------------------------------------------------------------------------


def test_equal_words_pass_with_zero_deviations() -> None:
    verdict = judged(THREE.words, THREE.words)
    assert verdict.outcome is Outcome.PASSED
    assert verdict.deviations.maximum_ulps == 0
    assert (verdict.diagnostic, verdict.first_mismatch, verdict.detail) == (None, None, None)
    assert verdict.comparison is not None
    assert verdict.comparison.mismatches == 0


@pytest.mark.parametrize("payloads", [False, True])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("step", [1, -1])
def test_one_ulp_off_fails_at_every_place(place: int, step: int, payloads: bool) -> None:
    actual = THREE.words.copy()
    actual[place] = int(actual[place]) + step
    verdict = judged(THREE.words, actual, payloads=payloads)
    assert verdict.outcome is Outcome.FAILED
    assert verdict.deviations.maximum_ulps == 1
    assert verdict.first_mismatch is not None
    assert verdict.first_mismatch.coordinate == (place,)
    assert (verdict.first_mismatch.expected, verdict.first_mismatch.actual) == (THREE.words[place], actual[place])
    assert str(verdict.diagnostic).startswith(f"1 of 3 word(s) differ, the first at [{place}]: got ")


def test_a_failure_shows_value_and_word_of_both_sides() -> None:
    verdict = judged(words(1.0), raw(0x3F800001))
    assert verdict.diagnostic == (
        "1 of 1 word(s) differ, the first at [0]: got 1.00000012 (0x3F800001), want 1 (0x3F800000)"
    )


@pytest.mark.parametrize(("dtype", "word", "shown"), [("i32", 0xFFFFFFFF, "-1"), ("i32", 7, "7"), ("bool", 2, "2")])
def test_an_integer_failure_shows_the_integer(dtype: str, word: int, shown: str) -> None:
    kind = np.uint8 if dtype == "bool" else np.uint32
    verdict = judged(raw(0, dtype=kind), raw(word, dtype=kind), dtype=dtype)
    assert verdict.outcome is Outcome.FAILED
    assert f"got {shown}, want 0" in str(verdict.diagnostic)


@pytest.mark.parametrize("byte", [2, 0x80, 0xFF])
def test_a_bool_byte_that_is_neither_0_nor_1_fails(byte: int) -> None:
    verdict = judged(raw(1, dtype=np.uint8), raw(byte, dtype=np.uint8), dtype="bool")
    assert verdict.outcome is Outcome.FAILED


@pytest.mark.parametrize("actual", [NAN, OTHER_NAN, NEGATIVE_NAN, SIGNALLING])
def test_nan_payloads_may_differ_in_arithmetic(actual: int) -> None:
    assert judged(raw(NAN), raw(actual)).outcome is Outcome.PASSED
    assert judged(raw(actual), raw(NAN)).outcome is Outcome.PASSED


@pytest.mark.parametrize("actual", [OTHER_NAN, NEGATIVE_NAN, SIGNALLING])
def test_a_different_nan_payload_fails_bit_identity(actual: int) -> None:
    verdict = judged(raw(NAN), raw(actual), payloads=True)
    assert verdict.outcome is Outcome.FAILED
    assert verdict.comparison is not None
    assert verdict.comparison.nan_payload_mismatches == 1
    assert verdict.deviations.maximum_absolute is None


@pytest.mark.parametrize("payloads", [False, True])
@pytest.mark.parametrize("number", [0x3F800000, INFINITY, ZERO])
def test_a_nan_only_ever_equals_a_nan(number: int, payloads: bool) -> None:
    assert judged(raw(NAN), raw(number), payloads=payloads).outcome is Outcome.FAILED
    assert judged(raw(number), raw(NAN), payloads=payloads).outcome is Outcome.FAILED


@pytest.mark.parametrize("payloads", [False, True])
def test_the_sign_of_zero_counts(payloads: bool) -> None:
    verdict = judged(raw(ZERO), raw(NEGATIVE_ZERO), payloads=payloads)
    assert verdict.outcome is Outcome.FAILED
    assert verdict.comparison is not None
    assert verdict.comparison.signed_zero_mismatches == 1


def test_an_integer_word_that_looks_like_a_nan_is_compared_as_it_is() -> None:
    assert judged(raw(NAN), raw(OTHER_NAN), dtype="i32").outcome is Outcome.FAILED


def test_canonical_nans_changes_nans_and_nothing_else() -> None:
    given_words = raw(NAN, OTHER_NAN, NEGATIVE_NAN, SIGNALLING, 0xFF800000, INFINITY, SUBNORMAL, 0x3F800000)
    expected = [CANONICAL_NAN] * 4 + [0xFF800000, INFINITY, SUBNORMAL, 0x3F800000]
    assert canonical_nans(given_words, "f32").tolist() == expected
    assert canonical_nans(given_words, "i32") is given_words


def test_a_result_of_another_length_is_no_verdict_but_an_exception() -> None:
    with pytest.raises(ValueError, match="compare equal lengths"):
        judged(words(1.0, 2.0), words(1.0))


def test_an_empty_result_passes_with_nothing_compared() -> None:
    assert judged(raw(), raw()).outcome is Outcome.PASSED


# Violations and failures -------------------------------------------------------------------------------------------


def test_a_violation_fails_even_where_all_words_are_right() -> None:
    verdict = judged(THREE.words, THREE.words, violation="guard of the output was written")
    assert verdict.outcome is Outcome.FAILED
    assert verdict.diagnostic == "guard of the output was written"
    assert verdict.first_mismatch is None
    assert verdict.detail is not None
    assert verdict.detail["wrong"] == 0


def test_a_violation_is_named_before_wrong_words_which_are_still_measured() -> None:
    verdict = judged(THREE.words, THREE.words + np.uint32(1), violation="guard written")
    assert verdict.diagnostic == "guard written"
    assert verdict.first_mismatch is not None
    assert verdict.comparison is not None
    assert verdict.comparison.mismatches == 3


def test_a_violation_without_words_is_a_failure_without_measurements() -> None:
    verdict = judge(
        case(THREE), CaseRun(violation="two runs gave overflow and index"), Expectation(THREE.words), payloads=False,
        facts=STRICT,
    )  # fmt: skip
    assert verdict.outcome is Outcome.FAILED
    assert verdict.comparison is None
    assert verdict.detail == {"diagnosis": "two runs gave overflow and index"}


def test_a_run_that_broke_is_an_error_and_nothing_is_measured() -> None:
    verdict = judge(
        case(THREE), CaseRun(error="KernelError: no"), Expectation(THREE.words), payloads=False, facts=STRICT
    )
    assert verdict == Judgement(outcome=Outcome.ERROR, diagnostic="KernelError: no")


# Expected errors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "got", "diagnostic"),
    [
        ("overflow", "overflow", None),
        ("overflow", "index", "expected the error overflow, got the error index"),
        ("overflow", None, "expected the error overflow, got a result"),
        (None, "overflow", "expected a result, got the error overflow"),
    ],
)
def test_an_expected_error_passes_exactly_when_both_sides_report_its_kind(
    wanted: str | None, got: str | None, diagnostic: str | None
) -> None:
    run = CaseRun(words=THREE.words) if got is None else CaseRun(error_kind=got, error=f"the kernel reported {got}")
    expectation = Expectation(None if wanted else THREE.words, wanted)
    verdict = judge(case(THREE), run, expectation, payloads=False, facts=STRICT)
    assert verdict.diagnostic == diagnostic
    assert verdict.outcome is (Outcome.PASSED if diagnostic is None else Outcome.FAILED)
    assert verdict.comparison is None


def test_an_expected_error_that_touched_the_output_fails() -> None:
    run = CaseRun(violation="the kernel reported overflow but wrote the output")
    verdict = judge(case(THREE), run, Expectation(None, "overflow"), payloads=False, facts=STRICT)
    assert verdict.outcome is Outcome.FAILED


# Declared facts ----------------------------------------------------------------------------------------------------

LOOSE = {
    "signed_zero": (replace(STRICT, signed_zero="unspecified"), [(ZERO, NEGATIVE_ZERO), (NEGATIVE_ZERO, ZERO)]),
    "nan": (replace(STRICT, nan="unspecified"), [(NAN, 0x3F800000), (NAN, INFINITY), (SIGNALLING, ZERO)]),
    "subnormals": (
        replace(STRICT, subnormals="flushed"),
        [(SUBNORMAL, ZERO), (SUBNORMAL, NEGATIVE_ZERO), (0x807FFFFF, ZERO), (0x80000001, NEGATIVE_ZERO)],
    ),
}


@pytest.mark.parametrize("fact", LOOSE)
def test_what_a_looser_fact_allows_is_accepted_and_counted(fact: str) -> None:
    facts, pairs = LOOSE[fact]
    expected, actual = (raw(0x3F800000, *side) for side in zip(*pairs, strict=True))
    verdict = judged(expected, actual, facts=facts)
    assert verdict.outcome is Outcome.PASSED
    assert dict(verdict.accepted) == {fact: len(pairs)}
    assert verdict.detail is None


@pytest.mark.parametrize("fact", LOOSE)
def test_the_strict_facts_allow_none_of_it(fact: str) -> None:
    for expected, actual in LOOSE[fact][1]:
        verdict = judged(raw(expected), raw(actual))
        assert verdict.outcome is Outcome.FAILED
        assert not verdict.accepted


@pytest.mark.parametrize("fact", LOOSE)
def test_a_looser_fact_allows_nothing_else(fact: str) -> None:
    facts, _ = LOOSE[fact]
    others = [(0x3F800000, ZERO), (ZERO, SUBNORMAL), (0x3F800000, NAN), (0x00800000, ZERO), (ZERO, 0x3F800000)]
    others += [(SUBNORMAL, SUBNORMAL + 1), (SUBNORMAL, 0x00800000), (SUBNORMAL, NAN), (INFINITY, NAN)]
    for expected, actual in others:
        assert judged(raw(expected), raw(actual), facts=facts).outcome is Outcome.FAILED, (expected, actual)


def test_an_accepted_element_excuses_no_other_one() -> None:
    facts = replace(STRICT, signed_zero="unspecified")
    verdict = judged(raw(ZERO, 1), raw(NEGATIVE_ZERO, 2), facts=facts)
    assert verdict.outcome is Outcome.FAILED
    assert dict(verdict.accepted) == {"signed_zero": 1}
    assert verdict.first_mismatch is not None
    assert verdict.first_mismatch.coordinate == (1,)
    assert verdict.detail is not None
    assert verdict.detail["wrong"] == 1


def test_facts_of_binary32_allow_nothing_for_integers() -> None:
    facts = ArithmeticFacts(signed_zero="unspecified", nan="unspecified", subnormals="unspecified")
    assert judged(raw(ZERO), raw(NEGATIVE_ZERO), facts=facts, dtype="i32").outcome is Outcome.FAILED
    assert judged(raw(NAN), raw(ZERO), facts=facts, dtype="i32").outcome is Outcome.FAILED


def test_where_runs_may_differ_each_is_judged_and_the_difference_counted() -> None:
    facts = ArithmeticFacts(repeatability="unspecified", signed_zero="unspecified")
    verdict = judged(raw(ZERO, 1, 2), raw(ZERO, 1, 2), other_words=raw(NEGATIVE_ZERO, 1, 2), facts=facts)
    assert verdict.outcome is Outcome.PASSED
    assert dict(verdict.accepted) == {"repeatability": 1}


def test_a_wrong_second_run_fails_though_the_first_was_right() -> None:
    facts = ArithmeticFacts(repeatability="unspecified")
    verdict = judged(raw(1, 2), raw(1, 2), other_words=raw(1, 3), facts=facts)
    assert verdict.outcome is Outcome.FAILED
    assert verdict.first_mismatch is not None
    assert verdict.first_mismatch.actual == 3


# Envelopes ---------------------------------------------------------------------------------------------------------


def envelope_of(exact: Sequence[Fraction | int], bounds: Sequence[Fraction | int]) -> Envelope:
    """An envelope from exact values, whose denominators must be powers of two, and bounds."""
    exponent = min([LEAST_EXPONENT, *(1 - Fraction(value).denominator.bit_length() for value in exact)])
    scaled = [Fraction(value) * 2**-exponent for value in exact]
    assert all(value.denominator == 1 for value in scaled)
    shifted = [Fraction(bound) * 2**-exponent for bound in bounds]
    return Envelope(
        tuple(int(value) for value in scaled),
        tuple(bound.numerator for bound in shifted),
        tuple(bound.denominator for bound in shifted),
        exponent,
    )


def bounded(
    actual: Any, exact: Sequence[Fraction | int], bounds: Sequence[Fraction], extents: tuple[int, ...] | None = None
) -> Judgement:
    expected = words(*[float(value) for value in exact])
    given_case = replace(_case(actual, extents=extents), verification_class=VerificationClass.NUMERICAL)
    expectation = Expectation(expected, envelope=envelope_of(exact, bounds))
    return judge(given_case, CaseRun(words=actual), expectation, payloads=False, facts=STRICT)


ULP = Fraction(1, 2**23)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("steps", [0, 1, 7])
def test_an_error_exactly_at_its_bound_passes_and_just_beyond_it_fails(sign: int, steps: int) -> None:
    actual = raw(0x3FC00000 + sign * steps)  # 1.5 and its neighbours
    exact = Fraction(3, 2) + Fraction(1, 2**60)
    error = abs(Fraction(3, 2) + sign * steps * ULP - exact)
    at, beyond = bounded(actual, [exact], [error]), bounded(actual, [exact], [error - Fraction(1, 2**200)])
    assert at.outcome is Outcome.PASSED
    assert at.worst_ratio == 1.0
    assert beyond.outcome is Outcome.FAILED
    assert "1 of 1 element(s) outside the envelope; worst at [0]" in str(beyond.diagnostic)


def test_the_recorded_bound_is_never_below_the_exact_one() -> None:
    bound = Fraction(1, 3)
    verdict = bounded(words(1.0), [1], [bound])
    assert verdict.bound is not None
    assert Fraction(verdict.bound) >= bound
    assert verdict.bound == pytest.approx(1 / 3)


def test_bound_and_ratio_are_those_of_the_worst_element() -> None:
    verdict = bounded(words(1.0, 2.0, 4.0), [1, Fraction(5, 2), 4 + ULP], [Fraction(1), Fraction(2), 2 * ULP])
    assert verdict.outcome is Outcome.PASSED
    assert verdict.worst_ratio == 0.5
    assert verdict.bound == float(2 * ULP)


def test_every_element_has_its_own_bound() -> None:
    verdict = bounded(words(1.0, 2.0), [1 + ULP, 2 + ULP], [ULP, ULP / 2])
    assert verdict.outcome is Outcome.FAILED
    assert verdict.worst_ratio == 2.0
    assert verdict.detail is not None
    assert verdict.detail["wrong"] == 1


def test_deviations_are_recorded_whatever_the_envelope_decides() -> None:
    verdict = bounded(raw(0x3F800003), [1], [Fraction(1)])
    assert verdict.outcome is Outcome.PASSED
    assert verdict.deviations.maximum_ulps == 3
    assert verdict.deviations.maximum_absolute == float(3 * ULP)
    assert verdict.first_mismatch is not None


@pytest.mark.parametrize("word", [NAN, SIGNALLING, INFINITY, 0xFF800000])
def test_a_nan_or_an_infinity_where_the_result_is_finite_fails_whatever_the_bound(word: int) -> None:
    verdict = bounded(raw(0x3F800000, word), [1, 1], [Fraction(1), Fraction(2) ** 200])
    assert verdict.outcome is Outcome.FAILED
    assert "at [1] where the exact result is finite" in str(verdict.diagnostic)
    assert verdict.worst_ratio == float("inf")
    assert verdict.detail is not None
    assert verdict.detail["wrong"] == 1


def test_an_empty_numerical_result_has_neither_bound_nor_ratio() -> None:
    verdict = bounded(raw(), [], [])
    assert verdict.outcome is Outcome.PASSED
    assert (verdict.bound, verdict.worst_ratio) == (None, None)


def test_the_sign_of_a_zero_sum_is_inside_every_envelope() -> None:
    verdict = bounded(raw(NEGATIVE_ZERO), [0], [Fraction(1, 2**150)])
    assert verdict.outcome is Outcome.PASSED


def test_a_worst_element_is_named_by_its_coordinate() -> None:
    verdict = bounded(words(1, 2, 3, 5, 5, 6), [1, 2, 3, 4, 5, 6], [Fraction(1, 2)] * 6, extents=(2, 3))
    assert verdict.diagnostic == (
        "1 of 6 element(s) outside the envelope; worst at [1, 0]: |error| 1 is 2 times its bound 0.5"
    )


def test_an_envelope_of_another_length_is_no_verdict_but_an_exception() -> None:
    expectation = Expectation(THREE.words, envelope=envelope_of([1, 2], [1, 1]))
    with pytest.raises(ValueError, match="3 elements and its envelope 2"):
        judge(case(THREE), CaseRun(words=THREE.words), expectation, payloads=False, facts=STRICT)


finite_words = st.integers(0, 2**32 - 1).filter(lambda word: word & INFINITY != INFINITY)
magnitudes = st.builds(lambda m, e: Fraction(m) * Fraction(2) ** e, st.integers(0, 2**70), st.integers(-250, 60))
bounds_beyond_zero = st.builds(Fraction, st.integers(1, 2**80), st.integers(1, 2**160))


@given(word=finite_words, off=magnitudes, sign=st.sampled_from([1, -1]), bound=bounds_beyond_zero)
@settings(max_examples=300, deadline=None)
def test_an_envelope_decides_as_exact_arithmetic_does(word: int, off: Fraction, sign: int, bound: Fraction) -> None:
    value = Fraction(float(np.uint32(word).view(np.float32)))
    for limit in (bound, off + Fraction(1, 2**300), off):
        wrong, worst, ratio = outside(raw(word), envelope_of([value + sign * off], [max(limit, Fraction(1, 2**400))]))
        assert wrong == ([0] if off > max(limit, Fraction(1, 2**400)) else [])
        assert worst == 0
        assert ratio == float(off / max(limit, Fraction(1, 2**400)))


def test_what_lies_outside_is_listed_in_order_and_a_nan_is_the_worst_of_all() -> None:
    envelope = envelope_of([1, 1, 1, 1], [ULP] * 4)
    assert outside(raw(0x3F800009, 0x3F800001, NAN, INFINITY), envelope) == ([0, 2, 3], 2, float("inf"))
    assert outside(raw(), envelope_of([], [])) == ([], None, -1.0)
