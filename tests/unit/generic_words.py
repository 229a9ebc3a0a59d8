"""What the tests of Generic share: words from values, rounding by bisection over Fractions, and adversarial words."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_kernelverify.operations.generic import Answer, evaluate
from pytest_kernelverify.operations.plan import PlanKey

Array = npt.NDArray[Any]

NAN, INFINITY, SIGN, LARGEST = 0x7FC00000, 0x7F800000, 0x80000000, 0x7F7FFFFF
EDGES = [0, 1, 2, 0x7FFFFF, 0x800000, 0x800001, 0xFFFFFF, 0x1000000, 0x33800000, 0x34000000, 0x3F000000, 0x3F7FFFFF]
EDGES += [0x3F800000, 0x3F800001, 0x3FC00000, 0x40000000, 0x4B000000, 0x4B000001, 0x4B7FFFFF, 0x4B800000, 0x7E800000]
EDGES += [0x7F000000, 0x7F7FFFFE, LARGEST, INFINITY, NAN, 0x7F800001, 0x7FFFFFFF]
EDGES += [word | SIGN for word in EDGES]


def f32(*values: float) -> Array:
    """Binary32 words of values that are binary32 already, or the nearest."""
    return np.array([struct.unpack("<I", struct.pack("<f", value))[0] for value in values], np.uint32)


def i32(*values: int) -> Array:
    return np.array([value & 0xFFFFFFFF for value in values], np.uint32)


def truth(*values: int) -> Array:
    return np.array(values, np.uint8)


def words(*values: int) -> Array:
    return np.array(values, np.uint32)


def floats(array: Array) -> Array:
    return array.view(np.float32)


def fraction(word: int) -> Fraction:
    """The value of a finite word, by the definition of the format."""
    field, fields = word >> 23 & 0xFF, word & 0x7FFFFF
    magnitude = Fraction(fields + (1 << 23 if field else 0)) * Fraction(2) ** (max(field, 1) - 150)
    return -magnitude if word & SIGN else magnitude


def nearest(value: Fraction) -> int:
    """The word of the binary32 nearest to a value, found by bisection over all words; ties to the even word."""
    sign, magnitude = (SIGN, -value) if value < 0 else (0, value)
    if magnitude >= (Fraction(2) - Fraction(1, 2**24)) * 2**127:
        return sign | INFINITY
    low, high = 0, LARGEST
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fraction(middle) <= magnitude else (low, middle - 1)
    if low == LARGEST:
        return sign | low
    below, above = magnitude - fraction(low), fraction(low + 1) - magnitude
    return sign | (low if below < above or (below == above and low % 2 == 0) else low + 1)


def adversarial(seed: int, count: int) -> Array:
    """Words of every class: edges, random bits, values around one, small integers, subnormals."""
    rng = np.random.default_rng(seed)
    kinds = [
        rng.choice(np.array(EDGES, np.uint32), count),
        rng.integers(0, 2**32, count, dtype=np.uint32),
        rng.integers(0x3E000000, 0x41000000, count, dtype=np.uint32)
        | (rng.integers(0, 2, count) << 31).astype(np.uint32),
        rng.integers(-9, 10, count).astype(np.float32).view(np.uint32),
        rng.integers(0, 0x1000000, count, dtype=np.uint32) | (rng.integers(0, 2, count) << 31).astype(np.uint32),
    ]
    return np.choose(rng.integers(0, len(kinds), count), kinds).astype(np.uint32)


def finite(array: Array) -> Array:
    """The words with infinities and NaNs replaced by a value."""
    return np.where((array & INFINITY) == INFINITY, array & 0x80FFFFFF, array).astype(np.uint32)


def canonical(array: Array) -> Array:
    """NumPy's binary32 results as words with one NaN."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return np.where(np.isnan(array), np.uint32(NAN), bits)


def run(text: str, *operands: Array, parameters: Mapping[str, Any] | None = None, bounds: bool = False) -> Answer:
    return evaluate(PlanKey.from_text(text), operands, parameters or {}, bounds=bounds)


def answer(text: str, *operands: Array, **parameters: Any) -> list[int]:
    """The answer's words as Python integers."""
    return [int(word) for word in run(text, *operands, parameters=parameters).words]


def hexes(array: Sequence[int] | Array) -> list[str]:
    return [f"{int(word):08X}" for word in array]
