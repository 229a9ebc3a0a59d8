"""The detail of a failed record: how far off, where, and never more than 4 KB."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from fake_carrier import raw
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_kernelverify.diagnosis import detail as detail_module
from pytest_kernelverify.diagnosis.detail import DETAIL_LIMIT, failure_detail
from pytest_kernelverify.evidence.canonical import canonical_json


def detail_of(wrong: list[int], extents: tuple[int, ...], *, step: int = 1, diagnosis: str = "wrong") -> dict[str, Any]:
    expected = np.full(prod(extents), 0x40000000, dtype=np.uint32)
    actual = expected.copy()
    actual[wrong] += np.uint32(step)
    return failure_detail(expected, actual, "f32", extents, expected != actual, diagnosis)


def test_the_histogram_counts_by_the_power_of_two_below_the_ulp_distance() -> None:
    expected = np.full(6, 0x40000000, dtype=np.uint32)
    actual = expected + np.array([0, 1, 2, 3, 4, 1 << 20], dtype=np.uint32)
    ulps = failure_detail(expected, actual, "f32", (6,), expected != actual, "d")["ulps"]
    assert len(ulps) == 32
    assert {place: count for place, count in enumerate(ulps) if count} == {0: 1, 1: 2, 2: 1, 20: 1}


@pytest.mark.parametrize(("dtype", "pair"), [("f32", (0x7FFFFFFF, 0xFFFFFFFF)), ("i32", (0x7FFFFFFF, 0x80000000))])
def test_the_farthest_distance_falls_into_the_last_bin(dtype: str, pair: tuple[int, int]) -> None:
    ulps = failure_detail(raw(pair[0]), raw(pair[1]), dtype, (1,), np.array([True]), "d")["ulps"]
    assert ulps[31] == 1
    assert sum(ulps) == 1


def test_a_zero_of_the_other_sign_falls_into_the_first_bin() -> None:
    assert failure_detail(raw(0), raw(1 << 31), "f32", (1,), np.array([True]), "d")["ulps"][0] == 1


def test_wrong_coordinates_are_runs_for_each_axis() -> None:
    rows, columns = detail_of([4, 5, 6, 8], (3, 4))["axes"]
    assert rows == {"count": 2, "residue": None, "runs": [[1, 2]]}
    assert columns == {"count": 3, "residue": None, "runs": [[0, 2]]}


def test_runs_that_do_not_touch_are_told_apart() -> None:
    (axis,) = detail_of([0, 1, 5, 9, 10], (12,))["axes"]
    assert axis["runs"] == [[0, 1], [5, 5], [9, 10]]


@pytest.mark.parametrize(("modulus", "residue"), [(16, 5), (64, 63), (7, 3), (3, 0)])
def test_a_residue_that_all_wrong_coordinates_share_is_named(modulus: int, residue: int) -> None:
    (axis,) = detail_of(list(range(residue, 600, modulus)), (600,))["axes"]
    assert axis["residue"] == [modulus, residue]


def test_one_wrong_coordinate_has_no_residue() -> None:
    (axis,) = detail_of([8], (64,))["axes"]
    assert axis["residue"] is None


def test_the_eight_worst_elements_are_kept_worst_first() -> None:
    expected = np.full(20, 0x40000000, dtype=np.uint32)
    actual = expected + np.arange(20, dtype=np.uint32)
    detail = failure_detail(expected, actual, "f32", (20,), expected != actual, "d")
    assert detail["worst"] == [[i, 0x40000000, 0x40000000 + i] for i in range(19, 11, -1)]
    assert detail["wrong"] == 19


def test_equally_bad_elements_stand_in_logical_order() -> None:
    assert [row[0] for row in detail_of([9, 3, 5], (12,))["worst"]] == [3, 5, 9]


def test_only_what_is_marked_wrong_is_counted() -> None:
    wrong = np.array([False, True])
    detail = failure_detail(raw(1, 1), raw(9, 2), "f32", (2,), wrong, "d")
    assert detail["wrong"] == 1
    assert [row[0] for row in detail["worst"]] == [1]


@pytest.mark.parametrize("extents", [(), (0,), (0, 3), (4,)])
def test_a_violation_without_a_wrong_element_has_an_empty_detail(extents: tuple[int, ...]) -> None:
    size = prod(extents)
    same = np.zeros(size, dtype=np.uint32)
    detail = failure_detail(same, same, "f32", extents, same != same, "guard written")
    assert detail["axes"] == [{"count": 0, "residue": None, "runs": []} for _ in extents]
    assert (detail["wrong"], detail["worst"], detail["diagnosis"]) == (0, [], "guard written")


def test_a_scalar_result_has_no_axes() -> None:
    assert detail_of([0], ())["axes"] == []


def test_a_detail_holds_builtins_only() -> None:
    canonical_json(detail_of([1, 3], (2, 3)))  # json refuses a NumPy number


def test_the_whole_detail_with_its_diagnosis_stays_within_4_kb() -> None:
    extents = (9, 9, 9, 9, 9)
    wrong = list(range(0, prod(extents), 2))
    detail = detail_of(wrong, extents, step=1 << 20, diagnosis="x" * 400)
    assert len(canonical_json(detail).encode()) <= DETAIL_LIMIT


def test_where_the_limit_is_reached_the_longest_lists_of_runs_are_cut_and_at_least_four_runs_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = [row * 64 + column for row in range(0, 64, 2) for column in range(0, 64, 2)]
    whole = detail_of(wrong, (64, 64))
    assert [len(axis["runs"]) for axis in whole["axes"]] == [32, 32]
    monkeypatch.setattr(detail_module, "DETAIL_LIMIT", 650)
    cut = detail_of(wrong, (64, 64))
    assert len(canonical_json(cut).encode()) <= 650
    for axis, before in zip(cut["axes"], whole["axes"], strict=True):
        assert 4 <= len(axis["runs"]) < 32
        assert axis["runs"] == before["runs"][: len(axis["runs"])]
        assert axis["count"] == 32
    monkeypatch.setattr(detail_module, "DETAIL_LIMIT", 1)
    assert [len(axis["runs"]) for axis in detail_of(wrong, (64, 64))["axes"]] == [4, 4]


@given(
    extents=st.lists(st.sampled_from([1, 2, 3, 7, 130, 100_000]), min_size=0, max_size=8),
    seed=st.integers(0, 2**32 - 1),
    share=st.sampled_from([1, 2, 3, 50]),
    length=st.integers(1, 400),
)
@settings(max_examples=60, deadline=None)
def test_no_shape_and_no_pattern_makes_a_detail_longer_than_4_kb(
    extents: list[int], seed: int, share: int, length: int
) -> None:
    while prod(extents) > 200_000:
        extents.remove(max(extents))
    random = np.random.default_rng(seed)
    size = prod(extents)
    expected = random.integers(0, 2**32, size, dtype=np.uint32)
    actual = random.integers(0, 2**32, size, dtype=np.uint32)
    wrong = (random.integers(0, share, size) == 0) & (expected != actual)
    detail = failure_detail(expected, actual, "f32", tuple(extents), wrong, "x" * length)
    assert len(canonical_json(detail).encode()) <= DETAIL_LIMIT
    assert sum(detail["ulps"]) == detail["wrong"] == int(np.count_nonzero(wrong))
    for axis in detail["axes"]:
        held = sum(last - first + 1 for first, last in axis["runs"])
        assert held == axis["count"] or (held < axis["count"] and len(axis["runs"]) >= 4)
