"""EvidenceRecord: JSON there and back, digests, order, and the combinations that no run leaves behind."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
import report_samples as samples

from pytest_kernelverify.evidence.canonical import canonical_json, digest_of
from pytest_kernelverify.evidence.case_facts import STAGE_CLASSES, layout_from_text, layout_text
from pytest_kernelverify.evidence.record import EvidenceRecord, EvidenceStage, Mismatch, Outcome
from pytest_kernelverify.numerics.comparison import Deviations, Tolerance
from pytest_kernelverify.numerics.layout import Layout

NOTHING = Deviations(None, None, None)


def record(name: str) -> EvidenceRecord:
    report, index = samples.sample(name)
    return report.records[index]


@pytest.mark.parametrize("name", samples.RECORD_TYPES)
def test_a_record_survives_json_and_its_digest_covers_its_other_fields(name: str) -> None:
    original = record(name)
    value = json.loads(original.line)
    assert EvidenceRecord.from_json(value) == original
    assert canonical_json(original.to_json()) == original.line
    assert value.pop("digest") == original.digest == digest_of(value)


def test_a_passing_record_is_under_1500_bytes_on_average() -> None:
    sizes = [len(found.line) + 1 for found in samples.cpu_report().records if found.outcome is Outcome.PASSED]
    assert sum(sizes) / len(sizes) <= 1500


def test_a_record_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        record("oracle exact").outcome = Outcome.FAILED  # type: ignore[misc]
    with pytest.raises(TypeError):
        record("oracle exact").accepted["nan"] = 1  # type: ignore[index]


def test_constructing_a_record_with_unequal_hash_tuples_shall_fail_with_value_error() -> None:
    with pytest.raises(ValueError, match="both must read one payload"):
        replace(record("oracle exact"), oracle_input_hashes=("0" * 64,))


def test_records_sort_by_stage_then_case_id() -> None:
    records = sorted(samples.cpu_report().records, key=lambda found: found.sort_key)
    stages = [found.stage for found in records]
    assert stages == sorted(stages, key=list(EvidenceStage).index)
    first = [found.case.case_id for found in records if found.stage is EvidenceStage.ORACLE]
    assert first == sorted(first)


def test_each_stage_has_its_classes_from_the_start() -> None:
    assert STAGE_CLASSES[EvidenceStage.LADDER] == ("leaf", "route", "stitched", "replay")
    assert STAGE_CLASSES[EvidenceStage.PROOF] == ("projection", "gap")
    assert STAGE_CLASSES[EvidenceStage.ORACLE] == STAGE_CLASSES[EvidenceStage.TARGET]
    leaf = replace(record("target exact"), stage=EvidenceStage.LADDER, verification_class="leaf")
    assert EvidenceRecord.from_json(leaf.to_json()) == leaf
    with pytest.raises(ValueError, match="class is 'structural'; expected one of leaf, route, stitched, replay"):
        replace(leaf, verification_class="structural")


FIRST = Mismatch((0,), 1, 2)
DETAIL = {"diagnosis": "x"}
IMPOSSIBLE: list[tuple[str, dict[str, Any], str]] = [
    ("oracle exact", {"authority": "oracle"}, "authority is 'oracle'"),
    ("oracle exact", {"isolation": "thread"}, "isolation is 'thread'"),
    ("oracle exact", {"verification_class": "deferred"}, "go together"),
    ("oracle deferred", {"policy": "bit-exact-v1"}, "go together"),
    ("oracle exact", {"order": "sequential"}, "order is null"),
    ("target blocked", {"stage": EvidenceStage.ORACLE}, "nothing blocks Stage One"),
    ("oracle exact", {"certificates": ("0" * 16,)}, "judged by Generic alone"),
    ("oracle exact", {"self_comparison": True}, "judged by Generic alone"),
    ("oracle exact", {"authority": "user"}, "judged by Generic alone"),
    ("target exact", {"self_comparison": True}, "a self comparison is judged by Generic"),
    ("target exact", {"certificates": ("1" * 16, "0" * 16)}, "sorted, each once"),
    ("oracle exact", {"diagnostic": "fine"}, "passed has none"),
    ("oracle error", {"diagnostic": None}, "has a diagnostic"),
    ("oracle error", {"diagnostic": ""}, "has a diagnostic"),
    ("oracle exact", {"detail": DETAIL}, "exactly the failed records"),
    ("oracle failed", {"detail": None}, "exactly the failed records"),
    ("oracle failed", {"detail": {"diagnosis": "x" * 4096}}, "longer than 4096 bytes"),
    ("oracle exact", {"accepted": {"nan": 0}}, "integers of 1 or more"),
    ("oracle deferred", {"receipt": "0" * 16}, "was not run"),
    ("target blocked", {"receipt": "0" * 16}, "was not run"),
    ("oracle exact", {"receipt": None}, "has a receipt"),
    ("oracle exact", {"output_hash": None}, "go together"),
    ("oracle error", {"output_hash": "0" * 64}, "go together"),
    ("oracle error", {"bound": 1.0}, "every measurement is null"),
    ("oracle error", {"deviations": Deviations(0.0, 0.0, 0)}, "every measurement is null"),
    ("oracle error", {"tolerance": Tolerance(1.0)}, "the tolerance is zero"),
    ("oracle expected error", {"policy": "bit-exact-v1"}, "only an expected error passes without"),
    ("oracle exact", {"policy": "expected-error-v1"}, "leaves no words"),
    ("oracle exact", {"outcome": Outcome.ERROR, "diagnostic": "x"}, "error leaves no measurements"),
    ("oracle exact", {"signed_zero_mismatches": None}, "every count is a number"),
    ("oracle exact", {"signed_zero_mismatches": 1}, "do not add up"),
    ("oracle failed", {"mismatches": 10**6}, "do not add up"),
    ("oracle failed", {"first_mismatch": None}, "must agree"),
    ("oracle exact", {"first_mismatch": FIRST}, "must agree"),
    ("oracle exact", {"deviations": Deviations(0.0, 0.0, 1)}, "must agree"),
    ("oracle exact", {"deviations": Deviations(1.0, 1.0, 0)}, "zero together"),
    ("oracle exact", {"deviations": Deviations(None, None, 0)}, "both null or both numbers"),
    ("oracle failed", {"deviations": Deviations(1.0, 3.0, 1)}, "at most 2"),
    ("oracle failed", {"first_mismatch": Mismatch((0, 0, 0, 0), 1, 2)}, "no element of the output"),
    ("oracle failed", {"first_mismatch": Mismatch((99,), 1, 2)}, "no element of the output"),
    ("oracle failed", {"first_mismatch": Mismatch((0,), 1, 1)}, "no element of the output"),
    ("oracle failed", {"outcome": Outcome.PASSED, "detail": None, "diagnostic": None}, "an exact pass has no mismatch"),
    ("oracle exact", {"bound": 1.0, "worst_ratio": 0.0}, "there is no bound"),
    ("oracle exact", {"tolerance": Tolerance(1.0)}, "tolerance is zero"),
    ("oracle numerical", {"worst_ratio": None}, "go together"),
    ("oracle numerical", {"tolerance": Tolerance()}, "the tolerance of an envelope is its bound"),
    ("oracle numerical", {"tolerance": Tolerance(), "bound": None, "worst_ratio": None}, "has a bound"),
    ("oracle numerical", {"worst_ratio": 1.5}, "at most 1"),
    ("oracle numerical", {"worst_ratio": -0.5}, "0 or more"),
]


@pytest.mark.parametrize(("name", "changes", "said"), IMPOSSIBLE)
def test_a_combination_no_run_leaves_behind_is_refused(name: str, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(record(name), **changes)


@pytest.mark.parametrize("name", ["oracle error", "target blocked", "oracle deferred", "target lost"])
def test_deviations_are_all_none_in_error_blocked_and_deferred_records(name: str) -> None:
    assert record(name).deviations == NOTHING
    assert record(name).mismatches is None


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (Layout((), ()), "()"),
        (Layout.compact((2, 3)), "(2,3)"),
        (Layout((2, 3), (3, 1), 1), "(2,3):(3,1)+1"),
        (Layout((1, (2, 2)), (1, (5, 2))), "(1,(2,2)):(1,(5,2))"),
        (Layout(((2, 2),), ((2, 1),)), "((2,2)):((2,1))"),
        (Layout((4, 0), (0, 1)), "(4,0)"),
    ],
)
def test_a_layout_has_one_text(layout: Layout, text: str) -> None:
    assert layout_text(layout) == text
    assert layout_from_text(text) == layout


@pytest.mark.parametrize(
    "text", ["", "2", "(2,3)+0", "(2,3):(3,1)", "(2,3):(3,1)+0", "(02)", "(2", "(2)(3)", "(2,)", "(2):(1,1)", "((2,2))"]
)
def test_another_spelling_of_a_layout_is_refused(text: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        layout_from_text(text)
