"""The detail of a failed record, at most 4 KB: how far off, where, and the worst elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_kernelverify.evidence.canonical import canonical_json

__all__ = ["DETAIL_LIMIT", "failure_detail"]

Words = npt.NDArray[Any]

DETAIL_LIMIT = 4096
_RESIDUES = (2, 3, 4, 5, 7, 8, 16, 32, 64)


def failure_detail(
    expected: Words,
    actual: Words,
    dtype: str,
    extents: tuple[int, ...],
    wrong: npt.NDArray[np.bool_],
    diagnosis: str,
) -> dict[str, Any]:
    """``wrong`` marks the elements that failed.

    ``ulps`` counts failing elements by floor(log2(ULP distance)) in 32 bins; ``axes`` gives for each axis how many
    coordinates are wrong, the first of these as inclusive runs (32, or fewer where the limit asks for it, at least 4),
    and [modulus, residue] where all of them share one; ``worst`` the eight worst elements as [flat index, expected
    word, actual word].
    """
    distance = _distance(expected, actual, dtype)
    index = np.flatnonzero(wrong)
    bins = np.bincount(
        np.floor(np.log2(np.maximum(distance[index], 1).astype(np.float64))).astype(np.int64), minlength=32
    )[:32]
    worst = index[np.argsort(-distance[index], kind="stable")[:8]]
    detail: dict[str, Any] = {
        "axes": [_axis(column) for column in np.unravel_index(index, extents)] if extents else [],
        "diagnosis": diagnosis,
        "ulps": [int(count) for count in bins],
        "worst": [[int(i), int(expected[i]), int(actual[i])] for i in worst],
        "wrong": int(index.size),
    }
    while len(canonical_json(detail).encode()) > DETAIL_LIMIT:
        longest = max(detail["axes"], key=lambda axis: len(axis["runs"]))
        if len(longest["runs"]) <= 4:
            break
        longest["runs"] = longest["runs"][: max(len(longest["runs"]) // 2, 4)]
    return detail


def _distance(expected: Words, actual: Words, dtype: str) -> npt.NDArray[np.int64]:
    left, right = expected.astype(np.int64), actual.astype(np.int64)
    if dtype == "f32":
        left, right = (np.where(w >> 31 == 1, -(w & 0x7FFFFFFF), w) for w in (left, right))
    elif dtype == "i32":
        left, right = (np.where(w >> 31 == 1, w - (1 << 32), w) for w in (left, right))
    distance: npt.NDArray[np.int64] = np.abs(left - right)
    return distance


def _axis(column: npt.NDArray[np.int64]) -> dict[str, Any]:
    values = np.unique(column)
    breaks = np.flatnonzero(np.diff(values) != 1) + 1
    runs = [[int(run[0]), int(run[-1])] for run in np.split(values, breaks)[:32]] if values.size else []
    modulus = next((m for m in reversed(_RESIDUES) if values.size > 1 and np.unique(values % m).size == 1), None)
    residue = None if modulus is None else [modulus, int(values[0] % modulus)]
    return {"count": int(values.size), "residue": residue, "runs": runs}
