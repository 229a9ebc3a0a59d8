"""The detail of a failed record: what its parts must be, and how they agree with the record's counts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from pytest_kernelverify.diagnosis.detail import failure_detail
from pytest_kernelverify.evidence.canonical import exact_fields, plain, typed
from pytest_kernelverify.evidence.record import EvidenceRecord, Mismatch
from pytest_kernelverify.numerics.comparison import compare_words

__all__ = ["check_detail"]


def check_detail(record: EvidenceRecord) -> None:
    """ValueError naming the part of a failed record's detail that contradicts the record."""
    detail = plain(record.detail or {})
    if record.mismatches is None:
        exact_fields(detail, ("diagnosis",), "detail")
    else:
        exact_fields(detail, ("axes", "diagnosis", "ulps", "worst", "wrong"), "detail")
        wrong = typed(detail, "wrong", int)
        if not 0 <= wrong <= record.case.output_layout.size:
            raise ValueError(f"detail wrong is {wrong}; the output has {record.case.output_layout.size} element(s)")
        allowed = sum(count for fact, count in record.accepted.items() if fact != "repeatability")
        if not record.enveloped and wrong != record.mismatches - allowed:
            raise ValueError(f"detail wrong is {wrong}; the record counts {record.mismatches - allowed} mismatch(es)")
        _check_histogram(detail, wrong)
        _check_worst(detail, wrong, record)
        _check_axes(detail, wrong, record)
        if wrong == record.mismatches == len(detail["worst"]):
            _check_whole(detail, record)
    if detail["diagnosis"] != record.diagnostic:
        raise ValueError("detail diagnosis is not the record's diagnostic")


def _numbers(value: Any, count: int | None = None) -> bool:
    right = type(value) is list and all(type(part) is int and part >= 0 for part in value)
    return right and (count is None or len(value) == count)


def _check_histogram(detail: Mapping[str, Any], wrong: int) -> None:
    if not _numbers(detail["ulps"], 32) or sum(detail["ulps"]) != wrong:
        raise ValueError(f"detail ulps must be 32 counts that add up to {wrong}")


def _check_worst(detail: Mapping[str, Any], wrong: int, record: EvidenceRecord) -> None:
    worst = detail["worst"]
    if type(worst) is not list or len(worst) != min(wrong, 8) or not all(_numbers(row, 3) for row in worst):
        raise ValueError("detail worst must hold the eight worst elements as [index, expected word, actual word]")
    size = record.case.output_layout.size
    if len({row[0] for row in worst}) != len(worst) or any(row[0] >= size or max(row[1:]) >> 32 for row in worst):
        raise ValueError("detail worst names an element twice, or one that is none of the output's")
    if not record.enveloped and any(row[1] == row[2] for row in worst):
        raise ValueError("detail worst holds an element whose words are equal")
    first = record.first_mismatch
    if first is not None and not record.enveloped and wrong:
        index = 0
        for at, extent in zip(first.coordinate, record.case.output_layout.extents, strict=True):
            index = index * extent + at
        if any(row[0] < index or (row[0] == index and row[1:] != [first.expected, first.actual]) for row in worst):
            raise ValueError("detail worst contradicts the first mismatch")


def _check_axes(detail: Mapping[str, Any], wrong: int, record: EvidenceRecord) -> None:
    extents, axes = record.case.output_layout.extents, detail["axes"]
    if type(axes) is not list or len(axes) != len(extents):
        raise ValueError(f"detail axes must describe the {len(extents)} axes of the output")
    for axis, extent in zip(axes, extents, strict=True):
        exact_fields(axis, ("count", "residue", "runs"), "detail axis")
        count, residue, runs = axis["count"], axis["residue"], axis["runs"]
        if not _numbers([count], 1) or not (wrong > 0) <= count <= min(wrong, extent):
            raise ValueError(f"detail axis count {count!r} does not fit {wrong} wrong element(s)")
        if type(runs) is not list or not all(_numbers(run, 2) and run[0] <= run[1] < extent for run in runs):
            raise ValueError("detail axis runs must be [first, last] coordinates of the axis")
        if any(before[1] + 1 >= after[0] for before, after in pairwise(runs)):
            raise ValueError("detail axis runs must be in order and apart")
        held = [at for first, last in runs for at in range(first, last + 1)]
        if len(held) > count or (len(held) < count and len(runs) < 4):
            raise ValueError(f"detail axis runs hold {len(held)} coordinate(s), its count is {count}")
        if residue is None:
            continue
        if not _numbers(residue, 2) or residue[0] < 2 or any(at % residue[0] != residue[1] for at in held):
            raise ValueError("detail axis residue is not shared by the coordinates of its runs")


def _check_whole(detail: Mapping[str, Any], record: EvidenceRecord) -> None:
    """Where every mismatching element is listed, everything else follows from the list."""
    case, size = record.case, record.case.output_layout.size
    kind = np.uint8 if case.output_dtype == "bool" else np.uint32
    expected, actual = np.zeros(size, kind), np.zeros(size, kind)
    for index, want, got in detail["worst"]:
        if max(want, got) > np.iinfo(kind).max:
            raise ValueError("detail worst holds a word its dtype does not have")
        expected[index], actual[index] = want, got
    extents = case.output_layout.extents
    comparison, first = compare_words(expected, actual, case.output_dtype)
    mismatch = None
    if first is not None:
        coordinate = tuple(int(at) for at in np.unravel_index(first, extents)) if extents else ()
        mismatch = Mismatch(coordinate, int(expected[first]), int(actual[first]))
    whole = failure_detail(expected, actual, case.output_dtype, extents, expected != actual, str(record.diagnostic))
    counts = (record.mismatches, record.signed_zero_mismatches, record.nan_payload_mismatches)
    for name, found, derived in (
        ("detail", dict(detail), whole),
        ("first_mismatch", record.first_mismatch, mismatch),
        ("deviations", record.deviations, comparison.deviations),
        (
            "mismatch counts",
            counts,
            (comparison.mismatches, comparison.signed_zero_mismatches, comparison.nan_payload_mismatches),
        ),
    ):
        if found != derived:
            raise ValueError(f"{name}: {found} is not what the listed elements give, {derived}")
