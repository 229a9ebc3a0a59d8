"""Error bounds of summation, exact: gamma-K envelopes per output element."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from pytest_kernelverify.numerics.bits import double_scaled, half_bits, ratio_double, scaled, shown

__all__ = [
    "UNIT_ROUNDOFF",
    "float_above",
    "gamma",
    "gamma_bound",
    "integer_envelope",
    "product_envelope",
    "sum_envelope",
]

UNIT_ROUNDOFF = {
    "f16": Fraction(1, 2**11),
    "bf16": Fraction(1, 2**8),
    "f32": Fraction(1, 2**24),
    "f64": Fraction(1, 2**53),
}
"""Half the distance from one to the next larger number of each format."""

_OUTPUT = UNIT_ROUNDOFF["f32"]
_HALF_SUBNORMAL = Fraction(1, 2**150)
_SMALLEST_NORMAL = Fraction(1, 2**126)


def gamma(unit_roundoff: Fraction, terms: int) -> Fraction:
    """``K*u / (1 - K*u)``, which bounds |(1+d1)...(1+dK) - 1| for |d| <= u (Higham 2002, lemma 3.1).

    ``K*u`` of one or more is a ValueError: there is no such bound.
    """
    growth = unit_roundoff * terms
    if growth >= 1:
        nearest = ratio_double(unit_roundoff.numerator, unit_roundoff.denominator)
        unit = shown(unit_roundoff if math.isinf(nearest) else nearest)
        raise ValueError(f"{shown(terms)} terms at unit roundoff {unit} have no gamma bound: K*u must be below 1")
    return growth / (1 - growth)


def float_above(value: Fraction) -> float:
    """The least float that is not below an exact value; a ValueError where there is no finite one."""
    above = ratio_double(value.numerator, value.denominator, upward=True)
    if math.isinf(above):
        raise ValueError("the bound lies beyond the largest finite float; scale the terms down")
    return above


def _exact(name: str, value: Any) -> Fraction:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, Fraction, np.integer, np.floating)):
        raise TypeError(f"{name} {shown(value)} is a {type(value).__name__}; pass a number")
    if isinstance(value, int):
        return Fraction(int.__index__(value))
    if isinstance(value, (np.integer, Fraction)):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, float):
        value = float.__float__(value)
    elif isinstance(value, np.longdouble) and value.dtype.itemsize == 8:
        value = float(value)
    if not np.isfinite(value):
        raise ValueError(f"{name} {value!r} is not finite")
    if isinstance(value, np.longdouble):
        return Fraction(*value.as_integer_ratio())
    if isinstance(value, float):
        mantissa, exponent = double_scaled(value)
    else:
        mantissa, exponent = scaled(half_bits(value) if isinstance(value, np.float16) else int(value.view(np.uint32)))
    return Fraction(mantissa << max(exponent, 0), 1 << max(-exponent, 0))


def gamma_bound(unit_roundoff: Any, terms: Any, sum_absolute_terms: Any) -> float:
    """The absolute error envelope gamma_K * sum|t| of a sum of K terms in any order, never rounded down.

    ``unit_roundoff`` is that of the accumulator, positive and finite; ``terms`` an integer K >= 0;
    ``sum_absolute_terms`` the exact sum of the terms' magnitudes, finite and >= 0. Wrong signs, non-finite numbers,
    ``K*u >= 1`` and an envelope beyond the largest float are a ValueError; Booleans and non-numbers a TypeError.
    """
    u, total = _exact("unit_roundoff", unit_roundoff), _exact("sum_absolute_terms", sum_absolute_terms)
    if isinstance(terms, (bool, np.bool_)) or not isinstance(terms, (int, np.integer)):
        raise TypeError(f"terms {shown(terms)} is a {type(terms).__name__}; pass an integer")
    if u <= 0:
        raise ValueError(f"unit_roundoff {shown(unit_roundoff)} must be positive")
    if terms < 0:
        raise ValueError(f"terms {shown(terms)} must be 0 or more")
    if total < 0:
        raise ValueError(f"sum_absolute_terms {shown(sum_absolute_terms)} must be 0 or more")
    return float_above(gamma(u, int(terms)) * total)


@lru_cache(maxsize=4096)
def _coefficients(roundings: int, accumulator: str, paths: int, flushed: bool) -> tuple[int, int, int, int]:
    """Integers (a, b, c, d): the envelope is (a*magnitude + b*|exact| + c) / d."""
    if accumulator not in UNIT_ROUNDOFF:
        raise ValueError(f"accumulator {accumulator!r} is unknown; use one of {', '.join(UNIT_ROUNDOFF)}")
    if paths < 1:
        raise ValueError(f"paths {paths} must be 1 or more")
    growth = gamma(UNIT_ROUNDOFF[accumulator], max(roundings, 0))
    relative = Fraction(0)
    if UNIT_ROUNDOFF[accumulator] < _OUTPUT:
        growth, relative = growth * (1 + _OUTPUT), _OUTPUT
    floor = _SMALLEST_NORMAL if flushed else _HALF_SUBNORMAL
    parts = (growth * paths, relative * paths, floor)
    common = math.lcm(*(part.denominator for part in parts))
    a, b, c = (part.numerator * (common // part.denominator) for part in parts)
    return a, b, c, common


def sum_envelope(
    exact: Fraction, magnitude: Fraction, terms: int, *, accumulator: str, paths: int, flushed: bool = False
) -> Fraction:
    """How far a binary32 sum of K ``terms`` may lie from ``exact``, whatever the order.

    With S = ``magnitude`` >= sum|t|: gamma_K(u_acc)*S, and where the accumulator is wider than the output another
    u_out*(|exact| + gamma_K(u_acc)*S); all of it ``paths`` times; then half the smallest subnormal, or the smallest
    normal where subnormals may be ``flushed``.
    """
    a, b, c, d = _coefficients(terms, accumulator, paths, flushed)
    low = max(magnitude.denominator, exact.denominator)  # sums of binary32 terms: powers of two, which divide
    if low % magnitude.denominator or low % exact.denominator:
        low = magnitude.denominator * exact.denominator
    total = a * magnitude.numerator * (low // magnitude.denominator) + c * low
    if b:
        total += b * abs(exact.numerator) * (low // exact.denominator)
    return Fraction(total, d * low)


_PRECISION = {name: u.denominator.bit_length() - 1 for name, u in UNIT_ROUNDOFF.items()}


def integer_envelope(
    exact: int, magnitude: int, terms: int, *, accumulator: str, paths: int, floor: int
) -> tuple[int, int]:
    """:func:`sum_envelope` as (numerator, denominator) for a judge that counts in one fixed power of two.

    ``exact``, ``magnitude`` and ``floor``, the least error always granted, are integers in that unit, as is the result.
    """
    precision = _PRECISION[accumulator]
    rest = (1 << precision) - terms  # gamma is terms / rest
    if rest <= 0:
        raise ValueError(f"{terms} terms in {accumulator} have no gamma bound: K*u must be below 1")
    if precision <= _PRECISION["f32"]:
        return paths * terms * magnitude + floor * rest, rest
    shift = _PRECISION["f32"]  # the output is rounded once more, by a relative 2**-24
    relative = (terms * magnitude << shift) + terms * magnitude + rest * abs(exact)
    return paths * relative + (floor * rest << shift), rest << shift


def product_envelope(exact: Fraction, terms: int, *, accumulator: str, paths: int, flushed: bool = False) -> Fraction:
    """How far a binary32 product of K ``terms`` may lie from ``exact``, every sub-product being normal.

    As :func:`sum_envelope` with |exact| for the magnitude, and the K-1 roundings of K factors.
    """
    return sum_envelope(exact, abs(exact), max(terms - 1, 0), accumulator=accumulator, paths=paths, flushed=flushed)
