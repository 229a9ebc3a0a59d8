"""The terms of each result of a summing or multiplying plan, and folds of them that are right and wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from pytest_kernelverify.cases.case import Case

Values = np.ndarray[Any, Any]


class Terms(NamedTuple):
    """What one output element takes together, in the declared order: left * right, or left alone where right is 1."""

    element: int
    left: Values
    right: Values
    multiplies: bool

    @property
    def exact(self) -> Values:
        """The terms in binary64, which holds the product of two binary32 values."""
        return self.left.astype(np.float64) * self.right.astype(np.float64)


@cache
def terms_of(case: Case) -> tuple[Terms, ...]:
    """One entry an output element; of a running sum, the last of each row."""
    build = {"matmul": _products, "scatter_add": _updates, "conv": _windows}.get(case.operation, _rows)
    return tuple(
        Terms(element, left, right, case.operation == "reduce_prod")
        for element, left, right in build(case)
        if len(left)
    )


def _grid(case: Case, number: int) -> Values:
    operand = case.operands[number]
    return operand.words.view(np.float32 if operand.dtype == "f32" else np.int32).reshape(operand.extents)


def _rows(case: Case) -> Iterator[tuple[int, Values, Values]]:
    for number, row in enumerate(_grid(case, 0)):
        element = (number + 1) * len(row) - 1 if case.operation == "cumsum" else number
        yield element, row, np.ones_like(row)


def _products(case: Case) -> Iterator[tuple[int, Values, Values]]:
    lhs, rhs = (_grid(case, number).astype(np.float32) for number in (0, 1))
    for element, (*batch, row, column) in enumerate(np.ndindex(*case.output_layout.extents)):
        yield element, lhs[(*batch, row)], rhs[(*batch, slice(None), column)]


def _updates(case: Case) -> Iterator[tuple[int, Values, Values]]:
    base, index, updates = (_grid(case, number) for number in range(3))
    for element, (row, column) in enumerate(np.ndindex(*base.shape)):
        values = np.append(base[row, column], updates[index == row, column])
        yield element, values, np.ones_like(values)


def _windows(case: Case) -> Iterator[tuple[int, Values, Values]]:
    source, weight = _grid(case, 0), _grid(case, 1)
    stride, padding, dilation, groups = (case.parameters[name] for name in ("stride", "padding", "dilation", "groups"))
    channels, taps = weight.shape[1], list(product(*map(range, weight.shape[2:])))
    for element, (batch, output, *place) in enumerate(np.ndindex(*case.output_layout.extents)):
        first = output // (weight.shape[0] // groups) * channels
        pairs = []
        for channel, tap in product(range(channels), taps):
            at = tuple(p * stride + t * dilation - padding for p, t in zip(place, tap, strict=True))
            if all(0 <= x < extent for x, extent in zip(at, source.shape[2:], strict=True)):
                pairs.append((source[(batch, first + channel, *at)], weight[(output, channel, *tap)]))
        left, right = np.array(pairs, dtype=np.float32).reshape(-1, 2).T
        yield element, left, right


# ---- folds: the word that one output element would be ----------------------------------------------------------------


def _step(terms: Terms, dtype: type) -> Callable[[Any, Any], Any]:
    return lambda total, term: dtype(total * term) if terms.multiplies else dtype(total + term)


def _run(step: Callable[[Any, Any], Any], values: Values) -> Any:
    total = values[0]
    for value in values[1:]:
        total = step(total, value)
    return total


def _rounded(terms: Terms) -> Values:
    return terms.left * terms.right


def in_order(terms: Terms) -> Any:
    """The declared fold: each term rounded, each step rounded."""
    return _run(_step(terms, np.float32), _rounded(terms))


def backwards(terms: Terms) -> Any:
    return _run(_step(terms, np.float32), _rounded(terms)[::-1])


def in_pairs(terms: Terms) -> Any:
    step, values = _step(terms, np.float32), list(_rounded(terms))
    while len(values) > 1:
        odd = values[len(values) // 2 * 2 :]
        values = [step(one, other) for one, other in zip(values[::2], values[1::2], strict=False)] + odd
    return values[0]


def in_lanes(terms: Terms) -> Any:
    step, values = _step(terms, np.float32), _rounded(terms)
    return _run(step, np.array([_run(step, values[lane::4]) for lane in range(min(4, len(values)))]))


def in_halves(terms: Terms) -> Any:
    step, values = _step(terms, np.float32), _rounded(terms)
    half = len(values) // 2
    return step(_run(step, values[:half]), _run(step, values[half:])) if half else values[0]


def in_binary64(terms: Terms) -> Any:
    return np.float32(_run(_step(terms, np.float64), _rounded(terms).astype(np.float64)))


def fused(terms: Terms) -> Any:
    """Each product kept whole until it is added; binary64 holds the sums these tests fuse, up to a double rounding."""
    total = np.float32(0)
    for term in terms.exact:
        total = np.float32(Fraction(float(total)) + Fraction(float(term)))
    return total


def rounding(choose: Callable[[float, Any, Any], Any]) -> Callable[[Terms], Any]:
    """The declared order, where ``choose`` picks from the exact step, the nearest (even) value and the next one."""

    def step(terms: Terms, total: Any, term: Any) -> Any:
        a, b = float(total), float(term)
        exact = a * b if terms.multiplies else a + b
        near = np.float32(exact)
        if float(near) == exact or not np.isfinite(near):
            return near
        return choose(exact, near, np.nextafter(near, np.float32(np.inf if exact > near else -np.inf)))

    return lambda terms: _run(lambda total, term: step(terms, total, term), _rounded(terms))


def is_tie(exact: float, near: Any, other: Any) -> bool:
    return exact - float(near) == float(other) - exact


toward_zero = rounding(lambda exact, near, other: min(near, other, key=abs))
ties_away = rounding(lambda exact, near, other: max(near, other, key=abs) if is_tie(exact, near, other) else near)
ties_to_zero = rounding(lambda exact, near, other: min(near, other, key=abs) if is_tie(exact, near, other) else near)
