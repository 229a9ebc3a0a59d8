"""A report as text: the verdict first, one row for each kernel, failures with their first mismatch, deferrals."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage, Outcome
from pytest_kernelverify.report.journal import Journal
from pytest_kernelverify.report.report import VerificationReport

__all__ = ["Filter", "KernelRow", "deferrals", "kernel_rows", "show_journal", "show_report", "shown_word"]

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


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One kernel of a report: the outcomes of both stages in words, and the worst |error|/bound where one decided.

    ``compared`` says whether anything it left was compared at all.
    """

    name: str
    oracle: str
    target: str
    ratio: float | None
    compared: bool


def kernel_rows(records: Iterable[EvidenceRecord]) -> list[KernelRow]:
    """One row for each kernel: the target's where an operation has one, beside the oracle's of that operation."""
    cells: dict[str, dict[EvidenceStage, Counter[Outcome]]] = {}
    names: dict[str, tuple[int, str]] = {}
    ratios: dict[str, float] = {}
    compared: set[str] = set()
    for record in records:
        kernel = record.case.kernel
        row = cells.setdefault(kernel.operation, {})
        row.setdefault(record.stage, Counter())[record.outcome] += 1
        name = kernel.kernel_id if kernel.variant == "scalar" else f"{kernel.kernel_id} ({kernel.variant})"
        preferred = (0 if record.stage is EvidenceStage.TARGET else 1, name)
        names[kernel.operation] = min(names.get(kernel.operation, preferred), preferred)
        if record.output_hash is not None:
            compared.add(kernel.operation)
        if record.worst_ratio is not None:
            ratios[kernel.operation] = max(ratios.get(kernel.operation, 0.0), record.worst_ratio)
    rows = []
    for operation, row in cells.items():
        one, two = (
            _outcomes(row[stage]) if stage in row else "-" for stage in (EvidenceStage.ORACLE, EvidenceStage.TARGET)
        )
        rows.append(KernelRow(names[operation][1], one, two, ratios.get(operation), operation in compared))
    return sorted(rows, key=lambda row: row.name)


def _table(records: Iterable[EvidenceRecord]) -> list[str]:
    rows = [("kernel", "stage one", "stage two", "worst ratio")]
    rows += [
        (row.name, row.oracle, row.target, "-" if row.ratio is None else f"{row.ratio:.3g}")
        for row in kernel_rows(records)
    ]
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


def deferrals(records: Iterable[EvidenceRecord]) -> list[tuple[str, int, list[str]]]:
    """Each reason for a deferral, how many records it has and of which operations; the most frequent first."""
    operations: dict[str, set[str]] = {}
    counts: Counter[str] = Counter()
    for record in records:
        if record.outcome is Outcome.DEFERRED:
            reason = str(record.diagnostic)
            counts[reason] += 1
            operations.setdefault(reason, set()).add(record.case.kernel.operation)
    return [(reason, count, sorted(operations[reason])) for reason, count in counts.most_common()]


def _deferrals(records: Iterable[EvidenceRecord]) -> list[str]:
    found = deferrals(records)
    if not found:
        return []
    lines = ["", f"deferred: {sum(count for _, count, _ in found):,}"]
    for reason, count, operations in found:
        lines += [f"  {count:,}  {reason}", f"      {', '.join(operations)}"]
    return lines
