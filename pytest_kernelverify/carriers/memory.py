"""Guarded memory: every operand and output is a view inside a larger parent filled with poison."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_kernelverify.numerics.layout import Layout

__all__ = ["GUARD", "WORD_DTYPES", "GuardedParent", "poisons"]

Words = npt.NDArray[Any]

GUARD = 32
"""Elements of poison on each side of a view's span."""

WORD_DTYPES: dict[str, np.dtype[Any]] = {
    "f32": np.dtype("uint32"),
    "i32": np.dtype("uint32"),
    "bool": np.dtype("uint8"),
}

# A NaN word with a payload no witness uses, then a finite value the operation would pick: 2^100 or -2^100.
_NAN = {"f32": 0x7FC0DEAD, "i32": 0x7FC0DEAD, "bool": 0x5A}
_HIGH = {"f32": 0x71800000, "i32": 0x5A5A5A5A, "bool": 0xA5}
_LOW = {"f32": 0xF1800000, "i32": -0x3C3C3C3C & 0xFFFFFFFF, "bool": 0xA5}


def poisons(operation: str, *, descending: bool = False) -> tuple[dict[str, int], dict[str, int]]:
    """The two poisons, by dtype, of the two runs of a case: the second is what the operation would pick."""
    low = operation in ("minimum", "reduce_min", "argmin") or (operation.startswith("sort_") and not descending)
    return _NAN, _LOW if low else _HIGH


@dataclass(frozen=True, slots=True, eq=False)
class GuardedParent:
    """A parent buffer for one layout: which of its elements the view owns, and how to fill and check it.

    ``own`` selects the view's elements in logical order: a slice where they are evenly spaced, else their indices.
    """

    dtype: str
    layout: Layout
    own: slice | npt.NDArray[np.int64]
    length: int

    @staticmethod
    def around(dtype: str, layout: Layout) -> GuardedParent:
        """A parent with guard bands around the layout's span; ``layout`` becomes relative to the parent."""
        return _around(dtype, layout)

    def filled(self, poison: int, words: Words | None = None) -> Words:
        """The parent's words: poison everywhere, and the view's own elements where words are given."""
        parent = np.empty(self.length, dtype=WORD_DTYPES[self.dtype])
        parent.fill(poison)
        if words is not None:
            parent[self.own] = words
        return parent

    def read(self, parent: Words) -> Words:
        """A copy of the view's elements in logical order."""
        result: Words = parent[self.own]
        return result.copy() if isinstance(self.own, slice) else result

    def outside_change(self, before: Words, after: Words) -> int | None:
        """The first parent index outside the view whose word changed, or None."""
        changed = before != after
        if not changed.any():
            return None
        changed[self.own] = False
        index = int(changed.argmax())
        return index if changed[index] else None

    def inside_change(self, before: Words, after: Words) -> int | None:
        """The first logical index of the view whose word changed, or None."""
        changed = before[self.own] != after[self.own]
        return int(changed.argmax()) if changed.any() else None

    def place(self, index: int) -> str:
        """Where a parent index lies relative to the view, in words."""
        start, end = self.layout.offset, self.layout.span
        if index < start:
            return f"{start - index} element(s) before its start"
        if index >= end:
            return f"{index - end + 1} element(s) past its end"
        return f"in a gap, {index - start} element(s) after its start"


@lru_cache(maxsize=8192)
def _around(dtype: str, layout: Layout) -> GuardedParent:
    shifted = Layout(layout.shape, layout.stride, layout.offset + GUARD)
    return GuardedParent(dtype, shifted, _selection(shifted.offsets()), shifted.span + GUARD)


def _selection(offsets: npt.NDArray[np.int64]) -> slice | npt.NDArray[np.int64]:
    """The same elements as a slice where they are evenly spaced and ascending: indexing is then far cheaper."""
    steps = np.diff(offsets)
    step = int(steps[0]) if steps.size else 1
    if offsets.size and step > 0 and (steps == step).all():
        return slice(int(offsets[0]), int(offsets[-1]) + 1, step)
    offsets.flags.writeable = False
    return offsets
