"""Requirements: a missing or an extra case shows in the digest of the case ids."""

from __future__ import annotations

from dataclasses import replace

import pytest
import report_samples as samples

from pytest_kernelverify.evidence.requirement import Requirement, cases_digest


def requirements() -> list[Requirement]:
    return [*samples.cpu_report().header.requirements.values(), *samples.metal_report().header.requirements.values()]


def test_a_requirement_survives_json_and_is_found_under_its_id() -> None:
    for requirement in requirements():
        assert Requirement.from_json(requirement.to_json()) == requirement
    for name, requirement in samples.cpu_report().header.requirements.items():
        assert requirement.id == name == requirement.digest[:16]


def test_each_plan_and_class_has_one_requirement_and_each_limit_one_of_its_own() -> None:
    active = [
        (found.stage, found.kernel, found.plan, found.subject, found.verification_class)
        for found in requirements()
        if not found.deferred
    ]
    assert len(active) >= len(set(active))
    for found in requirements():
        assert found.deferred == (found.reason is not None)
        assert found.case_count == 1 or not found.deferred


def test_the_digest_of_the_cases_ignores_their_order_and_sees_each_of_them() -> None:
    assert cases_digest(["a", "b"]) == cases_digest(["b", "a"])
    assert len({cases_digest(ids) for ids in ([], ["a"], ["a", "b"], ["a", "a"], ["ab"])}) == 5


def test_every_field_is_part_of_the_id() -> None:
    one = requirements()[0]
    for name, value in (
        ("plan", "x"),
        ("subject", "x"),
        ("verification_class", "x"),
        ("reason", "x"),
        ("case_count", 99),
    ):
        assert replace(one, **{name: value}).id != one.id


def test_an_ill_typed_field_is_refused() -> None:
    value = requirements()[0].to_json()
    with pytest.raises(ValueError, match="case_count is '1'; expected int"):
        Requirement.from_json({**value, "case_count": "1"})
    with pytest.raises(ValueError, match="unknown fields"):
        Requirement.from_json({**value, "id": "x"})
