"""Sums, products, scans and contractions: exact fractions, the declared order, infinities and bounds."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from generic_words import (
    INFINITY,
    NAN,
    SIGN,
    Array,
    adversarial,
    answer,
    canonical,
    f32,
    finite,
    floats,
    fraction,
    i32,
    nearest,
    run,
    words,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_kernelverify.operations.generic import GenericError

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
SUM32, SUM64 = (f"reduce_sum(f32)->f32 compute=f32 acc=floating:{acc}" for acc in ("f32", "f64"))
SUM_INT = "reduce_sum(i32)->i32 compute=i32_checked acc=exact_integer"
PROD, PROD64 = (f"reduce_prod(f32)->f32 compute=f32 acc={acc}" for acc in ("sequential_binary32", "floating:f64"))
SCAN, SCAN64 = (f"cumsum(f32)->f32 compute=f32 acc={acc}" for acc in ("sequential_binary32", "floating:f64"))
CONV, CONV64 = (f"conv(f32,f32)->f32 compute=f32 acc={acc}" for acc in ("sequential_binary32", "floating:f64"))
MATMUL = "matmul(f32,f32)->f32 compute=f32 acc=floating:f32"
MATMUL_INT = "matmul(i32,i32)->i32 compute=i32_checked acc=exact_integer"

FINITE_WORDS = st.integers(0, 2**32 - 1).filter(lambda word: word & INFINITY != INFINITY)


def fractions(array: Array) -> list[Fraction]:
    return [fraction(word) for word in array.ravel().tolist()]


@pytest.mark.parametrize("plan", [SUM32, SUM64])
@settings(max_examples=60, deadline=None)
@given(row=st.lists(FINITE_WORDS, max_size=12))
def test_a_sum_is_the_exact_sum_rounded_once(plan: str, row: list[int]) -> None:
    assert answer(plan, np.array([row], np.uint32)) == [nearest(sum(map(fraction, row), Fraction()))]


def test_long_rows_of_wide_exponents_sum_exactly() -> None:
    x = finite(adversarial(21, 3 * 4097)).reshape(3, 4097)
    got = run(SUM32, x, bounds=True)
    for row in range(3):
        exact = sum(fractions(x[row]))
        assert got.words[row] == nearest(exact)
        assert got.exact_at(row) == exact
        assert got.magnitude_at(row) == sum(map(abs, fractions(x[row])))
    assert got.terms == (4097,) * 3


def test_cancellation_leaves_the_small_term() -> None:
    assert answer(SUM32, f32(2.0**24, 1, -(2.0**24)).reshape(1, 3)) == f32(1).tolist()
    assert answer(SUM64, words(0x7F7FFFFF, 1, 0xFF7FFFFF).reshape(1, 3)) == [1]


@pytest.mark.parametrize("tail", [2.0**-149, 2.0**-60, 2.0**-20, 2.0**2, 2.0**20, 2.0**35])
@pytest.mark.parametrize("odd", [0, 1])
def test_a_tie_far_above_the_smallest_term_is_decided_by_that_term(tail: float, odd: int) -> None:
    base = 2.0**60 + odd * 2.0**37
    ties, even, odd_ = [base, 2.0**36], 2.0**60 + 2 * odd * 2.0**37, base
    up = base + 2.0**37
    for sign in (1, -1):
        for extra, expected in (([tail], up), ([-tail], odd_), ([tail, -tail], even)):
            row = f32(*(sign * term for term in [*extra, *ties]))
            for plan in (SUM32, SUM64):
                assert answer(plan, row.reshape(1, -1)) == f32(sign * expected).tolist()
            ones = np.full((row.size, 1), 0x3F800000, np.uint32)
            assert answer(MATMUL, row.reshape(1, -1), ones) == f32(sign * expected).tolist()
            assert answer(SCAN64, row.reshape(1, -1))[-1:] == f32(sign * expected).tolist()


def test_a_zero_sum_is_plus_zero_and_the_empty_sum_too() -> None:
    assert answer(SUM32, words(SIGN, SIGN).reshape(1, 2)) == [0]
    assert answer(SUM64, f32(1, -1).reshape(1, 2)) == [0]
    assert answer(SUM32, np.zeros((2, 0), np.uint32)) == [0, 0]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_infinities_and_nans_reach_a_sum_in_every_order(order: tuple[int, ...]) -> None:
    def summed(*row: int) -> int:
        return answer(SUM32, words(*(row[at] for at in order)).reshape(1, 3))[0]

    assert summed(INFINITY, 0x3F800000, 0xFF7FFFFF) == INFINITY
    assert summed(SIGN | INFINITY, 0x7F7FFFFF, 0x7F7FFFFF) == SIGN | INFINITY
    assert summed(INFINITY, SIGN | INFINITY, 0) == NAN
    assert summed(0xFFC12345, 0, INFINITY) == NAN


def test_a_sum_that_only_overflows_on_the_way_is_finite_and_one_that_overflows_is_infinite() -> None:
    largest = 0x7F7FFFFF
    assert answer(SUM32, words(largest, largest, largest | SIGN).reshape(1, 3)) == [largest]
    assert answer(SUM32, words(largest, 0x73000000).reshape(1, 2)) == [INFINITY]


def test_integer_sums_are_exact_and_checked() -> None:
    assert answer(SUM_INT, i32(INT_MAX, INT_MAX, INT_MIN, INT_MIN, 5).reshape(1, 5)) == i32(3).tolist()
    with pytest.raises(GenericError, match="element 1 overflows") as caught:
        run(SUM_INT, i32(1, 1, INT_MAX, 1).reshape(2, 2))
    assert caught.value.kind == "overflow"
    assert run(SUM_INT, i32(4, -6).reshape(1, 2), bounds=True).magnitude == (Fraction(10),)


def sequential_sum(row: Array) -> Array:
    """NumPy's binary32 additions one by one from +0."""
    total, partial = np.float32(0), []
    with np.errstate(all="ignore"):
        for term in floats(row):
            total = total + term
            partial.append(total)
    return canonical(np.array(partial, np.float32))


@pytest.mark.parametrize("seed", range(8))
def test_a_scan_adds_in_binary32_step_by_step(seed: int) -> None:
    row = adversarial(30 + seed, 300)
    row = row if seed % 2 else np.where((row & INFINITY) == INFINITY, row & 0x80FFFFFF, row).astype(np.uint32)
    shifted = row if seed < 4 else f32(*np.random.default_rng(seed).uniform(-1e3, 1e3, 300))
    assert np.array_equal(run(SCAN, shifted.reshape(1, -1)).words, sequential_sum(shifted))


def test_a_scan_starts_at_plus_zero_and_differs_from_the_exact_scan() -> None:
    row = words(SIGN, 0x4B800000, 0x3F800000, 0x3F800000).reshape(1, 4)
    assert answer(SCAN, row) == [0, 0x4B800000, 0x4B800000, 0x4B800000]
    assert answer(SCAN64, row) == [0, 0x4B800000, 0x4B800000, 0x4B800001]


def test_terms_of_24_bits_whose_sum_needs_more_round_on_the_way() -> None:
    row, one = words(0x4B7FFFFF, 0x40000000, 0x3F800000), f32(1)
    stepwise, once = [0x4B800000], [0x4B800001]
    assert answer(SCAN, row.reshape(1, 3))[-1:] == stepwise
    assert answer(SCAN64, row.reshape(1, 3))[-1:] == once
    signal, ones = row.reshape(1, 1, 3), f32(1, 1, 1).reshape(1, 1, 3)
    assert (answer(CONV, signal, ones), answer(CONV64, signal, ones)) == (stepwise, once)
    base, index, updates = row[:1].reshape(1, 1), i32(0, 0), row[1:].reshape(2, 1)
    for acc, expected in (("sequential_binary32", stepwise), ("floating:f64", once)):
        assert answer(f"scatter_add(f32,i32,f32)->f32 compute=f32 acc={acc}", base, index, updates) == expected
    assert answer(CONV, one.reshape(1, 1, 1), one.reshape(1, 1, 1)) == one.tolist()


def test_a_scan_that_overflows_stays_infinite_and_turns_nan_with_the_other_infinity() -> None:
    row = words(0x7F7FFFFF, 0x7F7FFFFF, 0xFF7FFFFF, SIGN | INFINITY, 0).reshape(1, 5)
    assert answer(SCAN, row) == [0x7F7FFFFF, INFINITY, INFINITY, NAN, NAN]
    assert answer(SCAN64, row) == [0x7F7FFFFF, INFINITY, 0x7F7FFFFF, SIGN | INFINITY, SIGN | INFINITY]
    powers = f32(2.0**127, 2.0**127, -(2.0**127)).reshape(1, 3)
    assert answer(SCAN, powers) == [0x7F000000, INFINITY, INFINITY]


@pytest.mark.parametrize("plan", [SCAN, SCAN64])
def test_a_scan_has_the_bounds_of_its_prefixes(plan: str) -> None:
    x = finite(adversarial(41, 40)).reshape(2, 20)
    got = run(plan, x, bounds=True)
    terms = fractions(x)
    for at in range(40):
        prefix = terms[at - at % 20 : at + 1]
        assert (got.exact_at(at), got.magnitude_at(at)) == (sum(prefix), sum(map(abs, prefix)))
        assert plan == SCAN or got.words[at] == nearest(sum(prefix))
    assert got.terms == tuple(range(1, 21)) * 2


@pytest.mark.parametrize("seed", range(6))
def test_a_product_multiplies_in_binary32_step_by_step(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [*adversarial(50 + seed, 900).reshape(100, 9), *finite(adversarial(60 + seed, 900)).reshape(100, 9)]
    rows += [f32(*rng.uniform(0.2, 4, 9)), f32(*rng.uniform(1e-9, 1e-4, 9))]
    with np.errstate(all="ignore"):
        expected = []
        for row in rows:
            product = np.float32(1)
            for factor in floats(row):
                product = product * factor
            expected.append(product)
    assert np.array_equal(run(PROD, np.stack(rows)).words, canonical(np.array(expected, np.float32)))


@settings(max_examples=60, deadline=None)
@given(row=st.lists(FINITE_WORDS.filter(lambda word: word & 0x7FFFFFFF), max_size=7))
def test_an_exact_product_is_rounded_once(row: list[int]) -> None:
    got = run(PROD64, np.array([row], np.uint32), bounds=True)
    exact = prod(map(fraction, row), start=Fraction(1))
    assert got.words.tolist() == [nearest(exact)]
    assert (got.exact, got.magnitude, got.terms) == ((exact,), (abs(exact),), (len(row),))


def test_products_know_zero_infinity_and_nan() -> None:
    rows = words(SIGN, 0x3F800000, INFINITY, 0, INFINITY, 0xC0000000, NAN, 0x3F800000).reshape(4, 2)
    assert answer(PROD, rows) == [SIGN, NAN, SIGN | INFINITY, NAN]
    assert answer(PROD64, rows) == [SIGN, NAN, SIGN | INFINITY, NAN]
    assert answer(PROD, np.zeros((2, 0), np.uint32)) == f32(1, 1).tolist()
    assert answer(PROD64, np.zeros((2, 0), np.uint32)) == f32(1, 1).tolist()


def test_a_product_that_underflows_or_overflows_on_the_way_shows_its_order() -> None:
    small, large = 0x1A000000, 0x71800000
    assert answer(PROD, words(small, small, large).reshape(1, 3)) == [0]
    assert answer(PROD, words(small, large, small).reshape(1, 3)) == [0x26800000]
    assert answer(PROD64, words(small, small, large).reshape(1, 3)) == [0x26800000]
    assert answer(PROD, words(large, large, small).reshape(1, 3)) == [INFINITY]
    assert answer(PROD, words(large, large, 0).reshape(1, 3)) == [NAN]
    assert answer(PROD, words(small, small, small, INFINITY).reshape(1, 4)) == [NAN]
    assert answer(PROD, words(small, small, *[0x7F000000] * 3).reshape(1, 5)) == [0]


def test_a_long_exact_product_is_exact() -> None:
    x = np.random.default_rng(2).integers(0x3F400000, 0x3FA00000, (2, 1025), dtype=np.uint32)
    got = run(PROD64, x, bounds=True)
    for row in range(2):
        exact = prod(fractions(x[row]))
        assert got.exact_at(row) == exact
        assert got.words[row] == nearest(exact)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_matmul_is_the_exact_sum_of_products_rounded_once(data: st.DataObject) -> None:
    m, k, n = (data.draw(st.integers(0, 3)) for _ in "mkn")
    lhs = np.array(data.draw(st.lists(FINITE_WORDS, min_size=m * k, max_size=m * k)), np.uint32).reshape(m, k)
    rhs = np.array(data.draw(st.lists(FINITE_WORDS, min_size=k * n, max_size=k * n)), np.uint32).reshape(k, n)
    got = run(MATMUL, lhs, rhs, bounds=True)
    a, b = fractions(lhs), fractions(rhs)
    for at, (i, j) in enumerate(itertools.product(range(m), range(n))):
        terms = [a[i * k + p] * b[p * n + j] for p in range(k)]
        assert got.words[at] == nearest(sum(terms, Fraction()))
        assert (got.exact_at(at), got.magnitude_at(at)) == (sum(terms), sum(map(abs, terms)))
    assert got.terms == (k,) * (m * n)


@pytest.mark.parametrize("spread", [0, 3, 12, 40, 126])
@pytest.mark.parametrize("narrow", [False, True])
def test_matmuls_of_every_width_of_exponents_are_exact(spread: int, narrow: bool) -> None:
    rng = np.random.default_rng(spread)

    def wide(*shape: int) -> Array:
        exponent = rng.integers(127 - spread, 128 + spread, shape) << 23
        return (exponent | rng.integers(0, 2**23, shape) | rng.integers(0, 2, shape) << 31).astype(np.uint32)

    lhs = f32(*rng.integers(-3, 4, 2 * 2 * 33)).reshape(2, 2, 33) if narrow else wide(2, 2, 33)
    rhs = wide(2, 33, 3)
    got = run(MATMUL, lhs, rhs, bounds=True)
    swapped = run(MATMUL, np.swapaxes(rhs, 1, 2), np.swapaxes(lhs, 1, 2))
    assert np.array_equal(got.words, np.swapaxes(swapped.words.reshape(2, 3, 2), 1, 2).ravel())
    for at, (b, i, j) in enumerate(itertools.product(range(2), range(2), range(3))):
        terms = [x * y for x, y in zip(fractions(lhs[b, i]), fractions(rhs[b, :, j]), strict=True)]
        assert got.words[at] == nearest(sum(terms))
        assert (got.exact_at(at), got.magnitude_at(at)) == (sum(terms), sum(map(abs, terms)))


def test_infinities_and_nans_reach_a_contraction_even_when_multiplied_by_zero() -> None:
    rhs = f32(0, 1, 1, 1).reshape(2, 2)
    lhs = words(INFINITY, 0x3F800000, 0x3F800000, NAN, 0, INFINITY, INFINITY, SIGN | INFINITY).reshape(4, 2)
    assert answer(MATMUL, lhs, rhs) == [NAN, INFINITY, NAN, NAN, INFINITY, INFINITY, NAN, NAN]
    assert run(MATMUL, lhs, rhs, bounds=True).exact is None


def test_a_matmul_without_terms_is_plus_zero() -> None:
    assert answer(MATMUL, np.zeros((2, 0), np.uint32), np.zeros((0, 1), np.uint32)) == [0, 0]
    assert answer(MATMUL, words(SIGN).reshape(1, 1), f32(1).reshape(1, 1)) == [0]


def test_mixed_operands_are_converted_before_they_are_multiplied() -> None:
    lhs, rhs = f32(1, -1).reshape(1, 2), i32(2**24 + 1, 2**24 - 1).reshape(2, 1)
    for acc in ("f32", "f64"):
        assert answer(f"matmul(f32,i32>f32)->f32 compute=f32 acc=floating:{acc}", lhs, rhs) == f32(1).tolist()
        swapped = f"matmul(i32>f32,f32)->f32 compute=f32 acc=floating:{acc}"
        assert answer(swapped, rhs.T, lhs.T) == f32(1).tolist()


def test_integer_matmuls_are_exact_and_checked() -> None:
    big = i32(INT_MIN, INT_MIN, 3).reshape(1, 3)
    # 2**62 - 2**31 (2**31 - 1) = 2**31, less 15.
    assert answer(MATMUL_INT, big, i32(INT_MIN, INT_MAX, -5).reshape(3, 1)) == [2147483633]
    with pytest.raises(GenericError, match="element 0 overflows") as caught:
        run(MATMUL_INT, big, i32(INT_MIN, INT_MIN, 0).reshape(3, 1))
    assert caught.value.kind == "overflow"


def convolved(
    x: Array, weight: Array, stride: int, padding: int, dilation: int, groups: int
) -> list[list[tuple[int, int]]]:
    """The (input word, weight word) pairs of each output, element by element, by the definition."""
    count, _, *lengths = x.shape
    outputs, depth, *window = weight.shape
    sizes = [
        (length + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
        for length, taps in zip(lengths, window, strict=True)
    ]
    result = []
    for n, o, *position in itertools.product(range(count), range(outputs), *map(range, sizes)):
        pairs = []
        for c, *tap in itertools.product(range(depth), *map(range, window)):
            place = [p * stride + t * dilation - padding for p, t in zip(position, tap, strict=True)]
            if all(0 <= at < length for at, length in zip(place, lengths, strict=True)):
                channel = o // (outputs // groups) * depth + c
                pairs.append((int(x[n, channel, *place]), int(weight[o, c, *tap])))
        result.append(pairs)
    return result


GEOMETRIES = [
    ((2, 3, 9), (4, 3, 3), {}),
    ((1, 4, 8), (6, 2, 3), {"groups": 2, "padding": 2, "stride": 2}),
    ((2, 2, 5, 6), (2, 2, 3, 2), {"padding": 1, "dilation": 2}),
    ((1, 4, 3, 4, 3), (4, 1, 2, 1, 3), {"groups": 4, "padding": 1, "stride": 2}),
    ((1, 1, 2), (1, 1, 2), {"padding": 5, "stride": 3}),
]


@pytest.mark.parametrize(("shape", "window", "parameters"), GEOMETRIES)
@pytest.mark.parametrize("kind", ["integers", "fractions", "adversarial"])
def test_a_convolution_adds_rounded_products_in_the_declared_order(
    shape: tuple[int, ...], window: tuple[int, ...], parameters: dict[str, int], kind: str
) -> None:
    rng = np.random.default_rng(prod(shape))
    x, weight = {
        "integers": lambda: (f32(*rng.integers(-9, 9, prod(shape))), f32(*rng.integers(-9, 9, prod(window)))),
        "fractions": lambda: (f32(*rng.uniform(-2, 2, prod(shape))), f32(*rng.uniform(-2, 2, prod(window)))),
        "adversarial": lambda: (adversarial(60, prod(shape)), adversarial(61, prod(window))),
    }[kind]()
    x, weight = x.reshape(shape), weight.reshape(window)
    settings = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, **parameters}
    pairs = convolved(x, weight, **settings)
    expected = []
    with np.errstate(all="ignore"):
        for terms in pairs:
            total = np.float32(0)
            for left, right in terms:
                total = total + floats(words(left))[0] * floats(words(right))[0]
            expected.append(total)
    got = run(CONV, x, weight, parameters=parameters, bounds=kind == "fractions")
    assert np.array_equal(got.words, canonical(np.array(expected, np.float32)))
    exact = run(CONV64, x, weight, parameters=parameters, bounds=True)
    if kind != "adversarial":
        for at, terms in enumerate(pairs):
            products = [fraction(left) * fraction(right) for left, right in terms]
            assert exact.exact_at(at) == sum(products)
            assert exact.magnitude_at(at) == sum(map(abs, products))
            assert exact.words[at] == nearest(sum(products, Fraction()))
        assert exact.terms == tuple(map(len, pairs))
    if kind == "fractions":
        assert (got.scaled, got.magnitudes, got.terms) == (exact.scaled, exact.magnitudes, exact.terms)


def test_padding_contributes_no_term_to_an_infinite_weight() -> None:
    x, weight = f32(1, 2).reshape(1, 1, 2), words(INFINITY, 0x3F800000).reshape(1, 1, 2)
    for plan in (CONV, CONV64):
        assert answer(plan, x, weight, padding=1) == [0x3F800000, INFINITY, INFINITY]
        assert answer(plan, x, words(SIGN | INFINITY, NAN).reshape(1, 1, 2), padding=2, stride=2) == [0, NAN, 0]


def test_a_convolution_rounds_products_before_it_adds_them() -> None:
    x = words(0x3F800800, 0xBF801000).reshape(1, 2, 1)  # (1 + 2**-12)**2 - (1 + 2**-11) is 2**-24, its product's tail
    weight = words(0x3F800800, 0x3F800000).reshape(1, 2, 1)
    assert answer(CONV, x, weight) == [0]
    assert answer(CONV64, x, weight) == [0x33800000]


def test_a_window_without_taps_has_sums_of_nothing() -> None:
    for plan in (CONV, CONV64):
        got = run(plan, f32(1, 2, 3).reshape(1, 1, 3), np.zeros((1, 1, 0), np.uint32), bounds=True)
        assert (got.words.tolist(), got.terms) == ([0] * 4, (0,) * 4)


def test_a_window_larger_than_the_padded_input_has_no_output() -> None:
    assert answer(CONV, f32(1, 2).reshape(1, 1, 2), f32(1, 2, 3, 4).reshape(1, 1, 4)) == []
    assert answer(CONV, np.zeros((2, 0, 3), np.uint32), np.zeros((1, 0, 2), np.uint32)) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("x", "weight", "parameters"),
    [
        ((1, 2, 3), (1, 1, 2), {}),
        ((1, 2, 3), (3, 1, 2), {"groups": 2}),
        ((1, 2), (1, 2), {}),
        ((1, 1, 3), (1, 1, 3, 3), {}),
        ((1, 1, 3, 3, 3, 3), (1, 1, 1, 1, 1, 1), {}),
        ((1, 1, 3), (1, 1, 1), {"stride": 0}),
        ((1, 1, 3), (1, 1, 1), {"padding": -1}),
        ((1, 1, 3), (1, 1, 1), {"dilation": 0}),
        ((1, 1, 3), (1, 1, 1), {"groups": True}),
        ((1, 1, 3), (1, 1, 1), {"bias": 1}),
    ],
)
def test_a_convolution_that_does_not_fit_is_invalid(
    x: tuple[int, ...], weight: tuple[int, ...], parameters: dict[str, int]
) -> None:
    with pytest.raises(GenericError) as caught:
        run(CONV, np.zeros(x, np.uint32), np.zeros(weight, np.uint32), parameters=parameters)
    assert caught.value.kind == "invalid"


@pytest.mark.parametrize(
    ("lhs", "rhs"), [((2, 3), (2, 3)), ((2, 2, 3), (1, 3, 2)), ((3,), (3,)), ((2, 3), (1, 3, 2)), ((2, 3), (3,))]
)
def test_a_matmul_that_does_not_contract_is_invalid(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> None:
    with pytest.raises(GenericError, match="do not contract") as caught:
        run(MATMUL, np.zeros(lhs, np.uint32), np.zeros(rhs, np.uint32))
    assert caught.value.kind == "invalid"
