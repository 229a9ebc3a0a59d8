"""Stage One: the oracle's kernels against Generic, and the certificates that follow."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from pytest_kernelverify.carriers.base import Carrier
from pytest_kernelverify.carriers.opening import open_carrier
from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.catalog.classify import Obligation, obligations
from pytest_kernelverify.catalog.profile import VerificationProfile, VerificationStage
from pytest_kernelverify.evidence.certificate import OracleCertificate, issue_certificate
from pytest_kernelverify.evidence.oracle_reference import OracleReference
from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage, Outcome
from pytest_kernelverify.evidence.stage_report import OracleStageResult, StageReport
from pytest_kernelverify.operations.plan import PlanKey, VerificationClass
from pytest_kernelverify.running.run_case import CaseRun, run_case
from pytest_kernelverify.stages.installed import installed_reference
from pytest_kernelverify.stages.judge import Expectation, Judgement, errored, judge
from pytest_kernelverify.stages.recording import make_record, not_run
from pytest_kernelverify.stages.references import References
from pytest_kernelverify.stages.walk import Progress, StageWalk, check_seed, recovered, walk_all

__all__ = ["OracleStage", "run_oracle_stage"]


class OracleStage(StageWalk):
    """Stage One of one oracle in one process: proofs and certificates on demand, each made once."""

    def __init__(
        self,
        profile: VerificationProfile,
        carrier: Carrier,
        references: References,
        oracle_reference: OracleReference,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(profile, carrier, seed=seed, name="Stage One")
        self.references = references
        self.oracle_reference = oracle_reference
        self._certificates: dict[PlanKey | str, OracleCertificate | None] = {}
        self._runs: dict[tuple[PlanKey, Case], CaseRun] = {}
        self._by_subject: dict[PlanKey | str, list[Obligation]] = {}
        for obligation in obligations(profile, VerificationStage.ORACLE):
            self._by_subject.setdefault(_key(obligation), []).append(obligation)

    def obligations_of(self, what: PlanKey | str) -> tuple[Obligation, ...]:
        """The obligations of one plan (or subject name); empty where the oracle has no such plan."""
        return tuple(self._by_subject.get(what, ()))

    def certificate(self, what: PlanKey | str) -> OracleCertificate | None:
        """The certificate of one plan or subject, or None where Stage One did not pass it whole."""
        if what not in self._certificates:
            self._certificates[what] = self._certify(what)
        return self._certificates[what]

    def refusal(self, what: PlanKey | str) -> str:
        """Why there is no certificate, in one sentence."""
        for obligation in self.obligations_of(what):
            for record in self.evidence(obligation):
                if record.outcome not in (Outcome.PASSED, Outcome.DEFERRED):
                    return f"Stage One {record.outcome.value} at {record.case.case_id}: {record.diagnostic}"
        return "Stage One has no such plan"

    def run(self, case: Case, plan: PlanKey) -> CaseRun:
        """The oracle's own run of a case, possibly under a plan with another accumulator."""
        run = self._runs.get((plan, case))
        if run is None:
            kernel = self.obligations_of(plan)[0].kernel
            run = self._runs[plan, case] = run_case(self.carrier, kernel, case, plan=plan, facts=self.profile.facts)
        return run

    def _attempt(self, obligation: Obligation) -> list[EvidenceRecord]:
        requirements = self._requirements_of(obligation)
        receipt, reference = self.carrier.receipt(obligation.kernel).id, self.oracle_reference.id
        records = []
        for case in self._cases_of(obligation):
            if case.deferred is not None:
                run, judgement = None, not_run(case, Outcome.DEFERRED, case.deferred)
            else:
                run, judgement = recovered(partial(self._run_and_judge, obligation, case))
            records.append(
                make_record(
                    obligation,
                    case,
                    judgement,
                    run=run,
                    requirement=requirements[case.case_id].id,
                    receipt=receipt,
                    oracle_reference=reference,
                )
            )
        return records

    def _run_and_judge(self, obligation: Obligation, case: Case) -> tuple[CaseRun, Judgement]:
        if case.plan is not None:
            run = self.run(case, case.plan)
        else:
            run = run_case(self.carrier, obligation.kernel, case, facts=self.profile.facts)
        return run, self._judge(case, run)

    def _judge(self, case: Case, run: CaseRun) -> Judgement:
        disagreement = self.references.disagreement(case)
        if disagreement is not None:
            return errored(disagreement)
        expectation = self.references.expectation(case)
        plan = case.plan
        if case.verification_class is VerificationClass.NUMERICAL and plan is not None and plan.output == "f32":
            flushed = self.profile.facts.subnormals != "preserved"
            accumulator = plan.accumulator or "f32"
            envelope = self.references.envelope(case, accumulator=accumulator, paths=2, flushed=flushed)
            expectation = Expectation(expectation.words, envelope=envelope)
        payloads = case.verification_class is VerificationClass.BIT_EXACT or plan is None
        judgement = judge(case, run, expectation, payloads=payloads, facts=self.profile.facts)
        if case.oracle_only and judgement.outcome is Outcome.FAILED:
            reason = f"contraction is forbidden, but the result is not the unfused one: {judgement.diagnostic}"
            return errored(reason)
        return judgement

    def _certify(self, what: PlanKey | str) -> OracleCertificate | None:
        return self.reissue(what, [record for owed in self.obligations_of(what) for record in self.evidence(owed)])

    def reissue(self, what: PlanKey | str, evidence: Iterable[EvidenceRecord]) -> OracleCertificate | None:
        """The certificate that ``evidence`` gives for one plan or subject; None where it does not cover it whole.

        Records of other plans are passed over; one that another Generic or case catalog judged gives None.
        """
        owed = self.obligations_of(what)
        if not owed or owed[0].verification_class is VerificationClass.DEFERRED:
            return None
        kernel = owed[0].kernel
        plan, subject = (what.text, None) if isinstance(what, PlanKey) else (None, what)
        mine = [record for record in evidence if (record.case.plan, record.case.subject) == (plan, subject)]
        if what in self._certificates and self._is_own(owed, mine):
            return self._certificates[what]
        reference = self.oracle_reference.id
        if any(record.oracle_reference != reference for record in mine):
            return None
        return issue_certificate(
            self.profile.profile_id,
            kernel,
            what if isinstance(what, PlanKey) else None,
            None if isinstance(what, PlanKey) else what,
            tuple(obligation.verification_class for obligation in owed),
            self.carrier.receipt(kernel).digest,
            [requirement for obligation in owed for requirement in self.requirements(obligation)],
            mine,
        )

    def _is_own(self, owed: tuple[Obligation, ...], records: list[EvidenceRecord]) -> bool:
        """Whether these very records are what this stage found: then its certificate needs no second examination."""
        own = [record for obligation in owed for record in self._evidence.get(obligation, ())]
        return len(own) == len(records) and {id(record) for record in own} == {id(record) for record in records}


def _key(obligation: Obligation) -> PlanKey | str:
    return obligation.plan if obligation.plan is not None else str(obligation.subject)


def run_oracle_stage(
    profile: VerificationProfile, *, seed: int = 0, progress: Progress | None = None
) -> OracleStageResult:
    """Attempt every obligation of an oracle profile against Generic; certificates for what passed whole.

    TypeError for anything but a VerificationProfile; ValueError where the profile is no oracle or is not the installed
    one, or the seed is out of range; RuntimeError where its library does not load or rounding mode or flush bits are
    not the declared ones.
    """
    check_seed(seed)
    owed = obligations(profile, VerificationStage.ORACLE)
    carrier = open_carrier(profile.profile_id, profile.carrier)
    stage = OracleStage(profile, carrier, References(), installed_reference(), seed=seed)
    return stage_result(stage, owed, progress)


def stage_result(
    stage: OracleStage, owed: tuple[Obligation, ...], progress: Progress | None = None
) -> OracleStageResult:
    """Everything a Stage One owes, as one immutable result."""
    records, requirements = walk_all(stage, owed, progress)
    certificates = []
    for what in dict.fromkeys(_key(obligation) for obligation in owed):
        certificate = stage.certificate(what)
        if certificate is not None:
            certificates.append(certificate)
    report = StageReport(
        EvidenceStage.ORACLE,
        stage.profile.profile_id,
        tuple(records),
        tuple(certificates),
        tuple(requirements),
        tuple(stage.carrier.receipt(kernel) for kernel in dict.fromkeys(obligation.kernel for obligation in owed)),
    )
    return OracleStageResult(report, tuple(certificates))
