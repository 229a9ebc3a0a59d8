"""The operations table: what DESIGN section 5 lists, and the extents that follow from operands."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from pytest_kernelverify.catalog.load import manifest_of, verification_profiles
from pytest_kernelverify.operations.generic.dispatch import evaluate
from pytest_kernelverify.operations.plan import PlanKey
from pytest_kernelverify.operations.table import (
    OPERATIONS,
    SUBJECTS,
    check_legal,
    legal_plans,
    operation,
    output_extents,
    required_classes,
)

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


# Legal plans --------------------------------------------------------------------------------------------------------


def test_every_operation_has_legal_plans_of_its_own_operands() -> None:
    for name, entry in OPERATIONS.items():
        plans = [PlanKey.from_text(text) for text in legal_plans(name)]
        assert plans, name
        assert len(set(plans)) == len(plans)
        assert {(plan.operation, len(plan.operands)) for plan in plans} == {(name, len(entry.operands))}


def test_every_shipped_plan_is_legal() -> None:
    for profile in verification_profiles():
        for row in manifest_of(profile).plans:
            check_legal(row.plan)


@pytest.mark.parametrize("name", OPERATIONS)
def test_generic_has_a_reference_for_every_legal_plan_that_is_not_deferred(name: str) -> None:
    extents = {"matmul": [(2, 2), (2, 2)], "conv": [(1, 1, 3), (1, 1, 2)], "gather": [(2, 2), (1,)]}
    extents |= {scatter: [(2, 2), (1,), (1, 2)] for scatter in ("scatter", "scatter_add")}
    for text in legal_plans(name):
        plan = PlanKey.from_text(text)
        check_legal(plan)
        if required_classes(plan):
            shapes = extents.get(name, [(2, 2)] * len(plan.operands))
            words = [
                np.zeros(shape, np.uint8 if operand.dtype == "bool" else np.uint32)
                for shape, operand in zip(shapes, plan.operands, strict=True)
            ]
            given = evaluate(plan, words).words
            assert given.dtype == (np.uint8 if plan.output == "bool" else np.uint32), text
            assert given.size == math.prod(output_extents(name, tuple(shapes), {})), text


@pytest.mark.parametrize(
    "text",
    [
        "add(f32,f32)->bool compute=word",
        "add(f32,f32)->f32 compute=f32 acc=floating:f64",
        "add(i32>f32,i32>f32)->f32 compute=f32",
        "add(f32,i32)->f32 compute=f32",
        "add(i32,i32)->i32 compute=i32",
        "add(f32>i32,i32)->i32 compute=i32_checked",
        "div(i32,i32)->i32 compute=i32_checked",
        "neg(bool)->bool compute=word",
        "maximum(i32,i32)->i32 compute=i32_checked",
        "clamp(i32,i32,f32)->f32 compute=f32",
        "cast(f32)->f32 compute=f32",
        "select(f32,f32,f32)->f32 compute=word",
        "select(bool,f32,i32)->f32 compute=word",
        "eq(f32,f32)->f32 compute=f32",
        "lt(bool,bool)->bool compute=word",
        "exp(i32)->f32 compute=f32",
        "exp(f32)->f32 compute=f32 acc=floating:f32",
        "reduce_sum(f32)->f32 compute=f32",
        "reduce_sum(f32)->f32 compute=f32 acc=exact_integer",
        "reduce_sum(f32)->f32 compute=f32 acc=sequential_binary32",
        "reduce_sum(i32)->i32 compute=i32_checked acc=floating:f32",
        "reduce_prod(i32)->i32 compute=i32_checked acc=exact_integer",
        "reduce_max(f32)->f32 compute=f32 acc=floating:f32",
        "argmax(f32)->f32 compute=f32",
        "cumsum(f32)->f32 compute=f32",
        "matmul(f32,f32)->f32 compute=f32",
        "matmul(f32,f32)->f32 compute=f32 acc=sequential_binary32",
        "matmul(i32>f32,i32>f32)->f32 compute=f32 acc=floating:f32",
        "conv(f32,i32>f32)->f32 compute=f32 acc=sequential_binary32",
        "gather(f32,f32)->f32 compute=word",
        "gather(f32,i32)->i32 compute=word",
        "scatter(f32,i32,i32)->f32 compute=word",
        "scatter_add(f32,i32,f32)->f32 compute=f32",
        "sort_values(f32)->i32 compute=f32",
        "sort_indices(i32)->i32 compute=word",
    ],
)
def test_a_plan_that_its_operation_cannot_have_is_refused(text: str) -> None:
    name = text.partition("(")[0]
    with pytest.raises(ValueError, match=re.escape(f"plan {text} is none of {name}; expected {name}(")) as error:
        check_legal(PlanKey.from_text(text))
    assert all(legal in str(error.value) for legal in legal_plans(name))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("matmul(f32,f32:scalar)->f32 compute=f32 acc=floating:f32", "has 1 scalar operand(s); expected tensors"),
        ("gather(f32,i32:scalar)->f32 compute=word", "has 1 scalar operand(s); expected tensors"),
        ("reduce_sum(f32:scalar)->f32 compute=f32 acc=floating:f32", "has 1 scalar operand(s); expected tensors"),
        ("neg(f32:scalar)->f32 compute=f32", "has 1 scalar operand(s); expected at least one tensor"),
        ("add(f32:scalar,f32:scalar)->f32 compute=f32", "has 2 scalar operand(s); expected at least one tensor"),
        ("add(f32)->f32 compute=f32", "has 1 operands; add has 2"),
        ("plus(f32,f32)->f32 compute=f32", "unknown operation 'plus'"),
    ],
)
def test_operands_that_no_plan_of_the_operation_takes_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        check_legal(PlanKey.from_text(text))


@pytest.mark.parametrize(
    "text", ["mul(i32>f32,f32:scalar)->f32 compute=f32", "clamp(f32:scalar,f32,i32:scalar>f32)->f32 compute=f32"]
)
def test_an_elementwise_operation_takes_scalars_beside_a_tensor(text: str) -> None:
    check_legal(PlanKey.from_text(text))


# Classes ------------------------------------------------------------------------------------------------------------

SUMS = "structural analytic numerical"


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("add(f32,f32)->f32 compute=f32", "exact_arithmetic"),
        ("cast(f32)->bool compute=f32", "exact_arithmetic"),
        ("eq(i32,i32)->bool compute=i32", "exact_arithmetic"),
        ("reduce_max(f32)->f32 compute=f32", "exact_arithmetic"),
        ("argmin(i32)->i32 compute=i32", "exact_arithmetic"),
        ("sort_indices(f32)->i32 compute=f32", "exact_arithmetic"),
        ("topk_indices(f32)->i32 compute=f32", "exact_arithmetic"),
        ("pow(i32,i32)->i32 compute=i32_checked", "exact_arithmetic"),
        ("select(bool,i32,i32)->i32 compute=word", "bit_exact"),
        ("gather(f32,i32)->f32 compute=word", "bit_exact"),
        ("scatter(f32,i32,f32)->f32 compute=word", "bit_exact"),
        ("sort_values(f32)->f32 compute=f32", "bit_exact"),
        ("topk_values(i32)->i32 compute=i32", "bit_exact"),
        ("cumsum(f32)->f32 compute=f32 acc=sequential_binary32", "exact_arithmetic structural"),
        ("scatter_add(f32,i32,f32)->f32 compute=f32 acc=sequential_binary32", "exact_arithmetic structural"),
        ("scatter_add(f32,i32,f32)->f32 compute=f32 acc=floating:f64", SUMS),
        ("reduce_sum(f32)->f32 compute=f32 acc=floating:f32", SUMS),
        ("matmul(i32,i32)->i32 compute=i32_checked acc=exact_integer", SUMS),
        ("pow(f32,f32)->f32 compute=f32", ""),
        ("pow(i32>f32,i32>f32)->f32 compute=f32", ""),
        ("exp(f32)->f32 compute=f32", ""),
        ("elu(i32>f32)->f32 compute=f32", ""),
    ],
)
def test_the_classes_a_plan_requires_follow_from_its_family_and_its_accumulation(text: str, classes: str) -> None:
    required = required_classes(PlanKey.from_text(text))
    assert [member.value for member in required] == classes.split()


def test_subjects_run_on_the_copy_kernel_and_coverage_on_the_add_kernel() -> None:
    carriers = {name: row.operation for name, row in SUBJECTS.items()}
    assert carriers.pop("coverage") == "add"
    assert set(carriers.values()) == {"copy"}
