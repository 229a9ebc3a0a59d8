"""OracleCertificate: Stage One passed whole for one plan or subject of one kernel; and how to check that again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_kernelverify.evidence.canonical import digest_of, exact_fields, strings, typed
from pytest_kernelverify.evidence.receipt import kernel_from_json, kernel_to_json
from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage, Outcome
from pytest_kernelverify.evidence.requirement import Requirement, cases_digest
from pytest_kernelverify.operations.plan import LogicalKernel, PlanKey, VerificationClass

__all__ = ["OracleCertificate", "issue_certificate", "reconstruct"]


@dataclass(frozen=True, slots=True)
class OracleCertificate:
    """Authority of one oracle kernel for one plan, or for one subject.

    ``receipt`` is the digest of the certified binary's receipt, ``evidence_digest`` covers the digests of the records
    it was issued from, in their order. Seed 000, "Stage One certificate".
    """

    oracle_profile: str
    kernel: LogicalKernel
    operation: str
    plan: PlanKey | None
    subject: str | None
    classes: tuple[VerificationClass, ...]
    receipt: str
    evidence_digest: str

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical JSON."""
        return digest_of(self.to_json())

    @property
    def id(self) -> str:
        """The short form a record refers to: the first 16 hex digits of the digest."""
        return self.digest[:16]

    @property
    def what(self) -> str:
        """The plan's text or the subject's name."""
        return self.plan.text if self.plan is not None else str(self.subject)

    @property
    def certified_plan_classes(self) -> tuple[tuple[str, VerificationClass], ...]:
        """Each certified obligation: the plan's text (or the subject's name) with a class."""
        return tuple((self.what, verification_class) for verification_class in self.classes)

    def to_json(self) -> dict[str, Any]:
        return {
            "classes": [member.value for member in self.classes],
            "evidence_digest": self.evidence_digest,
            "kernel": kernel_to_json(self.kernel),
            "operation": self.operation,
            "oracle_profile": self.oracle_profile,
            "plan": None if self.plan is None else self.plan.text,
            "receipt": self.receipt,
            "subject": self.subject,
        }

    @classmethod
    def from_json(cls, value: Any) -> OracleCertificate:
        """ValueError for a missing, unknown or ill-typed field."""
        exact_fields(value, cls.__slots__, "certificate")
        plan = typed(value, "plan", str, None)
        return cls(
            typed(value, "oracle_profile", str),
            kernel_from_json(value["kernel"]),
            typed(value, "operation", str),
            None if plan is None else PlanKey.from_text(plan),
            typed(value, "subject", str, None),
            tuple(VerificationClass(member) for member in strings(value, "classes")),
            typed(value, "receipt", str),
            typed(value, "evidence_digest", str),
        )


def issue_certificate(
    oracle_profile: str,
    kernel: LogicalKernel,
    plan: PlanKey | None,
    subject: str | None,
    classes: tuple[VerificationClass, ...],
    receipt: str,
    requirements: Iterable[Requirement],
    records: Iterable[EvidenceRecord],
) -> OracleCertificate | None:
    """The certificate, or None unless ``records`` are exactly what ``requirements`` ask for and all passed.

    ``classes`` are all classes of the plan or subject, in their order; ``receipt`` is the receipt's full digest. A
    declared limit must be present as its one deferred record; anything foreign, missing or not passed gives None.
    """
    evidence = sorted(records, key=lambda record: record.sort_key)
    certificate = OracleCertificate(
        oracle_profile,
        kernel,
        kernel.operation,
        plan,
        subject,
        classes,
        receipt,
        digest_of([record.digest for record in evidence]),
    )
    return certificate if _refusal(certificate, tuple(requirements), evidence) is None else None


def reconstruct(
    certificate: OracleCertificate, requirements: Iterable[Requirement], records: Iterable[EvidenceRecord]
) -> None:
    """ValueError naming what differs unless exactly this certificate follows from these records."""
    evidence = sorted(records, key=lambda record: record.sort_key)
    problem = _refusal(certificate, tuple(requirements), evidence)
    found = digest_of([record.digest for record in evidence])
    if problem is None and found != certificate.evidence_digest:
        problem = f"its evidence_digest is {certificate.evidence_digest}, but the records give {found}"
    if problem is not None:
        raise ValueError(f"certificate {certificate.id} of {certificate.what}: {problem}")


def _refusal(
    certificate: OracleCertificate, requirements: tuple[Requirement, ...], evidence: Sequence[EvidenceRecord]
) -> str | None:
    """Why these records do not carry this certificate, or None."""
    if (certificate.plan is None) == (certificate.subject is None):
        return "a certificate covers one plan or one subject"
    kernel, name = certificate.kernel, certificate.what
    if (certificate.oracle_profile, certificate.operation) != (kernel.profile_id, kernel.operation):
        return "its kernel belongs to another profile or operation"
    order = list(VerificationClass)
    if not certificate.classes or list(certificate.classes) != sorted(set(certificate.classes), key=order.index):
        return "its classes must be in their order, each once"
    required = [requirement.verification_class for requirement in requirements if not requirement.deferred]
    if sorted(required) != sorted(member.value for member in certificate.classes):
        return f"its requirements have the classes {sorted(required)}"
    for requirement in requirements:
        if (requirement.stage, requirement.kernel) != (EvidenceStage.ORACLE, kernel) or name != (
            requirement.plan if certificate.plan is not None else requirement.subject
        ):
            return f"the requirement {requirement.what} is foreign"
        if requirement.case_count < 1:
            return f"the requirement {requirement.what} asks for no case"
    found: dict[str, list[EvidenceRecord]] = {requirement.id: [] for requirement in requirements}
    for record in evidence:
        if record.requirement not in found or record.stage is not EvidenceStage.ORACLE or record.case.kernel != kernel:
            return f"the record {record.case.case_id} is foreign"
        found[record.requirement].append(record)
    for requirement in requirements:
        problem = _unmet(requirement, found[requirement.id], certificate.receipt[:16])
        if problem is not None:
            return problem
    return None


def _unmet(requirement: Requirement, records: list[EvidenceRecord], receipt: str) -> str | None:
    ids = [record.case.case_id for record in records]
    if len(ids) != requirement.case_count or cases_digest(ids) != requirement.cases_digest:
        return f"{requirement.what} asks for {requirement.case_count} case(s), the records are others"
    for record in records:
        if record.verification_class != requirement.verification_class:
            return f"the record {record.case.case_id} has the class {record.verification_class}"
        if requirement.deferred:
            if record.outcome is not Outcome.DEFERRED or record.diagnostic != requirement.reason:
                return f"the record {record.case.case_id} is not the declared limit"
        elif record.outcome is not Outcome.PASSED:
            return f"the record {record.case.case_id} is {record.outcome.value}"
        elif record.receipt != receipt:
            return f"the record {record.case.case_id} comes from another binary"
    return None
