"""The size ladder and the layout ladder: extents for a size, and where operands and output lie in their parents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from pytest_kernelverify.cases.values import Words
from pytest_kernelverify.numerics.layout import Layout

__all__ = [
    "CORE_LAYOUTS",
    "LONG_SIZES",
    "SIZES",
    "WINDOWS",
    "Extents",
    "arrange",
    "broadcast",
    "conv_shape",
    "factors",
    "nested",
    "pointwise_extents",
    "row_count",
    "strided",
]

Extents = tuple[int, ...]

SIZES = (0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257, 1000)
LONG_SIZES = tuple(sorted((*SIZES, 513, 1025, 4097)))
CORE_LAYOUTS = ("compact", "pitched", "offset", "transposed", "stride0", "multi")

_ROWS = (3, 2, 5, 4, 7, 6, 2)


@cache
def factors(size: int) -> tuple[int, int] | None:
    """Two factors above 1, as unequal as they are near each other; None where the size has no such factors."""
    pairs = [(low, size // low) for low in range(2, int(size**0.5) + 1) if size % low == 0]
    unequal = [pair for pair in pairs if pair[0] != pair[1]]
    found = unequal or pairs
    return found[-1] if found else None


def pointwise_extents(size: int, layout: str, turn: int) -> Extents:
    """Extents with ``size`` elements: rank 1 to 3, with as many modes above 1 as the layout needs."""
    pair = factors(size) if size else None
    if pair is None:
        return ((size,), (1, size), (size, 1))[turn % 3 if size and layout != "transposed" else 0]
    inner = factors(pair[1])
    if inner is not None and turn % 3 == 0:
        return (inner[0], pair[0], inner[1])
    return pair if turn % 2 else (pair[1], pair[0])


def row_count(size: int, layout: str, turn: int) -> int:
    """How many rows of that length: at most 7, fewer of long ones."""
    if layout == "hierarchical":
        return 4
    return _ROWS[turn % 7] if size < 500 else 2 + turn % 2


def strided(
    extents: Extents, *, gap: int = 0, inner: int = 1, offset: int = 0, order: Sequence[int] | None = None
) -> Layout:
    """One stride per mode; ``order`` lists the modes from innermost to outermost, ``gap`` elements lie between rows."""
    strides = [0] * len(extents)
    running = inner
    for axis in reversed(range(len(extents))) if order is None else order:
        strides[axis] = running
        running = running * max(extents[axis], 1) + gap
    return Layout(extents, tuple(strides), offset)


def nested(extents: Extents, *, gap: int = 1, inner: int = 1, offset: int = 0) -> Layout:
    """Every composite mode split in two, with a gap after each leaf, so that no nested mode folds to one stride."""
    running = inner
    shape: list[int | Extents] = []
    stride: list[int | Extents] = []
    for extent in reversed(extents):
        pair = factors(extent) if extent else None
        leaves = (extent,) if pair is None else pair
        steps: list[int] = []
        for leaf in reversed(leaves):
            steps.insert(0, running)
            running = running * max(leaf, 1) + gap
        shape.insert(0, extent if pair is None else leaves)
        stride.insert(0, steps[0] if pair is None else tuple(steps))
    if all(isinstance(mode, int) for mode in shape):
        raise ValueError(f"the extents {extents} have no mode to nest; at least one must be composite")
    return Layout(tuple(shape), tuple(stride), offset)


def _transposed(extents: Extents, gap: int, turn: int) -> Layout:
    order = tuple(range(len(extents)))
    if len(extents) > 2 and turn % 2:
        order = (1, 0, *order[2:])
    return strided(extents, gap=gap, order=order)


def _stretched(extents: Extents, turn: int) -> Layout:
    """Stride 0 along one mode above 1; a stride-0 operand of rank 1 is one element repeated."""
    wide = [axis for axis, extent in enumerate(extents) if extent > 1]
    if not wide:
        return strided(extents)
    flat = wide[turn % len(wide)]
    kept = strided(tuple(1 if axis == flat else extent for axis, extent in enumerate(extents)), gap=1)
    return Layout(extents, tuple(0 if axis == flat else step for axis, step in enumerate(kept.stride)), 0)


def arrange(
    layout: str, operands: Sequence[Extents], output: Extents, turn: int, alias: int | None = None
) -> tuple[tuple[Layout, ...], Layout]:
    """The layout of each operand and of the output for one rung of the ladder; no two need be alike."""
    tensors = [index for index, extents in enumerate(operands) if extents]

    def place(extents: Extents, role: int) -> Layout:
        gap = 1 + (role + turn) % 3
        if not extents:
            return Layout((), (), role % 2)
        if alias is not None:
            return strided(extents, gap=gap, inner=1 + role % 2, offset=role)
        match layout:
            case "pitched":
                return strided(extents, gap=gap, inner=(1 if len(extents) > 1 else 2) + (role + turn) % 2)
            case "offset":
                return strided(extents, offset=1 + 2 * role + turn % 2)
            case "transposed":
                return _transposed(extents, gap if role else 0, turn) if role % 2 == 0 else strided(extents, gap=gap)
            case "stride0" if role == tensors[turn % len(tensors)]:
                return _stretched(extents, turn // len(tensors))
            case "hierarchical" if any(extent and factors(extent) for extent in extents):
                return nested(extents, gap=gap, inner=1 + role % 2, offset=role % 2)
            case "hierarchical":
                return strided(extents, gap=gap)
        return strided(extents)

    placed = tuple(place(extents, role) for role, extents in enumerate(operands))
    if alias is not None:
        return placed, placed[alias]
    if layout == "multi" and output:
        axes = tuple(range(len(output))) if turn % 2 else None
        return placed, strided(output, gap=2, inner=2, offset=1 + turn % 3, order=axes)
    if layout == "stride0":
        return placed, strided(output, gap=turn % 3)
    if layout == "transposed" and turn % 2:
        return placed, _transposed(output, 1, turn)
    return placed, place(output, len(operands))


def broadcast(words: Words, layout: Layout) -> Words:
    """The words with one value wherever logical elements share an offset."""
    leaves = [leaf for mode in layout.leaves for leaf in mode]
    if all(step or extent < 2 for extent, step in leaves) or not words.size:
        return words
    grid = words.reshape([extent for extent, _ in leaves])
    kept = grid[tuple(slice(None) if step or extent < 2 else slice(0, 1) for extent, step in leaves)]
    return np.broadcast_to(kept, grid.shape).reshape(-1)


# Contracted length -> channels per group and window.
WINDOWS: dict[int, tuple[int, Extents]] = {
    0: (0, (2,)),
    1: (1, (1,)),
    2: (1, (2,)),
    3: (1, (3,)),
    5: (1, (5,)),
    7: (7, (1,)),
    8: (2, (2, 2)),
    9: (1, (3, 3)),
    15: (5, (3,)),
    16: (4, (2, 2)),
    17: (17, (1, 1)),
    31: (31, (1,)),
    32: (4, (2, 2, 2)),
    33: (11, (3,)),
    63: (7, (3, 3)),
    64: (8, (2, 2, 2)),
    65: (13, (5,)),
    127: (127, (1,)),
    128: (16, (2, 4)),
    129: (43, (3, 1)),
    257: (257, (1,)),
    513: (57, (3, 3)),
    1000: (125, (2, 2, 2)),
    1025: (41, (5, 5)),
    4097: (241, (17,)),
}


def conv_shape(size: int, turn: int, batch: int | None = None) -> tuple[Extents, Extents, dict[str, int]]:
    """Input and weight extents of a convolution that contracts ``size`` terms, and its parameters.

    Every output element has at least one term that is not padding, except where ``size`` is 0.
    """
    channels, window = WINDOWS[size]
    rank = len(window)
    small = size < 500 and rank < 3
    groups = 1 + (turn % 3 if small else turn % 2)
    stride = 1 + turn // 2 % 3
    dilation = 1 + turn // 3 % 2
    reach = [dilation * (extent - 1) for extent in window]
    padding = min(1 + turn % 2, *reach) if turn % 4 else 0
    spatial = tuple(
        max((2 + (turn + axis) % 2 - 1) * stride + reach[axis] + 1 - 2 * padding, padding + 1, 2)
        for axis in range(rank)
    )
    count = batch if batch is not None else 2 - (not small and turn % 2)
    source = (count, channels * groups, *spatial)
    weight = (groups * (2 if small else 1 + (groups == 1)), channels, *window)
    parameters = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return source, weight, parameters
