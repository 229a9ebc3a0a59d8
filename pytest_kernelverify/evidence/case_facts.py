"""CaseFacts: the case as a record keeps it; and the stages and outcomes a record knows."""

from __future__ import annotations

import json
import re
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

__all__ = ["STAGE_CLASSES", "STAGE_ORDER", "CaseFacts", "EvidenceStage", "Mismatch", "Outcome", "layout_text"]


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
    "dtypes",
    "id",
    "kernel",
    "layouts",
    "parameters",
    "plan",
    "seed",
    "subject",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFacts:
    """The case as a record keeps it: effective shapes and layouts, dtypes, plan, seed.

    In JSON ``dtypes`` and ``layouts`` list the operands' and last the output's; a layout is a text, ``layout_text``.
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
            "dtypes": [*self.operand_dtypes, self.output_dtype],
            "id": self.case_id,
            "kernel": kernel_to_json(self.kernel),
            "layouts": [layout_text(layout) for layout in (*self.layouts, self.output_layout)],
            "parameters": dict(self.parameters),
            "plan": self.plan,
            "seed": self.seed,
            "subject": self.subject,
        }

    @classmethod
    def from_json(cls, value: Any) -> CaseFacts:
        """ValueError for a missing, unknown or ill-typed field."""
        exact_fields(value, _CASE_FIELDS, "case")
        *dtypes, output_dtype = strings(value, "dtypes") or ("",)
        *layouts, output_layout = map(layout_from_text, strings(value, "layouts") or ("",))
        return cls(
            case_id=typed(value, "id", str),
            kernel=kernel_from_json(value["kernel"]),
            plan=typed(value, "plan", str, None),
            subject=typed(value, "subject", str, None),
            operand_dtypes=tuple(dtypes),
            output_dtype=output_dtype,
            layouts=tuple(layouts),
            output_layout=output_layout,
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


@lru_cache(4096)
def layout_text(layout: Layout) -> str:
    """``shape:stride+offset``, as in ``(2,(2,2)):(7,(3,1))+1``.

    A zero offset is left out, and the stride of a layout that is row-major without gaps.
    """
    text = _nested_text(layout.shape)
    if layout != Layout.compact(layout.extents):
        text += f":{_nested_text(layout.stride)}"
        text += f"+{layout.offset}" if layout.offset else ""
    return text


@lru_cache(4096)
def layout_from_text(text: str) -> Layout:
    """The layout of a text; ValueError for anything else, another spelling of the same layout included."""
    match = _LAYOUT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a layout; expected e.g. (2,3) or (2,(2,2)):(7,(3,1))+1")
    shape = _nested(match["shape"])
    offset = int(match["offset"] or 0)
    layout = Layout(shape, _nested(match["stride"]), offset) if match["stride"] else Layout.compact(shape)
    if layout_text(layout) != text:
        raise ValueError(f"{text!r} is not how the layout is written; expected {layout_text(layout)!r}")
    return layout


_LAYOUT = re.compile(r"(?P<shape>\([0-9(),]*\))(?::(?P<stride>\([0-9(),]*\))(?:\+(?P<offset>[0-9]+))?)?")


def _nested_text(value: Any) -> str:
    return f"({','.join(map(_nested_text, value))})" if isinstance(value, tuple) else str(value)


def _nested(text: str) -> Any:
    def tuples(value: Any) -> Any:
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    return tuples(json.loads(text.replace("(", "[").replace(")", "]")))
