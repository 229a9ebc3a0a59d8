"""From a run and what was selected of it to a report: what a selection rests on comes along, once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage
from pytest_kernelverify.report.bind import bind_report
from pytest_kernelverify.report.report import VerificationReport
from pytest_kernelverify.stages.run import Run

__all__ = ["assemble", "selection_closure"]


def selection_closure(run: Run, selected: Iterable[Obligation]) -> tuple[Obligation, ...]:
    """The selected obligations and the Stage One obligations that selected target ones rest on, in the run's order."""
    chosen = set(selected)
    chosen.update(owed for obligation in tuple(chosen) for owed in run.needed(obligation))
    return tuple(obligation for obligation in run.obligations() if obligation in chosen)


def assemble(
    run: Run, selected: Sequence[Obligation], records: Iterable[EvidenceRecord] | None = None
) -> VerificationReport:
    """The report of a selection; ``records`` are those other processes made, else the run's own.

    A certificate is in the report where the whole of its evidence is.
    """
    owed = selection_closure(run, selected)
    if records is None:
        records = [record for obligation in owed for record in run.evidence(obligation)]
    records = tuple(records)
    receipts = {
        (obligation.stage, obligation.kernel): run.receipt(obligation.stage, obligation.kernel) for obligation in owed
    }
    plans = dict.fromkeys(
        obligation.plan if obligation.plan is not None else str(obligation.subject)
        for obligation in owed
        if obligation.stage is EvidenceStage.ORACLE
    )
    return bind_report(
        target=run.target,
        oracle=run.oracle,
        seed=run.seed,
        complete=len(owed) == len(run.obligations()),
        records=records,
        certificates=run.certificates(plans, records),
        receipts=receipts.values(),
        requirements=run.requirements(owed),
        oracle_reference=run.oracle_reference,
    )
