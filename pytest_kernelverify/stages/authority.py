"""Authority: which oracle certificates a target plan needs, and whether they are there and genuine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pytest_kernelverify.catalog.profile import VerificationStage
from pytest_kernelverify.evidence.certificate import OracleCertificate
from pytest_kernelverify.evidence.record import Outcome
from pytest_kernelverify.evidence.stage_report import OracleStageResult
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
    """The certificates of a given OracleStageResult, each reissued from its evidence before it counts."""

    def __init__(self, result: OracleStageResult, oracle: OracleStage) -> None:
        self._result = result
        self._oracle = oracle
        self._given: dict[PlanKey | str, list[OracleCertificate]] = {}
        for certificate in result.certificates:
            what = certificate.plan if certificate.plan is not None else str(certificate.subject)
            self._given.setdefault(what, []).append(certificate)
        self._reasons: dict[PlanKey | str, str] = {}

    def certificate(self, what: PlanKey | str) -> OracleCertificate | None:
        given = self._given.get(what, [])
        if len(given) != 1:
            self._reasons[what] = self._absence(what, len(given))
            return None
        evidence = self._result.report.records
        reissued = self._oracle.reissue(what, evidence)
        if reissued is None or reissued != given[0]:
            self._reasons[what] = "the certificate is not the one its evidence gives"
            return None
        return reissued

    def refusal(self, what: PlanKey | str) -> str:
        return self._reasons.get(what, "no certificate")

    def _absence(self, what: PlanKey | str, count: int) -> str:
        if count > 1:
            return f"{count} certificates for one plan"
        plan = what.text if isinstance(what, PlanKey) else None
        for record in self._result.report.records:
            mine = record.case.plan == plan if plan is not None else record.case.subject == what
            if mine and record.outcome not in (Outcome.PASSED, Outcome.DEFERRED):
                return f"Stage One {record.outcome.value} at {record.case.case_id}: {record.diagnostic}"
        return "no certificate covers it"


def check_result(result: object, oracle_profile_id: str) -> None:
    """TypeError or ValueError unless ``result`` is a whole result of that oracle's Stage One."""
    if not isinstance(result, OracleStageResult):
        raise TypeError(f"oracle_result must be an OracleStageResult, not {type(result).__name__}")
    if result.report.stage is not VerificationStage.ORACLE or result.report.profile_id != oracle_profile_id:
        raise ValueError(
            f"oracle_result is of the {result.report.stage.value} stage of {result.report.profile_id!r}; expected the"
            f" oracle stage of {oracle_profile_id!r}"
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
