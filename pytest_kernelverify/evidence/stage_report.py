"""StageReport: what one stage found; only ``report/`` makes a schema-v3 file of it."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_kernelverify.evidence.certificate import OracleCertificate
from pytest_kernelverify.evidence.receipt import Receipt
from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage
from pytest_kernelverify.evidence.requirement import Requirement

__all__ = ["OracleStageResult", "StageReport"]


@dataclass(frozen=True, slots=True)
class StageReport:
    """Records and certificates of one stage of one profile, with the requirements and receipts they refer to."""

    stage: EvidenceStage
    profile_id: str
    records: tuple[EvidenceRecord, ...]
    certificates: tuple[OracleCertificate, ...]
    requirements: tuple[Requirement, ...] = ()
    receipts: tuple[Receipt, ...] = ()


@dataclass(frozen=True, slots=True)
class OracleStageResult:
    """Stage One's report and the certificates it issued."""

    report: StageReport
    certificates: tuple[OracleCertificate, ...]
