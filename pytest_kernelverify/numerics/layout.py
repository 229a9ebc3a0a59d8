"""Layouts: how logical row-major order maps to element offsets in a parent buffer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Layout"]

Nested = tuple[Any, ...]


def _leaves(value: Any) -> Iterator[int]:
    if isinstance(value, tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


def _check(shape: Any, stride: Any) -> None:
    if isinstance(shape, tuple) != isinstance(stride, tuple):
        raise ValueError(f"layout shape {shape!r} and stride {stride!r} nest differently")
    if isinstance(shape, tuple):
        if len(shape) != len(stride):
            raise ValueError(f"layout shape {shape!r} and stride {stride!r} nest differently")
        for extent, step in zip(shape, stride, strict=True):
            _check(extent, step)
        return
    for word, number in (("extent", shape), ("stride", stride)):
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"layout {word} {number!r} is not an integer")
        if number < 0:
            raise ValueError(f"layout {word} {number} is negative; it must be 0 or more")


@lru_cache(maxsize=8192)
def _extents(shape: Nested) -> tuple[int, ...]:
    return tuple(prod(_leaves(mode)) for mode in shape)


@lru_cache(maxsize=8192)
def _modes(shape: Nested, stride: Nested) -> tuple[tuple[tuple[int, int], ...], ...]:
    return tuple(
        tuple(zip(_leaves(extent), _leaves(step), strict=True)) for extent, step in zip(shape, stride, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Layout:
    """Extents and strides in elements, possibly nested, plus an offset into the parent.

    Logical order is row-major over modes; a nested mode enumerates its leaves row-major:
    ``Layout((1, (2, 2)), (1, (5, 2)))`` visits offsets 0, 2, 5, 7. A stride of 0 broadcasts.
    """

    shape: Nested
    stride: Nested
    offset: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.shape, tuple) or not isinstance(self.stride, tuple):
            raise TypeError("a layout's shape and stride are tuples, one entry per mode")
        _check(self.shape, self.stride)
        if isinstance(self.offset, bool) or not isinstance(self.offset, int):
            raise TypeError(f"layout offset {self.offset!r} is not an integer")
        if self.offset < 0:
            raise ValueError(f"layout offset {self.offset} is negative; it must be 0 or more")

    @classmethod
    def compact(cls, extents: tuple[int, ...]) -> Layout:
        """Row-major without gaps."""
        strides = tuple(prod(extents[axis + 1 :]) for axis in range(len(extents)))
        return cls(tuple(extents), strides)

    @property
    def extents(self) -> tuple[int, ...]:
        """The size of each mode."""
        return _extents(self.shape)

    @property
    def size(self) -> int:
        """The number of logical elements."""
        return prod(self.extents)

    @property
    def leaves(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each mode its leaves, outermost first, as (extent, stride)."""
        return _modes(self.shape, self.stride)

    def offsets(self) -> npt.NDArray[np.int64]:
        """The parent offset of each logical element, in logical order (1-D)."""
        result = np.full(1, self.offset, dtype=np.int64)
        for mode in self.leaves:
            for extent, step in mode:
                result = np.add.outer(result, np.arange(extent, dtype=np.int64) * step).ravel()
        return result

    @property
    def span(self) -> int:
        """Elements a parent needs to hold this layout: the largest offset plus one, or the offset when empty."""
        if self.size == 0:
            return self.offset
        reach = sum((extent - 1) * step for mode in self.leaves for extent, step in mode)
        return self.offset + reach + 1

    def folded(self) -> Layout | None:
        """The same addressing with one stride per mode, or None where a nested mode does not fold."""
        strides = []
        for mode in self.leaves:
            kept = [(extent, step) for extent, step in mode if extent != 1]
            inner = kept[-1][1] if kept else 0
            expected = inner
            for extent, step in reversed(kept):
                if step != expected:
                    return None
                expected = step * extent
            strides.append(inner)
        return Layout(self.extents, tuple(strides), self.offset)

    def to_json(self) -> dict[str, Any]:
        def plain(value: Any) -> Any:
            return [plain(part) for part in value] if isinstance(value, tuple) else value

        return {"offset": self.offset, "shape": plain(self.shape), "stride": plain(self.stride)}

    @classmethod
    def from_json(cls, value: Any) -> Layout:
        def nested(part: Any) -> Any:
            return tuple(nested(inner) for inner in part) if isinstance(part, list) else part

        if not isinstance(value, dict) or sorted(value) != ["offset", "shape", "stride"]:
            raise ValueError("a layout has exactly the fields offset, shape and stride")
        return cls(nested(value["shape"]), nested(value["stride"]), value["offset"])
