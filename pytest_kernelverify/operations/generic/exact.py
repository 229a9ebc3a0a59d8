"""Exact sums and sums of products: integers over one power-of-two unit, cut into limbs where int64 is too small.

A value is ``sign * (odd << shift)`` units of ``2**exponent``. A limb is a run of its bits; a linear map of the values
is the same map of each limb, in int64, put together again afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from operator import add, lshift
from typing import Any, NamedTuple

import numpy as np

from pytest_kernelverify.operations.generic.decode import Array, Values, bit_length
from pytest_kernelverify.operations.generic.rounding import round_words

__all__ = ["Aligned", "Exact", "align", "contract", "from_integers", "linear"]

ROOM = 60  # bits of an int64 that a sum may fill
LIMB = 34  # bits of one limb of several: a mantissa of 26 bits has room for one more


class Exact(NamedTuple):
    """Exact integers in units of ``2**exponent``: output i is the sum of ``limbs[j, i] << (step * j)``, in int64."""

    limbs: Array
    step: int
    exponent: int

    @property
    def single(self) -> bool:
        return len(self.limbs) == 1

    def ints(self) -> list[int]:
        """Python integers, one for each output."""
        total: list[int] = self.limbs[-1].tolist()
        for limb in self.limbs[-2::-1]:
            total = list(map(add, map(lshift, total, repeat(self.step)), limb.tolist()))
        return total

    def rounded(self) -> Array:
        """Binary32 words, each value rounded once; +0 for zero."""
        if self.single:
            return round_words(self.limbs[0] < 0, np.abs(self.limbs[0]), self.exponent)
        carried = _carry(self.limbs, self.step)
        negative = carried[-1] < 0
        if negative.any():
            carried = _carry(np.where(negative, -self.limbs, self.limbs), self.step)
        mantissa, sticky = np.zeros_like(carried[-1]), np.zeros_like(negative)
        exponent = np.full_like(mantissa, self.exponent + self.step * len(carried))
        for limb in carried[::-1]:
            enough = mantissa >= 1 << 26
            sticky |= enough & (limb != 0)
            exponent = np.where(enough, exponent, exponent - self.step)
            mantissa = np.where(enough, mantissa, (mantissa << self.step) + limb)
        return round_words(negative, mantissa, exponent, sticky)


def _carry(limbs: Array, step: int) -> Array:
    """The same values with all limbs but the last, which has the sign, in 0 ... 2**step - 1."""
    carried = limbs.copy()
    for at in range(len(carried) - 1):
        carried[at + 1] += carried[at] >> step
        carried[at] &= (1 << step) - 1
    return carried


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

    def cut(self, size: int) -> list[Array]:
        """Signed int64 limbs of ``size`` bits, the lowest first."""
        if self.width <= size:
            part = self.odd << self.shift
            return [np.where(self.negative, -part, part)]
        limbs = []
        for offset in range(0, self.width, size):
            place = self.shift - offset
            part = (self.odd << np.minimum(np.maximum(place, 0), size)) >> np.minimum(np.maximum(-place, 0), 62)
            part &= (1 << size) - 1
            limbs.append(np.where(self.negative, -part, part))
        return limbs


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


def linear(x: Aligned, fold: Callable[[Array], Array], terms: int) -> Exact:
    """``fold`` of exact values: a map of int64 arrays whose every output is a sum of up to ``terms`` elements."""
    single = x.width + terms.bit_length() <= ROOM
    step = x.width if single else min(LIMB, ROOM - terms.bit_length())
    return Exact(np.stack([fold(limb).ravel() for limb in x.cut(step)]), step, x.exponent)


def _limb_sizes(left: int, right: int, room: int) -> tuple[int, int, int]:
    """How to cut widths so that one product fits the room: two limb sizes and the step between sums of products."""
    if left + right <= room:
        return left, right, 0
    half, narrow = room // 2, min(left, right)
    if narrow > half:
        return half, half, half
    step = min(room - narrow, LIMB)
    return (left, step, step) if left == narrow else (step, right, step)


def contract(lhs: Aligned, rhs: Aligned, terms: int) -> Exact:
    """``lhs @ rhs``, each output a sum of ``terms`` products."""
    # Up to 2**4 pairs of limbs meet in one limb of the sum.
    left, right, step = _limb_sizes(lhs.width, rhs.width, ROOM - terms.bit_length() - 4)
    rows, columns = lhs.cut(left), rhs.cut(right)
    limbs: list[Any] = [0] * (len(rows) + len(columns) - 1)
    for above, row in enumerate(rows):
        for below, column in enumerate(columns):
            limbs[above + below] = limbs[above + below] + np.matmul(row, column).ravel()
    return Exact(np.stack(limbs), step, lhs.exponent + rhs.exponent)
