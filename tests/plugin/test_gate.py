"""A target runs only behind Stage One; where that failed it is blocked: not skipped, not passed."""

from __future__ import annotations

import pytest


@pytest.mark.usefixtures("break_oracle")
def test_a_failed_stage_one_blocks_the_target_and_the_run_fails(project):
    result = project.verify("-k", "recip or rem", fresh=True)
    assert result.ret == 1
    assert project.counts(result) == {"failed": 1, "blocked": 1, "passed": 2}
    assert project.outcomes()["oracle", "recip"] >= {"failed"}
    assert project.outcomes()["target", "recip"] == {"blocked"}
    assert project.outcomes()["target", "rem"] == {"passed"}


@pytest.mark.usefixtures("break_oracle")
def test_a_blocked_item_alone_proves_what_it_needs_and_fails_the_run(project):
    result = project.verify("-k", "test_target and recip", fresh=True)
    assert result.ret == 1
    assert project.counts(result) == {"blocked": 1}
    assert "failed" in project.outcomes()["oracle", "recip"]
    assert project.outcomes()["target", "recip"] == {"blocked"}


@pytest.mark.usefixtures("break_oracle")
def test_blocked_is_shown_by_its_letter_and_its_word(plain):
    result = plain.verify("-k", "test_target and recip", fresh=True)
    result.stdout.re_match_lines([r".*suite\.py B\b.*"])
    result = plain.verify("-v", "-k", "test_target and recip", fresh=True)
    result.stdout.fnmatch_lines(["*test_target[[]recip-*BLOCKED*"])


@pytest.mark.usefixtures("break_oracle")
def test_the_summary_groups_blocked_items_under_their_cause(plain):
    result = plain.verify("-k", "test_target and recip", fresh=True)
    result.stdout.fnmatch_lines(["recip: no certificate for recip(f32)*Stage One failed at recip*-> 1 *item blocked"])


@pytest.mark.usefixtures("break_oracle")
def test_a_blocked_item_never_ran_its_target(plain):
    plain.verify("-k", "test_target and recip", fresh=True)
    blocked = [record for record in plain.records() if record["stage"] == "target"]
    assert blocked
    assert all(record["output_hash"] is None and record["receipt"] is None for record in blocked)


@pytest.mark.usefixtures("break_oracle")
def test_a_blocked_item_fails_in_its_setup_and_its_body_never_runs(plain):
    plain.pytester.makepyfile(
        test_own="""
        import pathlib
        def test_own(kv_case, kv_target):
            pathlib.Path("ran").touch()
            kv_case.check(kv_target)
        """
    )
    result = plain.verify("test_own.py", "-k", "recip", fresh=True)
    assert plain.counts(result) == {"blocked": 1}
    assert not (plain.path / "ran").exists()


@pytest.mark.usefixtures("break_target")
def test_a_target_that_differs_fails_behind_a_valid_certificate(project):
    result = project.verify("-k", "recip", fresh=True)
    assert result.ret == 1
    assert project.outcomes()["oracle", "recip"] == {"passed"}
    assert "failed" in project.outcomes()["target", "recip"]
