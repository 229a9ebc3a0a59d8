"""Extrema, clamp, predicates, select, cast and checked Int32 arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from generic_words import (
    INFINITY,
    LARGEST,
    NAN,
    SIGN,
    adversarial,
    answer,
    canonical,
    f32,
    floats,
    fraction,
    i32,
    run,
    truth,
    words,
)

from pytest_kernelverify.operations.generic import GenericError

INT_MIN, INT_MAX = -(2**31), 2**31 - 1


def test_the_zeros_are_ordered_and_nan_wins_in_extrema() -> None:
    lhs, rhs = words(0, SIGN, SIGN, NAN, 0x3F800000, 0x7F800001), words(SIGN, 0, SIGN, 0, 0xFFC00009, SIGN | INFINITY)
    assert answer("maximum(f32,f32)->f32 compute=f32", lhs, rhs) == [0, 0, SIGN, NAN, NAN, NAN]
    assert answer("minimum(f32,f32)->f32 compute=f32", lhs, rhs) == [SIGN, SIGN, SIGN, NAN, NAN, NAN]


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extrema_agree_with_numpy_where_no_zeros_meet(name: str) -> None:
    x, y = adversarial(11, 20_000), adversarial(12, 20_000)
    apart = (x | y) & np.uint32(SIGN - 1) != 0
    expected = canonical(getattr(np, name)(floats(x), floats(y)))
    assert np.array_equal(run(f"{name}(f32,f32)->f32 compute=f32", x, y).words[apart], expected[apart])


def test_clamp_lets_nan_win_from_any_operand_and_orders_zeros() -> None:
    plan = "clamp(f32,f32,f32)->f32 compute=f32"
    x = words(0x40000000, 0xC0000000, NAN, 0x3F000000, 0x3F000000, SIGN, SIGN)
    low = words(0xBF800000, 0xBF800000, 0, 0x7FC00001, 0, 0, SIGN)
    high = words(0x3F800000, 0x3F800000, 0x3F800000, 0x3F800000, 0xFFC00001, 0, SIGN)
    assert answer(plan, x, low, high) == [0x3F800000, 0xBF800000, NAN, NAN, NAN, 0, SIGN]


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("clamp(f32,f32,f32)->f32 compute=f32", f32(0, 1), f32(0, 0.5)),
        ("clamp(f32,f32:scalar,f32)->f32 compute=f32", f32(1).reshape(()), f32(1, 0.5)),
        ("clamp(f32,f32,f32:scalar)->f32 compute=f32", f32(0, 1), f32(0.5).reshape(())),
    ],
)
def test_a_lower_bound_above_the_upper_is_a_domain_error(text: str, low: np.ndarray, high: np.ndarray) -> None:
    with pytest.raises(GenericError, match="lo exceeds hi at element 1") as caught:
        run(text, words(NAN, NAN), low, high)
    assert caught.value.kind == "domain"


def test_crossed_zeros_and_crossed_nans_are_no_domain_error() -> None:
    plan = "clamp(f32,f32,f32)->f32 compute=f32"
    assert answer(plan, f32(1, 1), words(0, NAN), words(SIGN, 0)) == [SIGN, NAN]


def test_an_empty_clamp_with_crossed_scalars_has_nothing_to_refuse() -> None:
    plan = "clamp(f32,f32:scalar,f32:scalar)->f32 compute=f32"
    assert answer(plan, f32(), f32(1).reshape(()), f32(0).reshape(())) == []


@pytest.mark.parametrize(
    ("name", "numpy"), [("eq", "equal"), ("ne", "not_equal"), ("lt", "less"), ("le", "less_equal")]
)
def test_predicates_agree_with_numpy_on_every_class_of_word(name: str, numpy: str) -> None:
    x, y = adversarial(13, 20_000), adversarial(14, 20_000)
    y = np.where(np.arange(x.size) % 3 == 0, x, y)
    got = run(f"{name}(f32,f32)->bool compute=f32", x, y).words
    assert got.dtype == np.uint8
    assert np.array_equal(got, getattr(np, numpy)(floats(x), floats(y)))
    signed = x.view(np.int32), y.view(np.int32)
    assert np.array_equal(run(f"{name}(i32,i32)->bool compute=i32", x, y).words, getattr(np, numpy)(*signed))


def test_predicates_see_subnormals_as_different_from_zero() -> None:
    assert answer("eq(f32,f32)->bool compute=f32", words(1, SIGN, NAN), words(0, 0, NAN)) == [0, 1, 0]
    assert answer("logical_not(f32)->bool compute=f32", words(1, SIGN, 0, NAN, INFINITY)) == [0, 1, 1, 0, 0]
    assert answer("logical_not(bool)->bool compute=word", truth(0, 1)) == [1, 0]


def test_select_moves_words_with_their_payloads() -> None:
    chosen = answer(
        "select(bool,f32,f32)->f32 compute=word", truth(1, 0, 1), words(0x7F800001, 1, SIGN), words(2, 0xFFC12345, 0)
    )
    assert chosen == [0x7F800001, 0xFFC12345, SIGN]


def test_casts_to_int32_truncate() -> None:
    given = f32(1.9, -1.9, 0.99, -0.0, 2147483520.0, -2147483648.0, 8388609.5)
    assert answer("cast(f32)->i32 compute=f32", given) == i32(1, -1, 0, 0, 2147483520, INT_MIN, 8388610).tolist()


@pytest.mark.parametrize("word", [NAN, INFINITY, SIGN | INFINITY, 0x4F000000, 0xCF000001, LARGEST])
def test_a_cast_of_no_int32_value_is_a_domain_error(word: int) -> None:
    with pytest.raises(GenericError, match="at element 1") as caught:
        run("cast(f32)->i32 compute=f32", words(0, word))
    assert caught.value.kind == "domain"


def test_casts_from_int32_round_half_to_even() -> None:
    given = i32(2**24 + 1, 2**24 + 3, INT_MAX, INT_MIN, -1, 0)
    assert answer("cast(i32)->f32 compute=f32", given) == [
        0x4B800000, 0x4B800002, 0x4F000000, 0xCF000000, 0xBF800000, 0,
    ]  # fmt: skip
    many = np.random.default_rng(1).integers(0, 2**32, 5000, dtype=np.uint32)
    assert np.array_equal(
        run("cast(i32)->f32 compute=f32", many).words, many.view(np.int32).astype(np.float32).view(np.uint32)
    )


def test_casts_to_bool_ask_whether_the_value_differs_from_zero() -> None:
    assert answer("cast(f32)->bool compute=f32", words(0, SIGN, 1, NAN, INFINITY)) == [0, 0, 1, 1, 1]
    assert answer("cast(i32)->bool compute=i32", i32(0, -1, INT_MIN)) == [0, 1, 1]
    assert answer("cast(bool)->f32 compute=word", truth(0, 1)) == [0, 0x3F800000]
    assert answer("cast(bool)->i32 compute=word", truth(0, 1)) == [0, 1]


@pytest.mark.parametrize(
    ("text", "operands", "expected"),
    [
        ("add(i32,i32)->i32 compute=i32_checked", [(INT_MAX, -5), (-1, -6)], (INT_MAX - 1, -11)),
        ("sub(i32,i32)->i32 compute=i32_checked", [(INT_MIN, 3), (-1, 5)], (INT_MIN + 1, -2)),
        ("mul(i32,i32)->i32 compute=i32_checked", [(INT_MIN, -46341), (1, 46340)], (INT_MIN, -2147441940)),
        ("neg(i32)->i32 compute=i32_checked", [(INT_MAX, -7, 0)], (-INT_MAX, 7, 0)),
        ("abs(i32)->i32 compute=i32_checked", [(INT_MIN + 1, -7)], (INT_MAX, 7)),
        ("sign(i32)->i32 compute=i32", [(INT_MIN, 0, 9)], (-1, 0, 1)),
        ("relu(i32)->i32 compute=i32", [(INT_MIN, 0, 9)], (0, 0, 9)),
        ("maximum(i32,i32)->i32 compute=i32", [(INT_MIN, 2), (INT_MAX, -3)], (INT_MAX, 2)),
        ("minimum(i32,i32)->i32 compute=i32", [(INT_MIN, 2), (INT_MAX, -3)], (INT_MIN, -3)),
        ("clamp(i32,i32,i32)->i32 compute=i32", [(INT_MIN, 5, 9), (-3, 4, 1), (3, 6, 8)], (-3, 5, 8)),
        (
            "pow(i32,i32)->i32 compute=i32_checked",
            [(0, 2, -2, -1, 1, 0, -46340, -1), (0, 30, 31, INT_MAX, INT_MAX, 7, 2, 1000)],
            (1, 2**30, INT_MIN, -1, 1, 0, 2147395600, 1),
        ),
        ("select(bool,i32,i32)->i32 compute=word", [(1, 0), (INT_MIN, 1), (2, -9)], (INT_MIN, -9)),
    ],
)
def test_stated_int32_results(text: str, operands: list[tuple[int, ...]], expected: tuple[int, ...]) -> None:
    arrays = [i32(*values) for values in operands]
    if text.startswith("select"):
        arrays[0] = truth(*operands[0])
    assert answer(text, *arrays) == i32(*expected).tolist()


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("add(i32,i32)->i32 compute=i32_checked", [(0, INT_MAX), (0, 1)]),
        ("add(i32,i32)->i32 compute=i32_checked", [(0, INT_MIN), (0, -1)]),
        ("sub(i32,i32)->i32 compute=i32_checked", [(0, 0), (0, INT_MIN)]),
        ("mul(i32,i32)->i32 compute=i32_checked", [(0, INT_MIN), (0, -1)]),
        ("mul(i32,i32)->i32 compute=i32_checked", [(0, 46341), (0, 46341)]),
        ("neg(i32)->i32 compute=i32_checked", [(0, INT_MIN)]),
        ("abs(i32)->i32 compute=i32_checked", [(0, INT_MIN)]),
        ("pow(i32,i32)->i32 compute=i32_checked", [(2, 2), (3, 31)]),
        ("pow(i32,i32)->i32 compute=i32_checked", [(2, -2), (3, 33)]),
        ("pow(i32,i32)->i32 compute=i32_checked", [(2, 3), (3, INT_MAX)]),
    ],
)
def test_int32_results_beyond_int32_are_overflow_errors(text: str, operands: list[tuple[int, ...]]) -> None:
    with pytest.raises(GenericError, match="element 1 overflows") as caught:
        run(text, *(i32(*values) for values in operands))
    assert caught.value.kind == "overflow"


def test_a_negative_exponent_is_a_domain_error_even_of_zero() -> None:
    for base in (0, 1, 2):
        with pytest.raises(GenericError, match="exponent -1 at element 0") as caught:
            run("pow(i32,i32)->i32 compute=i32_checked", i32(base), i32(-1))
        assert caught.value.kind == "domain"


def test_the_first_erring_element_names_the_error_of_a_power() -> None:
    plan = "pow(i32,i32)->i32 compute=i32_checked"
    for base, exponent, kind in [((2, 2), (31, -1), "overflow"), ((2, 2), (-1, 31), "domain")]:
        with pytest.raises(GenericError) as caught:
            run(plan, i32(*base), i32(*exponent))
        assert caught.value.kind == kind


def test_an_int32_lower_bound_above_the_upper_is_a_domain_error() -> None:
    with pytest.raises(GenericError, match="lo exceeds hi at element 1") as caught:
        run("clamp(i32,i32,i32)->i32 compute=i32", i32(0, 0), i32(0, 1), i32(0, 0))
    assert caught.value.kind == "domain"


def test_every_finite_word_of_a_sample_compares_as_its_exact_value() -> None:
    x = adversarial(15, 400)
    y = np.roll(x, 1)
    got = run("lt(f32,f32)->bool compute=f32", x, y).words.tolist()
    for left, right, less in zip(x.tolist(), y.tolist(), got, strict=True):
        if left & INFINITY != INFINITY and right & INFINITY != INFINITY:
            assert less == (fraction(left) < fraction(right))
