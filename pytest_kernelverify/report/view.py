"""A view: the selected obligations of a report with everything they rest on, as a report of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType

from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.catalog.profile import VerificationProfile
from pytest_kernelverify.evidence.certificate import OracleCertificate
from pytest_kernelverify.evidence.oracle_reference import OracleReference
from pytest_kernelverify.evidence.policy import POLICIES
from pytest_kernelverify.evidence.receipt import Receipt
from pytest_kernelverify.evidence.record import EvidenceRecord
from pytest_kernelverify.evidence.requirement import Requirement
from pytest_kernelverify.report.check import certificates_of, owners_of
from pytest_kernelverify.report.header import Header, digest_of_records
from pytest_kernelverify.report.owed import Owed

__all__ = ["header_of", "view_of"]


def header_of(
    *,
    package_version: str,
    seed: int,
    complete: bool,
    target: VerificationProfile,
    oracle: VerificationProfile,
    records: Sequence[EvidenceRecord],
    certificates: Iterable[OracleCertificate],
    receipts: Iterable[Receipt],
    requirements: Iterable[Requirement],
    oracle_references: Iterable[OracleReference],
) -> Header:
    """A header for sorted ``records``: of receipts only those they refer to, of policies those they were judged by."""
    used = {record.receipt for record in records}
    return Header(
        package_version=package_version,
        seed=seed,
        complete=complete,
        target=target,
        oracle=oracle,
        receipts=MappingProxyType({receipt.id: receipt for receipt in receipts if receipt.id in used}),
        requirements=MappingProxyType({requirement.id: requirement for requirement in requirements}),
        policies=MappingProxyType({name: POLICIES[name] for name in {record.policy for record in records}}),
        oracle_references=MappingProxyType({reference.id: reference for reference in oracle_references}),
        certificates=MappingProxyType({certificate.id: certificate for certificate in certificates}),
        record_count=len(records),
        records_digest=digest_of_records(records),
    )


def view_of(
    header: Header, records: Sequence[EvidenceRecord], keep: Callable[[Obligation], bool]
) -> tuple[Header, tuple[EvidenceRecord, ...]]:
    """Header and records of the kept obligations and of the Stage One obligations they rest on."""
    owed = Owed.by(header.target, header.oracle)
    owners = owners_of(header, records, owed)
    chosen = {obligation for obligation in set(owners.values()) if keep(obligation)}
    chosen.update(needed for obligation in tuple(chosen) for needed in owed.rests_on(obligation))
    kept = tuple(record for record in records if owners[record.requirement] in chosen)
    view = header_of(
        package_version=header.package_version,
        seed=header.seed,
        target=header.target,
        oracle=header.oracle,
        complete=len(chosen) == len(owed.obligations),
        records=kept,
        certificates=(),
        receipts=header.receipts.values(),
        requirements=[header.requirements[name] for name, owner in owners.items() if owner in chosen],
        oracle_references=header.oracle_references.values(),
    )
    certificates = certificates_of(view, kept, owed, {name: owners[name] for name in view.requirements})
    return replace(view, certificates=MappingProxyType({found.id: found for found in certificates})), kept
