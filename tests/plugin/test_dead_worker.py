"""A worker killed by a signal leaves an error record for each case of its item; the others run."""

from __future__ import annotations

import pytest

from pytest_kernelverify.report.report import VerificationReport

pytestmark = pytest.mark.usefixtures("xdist")

KILL = """
import os, signal

def pytest_runtest_{when}(item):
    if item.name.startswith("{name}") and "PYTEST_XDIST_WORKER" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def _outcomes_of(project, stage, operation):
    return project.outcomes().get((stage, operation))


def test_a_killed_target_becomes_error_records_and_the_rest_is_verified(plain):
    plain.plugin(KILL.format(when="call", name="test_target[recip"))
    result = plain.verify("-n2", "-k", "recip or rem or sqrt")
    assert result.ret == 1
    assert result.parseoutcomes()["failed"] == 1
    assert _outcomes_of(plain, "target", "recip") == {"error"}
    assert _outcomes_of(plain, "oracle", "recip") == {"passed"}
    assert _outcomes_of(plain, "target", "rem") == {"passed"}
    diagnostics = {r["diagnostic"] for r in plain.records() if r["outcome"] == "error"}
    assert diagnostics == {"the process died while this item ran"}
    assert not VerificationReport.load(plain.report).summary().gate_passed


def test_a_killed_oracle_becomes_error_records_and_certifies_nothing(plain):
    plain.plugin(KILL.format(when="call", name="test_oracle[recip"))
    result = plain.verify("-n2", "-k", "test_oracle and (recip or rem)")
    assert result.ret == 1
    assert _outcomes_of(plain, "oracle", "recip") == {"error"}
    report = VerificationReport.load(plain.report)
    assert {certificate.operation for certificate in report.certificates} == {"rem"}


def test_a_killed_oracle_blocks_the_targets_that_rest_on_it_whoever_proved_it_again(plain):
    plain.plugin(KILL.format(when="call", name="test_oracle[recip"))
    result = plain.verify("-n2", "-k", "recip or rem")
    assert result.ret == 1
    assert _outcomes_of(plain, "oracle", "recip") == {"error"}
    assert _outcomes_of(plain, "target", "recip") == {"blocked"}
    assert _outcomes_of(plain, "target", "rem") == {"passed"}
    VerificationReport.load(plain.report)
    result.stdout.fnmatch_lines(["* records rest on a proof whose process died; none of them passed"])


def test_a_target_killed_alone_still_brings_its_stage_one_records(plain):
    plain.plugin(KILL.format(when="call", name="test_target[recip"))
    result = plain.verify("-n1", "-k", "test_target and recip", fresh=True)
    assert result.ret == 1
    assert _outcomes_of(plain, "oracle", "recip") == {"passed"}
    assert _outcomes_of(plain, "target", "recip") == {"error"}


def test_a_worker_killed_before_the_gate_leaves_errors_for_the_proof_too(plain):
    plain.plugin(KILL.format(when="setup", name="test_target[recip"))
    result = plain.verify("-n1", "-k", "test_target and recip", fresh=True)
    assert result.ret == 1
    assert _outcomes_of(plain, "oracle", "recip") == {"error"}
    assert _outcomes_of(plain, "target", "recip") == {"error"}


def test_a_killed_item_of_ones_own_module_is_found_by_what_it_said_not_by_its_name(plain):
    plain.pytester.makepyfile(
        test_own="""
        def test_a(kv_case, kv_target): kv_case.check(kv_target)
        def test_b(kv_case, kv_oracle): kv_case.check(kv_oracle)
        """
    )
    plain.plugin(KILL.format(when="call", name="test_a[recip"))
    plain.verify("-n1", "test_own.py", "-k", "recip", fresh=True)
    assert _outcomes_of(plain, "oracle", "recip") == {"passed"}
    assert _outcomes_of(plain, "target", "recip") == {"error"}


def test_an_ordinary_test_that_dies_is_no_concern_of_ours(plain):
    plain.pytester.makepyfile(
        test_own="""
        import os, signal
        def test_dies(): os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    result = plain.verify("-n1", "test_own.py", "pytest_kernelverify/suite.py", "-k", "dies or recip", fresh=True)
    assert result.parseoutcomes()["failed"] == 1
    assert {outcome for found in plain.outcomes().values() for outcome in found} == {"passed"}
