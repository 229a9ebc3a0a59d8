"""Extents of zero: every extent that may be empty is, and an empty result still tells a kernel that writes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from case_catalog import answer_of, cases_of, error_of, plans
from fake_carrier import KERNEL, FakeCarrier

from pytest_kernelverify.operations.plan import PlanKey
from pytest_kernelverify.operations.table import OPERATIONS
from pytest_kernelverify.running.run_case import run_case

FAMILIES = ("reduction", "scan", "contraction", "indexing", "ordering")
PLANS = [plan for plan in plans() if OPERATIONS[plan.operation].family in FAMILIES]
IDS: dict = {"ids": lambda plan: plan.token}

# Stated here once more, from the table of operations: what each extent of an operand is called.
ROWS = (("R", "K"),)
EXTENTS = {
    "matmul": (("B", "M", "K"), ("B", "K", "N")),
    "conv": (("N", "C", "L"), ("O", "C/g", "W")),
    "gather": (("N", "D"), ("M",)),
    "scatter": (("N", "D"), ("M",), ("M", "D")),
    "scatter_add": (("N", "D"), ("M",), ("M", "D")),
}
# A window without taps is no window; an input without positions is one of the ways to have no output positions.
NEVER_EMPTY = {"conv": {"W", "L"}}
# Without rows to index there can be no indices; channels and those of a group go together.
FORCED = {
    ("gather", "N"): "M",
    ("scatter", "N"): "M",
    ("scatter_add", "N"): "M",
    ("conv", "C"): ("C/g",),
    ("conv", "C/g"): "C",
}


def empty_extents(case) -> Iterator[str]:
    """The names of the extents that are zero in a case."""
    for names, operand in zip(EXTENTS.get(case.operation, ROWS), case.operands, strict=True):
        lead = len(operand.extents) - len(names)
        if names[0] == "B":
            extents = [0 if 0 in operand.extents[: lead + 1] else 1, *operand.extents[lead + 1 :]]
        else:
            extents = operand.extents[: len(names)]
        yield from (name for name, extent in zip(names, extents, strict=True) if extent == 0)


@pytest.mark.parametrize("plan", PLANS, **IDS)
def test_every_extent_that_may_be_empty_is_empty_in_a_case_of_its_own(plan: PlanKey):
    names = {name for operand in EXTENTS.get(plan.operation, ROWS) for name in operand}
    found = [set(empty_extents(case)) for case in cases_of(plan)]
    for name in names - NEVER_EMPTY.get(plan.operation, set()):
        assert {name, *FORCED.get((plan.operation, name), ())} in found, (name, found)


@pytest.mark.parametrize("plan", [plan for plan in PLANS if plan.operation == "conv"], **IDS)
def test_a_convolution_whose_window_does_not_fit_has_no_positions_though_division_toward_zero_gives_one(plan: PlanKey):
    found = 0
    for case in cases_of(plan):
        if 0 in case.output_layout.extents[2:]:
            at = case.output_layout.extents[2:].index(0)
            length, window = (operand.extents[2 + at] for operand in case.operands)
            stride, padding, dilation = (case.parameters[name] for name in ("stride", "padding", "dilation"))
            room = length + 2 * padding - dilation * (window - 1) - 1
            assert -stride < room < 0
            assert all(extent for operand in case.operands for extent in operand.extents)
            assert any(case.output_layout.extents[2:]), "the other axis has positions"
            found += 1
    assert found == 1


@pytest.mark.parametrize("plan", [plan for plan in PLANS if plan.operation.startswith("topk_")], **IDS)
def test_a_topk_of_no_elements_is_legal_and_empty(plan: PlanKey):
    (case,) = [case for case in cases_of(plan) if case.parameters["k"] == 0]
    assert case.error is None
    assert error_of(case) is None
    assert case.operands[0].layout.size > 0
    assert case.output_layout.extents[-1] == 0


@pytest.mark.parametrize("plan", [plan for plan in PLANS if plan.operation.startswith("arg")], **IDS)
def test_an_arg_reduction_is_an_error_without_columns_with_or_without_rows_and_not_without_rows_alone(plan: PlanKey):
    errors = {
        tuple(extent > 0 for extent in case.operands[0].extents): case.error
        for case in cases_of(plan)
        if 0 in case.operands[0].extents
    }
    assert errors == {(True, False): "empty", (False, False): "empty", (False, True): None}


@pytest.mark.parametrize("plan", [plan for plan in PLANS if plan.operation.startswith("scatter")], **IDS)
def test_a_scatter_of_no_updates_gives_its_base(plan: PlanKey):
    cases = [case for case in cases_of(plan) if not case.operands[1].layout.size and case.output_layout.size]
    assert cases
    for case in cases:
        assert np.array_equal(answer_of(case).words.ravel(), case.operands[0].words)
        assert len(set(case.operands[0].words.tolist())) > 1 or case.layout == "stride0"


@pytest.mark.parametrize("plan", PLANS, **IDS)
def test_an_empty_result_stays_because_it_tells_a_kernel_that_writes_one_element_anyway(plan: PlanKey):
    """Nothing can be compared, but the guard bytes around nothing must be intact."""
    empty = [case for case in cases_of(plan) if case.error is None and not case.output_layout.size]
    assert empty
    for case in empty:
        for distance in (0, 1, -1):

            def stray(operands, output, distance=distance):
                output.memory[output.layout.offset + distance] ^= 1

            seen = run_case(FakeCarrier(stray), KERNEL, case).violation
            assert seen is not None, case.case_id
            assert "guard of the output was written" in seen
        silent = run_case(FakeCarrier(lambda operands, output: None), KERNEL, case)
        assert (silent.violation, silent.error) == (None, None), case.case_id
        assert silent.words.size == 0
