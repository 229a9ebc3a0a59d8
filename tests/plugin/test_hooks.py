"""The hooks for conftests and plugins."""

from __future__ import annotations

from pathlib import Path

from test_remote_worker import OWN_PROFILE

COUNT = """
seen = []

def pytest_kernelverify_record(record):
    seen.append((record.stage.value, record.case.case_id))

def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        with open("seen.txt", "w") as stream:
            stream.writelines(f"{stage} {case_id}\\n" for stage, case_id in seen)
"""


def test_each_record_reaches_the_record_hook_once_on_the_writer(project):
    project.conftest(COUNT)
    project.verify("-k", "recip or reduce_sum-f32", fresh=True)
    seen = Path(project.path / "seen.txt").read_text().splitlines()
    assert sorted(seen) == sorted(f"{record['stage']} {record['case']['id']}" for record in project.records())


def test_a_profile_of_ones_own_is_known_by_its_id(plain):
    plain.conftest(OWN_PROFILE)
    result = plain.run("--kv-target=my-cpu", "--kv-report=report.jsonl", "-k", "recip", fresh=True)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["kernelverify: target my-cpu *"])
    judged = {record["authority"] for record in plain.records() if record["stage"] == "target"}
    assert judged == {"certificate"}


def test_an_id_that_is_taken_is_a_usage_error(plain):
    plain.conftest(
        OWN_PROFILE.replace('profile, profile_id="my-cpu")', 'profile, provider="me")').replace(
            '"my-cpu"', '"cpu-compiled"'
        )
    )
    result = plain.run("--kv-target=cpu-compiled", fresh=True)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: pytest_kernelverify_profiles: profile 'cpu-compiled' is there already*"])


def test_what_is_no_profile_is_a_usage_error(plain):
    plain.conftest("def pytest_kernelverify_profiles(config): return ['my-cpu']")
    result = plain.run("--kv-target=cpu-compiled", fresh=True)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: pytest_kernelverify_profiles: a str is no profile; return *"])


def test_the_profiles_hook_is_not_called_without_a_target(plain):
    plain.conftest("def pytest_kernelverify_profiles(config): raise AssertionError")
    plain.pytester.makepyfile(test_own="def test_own(): pass")
    assert plain.run(fresh=True).ret == 0
