"""The summary: counts, and a gate that only a run which verified something passes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import report_samples as samples

from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.report.report import VerificationReport

GOOD = "neg(f32)->f32 compute=f32"


def view(keep: Callable[[Obligation], bool]) -> VerificationReport:
    return samples.cpu_report().view(keep)


def of_plan(*plans: str, stage: str | None = None) -> Callable[[Obligation], bool]:
    return lambda owed: owed.plan is not None and owed.plan.text in plans and stage in (None, owed.stage.value)


def test_the_gate_passes_where_something_ran_in_each_stage_and_nothing_was_wrong() -> None:
    assert view(of_plan(GOOD)).summary().gate_passed


@pytest.mark.parametrize("plan", [samples.WRONG_ORACLE, samples.RAISING_ORACLE, samples.LOST_TARGET])
def test_one_failed_erred_or_blocked_record_fails_the_gate(plan: str) -> None:
    assert not view(of_plan(GOOD, plan)).summary().gate_passed


def test_a_view_with_nothing_but_deferrals_does_not_pass() -> None:
    summary = view(of_plan("exp2(f32)->f32 compute=f32")).summary()
    assert summary.by_outcome == {"deferred": summary.records}
    assert (summary.ran, summary.gate_passed) == (0, False)


def test_deferrals_beside_something_that_ran_do_not_fail_the_gate() -> None:
    assert view(of_plan(GOOD, "exp2(f32)->f32 compute=f32")).summary().gate_passed


def test_stage_one_alone_passes_as_a_view_of_stage_one() -> None:
    summary = view(of_plan(GOOD, stage="oracle")).summary()
    assert (summary.required_stages, summary.gate_passed) == (("oracle",), True)


def test_counts_add_up_and_weaker_evidence_is_counted_apart() -> None:
    report = samples.cpu_report()
    summary = report.summary()
    for counts in (summary.by_stage, summary.by_class, summary.by_outcome, summary.by_operation):
        assert sum(counts.values()) == summary.records == len(report.records)
    assert summary.self_comparisons == sum(record.self_comparison for record in report.records) > 0
    assert sum(summary.deferred.values()) == summary.by_outcome["deferred"]
    assert all("vendor" in reason for reason in summary.deferred)
    assert summary.certificates == len(report.certificates)
