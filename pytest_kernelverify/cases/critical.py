"""Critical binary32 and Int32 words: specials, extremes, subnormals, and arguments whose results nearly tie."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from pytest_kernelverify.cases.values import (
    INT_MAX,
    INT_MIN,
    Integers,
    Words,
    below,
    draws,
    float_words,
    integers,
    real_words,
    sparse_positions,
    whole_words,
)

__all__ = [
    "BEYOND_SIGNIFICAND",
    "FLOAT_EXTREMES",
    "INFINITY",
    "INT_EXTREMES",
    "MAX",
    "NAN",
    "NANS",
    "SPECIALS",
    "SUBNORMALS",
    "crossed",
    "halfway_pairs",
    "near_reciprocals",
    "near_roots",
    "pair_extremes",
    "random_bits",
    "small_integers",
    "wide",
    "with_specials",
    "words",
]

SIGN = 0x80000000
INFINITY, MAX, MIN_NORMAL, ONE = 0x7F800000, 0x7F7FFFFF, 0x00800000, 0x3F800000
NAN = 0x7FC00123
# Quiet, each with its own payload; none is the canonical NaN or the poison.
NANS = (NAN, 0xFFC12345, 0x7FC0FF22, 0xFFFFFFFE, 0x7FE00001)


def words(*values: int) -> Words:
    return np.array(values, dtype=np.uint32)


SPECIALS = words(NAN, INFINITY, 0, ONE, SIGN, SIGN | INFINITY, SIGN | ONE, NANS[1], 0x40400000)
SUBNORMALS = words(
    1, SIGN | 1, 3, 0x007FFFFF, SIGN | 0x007FFFFF, 0x00400000, MIN_NORMAL, 0x00800001, SIGN | 0x00800001,
    0x3F000000, 0x34000000, ONE,
)  # fmt: skip
# Integers that binary32 must round: ties to even both ways, their neighbours, and the ends.
BEYOND_SIGNIFICAND: Integers = np.array(
    [
        2**24 + 1, 2**24 + 3, -(2**24) - 1, 2**25 + 2, 2**25 + 6, 2**25 + 1, 2**25 + 3, 2**30 + 32, 2**30 + 96,
        2**30 + 33, 2**30 + 31, -(2**30) - 32, INT_MAX, INT_MIN, INT_MAX - 64, INT_MAX - 63, INT_MIN + 1, 2**24 - 1,
    ],
    dtype=np.int64,
)  # fmt: skip
INT_EXTREMES: Integers = np.array(
    [INT_MIN, INT_MAX, INT_MIN + 1, INT_MAX - 1, 2**24 + 1, 2**24, -(2**24) - 1, 256, -256, 65536, 0, -1, 1],
    dtype=np.int64,
)
FLOAT_EXTREMES = words(
    MAX, SIGN | MAX, 0x00800000, 0x80800000, 0x7F7FFFFE, 0x7E800000, 0xFE7FFFFF, 0x4B7FFFFF, 0x4F000000, 0xCF000000
)  # fmt: skip


def small_integers(seed: int, count: int, low: int = -9, high: int = 9) -> Integers:
    """Small integers without zero, none equal to its predecessor."""
    value = integers(seed, count, low, high)
    value[1:][value[1:] == value[:-1]] += 1 if high < 9 else -1
    return np.where(value == 0, 1 + np.arange(count) % 2, value)


def with_specials(words: Words, special: Words) -> Words:
    """The words with specials at the first, middle, last and tail positions."""
    words = words.copy()
    if words.size:
        words[list(sparse_positions(words.size))] = special[:4]
    return words


@cache
def crossed(count: int, *, subnormal: bool = False) -> tuple[Words, ...]:
    """Every combination of ``count`` special (or subnormal) words, one array an operand."""
    table = SUBNORMALS if subnormal else SPECIALS
    pairs = np.array(list(product(range(len(table)), repeat=count)))
    return tuple(table[pairs[:, axis]] for axis in range(count))


def halfway_pairs(operation: str, seed: int, count: int) -> tuple[Integers, Words]:
    """Operands whose exact result lies on, or next to, the midpoint of two binary32 values.

    The first array holds integers of at most 24 bits (usable as Int32 too), the second binary32 words.
    """
    if operation in ("add", "sub"):
        large = integers(seed, count, 2**23, 2**24 - 1)
        half = np.array([0x3F000000, 0xBF000000, 0x3F000001, 0x3EFFFFFF, 0xBF000001, 0xBEFFFFFF], dtype=np.uint32)
        return large, half[below(seed + 1, count, len(half))]
    if operation == "mul":
        # Odd factors of 13 bits: a product of 25 bits ends in a tie, one of 26 bits a quarter from it.
        left, right = (integers(seed + axis, count, 2**11, 2**12 - 1) * 2 + 1 for axis in (0, 1))
        return left, whole_words(right)
    if operation == "rem":
        right = integers(seed, count, 2**10, 2**12 - 1) | 1
        left = right * integers(seed + 1, count, 1, 2**11) + below(seed + 2, count, 3) - 1
        return left * (1 - 2 * below(seed + 3, count, 2)), whole_words(right)
    # Quotients within one part in the divisor of a midpoint: an odd q of 25 bits with divisor * q = +-1 (mod 2**25).
    divisor = (integers(seed, count, 2**22, 2**23 - 1) * 2 + 1).astype(np.uint64)
    inverse = divisor.copy()
    for _ in range(5):
        inverse *= np.uint64(2) - divisor * inverse
    mask = np.uint64(2**25 - 1)
    quotient = inverse & mask
    mirrored = (np.uint64(2**25) - quotient) & mask
    above = quotient >= np.uint64(2**24)
    quotient = np.where(above, quotient, mirrored)
    rest = np.where(above, np.int64(-1), np.int64(1))
    dividend = (divisor * quotient).astype(np.int64) + rest
    return dividend >> 25, whole_words(divisor.astype(np.int64))


@cache
def near_reciprocals(seed: int) -> Words:
    """64 words whose reciprocals come nearest to a midpoint, among 4096 drawn; and powers of two."""
    significand = integers(seed, 4096, 2**23, 2**24 - 1)
    rest = np.int64(2**48) % significand  # 1/x = quotient + rest/x, quotient of 25 bits
    odd = (np.int64(2**48) // significand) & 1
    distance = np.where(odd == 1, rest, significand - rest)
    best = significand[np.argsort(distance, kind="stable")[:60]]
    return np.concatenate([whole_words(best), real_words([1.0, 2.0, -0.5, 2.0**126])])


@cache
def near_roots(seed: int) -> Words:
    """64 words whose square roots come nearest to a midpoint, among 4096 drawn; and squares with their neighbours."""
    half = integers(seed, 4096, 2**23, 2**24 - 1)
    square = half * half + half  # (half + 1/2)**2 - 1/4; a root's neighbourhood is that many times wider
    scale = np.where(square >= 2**47, 2**24, 2**23)
    nearest = (square + scale // 2) // scale
    usable = nearest < 2**24
    distance = np.where(usable, np.abs(nearest * scale - square), 2**60)
    order = np.argsort(distance, kind="stable")[:48]
    even = scale[order] == 2**24
    near = whole_words(nearest[order]).astype(np.int64) + np.where(even, 0, -1) * (1 << 23)
    roots = integers(seed + 1, 6, 2**11, 2**12 - 1)
    exact = whole_words(roots * roots).astype(np.int64)
    return np.concatenate([near, exact, exact + 1, exact - 1]).astype(np.uint32)


def pair_extremes(operation: str) -> tuple[Words, Words]:
    """Pairs at the overflow threshold: just below it, on the tie, above it; and results that stay finite."""
    m, top = MAX, 0x7F000000  # 2**127
    tie, below_tie, above_tie = 0x73000000, 0x72FFFFFF, 0x73000001  # half an ulp of MAX: 2**103
    if operation in ("add", "sub"):
        left = [m, m, m, SIGN | m, m, top, top, SIGN | top, m, SIGN | m, m]
        right = [tie, below_tie, above_tie, SIGN | tie, SIGN | m, top, 0x7EFFFFFF, SIGN | top, ONE, ONE, SIGN | tie]
        if operation == "sub":
            right = [word ^ SIGN for word in right]
        return words(*left), words(*right)
    if operation == "mul":
        # 31 * 1082401 = 2**25 - 1: the tie at the threshold.
        factor = int(whole_words([1082401])[0]) + (103 << 23)
        left = [0x41F80000, 0x41F80000, 0x41F80000, 0xC1F80000, m, m, m, 0x5F800000, 0x5F800000, top, m]
        right = [factor, factor - 1, factor + 1, factor, ONE, ONE + 1, ONE - 1, 0x5F800000, 0x5F7FFFFF, 0xC0000000, 0]
        return words(*left), words(*right)
    if operation == "div":
        left = [m, m, m, m, ONE, top, top, SIGN | m, m, m]
        right = [0x3F000000, ONE - 1, ONE + 1, m, 0x00800000, 0x3F000000, 0x3F000001, ONE - 1, SIGN | m, top]
        return words(*left), words(*right)
    if operation == "rem":
        left = [m, m, SIGN | m, m, top, 0x40E00000, m, ONE, SIGN | ONE, 0x7F7FFFFE]
        right = [0x40400000, 0x3F800001, 0x40E00000, m, 0x7EFFFFFF, m, 0x7F000000, ONE, ONE, 0x34000003]
        return words(*left), words(*right)
    left = [m, SIGN | m, INFINITY, SIGN | INFINITY, m, SIGN | INFINITY, m, 0x7F7FFFFE, top, ONE]
    right = [SIGN | m, m, m, SIGN | m, INFINITY, INFINITY, m, m, SIGN | top, m]
    return words(*left), words(*right)


def random_bits(seed: int, count: int) -> Words:
    """Any 32 bits."""
    return (draws(seed, count) >> np.uint64(16)).astype(np.uint32)


def wide(seed: int, count: int) -> Words:
    """Signed normal words over 2**-30 .. 2**30: no product, quotient or reciprocal of two is subnormal."""
    return float_words(seed, count, -30, 30)
