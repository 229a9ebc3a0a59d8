"""One record against what surrounds it: its obligation, the header and the certificates that exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.evidence.canonical import is_digest
from pytest_kernelverify.evidence.certificate import OracleCertificate
from pytest_kernelverify.evidence.policy import policy_name
from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage, Outcome
from pytest_kernelverify.evidence.requirement import Requirement
from pytest_kernelverify.operations.facts import STRICT
from pytest_kernelverify.operations.plan import LogicalKernel
from pytest_kernelverify.report.detail import check_detail
from pytest_kernelverify.report.header import Header
from pytest_kernelverify.report.owed import Owed, prefix

__all__ = ["Expected", "Surroundings", "check_record"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every record of a report is held against; certificates by plan text or subject name."""

    header: Header
    owed: Owed
    certificates: Mapping[str, OracleCertificate]


@dataclass(frozen=True, slots=True)
class Expected:
    """What one requirement says of each of its records, worked out once.

    ``fields`` pairs a name with the one value a record may have; ``reason`` is why it must be deferred, if it must;
    ``absent`` names the first oracle plan it needs that has no certificate.
    """

    stage: EvidenceStage
    kernel: LogicalKernel
    plan: str | None
    subject: str | None
    dtypes: tuple[tuple[str, ...], str, str | None] | None
    prefix: str
    reason: str | None
    verification_class: str
    policies: tuple[str, ...]
    absent: str | None
    certificates: tuple[str, ...]
    itself: bool
    looser: frozenset[str]

    @classmethod
    def of(cls, requirement: Requirement, owner: Obligation, around: Surroundings) -> Expected:
        owed, plan = around.owed, owner.plan
        needed = owed.needed(owner)
        facts = owed.profile(owner.stage).facts
        verification_class = owner.verification_class
        return cls(
            stage=owner.stage,
            kernel=owner.kernel,
            plan=plan.text if plan is not None else None,
            subject=owner.subject,
            dtypes=(
                (tuple(operand.dtype for operand in plan.operands), plan.output, plan.accumulator)
                if plan is not None
                else None
            ),
            prefix=prefix(owner),
            reason=requirement.reason if requirement.deferred else owed.oracle_deferral(owner),
            verification_class=verification_class.value,
            policies=tuple(policy_name(owner.stage, plan, verification_class, error=error) for error in (False, True)),
            absent=next((name for name in needed if name not in around.certificates), None),
            certificates=tuple(sorted(around.certificates[name].id for name in needed if name in around.certificates)),
            itself=owed.is_oracle_itself(owner),
            looser=frozenset(
                fact.name for fact in fields(facts) if getattr(facts, fact.name) != getattr(STRICT, fact.name)
            ),
        )


def check_record(record: EvidenceRecord, expected: Expected, header: Header) -> None:
    """ValueError saying which field contradicts the header, the profile or a certificate."""
    case = record.case
    _compare("stage", record.stage, expected.stage)
    _compare("kernel", case.kernel, expected.kernel)
    _compare("plan", case.plan, expected.plan)
    _compare("subject", case.subject, expected.subject)
    if expected.dtypes is not None:
        _compare("dtypes", (case.operand_dtypes, case.output_dtype, case.accumulator), expected.dtypes)
    if record.oracle_reference not in header.oracle_references:
        raise ValueError(f"it refers to the oracle reference {record.oracle_reference}, which is none")
    if not case.case_id.startswith(expected.prefix):
        raise ValueError(f"the case id does not begin with {expected.prefix}")
    if len(case.layouts) != len(record.target_input_hashes):
        raise ValueError(f"{len(case.layouts)} operand layout(s), but {len(record.target_input_hashes)} input hash(es)")
    for digest in (*record.target_input_hashes, record.output_hash):
        if digest is not None and not is_digest(digest):
            raise ValueError(f"{digest!r} is not a SHA-256 digest in lower-case hex")
    _check_class(record, expected)
    _check_authority(record, expected)
    _check_receipt(record, header)
    for name in record.accepted:
        if name not in expected.looser:
            raise ValueError(f"accepted counts {name!r}, but the profile declares the strict value of it")
    if record.detail is not None:
        check_detail(record)


def _compare(name: str, found: Any, expected: Any) -> None:
    if found != expected:
        raise ValueError(f"{name} is {found!r}; expected {expected!r}")


def _check_class(record: EvidenceRecord, expected: Expected) -> None:
    if expected.reason is not None:
        if record.outcome is not Outcome.DEFERRED or record.diagnostic != expected.reason:
            raise ValueError(f"it must be deferred, with the diagnostic {expected.reason!r}")
        return
    _compare("class", record.verification_class, expected.verification_class)
    if record.policy not in expected.policies:
        raise ValueError(f"policy is {record.policy!r}; expected {' or '.join(expected.policies)}")


def _check_authority(record: EvidenceRecord, expected: Expected) -> None:
    ran = record.receipt is not None  # an error without one is that of a process which died before it ran the case
    if record.outcome is Outcome.BLOCKED:
        if not expected.absent or not str(record.diagnostic).startswith(f"no certificate for {expected.absent}: "):
            what = f"no certificate for {expected.absent}" if expected.absent else "nothing"
            raise ValueError(f"it is blocked by {what}; its diagnostic must say so")
    elif str(record.diagnostic).startswith("no certificate for "):
        raise ValueError(f"its diagnostic is that of a blocked record, but it is {record.outcome.value}")
    elif ran and expected.absent:
        raise ValueError(f"it ran without the certificate of {expected.absent}")
    itself = ran and expected.itself
    judged = ran and expected.stage is EvidenceStage.TARGET and expected.plan is not None and not itself
    _compare("certificates", record.certificates, expected.certificates if ran else ())
    _compare("self_comparison", record.self_comparison, itself)
    _compare("authority", record.authority, "certificate" if judged else "generic")


def _check_receipt(record: EvidenceRecord, header: Header) -> None:
    if record.receipt is None:
        return
    receipt = header.receipts.get(record.receipt)
    if receipt is None:
        raise ValueError(f"it refers to the receipt {record.receipt}, which is none")
    if receipt.kernel != record.case.kernel:
        raise ValueError(f"its receipt {record.receipt} is of another kernel, {receipt.kernel.kernel_id}")
