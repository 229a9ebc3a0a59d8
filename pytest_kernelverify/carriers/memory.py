"""Guarded memory: every operand and output is a view inside a larger parent filled with poison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_kernelverify.numerics.layout import Layout

__all__ = ["GUARD", "GuardedParent", "WORD_DTYPES", "poisons"]

Words = npt.NDArray[Any]

GUARD = 32
"""Elements of poison on each side of a view's span."""

WORD_DTYPES = {"f32": np.dtype("uint32"), "i32": np.dtype("uint32"), "bool": np.dtype("uint8")}

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
    """A parent buffer for one layout: which of its elements the view owns, and how to fill and check it."""

    dtype: str
    layout: Layout
    offsets: npt.NDArray[np.int64]
    length: int

    @classmethod
    def around(cls, dtype: str, layout: Layout) -> GuardedParent:
        """A parent with guard bands around the layout's span; ``layout`` becomes relative to the parent."""
        shifted = Layout(layout.shape, layout.stride, layout.offset + GUARD)
        return cls(dtype, shifted, shifted.offsets(), shifted.span + GUARD)

    def filled(self, poison: int, words: Words | None = None) -> Words:
        """The parent's words: poison everywhere, and the view's own elements where words are given."""
        parent = np.full(self.length, poison, dtype=WORD_DTYPES[self.dtype])
        if words is not None:
            parent[self.offsets] = words
        return parent

    def read(self, parent: Words) -> Words:
        """The view's elements in logical order."""
        result: Words = parent[self.offsets]
        return result

    def outside_change(self, before: Words, after: Words) -> int | None:
        """The first parent index outside the view whose word changed, or None."""
        changed = before != after
        if not changed.any():
            return None
        changed[self.offsets] = False
        index = int(changed.argmax())
        return index if changed[index] else None

    def inside_change(self, before: Words, after: Words) -> int | None:
        """The first logical index of the view whose word changed, or None."""
        changed = self.read(before) != self.read(after)
        return int(changed.argmax()) if changed.any() else None

    def place(self, index: int) -> str:
        """Where a parent index lies relative to the view, in words."""
        start, end = self.layout.offset, self.layout.span
        if index < start:
            return f"{start - index} element(s) before its start"
        if index >= end:
            return f"{index - end + 1} element(s) past its end"
        return f"in a gap, {index - start} element(s) after its start"
