"""A worker in another folder, with no ini file and no shared disk, verifies what its controller names."""

from __future__ import annotations

import sys

import pytest

pytestmark = pytest.mark.usefixtures("xdist")


@pytest.fixture
def remote(plain, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    return ("--dist=load", f"--tx=popen//python={sys.executable}//chdir={elsewhere}")


def test_a_remote_worker_gives_the_same_bytes(plain, remote, expected_report):
    plain.pytester.makeini("[pytest]\ntestpaths = own\n")
    result = plain.verify("--kv-seed=0", "-k", "recip or gather", *remote, fresh=True)
    assert result.ret == 0
    assert plain.report.read_text() == expected_report(lambda o: "recip" in o.token or "gather" in o.token)


def test_a_remote_worker_is_told_the_seed_and_the_target_of_the_ini_file(plain, remote):
    plain.pytester.makeini("[pytest]\nkv_target = cpu-compiled\nkv_seed = 5\nkv_report = report.jsonl\n")
    nodeid = "pytest_kernelverify/suite.py::test_target[reduce_sum-f32_f32-acc_f64-numerical-scalar-cpu_compiled]"
    assert plain.run(nodeid, *remote, fresh=True).ret == 0
    there = plain.report.read_text()
    assert plain.run(nodeid).ret == 0
    assert plain.report.read_text() == there
    assert {record["case"]["seed"] for record in plain.records()} == {5}


def test_a_profile_of_a_conftest_is_refused_for_a_remote_worker(plain, remote):
    plain.conftest(OWN_PROFILE)
    result = plain.run("--kv-target=my-cpu", "-k", "recip", *remote, fresh=True)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: --tx *: a remote worker does not know the profile 'my-cpu' of a conftest; install it there as a *"]
    )


def test_a_profile_of_a_conftest_serves_local_workers(plain):
    plain.conftest(OWN_PROFILE)
    result = plain.run("--kv-target=my-cpu", "--kv-report=report.jsonl", "-k", "recip", "-n2", fresh=True)
    assert result.ret == 0
    assert {record["case"]["kernel"]["profile"] for record in plain.records()} == {"cpu-compiled", "my-cpu"}


OTHER_BUILD = """
import os
from pytest_kernelverify.evidence.receipt import Receipt

if "PYTEST_XDIST_WORKER" in os.environ:
    to_json = Receipt.to_json
    Receipt.to_json = lambda self: {**to_json(self), "compiler": "another"}
"""


def test_a_worker_with_another_oracle_is_refused(plain):
    plain.conftest(OTHER_BUILD)
    result = plain.verify("-n1", "-k", "recip", fresh=True)
    assert result.ret not in (0, 5)
    result.stdout.fnmatch_lines(["*this worker's oracle receipt differ* from the controller's; install the same*"])
    assert not plain.report.exists()


DISAGREES = """
import dataclasses, os, time
import pytest_kernelverify.stages.oracle as stage

make_record = stage.make_record

def other(*args, **options):
    record = make_record(*args, **options)
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1" and record.output_hash is not None:
        record = dataclasses.replace(record, output_hash="0" * 64)
    return record

stage.make_record = other

def pytest_runtest_setup(item):
    time.sleep(1)  # so that neither worker takes every item
"""


def test_two_workers_that_disagree_about_one_record_fail_the_run(plain):
    plain.plugin(DISAGREES)
    result = plain.verify("-n2", "-k", "test_target and reduce_sum-f32_f32-acc_f64", fresh=True)
    assert result.ret == 1
    assert plain.counts(result) == {"passed": 3}
    result.stdout.fnmatch_lines(["problem: two processes disagree about oracle reduce_sum-*"])
    assert not plain.report.exists()
    assert plain.journal.exists()


OWN_PROFILE = """
import dataclasses
from pytest_kernelverify.catalog import load

def pytest_kernelverify_profiles(config):
    manifest = load.manifest_of(load.verification_profile("cpu-compiled"))
    rename = lambda kernel: dataclasses.replace(kernel, profile_id="my-cpu")
    move = lambda row: dataclasses.replace(row, kernel=rename(row.kernel))
    return [
        dataclasses.replace(
            manifest,
            profile=dataclasses.replace(manifest.profile, profile_id="my-cpu"),
            kernels=tuple(map(rename, manifest.kernels)),
            plans=tuple(map(move, manifest.plans)),
            subjects=tuple(map(move, manifest.subjects)),
        )
    ]
"""
