"""Cases of an obligation, and from a judged case to its record and requirement: one place for both stages."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.cases.catalog import cases_for
from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.catalog.profile import VerificationProfile
from pytest_kernelverify.evidence.policy import policy_name
from pytest_kernelverify.evidence.record import CaseFacts, EvidenceRecord, EvidenceStage, Outcome
from pytest_kernelverify.evidence.requirement import Requirement, cases_digest
from pytest_kernelverify.numerics.comparison import Tolerance
from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.numerics.payloads import word_hash
from pytest_kernelverify.operations.plan import VerificationClass
from pytest_kernelverify.running.run_case import CaseRun
from pytest_kernelverify.stages.judge import Judgement, canonical_nans

__all__ = ["cases_of", "deferred_case", "make_record", "not_run", "requirements_of"]


def cases_of(obligation: Obligation, profile: VerificationProfile, seed: int) -> tuple[Case, ...]:
    """The cases of an obligation in its stage; a deferred plan has the one case that says why.

    An active obligation without a case, or with two of one id, is a ValueError: it would pass without evidence.
    """
    if obligation.verification_class is VerificationClass.DEFERRED:
        return (deferred_case(obligation, "plan", str(obligation.reason)),)
    cases = cases_for(obligation.plan, obligation.subject, obligation.verification_class, profile=profile, seed=seed)
    if obligation.stage is not EvidenceStage.ORACLE:
        cases = tuple(case for case in cases if not case.oracle_only)
    if not cases or len({case.case_id for case in cases}) != len(cases):
        raise ValueError(f"the catalog gives {obligation.token} {len(cases)} case(s); expected at least one, each once")
    return cases


def deferred_case(obligation: Obligation, name: str, reason: str) -> Case:
    """The one case that stands for a plan, or for a class of it, which nothing runs."""
    assert obligation.plan is not None
    return Case(
        plan=obligation.plan,
        subject=None,
        operation=obligation.plan.operation,
        verification_class=obligation.verification_class,
        name=name,
        operands=(),
        output_dtype=obligation.plan.output,
        output_layout=Layout((), ()),
        deferred=reason,
    )


def requirements_of(obligation: Obligation, cases: Sequence[Case]) -> dict[str, Requirement]:
    """For each case id the requirement it belongs to.

    The obligation's own cases share one; each declared limit, and a deferred plan, has one of its own.
    """
    run = [case for case in cases if case.deferred is None]
    own = _requirement(obligation, obligation.verification_class, obligation.reason, run)
    found = {case.case_id: own for case in run}
    for case in cases:
        if case.deferred is not None:
            found[case.case_id] = _requirement(obligation, VerificationClass.DEFERRED, case.deferred, [case])
    return found


def _requirement(
    obligation: Obligation, verification_class: VerificationClass, reason: str | None, cases: Sequence[Case]
) -> Requirement:
    return Requirement(
        stage=obligation.stage,
        kernel=obligation.kernel,
        plan=obligation.plan.text if obligation.plan is not None else None,
        subject=obligation.subject,
        verification_class=verification_class.value,
        reason=reason,
        case_count=len(cases),
        cases_digest=cases_digest(case.case_id for case in cases),
    )


def make_record(
    obligation: Obligation,
    case: Case,
    judgement: Judgement,
    *,
    run: CaseRun | None,
    requirement: str,
    receipt: str | None,
    oracle_reference: str,
    certificates: tuple[str, ...] = (),
    authority: str = "generic",
    self_comparison: bool = False,
) -> EvidenceRecord:
    """The evidence of one case; references are the short ids that resolve in the report's header."""
    hashes = tuple(word_hash(operand.words) for operand in case.operands)
    deferred = judgement.outcome is Outcome.DEFERRED
    verification_class = VerificationClass.DEFERRED if deferred else case.verification_class
    comparison = judgement.comparison
    return EvidenceRecord(
        stage=obligation.stage,
        verification_class=verification_class.value,
        case=_facts(obligation, case),
        target_input_hashes=hashes,
        oracle_input_hashes=hashes,
        output_hash=_output_hash(case, run) if comparison is not None else None,
        policy=policy_name(obligation.stage, case.plan, verification_class, error=case.error is not None),
        tolerance=Tolerance(absolute=judgement.bound or judgement.largest_bound or 0.0),
        bound=judgement.bound,
        worst_ratio=judgement.worst_ratio,
        deviations=judgement.deviations,
        mismatches=comparison.mismatches if comparison is not None else None,
        signed_zero_mismatches=comparison.signed_zero_mismatches if comparison is not None else None,
        nan_payload_mismatches=comparison.nan_payload_mismatches if comparison is not None else None,
        first_mismatch=judgement.first_mismatch,
        outcome=judgement.outcome,
        diagnostic=judgement.diagnostic,
        requirement=requirement,
        receipt=None if judgement.outcome in (Outcome.BLOCKED, Outcome.DEFERRED) else receipt,
        oracle_reference=oracle_reference,
        certificates=certificates,
        authority=authority,
        self_comparison=self_comparison,
        accepted=judgement.accepted,
        detail=judgement.detail,
    )


def _output_hash(case: Case, run: CaseRun | None) -> str | None:
    if run is None or run.words is None:
        return None
    moved = case.plan is None or case.verification_class is VerificationClass.BIT_EXACT
    return word_hash(run.words if moved else canonical_nans(run.words, case.output_dtype))


def not_run(case: Case, outcome: Outcome, reason: str) -> Judgement:
    """The judgement of a case that was blocked, lost or deferred; a deferred case stays so and keeps its own reason."""
    if case.deferred is not None:
        return Judgement(outcome=Outcome.DEFERRED, diagnostic=case.deferred)
    return Judgement(outcome=outcome, diagnostic=reason)


def _facts(obligation: Obligation, case: Case) -> CaseFacts:
    plan = case.plan
    return CaseFacts(
        case_id=case.case_id,
        kernel=obligation.kernel,
        plan=plan.text if plan is not None else None,
        subject=case.subject,
        operand_dtypes=(
            tuple(operand.dtype for operand in case.operands)
            if case.operands or plan is None
            else tuple(operand.dtype for operand in plan.operands)
        ),
        output_dtype=case.output_dtype,
        layouts=tuple(operand.layout for operand in case.operands),
        output_layout=case.output_layout,
        accumulator=plan.accumulator if plan is not None else None,
        contraction_length=case.contraction_length,
        parameters=case.parameters,
        seed=case.seed,
    )
