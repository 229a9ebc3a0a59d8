"""matmul, conv and the indexing kernels against exact rationals and integers."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest
from binary32 import INF, NAN, SIGN, SPECIALS, add, canonical, int_words, mul, nearest, value, words_of
from kernel_runs import Given, f32, i32, run

from pytest_kernelverify.carriers.base import KernelError

MATMUL = "matmul({})->f32 compute=f32 acc=floating:{}"
EXACT = "matmul(i32,i32)->i32 compute=i32_checked acc=exact_integer"
PAIRS = ["f32,f32", "f32,i32>f32", "i32>f32,f32"]


def _given(kind: str, numbers: list[int], extents: tuple[int, ...]) -> Given:
    return i32(numbers, extents) if kind.startswith("i32") else f32([nearest(n) for n in numbers], extents)


def _flat(rows: list[list[int]]) -> list[int]:
    return [number for row in rows for number in row]


@pytest.mark.parametrize("accumulator", ["f32", "f64"])
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (2, 3, 2), (5, 64, 7), (63, 65, 66), (33, 65, 129), (3, 257, 2), (2, 4, 65)]
)
def test_a_matmul_of_small_integers_is_exact_in_every_plan(carrier, accumulator, pair, sizes):
    m, k, n = sizes
    rng = random.Random(sum(sizes))
    lhs = [[rng.randint(-8, 8) for _ in range(k)] for _ in range(m)]
    rhs = [[rng.randint(-8, 8) for _ in range(n)] for _ in range(k)]
    left, right = pair.split(",")
    got = run(
        carrier,
        MATMUL.format(pair, accumulator),
        _given(left, _flat(lhs), (m, k)),
        _given(right, _flat(rhs), (k, n)),
    )
    columns = list(zip(*rhs, strict=True))
    assert got == [nearest(sum(a * b for a, b in zip(row, column, strict=True))) for row in lhs for column in columns]


def test_a_float32_matmul_rounds_the_product_and_then_the_sum(carrier):
    """With K = 2, fl(fl(p1) + fl(p2)) is the one unfused value in any order."""
    rng = random.Random(8)
    fused = 0
    for _ in range(200):
        a, b, c, d = (nearest(Fraction(rng.uniform(-2, 2))) for _ in range(4))
        got = run(carrier, MATMUL.format("f32,f32", "f32"), f32([a, b], (1, 2)), f32([c, d], (2, 1)))
        assert got == [add(mul(a, c), mul(b, d))]
        fused += got != [nearest(value(mul(a, c)) + value(b) * value(d))]
    assert fused > 20, "the inputs do not tell fused from unfused"


def test_no_position_of_a_float32_matmul_is_fused(carrier):
    """Two terms among zeros: in any order the result is fl(fl(p1) + fl(p2)), wherever they stand."""
    rng = random.Random(10)
    length = 9
    for first in range(length):
        for second in range(first + 1, length):
            for _ in range(12):
                lhs, rhs = [0] * length, [0] * length
                for position in (first, second):
                    lhs[position], rhs[position] = (nearest(Fraction(rng.uniform(-2, 2))) for _ in range(2))
                got = run(carrier, MATMUL.format("f32,f32", "f32"), f32(lhs, (1, length)), f32(rhs, (length, 1)))
                terms = [mul(lhs[position], rhs[position]) for position in (first, second)]
                assert got == [add(*terms)], (first, second)


def test_a_float64_matmul_rounds_its_exact_products_once(carrier):
    a, b = nearest(1 + Fraction(1, 2**12)), nearest(-(1 + Fraction(1, 2**11)))
    lhs, rhs = f32([a, b], (1, 2)), f32([a, words_of(1)[0]], (2, 1))
    assert run(carrier, MATMUL.format("f32,f32", "f64"), lhs, rhs) == [nearest(Fraction(1, 2**24))]
    assert run(carrier, MATMUL.format("f32,f32", "f32"), lhs, rhs) == [0]


def test_a_batched_matmul_pairs_its_batches(carrier):
    lhs = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    rhs = [1, 0, 0, 1, 2, 0, 0, 2, 0, 1, 1, 0]
    got = run(carrier, EXACT, i32(lhs, (3, 2, 2)), i32(rhs, (3, 2, 2)))
    assert got == int_words(1, 2, 3, 4, 10, 12, 14, 16, 10, 9, 12, 11)
    got = run(carrier, MATMUL.format("f32,i32>f32", "f32"), f32(words_of(*lhs), (3, 2, 2)), i32(rhs, (3, 2, 2)))
    assert got == words_of(1, 2, 3, 4, 10, 12, 14, 16, 10, 9, 12, 11)


def test_an_exact_matmul_survives_products_beyond_64_bits(carrier):
    least, most = -(2**31), 2**31 - 1
    lhs, rhs = [least] * 4 + [1], [least, least, least, least, 5]
    lhs += [least] * 4 + [7]
    rhs_column = [least, least, most, most, 1]
    exact = sum(a * b for a, b in zip([least, least, least, least, 1], rhs_column, strict=True))
    assert abs(exact) > 2**32
    with pytest.raises(KernelError, match="does not fit Int32") as caught:
        run(carrier, EXACT, i32(lhs, (2, 5)), i32(rhs, (5, 1)))
    assert caught.value.kind == "overflow"
    balanced = [least, least, least, least, most, most]
    factors = [least, least, -least - 1, -least - 1, 2, 2]
    exact = sum(a * b for a, b in zip(balanced, factors, strict=True))
    row, column = [*balanced, 1], [*factors, 0]
    rest = -exact
    row += [least] * 2
    column += [0, 0]
    high, low = divmod(rest, 2**31)
    row[-2:], column[-2:] = [least, low], [-high, 1]
    assert run(carrier, EXACT, i32(row, (1, 9)), i32(column, (9, 1))) == int_words(0)


@pytest.mark.parametrize("total", [2**31 - 1, 2**31, -(2**31), -(2**31) - 1])
def test_an_exact_matmul_fits_up_to_the_last_int32(carrier, total):
    row, column = [2**16, 1 if total > 0 else -1], [2**15 if total > 0 else -(2**15), abs(total) - 2**31]
    assert sum(a * b for a, b in zip(row, column, strict=True)) == total
    if -(2**31) <= total < 2**31:
        assert run(carrier, EXACT, i32(row, (1, 2)), i32(column, (2, 1))) == int_words(total)
    else:
        with pytest.raises(KernelError) as caught:
            run(carrier, EXACT, i32(row, (1, 2)), i32(column, (2, 1)))
        assert caught.value.kind == "overflow"


def test_a_contraction_of_nothing_is_positive_zero(carrier):
    for accumulator in ("f32", "f64"):
        got = run(carrier, MATMUL.format("f32,f32", accumulator), f32([], (2, 0)), f32([], (0, 3)))
        assert got == [0] * 6
    assert run(carrier, EXACT, i32([], (2, 0)), i32([], (0, 3))) == [0] * 6


def test_infinities_and_nans_reach_a_matmul_even_times_zero(carrier):
    zero, one = words_of(0, 1)
    for accumulator in ("f32", "f64"):
        plan = MATMUL.format("f32,f32", accumulator)
        got = run(carrier, plan, f32([one, INF], (1, 2)), f32([one, zero, zero, one], (2, 2)))
        assert canonical(got) == [NAN, INF]


def _conv(source, weight, stride, padding, dilation, groups, step):
    """Windows over nested dictionaries of words, terms in the declared order."""
    (n, _, *lengths), (o, per, *windows) = source[0], weight[0]
    outs = [(a + 2 * padding - dilation * (r - 1) - 1) // stride + 1 for a, r in zip(lengths, windows, strict=True)]
    result = []
    for image, filt, *place in product(range(n), range(o), *map(range, outs)):
        first = filt // (o // groups) * per
        terms = []
        for channel, *tap in product(range(per), *map(range, windows)):
            at = [p * stride + t * dilation - padding for p, t in zip(place, tap, strict=True)]
            if all(0 <= a < length for a, length in zip(at, lengths, strict=True)):
                terms.append((_at(source, [image, first + channel, *at]), _at(weight, [filt, channel, *tap])))
        result.append(step(terms))
    return result


def _at(array, coordinate):
    index = 0
    for position, extent in zip(coordinate, array[0], strict=True):
        index = index * extent + position
    return array[1][index]


def _sequential(terms):
    total = 0
    for x, w in terms:
        total = add(total, mul(x, w))
    return total


CONVS = [
    ((2, 3, 7), (4, 3, 3), {}),
    ((1, 4, 9), (4, 2, 3), {"stride": 2, "padding": 2, "dilation": 2, "groups": 2}),
    ((2, 2, 5, 4), (3, 2, 2, 3), {"padding": 1}),
    ((1, 6, 5, 6), (6, 2, 3, 2), {"stride": 3, "padding": 3, "dilation": 2, "groups": 3}),
    ((1, 2, 3, 4, 5), (2, 2, 2, 2, 3), {"stride": 1, "padding": 1}),
]


@pytest.mark.parametrize(("source", "weight", "parameters"), CONVS)
def test_conv_takes_its_terms_by_channel_and_then_row_major_rounding_each_step(carrier, source, weight, parameters):
    rng = random.Random(9)

    def words(extents):
        count = 1
        for extent in extents:
            count *= extent
        return [nearest(Fraction(rng.uniform(-1, 1)) * 2 ** rng.randint(0, 9)) for _ in range(count)]

    x, w = words(source), words(weight)
    given = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, **parameters}
    got = run(
        carrier, "conv(f32,f32)->f32 compute=f32 acc=sequential_binary32", f32(x, source), f32(w, weight), **parameters
    )
    assert got == _conv((source, x), (weight, w), **given, step=_sequential)
    assert got != _conv((source, x), (weight, w), **given, step=lambda terms: _sequential(terms[::-1]))


def test_conv_with_a_float64_accumulator_rounds_once(carrier):
    x, w = words_of(2.0**24, 1.0, 1.0, -(2.0**24)), words_of(1, 1, 1, 1)
    got = run(carrier, "conv(f32,f32)->f32 compute=f32 acc=floating:f64", f32(x, (1, 1, 4)), f32(w, (1, 1, 4)))
    assert got == words_of(2)
    got = run(carrier, "conv(f32,f32)->f32 compute=f32 acc=sequential_binary32", f32(x, (1, 1, 4)), f32(w, (1, 1, 4)))
    assert got == words_of(0)


def test_conv_padding_adds_no_term_so_an_infinite_weight_outside_makes_no_nan(carrier):
    got = run(
        carrier,
        "conv(f32,f32)->f32 compute=f32 acc=sequential_binary32",
        f32(words_of(2), (1, 1, 1)),
        f32([INF, *words_of(3), INF], (1, 1, 3)),
        padding=1,
    )
    assert got == words_of(6)


def test_conv_gives_positive_zero_where_only_padding_is_in_the_window(carrier):
    plan = "conv(f32,f32)->f32 compute=f32 acc=sequential_binary32"
    got = run(carrier, plan, f32(words_of(-1), (1, 1, 1)), f32(words_of(1, 2), (1, 1, 2)), padding=3)
    assert got == words_of(0, 0, -2, -1, 0, 0)


def test_a_conv_whose_window_does_not_fit_has_no_output(carrier):
    plan = "conv(f32,f32)->f32 compute=f32 acc=sequential_binary32"
    assert run(carrier, plan, f32(words_of(1, 2), (1, 1, 2)), f32(words_of(1, 1, 1), (1, 1, 3))) == []
    assert run(carrier, plan, f32([], (1, 0, 2)), f32([], (1, 0, 1))) == [0, 0]


def test_gather_and_scatter_move_words(carrier):
    rows = SPECIALS[:12]
    index = [3, 0, 3, 2]
    for dtype, given in (("f32", f32), ("i32", i32)):
        got = run(carrier, f"gather({dtype},i32)->{dtype} compute=word", given(rows, (4, 3)), i32(index))
        assert got == [word for i in index for word in rows[3 * i : 3 * i + 3]]
        updates = SPECIALS[-12:]
        plan = f"scatter({dtype},i32,{dtype})->{dtype} compute=word"
        got = run(carrier, plan, given(rows, (4, 3)), i32(index), given(updates, (4, 3)))
        assert got == [*updates[3:6], *rows[3:6], *updates[9:12], *updates[6:9]]


def test_scatter_add_takes_colliding_updates_in_order(carrier):
    base, updates = words_of(2.0**24, 0.0), words_of(1, 1, 5, -(2.0**24))
    sequential = "scatter_add(f32,i32,f32)->f32 compute=f32 acc=sequential_binary32"
    got = run(carrier, sequential, f32(base, (2, 1)), i32([0, 0, 1, 0]), f32(updates, (4, 1)))
    assert got == words_of(0, 5)
    wide = "scatter_add(f32,i32,f32)->f32 compute=f32 acc=floating:f64"
    got = run(carrier, wide, f32(base, (2, 1)), i32([0, 0, 1, 0]), f32(updates, (4, 1)))
    assert got == words_of(2, 5)


def test_scatter_add_of_nothing_keeps_the_sign_of_a_zero_base(carrier):
    for accumulation in ("sequential_binary32", "floating:f64"):
        plan = f"scatter_add(f32,i32,f32)->f32 compute=f32 acc={accumulation}"
        assert run(carrier, plan, f32([SIGN, 0], (2, 1)), i32([]), f32([], (0, 1))) == [SIGN, 0]


def test_scatter_add_with_a_float64_accumulator_covers_wide_rows(carrier):
    width = 130
    base, updates = words_of(*range(width)), words_of(*range(width), *range(width))
    plan = "scatter_add(f32,i32,f32)->f32 compute=f32 acc=floating:f64"
    got = run(carrier, plan, f32(base, (1, width)), i32([0, 0]), f32(updates, (2, width)))
    assert got == words_of(*(3.0 * d for d in range(width)))
