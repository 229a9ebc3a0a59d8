"""Pointwise plans: which value kinds apply, and the cases that combine them with sizes and layouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pytest_kernelverify.cases.geometry import SIZES, Extents, pointwise_extents
from pytest_kernelverify.cases.ladder import Item, Payload, Rung, repeated, rungs
from pytest_kernelverify.cases.pointwise_values import payload
from pytest_kernelverify.operations.plan import OperandRole, PlanKey
from pytest_kernelverify.operations.table import operation

__all__ = ["pointwise_cases", "pointwise_kinds"]

_ANY = (1, 2, 3)
_TABLE = (33, 63, 65, 31, 64, 127)
# Seven elements behind the last group of eight, so that a tail position is not the last one.
_SPECIAL = (31, 63, 15, 127)
_FREE = ("small", "wide")

_UNARY_FLOAT: Mapping[str, tuple[str, ...]] = {
    "neg": ("specials", "extremes"),
    "abs": ("specials", "extremes"),
    "sign": ("specials", "extremes"),
    "relu": ("specials", "extremes"),
    "ceil": ("halfway", "specials", "extremes"),
    "floor": ("halfway", "specials", "extremes"),
    "round": ("halfway", "specials", "extremes"),
    "recip": ("halfway", "specials", "extremes"),
    "sqrt": ("halfway", "specials", "extremes"),
    "rsqrt": ("halfway", "specials", "extremes"),
    "leaky_relu": ("halfway", "specials", "extremes"),
    "logical_not": ("specials", "extremes"),
}
_BINARY_FLOAT: Mapping[str, tuple[str, ...]] = {
    "add": ("halfway", "cancellation", "extremes", "specials"),
    "sub": ("halfway", "cancellation", "extremes", "specials"),
    "mul": ("halfway", "extremes", "specials"),
    "div": ("halfway", "extremes", "specials"),
    "rem": ("halfway", "extremes", "specials"),
}


def pointwise_kinds(plan: PlanKey) -> tuple[str, ...]:
    """The value kinds of a plan; ``subnormal`` is the last wherever a Float32 operand is read as a number."""
    dtypes = [operand.dtype for operand in plan.operands]
    scalars = any(operand.role is OperandRole.SCALAR for operand in plan.operands)
    name = plan.operation
    if dtypes[0] == "bool" and name != "select":
        return ("flags", "ones")
    if name == "cast":
        return {
            ("f32", "i32"): ("small", "halfway", "extremes", "wide", "subnormal"),
            ("i32", "f32"): ("small", "conversion", "wide"),
            ("f32", "bool"): ("small", "specials", "extremes", "wide", "subnormal"),
            ("i32", "bool"): ("small", "extremes", "wide"),
        }[dtypes[0], plan.output]
    if name == "select":
        kinds: tuple[str, ...] = ("small", "all_true", "all_false", "extremes", "wide")
        return kinds if plan.output == "i32" else (*kinds, "specials", "subnormal")
    if "f32" not in dtypes and plan.compute != "f32":
        chosen = ("small", "extremes", "wide")
        return (*chosen, "ties") if name in ("maximum", "minimum", "eq", "ne", "lt", "le", "clamp") else chosen
    if name in _UNARY_FLOAT and dtypes[0] == "f32":
        return ("small", "wide", *_UNARY_FLOAT[name], "subnormal")
    if len(dtypes) == 1:
        return ("small", "wide", "conversion")
    if name in _BINARY_FLOAT:
        kinds = tuple(kind for kind in _BINARY_FLOAT[name] if "i32" not in dtypes or kind in ("halfway", "specials"))
        if "i32" in dtypes:
            kinds = (*kinds, "conversion")
        if scalars:
            kinds = (*kinds, "infinite", "nan")
        return ("small", "wide", *kinds, *(("subnormal",) if "f32" in dtypes else ()))
    kinds = ("small", "wide", "ties", "extremes", "specials")
    return (*kinds, *(("infinite", "nan") if scalars else ()), "subnormal")


def _sizes_of(plan: PlanKey, kind: str) -> Sequence[int]:
    """Sizes at which a kind's whole table fits."""
    if kind in ("small", "wide", "flags", "ones", "all_true", "all_false"):
        return _ANY if kind in ("small", "flags") else (7, 5, 15, 17)
    tensors = sum(operand.role is OperandRole.TENSOR for operand in plan.operands)
    if kind == "specials":
        mixed = any(operand.dtype == "i32" for operand in plan.operands)
        return _SPECIAL if tensors == 1 or plan.operation == "select" else (63, 127) if mixed else (127,)
    return _TABLE


def _operands(item: Item, plan: PlanKey, rung: Rung, extents: Extents, salt: str) -> list[Payload]:
    count = int(np.prod(extents, dtype=np.int64))
    words = payload(plan, rung.values, count, item.seed_for(salt), rung.turn)
    return [
        (word, operand.dtype, () if operand.role is OperandRole.SCALAR else extents)
        for word, operand in zip(words, plan.operands, strict=True)
    ]


def _parameters(plan: PlanKey, turn: int) -> dict[str, Any]:
    """leaky_relu: a slope that rounds, the default, and one whose products tie."""
    return {"negative_slope": (0.75, 0.01, -1.5)[turn % 3]} if plan.operation == "leaky_relu" else {}


def pointwise_cases(item: Item) -> None:
    """The size ladder with every layout and value kind; then nested, aliased and repeated calls, and subnormals."""
    plan = item.plan
    assert plan is not None
    kinds = pointwise_kinds(plan)
    core = {kind: _sizes_of(plan, kind) for kind in kinds if kind != "subnormal"}
    free = tuple(kind for kind in core if kind in _FREE) or tuple(core)
    first = free[0]
    turn = item.turn

    def add(rung: Rung, extents: Extents, alias: int | None = None) -> None:
        operands = _operands(item, plan, rung, extents, rung.name)
        # One slope that ties wherever halfway points are meant to.
        slope = 0 if rung.values == "halfway" else rung.turn
        item.add(rung, operands, extents, parameters=_parameters(plan, slope), alias=alias)

    ladder = rungs(SIZES, core, turn=turn, free=free, flat=True)
    for rung in ladder:
        add(rung, pointwise_extents(rung.size, rung.layout, rung.turn))
    wide = free[-1]
    add(Rung(64, "hierarchical", wide, turn + 1), (8, 8))
    add(Rung(4, "hierarchical", first, turn), (1, 4))
    if "subnormal" in kinds:
        size = 257 if sum(operand.role is OperandRole.TENSOR for operand in plan.operands) > 1 else 33
        add(Rung(size, "pitched", "subnormal", turn), (size,))
    names = [name for name, _ in operation(plan.operation).operands]
    for index, operand in enumerate(plan.operands):
        if operand.role is OperandRole.TENSOR and operand.dtype == plan.output:
            add(Rung(33, f"aliased_{names[index]}", wide, turn + index), (3, 11), index)
    # One shape again with other values, then a larger and a smaller batch of rows of the same length.
    extents: Extents = ()
    for rung, batch in repeated(ladder, tuple(kinds), (15, 9, 8, 7, 5)):
        extents = (batch, *extents[1:]) if batch else pointwise_extents(rung.size, rung.layout, rung.turn)
        operands = _operands(item, plan, replace(rung, values=first), extents, rung.name)
        count = int(np.prod(extents))
        item.add(replace(rung, size=count), operands, extents, parameters=_parameters(plan, rung.turn))
