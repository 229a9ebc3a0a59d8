"""Reductions and the scan over the last mode."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from pytest_kernelverify.operations.generic.answer import Answer, GenericError
from pytest_kernelverify.operations.generic.decode import (
    INFINITY,
    NAN,
    SIGN,
    Array,
    Values,
    decode,
    integers,
    is_nan,
    order,
    rank,
)
from pytest_kernelverify.operations.generic.exact import align, from_integers, linear
from pytest_kernelverify.operations.generic.integer import INT_MAX, INT_MIN, in_range, words_of
from pytest_kernelverify.operations.generic.rounding import LOWEST, PRECISION, round_even, round_scaled
from pytest_kernelverify.operations.generic.summing import (
    bounded,
    linear_specials,
    never_rounds,
    round_sums,
    round_terms,
    running_sums,
    terms_of,
)

__all__ = ["arg", "cumsum", "extremum", "reduce_prod", "reduce_sum"]


def _fold(limb: Array) -> Array:
    return np.asarray(np.sum(limb, axis=-1, dtype=np.int64))


def _scan(limb: Array) -> Array:
    return np.cumsum(limb, axis=-1, dtype=np.int64)


def reduce_sum(x: Array, integer: bool, bounds: bool) -> Answer:
    """Exact sums rounded once, or checked Int32 sums."""
    length = x.shape[-1]
    values = None if integer else decode(x)
    aligned = from_integers(integers(x)) if values is None else align(values)
    sums = linear(aligned, _fold, length)
    if values is None:
        words, specials = in_range("reduce_sum", sums.limbs[0] if sums.single else sums.ints()), None
    else:
        specials = linear_specials(values, _fold)
        words = round_sums(sums, specials)
    if not bounds or specials is not None:
        return Answer(words)
    return bounded(words, sums, linear(aligned.magnitude(), _fold, length), [length] * words.size)


def cumsum(x: Array, sequential: bool, bounds: bool) -> Answer:
    """Running sums from +0, in binary32 step by step or exact and rounded once."""
    length = x.shape[-1]
    values = decode(x)
    aligned = align(values)
    specials = linear_specials(values, _scan)
    if sequential and not never_rounds(aligned, _scan, length):
        terms, unit = terms_of(values, aligned)
        rows = (running_sums(terms[at : at + length], unit, specials is None) for at in range(0, x.size, length))
        words = round_terms(list(itertools.chain.from_iterable(rows)), unit)
    else:
        words = round_sums(linear(aligned, _scan, length), specials)
    if not bounds or specials is not None:
        return Answer(words)
    sums, magnitudes = (linear(part, _scan, length) for part in (aligned, aligned.magnitude()))
    return bounded(words, sums, magnitudes, list(range(1, length + 1)) * (x.size // max(length, 1)))


def reduce_prod(x: Array, sequential: bool, bounds: bool) -> Answer:
    """Products from 1 on in binary32 step by step, or exact and rounded once."""
    values = decode(x)
    length, rows = x.shape[-1], prod(x.shape[:-1])
    flat = [part.reshape(rows, length) for part in values]
    negative = (np.sum(flat[0], axis=-1) & 1).astype(bool)
    every = Values(*flat)
    finite = not (values.nan | values.infinite).any()
    exact = [_exact_product(every, row) for row in range(rows)] if (bounds and finite) or not sequential else []
    if sequential:
        magnitudes = [_sequential_product(every, row) for row in range(rows)]
    else:
        magnitudes = [_special_product(every, row) or round_scaled(*product) for row, product in enumerate(exact)]
    words = np.array(magnitudes, np.uint32)
    words = np.where(negative & ~is_nan(words), words | np.uint32(SIGN), words)
    if not bounds or not finite:
        return Answer(words)
    unit = min((exponent for _, exponent in exact), default=0)
    magnitude = [product << (exponent - unit) for product, exponent in exact]
    signed = [-value if minus else value for value, minus in zip(magnitude, negative.tolist(), strict=True)]
    return Answer(words, tuple(signed), tuple(magnitude), unit, (length,) * rows)


def _special_product(x: Values, row: int) -> int:
    """The magnitude word of a product with a NaN or an infinity among its factors, or 0."""
    if not x.infinite[row].any():
        return NAN if x.nan[row].any() else 0
    return NAN if x.nan[row].any() or x.zero[row].any() else INFINITY


def _exact_product(x: Values, row: int) -> tuple[int, int]:
    """The magnitude of a product of finite factors as (integer, exponent); pairs first, which keeps factors short."""
    factors = x.mantissa[row].tolist()
    while len(factors) > 1:
        last = [factors.pop()] if len(factors) % 2 else []
        factors = [a * b for a, b in zip(factors[::2], factors[1::2], strict=True)] + last
    product = factors[0] if factors else 1
    return (product, int(x.exponent[row].sum())) if product else (0, 0)


def _sequential_product(x: Values, row: int) -> int:
    """The magnitude word of a product rounded to binary32 after each factor."""
    if x.nan[row].any():
        return NAN
    product, exponent, infinite = 1, 0, False
    factors = zip(x.mantissa[row].tolist(), x.exponent[row].tolist(), x.infinite[row].tolist(), strict=True)
    for mantissa, power, endless in factors:
        if infinite or endless:
            if product == 0 or mantissa == 0:
                return NAN
            infinite = True
            continue
        product *= mantissa
        exponent += power
        drop = max(product.bit_length() - PRECISION, LOWEST - exponent)
        if drop > 0:
            product = round_even(product, drop)
            exponent += drop
        infinite = product != 0 and product.bit_length() + exponent > 128
    return INFINITY if infinite else round_scaled(product, exponent)


def extremum(x: Array, largest: bool, integer: bool) -> Array:
    """The greatest or smallest of each row; NaN wins; -0 is below +0."""
    start = (INT_MIN if largest else INT_MAX) if integer else (-1 - INFINITY if largest else INFINITY)
    choose: Callable[..., Any] = np.max if largest else np.min
    keys = integers(x) if integer else rank(x)
    if not integer:
        keys = np.where(is_nan(x), 0, keys)
    best = np.asarray(choose(keys, axis=-1, initial=start)).ravel()
    if integer:
        return words_of(best)
    words = np.where(best < 0, SIGN - 1 - best, best).astype(np.uint32)
    words[is_nan(x).any(axis=-1).ravel()] = NAN
    return words


def arg(name: str, x: Array, largest: bool, integer: bool) -> Array:
    """The index of each row's first winner; the first NaN wins; the zeros are equal."""
    if x.shape[-1] == 0:
        raise GenericError(f"{name}: the reduced extent of {x.shape} is 0; nothing can win", "empty")
    keys = integers(x) if integer else np.where(is_nan(x), (1 if largest else -1) << 40, order(x))
    choose: Callable[..., Any] = np.argmax if largest else np.argmin
    return np.asarray(choose(keys, axis=-1)).ravel().astype(np.uint32)
