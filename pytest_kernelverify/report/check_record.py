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
from pytest_kernelverify.operations.facts import STRICT, ArithmeticFacts
from pytest_kernelverify.operations.plan import VerificationClass
from pytest_kernelverify.report.detail import check_detail
from pytest_kernelverify.report.header import Header
from pytest_kernelverify.report.owed import Owed, prefix

__all__ = ["Surroundings", "check_record"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every record of a report is held against; certificates by plan text or subject name."""

    header: Header
    owed: Owed
    certificates: Mapping[str, OracleCertificate]


def check_record(record: EvidenceRecord, owner: Obligation, around: Surroundings) -> None:
    """ValueError saying which field contradicts the header, the profile or a certificate."""
    header, case = around.header, record.case
    requirement = header.requirements[record.requirement]
    same: list[tuple[str, Any, Any]] = [
        ("stage", record.stage, owner.stage),
        ("kernel", case.kernel, owner.kernel),
        ("plan", case.plan, owner.plan.text if owner.plan is not None else None),
        ("subject", case.subject, owner.subject),
        ("oracle_reference", [record.oracle_reference], list(header.oracle_references)),
    ]
    if owner.plan is not None:
        same += [
            ("accumulator", case.accumulator, owner.plan.accumulator),
            ("output_dtype", case.output_dtype, owner.plan.output),
            ("operand_dtypes", case.operand_dtypes, tuple(operand.dtype for operand in owner.plan.operands)),
        ]
    for name, found, expected in same:
        if found != expected:
            raise ValueError(f"{name} is {_text(found)}; its requirement and profile say {_text(expected)}")
    if not case.case_id.startswith(prefix(owner)):
        raise ValueError(f"the case id does not begin with {prefix(owner)}")
    if len(case.layouts) != len(record.target_input_hashes):
        raise ValueError(f"{len(case.layouts)} operand layout(s), but {len(record.target_input_hashes)} input hash(es)")
    for digest in (*record.target_input_hashes, record.output_hash):
        if digest is not None and not is_digest(digest):
            raise ValueError(f"{digest!r} is not a SHA-256 digest in lower-case hex")
    _check_class(record, owner, requirement.deferred, requirement.reason, around.owed)
    _check_authority(record, owner, around)
    _check_receipt(record, header)
    _check_accepted(record, around.owed.profile(record.stage).facts)
    if record.detail is not None:
        check_detail(record)


def _text(value: Any) -> str:
    return repr(getattr(value, "value", value))


def _check_class(record: EvidenceRecord, owner: Obligation, limit: bool, reason: str | None, owed: Owed) -> None:
    reason = reason if limit else owed.oracle_deferral(owner)
    if reason is not None:
        if record.outcome is not Outcome.DEFERRED or record.diagnostic != reason:
            raise ValueError(f"it must be deferred, with the diagnostic {reason!r}")
        return
    if record.verification_class != owner.verification_class.value:
        raise ValueError(
            f"class is {record.verification_class!r}; its requirement has {owner.verification_class.value!r}"
        )
    policies = [
        policy_name(owner.stage, owner.plan, VerificationClass(record.verification_class), error=error)
        for error in (False, True)
    ]
    if record.policy not in policies:
        raise ValueError(f"policy is {record.policy!r}; expected {' or '.join(policies)}")


def _check_authority(record: EvidenceRecord, owner: Obligation, around: Surroundings) -> None:
    needed = around.owed.needed(owner)
    absent = [name for name in needed if name not in around.certificates]
    ran = record.receipt is not None  # an error without one is that of a process which died before it ran the case
    if record.outcome is Outcome.BLOCKED:
        if not absent or not str(record.diagnostic).startswith(f"no certificate for {absent[0]}: "):
            what = f"no certificate for {absent[0]}" if absent else "nothing"
            raise ValueError(f"it is blocked by {what}; its diagnostic must say so")
    elif ran and absent:
        raise ValueError(f"it ran without the certificate of {absent[0]}")
    itself = ran and around.owed.is_oracle_itself(owner)
    judged = ran and owner.stage is EvidenceStage.TARGET and owner.plan is not None and not itself
    certificates = tuple(sorted(around.certificates[name].id for name in needed)) if ran else ()
    for name, found, expected in (
        ("certificates", record.certificates, certificates),
        ("self_comparison", record.self_comparison, itself),
        ("authority", record.authority, "certificate" if judged else "generic"),
    ):
        if found != expected:
            raise ValueError(f"{name} is {found!r}; expected {expected!r}")


def _check_receipt(record: EvidenceRecord, header: Header) -> None:
    if record.receipt is None:
        return
    receipt = header.receipts.get(record.receipt)
    if receipt is None:
        raise ValueError(f"it refers to the receipt {record.receipt}, which is none")
    if receipt.kernel != record.case.kernel:
        raise ValueError(f"its receipt {record.receipt} is of another kernel, {receipt.kernel.kernel_id}")


def _check_accepted(record: EvidenceRecord, facts: ArithmeticFacts) -> None:
    looser = [fact.name for fact in fields(facts) if getattr(facts, fact.name) != getattr(STRICT, fact.name)]
    for name in record.accepted:
        if name not in looser:
            raise ValueError(f"accepted counts {name!r}, but the profile declares the strict value of it")
