"""bind_report: everything a run left behind becomes one report, or a ValueError says why it cannot."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_kernelverify import __version__
from pytest_kernelverify.catalog.profile import VerificationProfile
from pytest_kernelverify.evidence.certificate import OracleCertificate
from pytest_kernelverify.evidence.oracle_reference import OracleReference
from pytest_kernelverify.evidence.receipt import Receipt
from pytest_kernelverify.evidence.record import EvidenceRecord
from pytest_kernelverify.evidence.requirement import Requirement
from pytest_kernelverify.report.check import check_report
from pytest_kernelverify.report.report import VerificationReport
from pytest_kernelverify.report.view import header_of

__all__ = ["bind_report"]


def bind_report(
    *,
    target: VerificationProfile,
    oracle: VerificationProfile,
    seed: int,
    complete: bool,
    records: Iterable[EvidenceRecord],
    certificates: Iterable[OracleCertificate],
    receipts: Iterable[Receipt],
    requirements: Iterable[Requirement],
    oracle_reference: OracleReference,
) -> VerificationReport:
    """One report of these parts, in any order; receipts no record refers to are left out.

    ValueError, naming the line the report would have, where the parts do not belong together.
    """
    ordered = tuple(sorted(records, key=lambda record: record.sort_key))
    header = header_of(
        package_version=__version__,
        seed=seed,
        complete=complete,
        target=target,
        oracle=oracle,
        records=ordered,
        certificates=certificates,
        receipts=receipts,
        requirements=requirements,
        oracle_references=(oracle_reference,),
    )
    check_report(header, ordered, cases=False)
    return VerificationReport(header, ordered)
