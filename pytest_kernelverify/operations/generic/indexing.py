"""gather, scatter and scatter_add over the rows of a matrix."""

from __future__ import annotations

import numpy as np

from pytest_kernelverify.operations.generic.answer import Answer, GenericError
from pytest_kernelverify.operations.generic.decode import SIGN, Array, decode, integers
from pytest_kernelverify.operations.generic.exact import align, linear
from pytest_kernelverify.operations.generic.summing import (
    bounded,
    linear_specials,
    never_rounds,
    round_sums,
    round_terms,
    running_sums,
    terms_of,
)

__all__ = ["gather", "scatter", "scatter_add"]


def _rows(name: str, matrix: Array, index: Array) -> Array:
    """The checked index as int64."""
    if matrix.ndim != 2 or index.ndim != 1:
        raise GenericError(f"{name}: got {matrix.shape} and {index.shape}; expected N,D and indices M", "invalid")
    rows = integers(index)
    bad = (rows < 0) | (rows >= matrix.shape[0])
    if bad.any():
        at = int(np.argmax(bad))
        raise GenericError(
            f"{name}: index {int(rows[at])} at position {at} is outside the {matrix.shape[0]} rows", "index"
        )
    return rows


def _updated(name: str, base: Array, index: Array, updates: Array) -> Array:
    if base.ndim != 2 or updates.shape != (index.size, base.shape[-1]):
        raise GenericError(
            f"{name}: base {base.shape}, index {index.shape}, updates {updates.shape} do not fit; expected N,D, M, M,D",
            "invalid",
        )
    return _rows(name, base, index)


def gather(source: Array, index: Array) -> Array:
    rows = _rows("gather", source, index)
    return source[rows].ravel()


def scatter(base: Array, index: Array, updates: Array) -> Array:
    rows = _updated("scatter", base, index, updates)
    result = base.copy()
    for row, update in zip(rows.tolist(), updates, strict=True):
        result[row] = update
    return result.ravel()


def scatter_add(base: Array, index: Array, updates: Array, sequential: bool, bounds: bool) -> Answer:
    """Each row's base and then its updates in order; rows without an update keep their words."""
    rows = _updated("scatter_add", base, index, updates)
    count, width = base.shape
    target = np.concatenate([np.arange(count), rows])
    gathered = np.argsort(target, kind="stable")  # each row's base, then its updates in order
    starts = np.searchsorted(target[gathered], np.arange(count))
    x = decode(np.concatenate([base, updates])[gathered])

    def fold(limb: Array) -> Array:
        return np.add.reduceat(limb, starts, axis=0) if count else limb[:0]

    terms = np.diff(starts, append=target.size)
    most = int(terms.max(initial=1))
    aligned = align(x)
    specials = linear_specials(x, fold)
    if sequential and not never_rounds(aligned, fold, most):
        flat, unit = terms_of(x, aligned)
        last = [
            running_sums(flat[start * width + column : (start + number) * width : width], unit, specials is None)[-1]
            for start, number in zip(starts.tolist(), terms.tolist(), strict=True)
            for column in range(width)
        ]
        words = round_terms(last, unit)
    else:
        words = round_sums(linear(aligned, fold, most), specials)
    only_negative_zeros = fold((~(x.zero & x.negative)).astype(np.int64)).ravel() == 0
    words[only_negative_zeros] = SIGN
    if not bounds or specials is not None:
        return Answer(words)
    sums, magnitudes = (linear(part, fold, most) for part in (aligned, aligned.magnitude()))
    return bounded(words, sums, magnitudes, np.repeat(terms, width).tolist())
