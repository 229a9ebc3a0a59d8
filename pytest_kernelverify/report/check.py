"""Whether a report holds together: order, digests, references, requirements and certificates. Offline."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NoReturn

from pytest_kernelverify import __version__
from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.catalog.load import verification_profile
from pytest_kernelverify.evidence.certificate import OracleCertificate, issue_certificate, reconstruct
from pytest_kernelverify.evidence.policy import POLICIES
from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage, Outcome
from pytest_kernelverify.evidence.requirement import cases_digest
from pytest_kernelverify.operations.plan import LogicalKernel
from pytest_kernelverify.report.check_cases import check_cases
from pytest_kernelverify.report.check_record import Expected, Surroundings, check_record
from pytest_kernelverify.report.header import Header, digest_of_records
from pytest_kernelverify.report.owed import Owed, name_of
from pytest_kernelverify.stages.installed import installed_reference

__all__ = ["certificates_of", "check_report", "owners_of"]

_FIRST_RECORD = 2  # its line in the file; the header is line 1


def check_report(header: Header, records: Sequence[EvidenceRecord], *, cases: bool = True) -> None:
    """ValueError naming the line of the first thing that does not hold.

    ``cases`` also regenerates every case from the installed catalog and compares what its id determines.
    """
    _check_reference(header)
    _check_order(header, records)
    owed = _owed(header)
    owners = owners_of(header, records, owed)
    _check_presence(header, owed, owners)
    certificates = certificates_of(header, records, owed, owners)
    _check_certificates(header, records, certificates)
    around = Surroundings(header, owed, {certificate.what: certificate for certificate in certificates})
    expected = {name: Expected.of(header.requirements[name], owner, around) for name, owner in owners.items()}
    for line, record in enumerate(records, _FIRST_RECORD):
        try:
            check_record(record, expected[record.requirement], header)
        except ValueError as error:
            raise ValueError(f"line {line}: record {record.case.case_id}: {error}") from None
    _check_receipts(header, records)
    _check_twins(records)
    if cases:
        check_cases(header, records, owed, owners)


def _refuse(line: int, problem: str) -> NoReturn:
    raise ValueError(f"line {line}: {problem}")


def _check_reference(header: Header) -> None:
    reference = installed_reference()
    if list(header.oracle_references.values()) != [reference]:
        _refuse(
            1,
            f"the report was written by pytest-kernelverify {header.package_version} with another Generic or case"
            f" catalog than the installed {__version__}; read it with the version that wrote it",
        )


def _owed(header: Header) -> Owed:
    for role, profile in (("target", header.target), ("oracle", header.oracle)):
        try:
            installed = verification_profile(profile.profile_id)
        except ValueError as error:
            _refuse(1, f"{role}: {error}")
        if profile != installed:
            _refuse(1, f"{role}: profile {profile.profile_id!r} is not as installed; expected {installed}")
    try:
        return Owed.by(header.target, header.oracle)
    except ValueError as error:
        _refuse(1, str(error))


def _check_order(header: Header, records: Sequence[EvidenceRecord]) -> None:
    for line, (before, after) in enumerate(pairwise(records), _FIRST_RECORD + 1):
        if before.sort_key >= after.sort_key:
            what = "a duplicate" if before.sort_key == after.sort_key else "out of order"
            _refuse(
                line, f"record {after.case.case_id} is {what}; records are sorted by stage, case id, kernel, variant"
            )
    if len(records) != header.record_count:
        _refuse(1, f"record_count is {header.record_count}, but there are {len(records)} record(s)")
    found = digest_of_records(records)
    if found != header.records_digest:
        _refuse(1, f"records_digest is {header.records_digest}, but the records give {found}")


def owners_of(header: Header, records: Sequence[EvidenceRecord], owed: Owed) -> dict[str, Obligation]:
    """For each requirement the obligation it belongs to; ValueError where its records are not the ones it asks for."""
    found: dict[str, list[str]] = {name: [] for name in header.requirements}
    for line, record in enumerate(records, _FIRST_RECORD):
        if record.requirement not in found:
            _refuse(line, f"record {record.case.case_id} refers to the requirement {record.requirement}, which is none")
        found[record.requirement].append(record.case.case_id)
    owners = {}
    for name, requirement in header.requirements.items():
        ids = found[name]
        if len(ids) != requirement.case_count or cases_digest(ids) != requirement.cases_digest or not ids:
            _refuse(
                1,
                f"requirement {name}, {requirement.what}, asks for {requirement.case_count} case(s); {len(ids)} are"
                " present: a record is missing, foreign or extra",
            )
        if requirement.stage not in (EvidenceStage.ORACLE, EvidenceStage.TARGET):
            _refuse(1, f"requirement {name}: this version has nothing to check stage {requirement.stage.value} against")
        try:
            owners[name] = owed.owner(requirement, ids)
        except ValueError as error:
            _refuse(1, f"requirement {name}, {error}")
    return owners


def _check_presence(header: Header, owed: Owed, owners: dict[str, Obligation]) -> None:
    present = set(owners.values())
    for obligation in present:
        for needed in owed.rests_on(obligation):
            if needed not in present:
                _refuse(1, f"{_shown(obligation)} rests on {_shown(needed)}, which is missing")
    if header.complete != (len(present) == len(owed.obligations)):
        absent = [obligation for obligation in owed.obligations if obligation not in present]
        what = f"{_shown(absent[0])} is missing" if absent else "nothing is missing"
        _refuse(1, f"complete is {str(header.complete).lower()}, but {what}")


def _shown(obligation: Obligation) -> str:
    return f"{name_of(obligation)} {obligation.verification_class.value} ({obligation.stage.value})"


def certificates_of(
    header: Header, records: Sequence[EvidenceRecord], owed: Owed, owners: dict[str, Obligation]
) -> tuple[OracleCertificate, ...]:
    """The certificates that follow from the records: one for each oracle plan or subject that is present whole."""
    present = set(owners.values())
    oracle = {name: name_of(owner) for name, owner in owners.items() if owner.stage is EvidenceStage.ORACLE}
    requirements: dict[str, list[str]] = {}
    for requirement, name in oracle.items():
        requirements.setdefault(name, []).append(requirement)
    evidence: dict[str, list[EvidenceRecord]] = {}
    for record in records:
        if record.requirement in oracle:
            evidence.setdefault(oracle[record.requirement], []).append(record)
    receipts: dict[LogicalKernel, str] = {receipt.kernel: receipt.digest for receipt in header.receipts.values()}
    found = []
    for name, obligations in owed.by_oracle_name.items():
        first = obligations[0]
        if first.reason is not None or first.kernel not in receipts or not present.issuperset(obligations):
            continue
        certificate = issue_certificate(
            header.oracle.profile_id,
            first.kernel,
            first.plan,
            first.subject,
            tuple(obligation.verification_class for obligation in obligations),
            receipts[first.kernel],
            [header.requirements[requirement] for requirement in requirements[name]],
            evidence[name],
        )
        if certificate is not None:
            found.append(certificate)
    return tuple(found)


def _check_certificates(
    header: Header, records: Sequence[EvidenceRecord], certificates: tuple[OracleCertificate, ...]
) -> None:
    expected = {certificate.id: certificate for certificate in certificates}
    for name, certificate in header.certificates.items():
        if name in expected:
            continue
        mine = [
            requirement
            for requirement in header.requirements.values()
            if requirement.stage is EvidenceStage.ORACLE
            and certificate.what == (requirement.plan or requirement.subject)
        ]
        ids = {requirement.id for requirement in mine}
        try:
            reconstruct(certificate, mine, [record for record in records if record.requirement in ids])
        except ValueError as error:
            _refuse(1, str(error))
        _refuse(1, f"certificate {name} of {certificate.what}: the installed profile and the evidence do not give it")
    for name, certificate in expected.items():
        if name not in header.certificates:
            _refuse(1, f"the certificate {name} of {certificate.what} is missing; its evidence is complete")


def _check_receipts(header: Header, records: Sequence[EvidenceRecord]) -> None:
    used = {record.receipt for record in records}
    by_kernel: dict[LogicalKernel, str] = {}
    libraries: dict[str, tuple[str, tuple[object, ...]]] = {}
    sources: dict[tuple[str, str], str] = {}
    for name, receipt in header.receipts.items():
        try:
            receipt.validate()
        except ValueError as error:
            _refuse(1, f"receipt {name}: {error}")
        if name not in used:
            _refuse(1, f"receipt {name}: no record refers to it")
        other = by_kernel.setdefault(receipt.kernel, name)
        if other != name:
            _refuse(1, f"receipts {other} and {name} are of one kernel, {receipt.kernel.kernel_id}")
        profile = header.oracle if receipt.kernel.profile_id == header.oracle.profile_id else header.target
        if (receipt.kernel.profile_id, receipt.provider) != (profile.profile_id, profile.provider):
            _refuse(1, f"receipt {name}: its provider or profile is not the one of {profile.profile_id!r}")
        build = (
            receipt.artifact,
            receipt.compiler,
            receipt.options,
            receipt.architecture,
            receipt.operating_system,
            receipt.endianness,
            receipt.pointer_bits,
        )
        first = libraries.setdefault(receipt.kernel.profile_id, (name, build))
        if first[1] != build:
            _refuse(1, f"receipts {first[0]} and {name} of one library differ in build or artifact")
        for source, digest in receipt.sources:
            if sources.setdefault((receipt.kernel.profile_id, source), digest) != digest:
                _refuse(1, f"receipt {name}: another receipt of its library has another digest of {source}")
    policies = {record.policy for record in records}
    if dict(header.policies) != {name: POLICIES[name] for name in sorted(policies)}:
        _refuse(1, f"policies are not exactly the definitions of {', '.join(sorted(policies))}")


def _check_twins(records: Sequence[EvidenceRecord]) -> None:
    """One case has one right result, whoever computed it, unless a looser fact was accepted or a bound decided."""
    right: dict[str, tuple[int, str]] = {}
    for line, record in enumerate(records, _FIRST_RECORD):
        if record.outcome is not Outcome.PASSED or record.output_hash is None or record.enveloped or record.accepted:
            continue
        other, output_hash = right.setdefault(record.case.case_id, (line, record.output_hash))
        if output_hash != record.output_hash:
            _refuse(line, f"record {record.case.case_id} passed with another output_hash than line {other}, its twin")
