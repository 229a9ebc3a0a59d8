"""-k, -m and a node id: what is selected runs with everything it needs, and its report is a view of the whole."""

from __future__ import annotations

import pytest

RECIP = "pytest_kernelverify/suite.py::test_target[recip-f32_f32-exact_arithmetic-scalar-cpu_compiled]"


def _operation(obligation):
    return obligation.plan.operation if obligation.plan is not None else obligation.subject


def test_a_keyword_selection_gives_the_bytes_of_that_view(project, expected_report):
    result = project.verify("-k", "recip or copy")
    assert result.ret == 0
    wanted = expected_report(lambda o: _operation(o) in ("recip", "copy"))
    assert project.report.read_text() == wanted


def test_a_marker_selects_by_operation_stage_class_and_plan(project, expected_report):
    plan = "reduce_sum(f32)->f32 compute=f32 acc=floating:f64"
    mark = f"kv(operation='reduce_sum', stage='oracle', cls='structural', plan='{plan}')"
    result = project.verify("-m", mark)
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] == 1
    wanted = expected_report(
        lambda o: (
            o.stage.value == "oracle"
            and o.verification_class.value == "structural"
            and o.plan is not None
            and o.plan.text == plan
        )
    )
    assert project.report.read_text() == wanted


def test_one_target_item_brings_the_stage_one_records_it_rests_on_once(project, expected_report):
    result = project.verify(RECIP)
    assert result.ret == 0
    assert project.counts(result) == {"passed": 1}
    assert set(project.outcomes()) == {("oracle", "recip"), ("target", "recip")}
    assert project.report.read_text() == expected_report(
        lambda o: o.stage.value == "target" and _operation(o) == "recip"
    )


def test_a_node_id_copied_from_the_output_runs_again(project):
    listed = project.run("--kv-target=cpu-compiled", "--collect-only", "-q", "-k", "test_target and recip")
    [nodeid] = [line for line in listed.outlines if "::" in line]
    assert nodeid == RECIP
    assert project.counts(project.verify(nodeid)) == {"passed": 1}


def test_a_node_id_printed_in_a_subfolder_runs_again_there_and_elsewhere(plain, monkeypatch):
    plain.pytester.makeini("[pytest]")
    below = plain.pytester.mkdir("below")
    monkeypatch.chdir(below)
    result = plain.run("--kv-target=cpu-compiled", "-rA", "-k", "test_target and recip")
    [line] = [line for line in result.outlines if line.startswith("PASSED")]
    nodeid = line.removeprefix("PASSED ")
    assert nodeid == f"../{RECIP}"
    assert plain.counts(plain.run("--kv-target=cpu-compiled", nodeid)) == {"passed": 1}
    monkeypatch.chdir(plain.pytester.mkdir("elsewhere"))
    assert plain.counts(plain.run("--kv-target=cpu-compiled", RECIP)) == {"passed": 1}


def test_the_suite_stands_beside_other_paths_when_it_is_named(plain):
    plain.pytester.makepyfile(test_own="def test_one(): pass")
    result = plain.run("--kv-target=cpu-compiled", "test_own.py", RECIP)
    assert plain.counts(result) == {"passed": 2}


def test_the_suite_can_be_named_as_a_module(plain):
    result = plain.run("--kv-target=cpu-compiled", "--pyargs", "pytest_kernelverify.suite", "-k", "recip")
    assert plain.counts(result) == {"passed": 2}


def test_an_unknown_item_of_the_suite_is_a_usage_error(plain):
    result = plain.run("--kv-target=cpu-compiled", "pytest_kernelverify/suite.py::test_target[nothing]")
    assert result.ret == 4


def test_typing_a_target_with_no_path_runs_the_suite_in_place_of_testpaths(plain):
    plain.pytester.makeini("[pytest]\ntestpaths = own\n")
    plain.pytester.mkdir("own").joinpath("test_own.py").write_text("def test_own(): assert 0")
    result = plain.run("--kv-target=cpu-compiled", "-k", "recip or own")
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] == 2
    result.stdout.no_fnmatch_line("testpaths:*")


def test_typing_a_target_with_a_path_adds_nothing(plain):
    plain.pytester.makepyfile(test_own="def test_own(): pass")
    result = plain.run("--kv-target=cpu-compiled", "test_own.py")
    assert plain.counts(result) == {"passed": 1}
    assert result.ret == 5
    result.stdout.fnmatch_lines(["nothing was verified: no test that requests kv_case was run"])


def test_nothing_selected_exits_with_5(plain):
    result = plain.verify("-k", "no_such_kernel")
    assert result.ret == 5
    assert not plain.report.exists()


@pytest.mark.parametrize("where", ["root", "testpaths"])
def test_conftests_are_loaded_though_the_suite_replaces_testpaths(plain, where):
    plain.pytester.makeini("[pytest]\ntestpaths = own\n")
    folder = plain.pytester.mkdir("own")
    conftest = (plain.path if where == "root" else folder) / "conftest.py"
    conftest.write_text("def pytest_report_header(): return 'seen: conftest'")
    result = plain.run("--kv-target=cpu-compiled", "-k", "recip")
    result.stdout.fnmatch_lines(["seen: conftest"])
