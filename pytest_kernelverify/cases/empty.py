"""Cases in which an extent other than the size is zero: mostly no result, around which nothing may be written."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from pytest_kernelverify.cases.geometry import Extents
from pytest_kernelverify.cases.ladder import Item, Payload, Rung
from pytest_kernelverify.cases.structural import collisions
from pytest_kernelverify.cases.values import Words, below, cast_words, int_words, integers
from pytest_kernelverify.operations.plan import PlanKey
from pytest_kernelverify.operations.table import operation, output_extents

__all__ = ["empty_cases"]

_LAYOUTS = ("compact", "pitched", "offset")
_PLAIN = {"stride": 1, "padding": 1, "dilation": 1, "groups": 1}
# The last window is one element longer than the input: rounded toward zero, the quotient would leave one position.
_OVERHANGING = {"stride": 2, "padding": 0, "dilation": 1, "groups": 1}

# Of each operation: values, size, operand extents, parameters.
_Shapes = tuple[tuple[str, int, tuple[Extents, ...], Mapping[str, Any]], ...]
_SHAPES: dict[str, _Shapes] = {
    "matmul": (
        ("no_rows", 5, ((2, 0, 5), (2, 5, 3)), {}),
        ("no_columns", 5, ((2, 3, 5), (2, 5, 0)), {}),
        ("no_batch", 5, ((0, 3, 5), (0, 5, 2)), {}),
    ),
    "conv": (
        ("no_batch", 9, ((0, 3, 7), (2, 3, 3)), _PLAIN),
        ("no_outputs", 9, ((2, 3, 7), (0, 3, 3)), _PLAIN),
        ("no_positions", 8, ((2, 2, 4, 1), (3, 2, 2, 2)), _OVERHANGING),
    ),
    "gather": (("no_indices", 5, ((4, 5), (0,)), {}), ("no_rows", 5, ((0, 5), (0,)), {})),
    "scatter": (("no_indices", 5, ((4, 5), (0,), (0, 5)), {}), ("no_rows", 5, ((0, 5), (0,), (0, 5)), {})),
    # Its size is the number of indices.
    "scatter_add": (("no_rows", 0, ((0, 5), (0,), (0, 5)), {}), ("no_columns", 5, ((4, 0), (5,), (5, 0)), {})),
}


def _shapes(name: str) -> _Shapes:
    if name.startswith("topk_"):
        return ("no_rows", 5, ((0, 5),), {"k": 2}), ("none_chosen", 5, ((3, 5),), {"k": 0})
    rows: Mapping[str, Any] = {"descending": False} if name.startswith("sort_") else {}
    return _SHAPES.get(name, (("no_rows", 5, ((0, 5),), rows),))


def empty_cases(item: Item) -> None:
    """One case for each extent that may be zero, in the class that also holds a plan's error cases."""
    plan = item.plan
    if plan is None or operation(plan.operation).family in ("pointwise", "predicate"):
        return  # its only extent is its size
    for step, (values, size, shapes, parameters) in enumerate(_shapes(plan.operation)):
        rung = Rung(size, _LAYOUTS[(item.turn + step) % 3], values, item.turn + step)
        operands = _operands(plan, shapes, item.seed_for(values))
        item.add(
            rung,
            operands,
            output_extents(plan.operation, shapes, parameters),
            parameters=parameters,
            contraction_length=_length(plan, size, operands),
        )


def _operands(plan: PlanKey, shapes: tuple[Extents, ...], seed: int) -> list[Payload]:
    indexed = operation(plan.operation).family == "indexing"
    result: list[Payload] = []
    for axis, (operand, extents) in enumerate(zip(plan.operands, shapes, strict=True)):
        count = prod(extents)
        words: Words
        if indexed and axis == 1:
            words = int_words(below(seed, count, max(shapes[0][0], 1)))
        else:
            words = cast_words(integers(seed + axis, count, 1, 90), operand.dtype)
        result.append((words, operand.dtype, extents))
    return result


def _length(plan: PlanKey, size: int, operands: list[Payload]) -> int:
    if plan.operation == "scatter_add":
        return 1 + collisions(operands[1][0])
    return 0 if operation(plan.operation).family in ("indexing", "ordering") else size
