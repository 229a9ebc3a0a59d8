"""A report as text: the verdict first, one row for each kernel, failures with their first mismatch, deferrals."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage, Outcome
from pytest_kernelverify.report.journal import Journal
from pytest_kernelverify.report.report import VerificationReport

__all__ = ["Filter", "show_journal", "show_report"]

_FAILURES_SHOWN = 20
_BAD = (Outcome.FAILED, Outcome.ERROR, Outcome.BLOCKED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which records to show; an empty tuple lets every value through."""

    stages: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()

    def keeps(self, record: EvidenceRecord) -> bool:
        chosen = (
            (self.stages, record.stage.value),
            (self.classes, record.verification_class),
            (self.outcomes, record.outcome.value),
            (self.operations, record.case.kernel.operation),
        )
        return all(not allowed or value in allowed for allowed, value in chosen)

    @property
    def text(self) -> str:
        parts = (*self.stages, *self.classes, *self.outcomes, *self.operations)
        return ", ".join(parts)


def show_report(report: VerificationReport, chosen: Filter) -> str:
    """The report as lines of text; the verdict is that of the whole report, whatever is filtered."""
    header, summary = report.header, report.summary()
    verdict = "PASSED" if summary.gate_passed else "NOT PASSED"
    scope = "" if header.complete else ", a view"
    lines = [
        f"{verdict}: {header.target.profile_id} against {header.oracle.profile_id}"
        f" ({summary.records:,} records, seed {header.seed}{scope})"
    ]
    for stage in (EvidenceStage.ORACLE, EvidenceStage.TARGET):
        found = Counter(record.outcome for record in report.records if record.stage is stage)
        if found:
            lines.append(f"  {stage.value}: {_outcomes(found)}")
    if summary.certificates:
        lines.append(f"  {summary.certificates:,} certificate(s)")
    if summary.self_comparisons:
        lines.append(f"  {summary.self_comparisons:,} self comparison(s): target and oracle are one function")
    for fact, count in summary.accepted.items():
        lines.append(f"  {count:,} result(s) accepted under the declared fact {fact}")
    if not summary.gate_passed and not any(record.outcome in _BAD for record in report.records):
        lines.append(f"  nothing ran in: {', '.join(_idle(report)) or 'any stage'}")
    return "\n".join([*lines, *_body(report.records, chosen)])


def show_journal(journal: Journal, chosen: Filter) -> str:
    """What an unfinished run left, as lines of text."""
    what = ", ".join(f"{name} {value}" for name, value in sorted(journal.run.items()) if isinstance(value, (str, int)))
    lines = [f"INCOMPLETE: the run ended early and left {len(journal.records):,} record(s)"]
    if what:
        lines.append(f"  {what}")
    if journal.cut:
        lines.append("  its last line was cut and is left out")
    return "\n".join([*lines, *_body(journal.records, chosen)])


def _idle(report: VerificationReport) -> list[str]:
    ran = {record.stage.value for record in report.records if record.outcome is not Outcome.DEFERRED}
    return [stage for stage in report.summary().required_stages if stage not in ran]


def _outcomes(found: Counter[Outcome]) -> str:
    return ", ".join(f"{found[outcome]:,} {outcome.value}" for outcome in Outcome if found[outcome])


def _body(records: Sequence[EvidenceRecord], chosen: Filter) -> list[str]:
    numbered = [(line, record) for line, record in enumerate(records, 2) if chosen.keeps(record)]
    lines = []
    if chosen.text:
        lines += ["", f"shown: {len(numbered):,} record(s) that are {chosen.text}"]
    kept = [record for _, record in numbered]
    if kept:
        lines += ["", *_table(kept)]
    bad = [(line, record) for line, record in numbered if record.outcome in _BAD]
    if bad:
        groups: dict[object, list[tuple[int, EvidenceRecord]]] = {}
        for line, record in bad:
            alone = record.outcome is Outcome.FAILED
            groups.setdefault(line if alone else (record.stage, record.diagnostic), []).append((line, record))
        lines += ["", f"failed, in error or blocked: {len(bad):,}"]
        for group in list(groups.values())[:_FAILURES_SHOWN]:
            lines += _failure(*group[0], more=len(group) - 1)
        if len(groups) > _FAILURES_SHOWN:
            lines.append(f"  and {len(groups) - _FAILURES_SHOWN:,} more kinds; --json shows all")
    return [*lines, *_deferrals(kept)]


def _table(records: Iterable[EvidenceRecord]) -> list[str]:
    """One row for each kernel: the target's where an operation has one, beside the oracle's of that operation."""
    cells: dict[str, dict[EvidenceStage, Counter[Outcome]]] = {}
    names: dict[str, tuple[int, str]] = {}
    ratios: dict[str, float] = {}
    for record in records:
        kernel = record.case.kernel
        row = cells.setdefault(kernel.operation, {})
        row.setdefault(record.stage, Counter())[record.outcome] += 1
        name = kernel.kernel_id if kernel.variant == "scalar" else f"{kernel.kernel_id} ({kernel.variant})"
        preferred = (0 if record.stage is EvidenceStage.TARGET else 1, name)
        names[kernel.operation] = min(names.get(kernel.operation, preferred), preferred)
        if record.worst_ratio is not None:
            ratios[kernel.operation] = max(ratios.get(kernel.operation, 0.0), record.worst_ratio)
    rows = [("kernel", "stage one", "stage two", "worst ratio")]
    for operation, row in cells.items():
        ratio = f"{ratios[operation]:.3g}" if operation in ratios else "-"
        one, two = (
            _outcomes(row[stage]) if stage in row else "-" for stage in (EvidenceStage.ORACLE, EvidenceStage.TARGET)
        )
        rows.append((names[operation][1], one, two, ratio))
    rows[1:] = sorted(rows[1:])
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _failure(line: int, record: EvidenceRecord, more: int) -> list[str]:
    likewise = f", and {more:,} more for the same reason" if more else ""
    lines = [f"  line {line}  {record.stage.value}  {record.outcome.value}  {record.case.case_id}{likewise}"]
    first = record.first_mismatch
    if record.outcome is Outcome.FAILED and first is not None:
        want, got = (shown_word(word, record.case.output_dtype) for word in (first.expected, first.actual))
        lines.append(f"    first mismatch at {list(first.coordinate)}: got {got}, want {want}")
    lines.append(f"    {record.diagnostic}")
    return lines


def shown_word(word: int, dtype: str) -> str:
    """A word in hex and as its value."""
    if dtype == "f32":
        return f"0x{word:08X} ({struct.unpack('<f', struct.pack('<I', word))[0]:.9g})"
    if dtype == "i32":
        return f"0x{word:08X} ({word - (1 << 32) if word >> 31 else word})"
    return f"0x{word:02X} ({bool(word)})"


def _deferrals(records: Iterable[EvidenceRecord]) -> list[str]:
    reasons: dict[str, dict[str, None]] = {}
    counts: Counter[str] = Counter()
    for record in records:
        if record.outcome is Outcome.DEFERRED:
            reason = str(record.diagnostic)
            counts[reason] += 1
            reasons.setdefault(reason, {})[record.case.kernel.operation] = None
    if not counts:
        return []
    lines = ["", f"deferred: {sum(counts.values()):,}"]
    for reason, count in counts.most_common():
        lines.append(f"  {count:,}  {reason}")
        lines.append(f"      {', '.join(sorted(reasons[reason]))}")
    return lines
