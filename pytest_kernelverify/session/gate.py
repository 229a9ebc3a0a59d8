"""One item: its gate, its evidence, and how both reach the report. The gate never reads another item's outcome."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.evidence.record import EvidenceRecord, Outcome
from pytest_kernelverify.session.runs import refusal, run_of
from pytest_kernelverify.session.settings import settings_key
from pytest_kernelverify.session.verdict import Verdict, reproduction, verdict_of

if TYPE_CHECKING:
    from pytest_kernelverify.stages.run import Run

__all__ = ["Items", "KernelCase", "kernel_case"]

log = logging.getLogger("kernelverify")

_evidence_key = pytest.StashKey["Evidence"]()
_proofs_key = pytest.StashKey[tuple[EvidenceRecord, ...]]()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an item leaves behind."""

    verdict: Verdict
    records: tuple[EvidenceRecord, ...]


@dataclass(frozen=True, slots=True)
class KernelCase:
    """The value of the fixture ``kv_case``: one obligation and the item that verifies it."""

    obligation: Obligation
    item: pytest.Item

    def oracle_run(self) -> Run:
        """The run in which Stage One is proved."""
        run = self._run()
        if self.obligation.reason is not None:
            self._settle(run)
        return run

    def target_run(self) -> Run:
        """The run in which the target is verified; the test is blocked or deferred here where it may not run."""
        run = self._run()
        log.info("gate of %s", self.obligation.token)
        blocked = run.gate(self.obligation) is not None
        self.item.stash[_proofs_key] = run.dependencies(self.obligation)
        if blocked or self.obligation.reason is not None:
            self._settle(run)
        return run

    def check(self, run: Run) -> None:
        """Verify the obligation: every case runs and leaves its record; fails with the verdict."""
        log.info("verifying %s", self.obligation.token)
        self._settle(run)

    def _run(self) -> Run:
        config = self.item.config
        try:
            run, refused = run_of(config), refusal(config)
        except RuntimeError as error:
            pytest.fail(f"{self.obligation.kernel.profile_id} cannot run here: {error}", pytrace=False)
        if refused is not None:
            self.item.session.shouldfail = f"kernelverify: {refused}"
            pytest.fail(refused, pytrace=False)
        return run

    def _settle(self, run: Run) -> None:
        """Leave the evidence on the item and end the test as its verdict says."""
        records = run.evidence(self.obligation)
        settings = self.item.config.stash[settings_key]
        command = reproduction(str(settings.target), settings.seed, self.item.nodeid)
        verdict = verdict_of(self.obligation, records, command)
        self.item.stash[_evidence_key] = Evidence(verdict, records)
        self.item.user_properties.append(("kv.verdict", verdict.outcome.value))
        ulps = [record.deviations.maximum_ulps for record in records if record.deviations.maximum_ulps is not None]
        if ulps:
            self.item.user_properties.append(("kv.max_ulp", max(ulps)))
        if verdict.outcome is Outcome.DEFERRED:
            # Deferred: nothing was run, the reason is the outcome, and JUnit says <skipped>.
            pytest.skip(verdict.line)
        if verdict.outcome is not Outcome.PASSED:
            pytest.fail(verdict.text, pytrace=False)


def kernel_case(request: pytest.FixtureRequest) -> KernelCase:
    """Called by the fixture ``kv_case``."""
    obligation = getattr(request, "param", None)
    if not isinstance(obligation, Obligation) or not isinstance(request.node, pytest.Item):
        pytest.fail("kv_case can be requested by test functions only, and takes its parameters from the plugin")
    return KernelCase(obligation, request.node)


def obligation_of(item: pytest.Item) -> Obligation | None:
    """The obligation an item verifies, if it is one of ours: recognised by ``kv_case``, never by name."""
    callspec = getattr(item, "callspec", None)
    param = None if callspec is None else callspec.params.get("kv_case")
    return param if isinstance(param, Obligation) else None


class Items:
    """Puts an item's evidence on its reports, as builtins. Registered in every process that runs items.

    The Stage One records a target item rests on travel with its setup, so that they have arrived when the target's
    kernel takes its worker down.
    """

    def __init__(self) -> None:
        self.made: dict[str, EvidenceRecord] = {}
        """The records of this process by their lines, so that a writer in the same process need not parse them."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        obligation = obligation_of(item)
        if obligation is None or call.when == "teardown":
            return report
        records = item.stash.get(_proofs_key, ()) if call.when == "setup" else ()
        payload: dict[str, Any] = {"stage": obligation.stage.value, "token": obligation.token}
        if call.when == "call" or not report.passed:
            evidence = item.stash.get(_evidence_key, None)
            if evidence is None:
                payload |= {"verdict": None, "line": None}
                if report.passed:
                    report.outcome = "failed"
                    report.longrepr = "this test never called kv_case.check(…): nothing was verified"
            else:
                payload |= {"verdict": evidence.verdict.outcome.value, "line": evidence.verdict.line}
                records = (*records, *evidence.records)
                _show_verdict(item, report, evidence.verdict)
        payload["records"] = self._unsent(records)
        report.kernelverify = payload  # type: ignore[attr-defined]
        return report

    def _unsent(self, records: Sequence[EvidenceRecord]) -> list[str]:
        """Each record leaves a process once."""
        fresh = {record.line: record for record in records if record.line not in self.made}
        self.made.update(fresh)
        return list(fresh)


def _show_verdict(item: pytest.Item, report: pytest.TestReport, verdict: Verdict) -> None:
    if report.skipped:
        path, line, _ = item.location
        report.longrepr = (os.fspath(path), (line or 0) + 1, verdict.line)
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        crash.message = verdict.line
