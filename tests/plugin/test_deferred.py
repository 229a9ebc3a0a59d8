"""A deferred item is neither a pass nor a failure, and a run of nothing else verified nothing."""

from __future__ import annotations

import xml.etree.ElementTree as ET


def test_a_deferred_only_selection_exits_with_5(project):
    result = project.verify("-k", "exp2")
    assert result.ret == 5
    assert result.parseoutcomes()["deferred"] == 2
    assert project.outcomes() == {("oracle", "exp2"): {"deferred"}, ("target", "exp2"): {"deferred"}}


def test_a_deferred_item_beside_a_passed_one_does_not_fail_the_run(plain):
    result = plain.verify("-k", "exp2 or recip")
    assert result.ret == 0
    assert (result.parseoutcomes()["deferred"], result.parseoutcomes()["passed"]) == (2, 2)


def test_deferred_is_shown_by_its_letter_its_word_and_its_reason(plain):
    result = plain.verify("-k", "exp2")
    result.stdout.re_match_lines([r".*suite\.py dd\b.*"])
    result.stdout.fnmatch_lines(["2 deferred: vendor transcendental implementation*"])
    result = plain.verify("-v", "-k", "exp2")
    result.stdout.fnmatch_lines(["*test_oracle[[]exp2-*DEFERRED*"])


def test_junit_says_skipped_with_the_reason(plain):
    plain.verify("-k", "exp2", "--junitxml=junit.xml")
    cases = list(ET.parse(plain.path / "junit.xml").iter("testcase"))
    assert len(cases) == 2
    for case in cases:
        skipped = case.find("skipped")
        assert skipped is not None
        assert skipped.get("message", "").startswith("vendor transcendental implementation")
        assert "suite.py:" in (skipped.text or "")


def test_pow_is_split_by_plan_some_run_and_some_are_deferred(plain):
    result = plain.verify("-k", "pow")
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] == 4
    assert result.parseoutcomes()["deferred"] == 16
