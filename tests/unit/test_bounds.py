"""Bounds: gamma envelopes, exact and never rounded down."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from float_state import STATES, float_state
from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelverify.numerics.bits import round_fraction, scaled
from pytest_kernelverify.numerics.bounds import (
    float_above,
    gamma,
    gamma_bound,
    integer_envelope,
    product_envelope,
    sum_envelope,
)
from pytest_kernelverify.numerics.generators import wide_exponent_float32_payload

U32, U64 = Fraction(1, 2**24), Fraction(1, 2**53)
HALF = Fraction(1, 2**150)


@given(st.integers(0, 2**23), st.floats(0, 1e300))
def test_gamma_bound_is_the_gamma_k_envelope_rounded_up(terms: int, total: float) -> None:
    exact = Fraction(terms) * U32 / (1 - Fraction(terms) * U32) * Fraction(total)
    bound = gamma_bound(2.0**-24, terms, total)
    assert Fraction(bound) >= exact
    assert bound == 0 or Fraction(math.nextafter(bound, -1)) < exact


def test_gamma_bound_takes_any_real_number() -> None:
    for u, k, total in ((2.0**-24, 8, 3), (np.float32(2.0**-24), np.int64(8), np.float32(3)), (U32, 8, Fraction(3))):
        assert gamma_bound(u, k, total) == float_above(8 * U32 / (1 - 8 * U32) * 3)
    assert gamma_bound(0.25, 0, 5.0) == 0.0
    assert gamma_bound(0.25, 3, 0) == 0.0
    assert gamma_bound(0.25, 3, 2.0) == 6.0


@pytest.mark.parametrize(
    "arguments",
    [
        (0.0, 1, 1.0),
        (-(2.0**-24), 1, 1.0),
        (math.inf, 1, 1.0),
        (math.nan, 1, 1.0),
        (2.0**-24, -1, 1.0),
        (2.0**-24, 1, -1.0),
        (2.0**-24, 1, math.inf),
        (2.0**-24, 1, math.nan),
        (np.float32(np.nan), 1, 1.0),
        (2.0**-24, 2**24, 1.0),
        (0.5, 2, 0.0),
        (1.0, 1, 1.0),
        (0.4, 2, 1.7e308),
    ],
)
def test_invalid_signs_non_finite_inputs_and_too_many_terms_fail_with_value_error(arguments) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=r"must be|not finite|no gamma bound|largest finite float"):
        gamma_bound(*arguments)


@pytest.mark.parametrize(
    "arguments", [(True, 1, 1.0), (0.1, True, 1.0), (0.1, 1, False), (0.1, 1.0, 1.0), ("u", 1, 1.0), (0.1, 1, 1j)]
)
def test_booleans_and_non_numbers_fail_with_type_error(arguments) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TypeError):
        gamma_bound(*arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        (10**400, 1, 1.0),
        (Fraction(10**5000, 3), 1, 1.0),
        (-(10**5000), 1, 1.0),
        (0.5, 10**5000, 1.0),
        (0.5, -(10**5000), 1.0),
        (0.5, 1, 10**5000),
        (0.5, 1, -(10**5000)),
        (np.float64(1.7e308), 2, 1),
    ],
)
def test_huge_arguments_fail_with_value_error_in_words_of_ours(arguments) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=r"must be|no gamma bound|largest finite float") as error:
        gamma_bound(*arguments)
    assert len(str(error.value)) < 200
    with pytest.raises(TypeError, match="is a list"):
        gamma_bound([10**5000], 1, 1)


class Lie(float):
    def __float__(self) -> float:
        return 2.0

    def as_integer_ratio(self) -> tuple[int, int]:
        return 2, 1


def test_a_float_subclass_counts_by_its_value() -> None:
    assert gamma_bound(Lie(0.25), 1, Lie(3.0)) == 1.0


ARGUMENTS = [
    (0.1, 1, 1.0),
    (2.0**-24, 1000, 0.1),
    (5e-324, 3, 1e300),
    (0.25, 1, 5e-324),
    (1e-310, 10**6, 1e-3),
    (np.float32(1e-45), 2, np.float32(1e-40)),
    (np.float16(6e-8), 2, 3),
    (np.longdouble(1) / 3, 2, 1),
    (Fraction(1, 3), 2, Fraction(1, 7)),
    (Fraction(1, 10), 3, 1),
]


@pytest.mark.parametrize("state", STATES)
def test_no_rounding_mode_and_no_flush_bit_changes_a_bound(state: tuple[int, int, int]) -> None:
    declared = [gamma_bound(*arguments) for arguments in ARGUMENTS]
    with float_state(*state):
        changed = [gamma_bound(*arguments) for arguments in ARGUMENTS]
    assert changed == declared
    assert 0 not in declared


dyadic = st.builds(lambda m, e: m * Fraction(2) ** e, st.integers(-(2**70), 2**70), st.integers(-1150, 950))


@given(st.fractions() | dyadic)
def test_float_above_is_the_least_float_not_below(value: Fraction) -> None:
    above = float_above(value)
    assert Fraction(above) >= value
    assert Fraction(math.nextafter(above, -math.inf)) < value


def test_float_above_refuses_what_no_finite_float_exceeds() -> None:
    assert float_above(Fraction(1, 2**2000)) == 2.0**-1074
    assert float_above(Fraction(-1, 2**2000)) == 0.0
    assert float_above(Fraction(-(10**400))) == -math.nextafter(math.inf, 0)
    assert float_above(Fraction(math.nextafter(math.inf, 0))) == math.nextafter(math.inf, 0)
    for value in (Fraction(2**1024), Fraction(10**400), Fraction(2) ** 1024 - Fraction(1, 3)):
        with pytest.raises(ValueError, match="largest finite float"):
            float_above(value)


fractions = st.builds(lambda m, e: m * Fraction(2) ** e, st.integers(-(2**60), 2**60), st.integers(-200, 60))


@given(
    fractions | st.fractions(), fractions.map(abs) | st.fractions(min_value=0), st.integers(0, 5000), st.integers(1, 2)
)
def test_the_sum_envelope_is_the_designed_formula(exact: Fraction, magnitude: Fraction, terms: int, paths: int) -> None:
    single = gamma(U32, terms) * magnitude
    assert sum_envelope(exact, magnitude, terms, accumulator="f32", paths=paths) == paths * single + HALF
    wide = gamma(U64, terms) * magnitude
    expected = paths * (wide + U32 * (abs(exact) + wide)) + HALF
    assert sum_envelope(exact, magnitude, terms, accumulator="f64", paths=paths) == expected
    flushed = sum_envelope(exact, magnitude, terms, accumulator="f64", paths=paths, flushed=True)
    assert flushed == expected - HALF + Fraction(1, 2**126)


@given(fractions, st.integers(0, 300), st.integers(1, 2))
def test_the_product_envelope_is_the_designed_formula(exact: Fraction, terms: int, paths: int) -> None:
    roundings = max(terms - 1, 0)
    single = gamma(U32, roundings) * abs(exact)
    assert product_envelope(exact, terms, accumulator="f32", paths=paths) == paths * single + HALF
    wide = gamma(U64, roundings) * abs(exact)
    expected = paths * (wide + U32 * (abs(exact) + wide)) + HALF
    assert product_envelope(exact, terms, accumulator="f64", paths=paths) == expected


@given(
    st.integers(-(2**90), 2**90),
    st.integers(0, 2**90),
    st.integers(0, 250),
    st.sampled_from(["f16", "bf16", "f32", "f64"]),
    st.integers(1, 2),
)
def test_the_integer_envelope_is_the_sum_envelope_in_its_unit(
    exact: int, magnitude: int, terms: int, accumulator: str, paths: int
) -> None:
    unit = Fraction(1, 2**160)
    numerator, denominator = integer_envelope(
        exact, magnitude, terms, accumulator=accumulator, paths=paths, floor=2**10
    )
    expected = sum_envelope(exact * unit, magnitude * unit, terms, accumulator=accumulator, paths=paths)
    assert Fraction(numerator, denominator) * unit == expected


def test_an_unknown_accumulator_and_no_path_are_refused() -> None:
    with pytest.raises(ValueError, match="accumulator 'f80'"):
        sum_envelope(Fraction(1), Fraction(1), 2, accumulator="f80", paths=1)
    with pytest.raises(ValueError, match="paths 0"):
        sum_envelope(Fraction(1), Fraction(1), 2, accumulator="f32", paths=0)
    with pytest.raises(ValueError, match=r"K\*u must be below 1"):
        gamma(U32, 2**24)
    with pytest.raises(ValueError, match=r"K\*u must be below 1"):
        integer_envelope(1, 1, 2**24, accumulator="f32", paths=1, floor=0)


def rounded(value: Fraction) -> Fraction:
    mantissa, exponent = scaled(round_fraction(value))
    return mantissa * Fraction(2) ** exponent


@pytest.mark.parametrize("length", [1, 2, 5, 40])
def test_a_binary32_sum_in_any_order_stays_inside_and_a_lost_term_does_not(length: int) -> None:
    dice = random.Random(length)
    for seed in range(10):
        terms = [Fraction(value) for value in wide_exponent_float32_payload(seed, length).values()]
        exact, magnitude = sum(terms, Fraction(0)), sum(map(abs, terms), Fraction(0))
        bound = sum_envelope(exact, magnitude, length, accumulator="f32", paths=1)
        dice.shuffle(terms)
        *_, total = itertools.accumulate(terms, lambda a, b: rounded(a + b), initial=Fraction(0))
        assert abs(total - exact) <= bound
        largest = max(terms, key=abs)
        assert abs(total - largest - exact) > bound


def test_a_binary32_product_stays_inside() -> None:
    for seed in range(20):
        factors = [1 + abs(Fraction(value)) / 2**32 for value in wide_exponent_float32_payload(seed, 30).values()]
        factors = [rounded(factor) for factor in factors]
        exact = math.prod(factors, start=Fraction(1))
        *_, total = itertools.accumulate(factors, lambda a, b: rounded(a * b))
        assert abs(total - exact) <= product_envelope(exact, 30, accumulator="f32", paths=1)
