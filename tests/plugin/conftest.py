"""pytest run by pytest: with xdist's plugin idle, blocked, with -n0 and with -n2."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import pytest_kernelverify.stages.run

# An in-process pytester run forgets the modules it imported; NumPy may be imported only once in a process.
from pytest_kernelverify import suite  # noqa: F401
from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.catalog.load import verification_profile
from pytest_kernelverify.report.assemble import assemble
from pytest_kernelverify.session import collect, listing, start, terminal, workers  # noqa: F401

XDIST = importlib.util.find_spec("xdist") is not None
MATRIX = {"plain": (), "no_xdist": ("-p", "no:xdist"), "n0": ("-n0",), "n2": ("-n2",)}
# An in-process run would import it anew each time.
NO_HYPOTHESIS = ("-p", "no:hypothesispytest")


@pytest.fixture(params=MATRIX)
def plugin_args(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The options of one way to run."""
    if request.param != "plain" and not XDIST:
        pytest.skip("needs pytest-xdist")
    return MATRIX[request.param]


@dataclasses.dataclass
class Project:
    """A folder in which pytest is run with the given options."""

    pytester: pytest.Pytester
    options: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return self.pytester.path

    def run(self, *args: str, fresh: bool = False) -> pytest.RunResult:
        """``fresh``: in a process of its own, as a conftest that replaces something in ours needs."""
        options = (*args, *self.options, *NO_HYPOTHESIS)
        if fresh or "-n2" in options:
            return self.pytester.runpytest_subprocess(*options)
        return self.pytester.runpytest_inprocess(*options)

    def verify(self, *args: str, fresh: bool = False) -> pytest.RunResult:
        return self.run("--kv-target=cpu-compiled", "--kv-report=report.jsonl", *args, fresh=fresh)

    def conftest(self, source: str) -> None:
        self.pytester.makeconftest(source)

    def plugin(self, source: str) -> None:
        """A plugin for every run: a conftest's hooks around one item do not reach items outside its folder."""
        self.pytester.makepyfile(seam=source)
        self.options = (*self.options, "-p", "seam")
        self.pytester.syspathinsert()

    @staticmethod
    def counts(result: pytest.RunResult) -> dict[str, int]:
        """Items by category; what was deselected and pytest's own warnings left out."""
        return {
            name: count
            for name, count in result.parseoutcomes().items()
            if name not in ("deselected", "warning", "warnings")
        }

    @property
    def report(self) -> Path:
        return self.path / "report.jsonl"

    @property
    def journal(self) -> Path:
        return self.path / "report.jsonl.partial"

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.report.read_text().splitlines()[1:]]

    def outcomes(self) -> dict[tuple[str, str], set[str]]:
        """Outcomes by stage and operation."""
        found: dict[tuple[str, str], set[str]] = {}
        for record in self.records():
            found.setdefault((record["stage"], record["case"]["kernel"]["operation"]), set()).add(record["outcome"])
        return found


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where child processes keep what they compiled, for the next ones; never in the tree."""
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture
def environment(bytecode: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTEST_ADDOPTS", "CI", "BUILD_NUMBER", "PYTEST_XDIST_WORKER", "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(bytecode))
    monkeypatch.setenv("COLUMNS", "300")


@pytest.fixture
def project(pytester: pytest.Pytester, environment: None, plugin_args: tuple[str, ...]) -> Project:
    return Project(pytester, plugin_args)


@pytest.fixture
def xdist() -> None:
    """Requested by tests that need workers."""
    if not XDIST:
        pytest.skip("needs pytest-xdist")


@pytest.fixture
def plain(pytester: pytest.Pytester, environment: None) -> Project:
    return Project(pytester)


@cache
def _whole_run() -> pytest_kernelverify.stages.run.Run:
    return pytest_kernelverify.stages.run.Run(verification_profile("cpu-compiled"))


@pytest.fixture
def expected_report() -> Callable[[Callable[[Obligation], bool]], str]:
    """The report of a selection as the other face makes it: in one process, without pytest."""

    def make(keep: Callable[[Obligation], bool]) -> str:
        run = _whole_run()
        return assemble(run, tuple(filter(keep, run.obligations()))).to_jsonl()

    return make


BREAK_RECIP = """
import dataclasses
import pytest_kernelverify.stages.{stage} as stage

run_case = stage.run_case

def broken(carrier, kernel, case, **options):
    run = run_case(carrier, kernel, case, **options)
    if kernel.operation != "recip" or run.words is None:
        return run
    return dataclasses.replace(run, words=run.words ^ run.words.dtype.type(1))

stage.run_case = broken
"""


@pytest.fixture
def break_oracle(pytester: pytest.Pytester) -> None:
    """Stage One of recip fails by one ULP: a private seam, for there is no public one."""
    pytester.makeconftest(BREAK_RECIP.format(stage="oracle"))


@pytest.fixture
def break_target(pytester: pytest.Pytester) -> None:
    """Stage Two of recip fails by one ULP."""
    pytester.makeconftest(BREAK_RECIP.format(stage="target"))
