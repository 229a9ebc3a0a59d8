"""Operations that compare or choose: extrema, clamp, predicates, logical_not, select and cast."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pytest_kernelverify.operations.generic.answer import GenericError
from pytest_kernelverify.operations.generic.decode import NAN, SIGN, Array, decode, integers, is_nan, order, rank
from pytest_kernelverify.operations.generic.integer import COMPARING, INT_MAX, INT_MIN, words_of
from pytest_kernelverify.operations.generic.rounding import round_integers

__all__ = ["CASTS", "clamp", "compare", "is_zero", "maximum", "minimum", "select"]

ONE = np.uint32(0x3F800000)


def maximum(lhs: Array, rhs: Array) -> Array:
    chosen = np.where(rank(lhs) >= rank(rhs), lhs, rhs)
    return np.where(is_nan(lhs) | is_nan(rhs), np.uint32(NAN), chosen)


def minimum(lhs: Array, rhs: Array) -> Array:
    chosen = np.where(rank(lhs) <= rank(rhs), lhs, rhs)
    return np.where(is_nan(lhs) | is_nan(rhs), np.uint32(NAN), chosen)


def clamp(x: Array, low: Array, high: Array) -> Array:
    crossed = (order(low) > order(high)) & ~is_nan(low) & ~is_nan(high)
    if crossed.any():
        raise GenericError(f"clamp: lo exceeds hi at element {int(np.argmax(crossed))}", "domain")
    return minimum(maximum(x, low), high)


def compare(name: str, lhs: Array, rhs: Array) -> Array:
    """eq, ne, lt or le of binary32 words: a NaN differs from everything and is below nothing."""
    unordered = is_nan(lhs) | is_nan(rhs)
    words: Array = np.where(unordered, name == "ne", COMPARING[name](order(lhs), order(rhs)))
    return words


def is_zero(x: Array) -> Array:
    """Binary32 words: whether the value equals zero; NaN does not."""
    magnitude: Array = x & np.uint32(SIGN - 1)
    return np.equal(magnitude, 0)


def select(condition: Array, on_true: Array, on_false: Array) -> Array:
    chosen: Array = np.where(condition != 0, on_true, on_false)
    return chosen


def _float_to_integer(words: Array) -> Array:
    x = decode(words)
    magnitude = (x.mantissa >> np.clip(-x.exponent, 0, 30)) << np.clip(x.exponent, 0, 30)
    value = np.where(x.negative, -magnitude, magnitude)
    outside = x.nan | x.infinite | (x.exponent > 30) | (value > INT_MAX) | (value < INT_MIN)
    if outside.any():
        at = int(np.argmax(outside))
        raise GenericError(f"cast: word 0x{int(words[at]):08X} at element {at} is no Int32 value", "domain")
    return words_of(value)


CASTS: dict[tuple[str, str], Callable[[Array], Array]] = {
    ("f32", "i32"): _float_to_integer,
    ("i32", "f32"): lambda words: round_integers(integers(words)),
    ("f32", "bool"): lambda words: ~is_zero(words),
    ("i32", "bool"): lambda words: words != 0,
    ("bool", "f32"): lambda words: np.where(words != 0, ONE, np.uint32(0)),
    ("bool", "i32"): lambda words: (words != 0).astype(np.uint32),
}
