"""An ini value, or addopts, only names the target of items that other files define."""

from __future__ import annotations

import pytest

OWN = """
def test_oracle(kv_case, kv_oracle): kv_case.check(kv_oracle)
def test_target(kv_case, kv_target): kv_case.check(kv_target)
"""
SAYS = {
    "ini": "kv_target = cpu-compiled",
    "addopts": "addopts = --kv-target=cpu-compiled",
}


def test_an_ini_target_is_that_of_the_items_of_ones_own_module(project, expected_report):
    project.pytester.makeini("[pytest]\nkv_target = cpu-compiled\nkv_report = report.jsonl\n")
    project.pytester.makepyfile(test_kernels=OWN)
    result = project.run("-k", "recip")
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] == 2
    assert project.report.read_text() == expected_report(lambda o: "recip" in o.token)


def test_a_target_in_addopts_is_that_of_the_items_of_ones_own_module(plain):
    plain.pytester.makeini("[pytest]\naddopts = --kv-target=cpu-compiled\n")
    plain.pytester.makepyfile(test_kernels=OWN)
    assert plain.counts(plain.run("-k", "recip")) == {"passed": 2}


@pytest.mark.parametrize("how", SAYS)
def test_an_ini_target_does_not_bring_the_suite(plain, how):
    plain.pytester.makeini(f"[pytest]\n{SAYS[how]}\n")
    plain.pytester.makepyfile(test_own="def test_own(): pass")
    result = plain.run()
    assert result.ret == 0
    assert plain.counts(result) == {"passed": 1}
    result.stdout.no_fnmatch_line("*= kernelverify =*")


def test_an_ini_report_lies_beside_the_ini_file(plain, monkeypatch):
    plain.pytester.makeini("[pytest]\nkv_target = cpu-compiled\nkv_report = report.jsonl\n")
    plain.pytester.makepyfile(test_kernels=OWN)
    monkeypatch.chdir(plain.pytester.mkdir("below"))
    assert plain.run("-k", "recip", "..").ret == 0
    assert plain.report.exists()


def test_the_command_line_wins_over_the_ini_file(plain):
    plain.pytester.makeini("[pytest]\nkv_target = no-such\nkv_seed = 3\n")
    plain.pytester.makepyfile(test_kernels=OWN)
    result = plain.run("--kv-target=cpu-compiled", "--kv-seed=5", "-k", "recip", "test_kernels.py")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["kernelverify: target cpu-compiled (cpu carrier, c-library provider), seed 5"])


def test_an_ini_target_that_cannot_run_here_fails_its_items_and_no_others(plain):
    plain.pytester.makeini("[pytest]\nkv_target = metal-tilelang\n")
    plain.pytester.makepyfile(test_kernels=OWN, test_other="def test_other(): pass")
    assert plain.run("test_other.py").ret == 0
    result = plain.run("-k", "other or (test_target and recip)")
    assert result.ret == 1
    assert {key: result.parseoutcomes()[key] for key in ("passed", "errors")} == {"passed": 1, "errors": 1}
    result.stdout.fnmatch_lines(["metal-tilelang cannot run here: *"])


def test_without_a_target_the_items_are_deselected_and_nothing_is_said(plain):
    plain.pytester.makepyfile(test_kernels=OWN + "\ndef test_other(): pass\n")
    result = plain.run()
    assert result.ret == 0
    assert plain.counts(result) == {"passed": 1}
    assert result.parseoutcomes()["deselected"] == 2
    result.stdout.no_fnmatch_line("*kernelverify:*")


def test_an_item_is_recognised_by_its_fixtures_not_by_its_name(plain):
    plain.pytester.makepyfile(test_kernels="def test_anything(kv_target, kv_case): kv_case.check(kv_target)")
    result = plain.verify("test_kernels.py", "-k", "recip")
    assert result.parseoutcomes()["passed"] == 1
    assert {stage for stage, _ in plain.outcomes()} == {"oracle", "target"}


def test_a_test_that_asks_for_no_stage_is_told_which_to_ask_for(plain):
    plain.pytester.makepyfile(test_kernels="def test_anything(kv_case): pass")
    result = plain.verify("test_kernels.py")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["test_anything requests kv_case; it must also request one of kv_oracle and kv_target"])
