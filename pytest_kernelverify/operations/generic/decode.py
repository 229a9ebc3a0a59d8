"""Words taken apart into integers: sign, mantissa, exponent, class; and the integers that order them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["INFINITY", "NAN", "SIGN", "Array", "Values", "bit_length", "decode", "integers", "is_nan", "order", "rank"]

Array = npt.NDArray[Any]

NAN = 0x7FC00000
INFINITY = 0x7F800000
SIGN = 0x80000000

_POWERS = np.left_shift(1, np.arange(62), dtype=np.int64)


class Values(NamedTuple):
    """Arrays of one shape: a finite value is ``(-1)**negative * mantissa * 2**exponent``, exactly.

    A normal value's mantissa has 24 bits, a subnormal one's fewer, at exponent -149.
    """

    negative: Array
    mantissa: Array
    exponent: Array
    nan: Array
    infinite: Array

    @property
    def zero(self) -> Array:
        return np.equal(self.mantissa, 0)


def decode(words: Array) -> Values:
    """Binary32 words as exact values."""
    wide = words.astype(np.int64)
    magnitude = wide & 0x7FFFFFFF
    field = magnitude >> 23
    hidden = np.minimum(field, 1)
    return Values(
        wide >= SIGN,
        (magnitude & 0x7FFFFF) | (hidden << 23),
        np.maximum(field, 1) - 150,
        magnitude > INFINITY,
        magnitude == INFINITY,
    )


def integers(words: Array) -> Array:
    """Two's-complement Int32 words as int64."""
    return (words.astype(np.int64) ^ SIGN) - SIGN


def is_nan(words: Array) -> Array:
    return (words & 0x7FFFFFFF) > INFINITY


def bit_length(magnitudes: Array) -> Array:
    """``int.bit_length`` of integers from 0 to 2**62 - 1: how many powers of two do not exceed each."""
    return _POWERS.searchsorted(magnitudes, "right")


def order(words: Array) -> Array:
    """Integers in the order of the binary32 values; both zeros are 0. NaN words have no meaning here."""
    wide = words.astype(np.int64)
    return np.where(wide >= SIGN, SIGN - wide, wide)


def rank(words: Array) -> Array:
    """As ``order``, with -0 below +0: words and ranks are one to one."""
    wide = words.astype(np.int64)
    return np.where(wide >= SIGN, SIGN - 1 - wide, wide)
