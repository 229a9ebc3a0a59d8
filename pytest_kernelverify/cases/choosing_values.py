"""The words of every value kind of the plans with three operands: select and clamp."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pytest_kernelverify.cases.critical import (
    FLOAT_EXTREMES,
    INFINITY,
    INT_EXTREMES,
    NAN,
    NANS,
    SIGN,
    SPECIALS,
    SUBNORMALS,
    small_integers,
    wide,
    with_specials,
    words,
)
from pytest_kernelverify.cases.values import (
    INT_MAX,
    INT_MIN,
    Integers,
    Words,
    below,
    cast_words,
    float_words,
    int_words,
    integers,
    tiled,
    whole_words,
)
from pytest_kernelverify.operations.plan import OperandRole, PlanKey

__all__ = ["clamp_values", "select_values"]


def select_values(plan: PlanKey, kind: str, count: int, seed: int) -> list[Words]:
    condition = below(seed, count, 2).astype(np.uint8)
    if kind in ("all_true", "all_false"):
        condition[:] = kind == "all_true"
    dtype = plan.output
    if kind in ("small", "all_true", "all_false"):
        branches = [cast_words(small_integers(seed + 1 + axis, count), dtype) for axis in (0, 1)]
    elif kind == "extremes":
        table = INT_EXTREMES if dtype == "i32" else FLOAT_EXTREMES
        branches = [tiled(int_words(table) if dtype == "i32" else table, count, shift) for shift in (0, 3)]
    elif kind in ("specials", "subnormal"):
        table = SUBNORMALS if kind == "subnormal" else np.concatenate([words(*NANS), SPECIALS])
        branches = [tiled(table, count, shift) for shift in (0, 2)]
        if kind == "specials":
            branches = [with_specials(branch, words(*(NANS[axis:] + NANS)[:4])) for axis, branch in enumerate(branches)]
    elif dtype == "i32":
        branches = [int_words(integers(seed + 1 + axis, count, INT_MIN, INT_MAX)) for axis in (0, 1)]
    else:
        branches = [wide(seed + 1 + axis, count) for axis in (0, 1)]
    return [condition, *branches]


def clamp_values(plan: PlanKey, kind: str, count: int, seed: int, turn: int) -> list[Words]:
    """x, lo and hi with lo <= hi; small and wide keep lo below 0 below hi, so that any lo may meet any hi."""
    whole = plan.output == "i32"
    scalars = [operand.role is OperandRole.SCALAR for operand in plan.operands]
    encode: Callable[[Integers], Words] = int_words if whole else whole_words
    size = max(count, 1)
    if kind == "small":
        bounds = [encode(integers(seed + 1, size, -8, -1)), encode(integers(seed + 2, size, 1, 8))]
        return [encode(integers(seed, count, -12, 12)), *bounds]
    if kind == "wide":
        if whole:
            low, high = integers(seed + 1, size, -(2**30), -1), integers(seed + 2, size, 1, 2**30)
            return [int_words(integers(seed, count, INT_MIN, INT_MAX)), int_words(low), int_words(high)]
        low_words = float_words(seed + 1, size, -4, 4, signed=False) | np.uint32(SIGN)
        return [float_words(seed, count, -6, 6), low_words, float_words(seed + 2, size, -4, 4, signed=False)]
    if kind == "ties":
        return _clamp_ties(whole, scalars, count, seed, turn)
    if kind == "extremes":
        if whole:
            ends = tiled(np.array([INT_MIN, -1, INT_MAX, INT_MIN, 0]), size, turn)
            return [int_words(tiled(INT_EXTREMES, count, turn)), int_words(ends), int_words(np.full(size, INT_MAX))]
        x = tiled(np.append(FLOAT_EXTREMES, words(INFINITY, SIGN | INFINITY)), count, turn)
        return [x, np.full(size, SIGN | 0x7F7FFFFE, np.uint32), np.full(size, 0x7F7FFFFE, np.uint32)]
    if kind == "infinite":
        x = tiled(SPECIALS, count, turn)
        return [x, np.full(size, SIGN | INFINITY, np.uint32), np.full(size, 0x40000000, np.uint32)]
    if kind == "nan":
        x = tiled(SPECIALS, count, turn)
        bounds = [np.full(size, NAN, np.uint32), np.full(size, 0x40000000, np.uint32)]
        return [x, *(bounds if scalars[1] and (turn % 2 or not scalars[2]) else bounds[::-1])]
    if kind == "subnormal":
        x = tiled(SUBNORMALS, count, turn)
        low_table, high_table = words(SIGN | 1, 1, 0x80400000, 0), words(0x007FFFFF, 3, 0x00400000, 1)
        if scalars[1] or scalars[2]:
            return [x, np.full(size, SIGN | 2, np.uint32), np.full(size, 0x00400001, np.uint32)]
        return [x, *(tiled(table, count, turn // 2) for table in (low_table, high_table))]
    return _clamp_specials(scalars, count, size, turn)


def _clamp_ties(whole: bool, scalars: list[bool], count: int, seed: int, turn: int) -> list[Words]:
    """x on a bound or next to it, lo equal to hi, and zeros of either sign against each other."""
    size = max(count, 1)
    if whole:
        low = np.full(size, 7) if any(scalars) else 7 + below(seed, size, 3)
        return [int_words(6 + below(seed + 1, count, 5)), int_words(low), int_words(np.full(size, 9))]
    # lo = +0 over hi = -0 is no error: they are equal, and hi is applied last.
    zero_low, zero_high = words(0, SIGN, SIGN, 0x3F800000, 0), words(0x3F800000, 0x3F800000, 0, 0x3F800000, SIGN)
    x = tiled(words(SIGN, 0, 0x3F800000, 0x3F7FFFFF, 0x3F800001, SIGN | 1 << 23), count, turn)
    if any(scalars):
        ends = ((0, 0x3F800000), (SIGN, 0x3F800000), (0, SIGN))[turn % 3]
        return [x, *(np.full(size, end, np.uint32) for end in ends)]
    step = np.arange(count) // 6
    return [x, zero_low[step % 5], zero_high[step % 5]]


def _clamp_specials(scalars: list[bool], count: int, size: int, turn: int) -> list[Words]:
    x = tiled(SPECIALS, count, turn)
    low_table, high_table = words(SIGN, NAN, SIGN | INFINITY, 0xC0000000), words(0x40000000, INFINITY, NANS[1])
    step = np.arange(size) // len(SPECIALS)
    low = np.full(size, SIGN, np.uint32) if scalars[1] else low_table[step % 4]
    high = np.full(size, 0x40000000, np.uint32) if scalars[2] else high_table[step // 4 % 3]
    x = with_specials(x, words(NAN, NANS[1], INFINITY, SIGN | INFINITY))
    return [x, low, high]
