"""Binary32 by exact rationals: what the kernels' expectations are made of. No floating-point arithmetic in here."""

from __future__ import annotations

import struct
from fractions import Fraction
from itertools import pairwise
from math import isqrt

NAN = 0x7FC00000
INF = 0x7F800000
SIGN = 0x80000000

SPECIALS = [
    *(0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x80800000),
    *(0x3F800000, 0xBF800000, 0x3F800001, 0x3F7FFFFF, 0x40000000, 0xC0200000, 0x40200000, 0x40600000),
    *(0x3F000000, 0xBF000000, 0x3EFFFFFF, 0xBEFFFFFF, 0x3F000001, 0x3FC00000, 0xBFC00000, 0x4AFFFFFF),
    *(0x4B000000, 0x4B000001, 0xCB7FFFFF, 0x4F000000, 0xCF000000, 0x4EFFFFFF, 0x7F7FFFFF, 0xFF7FFFFF),
    *(0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001, 0xFFBFFFFF, 0x1A000000, 0x5A3504F3),
]
"""Zeros, subnormals, halves and their neighbours, 2^23 and 2^31, extremes, infinities, quiet and signalling NaNs."""


def is_nan(word: int) -> bool:
    return word & 0x7FFFFFFF > INF


def canonical(words: list[int]) -> list[int]:
    """Every NaN as one word: the payload of an arithmetic NaN is not specified."""
    return [NAN if is_nan(word) else word for word in words]


def value(word: int) -> Fraction:
    """The number a finite word stands for."""
    exponent, fraction = word >> 23 & 0xFF, word & 0x7FFFFF
    assert exponent < 255, f"{word:#x} is not finite"
    size = fraction * Fraction(2) ** -149 if exponent == 0 else (fraction + 2**23) * Fraction(2) ** (exponent - 150)
    return -size if word & SIGN else size


def finite(word: int) -> bool:
    return word & 0x7FFFFFFF < INF


def is_zero(word: int) -> bool:
    return word & 0x7FFFFFFF == 0


def nearest(exact: Fraction | int, *, negative_zero: bool = False) -> int:
    """The word nearest to an exact value, ties to even; overflow is an infinity."""
    exact = Fraction(exact)
    if exact == 0:
        return SIGN if negative_zero else 0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    exponent = max(exponent, -126)
    steps = round(size / Fraction(2) ** (exponent - 23))  # of a Fraction: half to even
    word = min((exponent + 126 << 23) + steps, INF)
    return word | (SIGN if exact < 0 else 0)


def square_root(exact: Fraction) -> int:
    """The word nearest to the root of a positive value."""
    exponent = (exact.numerator.bit_length() - exact.denominator.bit_length()) // 2
    unit = Fraction(2) ** (exponent - 30)
    root = isqrt(int(exact / unit**2))
    halfway = nearest(root * unit)
    candidates = [halfway - 1, halfway, halfway + 1]
    for lower, upper in pairwise(candidates):
        middle = (value(lower) + value(upper)) / 2
        if exact < middle**2:
            return lower
    return candidates[-1]


def word_of(number: float) -> int:
    """The word of a number that binary32 holds exactly."""
    packed = struct.pack("<f", number)
    assert struct.unpack("<f", packed)[0] == number, f"{number!r} is not a binary32 value"
    return int(struct.unpack("<I", packed)[0])


def words_of(*numbers: float) -> list[int]:
    return [word_of(number) for number in numbers]


def int_words(*numbers: int) -> list[int]:
    return [number & 0xFFFFFFFF for number in numbers]


def signed(word: int) -> int:
    return word - 2**32 if word & SIGN else word


def add(a: int, b: int) -> int:
    if is_nan(a) or is_nan(b):
        return NAN
    if not finite(a) or not finite(b):
        if not finite(a) and not finite(b) and a != b:
            return NAN
        return b if finite(a) else a
    return nearest(value(a) + value(b), negative_zero=a == b == SIGN)


def mul(a: int, b: int) -> int:
    sign = (a ^ b) & SIGN
    if is_nan(a) or is_nan(b):
        return NAN
    if not finite(a) or not finite(b):
        return NAN if is_zero(a) or is_zero(b) else INF | sign
    return nearest(value(a) * value(b), negative_zero=bool(sign))


def div(a: int, b: int) -> int:
    sign = (a ^ b) & SIGN
    if is_nan(a) or is_nan(b):
        return NAN
    if not finite(a) or is_zero(b):
        same = (not finite(a) and not finite(b)) or (is_zero(a) and is_zero(b))
        return NAN if same else INF | sign
    if not finite(b):
        return sign
    return nearest(value(a) / value(b), negative_zero=bool(sign))


def rem(a: int, b: int) -> int:
    if is_nan(a) or is_nan(b) or not finite(a) or is_zero(b):
        return NAN
    if not finite(b):
        return a
    quotient = int(value(a) / value(b))  # truncates
    return nearest(value(a) - quotient * value(b), negative_zero=bool(a & SIGN))


def below(a: int, b: int) -> bool:
    """Whether a < b as numbers, the zeros equal; infinities as numbers beyond all."""

    def place(word: int) -> int:
        size = word & 0x7FFFFFFF
        return -size if word & SIGN else size

    return place(a) < place(b)


def larger(a: int, b: int) -> int:
    if is_nan(a) or is_nan(b):
        return NAN
    if is_zero(a) and is_zero(b):
        return a & b
    return b if below(a, b) else a


def smaller(a: int, b: int) -> int:
    if is_nan(a) or is_nan(b):
        return NAN
    if is_zero(a) and is_zero(b):
        return a | b
    return a if below(a, b) else b
