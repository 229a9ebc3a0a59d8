"""References: Generic's answers, exact values and the bounds around them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from fake_carrier import case, operand, raw, words
from hypothesis import given, settings
from hypothesis import strategies as st
from real_runs import references

from pytest_kernelverify import PlanKey, VerificationClass
from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.numerics.bounds import integer_envelope, sum_envelope
from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.stages.judge import LEAST_EXPONENT, Envelope
from pytest_kernelverify.stages.references import References

HALF_SUBNORMAL, SMALLEST_NORMAL = Fraction(1, 2**150), Fraction(1, 2**126)
U, V = Fraction(1, 2**24), Fraction(1, 2**53)


def row(operation: str, values: Any, *, accumulator: str = "f32", **rest: Any) -> Case:
    """A numerical case that reduces one row."""
    plan = PlanKey.from_text(f"{operation}(f32)->f32 compute=f32 acc=floating:{accumulator}")
    layout = Layout.compact((1, values.size))
    rest.setdefault("verification_class", VerificationClass.NUMERICAL)
    return case(operand(values, layout), plan=plan, output=Layout.compact((1,)), **rest)


def exact_and_bound(envelope: Envelope) -> tuple[Fraction, Fraction]:
    unit = Fraction(1, 1 << -envelope.exponent)
    return envelope.exact[0] * unit, Fraction(envelope.bounds[0], envelope.denominators[0]) * unit


def gamma(u: Fraction, terms: int) -> Fraction:
    return terms * u / (1 - terms * u)


def test_a_float32_sum_is_bounded_by_gamma_k_of_the_magnitudes() -> None:
    given_case = row("reduce_sum", words(3.0, -2.0, 0.5))
    for paths in (1, 2):
        envelope = references().envelope(given_case, accumulator="f32", paths=paths)
        expected = paths * gamma(U, 3) * Fraction(11, 2) + HALF_SUBNORMAL
        assert exact_and_bound(envelope) == (Fraction(3, 2), expected)


def test_a_float64_sum_has_the_rounding_of_its_output_in_its_bound() -> None:
    envelope = references().envelope(row("reduce_sum", words(3.0, -2.0, 0.5)), accumulator="f64", paths=1)
    growth = gamma(V, 3) * Fraction(11, 2)
    assert exact_and_bound(envelope)[1] == growth + U * (Fraction(3, 2) + growth) + HALF_SUBNORMAL


def test_a_product_of_k_factors_is_bounded_by_gamma_of_k_minus_one_roundings() -> None:
    given_case = row("reduce_prod", words(3.0, -2.0, 0.5))
    envelope = references().envelope(given_case, accumulator="f32", paths=1)
    assert exact_and_bound(envelope) == (-3, gamma(U, 2) * 3 + HALF_SUBNORMAL)


@pytest.mark.parametrize("operation", ["reduce_sum", "reduce_prod"])
def test_where_subnormals_may_be_flushed_the_smallest_normal_is_granted(operation: str) -> None:
    given_case = row(operation, words(3.0, -2.0, 0.5))
    bounds = [
        exact_and_bound(references().envelope(given_case, accumulator="f32", paths=1, flushed=flushed))[1]
        for flushed in (False, True)
    ]
    assert bounds[1] - bounds[0] == SMALLEST_NORMAL - HALF_SUBNORMAL


@pytest.mark.parametrize("values", [raw(), raw(1, 1), words(2.0**-100, 2.0**-101), words(2.0**120, 1.0)])
def test_exact_values_of_any_magnitude_fit_the_unit_of_the_envelope(values: Any) -> None:
    envelope = references().envelope(row("reduce_sum", values), accumulator="f32", paths=1)
    assert envelope.exponent <= LEAST_EXPONENT
    assert exact_and_bound(envelope)[0] == sum(map(Fraction, values.view(np.float32).tolist()), Fraction())


def test_a_case_with_an_infinity_has_no_envelope() -> None:
    with pytest.raises(ValueError, match="has no exact values; a numerical case has finite operands and a result"):
        references().envelope(row("reduce_sum", raw(0x7F800000)), accumulator="f32", paths=1)


def test_an_analytic_case_is_expected_to_give_the_words_it_states() -> None:
    stated = row("reduce_sum", words(1.0, 2.0), expected=raw(7), verification_class=VerificationClass.ANALYTIC)
    expectation = references().expectation(stated)
    assert expectation.words is not None
    assert expectation.words.tolist() == [7]
    assert references().disagreement(stated) == "Generic's answer is not the independently stated one"
    right = row("reduce_sum", words(1.0, 2.0), expected=words(3.0), verification_class=VerificationClass.ANALYTIC)
    assert references().disagreement(right) is None


def test_an_answer_is_computed_once_for_each_case_and_never_taken_from_a_namesake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pytest_kernelverify.stages import references as module

    computed = []
    real = module._evaluate
    monkeypatch.setattr(module, "_evaluate", lambda plan, case: computed.append(case) or real(plan, case))
    mine, namesake = row("reduce_sum", words(1.0, 2.0)), row("reduce_sum", words(5.0))
    assert mine.case_id == namesake.case_id
    answers = References()
    found = [answers.expectation(given_case).words for given_case in (mine, namesake, mine)]
    assert [word.tolist() for word in found if word is not None] == [[0x40400000], [0x40A00000], [0x40400000]]
    assert computed == [mine, namesake]


def test_movement_is_expected_to_move_and_coverage_to_add_one() -> None:
    for subject, expected in (("copy", [5, 6]), ("coverage", [6, 7])):
        given_case = case(operand(raw(5, 6)), plan=None, subject=subject)
        found = references().expectation(given_case).words
        assert found is not None
        assert found.tolist() == expected
        assert references().disagreement(given_case) is None


@given(
    exact=st.integers(-(2**200), 2**200),
    more=st.integers(0, 2**200),
    terms=st.integers(0, 5000),
    accumulator=st.sampled_from(["f16", "bf16", "f32", "f64"]),
    paths=st.sampled_from([1, 2]),
    flushed=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_the_bound_in_integers_is_the_bound_in_fractions(
    exact: int, more: int, terms: int, accumulator: str, paths: int, flushed: bool
) -> None:
    unit = Fraction(1, 2**180)
    magnitude = abs(exact) + more
    floor = 1 << (180 - 126 if flushed else 180 - 150)
    try:
        expected = sum_envelope(
            exact * unit, magnitude * unit, terms, accumulator=accumulator, paths=paths, flushed=flushed
        )
    except ValueError:
        with pytest.raises(ValueError, match="have no gamma bound"):
            integer_envelope(exact, magnitude, terms, accumulator=accumulator, paths=paths, floor=floor)
        return
    above, below = integer_envelope(exact, magnitude, terms, accumulator=accumulator, paths=paths, floor=floor)
    assert Fraction(above, below) * unit == expected
