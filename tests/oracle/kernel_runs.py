"""Runs a kernel of the CPU carrier inside guarded parents and checks what every kernel owes: inputs and guards kept."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import binary32
import numpy as np

from pytest_kernelverify.carriers.base import KernelError, View
from pytest_kernelverify.carriers.cpu import CpuCarrier
from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.operations.plan import LogicalKernel, PlanKey
from pytest_kernelverify.operations.table import output_extents

WORDS = {"f32": np.uint32, "i32": np.uint32, "bool": np.uint8}
POISON = {"f32": 0x7FC0BEEF, "i32": 0x5A5A5A5A, "bool": 0xA5}
GUARD = 5


@dataclass(frozen=True, slots=True)
class Given:
    """One operand: dtype, layout (or extents) and its words in logical order."""

    dtype: str
    where: Layout | tuple[int, ...]
    words: Sequence[int]

    @property
    def layout(self) -> Layout:
        return self.where if isinstance(self.where, Layout) else Layout.compact(self.where)


def f32(words: Sequence[int], where: Layout | tuple[int, ...] | None = None) -> Given:
    return Given("f32", (len(words),) if where is None else where, words)


def i32(numbers: Sequence[int], where: Layout | tuple[int, ...] | None = None) -> Given:
    return Given("i32", (len(numbers),) if where is None else where, binary32.int_words(*numbers))


def truth(words: Sequence[int], where: Layout | tuple[int, ...] | None = None) -> Given:
    return Given("bool", (len(words),) if where is None else where, words)


def kernel_of(operation: str) -> LogicalKernel:
    return LogicalKernel("cpu-compiled", operation, f"cpu.{operation}", "scalar")


def parent_of(dtype: str, layout: Layout, words: Sequence[int] | None) -> tuple[Any, Layout]:
    """A poisoned parent with guards on both sides, holding the words if given, and the layout inside it."""
    inside = Layout(layout.shape, layout.stride, layout.offset + GUARD)
    parent = np.full(inside.span + GUARD, POISON[dtype], dtype=WORDS[dtype])
    if words is not None:
        parent[inside.offsets()] = np.array(words, dtype=WORDS[dtype])
    return parent, inside


def run(
    carrier: CpuCarrier,
    plan: str | None,
    *operands: Given,
    output: Layout | tuple[int, ...] | None = None,
    output_dtype: str | None = None,
    **parameters: Any,
) -> list[int]:
    """The output's words in logical order. ``plan`` None is the copy kernel.

    AssertionError where an input, a gap or a guard changed, or where a failing kernel wrote to its output.
    """
    key = PlanKey.from_text(plan) if plan is not None else None
    operation = key.operation if key else "copy"
    if output is None:
        output = (
            output_extents(operation, tuple(g.layout.extents for g in operands), parameters)
            if key
            else (operands[0].layout.extents)
        )
    layout = output if isinstance(output, Layout) else Layout.compact(output)
    dtype = output_dtype or (key.output if key else operands[0].dtype)
    placed = [parent_of(given.dtype, given.layout, given.words) for given in operands]
    before = [parent.copy() for parent, _ in placed]
    target, inside = parent_of(dtype, layout, None)
    views = [View(parent, given.dtype, where) for (parent, where), given in zip(placed, operands, strict=True)]
    try:
        carrier.launch(kernel_of(operation), key, views, View(target, dtype, inside), parameters)
    except KernelError:
        assert (target == POISON[dtype]).all(), f"{operation} failed and wrote to its output"
        raise
    for (parent, _), words in zip(placed, before, strict=True):
        assert (parent == words).all(), f"{operation} changed an input"
    owned = np.zeros(target.shape, dtype=bool)
    owned[inside.offsets()] = True
    assert (target[~owned] == POISON[dtype]).all(), f"{operation} wrote outside its output"
    return [int(word) for word in target[inside.offsets()]]


def spread(extents: tuple[int, ...], kind: str) -> Layout:
    """The same extents under another addressing."""
    compact = Layout.compact(extents)
    if kind == "compact" or not extents:
        return compact
    if kind == "offset":
        return Layout(compact.shape, compact.stride, 3)
    if kind == "pitched":
        strides, step = [], 2
        for extent in reversed(extents):
            strides.append(step)
            step = step * max(extent, 1) + 3
        return Layout(extents, tuple(reversed(strides)), 1)
    if kind == "transposed":
        strides = tuple(prod(extents[:axis]) for axis in range(len(extents)))
        return Layout(extents, strides)
    if kind == "hierarchical":  # inside each even mode the two halves lie apart, the second far away
        far = 2 * prod(extents) + 7
        shape: list[Any] = []
        stride: list[Any] = []
        for extent, step in zip(extents, compact.stride, strict=True):
            if extent % 2 == 0 and extent > 0:
                shape.append((2, extent // 2))
                stride.append((far, step))
                far *= 2
            else:
                shape.append(extent)
                stride.append(step)
        return Layout(tuple(shape), tuple(stride))
    raise ValueError(kind)


def sample(plan: PlanKey, extent: int, seed: int) -> tuple[list[Given], dict[str, Any]]:
    """Operands and parameters on which this plan succeeds; ``extent`` is the size of the modes that may vary."""
    rng = random.Random(seed)
    operation = plan.operation

    def words(dtype: str, count: int) -> list[int]:
        if dtype == "f32":
            return [binary32.nearest(rng.randint(-64, 64) / binary32.Fraction(4)) for _ in range(count)]
        if dtype == "i32":
            return binary32.int_words(*(rng.randint(-9, 9) for _ in range(count)))
        return [rng.randint(0, 1) for _ in range(count)]

    def given(index: int, extents: tuple[int, ...]) -> Given:
        operand = plan.operands[index]
        extents = () if operand.role.value == "scalar" else extents
        return Given(operand.dtype, extents, words(operand.dtype, prod(extents)))

    if operation == "conv":
        parameters = {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}
        return [given(0, (2, 4, extent + 2, 5)), given(1, (4, 2, 2, 3))], parameters
    if operation == "matmul":
        return [given(0, (2, 3, extent)), given(1, (2, extent, 4))], {}
    if operation in ("gather", "scatter", "scatter_add"):
        index = Given("i32", (extent,), [rng.randrange(6) for _ in range(extent)])
        rest = [given(2, (extent, 3))] if len(plan.operands) == 3 else []
        return [given(0, (6, 3)), index, *rest], {}
    if operation in ("argmax", "argmin", "cumsum") or operation.startswith(("reduce_", "sort_", "topk_")):
        parameters = {"k": min(extent, 3)} if operation.startswith("topk_") else {}
        return [given(0, (4, extent))], parameters
    operands = [given(index, (3, extent)) for index in range(len(plan.operands))]
    if operation == "clamp":
        operands[1] = _shifted(operands[1], -40)
        operands[2] = _shifted(operands[2], 40)
    if operation == "pow" and plan.output == "i32":
        operands[1] = Given("i32", operands[1].where, [abs(binary32.signed(word)) for word in operands[1].words])
    return operands, {}


def _shifted(given: Given, by: int) -> Given:
    if given.dtype == "i32":
        return Given("i32", given.where, binary32.int_words(*(binary32.signed(word) + by for word in given.words)))
    return Given("f32", given.where, [binary32.nearest(binary32.value(word) + by) for word in given.words])
