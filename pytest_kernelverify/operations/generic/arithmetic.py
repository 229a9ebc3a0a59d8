"""Pointwise binary32 arithmetic: words in, words out, every result computed exactly and rounded once."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np

from pytest_kernelverify.operations.generic.decode import INFINITY, NAN, SIGN, Array, Values, bit_length, decode, is_nan
from pytest_kernelverify.operations.generic.rounding import round_words

__all__ = [
    "absolute",
    "add",
    "ceil",
    "div",
    "floor",
    "leaky_relu",
    "mul",
    "neg",
    "product_classes",
    "recip",
    "relu",
    "rem",
    "round_half_even",
    "rsqrt",
    "sign",
    "sqrt",
    "sub",
]

ONE = np.array([0x3F800000], np.uint32)


def _finish(words: Array, *, nan: Array, infinite: Array, negative: Array) -> Array:
    """Put infinities and then NaNs over rounded words."""
    if (nan | infinite).any():
        words[infinite] = INFINITY
        words[infinite & negative] = INFINITY | SIGN
        words[nan] = NAN
    return words


def _signed(x: Values) -> Array:
    return np.where(x.negative, -x.mantissa, x.mantissa)


def _canonical(words: Array, source: Array) -> Array:
    """The words, with a canonical NaN wherever the source holds any NaN."""
    return np.where(is_nan(source), np.uint32(NAN), words)


def add(lhs: Array, rhs: Array) -> Array:
    x, y = decode(lhs), decode(rhs)
    left, right = _signed(x), _signed(y)
    first = x.exponent >= y.exponent
    upper, lower = np.where(first, left, right), np.where(first, right, left)
    distance = np.abs(x.exponent - y.exponent)
    # Beyond 36 places the lower term is under 2**-11 of the upper one's last place: no rounding boundary lies
    # between it and any other value of its sign that small, so its sign stands for it.
    shift = np.minimum(distance, 36)
    total = upper * (1 << shift) + np.where(distance > 36, np.sign(lower), lower)
    negative = np.where(total == 0, x.negative & y.negative, total < 0)
    words = round_words(negative, np.abs(total), np.maximum(x.exponent, y.exponent) - shift)
    opposed = x.infinite & y.infinite & (x.negative != y.negative)
    return _finish(
        words,
        nan=x.nan | y.nan | opposed,
        infinite=x.infinite | y.infinite,
        negative=np.where(x.infinite, x.negative, y.negative),
    )


def sub(lhs: Array, rhs: Array) -> Array:
    return add(lhs, rhs ^ np.uint32(SIGN))


def product_classes(x: Values, y: Values) -> tuple[Array, Array, Array]:
    """Which products are NaN, which are infinite, which are negative."""
    nan = x.nan | y.nan | (x.infinite & y.zero) | (x.zero & y.infinite)
    return nan, (x.infinite | y.infinite) & ~nan, x.negative ^ y.negative


def mul(lhs: Array, rhs: Array) -> Array:
    x, y = decode(lhs), decode(rhs)
    nan, infinite, negative = product_classes(x, y)
    words = round_words(negative, x.mantissa * y.mantissa, x.exponent + y.exponent)
    return _finish(words, nan=nan, infinite=infinite, negative=negative)


def _normalised(x: Values) -> tuple[Array, Array]:
    """Mantissas of exactly 24 bits (zero stays zero) and their exponents."""
    lift = np.where(x.zero, 0, 24 - bit_length(x.mantissa))
    return x.mantissa << lift, x.exponent - lift


def div(lhs: Array, rhs: Array) -> Array:
    x, y = decode(lhs), decode(rhs)
    (dividend, above), (divisor, below) = _normalised(x), _normalised(y)
    divisor = np.maximum(divisor, 1)
    dividend = dividend << 37
    quotient = dividend // divisor
    negative = x.negative ^ y.negative
    words = round_words(negative, quotient, above - below - 37, quotient * divisor != dividend)
    words = np.where(y.infinite, np.where(negative, np.uint32(SIGN), np.uint32(0)), words)
    return _finish(
        words,
        nan=x.nan | y.nan | (x.infinite & y.infinite) | (x.zero & y.zero),
        infinite=x.infinite | y.zero,
        negative=negative,
    )


def recip(x: Array) -> Array:
    return div(ONE, x)


def sqrt(operand: Array) -> Array:
    x = decode(operand)
    mantissa, exponent = _normalised(x)
    odd = exponent & 1
    radicand = mantissa << (odd + 28)
    root = np.fromiter(map(isqrt, radicand.ravel().tolist()), np.int64, radicand.size).reshape(radicand.shape)
    words = round_words(x.negative, root, (exponent - odd - 28) >> 1, root * root != radicand)
    return _finish(words, nan=x.nan | (x.negative & ~x.zero), infinite=x.infinite, negative=x.negative)


def rsqrt(x: Array) -> Array:
    return div(ONE, sqrt(x))


def rem(lhs: Array, rhs: Array) -> Array:
    """C fmod: the exact remainder of the truncated quotient, with the sign of lhs."""
    x, y = decode(lhs), decode(rhs)
    ahead = x.exponent - y.exponent
    # 24 bits of x are below 2**24 units of y once y is 24 places ahead.
    modulus = np.maximum(y.mantissa, 1) << np.clip(-ahead, 0, 25)
    rest = x.mantissa % modulus
    ahead = np.maximum(ahead, 0)
    while ahead.any():
        step = np.minimum(ahead, 36)
        rest = (rest << step) % modulus
        ahead = ahead - step
    words = round_words(x.negative, rest, np.minimum(x.exponent, y.exponent))
    words = np.where(y.infinite, lhs, words)
    words[x.nan | y.nan | x.infinite | y.zero] = NAN
    return words


def neg(x: Array) -> Array:
    return _canonical(x ^ np.uint32(SIGN), x)


def absolute(x: Array) -> Array:
    return _canonical(x & np.uint32(SIGN - 1), x)


def sign(x: Array) -> Array:
    negative = x & np.uint32(SIGN)
    return _canonical(np.where(x == negative, x, negative | ONE), x)


def _to_integer(operand: Array, up: Any) -> Array:
    """Round to an integer; ``up(values, kept, rest, half)`` says where the magnitude grows."""
    x = decode(operand)
    drop = np.clip(-x.exponent, 0, 30)
    kept = x.mantissa >> drop
    rest = x.mantissa - (kept << drop)
    grown = kept + up(x, kept, rest, np.maximum((1 << drop) >> 1, 1))
    words = np.where(x.exponent >= 0, operand, round_words(x.negative, grown, 0))
    return _canonical(words, operand)


def round_half_even(x: Array) -> Array:
    return _to_integer(x, lambda x, kept, rest, half: (rest > half) | ((rest == half) & (kept & 1 == 1)))


def ceil(x: Array) -> Array:
    return _to_integer(x, lambda x, kept, rest, half: (rest > 0) & ~x.negative)


def floor(x: Array) -> Array:
    return _to_integer(x, lambda x, kept, rest, half: (rest > 0) & x.negative)


def relu(x: Array) -> Array:
    return _canonical(np.where(x >= SIGN, np.uint32(0), x), x)


def leaky_relu(x: Array, slope: int) -> Array:
    """``slope`` is a binary32 word."""
    below = (x > SIGN) & ~is_nan(x)
    return _canonical(np.where(below, mul(x, np.array([slope], np.uint32)), x), x)
