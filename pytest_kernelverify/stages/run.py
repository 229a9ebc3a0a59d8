"""Run: both stages of one target in one process, on demand. The pytest face and verify_backend read the same one."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from pytest_kernelverify.carriers.base import Carrier
from pytest_kernelverify.carriers.opening import open_carrier
from pytest_kernelverify.catalog.classify import Obligation, obligations
from pytest_kernelverify.catalog.load import manifest_of, verification_profile
from pytest_kernelverify.catalog.profile import VerificationProfile, VerificationStage
from pytest_kernelverify.evidence.certificate import OracleCertificate
from pytest_kernelverify.evidence.oracle_reference import OracleReference
from pytest_kernelverify.evidence.receipt import Receipt
from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage
from pytest_kernelverify.evidence.requirement import Requirement
from pytest_kernelverify.operations.plan import LogicalKernel, PlanKey
from pytest_kernelverify.stages.installed import installed_reference
from pytest_kernelverify.stages.oracle import OracleStage
from pytest_kernelverify.stages.references import References
from pytest_kernelverify.stages.target import ORACLE_PROFILE, TargetStage
from pytest_kernelverify.stages.walk import check_seed

__all__ = ["Run"]


class Run:
    """Memoised evidence of one target and its oracle in one process."""

    def __init__(self, target: VerificationProfile, *, seed: int = 0) -> None:
        manifest_of(target)
        self.target = target
        self.oracle = verification_profile(ORACLE_PROFILE)
        self.seed = check_seed(seed)

    def preflight(self) -> None:
        """Everything that must hold before the first case runs.

        ValueError where a profile is not completely classified; RuntimeError where the target's runtime is missing, a
        library does not load or the arithmetic state is off.
        """
        obligations(self.target, VerificationStage.TARGET)
        _ = self._target_stage

    def obligations(self) -> tuple[Obligation, ...]:
        """Everything a whole run owes: Stage One of the oracle, then Stage Two of the target."""
        return (
            *obligations(self.oracle, VerificationStage.ORACLE),
            *obligations(self.target, VerificationStage.TARGET),
        )

    def evidence(self, obligation: Obligation) -> tuple[EvidenceRecord, ...]:
        """One record for each case of the obligation."""
        return self._stage(obligation).evidence(obligation)

    def gate(self, obligation: Obligation) -> str | None:
        """Why a target obligation is blocked, proving on demand what it needs; None where it may run."""
        return self._target_stage.gate(obligation) if obligation.stage is EvidenceStage.TARGET else None

    def needed(self, obligation: Obligation) -> tuple[Obligation, ...]:
        """The Stage One obligations a target obligation rests on."""
        if obligation.stage is not EvidenceStage.TARGET:
            return ()
        stage = self._target_stage
        return tuple(owed for plan in stage.needed(obligation) for owed in self._oracle_stage.obligations_of(plan))

    def dependencies(self, obligation: Obligation) -> tuple[EvidenceRecord, ...]:
        """The Stage One records a target obligation rests on."""
        return tuple(record for owed in self.needed(obligation) for record in self._oracle_stage.evidence(owed))

    def requirements(self, owed: Iterable[Obligation]) -> tuple[Requirement, ...]:
        """What must be present for these obligations."""
        return tuple(found for obligation in owed for found in self._stage(obligation).requirements(obligation))

    def certificates(
        self, plans: Iterable[PlanKey | str], records: Iterable[EvidenceRecord]
    ) -> tuple[OracleCertificate, ...]:
        """The certificates that ``records`` give for these oracle plans and subjects, where there are any."""
        by_plan: dict[str | None, list[EvidenceRecord]] = {}
        for record in records:
            if record.stage is EvidenceStage.ORACLE:
                by_plan.setdefault(record.case.plan or record.case.subject, []).append(record)
        found = []
        for plan in dict.fromkeys(plans):
            evidence = by_plan.get(plan.text if isinstance(plan, PlanKey) else plan, [])
            found.append(self._oracle_stage.reissue(plan, evidence))
        return tuple(certificate for certificate in found if certificate is not None)

    @property
    def oracle_reference(self) -> OracleReference:
        """The digests of Generic and of the case generators."""
        return installed_reference()

    def receipt(self, stage: EvidenceStage, kernel: LogicalKernel) -> Receipt:
        """What was compiled from what for a kernel of the oracle or of the target."""
        return (self._oracle_carrier if stage is EvidenceStage.ORACLE else self._target_carrier).receipt(kernel)

    def _stage(self, obligation: Obligation) -> OracleStage | TargetStage:
        return self._oracle_stage if obligation.stage is EvidenceStage.ORACLE else self._target_stage

    @cached_property
    def _oracle_carrier(self) -> Carrier:
        return open_carrier(self.oracle.profile_id, self.oracle.carrier)

    @cached_property
    def _target_carrier(self) -> Carrier:
        if self.target.profile_id == self.oracle.profile_id:
            return self._oracle_carrier
        return open_carrier(self.target.profile_id, self.target.carrier)

    @cached_property
    def _oracle_stage(self) -> OracleStage:
        return OracleStage(self.oracle, self._oracle_carrier, References(), installed_reference(), seed=self.seed)

    @cached_property
    def _target_stage(self) -> TargetStage:
        carrier = self._target_carrier
        return TargetStage(self.target, carrier, self._oracle_stage, self._oracle_stage, seed=self.seed)
