"""What the items of a run came to, for the summary; counted from their reports as they arrive."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.evidence.record import EvidenceStage, Outcome
from pytest_kernelverify.operations.plan import LogicalKernel

__all__ = ["Row", "Tally"]


@dataclass(slots=True)
class Row:
    """One operation of one variant: how many items of each stage had which outcome."""

    operation: str
    variant: str
    counts: dict[EvidenceStage, Counter[Outcome]]

    def cell(self, stage: EvidenceStage) -> str:
        counts = self.counts.get(stage, Counter())
        return ", ".join(f"{counts[outcome]} {outcome.value}" for outcome in Outcome if counts[outcome]) or "-"


@dataclass(slots=True)
class Tally:
    """Outcomes by item; an item that runs twice counts once, as it ended."""

    _outcomes: dict[str, tuple[Obligation, Outcome, str]] = field(default_factory=dict)

    def add(self, nodeid: str, obligation: Obligation, outcome: Outcome, line: str) -> None:
        self._outcomes[nodeid] = obligation, outcome, line

    def __len__(self) -> int:
        return len(self._outcomes)

    def count(self, outcome: Outcome) -> int:
        return sum(found is outcome for _, found, _ in self._outcomes.values())

    def lines(self, *outcomes: Outcome) -> list[tuple[Obligation, str]]:
        """Items with these outcomes, in an order that does not depend on who ran first."""
        found = [(o, line) for o, outcome, line in self._outcomes.values() if outcome in outcomes]
        return sorted(found, key=lambda pair: (pair[0].stage.value, pair[0].token))

    def rows(self) -> list[Row]:
        """One row per operation and variant; Stage One and the target's kernel of one operation share a row."""
        rows: dict[tuple[str, str], Row] = {}
        for obligation, outcome, _ in self._outcomes.values():
            kernel: LogicalKernel = obligation.kernel
            key = kernel.operation, kernel.variant
            row = rows.setdefault(key, Row(*key, {}))
            row.counts.setdefault(obligation.stage, Counter())[outcome] += 1
        return [row for _, row in sorted(rows.items())]
