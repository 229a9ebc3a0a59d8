"""Views: what is selected, with everything it rests on, once."""

from __future__ import annotations

import pytest
import report_samples as samples

from pytest_kernelverify.report.report import VerificationReport


def test_a_view_keeps_the_stage_one_records_that_back_a_selected_target() -> None:
    view = samples.metal_report().view(lambda owed: owed.stage.value == "target" and owed.plan is not None)
    assert {record.stage.value for record in view.records} == {"oracle", "target"}
    assert {record.case.plan for record in view.records if record.stage.value == "oracle"} > set(samples.METAL_PLANS)
    used = {name for record in view.records for name in record.certificates}
    assert used == set(view.header.certificates)


def test_a_selected_sum_brings_the_float64_plan_along() -> None:
    view = samples.cpu_report().view(
        lambda owed: owed.stage.value == "target" and owed.plan is not None and owed.plan.text == samples.SUM32
    )
    plans = {record.case.plan for record in view.records if record.stage.value == "oracle"}
    assert plans == {samples.SUM32, samples.SUM32.replace("f32", "f32").replace(":f32", ":f64")}


def test_a_blocked_target_brings_the_evidence_that_blocks_it() -> None:
    view = samples.cpu_report().view(
        lambda owed: owed.stage.value == "target" and owed.plan is not None and owed.plan.text == samples.WRONG_ORACLE
    )
    assert {record.outcome.value for record in view.records if record.stage.value == "oracle"} >= {"failed"}
    assert not view.header.certificates


def test_one_class_of_stage_one_alone_carries_no_certificate() -> None:
    view = samples.cpu_report().view(
        lambda owed: (
            owed.stage.value == "oracle"
            and owed.plan is not None
            and owed.plan.text == samples.SUM32
            and owed.verification_class.value == "structural"
        )
    )
    assert view.records
    assert not view.header.certificates


def test_a_declared_limit_goes_with_its_plan_and_class() -> None:
    view = samples.metal_report().view(lambda owed: owed.plan is not None and owed.stage.value == "target")
    limits = [record for record in view.records if record.outcome.value == "deferred"]
    assert limits
    assert {view.header.requirements[record.requirement].deferred for record in limits} == {True}


@pytest.mark.parametrize("make", [samples.cpu_report, samples.metal_report])
def test_a_view_is_a_report_that_reads_back_and_views_of_views_agree(make: object) -> None:
    report: VerificationReport = make()  # type: ignore[operator]
    view = report.view(lambda owed: owed.stage.value == "oracle")
    with samples.small_catalog():
        assert VerificationReport.from_jsonl(view.to_jsonl()) == view
    assert not view.header.complete
    assert view.view(lambda owed: True) == view
    assert report.view(lambda owed: True) == report


def test_a_view_of_nothing_is_a_report_without_records() -> None:
    view = samples.cpu_report().view(lambda owed: False)
    assert (view.records, dict(view.header.requirements), dict(view.header.receipts)) == ((), {}, {})
    assert not view.summary().gate_passed
