"""Plans that move words by an index: gather and scatter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_kernelverify.cases.critical import INT_EXTREMES, NANS, SPECIALS, SUBNORMALS, random_bits, wide, words
from pytest_kernelverify.cases.geometry import SIZES
from pytest_kernelverify.cases.ladder import Item, Payload, Rung, repeated, rungs
from pytest_kernelverify.cases.values import (
    Integers,
    Words,
    below,
    cast_words,
    int_words,
    integers,
    sparse_positions,
    tiled,
)
from pytest_kernelverify.operations.plan import PlanKey

__all__ = ["indexing_cases", "indexing_kinds"]

_ANY = (1, 2, 3)


def indexing_kinds(plan: PlanKey) -> tuple[str, ...]:
    """The value kinds of a plan: of its words, and of its index."""
    kinds = ("small", "wide", "extremes", "boundary", "collisions", "many")
    return kinds if plan.output == "i32" else (*kinds, "specials", "subnormal")


def indexing_cases(item: Item) -> None:
    """Row lengths up the size ladder with every layout and value kind; nested layouts, repeated calls, subnormals."""
    plan = item.plan
    assert plan is not None
    core: dict[str, Sequence[int]] = {
        kind: _ANY if kind == "small" else (5, 7, 8) if kind in ("wide", "boundary", "collisions") else (15, 31, 9, 16)
        for kind in indexing_kinds(plan)
        if kind != "subnormal"
    }
    ladder = rungs(SIZES, core, turn=item.turn, free=("small", "wide"))
    for rung in ladder:
        _add(item, plan, rung, rung.values)
    _add(item, plan, Rung(8, "hierarchical", "small", item.turn), "small")
    if plan.output == "f32":
        _add(item, plan, Rung(15, "pitched", "subnormal", item.turn), "subnormal")
    for rung, batch in repeated(ladder, ("small", "wide", "boundary", "collisions")):
        _add(item, plan, rung, "small", batch)


def _add(item: Item, plan: PlanKey, rung: Rung, kind: str, batch: int | None = None) -> None:
    height = 4 if rung.layout == "hierarchical" else (3, 5, 7, 4)[rung.turn % 4]
    count = 129 if kind == "many" else batch or (4 if rung.layout == "hierarchical" else (5, 3, 6, 2)[rung.turn % 4])
    width, seed = rung.size, item.seed_for(rung.name)
    index = _index(kind, count, height, seed)
    table = _words(plan, kind, height, width, seed + 1, 0)
    dtype = plan.output
    operands: list[Payload] = [(table, dtype, (height, width)), (int_words(index), "i32", (count,))]
    output = (count, width)
    if plan.operation == "scatter":
        operands.append((_words(plan, kind, count, width, seed + 2, 2), dtype, (count, width)))
        output = (height, width)
    item.add(rung, operands, output)


def _index(kind: str, count: int, height: int, seed: int) -> Integers:
    """``boundary``: both ends, first and last; ``collisions``: one row again and again; else mixed, not in order."""
    index = below(seed, count, height)
    if kind == "boundary":
        index = np.where(np.arange(count) % 2, 0, height - 1)
    elif kind == "collisions":
        index = np.full(count, height // 2)
        index[count // 2] = height - 1
    elif count > 1:
        index[-1] = (index[0] + 1 + index[-1] % (height - 1)) % height
    return index


def _words(plan: PlanKey, kind: str, rows: int, width: int, seed: int, shift: int) -> Words:
    count = rows * width
    if kind == "small":
        return cast_words(integers(seed, count, -(2**20), 2**20), plan.output)
    if kind == "extremes":
        if plan.output == "i32":
            return tiled(int_words(INT_EXTREMES), count, shift)
        return tiled(words(0x7F7FFFFF, 0xFF7FFFFF, 0x00800000, 0x7F800000, 0xFF800000, 0, 0x80000000), count, shift)
    if kind == "specials":
        # A NaN first, in the middle, last and in the tail of each row, none like that of the row before.
        grid = tiled(SPECIALS, count, shift).reshape(rows, width)
        for row in range(rows):
            grid[row, list(sparse_positions(width))] = np.roll(words(*NANS), row + shift)[:4]
        return grid.ravel()
    if kind == "subnormal":
        return tiled(SUBNORMALS, count, shift)
    return random_bits(seed, count) if plan.output == "i32" else wide(seed, count)
