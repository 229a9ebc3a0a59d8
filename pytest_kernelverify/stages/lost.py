"""Evidence for an obligation that left none: its process died, or what it rests on did. Nothing is run."""

from __future__ import annotations

from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage, Outcome
from pytest_kernelverify.stages.recording import cases_of, make_record, not_run, requirements_of
from pytest_kernelverify.stages.run import Run

__all__ = ["lost_evidence"]


def lost_evidence(
    run: Run, obligation: Obligation, reason: str, outcome: Outcome = Outcome.ERROR
) -> tuple[EvidenceRecord, ...]:
    """One record with this outcome and ``reason`` for each case of the obligation; declared limits stay deferred."""
    profile = run.oracle if obligation.stage is EvidenceStage.ORACLE else run.target
    cases = cases_of(obligation, profile, run.seed)
    requirements = requirements_of(obligation, cases)
    return tuple(
        make_record(
            obligation,
            case,
            not_run(case, outcome if case.deferred is None else Outcome.DEFERRED, reason),
            run=None,
            requirement=requirements[case.case_id].id,
            receipt=None,
            oracle_reference=run.oracle_reference.id,
        )
        for case in cases
    )
