"""Every (plan, size), (plan, layout) and (plan, value kind) pair that applies occurs; every case earns its place."""

from __future__ import annotations

from math import prod

import pytest
from case_catalog import Obligation, cases_of, obligations, plans

from pytest_kernelverify.operations.plan import OperandRole, PlanKey
from pytest_kernelverify.operations.table import OPERATIONS

# Stated here once more, from the design and not from the generators.
LADDER = {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257, 1000}
PAST_THRESHOLDS = {513, 1025, 4097}
LAYOUTS = {"compact", "pitched", "offset", "transposed", "stride0", "multi", "hierarchical"}
CALLS = {"again", "grown", "shrunk"}

INTEGER = {"small", "wide", "extremes"}
COMPARED = {"maximum", "minimum", "eq", "ne", "lt", "le", "clamp"}
NUMBERS = {"small", "wide", "extremes", "specials", "subnormal"}
ROUNDED = {"ceil", "floor", "round", "recip", "sqrt", "rsqrt", "leaky_relu"}
SUMMED = {"ones", "small", "fours"}
IDS: dict = {"ids": lambda plan: plan.token}


def scalars(plan: PlanKey) -> bool:
    return any(operand.role is OperandRole.SCALAR for operand in plan.operands)


def expected_sizes(plan: PlanKey) -> set[int]:
    family = OPERATIONS[plan.operation].family
    sizes = set(LADDER)
    if family in ("reduction", "scan", "contraction"):
        sizes |= PAST_THRESHOLDS
    return sizes


def expected_kinds(plan: PlanKey) -> set[str]:
    name, family = plan.operation, OPERATIONS[plan.operation].family
    dtypes = [operand.dtype for operand in plan.operands]
    if plan.accumulation:
        return summing_kinds(plan)
    if family in ("reduction", "ordering"):
        kinds = {"small", "wide", "one_sided", "ties", "extremes"}
        if dtypes[0] == "f32":
            kinds |= {"specials", "subnormal"}
        if name.startswith("sort_"):
            kinds |= {f"{kind}_descending" for kind in kinds & {"ties", "specials"}}
        if name.startswith("arg"):
            kinds |= {"empty", "empty_of_none"}
        if name.startswith("topk_"):
            kinds |= {"too_many", "too_many_of_none"}
        return kinds
    if family == "indexing":
        kinds = {"small", "wide", "extremes", "boundary", "collisions", "many"}
        kinds |= {f"index-{place}" for place in ("first", "middle", "last")}
        return kinds | ({"specials", "subnormal"} if plan.output == "f32" else set())
    return pointwise_kinds(plan, dtypes)


def pointwise_kinds(plan: PlanKey, dtypes: list[str]) -> set[str]:
    name = plan.operation
    if name == "select":
        return (NUMBERS if plan.output == "f32" else INTEGER) | {"all_true", "all_false"}
    if dtypes == ["bool"]:
        return {"flags", "ones"}
    kinds: set[str] = set()
    if plan.compute == "i32_checked":
        kinds |= {f"overflow-{place}" for place in ("first", "middle", "last")}
    if (name == "pow" and plan.compute == "i32_checked") or name == "clamp" or (name, plan.output) == ("cast", "i32"):
        kinds |= {f"domain-{place}" for place in ("first", "middle", "last")}
    if "f32" not in dtypes and plan.compute != "f32":
        return kinds | INTEGER | ({"ties"} if name in COMPARED else set())
    if "i32" in dtypes and plan.output == "f32":
        kinds |= {"small", "wide", "conversion"}
        if len(dtypes) == 1:
            return kinds
        kinds |= {"halfway", "specials"} | ({"subnormal"} if "f32" in dtypes else set())
        return kinds | ({"infinite", "nan"} if scalars(plan) else set())
    if (name, plan.output) == ("cast", "i32"):
        return kinds | {"small", "wide", "halfway", "extremes", "subnormal"}
    if name in ("add", "sub", "mul", "div", "rem") or name in ROUNDED:
        kinds.add("halfway")
    if name in ("add", "sub"):
        kinds.add("cancellation")
    if name in COMPARED:
        kinds.add("ties")
    if scalars(plan):
        kinds |= {"infinite", "nan"}
    return kinds | NUMBERS


def summing_kinds(plan: PlanKey) -> set[str]:
    if plan.accumulation == "exact_integer":
        kinds = {*SUMMED, "extremes", "positive", "wide", "cancellation", "beyond_significand", "count", "geometric"}
        return kinds | {f"overflow-{place}" for place in ("first", "middle", "last")}
    kinds = {"specials", "extremes", "subnormal", "small"}
    kinds |= {"ones", "twos", "primes"} if plan.operation == "reduce_prod" else SUMMED
    if plan.accumulation == "sequential_binary32":
        kinds |= {"order", "wide", "halfway"}
        if plan.operation != "reduce_prod":
            kinds.add("cancellation")
        if plan.operation == "conv":
            kinds.add("unfused")
    else:
        kinds |= {"positive", "wide", ANALYTIC[plan.operation]}
        if plan.operation != "reduce_prod" or plan.accumulator == "f64":
            kinds.add("cancellation")
    if plan.operation == "matmul":
        kinds |= {"large", "tall"}
        if any(operand.dtype == "i32" for operand in plan.operands):
            kinds.add("conversion")
        if plan.accumulator == "f32":
            kinds |= {"unfused", "unfused_anywhere"}
    if plan.operation == "scatter_add":
        kinds.add("large")
        kinds |= {f"index-{place}" for place in ("first", "middle", "last")}
    return kinds


ANALYTIC = {
    "reduce_sum": "geometric",
    "matmul": "geometric",
    "reduce_prod": "primes",
    "cumsum": "squares",
    "conv": "delta",
    "scatter_add": "histogram",
}


def aliased_layouts(plan: PlanKey) -> set[str]:
    if OPERATIONS[plan.operation].family not in ("pointwise", "predicate"):
        return set()
    names = [name for name, _ in OPERATIONS[plan.operation].operands]
    return {
        f"aliased_{name}"
        for name, operand in zip(names, plan.operands, strict=True)
        if operand.dtype == plan.output and operand.role is OperandRole.TENSOR
    }


@pytest.mark.parametrize("plan", plans(), **IDS)
def test_every_size_of_the_ladder_occurs_for_every_plan(plan):
    assert expected_sizes(plan) - {case.size for case in cases_of(plan)} == set()


@pytest.mark.parametrize("plan", plans(), **IDS)
def test_every_layout_that_applies_occurs_for_every_plan(plan):
    layouts = {case.layout for case in cases_of(plan)}
    assert LAYOUTS | aliased_layouts(plan) == layouts


@pytest.mark.parametrize("plan", plans(), **IDS)
def test_every_value_kind_that_applies_occurs_for_every_plan(plan):
    missing = (expected_kinds(plan) | CALLS) - {case.values for case in cases_of(plan)}
    assert missing == set()


@pytest.mark.parametrize("plan", plans(), **IDS)
def test_the_size_of_a_case_is_what_the_design_says_it_is(plan):
    family = OPERATIONS[plan.operation].family
    for case in cases_of(plan):
        tensors = [operand for operand in case.operands if operand.extents]
        first = tensors[0].extents
        if family in ("pointwise", "predicate"):
            found = tensors[0].layout.size
        elif plan.operation == "conv":
            found = prod(tensors[1].extents[1:])
        elif plan.operation == "scatter_add" and not case.error:
            found = tensors[1].extents[0]
        else:
            found = first[-1]
        assert case.size == found, case.case_id


@pytest.mark.parametrize(
    "plan",
    [
        plan
        for plan in plans()
        if OPERATIONS[plan.operation].family not in ("pointwise", "predicate") and plan.operation != "conv"
    ],
    **IDS,
)
def test_extents_other_than_the_size_are_at_most_7_except_where_named(plan):
    for case in cases_of(plan):
        if case.values in ("large", "tall", "many", "unfused_anywhere") or case.verification_class.value == "analytic":
            continue  # 33 x 65 x 129; 129 indices; a formula states its own extents
        extents = {extent for operand in case.operands for extent in operand.extents} - {case.size}
        assert max(extents, default=0) <= 7, case.case_id


def test_one_matmul_of_33_65_129_for_every_matmul_plan():
    for plan in plans():
        if plan.operation == "matmul":
            shapes = [tuple(operand.extents for operand in case.operands) for case in cases_of(plan)]
            assert shapes.count(((33, 65), (65, 129))) == 1, plan.text


def test_matmuls_are_not_square_and_come_in_batches():
    for plan in plans():
        if plan.operation != "matmul":
            continue
        cases = cases_of(plan)
        assert any(len(set(case.operands[0].extents[-2:] + case.operands[1].extents[-1:])) == 3 for case in cases)
        assert {case.operands[0].layout.extents[:-2] for case in cases} >= {(2,), (3,), (1, 2)}


def test_convolutions_use_every_rank_and_every_parameter_above_its_default():
    for plan in plans():
        if plan.operation != "conv":
            continue
        cases = cases_of(plan)
        assert {len(case.operands[0].extents) - 2 for case in cases} == {1, 2, 3}
        for name in ("stride", "padding", "dilation", "groups"):
            values = {case.parameters[name] for case in cases}
            assert any(value > 1 for value in values), (plan.text, name)
        # And together: more than one of them at a time, in a window that contracts channels and taps.
        assert any(
            sum(case.parameters[name] > 1 for name in ("stride", "dilation", "groups")) > 1
            and case.parameters["padding"]
            and case.operands[1].extents[1] > 1
            and case.operands[1].extents[2] > 1
            for case in cases
        ), plan.text


def test_orderings_run_in_both_directions_and_with_several_k():
    for plan in plans():
        cases = [case for case in cases_of(plan) if not case.error]
        if plan.operation.startswith("sort_"):
            assert {case.parameters["descending"] for case in cases} == {False, True}
        if plan.operation.startswith("topk_"):
            assert {1, 3} < {case.parameters["k"] for case in cases}
            assert any(case.parameters["k"] == case.size > 3 for case in cases)


@pytest.mark.parametrize("item", obligations(), ids=lambda item: item.id)
def test_every_case_adds_a_pair_to_its_item_or_rejects_what_should_fail(item: Obligation):
    sizes, layouts, kinds = set(), set(), set()
    for case in item.cases():
        new = (case.size not in sizes, case.layout not in layouts, case.values not in kinds, case.error is not None)
        assert any(new), f"{case.name} repeats the size, the layout and the values of earlier cases"
        sizes.add(case.size)
        layouts.add(case.layout)
        kinds.add(case.values)


@pytest.mark.parametrize("item", obligations(), ids=lambda item: item.id)
def test_a_shape_is_called_again_with_other_values_and_in_a_larger_and_a_smaller_batch(item: Obligation):
    cases = list(item.cases())
    at = {case.values: number for number, case in enumerate(cases)}
    if "again" not in at:
        assert item.plan is None or item.verification_class.value in ("numerical", "analytic")
        return
    again = cases[at["again"]]

    def shape(case):
        return tuple(operand.layout for operand in case.operands), case.output_layout, dict(case.parameters)

    earlier = [case for case in cases[: at["again"]] if shape(case) == shape(again)]
    assert earlier, "no earlier case has that shape and those layouts"
    assert any(
        (one.words != other.words).any()
        for case in earlier
        for one, other in zip(case.operands, again.operands, strict=True)
    )
    if item.plan is None:
        return  # a movement has no batch of its own
    grown, shrunk = cases[at["grown"]], cases[at["shrunk"]]
    assert at["again"] < at["grown"] < at["shrunk"]
    place, axis = {"gather": (1, 0), "scatter": (1, 0), "scatter_add": (2, 1)}.get(again.operation, (0, 0))
    batch = [case.operands[place].extents[axis] for case in (again, grown, shrunk)]
    assert batch[0] <= batch[1] > batch[2]
