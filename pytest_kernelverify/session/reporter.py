"""The one writer: gathers evidence from test reports, keeps the journal, writes the report when all is there."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.catalog.profile import VerificationStage
from pytest_kernelverify.evidence.record import EvidenceRecord, Outcome
from pytest_kernelverify.session.anchor import SUITE_ID
from pytest_kernelverify.session.runs import owed_in, run_of
from pytest_kernelverify.session.settings import settings_key
from pytest_kernelverify.session.tally import Tally

if TYPE_CHECKING:
    from pytest_kernelverify.report.journal import JournalWriter

__all__ = ["Reporter"]

_STAGES = tuple(stage.value for stage in VerificationStage)

DEAD = "the process died while this item ran"
DEAD_PROOF = "the process died while an item that needs this proof ran"


class Reporter:
    """Registered in the process that pytest was started in, under xdist the controller."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings = config.stash[settings_key]
        self.tally = Tally()
        self.problems: list[str] = []
        self.written: int | None = None
        self._records: dict[tuple[Any, ...], EvidenceRecord] = {}
        self._selected: dict[Obligation, None] = {}
        self._seen: dict[str, tuple[str, str]] = {f"{SUITE_ID}::test_{stage}": (stage, "") for stage in _STAGES}
        self._crashed = False
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
        if self._records:
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
        self._add(EvidenceRecord.from_json(json.loads(line)) for line in payload["records"])
        if "verdict" not in payload:
            return
        if payload["verdict"] is None:
            self.problems.append(f"{nodeid} ended before it had any evidence")
            return
        obligation = self._obligations()[payload["stage"], payload["token"]]
        self._selected[obligation] = None
        self.tally.add(nodeid, obligation, Outcome(payload["verdict"]), payload["line"])

    def _add(self, records: Iterable[EvidenceRecord]) -> None:
        for record in records:
            known = self._records.setdefault(record.sort_key, record)
            if known is not record:
                if known.digest != record.digest:
                    self.problems.append(f"two processes disagree about {record.stage.value} {record.case.case_id}")
                continue
            if self.settings.report is not None:
                self._write_journal(record)
            self.config.hook.pytest_kernelverify_record(record=record)

    def _write_journal(self, record: EvidenceRecord) -> None:
        from pytest_kernelverify.report.journal import JournalWriter

        assert self.settings.report is not None
        if self._journal is None:
            run = {"target": self.settings.target, "seed": self.settings.seed}
            self._journal = JournalWriter(self.settings.report, run)
        self._journal.append(record)

    def _lose(self, nodeid: str) -> None:
        """The item of a dead worker: an error record for each of its cases."""
        from pytest_kernelverify.stages.lost import lost_evidence

        stage, token = self._attribute(nodeid)
        if token is None:
            return
        if stage is None:
            self.problems.append(f"{nodeid} died with its worker before it said which stage it verifies")
            return
        obligation = self._obligations()[stage, token]
        self._crashed = True
        self._selected[obligation] = None
        self._add(lost_evidence(run_of(self.config), obligation, DEAD))
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
        if not self.problems and self.settings.report is not None:
            self._write(self.settings.report)
        if self.problems:
            session.testsfailed += 1

    def _write(self, path: Path) -> None:
        from pytest_kernelverify.report.assemble import assemble, selection_closure
        from pytest_kernelverify.report.jsonl import write_report
        from pytest_kernelverify.stages.lost import lost_evidence

        run = run_of(self.config)
        if self._crashed:
            there = {record.requirement for record in self._records.values()}
            for owed in selection_closure(run, self._selected):
                if not all(requirement.id in there for requirement in run.requirements([owed])):
                    self._add(lost_evidence(run, owed, DEAD_PROOF))
        report = assemble(run, tuple(self._selected), self._records.values())
        try:
            write_report(report, path)
        except OSError as error:
            self.problems.append(f"--kv-report: {error}")
            return
        self.written = len(report.records)
        if self._journal is not None:
            self._journal.remove()


