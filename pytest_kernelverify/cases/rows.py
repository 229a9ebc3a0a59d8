"""Plans that choose within a row: extrema, arg-reductions and ordering."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pytest_kernelverify.cases.critical import INFINITY, INT_EXTREMES, MAX, NANS, SIGN, SUBNORMALS, wide, words
from pytest_kernelverify.cases.geometry import LONG_SIZES, SIZES, Extents, row_count
from pytest_kernelverify.cases.ladder import Item, Rung, repeated, rungs
from pytest_kernelverify.cases.values import (
    INT_MAX,
    INT_MIN,
    Words,
    cast_words,
    int_words,
    integers,
    scaled,
    sparse_positions,
    tiled,
)
from pytest_kernelverify.operations.plan import PlanKey

__all__ = ["row_cases", "row_kinds"]

_FREE = ("small", "wide")
_ANY, _ROWS = (1, 2, 3), (17, 33, 31, 15)


def row_kinds(plan: PlanKey) -> tuple[str, ...]:
    """The value kinds of a plan; an ordering plan has ties and specials in both directions."""
    kinds = ["small", "wide", "one_sided", "ties", "extremes"]
    if plan.operands[0].dtype == "f32":
        kinds.append("specials")
    if plan.operation.startswith("sort_"):
        kinds += [f"{kind}_descending" for kind in ("ties", "specials") if kind in kinds]
    return (*kinds, *(("subnormal",) if plan.operands[0].dtype == "f32" else ()))


def row_cases(item: Item) -> None:
    """The size ladder with every layout and value kind; then nested layouts, repeated calls and subnormals."""
    plan = item.plan
    assert plan is not None
    reduces = plan.operation.startswith(("reduce", "arg"))
    kinds = row_kinds(plan)
    # Specials: seven elements behind the last group of eight, so that a tail position is not the last one.
    places = {"small": _ANY, "wide": (5, 7, 8), "specials": (31, 15, 63), "specials_descending": (31, 15, 63)}
    core = {kind: places.get(kind, (*_ROWS, 65, 32)) for kind in kinds if kind != "subnormal"}
    sizes = LONG_SIZES if reduces else SIZES
    if plan.operation.startswith(("arg", "topk_")):
        sizes = sizes[1:]  # nothing to choose from is an error of its own
    ladder = rungs(sizes, core, turn=item.turn, free=_FREE)
    for rung in ladder:
        _add(item, plan, rung, rung.values, _rows(rung))
    _add(item, plan, Rung(8, "hierarchical", "small", item.turn), "small", 4)
    if "subnormal" in kinds:
        _add(item, plan, Rung(33, "pitched", "subnormal", item.turn), "subnormal", 3)
    for rung, rows in repeated(ladder, _FREE):
        _add(item, plan, rung, "small", rows or _rows(rung))


def _rows(rung: Rung) -> int:
    full = rung.values.startswith(("specials", "ties", "extremes"))
    return 7 if full and rung.size < 500 else row_count(rung.size, rung.layout, rung.turn)


def _add(item: Item, plan: PlanKey, rung: Rung, kind: str, rows: int) -> None:
    size, name = rung.size, plan.operation
    turn = rung.turn + (rung.values == "again")
    x = _values(plan, kind.removesuffix("_descending"), rows, size, item.seed_for(rung.name), turn)
    parameters: dict[str, Any] = {}
    output: Extents = (rows,)
    if name.startswith("sort_"):
        output = (rows, size)
        parameters["descending"] = kind.endswith("_descending") or (kind not in ("ties", "specials") and rung.turn % 2)
        parameters["descending"] = bool(parameters["descending"])
    elif name.startswith("topk_"):
        k = (1, size, max(1, size // 2), min(3, size))[rung.turn % 4] if kind not in ("ties", "specials") else size
        output, parameters = (rows, k), {"k": k}
    length = 0 if name.startswith(("sort_", "topk_")) else size
    item.add(
        rung, [(x, plan.operands[0].dtype, (rows, size))], output, parameters=parameters, contraction_length=length
    )


def _values(plan: PlanKey, kind: str, rows: int, size: int, seed: int, turn: int) -> Words:
    dtype, count = plan.operands[0].dtype, rows * size
    if not count:
        return cast_words([], dtype)
    if kind in ("small", "wide"):
        return _planted(plan, kind, rows, size, seed, turn)
    if kind == "one_sided":
        # Rows of one sign, so that an accumulator that starts at zero wins where it must not.
        values = integers(seed, count, 1, 99).reshape(rows, size)
        values[(turn + np.arange(rows)) % 2 == 0] *= -1
        return cast_words(values.ravel(), dtype)
    if kind == "subnormal":
        # Every other row holds nothing larger than a subnormal, in order and not.
        grid = tiled(SUBNORMALS, count, turn).reshape(rows, size)
        small = words(3, SIGN | 5, 1, 0, 0x00400000, SIGN | 0x007FFFFF, 2)
        grid[::2] = tiled(small, count, turn).reshape(rows, size)[::2]
        return grid.ravel()
    build: Callable[[int, int, int], Words] = {
        ("ties", "f32"): _float_ties,
        ("ties", "i32"): _integer_ties,
        ("extremes", "f32"): _float_extremes,
        ("extremes", "i32"): _integer_extremes,
        ("specials", "f32"): _specials,
    }[kind, dtype]
    return build(rows, size, seed).ravel()


def _planted(plan: PlanKey, kind: str, rows: int, size: int, seed: int, turn: int) -> Words:
    """Random rows with the winner of a reduction planted at the last, first, tail and middle position in turn."""
    dtype, name = plan.operands[0].dtype, plan.operation
    reach = 999 if size > 20 else 9
    if kind == "small":
        x = cast_words(integers(seed, rows * size, -reach, reach), dtype)
    elif dtype == "i32":
        x = int_words(integers(seed, rows * size, INT_MIN // 2, INT_MAX // 2))
    else:
        x = wide(seed, rows * size)
    if name.startswith("sort_"):
        return x
    grid = x.reshape(rows, size)
    first, middle, last, tail = sparse_positions(size)
    largest = name in ("reduce_max", "argmax") or name.startswith("topk_")
    # A winner of its own for each row and case.
    peaks = 2**24 - 1 - np.arange(rows) - 16 * (seed % 4096)
    winners = cast_words(peaks if largest else -peaks, dtype)
    if kind == "wide":
        winners = scaled(winners, 60) if dtype == "f32" else int_words((INT_MAX - peaks) * (1 if largest else -1))
    for row in range(rows):
        grid[row, (last, first, tail, middle)[(row + turn) % 4]] = winners[row]
    return x


def _float_ties(rows: int, size: int, seed: int) -> Words:
    """Rows: few distinct values; zeros from +0 and from -0 on; zeros among losers; a pair at the ends."""
    grid = cast_words(integers(seed, rows * size, -1, 1), "f32").reshape(rows, size)
    alternating = np.arange(size) % 2
    for row in range(rows):
        match row % 7:
            case 1 | 2:
                grid[row] = np.where(alternating == row % 7 - 1, np.uint32(0), np.uint32(SIGN))
            case 3:
                # The only zero: -0, last, among negative values.
                grid[row] = 0xC0A00000
                grid[row, -1] = SIGN
            case 4:
                # The only zeros: -0 before +0, among negative values.
                grid[row] = 0xBF800000
                grid[row, -1], grid[row, size // 2] = 0, SIGN
            case 5:
                # The only zeros: +0 before -0, among positive values.
                grid[row] = 0x3F800000
                grid[row, -1], grid[row, size // 2] = SIGN, 0
            case 6:
                grid[row, 0] = grid[row, -1] = 0x41100000
                grid[row, 1] = grid[row, size // 2] = 0xC1100000
    return grid


def _integer_ties(rows: int, size: int, seed: int) -> Words:
    grid = integers(seed, rows * size, -1, 1).reshape(rows, size)
    for row in range(rows):
        match row % 7:
            case 1:
                grid[row] = 5
            case 2:
                grid[row, 0] = grid[row, -1] = 9
            case 3:
                grid[row, size // 2] = grid[row, -1] = -9
            case 4:
                grid[row] = np.where(np.arange(size) % 2, 2**24, 2**24 + 1)
    return int_words(grid)


def _float_extremes(rows: int, size: int, seed: int) -> Words:
    """Rows all of one extreme, and rows where one differs from it."""
    lone = (INFINITY, SIGN | INFINITY, MAX, SIGN | MAX)
    grid = np.empty((rows, size), np.uint32)
    for row in range(rows):
        grid[row] = lone[row % 4]
        if row >= 4:
            grid[row, size - 1 - row % 2] = (SIGN | MAX, MAX, SIGN | INFINITY)[row % 3]
    return grid


def _integer_extremes(rows: int, size: int, seed: int) -> Words:
    grid = np.empty((rows, size), np.int64)
    for row in range(rows):
        grid[row] = (INT_MIN, INT_MAX)[row % 2]
        if row >= 2:
            grid[row] = tiled(INT_EXTREMES, size, row)
            grid[row, size - 1] = (INT_MIN, INT_MAX)[row % 2]
    return int_words(grid)


def _specials(rows: int, size: int, seed: int) -> Words:
    """NaNs first, in the middle, last, in the tail and twice, each with a payload of its own; infinities."""
    grid = cast_words(integers(seed, rows * size, -99, 99), "f32").reshape(rows, size)
    first, middle, last, tail = sparse_positions(size)
    for row in range(rows):
        nan, other = words(NANS[row % 5], NANS[(row + 1) % 5])
        match row % 7:
            case 0:
                grid[row, first] = nan
            case 1:
                grid[row, middle], grid[row, first] = nan, INFINITY
            case 2:
                grid[row, last], grid[row, middle] = nan, SIGN | INFINITY
            case 3:
                grid[row, 2], grid[row, tail] = nan, other
            case 4:
                grid[row, first], grid[row, last] = SIGN | INFINITY, INFINITY
            case 5:
                grid[row] = SIGN | INFINITY
            case 6:
                grid[row] = INFINITY
                grid[row, tail] = nan
    return grid
