"""Draws, critical words and layouts: the pieces that cases are made of."""

from __future__ import annotations

import re
from fractions import Fraction
from math import isqrt, prod
from pathlib import Path

import numpy as np
import pytest

import pytest_kernelverify.cases as cases_package
from pytest_kernelverify.cases.critical import halfway_pairs, near_reciprocals, near_roots, pair_extremes, wide
from pytest_kernelverify.cases.geometry import (
    CORE_LAYOUTS,
    WINDOWS,
    arrange,
    broadcast,
    conv_shape,
    factors,
    nested,
    pointwise_extents,
    strided,
)
from pytest_kernelverify.cases.ladder import rungs
from pytest_kernelverify.cases.values import below, cast_words, draws, float_words, integers, seed_of, sparse_positions
from pytest_kernelverify.numerics.layout import Layout


def value(word) -> Fraction:
    return Fraction(float(np.uint32(word).view(np.float32)))


def midpoint_distance(exact: Fraction) -> Fraction:
    """How far a positive value lies from the nearest midpoint of two binary32 values, in units in the last place."""
    exponent = 0
    while exact >= 2**24:
        exact, exponent = exact / 2, exponent + 1
    while exact < 2**23:
        exact, exponent = exact * 2, exponent - 1
    return abs(exact - (exact.numerator // exact.denominator) - Fraction(1, 2))


def test_draws_are_the_published_splitmix64_sequence_of_seed_zero():
    assert draws(0, 3).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_draws_of_a_seed_do_not_depend_on_how_many_are_taken():
    assert draws(7, 5).tolist() == draws(7, 50)[:5].tolist()
    assert draws(-1, 2).tolist() == draws(2**64 - 1, 2).tolist()


def test_no_case_uses_a_generator_or_hash_that_another_version_or_process_may_change():
    folder = Path(cases_package.__file__).parent
    for path in folder.glob("*.py"):
        assert not re.search(r"\brandom\.|(?<![\w.])hash\(|import random|np\.random", path.read_text()), path.name


def test_seeds_depend_on_every_part_and_on_where_it_ends():
    assert len({seed_of(0, "ab", "c"), seed_of(0, "a", "bc"), seed_of(1, "ab", "c"), seed_of(0, "ab", "d")}) == 4


def test_integers_and_float_exponents_stay_within_their_inclusive_ends_and_reach_them():
    found = integers(3, 4000, -2, 2)
    assert set(found.tolist()) == {-2, -1, 0, 1, 2}
    assert set(below(3, 4000, 3).tolist()) == {0, 1, 2}
    words = float_words(5, 4000, -3, 4)
    exponents = (words >> 23 & 0xFF).astype(int) - 127
    assert (exponents.min(), exponents.max()) == (-3, 4)
    assert len(set((words >> 31).tolist())) == 2
    assert not (float_words(5, 100, 0, 0, signed=False) >> 31).any()


@pytest.mark.parametrize("number", [16 - 2**30, 2**24 + 1, -(2**24) - 1])
def test_an_integer_that_binary32_would_round_is_refused_so_that_a_witness_is_what_it_says(number: int):
    with pytest.raises(ValueError, match=f"binary32 does not hold {number};"):
        cast_words([[0, 2**24 + 2], [number, 1]], "f32")
    assert cast_words([number], "i32").view(np.int32).tolist() == [number]


def test_wide_operands_never_multiply_or_divide_to_a_subnormal():
    words = wide(1, 5000)
    exponents = (words >> 23 & 0xFF).astype(int) - 127
    assert exponents.min() >= -30
    assert exponents.max() <= 30


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div"])
def test_halfway_pairs_lie_on_a_midpoint_or_within_one_part_in_a_thousand_of_it(operation):
    whole, partner = halfway_pairs(operation, 11, 200)
    assert (np.abs(whole) < 2**24).all()
    near, ties, beside = 0, 0, 0
    for left, word in zip(whole.tolist(), partner, strict=True):
        a, b = Fraction(left), value(word)
        exact = {"add": a + b, "sub": a - b, "mul": a * b, "div": a / b}[operation]
        distance = midpoint_distance(abs(exact))
        near += distance <= Fraction(1, 4)
        ties += distance == 0
        beside += 0 < distance <= Fraction(1, 1000)
    assert near == 200
    if operation == "div":
        # No quotient of binary32 values is a midpoint; every one here is nearly one.
        assert (ties, beside) == (0, 200)
    else:
        assert ties > 20
    if operation in ("add", "sub"):
        assert beside > 20


def test_reciprocals_and_roots_come_close_to_midpoints_from_both_sides():
    reciprocals = near_reciprocals(0)[:60]
    assert all(midpoint_distance(1 / value(word)) < Fraction(1, 32) for word in reciprocals)
    for word in near_roots(0)[:48]:
        x = value(word) * 2**80
        root = Fraction(isqrt(int(x) << 80), 2**40)
        assert midpoint_distance(root) < Fraction(1, 32)
    squares = near_roots(0)[48:54]
    assert all(Fraction(isqrt(int(value(word)))) ** 2 == value(word) for word in squares)


def test_extreme_products_reach_the_overflow_tie_from_below_on_it_and_above():
    left, right = pair_extremes("mul")
    threshold = Fraction(2) ** 128 - Fraction(2) ** 103
    products = [abs(value(a) * value(b)) for a, b in zip(left, right, strict=True)]
    assert threshold in products
    assert any(0 < threshold - product < 2**110 for product in products)
    assert any(0 < product - threshold < 2**110 for product in products)


# ---- geometry --------------------------------------------------------------------------------------------------------


def test_factors_are_a_proper_factorisation_and_unequal_where_they_can_be():
    assert factors(7) is None
    assert factors(9) == (3, 3)
    assert factors(16) == (2, 8)
    assert all(prod(factors(n) or (n,)) == n for n in range(2, 200))


def test_nested_layouts_do_not_fold_and_name_a_mode_where_none_can_be_nested():
    layout = nested((3, 8), gap=1)
    assert layout.folded() is None
    assert layout.extents == (3, 8)
    assert np.unique(layout.offsets()).size == 24
    with pytest.raises(ValueError, match=r"\(3, 7\) have no mode to nest"):
        nested((3, 7))


def test_the_hierarchical_layout_of_the_design_visits_its_offsets_in_order():
    assert Layout((1, (2, 2)), (1, (5, 2))).offsets().tolist() == [0, 2, 5, 7]
    assert nested((1, 4), gap=1, inner=2).stride[1] == (5, 2)


@pytest.mark.parametrize("layout", [*CORE_LAYOUTS, "hierarchical"])
def test_no_two_operands_of_a_layout_rung_are_laid_out_alike_unless_compact_or_stride0(layout):
    for turn in range(12):
        extents = (6, 4)
        placed, output = arrange(layout, [extents, extents], extents, turn)
        assert np.unique(output.offsets()).size == 24
        if layout not in ("compact", "multi", "stride0"):
            assert placed[0] != placed[1]
        assert (output != Layout.compact(extents)) == (layout != "compact") or layout == "stride0"
        if layout == "stride0":
            assert sum(0 in place.stride for place in placed) == 1


def test_a_broadcast_payload_repeats_along_the_stride_0_mode_and_keeps_the_rest():
    words = np.arange(6, dtype=np.uint32)
    assert broadcast(words, Layout((2, 3), (0, 1))).tolist() == [0, 1, 2, 0, 1, 2]
    assert broadcast(words, Layout((2, 3), (1, 0))).tolist() == [0, 0, 0, 3, 3, 3]
    assert broadcast(words, strided((2, 3), gap=2)) is words


def test_pointwise_extents_hold_the_size_in_one_to_three_modes():
    ranks = set()
    for size in (0, 1, 7, 8, 15, 64, 129, 1000):
        for turn in range(6):
            for layout in CORE_LAYOUTS:
                extents = pointwise_extents(size, layout, turn)
                assert prod(extents) == size
                ranks.add(len(extents))
    assert ranks == {1, 2, 3}


def test_windows_hold_their_contracted_length():
    for size, (channels, window) in WINDOWS.items():
        assert channels * prod(window) == size


def test_every_convolution_output_has_a_term_that_is_not_padding():
    for size in WINDOWS:
        if not size:
            continue
        for turn in range(24):
            source, weight, parameters = conv_shape(size, turn)
            for length, window in zip(source[2:], weight[2:], strict=True):
                stride, padding, dilation = (parameters[name] for name in ("stride", "padding", "dilation"))
                outputs = (length + 2 * padding - dilation * (window - 1) - 1) // stride + 1
                assert outputs > 0, (size, turn)
                for place in range(outputs):
                    taps = [place * stride + tap * dilation - padding for tap in range(window)]
                    assert any(0 <= tap < length for tap in taps), (size, turn, place)


def test_special_positions_are_first_middle_last_and_the_start_of_the_tail():
    assert sparse_positions(31) == (0, 15, 30, 24)
    assert sparse_positions(8) == (0, 4, 7, 7)
    assert sparse_positions(1) == (0, 0, 0, 0)


def test_a_ladder_without_room_for_a_value_kind_is_refused_by_name():
    with pytest.raises(ValueError, match="value kind huge"):
        rungs((1, 2, 3), {"small": (1,), "huge": (500,)}, turn=0, free=("small",))
