"""VerificationReport: one header and its records, immutable; schema v3 is its only form on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.evidence.certificate import OracleCertificate
from pytest_kernelverify.evidence.record import EvidenceRecord
from pytest_kernelverify.report.check import check_report
from pytest_kernelverify.report.header import Header
from pytest_kernelverify.report.jsonl import decode, parse
from pytest_kernelverify.report.summary import Summary, summarize
from pytest_kernelverify.report.view import view_of

__all__ = ["VerificationReport"]


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """The evidence of one run, or a view of it. ``docs/report-v3.md`` describes every field."""

    header: Header
    records: tuple[EvidenceRecord, ...]

    @property
    def certificates(self) -> tuple[OracleCertificate, ...]:
        """The certificates that follow from the records, in the order of their ids."""
        return tuple(certificate for _, certificate in sorted(self.header.certificates.items()))

    def summary(self) -> Summary:
        """Counts, deferrals with their reasons, and ``gate_passed``."""
        return summarize(self.header, self.records)

    def to_jsonl(self) -> str:
        """The canonical text: the header's line, then one line a record."""
        return "\n".join((self.header.line, *(record.line for record in self.records), ""))

    @classmethod
    def from_jsonl(cls, text: str) -> VerificationReport:
        """Read a report strictly and offline; ValueError naming the first line that does not hold.

        Everything another field, the case id, a certificate or an installed profile determines is derived again.
        """
        if not isinstance(text, str):
            raise TypeError(f"a report's text must be a string, not {type(text).__name__}")
        header, records = parse(text)
        check_report(header, records)
        return cls(header, records)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> VerificationReport:
        """Read a report's file as ``from_jsonl`` does; OSError where it cannot be read."""
        return cls.from_jsonl(decode(Path(path).read_bytes()))

    def view(self, keep: Callable[[Obligation], bool]) -> VerificationReport:
        """The obligations ``keep`` chooses, with the Stage One obligations they rest on, as a report of its own."""
        return type(self)(*view_of(self.header, self.records, keep))
