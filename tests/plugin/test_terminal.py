"""What a run shows, and that the verdict stands first."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest


def test_the_header_names_target_and_seed(project):
    result = project.run("--kv-target=cpu-compiled", "--kv-seed=4", "-k", "recip")
    result.stdout.fnmatch_lines(["kernelverify: target cpu-compiled (cpu carrier, c-library provider), seed 4"])


def test_the_section_has_one_row_per_kernel_and_the_report_last(plain):
    result = plain.verify("-k", "recip or exp2")
    result.stdout.re_match_lines(
        [
            r"=+ kernelverify =+",
            r"kernel +variant +Stage One +cpu-compiled",
            r"exp2 +scalar +1 deferred +1 deferred",
            r"recip +scalar +1 passed +1 passed",
            r"2 deferred: vendor",
            rf"report: report\.jsonl \({len(plain.records())} records\)",
        ],
        consecutive=True,
    )


def test_twice_quiet_is_silent(plain):
    result = plain.verify("-qq", "-p", "no:warnings", "-k", "recip")
    result.stdout.no_fnmatch_line("*kernelverify*")
    assert plain.report.exists()


@pytest.mark.usefixtures("break_target")
def test_the_short_summary_begins_with_the_verdict(plain):
    result = plain.verify("-k", "recip", fresh=True)
    verdict = r"recip exact_arithmetic: .*differ.*got .*want"
    result.stdout.re_match_lines([rf"FAILED pytest_kernelverify/suite\.py::test_target\[recip.*\] - {verdict}"])


@pytest.mark.usefixtures("break_target")
def test_a_failure_names_plan_case_words_and_the_command_that_repeats_it(plain):
    result = plain.verify("-k", "recip", "--kv-seed=6", fresh=True)
    result.stdout.re_match_lines(
        [
            r"recip exact_arithmetic: .*",
            r"  plan  recip\(f32\)->f32 compute=f32",
            r"  case  recip-f32_f32-exact_arithmetic-.*",
            r"        .*got .*want .*",
            r"  \d+ of \d+ cases failed",
            r"reproduce: pytest --kv-target=cpu-compiled --kv-seed=6 'pytest_kernelverify/suite\.py::test_target.*'",
        ]
    )
    [command] = [line for line in result.outlines if line.startswith("reproduce: ")]
    nodeid = command.split("'")[1]
    again = plain.run("--kv-target=cpu-compiled", "--kv-seed=6", nodeid, fresh=True)
    assert again.ret == 1
    assert plain.counts(again) == {"failed": 1}


@pytest.mark.usefixtures("break_target")
def test_no_frame_of_the_plugin_is_shown_for_a_failure(plain):
    result = plain.verify("-k", "recip", fresh=True)
    result.stdout.no_fnmatch_line("*gate.py*")


@pytest.mark.usefixtures("break_target")
def test_junit_carries_the_verdict_as_a_property(plain):
    plain.verify("-k", "recip or exp2", "--junitxml=junit.xml", fresh=True)
    verdicts = {}
    for case in ET.parse(plain.path / "junit.xml").iter("testcase"):
        properties = {entry.get("name"): entry.get("value") for entry in case.iter("property")}
        verdicts[case.get("name", "").partition("-")[0]] = properties["kv.verdict"]
    assert verdicts == {
        "test_oracle[recip": "passed",
        "test_target[recip": "failed",
        "test_oracle[exp2": "deferred",
        "test_target[exp2": "deferred",
    }


def test_phases_are_logged(plain):
    result = plain.run("--kv-target=cpu-compiled", "-k", "test_target and recip", "--log-cli-level=INFO", fresh=True)
    result.stdout.fnmatch_lines(["*INFO*gate of recip-f32_f32-exact_arithmetic-scalar-cpu_compiled*"])
    result.stdout.fnmatch_lines(["*INFO*verifying recip-f32_f32-exact_arithmetic-scalar-cpu_compiled*"])


def test_the_list_prints_every_plan_with_its_class_or_reason(plain):
    result = plain.run("--kv-target=metal-tilelang", "--kv-list")
    assert result.ret == 0
    result.stdout.re_match_lines(
        [
            r"add\(f32,f32\)->f32 compute=f32 +exact_arithmetic",
            r"exp\(f32\)->f32 compute=f32 +deferred +vendor transcendental implementation.*",
            r"matmul\(f32,f32\)->f32 compute=f32 acc=floating:f32 +structural",
            r"bounds +structural",
        ]
    )


def test_the_list_needs_a_target(plain):
    result = plain.run("--kv-list")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --kv-list: name the target to list with --kv-target=NAME; known targets: *"])


def test_the_list_takes_the_ini_target(plain):
    plain.pytester.makeini("[pytest]\nkv_target = cpu-compiled\n")
    result = plain.run("--kv-list")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["recip(f32)->f32 compute=f32 *exact_arithmetic"])
