"""A run that ends early leaves the report's path as it was and the journal in place."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from pytest_kernelverify.report.journal import read_journal

WAIT_AFTER_TWO = """
import os, pathlib, time
seen = []

def pytest_runtest_logreport(report):
    if report.when == "call":
        seen.append(report.nodeid)
    if len(seen) > 2 and not os.environ.get("PYTEST_XDIST_WORKER"):
        pathlib.Path("ready").touch()
        time.sleep(0.5)
"""


def _untouched(project):
    return project.report.read_text() == "as it was" and project.journal.exists()


@pytest.fixture
def earlier(project):
    project.report.write_text("as it was")
    return project


@pytest.mark.usefixtures("break_oracle")
def test_exitfirst_leaves_the_report_as_it_was(earlier):
    result = earlier.verify("-x", "-k", "recip or sqrt or maximum", fresh=True)
    assert result.ret != 0
    assert _untouched(earlier)
    result.stdout.fnmatch_lines(["incomplete: report.jsonl was left as it was; *stands in report.jsonl.partial"])


def test_ctrl_c_leaves_the_report_as_it_was_and_the_journal_readable(earlier):
    earlier.plugin(WAIT_AFTER_TWO)
    command = [sys.executable, "-m", "pytest", "--kv-target=cpu-compiled", "--kv-report=report.jsonl", *earlier.options]
    with subprocess.Popen(command, cwd=earlier.path, stdout=subprocess.PIPE, text=True) as child:
        while not (earlier.path / "ready").exists() and child.poll() is None:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate()
    assert child.returncode == 2
    assert "incomplete: report.jsonl was left as it was" in out
    assert _untouched(earlier)
    journal = read_journal(earlier.journal)
    assert journal.run == {"seed": 0, "target": "cpu-compiled"}
    assert journal.records


def test_an_internal_error_leaves_the_report_as_it_was(plain):
    plain.report.write_text("as it was")
    plain.conftest(
        """
        def pytest_kernelverify_record(record):
            if record.stage.value == "target":
                raise ZeroDivisionError("in a hook")
        """
    )
    result = plain.verify("-k", "recip", fresh=True)
    assert result.ret == 3
    assert _untouched(plain)


def test_a_test_that_ends_without_evidence_leaves_the_report_as_it_was(plain):
    plain.report.write_text("as it was")
    plain.pytester.makepyfile(
        test_own="""
        def test_checks(kv_case, kv_oracle): kv_case.check(kv_oracle)
        def test_forgets(kv_case, kv_oracle): pass
        """
    )
    result = plain.verify("test_own.py", "-k", "recip")
    assert result.ret == 1
    assert _untouched(plain)
    result.stdout.fnmatch_lines(["this test never called kv_case.check(*", "problem: *test_forgets*"])


def test_the_journal_is_removed_when_the_report_is_written(plain):
    plain.journal.write_text("of an earlier run")
    assert plain.verify("-k", "recip").ret == 0
    assert plain.report.exists()
    assert not plain.journal.exists()
