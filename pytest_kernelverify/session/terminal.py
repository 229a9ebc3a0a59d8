"""What a run shows: one header line, the words BLOCKED and DEFERRED, and the section ``kernelverify``."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from pytest_kernelverify.evidence.record import EvidenceStage, Outcome
from pytest_kernelverify.session.reporter import Reporter
from pytest_kernelverify.session.runs import profile_key

__all__ = ["Terminal"]

SHOWN = 10
Status = tuple[str, str, tuple[str, dict[str, bool]]]


class Terminal:
    """Registered beside the reporter, whose tally it shows."""

    def __init__(self, config: pytest.Config, reporter: Reporter) -> None:
        self._config = config
        self._reporter = reporter

    def pytest_report_header(self) -> str:
        profile, seed = self._config.stash[profile_key], self._reporter.settings.seed
        how = f"{profile.carrier} carrier, {profile.provider} provider"
        return f"kernelverify: target {profile.profile_id} ({how}), seed {seed}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Status | None:
        verdict = (getattr(report, "kernelverify", None) or {}).get("verdict")
        if verdict == Outcome.BLOCKED.value and report.failed:
            return "blocked", "B", ("BLOCKED", {"yellow": True})
        if verdict == Outcome.DEFERRED.value and report.skipped:
            return "deferred", "d", ("DEFERRED", {"yellow": True})
        return None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._config.option.verbose < -1 or self._config.option.collectonly:
            return
        lines = list(self._lines())
        if lines:
            terminalreporter.write_sep("=", "kernelverify")
            for line in lines:
                terminalreporter.write_line(line)

    def _lines(self) -> Iterator[str]:
        tally = self._reporter.tally
        if len(tally):
            yield from self._table()
            yield from self._blocked()
            yield from self._wrong()
            yield from self._deferred()
        elif self._reporter.settings.typed:
            yield "nothing was verified: no test that requests kv_case was run"
        if self._reporter.note is not None:
            yield self._reporter.note
        problems = self._reporter.problems
        yield from (f"problem: {problem}" for problem in problems[:SHOWN])
        if len(problems) > SHOWN:
            yield f"and {len(problems) - SHOWN} more problems"
        yield from self._report()

    def _table(self) -> Iterator[str]:
        target = self._config.stash[profile_key].profile_id
        cells = [("kernel", "variant", "Stage One", target)]
        cells += [
            (row.operation, row.variant, row.cell(EvidenceStage.ORACLE), row.cell(EvidenceStage.TARGET))
            for row in self._reporter.tally.rows()
        ]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row_cells in cells:
            yield "  ".join(cell.ljust(width) for cell, width in zip(row_cells, widths, strict=True)).rstrip()

    def _blocked(self) -> Iterator[str]:
        causes = Counter((o.kernel.operation, line) for o, line in self._reporter.tally.lines(Outcome.BLOCKED))
        by_operation: dict[tuple[str, str], int] = {}
        for (operation, line), count in causes.items():
            cause = line.partition(": blocked: ")[2]
            by_operation[operation, cause] = by_operation.get((operation, cause), 0) + count
        for (operation, cause), count in by_operation.items():
            yield f"{operation}: {cause} -> {count} target item{'s' if count > 1 else ''} blocked"

    def _wrong(self) -> Iterator[str]:
        wrong = self._reporter.tally.lines(Outcome.FAILED, Outcome.ERROR)
        for obligation, line in wrong[:SHOWN]:
            yield f"{obligation.stage.value} {line}"
        if len(wrong) > SHOWN:
            yield f"and {len(wrong) - SHOWN} more that failed or ended in an error"

    def _deferred(self) -> Iterator[str]:
        reasons = Counter(line for _, line in self._reporter.tally.lines(Outcome.DEFERRED))
        for reason, count in sorted(reasons.items()):
            yield f"{count} deferred: {reason}"

    def _report(self) -> Iterator[str]:
        reporter = self._reporter
        if reporter.written is not None:
            yield f"report: {_shown(self._config, reporter.settings.report)} ({reporter.written} records)"
        elif reporter.journal_path is not None:
            journal = _shown(self._config, reporter.journal_path)
            report = _shown(self._config, reporter.settings.report)
            yield f"incomplete: {report} was left as it was; what there is stands in {journal}"
        if reporter.drawn:
            yield f"page: {_shown(self._config, reporter.settings.html)}"


def _shown(config: pytest.Config, path: os.PathLike[str] | None) -> str:
    try:
        return os.path.relpath(str(path), config.invocation_params.dir)
    except ValueError:  # another drive on Windows
        return str(path)
