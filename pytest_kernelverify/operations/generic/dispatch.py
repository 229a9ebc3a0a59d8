"""evaluate: one plan, its operands' words and its parameters to the exact answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pytest_kernelverify.operations.generic import (
    arithmetic,
    choosing,
    contraction,
    indexing,
    integer,
    ordering,
    reduction,
)
from pytest_kernelverify.operations.generic.answer import Answer, GenericError
from pytest_kernelverify.operations.generic.decode import Array, integers
from pytest_kernelverify.operations.generic.rounding import round_integers, round_parameter
from pytest_kernelverify.operations.plan import OperandRole, PlanKey
from pytest_kernelverify.operations.table import operation

__all__ = ["evaluate"]

_WORDS: dict[str, np.dtype[Any]] = {
    "f32": np.dtype(np.uint32),
    "i32": np.dtype(np.uint32),
    "bool": np.dtype(np.uint8),
}

_FLOATING: dict[str, Callable[..., Array]] = {
    "add": arithmetic.add,
    "sub": arithmetic.sub,
    "mul": arithmetic.mul,
    "div": arithmetic.div,
    "rem": arithmetic.rem,
    "maximum": choosing.maximum,
    "minimum": choosing.minimum,
    "neg": arithmetic.neg,
    "abs": arithmetic.absolute,
    "sign": arithmetic.sign,
    "ceil": arithmetic.ceil,
    "floor": arithmetic.floor,
    "round": arithmetic.round_half_even,
    "recip": arithmetic.recip,
    "sqrt": arithmetic.sqrt,
    "rsqrt": arithmetic.rsqrt,
    "relu": arithmetic.relu,
    "clamp": choosing.clamp,
}


def evaluate(
    plan: PlanKey, operands: Sequence[Array], parameters: Mapping[str, Any] | None = None, *, bounds: bool = False
) -> Answer:
    """The answer of one plan.

    ``operands`` are words in their logical extents (uint32 for f32 and i32, uint8 for bool; a scalar has shape ``()``).
    ``bounds`` adds exact values, magnitudes and term counts to summing and multiplying plans. GenericError where the
    operation reports an error, and, of kind ``invalid``, where Generic has no reference for the plan; TypeError for
    operands that are not words of the plan's dtypes.
    """
    entry = operation(plan.operation)
    if len(operands) != len(plan.operands):
        raise GenericError(f"{plan.text} takes {len(plan.operands)} operands, got {len(operands)}", "invalid")
    for key, words in zip(plan.operands, operands, strict=True):
        if not isinstance(words, np.ndarray) or words.dtype != _WORDS[key.dtype]:
            kind = f"an array of {words.dtype}" if isinstance(words, np.ndarray) else f"a {type(words).__name__}"
            raise TypeError(f"{plan.text}: an operand is {kind}; expected an array of {_WORDS[key.dtype]} words")
        if key.role is OperandRole.SCALAR and words.shape:
            raise GenericError(f"{plan.text}: a scalar operand has the shape {words.shape}; expected ()", "invalid")
    given = dict(entry.parameters)
    for name, value in (parameters or {}).items():
        if name not in given:
            raise GenericError(f"{plan.operation} has no parameter {name!r}", "invalid")
        given[name] = value
    converted = [_converted(plan, at, words) for at, words in enumerate(operands)]
    return _FAMILIES[entry.family](plan, converted, given, bounds)


def _converted(plan: PlanKey, at: int, words: Array) -> Array:
    """The operand after its declared conversion."""
    key = plan.operands[at]
    if key.convert_to is None or key.convert_to == key.dtype:
        return words
    if (key.dtype, key.convert_to) != ("i32", "f32"):
        raise _no_reference(plan)
    return round_integers(integers(words))


def _no_reference(plan: PlanKey) -> GenericError:
    return GenericError(f"{plan.text}: no exact reference exists for this plan", "invalid")


def _dtypes(plan: PlanKey) -> tuple[str, ...]:
    """The operands' dtypes after conversion."""
    return tuple(key.convert_to or key.dtype for key in plan.operands)


def _uniform(plan: PlanKey) -> str:
    """The one dtype of all operands after conversion, f32 or i32, where the plan computes in it."""
    dtypes = set(_dtypes(plan))
    computes = {"f32": ("f32", "word"), "i32": ("i32", "i32_checked", "word")}
    dtype = dtypes.pop() if len(dtypes) == 1 else ""
    if plan.compute not in computes.get(dtype, ()):
        raise _no_reference(plan)
    return dtype


def _pointwise(plan: PlanKey, operands: list[Array], parameters: Mapping[str, Any], bounds: bool) -> Answer:
    tensors = zip(plan.operands, operands, strict=True)
    shapes = {words.shape for key, words in tensors if key.role is OperandRole.TENSOR} or {()}
    if len(shapes) > 1:
        found = ", ".join(str(words.shape) for words in operands)
        raise GenericError(f"{plan.operation}: operands have the extents {found}; they must be equal", "invalid")
    shape = shapes.pop()
    flat = [(words if words.shape == shape else np.broadcast_to(words, shape)).ravel() for words in operands]
    words = _pointwise_words(plan, flat, parameters)
    return Answer(words.astype(_WORDS[plan.output], copy=False))


def _pointwise_words(plan: PlanKey, flat: list[Array], parameters: Mapping[str, Any]) -> Array:
    name, output, dtypes = plan.operation, plan.output, _dtypes(plan)
    if name == "select":
        if dtypes != ("bool", output, output) or output == "bool":
            raise _no_reference(plan)
        return choosing.select(*flat)
    if name == "cast":
        if (dtypes[0], output) not in choosing.CASTS:
            raise _no_reference(plan)
        return choosing.CASTS[dtypes[0], output](*flat)
    if name == "logical_not":
        if output != "bool" or dtypes[0] == "i32":
            raise _no_reference(plan)
        return choosing.is_zero(flat[0]) if dtypes[0] == "f32" else np.equal(flat[0], 0)
    dtype = _uniform(plan)
    if name in integer.COMPARING and output == "bool":
        return choosing.compare(name, *flat) if dtype == "f32" else integer.COMPARING[name](*map(integers, flat))
    if output != dtype:
        raise _no_reference(plan)
    if dtype == "f32":
        if name == "leaky_relu":
            return arithmetic.leaky_relu(flat[0], round_parameter(parameters["negative_slope"], "negative_slope"))
        if name in _FLOATING:
            return _FLOATING[name](*flat)
    if name in integer.CHECKED and plan.compute == "i32_checked":
        return integer.in_range(name, integer.CHECKED[name](*map(integers, flat)))
    if name in integer.CHOOSING and plan.compute == "i32":
        return integer.words_of(integer.CHOOSING[name](*map(integers, flat)))
    raise _no_reference(plan)


def _summation(plan: PlanKey, dtype: str) -> bool:
    """Whether the plan's order is normative; an error where its accumulation has no reference."""
    legal: dict[str, list[tuple[str | None, str | None]]] = {
        "i32": [("exact_integer", None)],
        "f32": [("floating", "f32"), ("floating", "f64"), ("sequential_binary32", None)],
    }
    if (plan.accumulation, plan.accumulator) not in legal[dtype] or plan.output != dtype:
        raise _no_reference(plan)
    return plan.accumulation == "sequential_binary32"


def _reduction(plan: PlanKey, operands: list[Array], parameters: Mapping[str, Any], bounds: bool) -> Answer:
    name, x = plan.operation, operands[0]
    if not x.shape:
        raise GenericError(f"{name}: the operand has no mode to work along; expected R,K", "invalid")
    dtype = _uniform(plan)
    if name in ("reduce_max", "reduce_min") and plan.output == dtype:
        return Answer(reduction.extremum(x, name == "reduce_max", dtype == "i32"))
    if name in ("argmax", "argmin") and plan.output == "i32":
        return Answer(reduction.arg(name, x, name == "argmax", dtype == "i32"))
    sequential = _summation(plan, dtype)
    if name == "reduce_sum" and not sequential:
        return reduction.reduce_sum(x, dtype == "i32", bounds)
    if name == "reduce_prod" and dtype == "f32":
        return reduction.reduce_prod(x, sequential, bounds)
    if name == "cumsum" and dtype == "f32":
        return reduction.cumsum(x, sequential, bounds)
    raise _no_reference(plan)


def _contraction(plan: PlanKey, operands: list[Array], parameters: Mapping[str, Any], bounds: bool) -> Answer:
    (lhs, rhs), dtype = operands, _uniform(plan)
    sequential = _summation(plan, dtype)
    if plan.operation == "matmul" and not sequential:
        return contraction.matmul(lhs, rhs, dtype == "i32", bounds)
    if plan.operation == "conv" and dtype == "f32":
        return contraction.conv(lhs, rhs, parameters, sequential, bounds)
    raise _no_reference(plan)


def _indexing(plan: PlanKey, operands: list[Array], parameters: Mapping[str, Any], bounds: bool) -> Answer:
    moved, numbers, *updates = _dtypes(plan)
    if numbers != "i32" or plan.output != moved or updates not in ([], [moved]):
        raise _no_reference(plan)
    if plan.operation == "scatter_add":
        if moved != "f32":
            raise _no_reference(plan)
        base, index, update = operands
        return indexing.scatter_add(base, index, update, _summation(plan, moved), bounds)
    move: Callable[..., Array] = indexing.gather if plan.operation == "gather" else indexing.scatter
    return Answer(move(*operands))


def _ordering(plan: PlanKey, operands: list[Array], parameters: Mapping[str, Any], bounds: bool) -> Answer:
    what, _, wanted = plan.operation.partition("_")
    x, dtype = operands[0], _uniform(plan)
    if not x.shape:
        raise GenericError(f"{plan.operation}: the operand has no mode to sort along; expected R,K", "invalid")
    if plan.output != ("i32" if wanted == "indices" else dtype):
        raise _no_reference(plan)
    ordered = (ordering.sort_order if what == "sort" else ordering.topk_order)(x, dtype == "i32", parameters)
    if wanted == "indices":
        return Answer(ordered.ravel().astype(np.uint32))
    return Answer(np.take_along_axis(x, ordered, axis=-1).ravel())


def _transcendental(plan: PlanKey, operands: list[Array], parameters: Mapping[str, Any], bounds: bool) -> Answer:
    raise _no_reference(plan)


_FAMILIES: dict[str, Callable[[PlanKey, list[Array], Mapping[str, Any], bool], Answer]] = {
    "pointwise": _pointwise,
    "predicate": _pointwise,
    "transcendental": _transcendental,
    "reduction": _reduction,
    "scan": _reduction,
    "contraction": _contraction,
    "indexing": _indexing,
    "ordering": _ordering,
}
