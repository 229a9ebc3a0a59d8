"""CaseFacts: the case as a record keeps it; and the stages and outcomes a record knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from pytest_kernelverify.evidence.canonical import exact_fields, strings, typed
from pytest_kernelverify.evidence.receipt import kernel_from_json, kernel_to_json
from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.operations.plan import LogicalKernel

__all__ = ["STAGE_CLASSES", "STAGE_ORDER", "CaseFacts", "EvidenceStage", "Mismatch", "Outcome"]


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


_SIX = ("bit_exact", "exact_arithmetic", "structural", "analytic", "numerical", "deferred")
STAGE_CLASSES: Mapping[EvidenceStage, tuple[str, ...]] = MappingProxyType(
    {
        EvidenceStage.ORACLE: _SIX,
        EvidenceStage.TARGET: _SIX,
        EvidenceStage.LADDER: ("leaf", "route", "stitched", "replay"),
        EvidenceStage.PROOF: ("projection", "gap"),
    }
)
STAGE_ORDER = {stage: number for number, stage in enumerate(EvidenceStage)}
_CASE_FIELDS = (
    "accumulator",
    "contraction_length",
    "id",
    "kernel",
    "layouts",
    "operand_dtypes",
    "output_dtype",
    "output_layout",
    "parameters",
    "plan",
    "seed",
    "subject",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFacts:
    """The case as a record keeps it: effective shapes and layouts, dtypes, plan, seed.

    In JSON a compact layout is the list of its extents, any other one the object ``Layout.to_json`` gives.
    """

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

    def to_json(self) -> dict[str, Any]:
        return {
            "accumulator": self.accumulator,
            "contraction_length": self.contraction_length,
            "id": self.case_id,
            "kernel": kernel_to_json(self.kernel),
            "layouts": [_layout_to_json(layout) for layout in self.layouts],
            "operand_dtypes": list(self.operand_dtypes),
            "output_dtype": self.output_dtype,
            "output_layout": _layout_to_json(self.output_layout),
            "parameters": dict(self.parameters),
            "plan": self.plan,
            "seed": self.seed,
            "subject": self.subject,
        }

    @classmethod
    def from_json(cls, value: Any) -> CaseFacts:
        """ValueError for a missing, unknown or ill-typed field."""
        exact_fields(value, _CASE_FIELDS, "case")
        return cls(
            case_id=typed(value, "id", str),
            kernel=kernel_from_json(value["kernel"]),
            plan=typed(value, "plan", str, None),
            subject=typed(value, "subject", str, None),
            operand_dtypes=strings(value, "operand_dtypes"),
            output_dtype=typed(value, "output_dtype", str),
            layouts=tuple(_layout_from_json(layout) for layout in typed(value, "layouts", list)),
            output_layout=_layout_from_json(value["output_layout"]),
            accumulator=typed(value, "accumulator", str, None),
            contraction_length=typed(value, "contraction_length", int),
            parameters=MappingProxyType(typed(value, "parameters", dict)),
            seed=typed(value, "seed", int),
        )


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first mismatching element: its logical coordinate and both words."""

    coordinate: tuple[int, ...]
    expected: int
    actual: int

    def to_json(self) -> dict[str, Any]:
        return {"actual": self.actual, "coordinate": list(self.coordinate), "expected": self.expected}

    @classmethod
    def from_json(cls, value: Any) -> Mismatch:
        exact_fields(value, ("actual", "coordinate", "expected"), "first_mismatch")
        coordinate = typed(value, "coordinate", list)
        if any(type(part) is not int for part in coordinate):
            raise ValueError("first_mismatch coordinate must hold integers")
        return cls(tuple(coordinate), typed(value, "expected", int), typed(value, "actual", int))


def _layout_to_json(layout: Layout) -> Any:
    return list(layout.shape) if _is_compact(layout) else layout.to_json()


def _layout_from_json(value: Any) -> Layout:
    if not isinstance(value, list):
        return Layout.from_json(value)
    if any(type(extent) is not int for extent in value):
        raise ValueError(f"compact layout {value!r} must be a list of extents")
    return _compact(tuple(value))


@lru_cache(4096)
def _is_compact(layout: Layout) -> bool:
    return layout == Layout.compact(layout.extents)


@lru_cache(4096)
def _compact(extents: tuple[int, ...]) -> Layout:
    return Layout.compact(extents)
