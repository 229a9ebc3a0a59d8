"""Rounding to binary32, to nearest even, with gradual underflow and overflow to infinity, in integers only."""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign
from operator import lshift, ne, rshift
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
    quantum = np.maximum(bit_length(mantissa) + (exponent - PRECISION), LOWEST)
    places = quantum - exponent
    drop = np.minimum(np.maximum(places, 0), 62)
    kept = mantissa >> drop
    # Twice the rest against one place: a tie goes up if something lies beyond it or the last kept bit is odd.
    rest = (mantissa - (kept << drop)) << 1
    up = rest + (sticky | (kept & 1)) > np.left_shift(1, drop)
    # A significand of 24 bits carries its hidden bit into the exponent field, a subnormal one has none to carry.
    magnitude = ((quantum - LOWEST) << 23) + (kept << np.maximum(-places, 0)) + up
    magnitude = np.minimum(magnitude, INFINITY) * np.not_equal(mantissa, 0)
    words: Array = (magnitude + negative * SIGN).astype(np.uint32)
    return words


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


def round_all(values: Sequence[int], exponent: int) -> Array:
    """The words nearest to each ``value * 2**exponent``, of Python integers of any size."""
    drop = [max(value.bit_length() - 60, 0) for value in values]
    if any(drop):
        magnitudes = list(map(abs, values))
        kept = list(map(rshift, magnitudes, drop))
        sticky = np.fromiter(map(ne, map(lshift, kept, drop), magnitudes), bool, len(values))
        negative = np.fromiter((value < 0 for value in values), bool, len(values))
        return round_words(negative, np.array(kept, np.int64), exponent + np.array(drop, np.int64), sticky)
    signed = np.array(values, np.int64)
    return round_words(signed < 0, np.abs(signed), exponent)


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
