"""Deterministic payloads: the same seed gives the same words with every NumPy, on every machine."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_kernelverify.numerics.bits import shown
from pytest_kernelverify.numerics.payloads import EncodedFloat32Payload, ExactStructuralPayload

__all__ = [
    "adversarial_float32_payload",
    "arbitrary_float32_payload",
    "exact_structural_payload",
    "mixed",
    "wide_exponent_float32_payload",
]

_ADVERSARIAL = (
    *(0x00000000, 0x80000000),  # zeros
    *(0x00000001, 0x80000001, 0x00400000, 0x807FFFFF, 0x007FFFFF),  # subnormals, the least and the largest
    *(0x00800000, 0x80800000, 0x00800001),  # the least normals
    *(0x3F7FFFFF, 0x3F800000, 0x3F800001, 0xBF800000),  # around one
    *(0x4B7FFFFF, 0x4B800000),  # 2**24 and the last odd integer below it
    *(0x7F7FFFFF, 0xFF7FFFFF, 0x7F7FFFFE),  # finite extremes
    *(0x7F800000, 0xFF800000),  # infinities
    *(0x7FC00000, 0xFFC00000, 0x7FC00001, 0xFFC12345, 0x7FFFFFFF),  # quiet NaNs
    *(0x7F800001, 0xFF800001, 0x7FBFFFFF, 0xFFA5A5A5),  # signalling NaNs
)


_MOST = 2**59  # elements; NumPy cannot count the bytes of more


def mixed(seed: int, count: int, stream: int = 0) -> npt.NDArray[np.uint64]:
    """Internal: ``count`` well mixed 64-bit words; ``stream`` tells the uses of one seed apart.

    SplitMix64 (Steele, Lea and Flood, 2014): a counter in steps of the golden ratio, then two xor-multiply rounds.
    """
    start = np.uint64((seed + stream * 0xD1B54A32D192ED03) % 2**64)
    word = start + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def _integer(name: str, value: Any, least: int | None = None) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} {shown(value)} is a {type(value).__name__}; pass an integer")
    if least is not None and value < least:
        raise ValueError(f"{name} {shown(value)} is too small; it must be {least} or more")
    return int(value)


def _count(name: str, count: int) -> int:
    if count > _MOST:
        raise ValueError(f"{name} {shown(count)} is more than an array holds; pass less")
    return count


def _below(words: npt.NDArray[np.uint64], limit: int) -> npt.NDArray[np.uint64]:
    """The upper half of each word scaled to 0..limit-1."""
    return ((words >> np.uint64(32)) * np.uint64(limit)) >> np.uint64(32)


def arbitrary_float32_payload(seed: int, count: int) -> EncodedFloat32Payload:
    """``count`` finite words: sign, exponent field (0 to 254) and fraction each uniform, subnormals included.

    A negative count is a ValueError.
    """
    seed, count = _integer("seed", seed), _count("count", _integer("count", count, 0))
    words = mixed(seed, count, 1)
    return EncodedFloat32Payload.from_words(_below(words, 255) << np.uint64(23) | words & np.uint64(0x807FFFFF))


def wide_exponent_float32_payload(seed: int, count: int) -> EncodedFloat32Payload:
    """``count`` words of magnitude 2**-30 up to below 2**31, with full fractions and both signs.

    Of 61 successive values no two share an exponent, so that few values already spread wide; every product of two is
    normal, and sums of millions of them are far from overflow. A negative count is a ValueError.
    """
    seed, count = _integer("seed", seed), _count("count", _integer("count", count, 0))
    words = mixed(seed, count, 2)
    start = int(_below(mixed(seed, 1, 3), 61)[0])
    field = (np.arange(count, dtype=np.uint64) * np.uint64(23) + np.uint64(start)) % np.uint64(61) + np.uint64(97)
    return EncodedFloat32Payload.from_words(field << np.uint64(23) | words & np.uint64(0x807FFFFF))


def adversarial_float32_payload() -> EncodedFloat32Payload:
    """Fixed words: both zeros, subnormals, least normals, finite extremes, infinities, quiet and signalling NaNs."""
    return EncodedFloat32Payload.from_bits(_ADVERSARIAL)


def exact_structural_payload(
    seed: int, contraction_length: int, *, product: bool, rows: int = 1, mantissa_bits: int = 24
) -> ExactStructuralPayload:
    """Non-zero integers of both signs, small enough that no order of summation ever rounds.

    ``rows`` fibres of ``contraction_length`` values, row-major; in product mode as many again in ``rhs``. With K terms
    and m mantissa bits the bound is floor(2**m / K), in product mode its integer square root, so that every partial sum
    (of products) is an integer of at most 2**m; it is at most 2**24, which binary32 still holds. Lengths, rows or
    budgets below one, and a bound below one, are a ValueError.
    """
    seed = _integer("seed", seed)
    length = _integer("contraction_length", contraction_length, 1)
    rows = _integer("rows", rows, 1)
    mantissa_bits = _integer("mantissa_bits", mantissa_bits, 1)
    if not isinstance(product, (bool, np.bool_)):
        raise TypeError(
            f"product {shown(product)} is a {type(product).__name__}; pass True for products, False for sums"
        )
    # Above the cap a budget gives the same bound however many bits it has; only as many are worked with.
    share = (1 << min(mantissa_bits, length.bit_length() + 48)) // length
    bound = min(isqrt(share) if product else share, 1 << 24)
    if bound < 1:
        raise ValueError(
            f"contraction_length {shown(length)} leaves no operand of at least one under {mantissa_bits} mantissa bits;"
            f" pass at most {shown(1 << mantissa_bits)}"
        )

    count = _count("rows * contraction_length", rows * length)

    def operand(stream: int) -> EncodedFloat32Payload:
        words = mixed(seed, count, stream)
        magnitudes = (_below(words, bound) + np.uint64(1)).astype(np.int64)
        return EncodedFloat32Payload.from_values(np.where(words & np.uint64(1), -magnitudes, magnitudes))

    return ExactStructuralPayload(operand(4), operand(5) if product else None, length, bound, mantissa_bits)
