"""The operations table: what DESIGN section 5 lists, and the extents that follow from operands."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_kernelverify.catalog.load import manifest_of, verification_profiles
from pytest_kernelverify.operations.table import OPERATIONS, SUBJECTS, operation, output_extents

FAMILIES = {
    "pointwise": "add sub mul div rem maximum minimum pow neg abs sign ceil floor round recip sqrt rsqrt relu"
    " leaky_relu clamp logical_not select cast",
    "predicate": "eq ne lt le",
    "transcendental": "exp exp2 log log2 sin cos erf tanh sigmoid silu gelu elu softplus",
    "reduction": "reduce_sum reduce_prod reduce_max reduce_min argmax argmin",
    "scan": "cumsum",
    "contraction": "matmul conv",
    "indexing": "gather scatter scatter_add",
    "ordering": "sort_values sort_indices topk_values topk_indices",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_exactly_its_operations(family: str) -> None:
    assert {name for name, row in OPERATIONS.items() if row.family == family} == set(FAMILIES[family].split())


def test_no_operation_is_outside_the_families() -> None:
    assert {row.family for row in OPERATIONS.values()} == set(FAMILIES)


def test_movement_and_structural_subjects_are_those_of_the_design() -> None:
    kinds = {kind: {name for name, row in SUBJECTS.items() if row.kind == kind} for kind in ("movement", "structural")}
    assert kinds == {
        "movement": {"copy", "view", "permute", "rearrange", "broadcast_to"},
        "structural": {"addressing", "coverage", "bounds"},
    }


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("conv", {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}),
        ("sort_values", {"descending": False}),
        ("topk_indices", {"k": 1}),
        ("leaky_relu", {"negative_slope": 0.01}),
        ("add", {}),
    ],
)
def test_parameters_have_their_documented_defaults(name: str, parameters: dict[str, Any]) -> None:
    assert dict(OPERATIONS[name].parameters) == parameters


def test_the_table_cannot_be_changed() -> None:
    for mapping in (OPERATIONS, SUBJECTS, OPERATIONS["conv"].parameters):
        with pytest.raises(TypeError):
            mapping["other"] = None  # type: ignore[index]


def test_an_unknown_operation_is_a_value_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown operation 'softmax'; expected one of add, sub"):
        operation("softmax")
    assert operation("add") is OPERATIONS["add"]


def test_every_shipped_plan_has_the_operands_of_its_operation() -> None:
    for profile in verification_profiles():
        for row in manifest_of(profile).plans:
            assert len(row.plan.operands) == len(OPERATIONS[row.plan.operation].operands), row.plan.text


@pytest.mark.parametrize(
    ("name", "operands", "parameters", "extents"),
    [
        ("add", ((2, 3), (2, 3)), {}, (2, 3)),
        ("mul", ((2, 3), ()), {}, (2, 3)),
        ("clamp", ((), (4,), ()), {}, (4,)),
        ("neg", ((),), {}, ()),
        ("eq", ((5,), (5,)), {}, (5,)),
        ("reduce_sum", ((4, 9),), {}, (4,)),
        ("argmax", ((2, 4, 0),), {}, (2, 4)),
        ("cumsum", ((4, 9),), {}, (4, 9)),
        ("sort_indices", ((4, 9),), {"descending": True}, (4, 9)),
        ("topk_values", ((4, 9),), {"k": 3}, (4, 3)),
        ("topk_values", ((4, 9),), {}, (4, 1)),
        ("matmul", ((33, 65), (65, 129)), {}, (33, 129)),
        ("matmul", ((2, 3, 4, 5), (2, 3, 5, 1)), {}, (2, 3, 4, 1)),
        ("matmul", ((2, 0), (0, 3)), {}, (2, 3)),
        ("gather", ((7, 3), (5,)), {}, (5, 3)),
        ("scatter", ((7, 3), (5,), (5, 3)), {}, (7, 3)),
        ("scatter_add", ((7, 3), (0,), (0, 3)), {}, (7, 3)),
        ("conv", ((1, 2, 9), (4, 2, 3)), {}, (1, 4, 7)),
        ("conv", ((1, 2, 9), (4, 2, 3)), {"stride": 2, "padding": 1}, (1, 4, 5)),
        ("conv", ((2, 4, 8, 9), (6, 2, 3, 2)), {"groups": 2, "dilation": 2}, (2, 6, 4, 7)),
        ("conv", ((1, 1, 2), (1, 1, 3)), {}, (1, 1, 0)),
        ("conv", ((1, 1, 3, 3, 3), (1, 1, 2, 2, 2)), {}, (1, 1, 2, 2, 2)),
    ],
)
def test_the_extents_of_a_result_follow_from_the_operands(
    name: str, operands: Any, parameters: dict[str, Any], extents: tuple[int, ...]
) -> None:
    assert output_extents(name, operands, parameters) == extents


@pytest.mark.parametrize(
    ("name", "operands", "parameters", "message"),
    [
        ("add", ((2, 3), (3, 2)), {}, "they must be equal"),
        ("add", ((2, 3), (3,)), {}, "they must be equal"),
        ("matmul", ((2, 3), (2, 3)), {}, "do not contract"),
        ("matmul", ((2, 2, 3), (3, 3, 2)), {}, "do not contract"),
        ("matmul", ((3,), (3, 2)), {}, "do not contract"),
        ("conv", ((1, 2, 9), (4, 3, 3)), {}, r"do not fit 1 group\(s\)"),
        ("conv", ((1, 4, 9), (3, 2, 3)), {"groups": 2}, r"do not fit 2 group\(s\)"),
        ("conv", ((1, 2, 9), (4, 2, 3, 3)), {}, "do not fit"),
        ("gather", ((7,), (5,)), {}, "gather"),
        ("scatter", ((7, 3), (5,), (5, 2)), {}, "scatter"),
        ("scatter", ((7, 3), (5,), (4, 3)), {}, "scatter"),
        ("reduce_sum", ((),), {}, "reduce_sum"),
        ("topk_values", ((2, 3),), {"k": 4}, "k is 4"),
    ],
)
def test_operands_that_do_not_fit_each_other_are_a_value_error(
    name: str, operands: Any, parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        output_extents(name, operands, parameters)


def test_an_operation_without_operands_given_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="add: 1 operand"):
        output_extents("add", ((2,),), {})
