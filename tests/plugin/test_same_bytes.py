"""Runs that complete the same selection give the same bytes, however they were distributed and ordered."""

from __future__ import annotations

import pytest

from pytest_kernelverify import verify_backend
from pytest_kernelverify.report.report import VerificationReport

SOME = "recip or reduce_sum-f32 or exp2 or gather or addressing"
REVERSED = "def pytest_collection_modifyitems(items): items.reverse()"


def _some(obligation):
    return any(part in obligation.token for part in ("recip", "reduce_sum-f32", "exp2", "gather", "addressing"))


def test_a_selection_gives_the_same_bytes_in_each_way_to_run(project, expected_report):
    assert project.verify("-k", SOME).ret == 0
    assert project.report.read_text() == expected_report(_some)


def test_the_order_of_items_does_not_show(project, expected_report):
    project.conftest(REVERSED)
    assert project.verify("-k", SOME).ret == 0
    assert project.report.read_text() == expected_report(_some)


def test_the_seed_is_part_of_the_report(plain):
    plain.verify("-k", "reduce_sum", "--kv-seed=7")
    seeded = plain.report.read_text()
    plain.verify("-k", "reduce_sum", "--kv-seed=8")
    assert seeded != plain.report.read_text()
    plain.verify("-k", "reduce_sum", "--kv-seed=7", "-p", "no:randomly")
    assert seeded == plain.report.read_text()


def test_a_selection_run_twice_by_two_functions_is_reported_once(plain, expected_report):
    plain.pytester.makepyfile(
        test_own="""
        def test_first(kv_case, kv_oracle): kv_case.check(kv_oracle)
        def test_second(kv_case, kv_oracle): kv_case.check(kv_oracle)
        """
    )
    result = plain.verify("test_own.py", "-k", "recip")
    assert result.parseoutcomes()["passed"] == 2
    assert plain.report.read_text() == expected_report(lambda o: o.stage.value == "oracle" and "recip" in o.token)


@pytest.mark.sweep
def test_a_whole_run_gives_the_bytes_of_verify_backend(project, whole_report):
    project.conftest(REVERSED)
    assert project.verify(fresh=True).ret == 0
    assert project.report.read_text() == whole_report


@pytest.mark.sweep
@pytest.mark.parametrize("word", ["matmul", "test_target and reduce", "numerical", "exp or pow or copy"])
def test_a_selection_is_the_view_of_the_whole_report(project, whole_report, word):
    assert project.verify("-k", word, fresh=True).ret in (0, 5)
    selected = {
        (record["stage"], record["case"]["plan"] or record["case"]["subject"], record["class"])
        for record in project.records()
    }
    whole = VerificationReport.from_jsonl(whole_report)
    parts = [part.strip() for part in word.split(" or " if " or " in word else " and ")]
    combine = any if " or " in word else all
    view = whole.view(lambda o: combine(part in f"test_{o.stage.value}[{o.token}]" for part in parts))
    assert selected
    assert project.report.read_text() == view.to_jsonl()


@pytest.fixture(scope="session")
def whole_report(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "report.jsonl"
    verify_backend("cpu-compiled", output=path)
    return path.read_text()
