"""Case: one fully determined run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy.typing as npt

from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.operations.plan import PlanKey, VerificationClass

__all__ = ["Case", "Operand"]

Words = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """One operand: its words in logical order (read-only, 1-D; uint32 for f32 and i32, uint8 for bool) and its layout.

    Where a stride is 0, logical elements that share an offset hold the same word.
    """

    words: Words
    dtype: str
    layout: Layout

    @property
    def extents(self) -> tuple[int, ...]:
        return self.layout.extents


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """One fully determined run: plan, class, geometry, payloads and policy.

    ``name`` tells cases of one plan and class apart; ``case_id`` is unique in the catalog and the same in both stages.
    ``size``, ``layout`` and ``values`` are the ladder rungs this case covers. ``expected`` holds the words of an
    analytic case. ``error`` names the error kind both sides must report. ``alias`` is the operand whose memory is the
    output's. ``deferred`` says why the case is not run on this profile.
    """

    plan: PlanKey | None
    subject: str | None
    operation: str
    verification_class: VerificationClass
    name: str
    operands: tuple[Operand, ...]
    output_dtype: str
    output_layout: Layout
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    seed: int = 0
    contraction_length: int = 0
    size: int = 0
    layout: str = "compact"
    values: str = ""
    expected: Words | None = None
    error: str | None = None
    alias: int | None = None
    oracle_only: bool = False
    deferred: str | None = None

    @property
    def case_id(self) -> str:
        head = self.plan.token if self.plan is not None else f"{self.subject}"
        return f"{head}-{self.verification_class.value}-{self.name}"
