"""Cases that expect an error: at the first, a middle and the last position, the output left untouched."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pytest_kernelverify.cases.critical import NAN
from pytest_kernelverify.cases.ladder import Item, Payload, Rung
from pytest_kernelverify.cases.values import INT_MAX, INT_MIN, Words, below, cast_words, int_words, integers
from pytest_kernelverify.operations.plan import OperandRole, PlanKey

__all__ = ["error_cases"]

_PLACES = ("first", "middle", "last")
_SIZES = {"first": 17, "middle": 33, "last": 65}
_LAYOUTS = {"first": "compact", "middle": "pitched", "last": "offset"}

# Operand values that overflow Int32: one triple an operation, for the three positions.
_OVERFLOWS = {
    "add": ((INT_MAX, 1), (INT_MIN, -1), (2**30, 2**30)),
    "sub": ((INT_MIN, 1), (0, INT_MIN), (INT_MAX, -1)),
    "mul": ((65536, 65536), (INT_MIN, -1), (46341, 46341)),
    "pow": ((2, 31), (-2, 33), (46341, 2)),
    "neg": ((INT_MIN,),) * 3,
    "abs": ((INT_MIN,),) * 3,
}
# A scalar operand is the same for every element: what the tensor's element must be to overflow with it.
_SCALAR_OVERFLOWS = {"mul": ((2**30, 2), (INT_MIN, -1), (65536, 32768)), "pow": ((46341, 2), (-1291, 3), (3, 31))}


def error_cases(item: Item) -> None:
    """The error cases of a plan, if it can report an error; subjects and deferred plans have none."""
    plan = item.plan
    if plan is None:
        return
    name = plan.operation
    if name in _OVERFLOWS and plan.compute == "i32_checked":
        _pointwise(item, plan, "overflow", _overflowing)
    if name == "pow" and plan.compute == "i32_checked":
        _pointwise(item, plan, "domain", _negative_exponent)
    if name == "clamp":
        _pointwise(item, plan, "domain", _crossed_bounds)
    if name == "cast" and plan.output == "i32" and plan.operands[0].dtype == "f32":
        _pointwise(item, plan, "domain", _uncastable)
    if plan.accumulation == "exact_integer":
        _sum_overflow(item, plan)
    if name in ("gather", "scatter", "scatter_add"):
        _bad_index(item, plan)
    if name in ("argmax", "argmin"):
        for values, rows in (("empty", 3), ("empty_of_none", 0)):
            rung = Rung(0, "compact", values, 0)
            item.add(rung, [(int_words([]), plan.operands[0].dtype, (rows, 0))], (rows,), error="empty")
    if name.startswith("topk_"):
        _too_many(item, plan)


Values = list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]


def _pointwise(item: Item, plan: PlanKey, kind: str, spoil: Callable[[PlanKey, int, int, int], list[Words]]) -> None:
    for step, place in enumerate(_PLACES):
        size = _SIZES[place]
        at = (0, size // 2, size - 1)[step]
        rung = Rung(size, _LAYOUTS[place], f"{kind}-{place}", item.turn + step)
        words = spoil(plan, step, at, size)
        operands: list[Payload] = [
            (word[:1], operand.dtype, ()) if operand.role is OperandRole.SCALAR else (word, operand.dtype, (size,))
            for word, operand in zip(words, plan.operands, strict=True)
        ]
        item.add(rung, operands, (size,), error=kind)


def _filler(plan: PlanKey, size: int) -> Values:
    return [1 + (np.arange(size, dtype=np.int64) * (axis + 2)) % (3 + axis) for axis in range(len(plan.operands))]


def _overflowing(plan: PlanKey, step: int, at: int, size: int) -> list[Words]:
    scalar = plan.operands[-1].role is OperandRole.SCALAR
    values = _filler(plan, size)
    if scalar:
        wrong, factor = _SCALAR_OVERFLOWS[plan.operation][step]
        values[0] = values[0] % 2 if factor > 3 else values[0]
        values[0][at] = wrong
        values[1][:] = factor
    else:
        for value, wrong in zip(values, _OVERFLOWS[plan.operation][step], strict=True):
            value[at] = wrong
    return [int_words(value) for value in values]


def _negative_exponent(plan: PlanKey, step: int, at: int, size: int) -> list[Words]:
    """Of 2, of 1 and of -1: an error even where the power would be an integer."""
    values = _filler(plan, size)
    values[0][at] = (2, 1, -1)[step]
    if plan.operands[1].role is OperandRole.SCALAR:
        values[1][:] = -1 - step
    values[1][at] = -1 - step
    return [int_words(value) for value in values]


def _crossed_bounds(plan: PlanKey, step: int, at: int, size: int) -> list[Words]:
    dtype = plan.output
    x, low, high = _filler(plan, size)
    low, high = low - 9, high + 9
    scalars = [operand.role is OperandRole.SCALAR for operand in plan.operands]
    if scalars[1] and scalars[2]:
        low[:], high[:] = 3, 2 - step
    elif scalars[1]:
        low[:] = 3
        high[at] = 2 - step
    elif scalars[2]:
        high[:] = 3
        low[at] = 4 + step
    else:
        low[at], high[at] = 3, 2 - step
    return [cast_words(value, dtype) for value in (x, low, high)]


def _uncastable(plan: PlanKey, step: int, at: int, size: int) -> list[Words]:
    """The first value above the range, a NaN alone, and the first value below it."""
    words = cast_words(_filler(plan, size)[0], "f32")
    words[at] = (0x4F000000, NAN, 0xCF000001)[step]
    return [words]


def _sum_overflow(item: Item, plan: PlanKey) -> None:
    """Sums past either end, of terms of one sign, so that any order overflows; in one row of several."""
    for step, place in enumerate(_PLACES):
        size, rows = _SIZES[place], 3
        row = (0, 1, 2)[step]
        x = np.ones((rows, size), dtype=np.int64) * 3
        x[row] = 0
        x[row, 0], x[row, size // 2], x[row, -1] = ((INT_MAX, 0, 1), (INT_MIN, -1, 0), (2**30, 2**30 - 1, 1))[step]
        rung = Rung(size, _LAYOUTS[place], f"overflow-{place}", item.turn + step)
        operands: list[Payload] = [(int_words(x.ravel()), "i32", (rows, size))]
        output: tuple[int, ...] = (rows,)
        if plan.operation == "matmul":
            other = np.ones((size, 2), dtype=np.int64)
            other[:, 0] = 0 if step == 1 else 1
            operands.append((int_words(other.ravel()), "i32", (size, 2)))
            output = (rows, 2)
        item.add(rung, operands, output, error="overflow", contraction_length=size)


def _bad_index(item: Item, plan: PlanKey) -> None:
    """One below 0, the extent itself, and its negation; among good ones, before and behind them.

    A kernel that does not check them reaches the guard band, not memory that is not there.
    """
    count, rows, width = 5, 4, 3
    for step, place in enumerate(_PLACES):
        index = below(item.seed_for(place), count, rows)
        index[(0, count // 2, count - 1)[step]] = (-1, rows, -rows)[step]
        rung = Rung(width, _LAYOUTS[place], f"index-{place}", item.turn + step)
        dtype = plan.output
        table: Payload = (
            cast_words(integers(item.seed_for(place + "table"), rows * width, 1, 90), dtype), dtype, (rows, width)
        )  # fmt: skip
        operands: list[Payload] = [table, (int_words(index), "i32", (count,))]
        output: tuple[int, ...] = (count, width)
        if plan.operation != "gather":
            updates = integers(item.seed_for(place + "updates"), count * width, 1, 90)
            operands.append((cast_words(updates, dtype), dtype, (count, width)))
            output = (rows, width)
        item.add(rung, operands, output, error="index")


def _too_many(item: Item, plan: PlanKey) -> None:
    dtype = plan.operands[0].dtype
    for size, values in ((5, "too_many"), (0, "too_many_of_none")):
        rows = 3
        x = cast_words(integers(item.seed_for(values), rows * size, -9, 9), dtype)
        rung = Rung(size, "compact", values, item.turn)
        item.add(rung, [(x, dtype, (rows, size))], (rows, size + 1), parameters={"k": size + 1}, error="invalid")
