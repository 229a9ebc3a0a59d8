"""Comparison: how two sequences of words differ, in counts and in worst deviations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_kernelverify.numerics.bits import (
    INFINITY,
    MAGNITUDE,
    MAXIMUM_ULP_DISTANCE,
    SIGN,
    double_scaled,
    float32_values,
    float32_words,
    float_array,
    ratio_double,
    scaled,
    shown,
)

__all__ = ["Comparison", "Deviations", "Tolerance", "compare_float32", "compare_words"]

Words = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What a comparison may deviate by: absolute (in values), symmetric-relative (a ratio) and ULPs, each >= 0."""

    absolute: float = 0.0
    relative: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        for name in ("absolute", "relative", "ulps"):
            value = getattr(self, name)
            kinds = (int, np.integer) if name == "ulps" else (int, float, np.integer, np.floating)
            if isinstance(value, bool) or not isinstance(value, kinds):
                raise TypeError(
                    f"tolerance {name} {shown(value)} is not {'an integer' if name == 'ulps' else 'a number'}"
                )
            if not value >= 0:
                raise ValueError(f"tolerance {name} {shown(value)} must be 0 or more")


@dataclass(frozen=True, slots=True)
class Deviations:
    """The largest deviations over all pairs: |a-b|, |a-b|/max(|a|,|b|) and ULPs.

    Absolute and relative are None where a mismatching pair holds a NaN, infinite where one holds an infinity; all are
    None where nothing was compared.
    """

    maximum_absolute: float | None
    maximum_relative: float | None
    maximum_ulps: int | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Deviations, and how many pairs have different words, differ only in the sign of zero, or are different NaNs."""

    deviations: Deviations
    mismatches: int
    signed_zero_mismatches: int
    nan_payload_mismatches: int

    def within(self, tolerance: Tolerance) -> bool:
        """Whether every deviation is at most its tolerance.

        Never so with a signed-zero or NaN-payload mismatch or an absent deviation, however large the tolerance.
        Anything but a :class:`Tolerance` is a TypeError.
        """
        if not isinstance(tolerance, Tolerance):
            raise TypeError(f"within() takes a Tolerance, not {type(tolerance).__name__} {shown(tolerance)}")
        absolute = self.deviations.maximum_absolute
        relative = self.deviations.maximum_relative
        ulps = self.deviations.maximum_ulps
        if self.signed_zero_mismatches or self.nan_payload_mismatches:
            return False
        if absolute is None or relative is None or ulps is None:
            return False
        if self.mismatches == 0:
            return True
        return bool(absolute <= tolerance.absolute and relative <= tolerance.relative and ulps <= tolerance.ulps)


_EQUAL = Comparison(Deviations(0.0, 0.0, 0), 0, 0, 0)
_BLOCK = 1 << 15  # elements; the scratch of one block stays in the second-level cache
_SMALL = 1 << 10  # below this, comparing bytes costs less than any array operation
_SLACK = 1 - 2.0**-50  # more than the roundings of one quotient and one product
_NEAR = 1 - 2.0**-48  # more than those of a difference, a quotient and a product, rounded in whatever direction
_ONE, _UP, _DOWN, _LEAST, _HALF = 1.0, 0.75 * 2.0**-52, 0.25 * 2.0**-52, 2.0**-1022, 0.5


def _declared_state() -> bool:
    """Whether this thread rounds to nearest and keeps subnormal operands and results: tried out, not looked up."""
    return _ONE + _UP > _ONE and _ONE + _DOWN == _ONE and _LEAST * _HALF > 0


def _largest(rounded: npt.NDArray[np.float64], keys: npt.NDArray[Any], exact: Callable[[int], float]) -> float:
    """The largest ``exact(key)``, where each was ``rounded`` in an unknown direction: only the nearly largest count."""
    return max(map(exact, np.unique(keys[rounded >= rounded.max() * _NEAR]).tolist()))


def _absolute(key: int) -> float:
    """|a-b| of the finite words ``key >> 32`` and ``key % 2**32``, rounded to nearest."""
    (left, high), (right, low) = scaled(key >> 32), scaled(key & MAXIMUM_ULP_DISTANCE)
    least = min(high, low)
    gap = abs((left << (high - least)) - (right << (low - least)))
    return ratio_double(gap << max(least, 0), 1 << max(-least, 0))


def _relative(key: int) -> float:
    """The same over the larger magnitude: as in the declared state a quotient of the difference already rounded."""
    gap, exponent = double_scaled(_absolute(key))
    larger, least = scaled(max((key >> 32) & MAGNITUDE, key & MAGNITUDE))
    shift = exponent - least
    return ratio_double(gap << max(shift, 0), larger << max(-shift, 0))


class _Tally:
    """Running counts and maxima over blocks, with the scratch arrays that every block reuses."""

    def __init__(self, size: int) -> None:
        self.mismatches = self.zeros = self.nan_payloads = self.ulps = 0
        self.absolute = self.relative = 0.0
        self.nan = self.infinite = False
        self.differs = np.empty(size, np.bool_)
        self.declared = _declared_state()
        self.scratch = tuple(np.empty(size, kind) for kind in (np.uint32, np.uint32, np.uint32, float, float))

    def add(self, expected: Words, actual: Words) -> bool:
        """Count one block of words in; False where it holds no mismatch."""
        differs = np.not_equal(expected, actual, out=self.differs[: expected.size])
        count = int(np.count_nonzero(differs))
        if not count:
            return False
        self.mismatches += count
        if not self._add_finite(expected, actual, count):
            self._add_special(expected, actual, differs, count)
        return True

    def _add_finite(self, expected: Words, actual: Words, count: int) -> bool:
        """Measure a block with ``count`` mismatches; equal pairs raise no maximum. False where it is not all finite."""
        less, mixed, larger, gap, scale = (part[: expected.size] for part in self.scratch)
        np.bitwise_and(expected, np.uint32(MAGNITUDE), out=less)
        np.bitwise_and(actual, np.uint32(MAGNITUDE), out=mixed)
        np.maximum(less, mixed, out=larger)
        if int(larger.max()) >= INFINITY:
            return False
        np.minimum(less, mixed, out=less)
        distance = self._distance(expected, actual, less, mixed, larger)
        self.ulps = max(self.ulps, int(distance.max()))
        self.zeros += count - int(np.count_nonzero(distance))  # other words, no distance
        if not self.declared:
            self._add_exactly(expected, actual)
            return True

        np.copyto(gap, expected.view(np.float32))
        np.copyto(scale, actual.view(np.float32))
        np.abs(np.subtract(gap, scale, out=gap), out=gap)
        self.absolute = max(self.absolute, float(gap.max()))
        np.copyto(scale, larger.view(np.float32))
        # Dividing is what costs: only pairs that can exceed the largest ratio so far are divided, and never 0 by 0.
        places = np.flatnonzero(gap > np.multiply(scale, self.relative * _SLACK, out=scale))
        if places.size:
            self.relative = max(self.relative, float((gap[places] / larger.view(np.float32)[places]).max()))
        return True

    def _add_exactly(self, expected: Words, actual: Words) -> None:
        """The deviations of finite words where the machine's own differences may be flushed or rounded otherwise.

        Every binary32 number and difference is zero or normal in binary64: in any state they are nearly right.
        """
        left, right = float32_values(expected), float32_values(actual)
        gap, larger = np.abs(left - right), np.maximum(np.abs(left), np.abs(right))
        places = np.flatnonzero(gap)
        if places.size:
            keys = (expected.astype(np.uint64) << np.uint64(32) | actual)[places]
            self.absolute = max(self.absolute, _largest(gap[places], keys, _absolute))
            self.relative = max(self.relative, _largest(gap[places] / larger[places], keys, _relative))

    @staticmethod
    def _distance(expected: Words, actual: Words, less: Words, mixed: Words, larger: Words) -> Words:
        """ULP distances from the magnitudes: their difference, or their sum where the signs differ. Reuses ``less``."""
        np.bitwise_xor(expected, actual, out=mixed)
        if int(mixed.max()) < SIGN:
            return np.subtract(larger, less, out=less)
        # All ones where the signs agree: xor and minus then negate in two's complement, without a branch or a gather.
        same = mixed.view(np.int32)
        np.invert(np.right_shift(same, np.int32(31), out=same), out=same)
        less ^= mixed
        less -= mixed
        less += larger
        return less

    def _add_special(self, expected: Words, actual: Words, differs: Words, count: int) -> None:
        """A block in which some pairs hold a NaN or an infinity."""
        special = np.maximum(expected & np.uint32(MAGNITUDE), actual & np.uint32(MAGNITUDE)) >= np.uint32(INFINITY)
        places = np.flatnonzero(special & differs)
        if places.size:
            left, right = expected[places], actual[places]
            less, other = left & np.uint32(MAGNITUDE), right & np.uint32(MAGNITUDE)
            larger = np.maximum(less, other)
            np.minimum(less, other, out=less)
            nan = larger > np.uint32(INFINITY)
            self.nan_payloads += int(np.count_nonzero(less > np.uint32(INFINITY)))
            distance = np.where(nan, np.uint32(MAXIMUM_ULP_DISTANCE), self._distance(left, right, less, other, larger))
            self.ulps = max(self.ulps, int(distance.max()))
            self.nan = self.nan or bool(nan.any())
            self.infinite = self.infinite or not nan.all()
        if count > places.size:
            nothing = np.uint32(0)  # in both places: an equal pair
            left, right = (np.where(special, nothing, words) for words in (expected, actual))
            self._add_finite(left, right, count - int(places.size))

    def comparison(self) -> Comparison:
        absolute: float | None = self.absolute
        relative: float | None = self.relative
        if self.nan:
            absolute = relative = None
        elif self.infinite:
            absolute = relative = math.inf
        return Comparison(Deviations(absolute, relative, self.ulps), self.mismatches, self.zeros, self.nan_payloads)


def _compare_blocks(expected: Words, actual: Words) -> tuple[Comparison, int | None]:
    tally = _Tally(min(expected.size, _BLOCK))
    first: int | None = None
    for start in range(0, expected.size, _BLOCK):
        stop = start + _BLOCK
        if tally.add(expected[start:stop], actual[start:stop]) and first is None:
            first = start + int(tally.differs.argmax())
    return (_EQUAL, None) if first is None else (tally.comparison(), first)


def _compare_exact(expected: Words, actual: Words, dtype: str) -> tuple[Comparison, int | None]:
    """Int32 and Bool: a ULP is one integer step; Bool values are 0 and 1."""
    differs = np.flatnonzero(expected != actual)
    if not differs.size:
        return _EQUAL, None
    if dtype == "bool":
        return Comparison(Deviations(1.0, 1.0, 1), int(differs.size), 0, 0), int(differs[0])
    left = expected[differs].view(np.int32).astype(np.int64)
    right = actual[differs].view(np.int32).astype(np.int64)
    gap = np.abs(left - right)
    larger = np.maximum(np.abs(left), np.abs(right))
    ratios = gap / larger
    if _declared_state():
        relative = float(ratios.max())
    else:
        relative = _largest(
            ratios,
            gap.view(np.uint64) << np.uint64(32) | larger.view(np.uint64),
            lambda key: ratio_double(key >> 32, key & MAXIMUM_ULP_DISTANCE),
        )
    most = int(gap.max())
    return Comparison(Deviations(float(most), relative, most), int(differs.size), 0, 0), int(differs[0])


def compare_words(expected: Words, actual: Words, dtype: str) -> tuple[Comparison, int | None]:
    """Compare 1-D word arrays of one dtype (``f32``, ``i32``, ``bool``); also the first mismatching index, or None.

    Int32 deviations are integer differences; a Bool mismatch deviates by one. Unequal lengths are a ValueError.
    """
    size = expected.size
    if size != actual.size:
        raise ValueError(f"expected has {size} elements and actual {actual.size}; compare equal lengths")
    if size <= _SMALL and expected.tobytes() == actual.tobytes():
        return _EQUAL, None
    if dtype == "f32":
        return _compare_blocks(expected, actual)
    if dtype in ("i32", "bool"):
        return _compare_exact(expected, actual, dtype)
    raise ValueError(f"dtype {dtype!r} has no words to compare; use f32, i32 or bool")


def compare_float32(expected: Iterable[Any], actual: Iterable[Any]) -> Comparison:
    """Compare two equally long sequences of numbers after encoding each as :func:`float32_bits` does.

    Arrays and buffers of floats are read in row-major order and must agree in shape. Words are compared bit for bit:
    zeros of different sign and NaNs of different payload are mismatches, counted apart. Unequal lengths are a
    ValueError.
    """
    (left, shape), (right, other) = _encoded(expected), _encoded(actual)
    if shape != other:
        raise ValueError(f"expected has shape {shape} and actual {other}; compare equal lengths")
    return compare_words(left, right, "f32")[0]


def _encoded(values: Iterable[Any]) -> tuple[Words, tuple[int, ...]]:
    array = float_array(values)
    words = float32_words(values if array is None else array)
    return words, words.shape if array is None else array.shape
