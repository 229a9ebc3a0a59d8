"""matmul and conv: exact sums of products, or the declared order in binary32."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from pytest_kernelverify.operations.generic.answer import Answer, GenericError
from pytest_kernelverify.operations.generic.arithmetic import mul, product_classes
from pytest_kernelverify.operations.generic.decode import Array, Values, decode, integers
from pytest_kernelverify.operations.generic.exact import align, contract, from_integers
from pytest_kernelverify.operations.generic.integer import in_range
from pytest_kernelverify.operations.generic.rounding import PRECISION
from pytest_kernelverify.operations.generic.summing import (
    Specials,
    bounded,
    representable,
    round_sums,
    round_terms,
    running_sums,
    terms_of,
)

__all__ = ["conv", "matmul"]


def matmul(lhs: Array, rhs: Array, integer: bool, bounds: bool) -> Answer:
    """``lhs[B..., M, K] @ rhs[B..., K, N]``: exact, rounded once; checked for Int32 pairs."""
    fits = lhs.ndim == rhs.ndim >= 2 and lhs.shape[:-2] == rhs.shape[:-2] and lhs.shape[-1] == rhs.shape[-2]
    if not fits:
        raise GenericError(f"matmul: {lhs.shape} and {rhs.shape} do not contract; expected B,M,K and B,K,N", "invalid")
    length = lhs.shape[-1]
    size = prod(lhs.shape[:-1]) * rhs.shape[-1]
    if not integer:
        return _contract_floats(decode(lhs), decode(rhs), None, length, [length] * size, bounds)
    left, right = from_integers(integers(lhs)), from_integers(integers(rhs))
    sums = contract(left, right, length)
    words = in_range("matmul", sums.limbs[0] if sums.single else sums.ints())
    if not bounds:
        return Answer(words)
    return bounded(words, sums, contract(left.magnitude(), right.magnitude(), length), [length] * size)


def _contract_floats(
    x: Values, y: Values, present: Array | None, length: int, terms: list[int], bounds: bool
) -> Answer:
    left, right = align(x), align(y)
    sums = contract(left, right, length)
    specials = _specials(x, y, present)
    words = round_sums(sums, specials)
    if not bounds or specials is not None:
        return Answer(words)
    return bounded(words, sums, contract(left.magnitude(), right.magnitude(), length), terms)


def _specials(x: Values, y: Values, present: Array | None) -> Specials | None:
    """The specials of ``x[..., M, K] @ y[..., K, N]``; ``present[K, N]`` leaves out products that are no terms."""
    if not ((x.nan | x.infinite).any() or (y.nan | y.infinite).any()):
        return None
    left = Values(*(part[..., :, :, None] for part in x))
    right = Values(*(part[..., None, :, :] for part in y))
    nan, infinite, negative = product_classes(left, right)
    if present is not None:
        nan, infinite = nan & present, infinite & present
    return Specials(*(mask.any(axis=-2).ravel() for mask in (nan, infinite & ~negative, infinite & negative)))


class _Window(NamedTuple):
    """Where each output position reads: flat input positions [taps, positions], and whether each lies inside."""

    source: Array
    inside: Array


def _parameter(parameters: Mapping[str, Any], name: str, least: int) -> int:
    value = parameters[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise GenericError(f"conv: {name} is {value!r}; expected an integer of {least} or more", "invalid")
    return value


def _window(lengths: tuple[int, ...], window: tuple[int, ...], stride: int, padding: int, dilation: int) -> _Window:
    source, inside = np.zeros((1, 1), np.int64), np.ones((1, 1), bool)
    for length, taps in zip(lengths, window, strict=True):
        outputs = max((length + 2 * padding - dilation * (taps - 1) - 1) // stride + 1, 0)
        position = np.add.outer(np.arange(taps) * dilation, np.arange(outputs) * stride) - padding
        valid = (position >= 0) & (position < length)
        # (taps so far, taps here, outputs so far, outputs here): both pairs merge row-major.
        shape = (source.shape[0] * taps, source.shape[1] * outputs)
        place = np.where(valid, position, 0)[None, :, None, :]
        source = (source[:, None, :, None] * length + place).reshape(shape)
        inside = (inside[:, None, :, None] & valid[None, :, None, :]).reshape(shape)
    return _Window(source, inside)


def conv(x: Array, weight: Array, parameters: Mapping[str, Any], sequential: bool, bounds: bool) -> Answer:
    """Cross-correlation of ``x[N, C, L...]`` and ``weight[O, C/g, R...]``; padding contributes no term."""
    least = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
    stride, padding, dilation, groups = (_parameter(parameters, *rule) for rule in least.items())
    if x.ndim != weight.ndim or not 3 <= x.ndim <= 5:
        raise GenericError(
            f"conv: {x.shape} and {weight.shape} do not fit; expected N,C,L... and O,C/g,R... of rank 1-3", "invalid"
        )
    batch, outputs, depth = x.shape[0], weight.shape[0], weight.shape[1]
    if outputs % groups or x.shape[1] != depth * groups:
        raise GenericError(f"conv: {x.shape} and {weight.shape} do not fit {groups} group(s)", "invalid")
    window = _window(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    taps, positions = window.source.shape
    length = depth * taps
    inside = np.broadcast_to(window.inside, (depth, taps, positions)).reshape(length, positions)
    flat = x.reshape(batch, groups, depth, prod(x.shape[2:]))
    if window.inside.any():
        patches = np.where(window.inside, flat[..., window.source], np.uint32(0))
    else:
        patches = np.zeros((batch, groups, depth, taps, positions), np.uint32)
    patches = patches.reshape(batch, groups, length, positions)
    rows = np.broadcast_to(
        weight.reshape(1, groups, outputs // groups, length), (batch, groups, outputs // groups, length)
    )
    terms = inside.sum(axis=0).tolist() * (batch * outputs)
    if not sequential:
        return _contract_floats(decode(rows), decode(patches), inside, length, terms, bounds)
    return _sequential(rows, patches, inside, terms, bounds)


def _sequential(rows: Array, patches: Array, inside: Array, terms: list[int], bounds: bool) -> Answer:
    """Products rounded to binary32, added from +0 on in binary32: channel, then window row-major."""
    x, y = decode(rows), decode(patches)
    length = rows.shape[-1]
    small = _never_rounds(x, y, length) and _specials(x, y, inside) is None
    exact = _contract_floats(x, y, inside, length, terms, bounds) if small or bounds else None
    if small and exact is not None:
        return exact
    products = np.where(inside, mul(rows[..., :, :, None], patches[..., None, :, :]), np.uint32(0))
    values = decode(np.swapaxes(products, -1, -2))
    flat, unit = terms_of(values, align(values))
    finite = not (values.nan | values.infinite).any()
    sums = (running_sums(flat[at * length : (at + 1) * length], unit, finite) for at in range(len(terms)))
    words = round_terms([partial[-1] if partial else 0 for partial in sums], unit)
    return Answer(words) if exact is None else replace(exact, words=words)


def _never_rounds(x: Values, y: Values, length: int) -> bool:
    """Whether every product and every sum of products in ``x @ y``, in any order, is a binary32 value."""
    left, right = align(x).magnitude(), align(y).magnitude()
    return max(left.width, right.width) <= PRECISION and representable(contract(left, right, length))
