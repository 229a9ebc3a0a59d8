"""Analytic witnesses: right by exact integer arithmetic, and wrong for every impostor."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections import Counter

import pytest

from pytest_kernelverify.cases.analytic import AnalyticCase, analytic_cases, analytic_shapes
from pytest_kernelverify.numerics.payloads import EncodedFloat32Payload

CASES = analytic_cases()


def first_index(row: list[int], pick) -> int:  # type: ignore[no-untyped-def]
    return row.index(pick(row))


REDUCTIONS = {
    "reduce_sum": sum,
    "reduce_prod": math.prod,
    "reduce_max": max,
    "reduce_min": min,
    "argmax": lambda row: first_index(row, max),
    "argmin": lambda row: first_index(row, min),
}


def terms(case: AnalyticCase) -> list[list[int]]:
    """For each output element the integers that are combined."""
    shapes = analytic_shapes(case.case_id)
    operands = [[int(value) for value in values] for values in case.inputs]
    if case.operation != "matmul":
        ((rows, length),) = shapes
        return [operands[0][row * length : (row + 1) * length] for row in range(rows)]
    (*batch, m, k), n = shapes[0], shapes[1][-1]
    lhs, rhs = operands
    return [
        [lhs[(b * m + i) * k + p] * rhs[(b * k + p) * n + j] for p in range(k)]
        for b in range(math.prod(batch))
        for i in range(m)
        for j in range(n)
    ]


def test_the_stated_answer_is_the_exact_one() -> None:
    for case in CASES:
        combine = REDUCTIONS.get(case.operation, sum)
        assert [int(value) for value in case.expected] == [combine(row) for row in terms(case)], case.case_id


def test_inputs_fill_their_shapes_and_all_values_are_exact_in_int32_and_binary32() -> None:
    for case in CASES:
        shapes = analytic_shapes(case.case_id)
        assert [len(values) for values in case.inputs] == [math.prod(shape) for shape in shapes], case.case_id
        for values in (*case.inputs, case.expected):
            assert isinstance(values, tuple)
            assert all(type(value) is float and value.is_integer() and abs(value) < 2**31 for value in values)
            assert EncodedFloat32Payload.from_values(values).values() == values, case.case_id


def test_every_partial_result_in_any_order_is_exact() -> None:
    for case in CASES:
        for row in terms(case):
            if case.operation in ("reduce_sum", "matmul"):
                assert sum(map(abs, row)) <= 2**24, case.case_id
            if case.operation == "reduce_prod":
                assert math.prod(abs(factor) // (factor & -factor) for factor in row) < 2**24, case.case_id
                assert abs(math.prod(row)) < 2**31, case.case_id


def test_zeros_a_constant_an_input_a_rotation_and_a_stale_element_are_wrong_answers() -> None:
    for case in CASES:
        expected = list(case.expected)
        assert any(expected), case.case_id
        if len(expected) > 1:
            assert len(set(expected)) > 1, case.case_id
            assert expected[1:] + expected[:1] != expected, case.case_id
        copies_its_input = case.operation != "matmul" and analytic_shapes(case.case_id)[0][1] == 1
        for values in case.inputs:
            assert copies_its_input or list(values[: len(expected)]) != expected, case.case_id
        if case.operation.startswith("arg"):
            continue  # an index may well be 0; another row's index is still wrong, as the rotation shows
        for place in (0, len(expected) // 2, len(expected) - 1):
            assert expected[place] != 0, case.case_id
            assert expected[place] != expected[place - 1] or len(expected) == 1, case.case_id


def test_dropping_or_repeating_any_one_term_is_a_wrong_answer() -> None:
    for case in CASES:
        if not re.search("geometric|primes|count|dot", case.case_id):
            continue  # the other witnesses look for something else
        rows = terms(case)
        combine = REDUCTIONS.get(case.operation, sum)
        for place in range(len(rows[0])):
            dropped = [combine(row[:place] + row[place + 1 :]) for row in rows]
            repeated = [combine([*row, row[place]]) for row in rows]
            assert list(case.expected) not in (dropped, repeated), (case.case_id, place)


def test_geometric_answers_name_the_term_that_is_missing() -> None:
    for case in CASES:
        if not case.case_id.startswith("reduce_sum-geometric"):
            continue
        faults: Counter[tuple[int, ...]] = Counter()
        rows = terms(case)
        for place, times in itertools.product(range(len(rows[0])), (0, 2, 3)):
            faults[tuple(sum(row) + (times - 1) * row[place] for row in rows)] += 1
        assert max(faults.values()) == 1


def test_cases_are_independently_named_deterministic_reduction_and_matmul_witnesses() -> None:
    assert analytic_cases() == CASES
    assert isinstance(CASES, tuple)
    names = [case.case_id for case in CASES]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9_]+(-[a-z0-9_]+)+", name) for name in names)
    assert {case.operation for case in CASES} == {*REDUCTIONS, "matmul"}


def test_every_reduction_length_up_to_24_and_every_matmul_depth_has_a_witness() -> None:
    lengths: dict[str, set[int]] = {}
    for case in CASES:
        lengths.setdefault(case.operation, set()).add(analytic_shapes(case.case_id)[0][-1])
    for operation in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "matmul"):
        assert lengths[operation] >= set(range(1, 25))
    assert lengths["argmax"] == lengths["argmin"] == set(range(2, 25))
    shapes = [analytic_shapes(case.case_id) for case in CASES if case.operation == "matmul"]
    assert any(len({lhs[-2], lhs[-1], rhs[-1]}) == 3 for lhs, rhs in shapes)
    assert any(len(lhs) > 2 for lhs, _ in shapes)


@pytest.mark.parametrize("operation", ["reduce_max", "reduce_min", "argmax", "argmin"])
def test_the_winner_stands_at_every_place_and_zero_never_wins(operation: str) -> None:
    case = next(case for case in CASES if case.case_id == f"{operation}-peak-k17")
    rows = terms(case)
    pick = max if operation.endswith("max") else min
    assert {row.index(pick(row)) for row in rows} == set(range(17))
    assert all(pick([*row, 0]) == 0 for row in rows)


def test_a_case_is_immutable_and_constructed_in_the_stated_order() -> None:
    inputs, expected = ((1.0, 2.0),), (3.0,)
    case = AnalyticCase("name", "reduce_sum", inputs, expected)
    assert case.inputs is inputs
    assert case.expected is expected
    with pytest.raises(dataclasses.FrozenInstanceError):
        case.operation = "matmul"  # type: ignore[misc]


def test_an_unknown_case_has_no_shapes() -> None:
    with pytest.raises(ValueError, match="'nothing' does not exist"):
        analytic_shapes("nothing")
