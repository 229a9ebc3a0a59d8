"""Authority: which oracle certificates a target plan needs, and whether they are there and genuine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pytest_kernelverify.evidence.certificate import OracleCertificate
from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage, Outcome
from pytest_kernelverify.evidence.stage_report import OracleStageResult, StageReport
from pytest_kernelverify.operations.plan import PlanKey, VerificationClass
from pytest_kernelverify.stages.oracle import OracleStage

__all__ = ["Authority", "ResultAuthority", "needed_plans", "reference_plan"]


class Authority(Protocol):
    """Who says that an oracle plan is certified."""

    def certificate(self, what: PlanKey | str) -> OracleCertificate | None:
        """The certificate, or None."""

    def refusal(self, what: PlanKey | str) -> str:
        """Why there is none."""


def reference_plan(plan: PlanKey) -> PlanKey:
    """The oracle plan a target plan is judged against: with a floating accumulator, the Float64 one."""
    return plan.with_accumulation("floating", "f64") if plan.accumulation == "floating" else plan


def needed_plans(plan: PlanKey, oracle: OracleStage) -> tuple[PlanKey, ...]:
    """The oracle plans that must be certified before a target plan runs: its reference, and itself where it exists."""
    reference = reference_plan(plan)
    return (reference, plan) if plan != reference and oracle.obligations_of(plan) else (reference,)


class ResultAuthority:
    """The certificates of a given OracleStageResult, each proved again before it counts.

    Evidence that is consistent in itself can still be made up, so Stage One of the loaded oracle has the last word.
    """

    def __init__(self, result: OracleStageResult, oracle: OracleStage) -> None:
        self._result = result
        self._oracle = oracle
        self._given: dict[str, list[OracleCertificate]] = {}
        for certificate in result.certificates:
            self._given.setdefault(certificate.what, []).append(certificate)
        self._evidence: dict[str | None, list[EvidenceRecord]] = {}
        for record in result.report.records:
            self._evidence.setdefault(record.case.plan or record.case.subject, []).append(record)
        self._verdicts: dict[str, tuple[OracleCertificate | None, str]] = {}

    def certificate(self, what: PlanKey | str) -> OracleCertificate | None:
        return self._verdict(what)[0]

    def refusal(self, what: PlanKey | str) -> str:
        return self._verdict(what)[1]

    def _verdict(self, what: PlanKey | str) -> tuple[OracleCertificate | None, str]:
        name = what.text if isinstance(what, PlanKey) else what
        if name not in self._verdicts:
            self._verdicts[name] = self._examine(what, name)
        return self._verdicts[name]

    def _examine(self, what: PlanKey | str, name: str) -> tuple[OracleCertificate | None, str]:
        given, evidence = self._given.get(name, []), self._evidence.get(name, [])
        if len(given) > 1:
            return None, f"{len(given)} certificates for one plan"
        if not given:
            for record in evidence:
                if record.outcome not in (Outcome.PASSED, Outcome.DEFERRED):
                    return None, f"Stage One {record.outcome.value} at {record.case.case_id}: {record.diagnostic}"
            return None, "no certificate covers it"
        if given[0] not in self._result.report.certificates:
            return None, "the result holds a certificate that its report does not"
        if self._oracle.reissue(what, evidence) != given[0]:
            return None, "the certificate is not the one its evidence gives"
        if self._oracle.certificate(what) != given[0]:
            return None, "Stage One of the oracle that is loaded does not give this certificate again"
        return given[0], ""


def check_result(result: object, oracle_profile_id: str) -> None:
    """TypeError or ValueError unless ``result`` is a whole result of that oracle's Stage One."""
    if not isinstance(result, OracleStageResult):
        raise TypeError(f"oracle_result must be an OracleStageResult, not {type(result).__name__}")
    report = result.report
    if not isinstance(report, StageReport):
        raise TypeError(f"oracle_result.report must be a StageReport, not {type(report).__name__}")
    for name, parts, kind in (
        ("report.records", report.records, EvidenceRecord),
        ("report.certificates", report.certificates, OracleCertificate),
        ("certificates", result.certificates, OracleCertificate),
    ):
        if not isinstance(parts, tuple) or not all(isinstance(part, kind) for part in parts):
            raise TypeError(f"oracle_result.{name} must be a tuple of {kind.__name__}")
    if report.stage is not EvidenceStage.ORACLE or report.profile_id != oracle_profile_id:
        stage = getattr(report.stage, "value", report.stage)
        raise ValueError(
            f"oracle_result is of the {stage} stage of {report.profile_id!r}; expected the oracle stage of"
            f" {oracle_profile_id!r}"
        )


def oracle_deferral(plan: PlanKey, oracle: OracleStage) -> str | None:
    """The oracle's reason where the plan a target would be judged by is deferred."""
    for obligation in oracle.obligations_of(reference_plan(plan)):
        if obligation.verification_class is VerificationClass.DEFERRED:
            return obligation.reason
    return None


def receipts_match(certificates: Mapping[PlanKey, OracleCertificate], oracle: OracleStage) -> str | None:
    """Why certificates do not speak for the oracle that is loaded: each binds the receipt of one binary."""
    for plan, certificate in certificates.items():
        kernel = oracle.obligations_of(plan)[0].kernel
        if certificate.receipt != oracle.carrier.receipt(kernel).digest:
            return f"the certificate of {plan.text} binds another binary than the oracle that is loaded"
    return None
