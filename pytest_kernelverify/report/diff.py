"""Two reports side by side: records added, removed, or with another outcome or result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_kernelverify.evidence.record import EvidenceRecord
from pytest_kernelverify.report.report import VerificationReport

__all__ = ["Difference", "diff_reports"]

Key = tuple[int, str, str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed from one report to the next, as lines of text; nothing where they say the same."""

    header: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        parts = (("header", self.header), ("added", self.added), ("removed", self.removed), ("changed", self.changed))
        return [line for name, found in parts if found for line in (f"{name}: {len(found):,}", *found)]


def diff_reports(before: VerificationReport, after: VerificationReport) -> Difference:
    """Records are paired by stage, case id, kernel and variant."""
    old, new = (_by_key(report) for report in (before, after))
    return Difference(
        tuple(_header_changes(before, after)),
        tuple(f"  {_shown(record)}: {record.outcome.value}" for key, record in new.items() if key not in old),
        tuple(f"  {_shown(record)}: {record.outcome.value}" for key, record in old.items() if key not in new),
        tuple(
            f"  {_shown(record)}: {change}"
            for key, record in new.items()
            if key in old and (change := _change(old[key], record))
        ),
    )


def _by_key(report: VerificationReport) -> Mapping[Key, EvidenceRecord]:
    return {record.sort_key: record for record in report.records}


def _shown(record: EvidenceRecord) -> str:
    return f"{record.stage.value} {record.case.case_id} ({record.case.kernel.kernel_id}, {record.case.kernel.variant})"


def _change(old: EvidenceRecord, new: EvidenceRecord) -> str:
    changes = []
    if old.outcome is not new.outcome:
        changes.append(f"{old.outcome.value} -> {new.outcome.value}")
    if old.target_input_hashes != new.target_input_hashes:
        changes.append("other inputs")
    if old.output_hash != new.output_hash:
        changes.append(f"result {_short(old.output_hash)} -> {_short(new.output_hash)}")
    return ", ".join(changes)


def _short(digest: str | None) -> str:
    return "none" if digest is None else digest[:16]


def _header_changes(before: VerificationReport, after: VerificationReport) -> list[str]:
    old, new = before.header, after.header
    pairs = (
        ("target", old.target.profile_id, new.target.profile_id),
        ("oracle", old.oracle.profile_id, new.oracle.profile_id),
        ("seed", old.seed, new.seed),
        ("package_version", old.package_version, new.package_version),
        ("complete", old.complete, new.complete),
    )
    changes = [f"  {name}: {a} -> {b}" for name, a, b in pairs if a != b]
    binaries = [sorted({receipt.artifact[:16] for receipt in header.receipts.values()}) for header in (old, new)]
    if binaries[0] != binaries[1]:
        changes.append(f"  artifacts: {', '.join(binaries[0])} -> {', '.join(binaries[1])}")
    return changes
