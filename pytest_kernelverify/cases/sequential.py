"""The exact class of sequential plans: binary32 steps in one order, so that every reordering and fusion shows."""

from __future__ import annotations

import numpy as np

from pytest_kernelverify.cases.critical import MAX, SIGN, words
from pytest_kernelverify.cases.geometry import LONG_SIZES, SIZES
from pytest_kernelverify.cases.ladder import Item, Rung, repeated, rungs
from pytest_kernelverify.cases.shapes import Shape, shape_of
from pytest_kernelverify.cases.structural import collisions, summing_operands
from pytest_kernelverify.cases.terms import CANCELLING, exact_terms, scatter_index
from pytest_kernelverify.cases.values import Words, draws, float_words, int_words, integers, real_words, whole_words
from pytest_kernelverify.operations.plan import PlanKey

__all__ = ["sequential_cases", "sequential_kinds"]

_ANY, _ROWS = (1, 2, 3), (33, 31, 15, 17, 65)


def sequential_kinds(plan: PlanKey) -> tuple[str, ...]:
    """The value kinds of the exact class of a sequential plan; ``unfused`` holds products that round."""
    kinds = ["small", "order", "wide", "halfway", "extremes", "specials"]
    if plan.operation != "reduce_prod":
        kinds.append("cancellation")
    if plan.operation == "conv":
        kinds.append("unfused")
    return (*kinds, "subnormal")


def sequential_cases(item: Item) -> None:
    """The size ladder with every layout and value kind; then nested layouts, repeated calls and subnormals."""
    plan = item.plan
    assert plan is not None
    kinds = sequential_kinds(plan)
    places = {"small": _ANY, "order": (5, 8, 9, 7), "wide": (5, 8, 9, 7), "specials": (31, 15)}
    core = {kind: places.get(kind, _ROWS) for kind in kinds if kind != "subnormal"}
    sizes = SIZES if plan.operation == "scatter_add" else LONG_SIZES
    ladder = rungs(sizes, core, turn=item.turn, free=("small", "order", "wide"))
    for rung in ladder:
        _add(item, plan, rung, rung.values)
    _add(item, plan, Rung(8, "hierarchical", "order", item.turn + 8), "order")
    _add(item, plan, Rung(15, "pitched", "subnormal", item.turn), "subnormal")
    for rung, batch in repeated(ladder, ("small", "order", "wide")):
        _add(item, plan, rung, "order", batch)


def _add(item: Item, plan: PlanKey, rung: Rung, kind: str, batch: int | None = None) -> None:
    full = kind in ("specials", "extremes", "cancellation", "halfway")
    shape = shape_of(plan.operation, rung.size, rung.layout, rung.turn, batch=batch, rows=7 if full else None)
    seed = item.seed_for(rung.name)
    exact = kind in ("small", "specials") or (kind == "subnormal" and plan.operation != "reduce_prod")
    words = exact_terms(plan, kind, shape, seed, rung.turn) if exact else _terms(plan, kind, shape, seed)
    length = 1 + collisions(words[1]) if plan.operation == "scatter_add" else shape.terms
    item.add(
        rung,
        summing_operands(plan, words, shape),
        shape.output,
        parameters=shape.parameters,
        contraction_length=length,
    )


def _terms(plan: PlanKey, kind: str, shape: Shape, seed: int) -> list[Words]:
    match plan.operation:
        case "cumsum":
            rows, size = shape.operands[0]
            return [_sequence(kind, rows, size, seed).ravel()]
        case "reduce_prod":
            rows, size = shape.operands[0]
            return [_factors(kind, rows, size, seed).ravel()]
        case "conv":
            return _windows(kind, shape, seed)
    (height, width), (size,), _ = shape.operands
    index = scatter_index(seed, size, height)
    base = _sequence(kind, width, height, seed + 1).T
    updates = np.zeros((size, width), np.uint32)
    for row in range(height):
        # Each row's updates continue its base, in their own order.
        hit = np.flatnonzero(index == row)
        updates[hit] = _sequence(kind, width, len(hit) + 1, seed + 2 + row)[:, 1:].T
        base[row] = _sequence(kind, width, len(hit) + 1, seed + 2 + row)[:, 0]
    return [base.ravel(), int_words(index), updates.ravel()]


_CYCLES = {
    # On top of 2**24, where values lie 2 apart: a tie down to even, past a tie, a tie up, short of one; then back, with
    # a multiple of 4 left over, so that the next cycle does the same.
    "halfway": (2.0**24, 1.0, 1 + 2.0**-23, 1.0, 1 - 2.0**-24, 2.0, 3.0, 0.5, -(2.0**24)),
    "cancellation": tuple(map(float, CANCELLING)),
}
# The same in products, each on what the step before left: a tie down to even and one up; past a tie and short of one.
_HALFWAY_FACTORS = (
    (1 + 2.0**-12, 1 + 2.0**-12, 1 + 3 * 2.0**-13),
    (1 + 2.0**-23, 1.5 + 2.0**-23, 1 - 2.0**-23),
)


def _sequence(kind: str, rows: int, size: int, seed: int) -> Words:
    """Rows of terms whose running sums in order differ from those in any other, and are never zero."""
    signs = np.where(np.arange(rows) % 2, np.uint32(SIGN), np.uint32(0))[:, None]
    if kind in _CYCLES:
        cycle = real_words(_CYCLES[kind])
        start = (np.arange(rows) * 3)[:, None] if kind == "cancellation" else np.zeros((rows, 1), np.int64)
        terms: Words = cycle[(np.arange(size)[None, :] + start) % len(cycle)] ^ signs
        return terms
    if kind == "extremes":
        # Infinite in this order, finite in others; at the overflow threshold, on its tie and past it.
        lines = (
            (0x7F000000, 0x7F000000, 0xFE800000),
            (MAX, 0x72FFFFFF, 0x3F800000),
            (MAX, 0x73000000, 0xF3000000),
            (0xFF000000, 0x7E800000, 0xFF000000),
        )
        grid = np.full((rows, size), 0x3F800000, np.uint32)
        for row in range(rows):
            stop = min(size, 3)
            grid[row, :stop] = lines[row % 4][:stop]
        return grid
    low, high = (-20, 20) if kind == "wide" else (-2, 2)
    return float_words(seed, rows * size, low, high).reshape(rows, size)


def _near_one(seed: int, count: int) -> Words:
    """Words within 2**-5 of one, so that products of thousands stay normal."""
    step = (draws(seed, count) >> np.uint64(30)).astype(np.int64) % 2**18
    away = (draws(seed, count) & np.uint64(1)).astype(bool)
    return (0x3F800000 + np.where(away, step, -step)).astype(np.uint32)


def _factors(kind: str, rows: int, size: int, seed: int) -> Words:
    grid = _near_one(seed, rows * size).reshape(rows, size)
    column = np.arange(size)
    if kind == "wide":
        power = integers(seed + 1, rows, 8, 30)[:, None] * (1 - 2 * (column % 2))[None, :]
        grid = (grid.astype(np.int64) + (power << 23)).astype(np.uint32)
    elif kind == "halfway":
        cycle = real_words([4097.0, 2.0**-12, -4099.0, 2.0**-12, 4095.0, 2.0**-12])
        grid = cycle[(column[None, :] + 2 * np.arange(rows)[:, None]) % 6]
        for row in range(rows):
            # Both, in both signs; then once more behind factors that change nothing.
            lead = (1.0, 2.0, 0.5)[: row // 4 * 3]
            start = real_words([*lead, *_HALFWAY_FACTORS[row // 2 % 2]])[:size]
            grid[row, : len(start)] = start
            grid[row, 0] |= np.uint32(row % 2 * SIGN)
    elif kind == "extremes":
        lines = (
            (0x71800000, 0x71800000, 0x0D800000),  # 2**100 twice, then back
            (0x0D800000, 0x0D800000, 0x71800000),  # 2**-100 twice: zero, from which nothing comes back
            (MAX, 0x3F800001, 0x3F000000),
            (SIGN | MAX, 0x3F7FFFFF, 0x3F800001),
        )
        for row in range(rows):
            stop = min(size, 3)
            grid[row, :stop] = lines[row % 4][:stop]
    elif kind == "subnormal":
        # Through the subnormals and back: what they round away stays lost, what is flushed becomes zero.
        factors = words(0x1D800001, 0x19800003, 0x40400001)
        for row in range(rows):
            stop = min(size, 4)
            grid[row, :stop] = np.append(np.roll(factors, row), np.uint32(0x7B000000))[:stop]
    return grid


def _windows(kind: str, shape: Shape, seed: int) -> list[Words]:
    """Input and weights; products are exact except for ``unfused``."""
    inputs, taps = shape.counts
    size = max(shape.terms, 1)
    powers = float_words(seed + 1, taps, -3, 3) & np.uint32(0xFF800000)
    if kind == "unfused":
        # 1 + 2**-12 times itself loses 2**-24; random significands lose more.
        near = whole_words(4096 + integers(seed, inputs, 1, 7) * 2 - 1)
        return [near, np.where(np.arange(taps) % 2, whole_words(4097), float_words(seed + 1, taps, 0, 1))]
    if kind in _CYCLES:
        return [whole_words(np.ones(inputs)), _sequence(kind, taps // size, size, seed).ravel()]
    if kind == "extremes":
        weights = real_words([1.0, 1.0, -0.75, 0.5])
        return [np.full(inputs, 0x7F000000, np.uint32), weights[np.arange(taps) % size % 4]]
    low, high = (-20, 20) if kind == "wide" else (-2, 2)
    return [float_words(seed, inputs, low, high), powers]
