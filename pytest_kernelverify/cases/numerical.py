"""The numerical class: finite witnesses judged by the envelope of their terms."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np

from pytest_kernelverify.cases.critical import SIGN
from pytest_kernelverify.cases.geometry import LONG_SIZES, SIZES
from pytest_kernelverify.cases.ladder import Item, Rung, rungs
from pytest_kernelverify.cases.shapes import Shape, shape_of
from pytest_kernelverify.cases.structural import collisions, summing_operands
from pytest_kernelverify.cases.terms import occurrences, scatter_index
from pytest_kernelverify.cases.values import (
    Words,
    draws,
    float_words,
    int_words,
    integers,
    real_words,
)
from pytest_kernelverify.operations.plan import PlanKey

__all__ = ["numerical_cases", "numerical_kinds"]


def numerical_kinds(plan: PlanKey) -> tuple[str, ...]:
    """The value kinds of the numerical class."""
    return ("positive", "wide") if plan.operation == "reduce_prod" else ("positive", "wide", "cancellation")


def numerical_cases(item: Item) -> None:
    """Every contracted length above 0 with every layout and value kind; then a nested layout."""
    plan = item.plan
    assert plan is not None
    core = {"positive": (1, 2), "wide": (5, 3), "cancellation": (15, 33)}
    kinds = {kind: core[kind] for kind in numerical_kinds(plan)}
    sizes = (SIZES if plan.operation == "scatter_add" else LONG_SIZES)[1:]
    for rung in rungs(sizes, kinds, turn=item.turn, free=("positive", "wide")):
        _add(item, plan, rung)
    _add(item, plan, Rung(64, "hierarchical", "wide", item.turn))


def _add(item: Item, plan: PlanKey, rung: Rung) -> None:
    shape = shape_of(plan.operation, rung.size, rung.layout, rung.turn)
    words = _terms(plan, rung.values, shape, item.seed_for(rung.name))
    length = 1 + collisions(words[1]) if plan.operation == "scatter_add" else shape.terms
    item.add(
        rung,
        summing_operands(plan, words, shape),
        shape.output,
        parameters=shape.parameters,
        contraction_length=length,
    )


def _terms(plan: PlanKey, kind: str, shape: Shape, seed: int) -> list[Words]:
    name = plan.operation
    if name == "reduce_prod":
        return [_factors(kind, shape, seed)]
    if plan.accumulation == "exact_integer":
        return _integers(kind, shape, seed)
    dtypes = [operand.dtype for operand in plan.operands]
    if name == "matmul":
        return _multiplied(kind, shape, dtypes, seed)
    if name == "conv":
        weights = _sequence(kind, np.arange(shape.counts[1]) % shape.terms, seed + 1, -20, 20, shape.terms)
        if kind == "cancellation":
            return [_powers(seed, shape.counts[0], signed=False), weights]
        return [_sequence(kind, np.arange(shape.counts[0]), seed, -20, 20), weights]
    if name == "scatter_add":
        (height, width), (size,), _ = shape.operands
        index = scatter_index(seed, size, height)
        turn = np.repeat(occurrences(index, height), width)
        hits = np.repeat(np.bincount(index, minlength=height)[index], width)
        updates = _sequence(kind, turn, seed + 2, -20, 20, hits)
        base = _sequence("positive", np.arange(height * width), seed + 1, -20, 20)
        return [base, int_words(index), updates]
    return [_sequence(kind, np.arange(shape.counts[0]) % shape.terms, seed, -20, 20, shape.terms)]


def _sequence(kind: str, place: Words, seed: int, low: int, high: int, length: Any = 1 << 30) -> Words:
    """Terms by their place in a sum: of one sign and size, of wide exponents, or big, small, minus big."""
    count = len(place)
    if kind == "positive":
        return float_words(seed, count, -1, 1, signed=False)
    if kind == "wide":
        return float_words(seed, count, low, high)
    # Thirds of a sum that cancel down to the small ones: [2**24, about one, -2**24]; what is left over is small.
    small = float_words(seed, count, 0, 0, signed=False)
    big = real_words([2.0**24, 0.0, -(2.0**24)])[place % 3]
    return np.where((place % 3 == 1) | (place >= length // 3 * 3), small, big)


def _powers(seed: int, count: int, *, signed: bool = True) -> Words:
    """Powers of two near one: factors that keep every product exact."""
    return float_words(seed, count, -2, 2, signed=signed) & np.uint32(0xFF800000)


def _multiplied(kind: str, shape: Shape, dtypes: list[str], seed: int) -> list[Words]:
    lhs, rhs = shape.operands
    size, columns = lhs[-1], rhs[-1]
    places = (np.arange(shape.counts[0]) % size, np.arange(shape.counts[1]) // columns % size)
    result = []
    for axis, (dtype, place) in enumerate(zip(dtypes, places, strict=True)):
        count = len(place)
        if dtype == "f32":
            words = _sequence(kind, place, seed + axis, -20, 20, size)
        elif kind == "cancellation":
            # Beyond 2**24 the conversion rounds first, the same way in both signs.
            big = np.array([2**24 + 1, 0, -(2**24) - 1])[place % 3]
            little = (place % 3 == 1) | (place >= size // 3 * 3)
            words = int_words(np.where(little, integers(seed, count, 1, 3), big))
        else:
            low = 1 if kind == "positive" else -(2**31) + 1
            values = integers(seed + axis, count, low, 2**31 - 1)
            words = int_words(np.where(values == 0, 1, values))
        result.append(words)
    if kind == "cancellation":
        # One side cancels along K; the other scales whole rows or columns, by powers of two.
        axis = 0 if "i32" not in dtypes else dtypes.index("i32")
        other, count = 1 - axis, shape.counts[1 - axis]
        line = np.arange(count) // size if other == 0 else np.arange(count) % columns
        factor = _powers(seed + 7, int(line.max()) + 1)[line]
        if dtypes[other] == "f32":
            result[other] = factor
    return result


def _integers(kind: str, shape: Shape, seed: int) -> list[Words]:
    """Int32 terms whose magnitudes sum to less than 2**31."""
    room = (2**31 - 1) // max(shape.terms, 1)
    reach = room if len(shape.operands) == 1 else isqrt(room)
    result = []
    for axis, count in enumerate(shape.counts):
        values = integers(seed + axis, count, 1 if kind == "positive" else -reach, reach)
        if kind == "cancellation" and axis == 0:
            place = np.arange(count) % shape.terms
            values = np.array([reach, 1, -reach])[place % 3]
        result.append(int_words(values))
    return result


def _factors(kind: str, shape: Shape, seed: int) -> Words:
    """Factors within 2**-5 of one; ``wide`` adds a few exponents: no sub-product of any association is subnormal."""
    count = shape.counts[0]
    step = (draws(seed, count) >> np.uint64(30)).astype(np.int64) % 2**18
    away = draws(seed + 1, count)
    grid = 0x3F800000 + np.where(away & np.uint64(1) == 1, step, -step)
    if kind == "wide":
        place = np.arange(count) % shape.terms
        power = np.where(place < 40, integers(seed + 2, count, 1, 2), 0) * (1 - 2 * (place % 2))
        grid = grid + (power << 23)
    signs = (away >> np.uint64(32) & np.uint64(1)).astype(np.uint32) * np.uint32(SIGN)
    words: Words = grid.astype(np.uint32) | signs
    return words
