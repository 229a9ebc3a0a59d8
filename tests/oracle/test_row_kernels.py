"""Reductions, scans and orderings along the last mode against exact rationals and Python's own order."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cmp_to_key, reduce
from itertools import accumulate

import pytest
from binary32 import (
    INF,
    NAN,
    SPECIALS,
    add,
    below,
    canonical,
    int_words,
    is_nan,
    is_zero,
    larger,
    mul,
    nearest,
    signed,
    smaller,
    value,
    words_of,
)
from kernel_runs import f32, i32, run

from pytest_kernelverify.numerics.layout import Layout

SUM32, SUM64 = (f"reduce_sum(f32)->f32 compute=f32 acc=floating:{wide}" for wide in ("f32", "f64"))
SUMS = [SUM32, SUM64]
SUM_INT = "reduce_sum(i32)->i32 compute=i32_checked acc=exact_integer"
LENGTHS = [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 129, 257, 1000, 1025, 4097]


def _flat(rows: list[list[int]]) -> list[int]:
    return [word for row in rows for word in row]


@pytest.mark.parametrize("plan", SUMS)
@pytest.mark.parametrize("length", LENGTHS)
def test_a_sum_of_ones_counts_its_terms_and_a_sum_of_powers_names_them(carrier, plan, length):
    assert run(carrier, plan, f32(words_of(*[1.0] * length), (1, length))) == words_of(float(length))
    digits = [nearest(4**i) for i in range(min(length, 12))]
    row = digits + [0] * (length - len(digits))
    assert run(carrier, plan, f32(row[::-1], (1, length))) == [nearest((4 ** len(digits) - 1) // 3)]


@pytest.mark.parametrize("plan", SUMS)
def test_a_sum_stays_within_its_accumulators_envelope_of_the_exact_sum(carrier, plan):
    rng = random.Random(1)
    unit = Fraction(1, 2**24) if plan == SUM32 else Fraction(1, 2**53)
    for length in LENGTHS:
        row = [nearest(Fraction(rng.uniform(-1, 1)) * Fraction(2) ** rng.randint(-20, 20)) for _ in range(length)]
        exact, size = sum(map(value, row)), sum(abs(value(word)) for word in row)
        gamma = length * unit / (1 - length * unit)
        bound = gamma * size + (abs(exact) + size) / 2**24 * (plan == SUM64)
        got = value(run(carrier, plan, f32(row, (1, length)))[0])
        assert abs(got - exact) <= bound, length


def test_the_float64_accumulator_keeps_what_the_float32_one_loses(carrier):
    row = words_of(2.0**30, *[1.0] * 64, -(2.0**30))
    assert run(carrier, SUM64, f32(row, (1, 66))) == words_of(64)
    assert run(carrier, SUM32, f32(row, (1, 66))) != words_of(64)


def test_infinities_and_nans_reach_a_sum_from_every_position(carrier):
    for plan in SUMS:
        for position in (0, 1, 15, 16, 36):
            row = words_of(*[1.0] * 37)
            row[position] = INF
            assert run(carrier, plan, f32(row, (1, 37))) == [INF]
            row[position] = 0x7FC01234
            assert canonical(run(carrier, plan, f32(row, (1, 37)))) == [NAN]


def test_an_empty_row_gives_the_identity(carrier):
    assert run(carrier, SUM32, f32([], (2, 0))) == [0, 0]
    assert run(carrier, SUM64, f32([], (2, 0))) == [0, 0]
    assert run(carrier, SUM_INT, i32([], (2, 0))) == [0, 0]
    assert run(carrier, "reduce_prod(f32)->f32 compute=f32 acc=sequential_binary32", f32([], (1, 0))) == words_of(1)
    assert run(carrier, "reduce_prod(f32)->f32 compute=f32 acc=floating:f64", f32([], (1, 0))) == words_of(1)
    assert run(carrier, "reduce_max(f32)->f32 compute=f32", f32([], (1, 0))) == [0xFF800000]
    assert run(carrier, "reduce_min(f32)->f32 compute=f32", f32([], (1, 0))) == [INF]
    assert run(carrier, "reduce_max(i32)->i32 compute=i32", i32([], (1, 0))) == int_words(-(2**31))
    assert run(carrier, "reduce_min(i32)->i32 compute=i32", i32([], (1, 0))) == int_words(2**31 - 1)


@pytest.mark.parametrize(
    "layout", [Layout((0, 5), (12, 2)), Layout((0, (2, 3)), (12, (5, 1)))], ids=["pitched", "nested"]
)
@pytest.mark.parametrize("plan", [SUM32, SUM64, SUM_INT])
def test_a_sum_of_no_rows_reads_and_writes_nothing(carrier, plan, layout):
    given = i32 if plan == SUM_INT else f32
    assert run(carrier, plan, given([], layout)) == []


def test_a_sum_starts_from_positive_zero(carrier):
    for plan in SUMS:
        assert run(carrier, plan, f32([0x80000000] * 3, (1, 3))) == [0]


def test_an_int32_sum_is_exact_though_its_partial_sums_leave_int32(carrier):
    row = [2**31 - 1, 2**31 - 1, -(2**31), -(2**31), 7]
    assert run(carrier, SUM_INT, i32(row, (1, 5))) == int_words(5)


def test_reduce_prod_rounds_each_step_in_order(carrier):
    rng = random.Random(2)
    for length in (1, 2, 3, 17, 64):
        row = [nearest(Fraction(rng.uniform(0.5, 2))) for _ in range(length)]
        got = run(carrier, "reduce_prod(f32)->f32 compute=f32 acc=sequential_binary32", f32(row, (1, length)))
        assert got == [reduce(mul, row, words_of(1)[0])]
    wide = words_of(2.0**100, 2.0**100, 2.0**-100, 2.0**-100)
    assert run(carrier, "reduce_prod(f32)->f32 compute=f32 acc=floating:f64", f32(wide, (1, 4))) == words_of(1)
    assert run(carrier, "reduce_prod(f32)->f32 compute=f32 acc=sequential_binary32", f32(wide, (1, 4))) == [INF]


@pytest.mark.parametrize(("operation", "choose"), [("reduce_max", larger), ("reduce_min", smaller)])
def test_an_extremum_of_a_row_lets_nan_win_and_orders_the_zeros(carrier, operation, choose):
    rng = random.Random(3)
    numbers = [word for word in SPECIALS if not is_nan(word)]
    for pool in (numbers, SPECIALS, [0, 0x80000000]):
        rows = [[rng.choice(pool) for _ in range(6)] for _ in range(40)]
        got = run(carrier, f"{operation}(f32)->f32 compute=f32", f32(_flat(rows), (40, 6)))
        assert canonical(got) == canonical([reduce(choose, row) for row in rows])


def test_an_int32_extremum_of_a_row_is_exact(carrier):
    rows = [-(2**31), 5, -7, 2**31 - 1, 0, 1]
    assert run(carrier, "reduce_max(i32)->i32 compute=i32", i32(rows, (2, 3))) == int_words(5, 2**31 - 1)
    assert run(carrier, "reduce_min(i32)->i32 compute=i32", i32(rows, (2, 3))) == int_words(-(2**31), 0)


@pytest.mark.parametrize("operation", ["argmax", "argmin"])
def test_an_arg_reduction_gives_the_first_winner_and_the_first_nan_wins(carrier, operation):
    rng = random.Random(4)

    def first(row: list[int]) -> int:
        for i, word in enumerate(row):
            if is_nan(word):
                return i
        best = 0
        for i, word in enumerate(row):
            if below(row[best], word) if operation == "argmax" else below(word, row[best]):
                best = i
        return best

    pools = [SPECIALS, [word for word in SPECIALS if not is_nan(word)], [0, 0x80000000], [1, 2, 0x80000001]]
    for pool in pools:
        rows = [[rng.choice(pool) for _ in range(7)] for _ in range(60)]
        got = run(carrier, f"{operation}(f32)->i32 compute=f32", f32(_flat(rows), (60, 7)))
        assert got == [first(row) for row in rows]


def test_an_int32_arg_reduction_gives_the_first_winner(carrier):
    rows = [3, 9, 9, -1, 5, 5, 5, 5, -(2**31), 2**31 - 1, 0, -(2**31)]
    assert run(carrier, "argmax(i32)->i32 compute=i32", i32(rows, (3, 4))) == [1, 0, 1]
    assert run(carrier, "argmin(i32)->i32 compute=i32", i32(rows, (3, 4))) == [3, 0, 0]


def test_cumsum_rounds_each_step_in_order(carrier):
    rng = random.Random(5)
    rows = [[nearest(Fraction(rng.uniform(-1, 1)) * 2 ** rng.randint(0, 12)) for _ in range(33)] for _ in range(3)]
    got = run(carrier, "cumsum(f32)->f32 compute=f32 acc=sequential_binary32", f32(_flat(rows), (3, 33)))
    assert got == [word for row in rows for word in list(accumulate([0, *row], add))[1:]]


def test_cumsum_with_a_float64_accumulator_rounds_each_output_once(carrier):
    row = words_of(2.0**24, 1.0, 1.0, -(2.0**24))
    got = run(carrier, "cumsum(f32)->f32 compute=f32 acc=floating:f64", f32(row, (1, 4)))
    assert got == words_of(2.0**24, 2.0**24, 2.0**24 + 2, 2.0)
    got = run(carrier, "cumsum(f32)->f32 compute=f32 acc=sequential_binary32", f32(row, (1, 4)))
    assert got == words_of(2.0**24, 2.0**24, 2.0**24, 0.0)


def _order(row: list[int], dtype: str, descending: bool) -> list[int]:
    def compare(i: int, j: int) -> int:
        a, b = row[i], row[j]
        if dtype == "i32":
            order = (signed(a) > signed(b)) - (signed(a) < signed(b))
        elif is_nan(a) or is_nan(b):
            order = is_nan(a) - is_nan(b)
        else:
            order = below(b, a) - below(a, b)
        return -order if descending else order

    return sorted(range(len(row)), key=cmp_to_key(compare))


@pytest.mark.parametrize("dtype", ["f32", "i32"])
@pytest.mark.parametrize("descending", [False, True])
def test_a_sort_is_stable_moves_words_and_puts_nan_last_or_first(carrier, dtype, descending):
    rng = random.Random(6)
    given = f32 if dtype == "f32" else i32
    pool = [*SPECIALS, *[w for w in SPECIALS if is_nan(w) or is_zero(w)] * 3]
    for length in (1, 2, 3, 8, 33, 257):
        row = [rng.choice(pool) for _ in range(length)]
        order = _order(row, dtype, descending)
        indices = run(
            carrier, f"sort_indices({dtype})->i32 compute={dtype}", given(row, (1, length)), descending=descending
        )
        assert indices == order, length
        values = run(
            carrier, f"sort_values({dtype})->{dtype} compute={dtype}", given(row, (1, length)), descending=descending
        )
        assert values == [row[i] for i in order], length


@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_topk_is_the_head_of_the_stable_descending_sort(carrier, dtype):
    rng = random.Random(7)
    given = f32 if dtype == "f32" else i32
    for length, k in [(1, 1), (5, 0), (5, 2), (5, 5), (64, 7), (300, 299)]:
        row = [rng.choice(SPECIALS) for _ in range(length)]
        head = _order(row, dtype, True)[:k]
        assert run(carrier, f"topk_indices({dtype})->i32 compute={dtype}", given(row, (1, length)), k=k) == head
        values = run(carrier, f"topk_values({dtype})->{dtype} compute={dtype}", given(row, (1, length)), k=k)
        assert values == [row[i] for i in head]


@pytest.mark.parametrize("length", [513, 1025, 4097])
def test_a_long_row_is_sorted(carrier, length):
    rng = random.Random(length)
    row = [nearest(rng.randint(-500, 500)) for _ in range(length)]
    order = _order(row, "f32", False)
    assert run(carrier, "sort_indices(f32)->i32 compute=f32", f32(row, (1, length))) == order
