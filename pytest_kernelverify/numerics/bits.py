"""Binary32 words: encoding, decoding, order, and one exact rounding, all in integers.

No conversion of the machine takes part, so that no rounding mode and no flush bit of the thread changes a word.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "MAXIMUM_ULP_DISTANCE",
    "double_scaled",
    "float32_bits",
    "float32_ulp_distance",
    "float32_value",
    "float32_values",
    "float32_words",
    "float_array",
    "half_bits",
    "ordered",
    "ratio_double",
    "round_fraction",
    "round_ratio",
    "round_scaled",
    "scaled",
    "shown",
]

Words = npt.NDArray[np.uint32]

MAXIMUM_ULP_DISTANCE = 2**32 - 1
"""The distance of two different NaN words, and of a NaN from a number; no two numbers are this far apart."""

SIGN = 0x80000000
MAGNITUDE = 0x7FFFFFFF
INFINITY = 0x7F800000
FRACTION = 0x007FFFFF

_DOUBLE_INFINITY = 0x7FF << 52
_REBIAS = 896 << 52  # from the exponent field of a binary32 number to that of the same binary64 number
_FLOAT_FORMATS = ("e", "f", "d", "g")  # of the buffer protocol
_LENGTHS = np.repeat(np.arange(17, dtype=np.uint8), [1, *(1 << np.arange(16))])  # bit lengths below 2**16
_BLOCK = 1 << 15  # elements; the scratch of one block stays in the second-level cache


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


def _double(word: int) -> float:
    (value,) = struct.unpack("<d", struct.pack("<Q", word))
    return float(value)


def _double_word(value: float) -> int:
    (word,) = struct.unpack("<Q", struct.pack("<d", value))
    return int(word)


def double_scaled(value: float) -> tuple[int, int]:
    """A finite float as exact ``(mantissa, exponent)``, as :func:`scaled` gives it of a word."""
    wide = _double_word(value)
    field, fraction = (wide >> 52) & 0x7FF, wide & (2**52 - 1)
    mantissa = fraction | (1 << 52 if field else 0)
    return (-mantissa if wide >> 63 else mantissa), (field or 1) - 1075


def ratio_double(numerator: int, denominator: int, *, upward: bool = False) -> float:
    """The binary64 number nearest to ``numerator / denominator``, ties to even, or ``upward`` the least not below it.

    The denominator is positive. Beyond the largest finite number lies an infinity; a zero has no sign.
    """
    magnitude = abs(numerator)
    if not magnitude:
        return 0.0
    shift = 55 + denominator.bit_length() - magnitude.bit_length()
    quotient, rest = divmod(magnitude << max(shift, 0), denominator << max(-shift, 0))
    quotient = quotient << 1 | (rest != 0)  # 56 or 57 bits; whatever lies beyond them counts as "more than nothing"
    quantum = max(quotient.bit_length() - shift - 54, -1074)
    drop = quantum + shift + 1
    if upward:
        quotient += (1 << drop) - 1 if numerator > 0 else 0
    else:
        quotient += (1 << (drop - 1)) - 1 + ((quotient >> drop) & 1)
    word = (quotient >> drop) + ((quantum + 1074) << 52)
    word = min(word, _DOUBLE_INFINITY - (upward and numerator < 0))
    return _double(word | (1 << 63 if numerator < 0 and word else 0))


# Scalars --------------------------------------------------------------------------------------------------------


def shown(value: Any) -> str:
    """How an error names a value: its repr, or its size where that would fill the line or be refused by Python."""
    if isinstance(value, (int, Fraction)):
        size = max(int(value.numerator).bit_length(), int(value.denominator).bit_length())
        if size > 256:
            return f"<{'integer' if isinstance(value, int) else 'fraction'} of {size} bits>"
    try:
        text = repr(value)
    except ValueError:
        return f"<{type(value).__name__}>"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _refuse_beyond(value: Any) -> ValueError:
    return ValueError(f"{shown(value)} rounds beyond the largest finite binary32 value; scale it or pass an infinity")


def _float_word(value: float) -> int:
    wide = _double_word(value)
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


def half_bits(value: np.float16) -> int:
    """The binary32 word of a binary16 number, which is always exact; a NaN keeps its payload."""
    half = int(value.view(np.uint16))
    sign, field, fraction = (half & 0x8000) << 16, (half >> 10) & 0x1F, half & 0x3FF
    if field == 0x1F:
        return sign | INFINITY | fraction << 13
    return sign | round_scaled(fraction | (0x400 if field else 0), (field or 1) - 25)


def _ratio_word(numerator: int, denominator: int, value: Any) -> int:
    word = round_ratio(numerator, denominator)
    if word & MAGNITUDE == INFINITY:
        raise _refuse_beyond(value)
    return word


def float32_bits(value: Any) -> int:
    """The binary32 word of a number.

    An integer or a fraction is rounded to binary32 directly, a float once, all to nearest even. A float NaN keeps its
    sign and the top 23 bits of its payload, and stays signalling if it was; a NumPy float32 keeps its word. An int or
    float of a subclass counts by the number it holds, whatever its own conversions say. Booleans and anything but a
    real number are a TypeError; a finite value that rounds beyond binary32 is a ValueError.
    """
    if type(value) is float:
        return _float_word(value)
    if isinstance(value, np.float32):
        return int(value.view(np.uint32))
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{value!r} is a Boolean; binary32 encodes numbers, pass 0 or 1 if that is meant")
    if isinstance(value, int):
        return _ratio_word(int.__index__(value), 1, value)
    if isinstance(value, (np.integer, Fraction)):
        return _ratio_word(int(value.numerator), int(value.denominator), value)
    if isinstance(value, float):  # np.float64 is one
        return _float_word(float.__float__(value))
    if isinstance(value, np.float16):
        return half_bits(value)
    if isinstance(value, np.longdouble):
        if value.dtype.itemsize > 8 and np.isfinite(value) and value != 0:
            return _ratio_word(*value.as_integer_ratio(), value)
        return _float_word(float(value))
    raise TypeError(
        f"{shown(value)} is a {type(value).__name__}; binary32 encodes int, float, Fraction or a NumPy number"
    )


def float32_value(word: int) -> float:
    """The float a binary32 word stands for. NaN payloads and signalling NaNs survive: only bits are widened."""
    magnitude = word & MAGNITUDE
    if magnitude > FRACTION:
        wide = (magnitude << 29) + (_REBIAS if magnitude < INFINITY else 2 * _REBIAS)
    else:
        length = magnitude.bit_length()
        wide = (magnitude << (53 - length)) + ((length + 872) << 52) if magnitude else 0
    return _double((word & SIGN) << 32 | wide)


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
    magnitude = words & np.uint32(MAGNITUDE)
    wide = (magnitude.astype(np.uint64) << np.uint64(29)) + np.uint64(_REBIAS)
    wide[magnitude >= np.uint32(INFINITY)] += np.uint64(_REBIAS)
    small = magnitude <= np.uint32(FRACTION)
    if small.any():
        tiny = magnitude[small].astype(np.uint64)
        length = _bit_lengths(tiny)
        exponent = (length + np.uint64(872)) << np.uint64(52)
        wide[small] = np.where(tiny, (tiny << (np.uint64(53) - length)) + exponent, np.uint64(0))
    wide |= (words & np.uint32(SIGN)).astype(np.uint64) << np.uint64(32)
    return wide.view(np.float64)


def _bit_lengths(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    rest, lengths = numbers, np.zeros_like(numbers)
    for step in (32, 16):
        if int(rest.max()) >> step:
            shift = (rest >> np.uint64(step) != 0) * np.uint64(step)
            lengths, rest = lengths + shift, rest >> shift
    lengths += _LENGTHS[rest.view(np.int64)]
    return lengths


def _integer_words(array: npt.NDArray[Any]) -> Words:
    """Integers rounded once to binary32; the largest that NumPy has, below 2**64, are far from overflow."""
    result = np.empty(array.size, dtype=np.uint32)
    for start in range(0, array.size, _BLOCK):
        part = array[start : start + _BLOCK]
        magnitude, negative = part.astype(np.uint64), part < 0
        np.negative(magnitude, out=magnitude, where=negative)
        length = _bit_lengths(magnitude)
        words = magnitude << (np.uint64(24) - np.minimum(length, np.uint64(24)))
        if int(length.max()) > 24:
            drop = np.maximum(length, np.uint64(24)) - np.uint64(24)
            words >>= drop
            unit = np.uint64(1) << drop
            rest, half = magnitude & (unit - np.uint64(1)), (unit + np.uint64(1)) >> np.uint64(1)
            words += (rest > half) | ((rest == half) & (words & np.uint64(1) != 0))
        # The leading bit adds one to the exponent field, as does a carry out of rounding.
        words += (length + np.uint64(125)) << np.uint64(23)
        words[length == 0] = 0
        result[start : start + _BLOCK] = words | (negative * np.uint64(SIGN))
    return result


def _double_words(values: npt.NDArray[np.float64]) -> Words:
    """Binary64 rounded once to binary32 in integer arithmetic: no rounding mode or flush bit of the machine counts."""
    wide = values.view(np.uint64)
    sign = ((wide >> np.uint64(32)) & np.uint64(SIGN)).astype(np.uint32)
    magnitude = wide & np.uint64(2**63 - 1)
    special = magnitude >= np.uint64(_DOUBLE_INFINITY)
    bias = np.uint64(_REBIAS)
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
        raise _refuse_beyond(values[np.argmax(beyond)].item())
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
        return _integer_words(array)
    return None


def float_array(values: Any) -> npt.NDArray[Any] | None:
    """An array itself, or the one behind another buffer of floats (``array.array``, ``memoryview``, ctypes), or None.

    Taken out of such a buffer one by one, signalling NaNs would turn quiet.
    """
    if isinstance(values, np.ndarray):
        return values
    try:
        view = memoryview(values)
    except (TypeError, BufferError):
        return None
    return np.asarray(view) if view.ndim and view.format.lstrip("@=<>!") in _FLOAT_FORMATS else None


def float32_words(values: Iterable[Any]) -> Words:
    """The binary32 words of numbers (1-D), each encoded as :func:`float32_bits` does.

    An array or a buffer of floats is read in row-major order, whatever its shape; one of binary32 numbers keeps its
    words and may share its memory with the result.
    """
    array = None if isinstance(values, (list, tuple)) else float_array(values)
    if array is not None:
        words = _array_words(array)
        if words is not None:
            return words
        values = array.ravel()
    items = values if isinstance(values, (list, tuple)) else list(values)
    kinds = set(map(type, items))
    if kinds == {float}:
        return _double_words(np.array(items, dtype=np.float64))
    if kinds == {int} and len(items) > 32:
        with suppress(OverflowError):  # an integer of more than 64 bits: all go one by one
            return _integer_words(np.array(items, dtype=np.int64))
    return np.array([float32_bits(item) for item in items], dtype=np.uint32)
