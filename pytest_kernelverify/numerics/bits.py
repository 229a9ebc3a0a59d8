"""Binary32 words: encoding, decoding, order, and one exact rounding, all without a float conversion."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "MAXIMUM_ULP_DISTANCE",
    "float32_bits",
    "float32_ulp_distance",
    "float32_value",
    "float32_values",
    "float32_words",
    "ordered",
    "round_fraction",
    "round_ratio",
    "round_scaled",
    "scaled",
]

Words = npt.NDArray[np.uint32]

MAXIMUM_ULP_DISTANCE = 2**32 - 1
"""The distance of two different NaN words, and of a NaN from a number; no two numbers are this far apart."""

SIGN = 0x80000000
MAGNITUDE = 0x7FFFFFFF
INFINITY = 0x7F800000
FRACTION = 0x007FFFFF

_DOUBLE_INFINITY = 0x7FF << 52


# Exact rounding -------------------------------------------------------------------------------------------------


def round_scaled(mantissa: int, exponent: int) -> int:
    """The binary32 word nearest to ``mantissa * 2**exponent``, ties to even.

    Underflow is gradual and keeps the sign; overflow gives infinity; zero is +0. IEEE 754-2019, section 4.3.1.
    """
    sign = 0
    if mantissa <= 0:
        if mantissa == 0:
            return 0
        sign, mantissa = SIGN, -mantissa
    top = mantissa.bit_length() + exponent  # the value lies in [2**(top-1), 2**top)
    if top < -149:
        return sign
    if top > 128:
        return sign | INFINITY
    quantum = top - 24 if top > -125 else -149
    shift = quantum - exponent
    if shift > 0:
        mantissa = (mantissa + (1 << (shift - 1)) - 1 + ((mantissa >> shift) & 1)) >> shift
    else:
        mantissa <<= -shift
    # The leading bit of a normal mantissa adds one to the exponent field, as does a carry out of rounding.
    word = mantissa + ((quantum + 149) << 23)
    return sign | (word if word < INFINITY else INFINITY)


def round_ratio(numerator: int, denominator: int) -> int:
    """The binary32 word nearest to ``numerator / denominator``, ties to even. A zero denominator is an error."""
    if denominator < 0:
        numerator, denominator = -numerator, -denominator
    if denominator & (denominator - 1) == 0 and denominator:
        return round_scaled(numerator, 1 - denominator.bit_length())
    negative = numerator < 0
    shift = 27 + denominator.bit_length() - abs(numerator).bit_length()
    if shift >= 0:
        quotient, rest = divmod(abs(numerator) << shift, denominator)
    else:
        quotient, rest = divmod(abs(numerator), denominator << -shift)
    # At least 27 bits of quotient; whatever lies beyond them only matters as "more than nothing".
    quotient = quotient << 1 | (rest != 0)
    return round_scaled(-quotient if negative else quotient, -shift - 1)


def round_fraction(value: Fraction | int | tuple[int, int]) -> int:
    """The binary32 word nearest to an exact rational, or to ``(mantissa, exponent)`` as :func:`round_scaled`."""
    if isinstance(value, tuple):
        return round_scaled(*value)
    return round_ratio(value.numerator, value.denominator)


def scaled(word: int) -> tuple[int, int]:
    """A finite word as exact ``(mantissa, exponent)`` with value ``mantissa * 2**exponent``; both zeros give 0."""
    field = (word >> 23) & 0xFF
    if field == 0xFF:
        raise ValueError(f"word {word:#010x} is not finite; it has no exact value")
    mantissa = (word & FRACTION) | (0x800000 if field else 0)
    return (-mantissa if word & SIGN else mantissa), (field or 1) - 150


# Scalars --------------------------------------------------------------------------------------------------------


def _refuse_beyond(value: Any) -> ValueError:
    return ValueError(f"{value!r} rounds beyond the largest finite binary32 value; scale it or pass an infinity")


def _float_word(value: float) -> int:
    (wide,) = struct.unpack("<Q", struct.pack("<d", value))
    sign = (wide >> 32) & SIGN
    magnitude = wide & (2**63 - 1)
    if magnitude >= _DOUBLE_INFINITY:
        payload = (magnitude >> 29) & FRACTION
        # A signalling payload that lies wholly in the dropped bits must not turn into an infinity.
        return int(sign | INFINITY | (payload or (magnitude != _DOUBLE_INFINITY)))
    field = magnitude >> 52
    mantissa = magnitude & (2**52 - 1) | ((1 << 52) if field else 0)
    word = round_scaled(mantissa, (field or 1) - 1075)
    if word == INFINITY:
        raise _refuse_beyond(value)
    return int(sign | word)


def _half_word(value: np.float16) -> int:
    half = int(value.view(np.uint16))
    if half & 0x7FFF > 0x7C00:
        return (half & 0x8000) << 16 | INFINITY | (half & 0x3FF) << 13
    return _float_word(float(value))


def float32_bits(value: Any) -> int:
    """The binary32 word of a number.

    An integer or a fraction is rounded to binary32 directly, a float once, all to nearest even. A float NaN keeps its
    sign and the top 23 bits of its payload, and stays signalling if it was; a NumPy float32 keeps its word. Booleans
    and anything but a real number are a TypeError; a finite value that rounds beyond binary32 is a ValueError.
    """
    if type(value) is float:
        return _float_word(value)
    if isinstance(value, np.float32):
        return int(value.view(np.uint32))
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{value!r} is a Boolean; binary32 encodes numbers, pass 0 or 1 if that is meant")
    if isinstance(value, (int, np.integer, Fraction)):
        word = round_ratio(int(value.numerator), int(value.denominator))
        if word & MAGNITUDE == INFINITY:
            raise _refuse_beyond(value)
        return word
    if isinstance(value, float):  # np.float64 is one
        return _float_word(float(value))
    if isinstance(value, np.float16):
        return _half_word(value)
    if isinstance(value, np.longdouble):
        if np.isfinite(value) and value != 0:
            return float32_bits(Fraction(*value.as_integer_ratio()))
        return _float_word(float(value))
    raise TypeError(f"{value!r} is a {type(value).__name__}; binary32 encodes int, float, Fraction or a NumPy number")


def float32_value(word: int) -> float:
    """The float a binary32 word stands for. NaN payloads and signalling NaNs survive: only bits are widened."""
    if (word & INFINITY) == INFINITY:
        wide = (word & SIGN) << 32 | _DOUBLE_INFINITY | (word & FRACTION) << 29
        (value,) = struct.unpack("<d", struct.pack("<Q", wide))
        return float(value)
    mantissa, exponent = scaled(word)
    return math.ldexp(mantissa, exponent) if mantissa else (-0.0 if word & SIGN else 0.0)


def float32_ulp_distance(expected: Any, actual: Any) -> int:
    """How many binary32 values lie between two numbers.

    Both zeros are one value. Equal NaN words are at distance 0; different NaN words, and a NaN and a number, are
    :data:`MAXIMUM_ULP_DISTANCE` apart. Encoding errors are those of :func:`float32_bits`.
    """
    left, right = float32_bits(expected), float32_bits(actual)
    if left == right:
        return 0
    if left & MAGNITUDE > INFINITY or right & MAGNITUDE > INFINITY:
        return MAXIMUM_ULP_DISTANCE
    return abs((-(left & MAGNITUDE) if left & SIGN else left) - (-(right & MAGNITUDE) if right & SIGN else right))


# Arrays ---------------------------------------------------------------------------------------------------------


def ordered(words: Words) -> npt.NDArray[np.int64]:
    """Words as integers in the order of their values; neighbours differ by one, both zeros are 0."""
    magnitude = (words & np.uint32(MAGNITUDE)).astype(np.int64)
    return np.where(words >= np.uint32(SIGN), -magnitude, magnitude)


def float32_values(words: Words) -> npt.NDArray[np.float64]:
    """Each word widened to binary64 by moving bits, so that every NaN word can be encoded again."""
    finite = (words & np.uint32(INFINITY)) != np.uint32(INFINITY)
    values = np.where(finite, words, np.uint32(0)).view(np.float32).astype(np.float64)
    if not finite.all():
        rest = words[~finite].astype(np.uint64)
        sign = (rest & np.uint64(SIGN)) << np.uint64(32)
        fraction = (rest & np.uint64(FRACTION)) << np.uint64(29)
        values.view(np.uint64)[~finite] = sign | np.uint64(_DOUBLE_INFINITY) | fraction
    return values


def _double_words(values: npt.NDArray[np.float64]) -> Words:
    """Binary64 rounded once to binary32 in integer arithmetic: no rounding mode or flush bit of the machine counts."""
    wide = values.view(np.uint64)
    sign = ((wide >> np.uint64(32)) & np.uint64(SIGN)).astype(np.uint32)
    magnitude = wide & np.uint64(2**63 - 1)
    special = magnitude >= np.uint64(_DOUBLE_INFINITY)
    bias = np.uint64(896 << 52)
    lifted = np.maximum(magnitude, bias) - bias
    words = (lifted + np.uint64(2**28 - 1) + ((lifted >> np.uint64(29)) & np.uint64(1))) >> np.uint64(29)
    small = magnitude < np.uint64(897 << 52)
    if small.any():
        tiny = magnitude[small]
        field = tiny >> np.uint64(52)
        mantissa = (tiny & np.uint64(2**52 - 1)) | (np.minimum(field, np.uint64(1)) << np.uint64(52))
        shift = np.minimum(np.uint64(926) - np.maximum(field, np.uint64(1)), np.uint64(63))
        half = (np.uint64(1) << (shift - np.uint64(1))) - np.uint64(1)
        words[small] = (mantissa + half + ((mantissa >> shift) & np.uint64(1))) >> shift
    beyond = (words >= np.uint64(INFINITY)) & ~special
    if beyond.any():
        raise _refuse_beyond(float(values[np.argmax(beyond)]))
    if special.any():
        odd = magnitude[special]
        payload = (odd >> np.uint64(29)) & np.uint64(FRACTION)
        lost = (payload == 0) & (odd != np.uint64(_DOUBLE_INFINITY))
        words[special] = np.uint64(INFINITY) | payload | lost.astype(np.uint64)
    result: Words = words.astype(np.uint32) | sign
    return result


def _array_words(array: npt.NDArray[Any]) -> Words | None:
    """The words of a float32, float64 or integer array, in row-major order; None for other dtypes."""
    array = np.ascontiguousarray(array).reshape(-1)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype == np.float32:
        return array.view(np.uint32)
    if array.dtype == np.float64:
        return _double_words(array)
    if array.dtype.kind in "iu":
        words: Words = array.astype(np.float32).view(np.uint32)  # one conversion, rounded once, never beyond range
        return words
    return None


def float32_words(values: Iterable[Any]) -> Words:
    """The binary32 words of numbers (1-D), each encoded as :func:`float32_bits` does.

    An array of any shape is read in row-major order; a float32 array may share its memory with the result.
    """
    if isinstance(values, np.ndarray):
        words = _array_words(values)
        if words is not None:
            return words
        values = values.ravel()
    items = values if isinstance(values, (list, tuple)) else list(values)
    kinds = set(map(type, items))
    if kinds == {float}:
        return _double_words(np.array(items, dtype=np.float64))
    if kinds == {int} and min(items) >= -(1 << 24) and max(items) <= 1 << 24:
        return np.array(items, dtype=np.float32).view(np.uint32)
    return np.array([float32_bits(item) for item in items], dtype=np.uint32)
