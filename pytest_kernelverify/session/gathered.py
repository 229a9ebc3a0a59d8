"""The records of one run as they come in from one or more processes."""

from __future__ import annotations

from typing import Any

from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage, Outcome
from pytest_kernelverify.report.assemble import selection_closure
from pytest_kernelverify.stages.lost import lost_evidence
from pytest_kernelverify.stages.run import Run

__all__ = ["Gathered"]

DEAD = "the process died while this item ran"
DEAD_PROOF = "the process died while an item that needs this proof ran"

Key = tuple[Any, ...]


class Gathered:
    """Records by what they are about. Two that differ are a disagreement; that a process died outweighs both."""

    def __init__(self) -> None:
        self.records: dict[Key, EvidenceRecord] = {}
        self.selected: dict[Obligation, None] = {}
        self._lost: dict[Obligation, None] = {}
        self._dead: set[Key] = set()

    def add(self, record: EvidenceRecord) -> bool:
        """Whether the record is new; ValueError where another process said something else."""
        known = self.records.setdefault(record.sort_key, record)
        if known is not record and known.digest != record.digest and record.sort_key not in self._dead:
            raise ValueError(f"two processes disagree about {record.stage.value} {record.case.case_id}")
        return known is record

    def lose(self, run: Run, obligation: Obligation, reason: str = DEAD) -> tuple[EvidenceRecord, ...]:
        """Put an error record in the place of each case of an item whose process died."""
        self._lost[obligation] = None
        return self._replace(lost_evidence(run, obligation, reason))

    def settle(self, run: Run) -> tuple[EvidenceRecord, ...]:
        """After a process died: errors for the proofs that went with it, and nothing that rests on them passes."""
        if not self._lost:
            return ()
        there = {record.requirement for record in self.records.values()}
        settled: list[EvidenceRecord] = []
        for owed in selection_closure(run, self.selected):
            if any(requirement.id not in there for requirement in run.requirements([owed])):
                settled += self.lose(run, owed, DEAD_PROOF)
        for owed in self.selected:
            reason = self._blocked_by(run, owed) if owed not in self._lost else None
            if reason is not None:
                settled += self._replace(lost_evidence(run, owed, reason, Outcome.BLOCKED))
        return tuple(settled)

    def _blocked_by(self, run: Run, obligation: Obligation) -> str | None:
        """Why an item cannot stand: the first certificate it lacks went with a process that died."""
        lost = {owed.plan: owed for owed in self._lost if owed.stage is EvidenceStage.ORACLE}
        for plan in dict.fromkeys(needed.plan for needed in run.needed(obligation) if needed.plan is not None):
            if plan in lost:
                what = lost[plan].verification_class.value
                return f"no certificate for {plan.text}: the process died while its {what} cases ran"
            if not run.certificates([plan], self.records.values()):
                return None
        return None

    def _replace(self, records: tuple[EvidenceRecord, ...]) -> tuple[EvidenceRecord, ...]:
        for record in records:
            self._dead.add(record.sort_key)
            self.records[record.sort_key] = record
        return records
