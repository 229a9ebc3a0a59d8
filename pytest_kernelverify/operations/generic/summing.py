"""What every sum shares: its exact value rounded once, its infinities and NaNs, and the declared order step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pytest_kernelverify.operations.generic.answer import Answer
from pytest_kernelverify.operations.generic.decode import INFINITY, NAN, SIGN, Array, Values
from pytest_kernelverify.operations.generic.exact import Aligned, Exact, linear
from pytest_kernelverify.operations.generic.rounding import LOWEST, PRECISION, round_all, round_even

__all__ = [
    "Specials",
    "Term",
    "bounded",
    "linear_specials",
    "never_rounds",
    "representable",
    "round_sums",
    "round_terms",
    "running_sums",
    "terms_of",
]

HIGHEST = 104  # the exponent of the largest finite value's 24-bit mantissa
NOT_A_NUMBER, INFINITE = float("nan"), float("inf")

Term = int | float
"""An integer in the unit at hand, or Python's inf or nan, which mix with integers in a sum as IEEE 754 has it."""


class Specials(NamedTuple):
    """Which sums hold a NaN term, a +inf term, a -inf term; flat."""

    nan: Array
    positive: Array
    negative: Array


def linear_specials(x: Values, fold: Callable[[Array], Array]) -> Specials | None:
    """The specials of sums that add their operand's own elements; None where all are finite."""
    if not (x.nan | x.infinite).any():
        return None
    masks = (x.nan, x.infinite & ~x.negative, x.infinite & x.negative)
    return Specials(*(fold(mask.astype(np.int64)).ravel() > 0 for mask in masks))


def round_sums(sums: Exact, specials: Specials | None) -> Array:
    """Exact sums rounded once; +0 for a zero sum. Infinities and NaNs count whatever the order."""
    words = sums.rounded()
    if specials is not None:
        words[specials.positive] = INFINITY
        words[specials.negative] = INFINITY | SIGN
        words[specials.nan | (specials.positive & specials.negative)] = NAN
    return words


def bounded(words: Array, sums: Exact, magnitudes: Exact, terms: Sequence[int]) -> Answer:
    """An answer with bounds; both exact parts have one unit."""
    unit = min(sums.exponent, magnitudes.exponent)
    scaled, total = (tuple(value << (part.exponent - unit) for value in part.ints()) for part in (sums, magnitudes))
    return Answer(words, scaled, total, unit, tuple(terms))


def never_rounds(terms: Aligned, fold: Callable[[Array], Array], most: int) -> bool:
    """Whether no partial sum of a linear map rounds, whatever its order."""
    return terms.width <= PRECISION and representable(linear(terms.magnitude(), fold, most))


def representable(magnitudes: Exact) -> bool:
    """Whether sums of these magnitudes, and all parts of them, are below 2**24 units that binary32 holds."""
    if not magnitudes.single or not LOWEST <= magnitudes.exponent <= HIGHEST:
        return False
    return bool(magnitudes.limbs[0].max(initial=0) < 1 << PRECISION)


def terms_of(x: Values, aligned: Aligned) -> tuple[list[Term], int]:
    """The flat elements as terms and the exponent of their unit, at most HIGHEST."""
    unit = min(aligned.exponent, HIGHEST)
    terms: list[Term] = [value << (aligned.exponent - unit) for value in aligned.ints()]
    negative, nan = x.negative.ravel(), x.nan.ravel()
    for at in np.flatnonzero(x.nan | x.infinite).tolist():
        terms[at] = NOT_A_NUMBER if nan[at] else -INFINITE if negative[at] else INFINITE
    return terms, unit


def running_sums(terms: Sequence[Term], unit: int, finite: bool) -> list[Term]:
    """Every partial sum from +0 on, each rounded to binary32; ``finite`` says that all terms are integers.

    Sums of multiples of the unit (2**unit, itself between the smallest subnormal and 2**HIGHEST) are multiples of it,
    so that only a sum of more than 24 bits is rounded, and only one of more than 24 bits overflows.
    """
    sums: list[Any] = []
    total: Any = 0
    limit = 1 << (128 - unit)
    if finite:
        for term in terms:
            total += term
            drop = total.bit_length() - PRECISION
            if drop > 0:
                total = (total + (1 << (drop - 1)) - 1 + (total >> drop & 1)) >> drop << drop
            sums.append(total)
        if max(sums, default=0) < limit and -limit < min(sums, default=0):
            return sums
        sums, total = [], 0
    for term in terms:
        total += term
        if isinstance(total, int):
            drop = total.bit_length() - PRECISION
            total = round_even(total, drop) << drop if drop > 0 else total
            if abs(total) >= limit:
                total = INFINITE if total > 0 else -INFINITE
        sums.append(total)
    return sums


def round_terms(values: Sequence[Any], unit: int) -> Array:
    """The words of running sums."""
    words = round_all([value if isinstance(value, int) else 0 for value in values], unit)
    for at, value in enumerate(values):
        if not isinstance(value, int):
            words[at] = NAN if value != value else INFINITY if value > 0 else INFINITY | SIGN
    return words
