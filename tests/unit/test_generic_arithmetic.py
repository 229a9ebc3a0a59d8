"""Pointwise binary32 arithmetic: by hand, by exact fractions, and with NumPy's arithmetic as a third opinion."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from generic_words import (
    INFINITY,
    LARGEST,
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
    hexes,
    i32,
    nearest,
    run,
    words,
)

COUNT = 20_000
UNARY: dict[str, Callable[[Array], Array]] = {
    "neg": np.negative,
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "round": np.rint,
    "sqrt": np.sqrt,
    "recip": lambda x: np.float32(1) / x,
    "rsqrt": lambda x: np.float32(1) / np.sqrt(x),
    "leaky_relu": lambda x: np.where(x >= 0, x, x * np.float32(0.01)),
}
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "rem": np.fmod,
}


def pairs() -> tuple[Array, Array]:
    """Adversarial pairs: half unrelated, half within a few ulps or binades of each other."""
    x, y = adversarial(1, COUNT), adversarial(2, COUNT)
    near = x + np.random.default_rng(4).integers(-3, 4, COUNT).astype(np.uint32)
    binades = x + (np.random.default_rng(5).integers(-40, 41, COUNT) << 23).astype(np.uint32)
    return x, np.choose(np.arange(COUNT) % 4, [y, near, near ^ np.uint32(SIGN), binades]).astype(np.uint32)


@pytest.mark.parametrize("name", UNARY)
def test_unary_results_agree_with_numpy_on_every_class_of_word(name: str) -> None:
    x = adversarial(6, COUNT)
    with np.errstate(all="ignore"):
        expected = canonical(UNARY[name](floats(x)))
    assert np.array_equal(run(f"{name}(f32)->f32 compute=f32", x).words, expected)


@pytest.mark.parametrize("name", BINARY)
def test_binary_results_agree_with_numpy_on_every_class_of_word(name: str) -> None:
    x, y = pairs()
    with np.errstate(all="ignore"):
        expected = canonical(BINARY[name](floats(x), floats(y)))
    assert np.array_equal(run(f"{name}(f32,f32)->f32 compute=f32", x, y).words, expected)


def exact_quotient(x: Fraction, y: Fraction) -> Fraction:
    return x / y


@pytest.mark.parametrize(
    ("name", "exact"),
    [
        ("add", lambda x, y: x + y),
        ("sub", lambda x, y: x - y),
        ("mul", lambda x, y: x * y),
        ("div", exact_quotient),
        ("rem", lambda x, y: x - y * math.trunc(x / y)),
    ],
)
def test_finite_results_are_the_exact_fraction_rounded_once(
    name: str, exact: Callable[[Fraction, Fraction], Fraction]
) -> None:
    x, y = (finite(part)[:600] for part in pairs())
    got = run(f"{name}(f32,f32)->f32 compute=f32", x, y).words
    for left, right, word in zip(x.tolist(), y.tolist(), got.tolist(), strict=True):
        if name in ("div", "rem") and fraction(right) == 0:
            continue
        assert nearest(exact(fraction(left), fraction(right))) & ~SIGN == word & ~SIGN, (hex(left), hex(right))


def test_a_square_root_lies_within_half_a_place_of_the_exact_one() -> None:
    x = finite(adversarial(8, 600)) & np.uint32(LARGEST)
    for word, root in zip(x.tolist(), run("sqrt(f32)->f32 compute=f32", x).words.tolist(), strict=True):
        if word:
            low = (fraction(root) + fraction(root - 1)) / 2
            high = (fraction(root) + fraction(root + 1)) / 2
            assert low**2 < fraction(word) < high**2


@pytest.mark.parametrize(
    ("text", "lhs", "rhs", "expected"),
    [
        ("add", "3F800000 3F800001 3F800000 7F7FFFFF 7F7FFFFF", "33800000 33800000 33800001 73000000 72FFFFFF",
         "3F800000 3F800002 3F800001 7F800000 7F7FFFFF"),
        ("add", "00000000 80000000 3F800000 7F800000 7F800000", "80000000 80000000 BF800000 FF800000 7F800000",
         "00000000 80000000 00000000 7FC00000 7F800000"),
        # Far below the last place: a power of two minus anything up to a quarter of its place stays, or drops a place.
        ("sub", "3F800000 3F800000 3F800000 3F800000", "00000001 33000000 33000001 B3800001",
         "3F800000 3F800000 3F7FFFFF 3F800001"),
        ("mul", "00000001 00000003 00FFFFFF 1A000000 7F800000", "3F000000 3F000000 3F000000 1A000000 80000000",
         "00000000 00000002 00800000 00000000 7FC00000"),
        ("div", "3F800000 BF800000 00000000 7F800000 3F800000", "00000000 00000000 80000000 FF800000 FF800000",
         "7F800000 FF800000 7FC00000 7FC00000 80000000"),
        ("div", "00000001 00000003 00800000 7F7FFFFF", "40000000 40000000 3F800001 3F000000",
         "00000000 00000002 007FFFFF 7F800000"),
        ("rem", "40B00000 C0B00000 40B00000 80000000 7F7FFFFF", "40000000 40000000 C0000000 40000000 00000003",
         "3FC00000 BFC00000 3FC00000 80000000 00000000"),
        ("rem", "C0B00000 7F800000 3F800000 7FC12345 C0000000", "7F800000 40000000 80000000 3F800000 3F800000",
         "C0B00000 7FC00000 7FC00000 7FC00000 80000000"),
    ],
)  # fmt: skip
def test_stated_words_of_binary_operations(text: str, lhs: str, rhs: str, expected: str) -> None:
    left, right = (words(*(int(word, 16) for word in part.split())) for part in (lhs, rhs))
    assert hexes(answer(f"{text}(f32,f32)->f32 compute=f32", left, right)) == expected.split()


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("neg", "00000000 BF800000 FFC12345", "80000000 3F800000 7FC00000"),
        ("abs", "80000000 FF800000 FFC12345", "00000000 7F800000 7FC00000"),
        ("sign", "80000000 00000000 80000001 00000001 FF800000 7FC12345", "80000000 00000000 BF800000 3F800000 BF800000"
         " 7FC00000"),
        ("ceil", "BF000000 80000001 00000001 3F800000 FF800000 CB000001", "80000000 80000000 3F800000 3F800000 FF800000"
         " CB000001"),
        ("floor", "BF000000 80000001 00000001 80000000 4AFFFFFF", "BF800000 BF800000 00000000 80000000 4AFFFFFE"),
        ("round", "3F000000 3FC00000 40200000 BF000000 BFC00000 3EFFFFFF 3F000001 4AFFFFFF", "00000000 40000000"
         " 40000000 80000000 C0000000 00000000 3F800000 4B000000"),
        ("recip", "40400000 80000000 7F800000 00000001 7F000000", "3EAAAAAB FF800000 00000000 7F800000 00400000"),
        ("sqrt", "40000000 80000000 BF800000 00000001 00000002 7F7FFFFF", "3FB504F3 80000000 7FC00000 1A3504F3 1A800000"
         " 5F7FFFFF"),
        ("rsqrt", "40000000 00000000 80000000 7F800000 BF800000 80000001", "3F3504F3 7F800000 FF800000 00000000"
         " 7FC00000 7FC00000"),
        ("relu", "80000000 BF800000 00000001 7F800000 FF800000 FFC12345", "00000000 00000000 00000001 7F800000 00000000"
         " 7FC00000"),
    ],
)  # fmt: skip
def test_stated_words_of_unary_operations(name: str, given: str, expected: str) -> None:
    operand = words(*(int(word, 16) for word in given.split()))
    assert hexes(answer(f"{name}(f32)->f32 compute=f32", operand)) == expected.split()


def test_rsqrt_is_rounded_at_each_step_and_not_once() -> None:
    single = run("rsqrt(f32)->f32 compute=f32", f32(3.0)).words
    root = run("sqrt(f32)->f32 compute=f32", f32(3.0)).words
    assert np.array_equal(single, run("recip(f32)->f32 compute=f32", root).words)
    x = np.arange(0x3F800000, 0x3F800000 + 2000, dtype=np.uint32)
    twice = run("rsqrt(f32)->f32 compute=f32", x).words.tolist()
    once = [nearest(Fraction(1 << 100, math.isqrt(int(fraction(word) * 2**200)))) for word in x.tolist()]
    assert sum(a != b for a, b in zip(once, twice, strict=True)) > 100


def test_leaky_relu_keeps_minus_zero_and_rounds_its_slope_and_product_once_each() -> None:
    plan = "leaky_relu(f32)->f32 compute=f32"
    assert hexes(answer(plan, words(SIGN, 0, 0x3F800000, 0xBF800000, 0xFFC00001))) == [
        "80000000", "00000000", "3F800000", "BC23D70A", "7FC00000",
    ]  # fmt: skip
    assert answer(plan, f32(-3.0), negative_slope=0.1) == f32(-0.3000000119).tolist()
    assert answer(plan, words(SIGN | INFINITY), negative_slope=0.0) == [NAN]
    assert answer(plan, words(SIGN | INFINITY), negative_slope=-2) == [INFINITY]


def test_int32_operands_are_rounded_to_binary32_before_the_operation() -> None:
    large = i32(2**24 + 1, -(2**24) - 3, 2**31 - 1)
    assert (
        answer("sub(i32>f32,f32)->f32 compute=f32", large, f32(2.0**24, -(2.0**24), 2.0**31)) == f32(0, -4, 0).tolist()
    )
    assert answer("div(i32>f32,i32>f32)->f32 compute=f32", i32(1, -7, 0), i32(3, 2, 0)) == [0x3EAAAAAB, 0xC0600000, NAN]
    assert (
        answer("leaky_relu(i32>f32)->f32 compute=f32", i32(-(2**24) - 1), negative_slope=1.0)
        == f32(-(2.0**24)).tolist()
    )


def test_a_scalar_operand_meets_every_element() -> None:
    scalar = f32(0.1).reshape(())
    assert answer("mul(f32,f32:scalar)->f32 compute=f32", f32(1, 2, 3).reshape(3, 1), scalar) == [
        0x3DCCCCCD, 0x3E4CCCCD, 0x3E99999A,
    ]  # fmt: skip


def test_a_result_keeps_row_major_order_of_a_transposed_operand() -> None:
    x = f32(1, 2, 3, 4, 5, 6).reshape(2, 3).T
    assert answer("neg(f32)->f32 compute=f32", x) == f32(-1, -4, -2, -5, -3, -6).tolist()


@pytest.mark.parametrize("name", [*UNARY, "sign", "relu"])
def test_nothing_in_gives_nothing_out(name: str) -> None:
    assert run(f"{name}(f32)->f32 compute=f32", np.zeros((3, 0), np.uint32)).words.shape == (0,)
