"""Summary: what a report says in numbers, and whether its gate passed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pytest_kernelverify.evidence.case_facts import STAGE_ORDER
from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage, Outcome
from pytest_kernelverify.report.header import Header

__all__ = ["Summary", "summarize"]

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Counts of records by stage, class, outcome and operation; ``deferred`` counts them by reason.

    ``self_comparisons`` and ``accepted`` (by arithmetic fact) are counted apart: they are weaker evidence.
    ``gate_passed``: in each required stage something ran, and nothing failed, erred or was blocked. Both stages are
    required of a complete report, of a view those it holds obligations of.
    """

    records: int
    by_stage: Counts
    by_class: Counts
    by_outcome: Counts
    by_operation: Counts
    deferred: Counts
    accepted: Counts
    self_comparisons: int
    certificates: int
    ran: int
    required_stages: tuple[str, ...]
    gate_passed: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "accepted": dict(self.accepted),
            "by_class": dict(self.by_class),
            "by_operation": dict(self.by_operation),
            "by_outcome": dict(self.by_outcome),
            "by_stage": dict(self.by_stage),
            "certificates": self.certificates,
            "deferred": dict(self.deferred),
            "gate_passed": self.gate_passed,
            "ran": self.ran,
            "records": self.records,
            "required_stages": list(self.required_stages),
            "self_comparisons": self.self_comparisons,
        }


def summarize(header: Header, records: Sequence[EvidenceRecord]) -> Summary:
    """The summary of a report's records."""
    owed = {found.stage for found in header.requirements.values() if not found.deferred}
    required = {EvidenceStage.ORACLE, EvidenceStage.TARGET} if header.complete else owed
    ran = [record for record in records if record.outcome in (Outcome.PASSED, Outcome.FAILED, Outcome.ERROR)]
    bad = any(record.outcome in (Outcome.FAILED, Outcome.ERROR, Outcome.BLOCKED) for record in records)
    accepted: Counter[str] = Counter()
    for record in records:
        accepted.update(record.accepted)
    return Summary(
        records=len(records),
        by_stage=_counted(record.stage.value for record in records),
        by_class=_counted(record.verification_class for record in records),
        by_outcome=_counted(record.outcome.value for record in records),
        by_operation=_counted(record.case.kernel.operation for record in records),
        deferred=_counted(str(record.diagnostic) for record in records if record.outcome is Outcome.DEFERRED),
        accepted=MappingProxyType(dict(sorted(accepted.items()))),
        self_comparisons=sum(record.self_comparison for record in records),
        certificates=len(header.certificates),
        ran=len(ran),
        required_stages=tuple(stage.value for stage in sorted(required, key=STAGE_ORDER.__getitem__)),
        gate_passed=bool(ran) and not bad and required <= {record.stage for record in ran},
    )


def _counted(values: Iterable[str]) -> Counts:
    return MappingProxyType(dict(sorted(Counter(values).items())))
