"""The one writer: gathers evidence from test reports, keeps the journal, writes the report when all is there."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.catalog.profile import VerificationStage
from pytest_kernelverify.evidence.record import EvidenceRecord, Outcome
from pytest_kernelverify.report.assemble import assemble
from pytest_kernelverify.report.journal import JournalWriter
from pytest_kernelverify.report.jsonl import write_report
from pytest_kernelverify.report.report import VerificationReport
from pytest_kernelverify.session.anchor import SUITE_ID
from pytest_kernelverify.session.gathered import DEAD, Gathered
from pytest_kernelverify.session.runs import owed_in, run_of
from pytest_kernelverify.session.settings import settings_key
from pytest_kernelverify.session.tally import Tally

__all__ = ["Reporter"]

_STAGES = tuple(stage.value for stage in VerificationStage)


class Reporter:
    """Registered in the process that pytest was started in, under xdist the controller."""

    def __init__(self, config: pytest.Config, made_here: Mapping[str, EvidenceRecord]) -> None:
        self.config = config
        self._made_here = made_here
        self.settings = config.stash[settings_key]
        self.tally = Tally()
        self.problems: list[str] = []
        self.note: str | None = None
        self.written: int | None = None
        self.drawn = False
        self._gathered = Gathered()
        self._seen: dict[str, tuple[str, str]] = {f"{SUITE_ID}::test_{stage}": (stage, "") for stage in _STAGES}
        self._journal: JournalWriter | None = None
        self._owed: dict[tuple[str, str], Obligation] = {}

    @property
    def journal_path(self) -> Path | None:
        """The journal, where one was left."""
        return self._journal.path if self._journal is not None and self.written is None else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """A target typed on the command line that cannot run here is refused before anything is collected."""
        if self.settings.typed and not self.config.option.collectonly:
            try:
                run_of(self.config)
            except RuntimeError as error:
                raise pytest.UsageError(f"--kv-target: {error}") from None

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        payload = getattr(report, "kernelverify", None)
        if payload is not None:
            self._take(report.nodeid, payload)
        elif report.when not in ("setup", "call", "teardown"):  # "???": xdist's word for the item of a dead worker
            self._lose(report.nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """A loop that ends early raises, and leaves the report's path as it was and the journal in place."""
        result = yield
        if self._gathered.records:
            self._finish(session)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._journal is not None:
            self._journal.close()
        nothing = not self.tally.count(Outcome.PASSED) and (self.settings.typed or len(self.tally))
        if session.exitstatus == pytest.ExitCode.OK and nothing and not self.config.option.collectonly:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    def _take(self, nodeid: str, payload: dict[str, Any]) -> None:
        self._seen[nodeid] = self._seen[nodeid.partition("[")[0]] = payload["stage"], payload["token"]
        for line in payload["records"]:
            self._add(self._made_here.get(line) or EvidenceRecord.from_json(json.loads(line)))
        if "verdict" not in payload:
            return
        if payload["verdict"] is None:
            self.problems.append(f"{nodeid} ended before it had any evidence")
            return
        obligation = self._obligations()[payload["stage"], payload["token"]]
        self._gathered.selected[obligation] = None
        self.tally.add(nodeid, obligation, Outcome(payload["verdict"]), payload["line"])

    def _add(self, record: EvidenceRecord) -> None:
        try:
            if self._gathered.add(record):
                self._tell(record)
        except ValueError as error:
            self.problems.append(str(error))

    def _tell(self, *records: EvidenceRecord) -> None:
        if self.settings.report is not None and self._journal is None:
            run = {"target": self.settings.target, "seed": self.settings.seed}
            self._journal = JournalWriter(self.settings.report, run)
        for record in records:
            if self._journal is not None:
                self._journal.append(record)
            self.config.hook.pytest_kernelverify_record(record=record)

    def _lose(self, nodeid: str) -> None:
        """The item of a dead worker: an error record for each of its cases."""
        stage, token = self._attribute(nodeid)
        if token is None:
            return
        if stage is None:
            self.problems.append(f"{nodeid} died with its worker before it said which stage it verifies")
            return
        obligation = self._obligations()[stage, token]
        self._gathered.selected[obligation] = None
        self._tell(*self._gathered.lose(run_of(self.config), obligation))
        self.tally.add(nodeid, obligation, Outcome.ERROR, f"{obligation.token}: {DEAD}")

    def _attribute(self, nodeid: str) -> tuple[str | None, str | None]:
        """Stage and token of an item that left no report of its own; no token where it is none of ours."""
        if nodeid in self._seen:
            return self._seen[nodeid]
        function, _, rest = nodeid.partition("[")
        token = rest.removesuffix("]")
        stages = [stage for stage in _STAGES if (stage, token) in self._obligations()]
        if not stages:
            return None, None
        if function in self._seen:
            return self._seen[function][0], token
        return (stages[0] if len(stages) == 1 else None), token

    def _obligations(self) -> dict[tuple[str, str], Obligation]:
        if not self._owed:
            owed = [o for stage in VerificationStage for o in owed_in(self.config, stage)]
            self._owed = {(o.stage.value, o.token): o for o in owed}
        return self._owed

    def _finish(self, session: pytest.Session) -> None:
        if not self.problems and (self.settings.report is not None or self.settings.html is not None):
            self._write()
        if self.problems:
            session.testsfailed += 1

    def _write(self) -> None:
        run, gathered = run_of(self.config), self._gathered
        settled = gathered.settle(run)
        self._tell(*settled)
        if settled:
            self.note = f"{len(settled)} records rest on a proof whose process died; none of them passed"
        report = assemble(run, tuple(gathered.selected), gathered.records.values())
        if self.settings.report is not None and self._keep("--kv-report", write_report, report, self.settings.report):
            self.written = len(report.records)
            if self._journal is not None:
                self._journal.remove()
        if self.settings.html is not None:
            from pytest_kernelverify.report.html import write_html

            self.drawn = self._keep("--kv-html", write_html, report, self.settings.html)

    def _keep(
        self, option: str, write: Callable[[VerificationReport, Path], None], report: VerificationReport, path: Path
    ) -> bool:
        try:
            write(report, path)
        except OSError as error:
            self.problems.append(f"{option}: {error}")
            return False
        return True
