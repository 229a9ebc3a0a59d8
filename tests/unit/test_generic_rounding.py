"""Rounding to binary32: against bisection over exact fractions, and against words stated by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from generic_words import EDGES, INFINITY, LARGEST, NAN, SIGN, finite, fraction, nearest, words

from pytest_kernelverify.operations.generic import GenericError
from pytest_kernelverify.operations.generic.decode import bit_length, decode, order, rank
from pytest_kernelverify.operations.generic.rounding import round_all, round_parameter, round_scaled, round_words


def boundary_values() -> list[tuple[int, int]]:
    """(mantissa, exponent) on and beside the boundaries of rounding, at every kind of exponent."""
    values = []
    for exponent in (-200, -175, -174, -173, -172, -150, -149, -130, -24, 0, 50, 79, 80, 103, 104, 105, 200):
        for mantissa in (1, 2, 3, 2**24 - 1, 2**24, 2**24 + 1, 2**25 - 2, 2**25 - 1, 2**25 + 2, 2**25 + 3, 2**48 - 1):
            values += [(mantissa, exponent)]
        values += [((2**24 + odd) * 2**30 + 2**29 + beside, exponent) for odd in (0, 1) for beside in (-1, 0, 1)]
    return values


VALUES = boundary_values()
EXPECTED = [nearest(mantissa * Fraction(2) ** exponent) for mantissa, exponent in VALUES]


@pytest.mark.parametrize(
    ("value", "exponent", "word"),
    [
        (1, 0, 0x3F800000),
        (-1, 0, 0xBF800000),
        (0, 5, 0),
        (2**24 + 1, 0, 0x4B800000),
        (2**24 + 3, 0, 0x4B800002),
        (2**25 + 3, 0, 0x4C000001),
        (1, -149, 1),
        (1, -150, 0),
        (3, -150, 2),
        (2**60 + 1, -210, 1),
        (2**24 - 1, 104, LARGEST),
        (2**25 - 1, 103, INFINITY),
        (2**49 - 2**24 - 1, 79, LARGEST),
        (-1, 4000, SIGN | INFINITY),
        (1, -4000, 0),
        (2**24 - 1, -150, 0x00800000),
    ],
)
def test_one_value_is_rounded_to_the_word_stated_by_hand(value: int, exponent: int, word: int) -> None:
    assert round_scaled(value, exponent) == word


def test_single_integers_are_rounded_like_bisection_over_fractions() -> None:
    assert [round_scaled(*value) for value in VALUES] == EXPECTED


def test_arrays_are_rounded_like_bisection_over_fractions() -> None:
    mantissa, exponent = (np.array(part, np.int64) for part in zip(*VALUES, strict=True))
    negative = np.arange(len(VALUES)) % 2 == 1
    expected = np.array(EXPECTED, np.uint32) | np.where(negative, SIGN, 0).astype(np.uint32)
    assert round_words(negative, mantissa, exponent).tolist() == expected.tolist()


def test_lists_of_integers_of_any_size_are_rounded_like_bisection_over_fractions() -> None:
    for exponent in sorted({exponent for _, exponent in VALUES}):
        chosen = [mantissa for mantissa, own in VALUES if own == exponent]
        large = [mantissa << 100 for mantissa in chosen] + [(mantissa << 100) + 1 for mantissa in chosen]
        expected = [nearest(value * Fraction(2) ** (exponent - 100)) for value in large]
        assert round_all(large, exponent - 100).tolist() == expected
        assert round_all([-value for value in chosen], exponent).tolist() == [
            nearest(-value * Fraction(2) ** exponent) for value in chosen
        ]


def test_a_sticky_mark_decides_a_tie_and_nothing_else() -> None:
    tie, below, above = 2**26 + 4, 2**26 + 3, 2**26 + 5
    mantissa = np.array([tie, tie, below, above])
    sticky = np.array([False, True, True, True])
    rounded = round_words(np.zeros(4, bool), mantissa, np.full(4, -26), sticky)
    assert rounded.tolist() == [0x3F800000, 0x3F800001, 0x3F800000, 0x3F800001]


def test_decoding_gives_the_exact_value_of_every_kind_of_word() -> None:
    array = finite(words(*EDGES))
    x = decode(array)
    for at, word in enumerate(array.tolist()):
        value = int(x.mantissa[at]) * Fraction(2) ** int(x.exponent[at])
        assert (-value if x.negative[at] else value) == fraction(word)
    special = decode(words(INFINITY, SIGN | INFINITY, NAN, 0x7F800001, LARGEST))
    assert special.infinite.tolist() == [True, True, False, False, False]
    assert special.nan.tolist() == [False, False, True, True, False]


def test_every_finite_word_survives_decode_and_rounding() -> None:
    array = finite(np.random.default_rng(3).integers(0, 2**32, 5000, dtype=np.uint32))
    x = decode(array)
    assert np.array_equal(round_words(x.negative, x.mantissa, x.exponent), array)


def test_bit_length_is_that_of_integers() -> None:
    values = [0, 1, 2, 3, 4, 2**24 - 1, 2**24, 2**61 - 1, 2**61, 2**62 - 1]
    assert bit_length(np.array(values)).tolist() == [value.bit_length() for value in values]


def test_order_ties_the_zeros_and_rank_puts_minus_zero_below() -> None:
    ascending = words(SIGN | INFINITY, SIGN | 1, SIGN, 0, 1, INFINITY)
    assert np.diff(order(ascending)).tolist()[2] == 0
    assert (np.diff(rank(ascending)) > 0).all()


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (0.01, 0x3C23D70A),
        (-0.0, SIGN),
        (3, 0x40400000),
        (2**24 + 1, 0x4B800000),
        (1e-46, 0),
        (float("inf"), INFINITY),
        (float("-inf"), SIGN | INFINITY),
        (float("nan"), NAN),
        (-1.0 - 2.0**-24 - 2.0**-50, 0xBF800001),
    ],
)
def test_a_parameter_is_rounded_once_to_binary32(value: float, word: int) -> None:
    assert round_parameter(value, "slope") == word


@pytest.mark.parametrize("value", [1e39, -(10**40), True, "0.1", None])
def test_a_parameter_that_is_no_binary32_value_is_invalid(value: object) -> None:
    with pytest.raises(GenericError, match="slope is") as caught:
        round_parameter(value, "slope")
    assert caught.value.kind == "invalid"
