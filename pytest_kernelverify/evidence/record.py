"""EvidenceRecord: everything one case left behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

from pytest_kernelverify.numerics.comparison import Deviations, Tolerance
from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.operations.plan import LogicalKernel

__all__ = ["CaseFacts", "EvidenceRecord", "EvidenceStage", "Mismatch", "Outcome"]


class EvidenceStage(Enum):
    """Where a record comes from; records are sorted in this order."""

    ORACLE = "oracle"
    TARGET = "target"
    LADDER = "ladder"
    PROOF = "proof"


class Outcome(Enum):
    """What became of a case."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    BLOCKED = "blocked"
    DEFERRED = "deferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFacts:
    """The case as a record keeps it: effective shapes and layouts, dtypes, plan, seed."""

    case_id: str
    kernel: LogicalKernel
    plan: str | None
    subject: str | None
    operand_dtypes: tuple[str, ...]
    output_dtype: str
    layouts: tuple[Layout, ...]
    output_layout: Layout
    accumulator: str | None
    contraction_length: int
    parameters: Mapping[str, Any]
    seed: int


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first mismatching element: its logical coordinate and both words."""

    coordinate: tuple[int, ...]
    expected: int
    actual: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRecord:
    """One case in one stage. References (policy, requirement, receipt, ...) resolve in the report's header.

    ``bound`` is the error bound at the element with the worst |error|/bound, ``worst_ratio`` that ratio; both are None
    where words are compared. ``accepted`` counts results a looser declared fact allowed. ``detail`` is kept only for a
    failure. Unequal input hashes are a ValueError: target and oracle read one payload.
    """

    stage: EvidenceStage
    verification_class: str
    case: CaseFacts
    target_input_hashes: tuple[str, ...]
    oracle_input_hashes: tuple[str, ...]
    output_hash: str | None
    policy: str
    tolerance: Tolerance
    bound: float | None
    worst_ratio: float | None
    deviations: Deviations
    mismatches: int | None
    signed_zero_mismatches: int | None
    nan_payload_mismatches: int | None
    first_mismatch: Mismatch | None
    outcome: Outcome
    diagnostic: str | None
    requirement: str
    receipt: str | None
    oracle_reference: str
    certificates: tuple[str, ...] = ()
    authority: str = "generic"
    self_comparison: bool = False
    accepted: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    isolation: str = "in_process"
    order: str | None = None
    detail: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.target_input_hashes != self.oracle_input_hashes:
            raise ValueError(
                f"record {self.case.case_id}: target and oracle input hashes differ; both must read one payload"
            )
