"""Exact sums and sums of products: integers over one power-of-two unit, cut into limbs where int64 is too small.

A value is ``sign * (odd << shift)`` units of ``2**exponent``. A limb is a run of its bits; a linear map of the values
is the same map of each limb, in int64, put together again afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import lshift
from typing import NamedTuple

import numpy as np

from pytest_kernelverify.operations.generic.decode import Array, Values, bit_length

__all__ = ["Aligned", "Exact", "align", "contract", "from_integers", "linear"]

ROOM = 60  # bits of an int64 that sums may fill
LIMB = 36  # with the 24 bits of a mantissa just ROOM


class Exact(NamedTuple):
    """Flat integers, int64 below 2**61 in magnitude or Python's own, in units of ``2**exponent``."""

    values: Array | list[int]
    exponent: int

    def ints(self) -> list[int]:
        values = self.values
        return values.tolist() if isinstance(values, np.ndarray) else values

    @property
    def largest(self) -> int:
        """The largest magnitude."""
        values = self.values
        if isinstance(values, np.ndarray):
            return int(np.abs(values).max(initial=0))
        return max(map(abs, values), default=0)


class Aligned(NamedTuple):
    """Values over one unit; ``width`` is the bit length of the largest. NaN and infinities count as zero."""

    negative: Array
    odd: Array
    shift: Array
    exponent: int
    width: int

    def magnitude(self) -> Aligned:
        return self._replace(negative=np.zeros_like(self.negative))

    def ints(self) -> list[int]:
        """Flat Python integers."""
        signed = np.where(self.negative, -self.odd, self.odd)
        return list(map(lshift, signed.ravel().tolist(), self.shift.ravel().tolist()))

    def limbs(self, size: int) -> Iterable[tuple[int, Array]]:
        """(offset, signed int64 limb) for each run of ``size`` bits in which some value has a bit."""
        for offset in range(0, self.width, size):
            place = self.shift - offset
            if self.width <= size:
                part = self.odd << place
            else:
                part = (self.odd << np.clip(place, 0, size)) >> np.clip(-place, 0, 62)
                part &= (1 << size) - 1
                if not part.any():
                    continue
            yield offset, np.where(self.negative, -part, part)


def align(x: Values) -> Aligned:
    """The finite values over their largest common power-of-two unit."""
    odd = np.where(x.nan | x.infinite, 0, x.mantissa)
    used = odd != 0
    trailing = np.where(used, bit_length(odd & -odd) - 1, 0)
    odd = odd >> trailing
    place = x.exponent + trailing
    exponent = int(place.min(where=used, initial=1 << 20))
    if exponent == 1 << 20:
        return Aligned(x.negative, odd, np.zeros_like(odd), 0, 0)
    shift = np.where(used, place - exponent, 0)
    return Aligned(x.negative, odd, shift, exponent, int((shift + bit_length(odd)).max()))


def from_integers(values: Array) -> Aligned:
    """Int32 values (int64) in units of one."""
    magnitude = np.abs(values)
    width = int(magnitude.max(initial=0)).bit_length()
    return Aligned(values < 0, magnitude, np.zeros_like(values), 0, width)


def _assemble(parts: dict[int, Array], size: int, exponent: int) -> Exact:
    if not parts:
        return Exact(np.zeros(size, np.int64), exponent)
    if list(parts) == [0]:
        return Exact(parts[0], exponent)
    total = [0] * size
    for offset, part in parts.items():
        total = [sum_ + (limb << offset) for sum_, limb in zip(total, part.tolist(), strict=True)]
    return Exact(total, exponent)


def linear(x: Aligned, fold: Callable[[Array], Array], terms: int, size: int) -> Exact:
    """``fold`` of exact values: a map of int64 arrays with ``size`` outputs, each a sum of up to ``terms`` elements."""
    narrow = x.width + terms.bit_length() <= ROOM
    limbs = x.limbs(x.width if narrow and x.width else LIMB)
    return _assemble({offset: fold(limb).ravel() for offset, limb in limbs}, size, x.exponent)


def contract(lhs: Aligned, rhs: Aligned, terms: int, size: int) -> Exact:
    """``lhs @ rhs`` over ``terms`` products for each of ``size`` outputs."""
    room = ROOM - terms.bit_length() - 4  # up to 2**4 pairs of limbs meet at one offset
    half = room // 2
    if lhs.width > half and rhs.width > half:
        left = right = half
    else:
        left = min(lhs.width, max(half, room - rhs.width))
        right = min(rhs.width, room - left)
    parts: dict[int, Array] = {}
    if left and right:
        columns = list(rhs.limbs(right))
        for above, row in lhs.limbs(left):
            for below, column in columns:
                product = np.matmul(row, column).ravel()
                parts[above + below] = parts[above + below] + product if above + below in parts else product
    return _assemble(parts, size, lhs.exponent + rhs.exponent)
