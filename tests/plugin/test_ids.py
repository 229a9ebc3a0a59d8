"""Test ids are made of [a-z0-9_] tokens with - between, in plan-major order, the same for every process."""

from __future__ import annotations

import re

from pytest_kernelverify.catalog.classify import obligations
from pytest_kernelverify.catalog.load import verification_profiles
from pytest_kernelverify.catalog.profile import VerificationStage


def test_every_id_of_every_shipped_profile_keeps_to_the_characters():
    for profile in verification_profiles():
        tokens = [o.token for o in obligations(profile, VerificationStage.TARGET)]
        assert all(re.fullmatch(r"[a-z0-9_]+(-[a-z0-9_]+)*", token) for token in tokens)
        assert len(set(tokens)) == len(tokens)


def test_metal_items_are_collected_without_metal(plain):
    result = plain.run("--kv-target=metal-tilelang", "--collect-only", "-q", "-k", "test_target and matmul")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["pytest_kernelverify/suite.py::test_target[[]matmul-f32_f32_f32-acc_f32-structural-scalar-metal_tilelang]"]
    )


def test_items_of_one_plan_stand_together(plain):
    result = plain.run("--kv-target=cpu-compiled", "--collect-only", "-q", "-k", "test_oracle and reduce_sum")
    plans = [line.partition("[")[2].rsplit("-", 3)[0] for line in result.outlines if "::" in line]
    assert len(plans) == 9
    assert [plan for plan, before in zip(plans, [None, *plans], strict=False) if plan != before] == list(
        dict.fromkeys(plans)
    )


def test_python_functions_of_a_project_do_not_hide_the_suite(plain):
    plain.pytester.makeini("[pytest]\npython_functions = check_*\n")
    assert plain.run("--kv-target=cpu-compiled", "-k", "recip").parseoutcomes()["passed"] == 2


def test_an_id_with_another_character_is_refused(plain):
    plain.conftest(
        """
        from pytest_kernelverify.catalog.classify import Obligation
        token = Obligation.token.fget
        Obligation.token = property(lambda self: token(self).replace("scalar", "v[1]"))
        """
    )
    result = plain.run("--kv-target=cpu-compiled", fresh=True)
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*is no test id; tokens are of a-z, 0-9 and _, with - between them*"])


def test_two_obligations_with_one_id_are_refused_by_name(plain):
    plain.conftest(
        """
        from pytest_kernelverify.catalog.classify import Obligation
        Obligation.token = property(lambda self: "same")
        """
    )
    result = plain.run("--kv-target=cpu-compiled", fresh=True)
    assert result.ret == 2
    result.stdout.fnmatch_lines(["two obligations have the test id 'same': add(f32,f32)* and add(*"])
