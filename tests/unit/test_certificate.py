"""Certificates: issued from complete passing evidence alone, and reconstructed from nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
import report_samples as samples

from pytest_kernelverify.evidence.certificate import OracleCertificate, issue_certificate, reconstruct
from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage
from pytest_kernelverify.evidence.requirement import Requirement
from pytest_kernelverify.operations.plan import LogicalKernel, PlanKey, VerificationClass

PLAN = samples.SUM32
Parts = tuple[OracleCertificate, list[Requirement], list[EvidenceRecord]]


def parts() -> Parts:
    """The certificate of a plan with three classes, its requirements and its records."""
    report = samples.cpu_report()
    certificate = next(found for found in report.certificates if found.what == PLAN)
    mine = [
        found
        for found in report.header.requirements.values()
        if found.plan == PLAN and found.stage is EvidenceStage.ORACLE
    ]
    ids = {found.id for found in mine}
    return certificate, mine, [record for record in report.records if record.requirement in ids]


def issue(certificate: OracleCertificate, requirements: list[Requirement], records: list[EvidenceRecord]) -> Any:
    return issue_certificate(
        certificate.oracle_profile,
        certificate.kernel,
        certificate.plan,
        certificate.subject,
        certificate.classes,
        certificate.receipt,
        requirements,
        records,
    )


def test_an_oracle_certificate_shall_bind_profile_kernel_operation_plan_classes_and_evidence_digest() -> None:
    certificate, requirements, records = parts()
    assert certificate.oracle_profile == "cpu-compiled"
    assert certificate.kernel == LogicalKernel("cpu-compiled", "reduce_sum", "cpu.reduce_sum", "scalar")
    assert certificate.operation == "reduce_sum"
    assert certificate.plan == PlanKey.from_text(PLAN)
    structural, analytic, numerical = (VerificationClass(name) for name in ("structural", "analytic", "numerical"))
    assert certificate.classes == (structural, analytic, numerical)
    assert certificate.certified_plan_classes == ((PLAN, structural), (PLAN, analytic), (PLAN, numerical))
    assert issue(certificate, requirements, records) == certificate
    assert issue(certificate, requirements, records[::-1]) == certificate
    reconstruct(certificate, requirements, records)


def test_a_certificate_binds_the_receipt_of_the_binary_it_certifies() -> None:
    certificate, _, records = parts()
    assert {record.receipt for record in records} == {certificate.receipt[:16]}
    assert certificate.receipt in {receipt.digest for receipt in samples.cpu_report().header.receipts.values()}


def test_a_certificate_survives_json_and_cannot_be_changed() -> None:
    certificate = parts()[0]
    assert OracleCertificate.from_json(certificate.to_json()) == certificate
    with pytest.raises(FrozenInstanceError):
        certificate.classes = ()  # type: ignore[misc]


def failing() -> EvidenceRecord:
    return next(record for record in samples.cpu_report().records if record.outcome.value == "failed")


Spoil = Callable[[Parts], Parts]
SPOILED: dict[str, tuple[Spoil, str]] = {
    "a record is missing": (lambda p: (p[0], p[1], p[2][1:]), "asks for"),
    "a record is there twice": (lambda p: (p[0], p[1], [*p[2], p[2][0]]), "asks for"),
    "a record is foreign": (lambda p: (p[0], p[1], [*p[2], failing()]), "is foreign"),
    "a class is missing": (lambda p: (p[0], p[1][1:], p[2]), "its requirements have the classes"),
    "a requirement is foreign": (
        lambda p: (p[0], [replace(p[1][0], plan="x"), *p[1][1:]], p[2]),
        "is foreign",
    ),
    "a requirement asks for nothing": (
        lambda p: (p[0], [replace(p[1][0], case_count=0), *p[1][1:]], p[2]),
        "asks for no case",
    ),
    "another binary ran": (lambda p: (replace(p[0], receipt="0" * 64), p[1], p[2]), "comes from another binary"),
    "the classes are in another order": (lambda p: (replace(p[0], classes=p[0].classes[::-1]), p[1], p[2]), "order"),
    "no class is left": (lambda p: (replace(p[0], classes=()), p[1], p[2]), "order"),
    "the profile is another": (lambda p: (replace(p[0], oracle_profile="x"), p[1], p[2]), "another profile"),
    "plan and subject are both given": (
        lambda p: (replace(p[0], subject="copy"), p[1], p[2]),
        "one plan or one subject",
    ),
    "neither plan nor subject is given": (lambda p: (replace(p[0], plan=None), p[1], p[2]), "one plan or one subject"),
}


@pytest.mark.parametrize(("spoil", "said"), SPOILED.values(), ids=SPOILED)
def test_missing_failed_errored_forged_or_incomplete_evidence_shall_prevent_issuance(spoil: Spoil, said: str) -> None:
    spoiled = spoil(parts())
    assert issue(*spoiled) is None
    with pytest.raises(ValueError, match=said):
        reconstruct(*spoiled)


@pytest.mark.parametrize("plan", [samples.WRONG_ORACLE, samples.RAISING_ORACLE])
def test_a_failed_or_erred_witness_leaves_evidence_and_no_certificate(plan: str) -> None:
    report = samples.cpu_report()
    mine = [
        found for found in report.header.requirements.values() if found.plan == plan and found.stage.value == "oracle"
    ]
    ids = {found.id for found in mine}
    records = [record for record in report.records if record.requirement in ids]
    certificate = replace(
        parts()[0],
        kernel=records[0].case.kernel,
        operation=records[0].case.kernel.operation,
        plan=PlanKey.from_text(plan),
        classes=(VerificationClass.EXACT_ARITHMETIC,),
        receipt=next(
            found.digest for found in report.header.receipts.values() if found.kernel == records[0].case.kernel
        ),
    )
    assert issue(certificate, mine, records) is None
    with pytest.raises(ValueError, match=r"is (failed|error)"):
        reconstruct(certificate, mine, records)
    assert plan not in {found.what for found in report.certificates}


def test_a_forged_evidence_digest_does_not_reconstruct() -> None:
    certificate, requirements, records = parts()
    with pytest.raises(ValueError, match=r"evidence_digest is 0+, but the records give"):
        reconstruct(replace(certificate, evidence_digest="0" * 64), requirements, records)


def test_a_declared_limit_is_allowed_as_declared_and_not_otherwise() -> None:
    certificate, requirements, records = parts()
    limited = next(record for record in samples.cpu_report().records if record.outcome.value == "deferred")
    limit = replace(
        requirements[0], verification_class="deferred", reason=limited.diagnostic, case_count=1,
        cases_digest="0" * 64,
    )  # fmt: skip
    case = replace(limited.case, kernel=certificate.kernel, plan=PLAN)
    limit = replace(limit, cases_digest=_digest(case.case_id))
    record = replace(limited, case=case, requirement=limit.id)
    assert issue(certificate, [*requirements, limit], [*records, record]) is not None
    other = replace(record, diagnostic="another reason")
    assert issue(certificate, [*requirements, limit], [*records, other]) is None
    assert issue(certificate, [*requirements, limit], records) is None


def _digest(case_id: str) -> str:
    from pytest_kernelverify.evidence.requirement import cases_digest

    return cases_digest([case_id])
