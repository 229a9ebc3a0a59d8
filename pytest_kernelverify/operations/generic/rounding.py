"""Rounding to binary32, to nearest even, with gradual underflow and overflow to infinity, in integers only."""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign
from typing import Any

import numpy as np

from pytest_kernelverify.operations.generic.answer import GenericError
from pytest_kernelverify.operations.generic.decode import INFINITY, NAN, SIGN, Array, bit_length

__all__ = ["round_all", "round_even", "round_integers", "round_parameter", "round_scaled", "round_words"]

PRECISION = 24
LOWEST = -149  # the exponent of the smallest subnormal


def round_words(negative: Array, mantissa: Array, exponent: Any, sticky: Any = False) -> Array:
    """The words nearest to ``(-1)**negative * mantissa * 2**exponent``; mantissas below 2**61.

    ``sticky`` marks values that exceed that one by less than one unit of the mantissa; such a mantissa has 26 bits or
    more.
    """
    quantum = np.maximum(exponent + bit_length(mantissa) - PRECISION, LOWEST)
    drop = np.clip(quantum - exponent, 0, 62)
    lift = np.clip(exponent - quantum, 0, PRECISION)
    kept = mantissa >> drop
    rest = mantissa - (kept << drop)
    half = np.maximum((1 << drop) >> 1, 1)
    up = (rest > half) | ((rest == half) & (sticky | (kept & 1 == 1)))
    # A significand of 24 bits carries its hidden bit into the exponent field, a subnormal one has none to carry.
    magnitude = ((quantum - LOWEST) << 23) + (kept << lift) + up
    magnitude = np.where(mantissa == 0, 0, np.minimum(magnitude, INFINITY))
    return (magnitude + np.where(negative, SIGN, 0)).astype(np.uint32)


def round_even(value: int, drop: int) -> int:
    """``value / 2**drop``, of any sign, as the nearest integer, halves to even."""
    if drop <= 0:
        return value << -drop
    return (value + (1 << (drop - 1)) - 1 + (value >> drop & 1)) >> drop


def round_scaled(value: int, exponent: int) -> int:
    """The word nearest to ``value * 2**exponent``; zero gives +0."""
    sign, magnitude = (SIGN, -value) if value < 0 else (0, value)
    if magnitude == 0:
        return 0
    quantum = max(exponent + magnitude.bit_length() - PRECISION, LOWEST)
    if quantum > 128:
        return sign | INFINITY
    kept = round_even(magnitude, quantum - exponent)
    return sign | min(((quantum - LOWEST) << 23) + kept, INFINITY)


def round_all(values: Array | Sequence[int], exponent: int) -> Array:
    """The words nearest to each ``value * 2**exponent``: int64 below 2**61, or Python integers of any size."""
    if not isinstance(values, np.ndarray):
        if max(map(abs, values), default=0) >> 60:
            return np.fromiter((round_scaled(value, exponent) for value in values), np.uint32, len(values))
        values = np.array(values, np.int64)
    exponent = max(-400, min(exponent, 400))  # beyond, 61 bits give zero or infinity all the same
    return round_words(values < 0, np.abs(values), exponent)


def round_integers(values: Array) -> Array:
    """Int32 values (int64) converted to binary32 words."""
    return round_words(values < 0, np.abs(values), 0)


def round_parameter(value: Any, name: str) -> int:
    """A Python number as one binary32 word, rounded once; GenericError where there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise GenericError(f"{name} is {value!r}; expected a number", "invalid")
    if value != value:
        return NAN
    if value in (float("inf"), float("-inf")):
        return INFINITY if value > 0 else INFINITY | SIGN
    numerator, denominator = value.as_integer_ratio()
    word = round_scaled(numerator, 1 - denominator.bit_length())
    if word & INFINITY == INFINITY:
        raise GenericError(f"{name} is {value!r}, beyond binary32; expected a finite binary32 value", "invalid")
    return word | SIGN if copysign(1.0, value) < 0 else word
