"""Stage Two: a target's kernels, only behind the oracle's certificates."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pytest_kernelverify.carriers.base import Carrier
from pytest_kernelverify.carriers.opening import open_carrier
from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.catalog.classify import Obligation, obligations
from pytest_kernelverify.catalog.load import verification_profile
from pytest_kernelverify.catalog.profile import ORACLE_PROFILE, VerificationProfile, VerificationStage
from pytest_kernelverify.evidence.certificate import OracleCertificate
from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage, Outcome
from pytest_kernelverify.evidence.stage_report import OracleStageResult, StageReport
from pytest_kernelverify.operations.plan import PlanKey, VerificationClass
from pytest_kernelverify.running.run_case import CaseRun, run_case
from pytest_kernelverify.stages.authority import (
    Authority,
    ResultAuthority,
    check_result,
    needed_plans,
    oracle_deferral,
    receipts_match,
    reference_plan,
)
from pytest_kernelverify.stages.installed import installed_reference
from pytest_kernelverify.stages.judge import Expectation, Judgement, errored, judge, outside
from pytest_kernelverify.stages.oracle import OracleStage
from pytest_kernelverify.stages.recording import deferred_case, make_record, not_run
from pytest_kernelverify.stages.references import References
from pytest_kernelverify.stages.walk import Progress, StageWalk, check_seed, recovered, walk_all

__all__ = ["ORACLE_PROFILE", "TargetStage", "run_target_stage"]


class TargetStage(StageWalk):
    """Stage Two of one target in one process: evidence on demand, each obligation run once."""

    def __init__(
        self,
        profile: VerificationProfile,
        carrier: Carrier,
        oracle: OracleStage,
        authority: Authority,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(profile, carrier, seed=seed, name="Stage Two")
        self.oracle = oracle
        self.authority = authority

    def gate(self, obligation: Obligation) -> str | None:
        """Why a target obligation is blocked, or None: a memoised verdict, proved on demand."""
        reason, _ = self._authorise(obligation)
        return reason

    def needed(self, obligation: Obligation) -> tuple[PlanKey, ...]:
        """The oracle plans the obligation rests on."""
        if obligation.plan is None or obligation.verification_class is VerificationClass.DEFERRED:
            return ()
        return needed_plans(obligation.plan, self.oracle)

    def _authorise(self, obligation: Obligation) -> tuple[str | None, tuple[OracleCertificate, ...]]:
        if self._deferral(obligation) is not None:
            return None, ()
        found = {}
        for plan in self.needed(obligation):
            certificate = self.authority.certificate(plan)
            if certificate is None:
                return f"no certificate for {plan.text}: {self.authority.refusal(plan)}", ()
            if obligation.verification_class not in certificate.classes:
                return f"the certificate of {plan.text} lacks {obligation.verification_class.value}", ()
            found[plan] = certificate
        reason = receipts_match(found, self.oracle)
        return reason, () if reason else tuple(found.values())

    def _deferral(self, obligation: Obligation) -> str | None:
        """Why nothing of an active obligation is run: the oracle's plan that would judge it is deferred."""
        if obligation.plan is None or obligation.verification_class is VerificationClass.DEFERRED:
            return None
        reason = oracle_deferral(obligation.plan, self.oracle)
        return None if reason is None else f"the oracle defers this plan: {reason}"

    def _make_cases(self, obligation: Obligation) -> tuple[Case, ...]:
        """Its cases, or the one that stands for all of them where nothing is run."""
        reason = self._deferral(obligation)
        if reason is None:
            return super()._make_cases(obligation)
        return (deferred_case(obligation, "oracle_deferred", reason),)

    def _attempt(self, obligation: Obligation) -> list[EvidenceRecord]:
        requirements = self._requirements_of(obligation)
        blocked, certificates = self._authorise(obligation)
        consumed = tuple(sorted(certificate.id for certificate in certificates))
        same = self._is_oracle_itself(obligation)
        reference = self.oracle.oracle_reference.id
        receipt = self.carrier.receipt(obligation.kernel).id if blocked is None else None
        records = []
        for case in self._cases_of(obligation):
            ran = case.deferred is None and blocked is None
            if ran:
                run, judgement = recovered(partial(self._run_and_judge, obligation, case, same))
            else:
                run, judgement = None, not_run(case, Outcome.BLOCKED, blocked or "")
            records.append(
                make_record(
                    obligation,
                    case,
                    judgement,
                    run=run,
                    requirement=requirements[case.case_id].id,
                    receipt=receipt if ran else None,
                    oracle_reference=reference,
                    certificates=consumed if ran else (),
                    authority="certificate" if ran and case.plan is not None and not same else "generic",
                    self_comparison=ran and same,
                )
            )
        return records

    def _is_oracle_itself(self, obligation: Obligation) -> bool:
        """Whether target and oracle are one function: then only Generic can judge."""
        if self.profile.profile_id != self.oracle.profile.profile_id:
            return False
        return obligation.plan is None or reference_plan(obligation.plan) == obligation.plan

    def _run_and_judge(self, obligation: Obligation, case: Case, same: bool) -> tuple[CaseRun, Judgement]:
        run = run_case(self.carrier, obligation.kernel, case, facts=self.profile.facts)
        return run, self._judge(case, run, same)

    def _judge(self, case: Case, run: CaseRun, same: bool) -> Judgement:
        plan = case.plan
        numerical = case.verification_class is VerificationClass.NUMERICAL and case.output_dtype == "f32"
        payloads = case.verification_class is VerificationClass.BIT_EXACT or plan is None
        envelope = None
        if numerical:
            flushed = self.profile.facts.subnormals != "preserved"
            envelope = self.oracle.references.envelope(case, accumulator="f32", paths=1, flushed=flushed)
        if plan is None or same:
            expectation = self.oracle.references.expectation(case)
        else:
            oracle_run = self.oracle.run(case, reference_plan(plan))
            if (oracle_run.error is not None and oracle_run.error_kind is None) or oracle_run.violation is not None:
                reason = f"the certified oracle did not run: {oracle_run.error or oracle_run.violation}"
                return errored(reason, envelope)
            strayed = self._strayed(case, oracle_run) if numerical else None
            if strayed is not None:
                return errored(strayed, envelope)
            expectation = Expectation(oracle_run.words, oracle_run.error_kind)
        expectation = replace(expectation, envelope=envelope)
        return judge(case, run, expectation, payloads=payloads, facts=self.profile.facts)

    def _strayed(self, case: Case, run: CaseRun) -> str | None:
        """Where the certified oracle's word leaves its own Float64 envelope of the exact value."""
        envelope = self.oracle.references.envelope(case, accumulator="f64", paths=1)
        if run.words is None:
            return f"the certified oracle reported {run.error_kind} where the result is finite"
        wrong, _, _ = outside(run.words, envelope)
        if not wrong:
            return None
        return f"the certified oracle's element {wrong[0]} leaves its own envelope {envelope.bound_at(wrong[0]):.6g}"


def run_target_stage(
    profile: VerificationProfile,
    oracle_result: OracleStageResult,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> StageReport:
    """Verify every active plan and subject of a target profile behind ``oracle_result``.

    TypeError or ValueError, before anything is prepared, for a profile that is no target or a result that is no whole
    Stage One; RuntimeError where the profile's runtime is missing. A certificate counts only where Stage One of the
    oracle that is loaded gives the very same one again: what is absent, forged or incomplete leaves blocked records
    instead of runs.
    """
    check_seed(seed)
    check_result(oracle_result, ORACLE_PROFILE)
    owed = obligations(profile, VerificationStage.TARGET)
    oracle_profile = verification_profile(ORACLE_PROFILE)
    carrier = open_carrier(profile.profile_id, profile.carrier)
    oracle_carrier = open_carrier(oracle_profile.profile_id, oracle_profile.carrier)
    oracle = OracleStage(oracle_profile, oracle_carrier, References(), installed_reference(), seed=seed)
    stage = TargetStage(profile, carrier, oracle, ResultAuthority(oracle_result, oracle), seed=seed)
    return target_report(stage, owed, progress)


def target_report(stage: TargetStage, owed: tuple[Obligation, ...], progress: Progress | None = None) -> StageReport:
    """Everything a Stage Two owes, as one immutable report."""
    records, requirements = walk_all(stage, owed, progress)
    ran = dict.fromkeys(record.case.kernel for record in records if record.receipt is not None)
    return StageReport(
        EvidenceStage.TARGET,
        stage.profile.profile_id,
        tuple(records),
        (),
        tuple(requirements),
        tuple(stage.carrier.receipt(kernel) for kernel in ran),
    )
