"""Pointwise kernels against exact rationals and integers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from binary32 import (
    INF,
    NAN,
    SIGN,
    SPECIALS,
    add,
    below,
    canonical,
    div,
    finite,
    int_words,
    is_nan,
    is_zero,
    larger,
    mul,
    nearest,
    rem,
    smaller,
    square_root,
    value,
    word_of,
    words_of,
)
from kernel_runs import f32, i32, kernel_of, run, truth

from pytest_kernelverify.carriers.base import KernelError, View
from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.operations.plan import PlanKey

PAIRS = [(a, b) for a in SPECIALS for b in SPECIALS]
LEFT, RIGHT = [a for a, _ in PAIRS], [b for _, b in PAIRS]
INTEGERS = [0, 1, -1, 2, -3, 46341, -46341, 16777217, -16777219, 33554431, 2**31 - 1, -(2**31), 2**30, -(2**30)]
BINARY = {
    "add": add,
    "sub": lambda a, b: add(a, b ^ SIGN),
    "mul": mul,
    "div": div,
    "rem": rem,
    "maximum": larger,
    "minimum": smaller,
}


@pytest.mark.parametrize("operation", BINARY)
def test_a_binary_float32_kernel_rounds_the_exact_result_once(carrier, operation):
    got = run(carrier, f"{operation}(f32,f32)->f32 compute=f32", f32(LEFT), f32(RIGHT))
    assert canonical(got) == canonical([BINARY[operation](a, b) for a, b in PAIRS])


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div"])
def test_a_mixed_pair_converts_int32_to_binary32_first(carrier, operation):
    pairs = [(a, n) for a in SPECIALS for n in INTEGERS]
    floats, integers = f32([a for a, _ in pairs]), i32([n for _, n in pairs])
    got = run(carrier, f"{operation}(f32,i32>f32)->f32 compute=f32", floats, integers)
    assert canonical(got) == canonical([BINARY[operation](a, nearest(n)) for a, n in pairs])
    got = run(carrier, f"{operation}(i32>f32,f32)->f32 compute=f32", integers, floats)
    assert canonical(got) == canonical([BINARY[operation](nearest(n), a) for a, n in pairs])


def test_div_of_int32_pairs_gives_float32(carrier):
    pairs = [(a, b) for a in INTEGERS for b in INTEGERS]
    plan = "div(i32>f32,i32>f32)->f32 compute=f32"
    got = run(carrier, plan, i32([a for a, _ in pairs]), i32([b for _, b in pairs]))
    assert canonical(got) == canonical([div(nearest(a), nearest(b)) for a, b in pairs])


EXACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "pow": lambda a, b: 0 if abs(a) > 1 and b > 64 else a**b,
}


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "pow"])
def test_a_checked_int32_pair_gives_the_exact_result_or_overflows(carrier, operation):
    plan = f"{operation}(i32,i32)->i32 compute=i32_checked"
    for a in INTEGERS:
        for b in INTEGERS:
            if operation == "pow" and b < 0:
                continue
            exact = EXACT[operation](a, b)
            fits = -(2**31) <= exact < 2**31 and not (operation == "pow" and abs(a) > 1 and b > 64)
            if fits:
                assert run(carrier, plan, i32([a]), i32([b])) == int_words(exact), (a, b)
            else:
                with pytest.raises(KernelError, match="element 0") as caught:
                    run(carrier, plan, i32([a]), i32([b]))
                assert caught.value.kind == "overflow", (a, b)


def test_integer_pow_reaches_int_min_and_counts_zero_to_the_zero_as_one(carrier):
    plan = "pow(i32,i32)->i32 compute=i32_checked"
    got = run(carrier, plan, i32([-2, 0, 0, -1, -1, 1, 3]), i32([31, 0, 5, 2**31 - 1, 2, 2**31 - 1, 19]))
    assert got == int_words(-(2**31), 1, 0, -1, 1, 1, 3**19)


INTEGRAL = {"ceil": math.ceil, "floor": math.floor, "round": round}
NEIGHBOURS = [
    word + step
    for number in (0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 4194303.5, 8388607.5, -8388608.0)
    for word in words_of(number)
    for step in (-1, 0, 1)
]


@pytest.mark.parametrize("operation", INTEGRAL)
def test_a_rounding_kernel_gives_the_integer_and_keeps_the_sign_of_zero(carrier, operation):
    words = [*SPECIALS, *NEIGHBOURS]
    got = run(carrier, f"{operation}(f32)->f32 compute=f32", f32(words))
    expected = [nearest(INTEGRAL[operation](value(w)), negative_zero=bool(w & SIGN)) if finite(w) else w for w in words]
    assert canonical(got) == canonical(expected)


def _root(word: int) -> int:
    if is_nan(word) or is_zero(word) or word == INF:
        return word
    return NAN if word & SIGN else square_root(value(word))


ONE = word_of(1.0)
UNARY = {
    "neg": lambda w: w ^ SIGN,
    "abs": lambda w: w & ~SIGN,
    "sign": lambda w: w if is_nan(w) or is_zero(w) else ONE | w & SIGN,
    "recip": lambda w: div(ONE, w),
    "sqrt": _root,
    "rsqrt": lambda w: div(ONE, _root(w)),
    "relu": lambda w: w if is_nan(w) else 0 if w & SIGN else w,
}


@pytest.mark.parametrize("operation", UNARY)
def test_a_unary_float32_kernel_matches_its_rule_on_every_special(carrier, operation):
    words = [*SPECIALS, *range(0x3F800000, 0x40800000, 0x3A7B1)]
    got = run(carrier, f"{operation}(f32)->f32 compute=f32", f32(words))
    assert canonical(got) == canonical([UNARY[operation](word) for word in words])


@pytest.mark.parametrize("slope", [0.01, -3.0, 0.0, math.inf])
def test_leaky_relu_multiplies_negatives_by_the_binary32_slope(carrier, slope):
    word = INF if slope == math.inf else nearest(Fraction(slope))
    got = run(carrier, "leaky_relu(f32)->f32 compute=f32", f32(SPECIALS), negative_slope=slope)
    expected = [w if is_zero(w) or is_nan(w) or not w & SIGN else mul(w, word) for w in SPECIALS]
    assert canonical(got) == canonical(expected)


def test_leaky_relu_slopes_by_its_documented_default(carrier):
    assert run(carrier, "leaky_relu(i32>f32)->f32 compute=f32", i32([-100, 7])) == [
        mul(word_of(-100.0), nearest(Fraction(0.01))),
        word_of(7.0),
    ]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [("abs", abs), ("neg", lambda n: -n), ("sign", lambda n: (n > 0) - (n < 0)), ("relu", lambda n: max(n, 0))],
)
def test_a_unary_int32_kernel_is_exact(carrier, operation, expected):
    compute = "i32_checked" if operation in ("abs", "neg") else "i32"
    numbers = [n for n in INTEGERS if compute == "i32" or n != -(2**31)]
    got = run(carrier, f"{operation}(i32)->i32 compute={compute}", i32(numbers))
    assert got == int_words(*map(expected, numbers))


@pytest.mark.parametrize("operation", ["maximum", "minimum"])
def test_an_int32_extremum_is_exact(carrier, operation):
    pairs = [(a, b) for a in INTEGERS for b in INTEGERS]
    choose = max if operation == "maximum" else min
    got = run(carrier, f"{operation}(i32,i32)->i32 compute=i32", i32([a for a, _ in pairs]), i32([b for _, b in pairs]))
    assert got == int_words(*(choose(pair) for pair in pairs))


ORDERED = {
    "eq": lambda a, b: not below(a, b) and not below(b, a),
    "ne": lambda a, b: below(a, b) or below(b, a),
    "lt": below,
    "le": lambda a, b: not below(b, a),
}


@pytest.mark.parametrize("operation", ORDERED)
def test_a_predicate_treats_nan_as_unordered_and_the_zeros_as_equal(carrier, operation):
    got = run(carrier, f"{operation}(f32,f32)->bool compute=f32", f32(LEFT), f32(RIGHT))
    expected = [int(operation == "ne") if is_nan(a) or is_nan(b) else int(ORDERED[operation](a, b)) for a, b in PAIRS]
    assert got == expected


@pytest.mark.parametrize("operation", ORDERED)
def test_an_int32_predicate_compares_signed_values(carrier, operation):
    pairs = [(a, b) for a in INTEGERS for b in INTEGERS]
    compare = {"eq": int.__eq__, "ne": int.__ne__, "lt": int.__lt__, "le": int.__le__}[operation]
    got = run(
        carrier, f"{operation}(i32,i32)->bool compute=i32", i32([a for a, _ in pairs]), i32([b for _, b in pairs])
    )
    assert got == [int(compare(a, b)) for a, b in pairs]


def test_clamp_lets_nan_win_from_any_operand(carrier):
    triples = [
        (x, lo, hi)
        for x in SPECIALS
        for lo in SPECIALS
        for hi in SPECIALS
        if is_nan(lo) or is_nan(hi) or not below(hi, lo)
    ][::7]
    x, lo, hi = ([t[i] for t in triples] for i in range(3))
    got = run(carrier, "clamp(f32,f32,f32)->f32 compute=f32", f32(x), f32(lo), f32(hi))
    assert canonical(got) == canonical([smaller(larger(a, b), c) for a, b, c in triples])


def test_clamp_of_int32_and_of_scalars(carrier):
    got = run(carrier, "clamp(i32,i32,i32)->i32 compute=i32", i32([-5, 0, 9]), i32([-2, -2, -2]), i32([3, 3, 3]))
    assert got == int_words(-2, 0, 3)
    plan = "clamp(f32,f32:scalar,f32:scalar)->f32 compute=f32"
    got = run(carrier, plan, f32(words_of(-5, 0.5, 9)), f32(words_of(-1), ()), f32(words_of(2), ()))
    assert got == words_of(-1, 0.5, 2)


def test_select_moves_words_with_any_payload(carrier):
    condition = [i % 2 for i in range(len(SPECIALS))]
    other = SPECIALS[::-1]
    for dtype in ("f32", "i32"):
        given = [f32(SPECIALS), f32(other)] if dtype == "f32" else [i32(SPECIALS), i32(other)]
        got = run(carrier, f"select(bool,{dtype},{dtype})->{dtype} compute=word", truth(condition), *given)
        assert got == [a if c else b for c, a, b in zip(condition, SPECIALS, other, strict=True)]


def test_logical_not_asks_whether_x_equals_zero(carrier):
    got = run(carrier, "logical_not(f32)->bool compute=f32", f32(SPECIALS))
    assert got == [int(is_zero(word)) for word in SPECIALS]
    assert run(carrier, "logical_not(bool)->bool compute=word", truth([0, 1, 1, 0])) == [1, 0, 0, 1]


def test_cast_to_int32_truncates_toward_zero(carrier):
    words = [w for w in [*SPECIALS, *NEIGHBOURS] if finite(w) and -(2**31) <= value(w) < 2**31]
    assert run(carrier, "cast(f32)->i32 compute=f32", f32(words)) == int_words(*(int(value(w)) for w in words))


def test_cast_from_int32_rounds_to_nearest_even(carrier):
    numbers = [*INTEGERS, 16777219, 2**31 - 64, 2**31 - 65, 2**25 + 2, 2**25 + 6]
    assert run(carrier, "cast(i32)->f32 compute=f32", i32(numbers)) == [nearest(n) for n in numbers]


def test_cast_to_and_from_bool(carrier):
    assert run(carrier, "cast(f32)->bool compute=f32", f32(SPECIALS)) == [int(not is_zero(w)) for w in SPECIALS]
    assert run(carrier, "cast(i32)->bool compute=i32", i32(INTEGERS)) == [int(n != 0) for n in INTEGERS]
    assert run(carrier, "cast(bool)->f32 compute=word", truth([0, 1])) == words_of(0, 1)
    assert run(carrier, "cast(bool)->i32 compute=word", truth([0, 1])) == [0, 1]


VENDOR = {
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "log": math.log,
    "log2": math.log2,
    "sin": math.sin,
    "cos": math.cos,
    "erf": math.erf,
    "tanh": math.tanh,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "softplus": lambda x: math.log1p(math.exp(x)),
    "elu": lambda x: x if x > 0 else math.expm1(x),
}


@pytest.mark.parametrize("operation", VENDOR)
def test_a_vendor_function_is_the_function_it_is_named_after(carrier, operation):
    """Its accuracy is not claimed: within a few ULPs shows that it is no other function."""
    numbers = [0.25, 0.5, 1.0, 1.75, 3.0] + ([] if operation.startswith("log") else [-0.25, -1.0, -2.5])
    got = run(carrier, f"{operation}(f32)->f32 compute=f32", f32(words_of(*numbers)))
    for number, word in zip(numbers, got, strict=True):
        assert float(value(word)) == pytest.approx(VENDOR[operation](number), rel=1e-6, abs=1e-7), number


def test_floating_pow_and_elu_take_their_parameters(carrier):
    got = run(carrier, "pow(f32,f32:scalar)->f32 compute=f32", f32(words_of(2, 3, 0.5)), f32(words_of(2), ()))
    assert got == words_of(4, 9, 0.25)
    got = run(carrier, "pow(i32>f32,i32>f32)->f32 compute=f32", i32([2, -3]), i32([-1, 3]))
    assert got == words_of(0.5, -27)
    word = run(carrier, "elu(f32)->f32 compute=f32", f32(words_of(-1)), alpha=3.0)[0]
    assert float(value(word)) == pytest.approx(3 * math.expm1(-1), rel=1e-6)


def test_an_output_may_be_the_memory_of_an_operand(carrier):
    layout = Layout((2, 3), (4, 1), 1)
    memory = np.arange(9, dtype=np.uint32)
    view = View(memory, "i32", layout)
    plan = PlanKey.from_text("add(i32,i32)->i32 compute=i32_checked")
    carrier.launch(kernel_of("add"), plan, [view, view], view, {})
    assert memory.tolist() == [0, 2, 4, 6, 4, 10, 12, 14, 8]
