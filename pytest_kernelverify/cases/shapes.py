"""The extents of a summing or multiplying plan whose result has a given number of terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

from pytest_kernelverify.cases.geometry import Extents, conv_shape, row_count
from pytest_kernelverify.operations.table import output_extents

__all__ = ["Shape", "shape_of"]


@dataclass(frozen=True, slots=True)
class Shape:
    """Operand and output extents, parameters and the number of terms of a contraction."""

    operands: tuple[Extents, ...]
    output: Extents
    parameters: Mapping[str, int]
    terms: int

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(map(prod, self.operands))


def shape_of(
    operation: str, size: int, layout: str, turn: int, *, batch: int | None = None, rows: int | None = None
) -> Shape:
    """``size`` terms; ``batch`` fixes the leading extent, ``rows`` how many independent sums an operand holds."""
    parameters: dict[str, int] = {}
    operands: tuple[Extents, ...]
    if operation == "matmul":
        long = size >= 500
        lead = ((2,), (3,), (1, 2), (1,))[turn % 4] if not long else (1 + turn % 2,)
        if batch or rows:
            lead = (batch or 2,)
        m = rows or ((3, 2, 5, 7, 4, 1, 6)[turn % 7] if not long else 2 + turn % 2)
        n = 3 if rows else (2, 4, 3, 5, 1, 7)[turn % 6] if not long else 3 - turn % 2
        if layout == "hierarchical":
            m = 4
        operands = ((*lead, m, size), (*lead, size, n))
    elif operation == "conv":
        source, weight, parameters = conv_shape(size, turn, batch)
        operands = (source, weight)
    elif operation == "scatter_add":
        height, width = (3, 4, 5, 2)[turn % 4], batch or rows or (2, 3, 5, 4)[turn // 4 % 4]
        if layout == "hierarchical":
            width = 4
        operands = ((height, width), (size,), (size, width))
    else:
        operands = ((batch or rows or row_count(size, layout, turn), size),)
    output = output_extents(operation, operands, parameters)
    return Shape(operands, output, MappingProxyType(parameters), size)
