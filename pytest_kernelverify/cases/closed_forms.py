"""The analytic class: witnesses whose answer is a closed formula, stated without any reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from pytest_kernelverify.cases.analytic import analytic_cases, analytic_shapes
from pytest_kernelverify.cases.geometry import CORE_LAYOUTS, Extents, factors
from pytest_kernelverify.cases.ladder import Item, Payload, Rung
from pytest_kernelverify.cases.values import Integers, cast_words
from pytest_kernelverify.operations.plan import PlanKey
from pytest_kernelverify.operations.table import output_extents

__all__ = ["Formula", "formula_cases", "formulas"]

_SIZES = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 127, 128, 257, 1000)
_LAYOUTS = (*CORE_LAYOUTS, "hierarchical")


@dataclass(frozen=True, slots=True)
class Formula:
    """One analytic witness: integers in, integers out, all exact in binary32 and Int32 in any order."""

    values: str
    terms: int
    operands: tuple[Integers, ...]
    extents: tuple[Extents, ...]
    parameters: dict[str, int]
    expected: Integers


def formula_cases(item: Item) -> None:
    """The witnesses that add a size, a layout or a formula, under the layout ladder."""
    plan = item.plan
    assert plan is not None
    sizes: set[int] = set()
    kinds: set[str] = set()
    used = dict.fromkeys(_LAYOUTS, 0)
    for step, formula in enumerate(formulas(plan)):
        if formula.terms in sizes and formula.values in kinds:
            continue
        sizes.add(formula.terms)
        kinds.add(formula.values)
        # A stride of 0 repeats elements that a formula keeps apart.
        fitting = [name for name in _LAYOUTS if name != "stride0" and (name != "hierarchical" or _composite(formula))]
        layout = min(fitting, key=lambda name: (used[name], (fitting.index(name) + item.turn) % len(fitting)))
        used[layout] += 1
        operands: list[Payload] = [
            (cast_words(values, operand.dtype), operand.dtype, extents)
            for values, operand, extents in zip(formula.operands, plan.operands, formula.extents, strict=True)
        ]
        item.add(
            Rung(formula.terms, layout, formula.values, item.turn + step),
            operands,
            output_extents(plan.operation, formula.extents, formula.parameters),
            parameters=formula.parameters,
            contraction_length=formula.terms,
            expected=cast_words(formula.expected, plan.output),
        )


def _composite(formula: Formula) -> bool:
    return any(extent and factors(extent) for extents in formula.extents[:1] for extent in extents)


def formulas(plan: PlanKey) -> Iterator[Formula]:
    """Every formula of a plan."""
    name = plan.operation
    for case in analytic_cases():
        if case.operation == name:
            kind = case.case_id.removeprefix(f"{name}-").rpartition("-")[0]
            operands = tuple(np.array(values, dtype=np.int64) for values in case.inputs)
            shapes = analytic_shapes(case.case_id)
            yield Formula(kind, shapes[0][-1], operands, shapes, {}, np.array(case.expected, dtype=np.int64))
    if plan.accumulation == "exact_integer":
        yield from _beyond_significand(name)
    elif name == "cumsum":
        yield from _running()
    elif name == "conv":
        yield from _convolutions()
    elif name == "scatter_add":
        yield from _scatters()


def _beyond_significand(name: str) -> Iterator[Formula]:
    """Sums that binary32 cannot hold: K * (2**24 + 1 + r), and K * 4097 * (4097 + 2j)."""
    for k in (31, 100):
        rows = np.arange(3)
        if name == "reduce_sum":
            x = np.repeat(2**24 + 1 + rows, k)
            yield Formula("beyond_significand", k, (x,), ((3, k),), {}, k * (2**24 + 1 + rows))
        else:
            lhs = np.repeat(4097 - 2 * rows, k)
            rhs = np.tile(4097 + 2 * np.arange(2), k)
            expected = (k * np.outer(4097 - 2 * rows, 4097 + 2 * np.arange(2))).ravel()
            yield Formula("beyond_significand", k, (lhs, rhs), ((3, k), (k, 2)), {}, expected)


def _running() -> Iterator[Formula]:
    """Running sums: of r+1 (counts), of odd numbers (squares), of alternating ones, of powers of two."""
    for k in _SIZES:
        r, i = np.arange(3)[:, None], np.arange(k)[None, :]
        terms = {
            "count": (r + 1 + 0 * i, (r + 1) * (i + 1)),
            "squares": (2 * i + 1 + r, (i + 1) ** 2 + r * (i + 1)),
            "alternating": (
                (-1) ** i * (i + 1) * (r + 1), (r + 1) * np.where(i % 2 == 0, i // 2 + 1, -(i // 2) - 1)
            ),
        }  # fmt: skip
        if k <= 17:
            terms["geometric"] = ((-1) ** r * 2**i * (1 + 2 * r), (-1) ** r * (2 ** (i + 1) - 1) * (1 + 2 * r))
        for kind, (x, expected) in terms.items():
            yield Formula(kind, k, (x.ravel(),), ((3, k),), {}, expected.ravel())


def _scatters() -> Iterator[Formula]:
    """Histograms, arithmetic progressions over the rows, and everything on the last row."""
    height, width = 3, 4
    n, d = np.arange(height)[:, None], np.arange(width)[None, :]
    for count in _SIZES:
        m = np.arange(count)
        base = 100 * (n + 1) + d
        spread, last = m % height, np.full(count, height - 1)
        hits = count // height + (count % height > n)
        rising = height * hits * (hits - 1) // 2 + (n + 1) * hits
        total = np.where(n == height - 1, count * (count + 1) // 2, 0)
        column = d + 1
        for kind, index, updates, sums in (
            ("histogram", spread, np.ones((count, 1), dtype=np.int64), hits),
            ("progression", spread, m[:, None] + 1, rising),
            ("one_row", last, m[:, None] + 1, total),
        ):
            extents = ((height, width), (count,), (count, width))
            operands = (base.ravel(), index, (updates * column).ravel())
            yield Formula(kind, count, operands, extents, {}, (base + sums * column).ravel())


def _convolutions() -> Iterator[Formula]:
    """Ones (each window counts its terms), a delta (the input shifted), and ramps against ramps."""
    for step, k in enumerate(_SIZES):
        channels, window = _split(k)
        groups, stride, dilation = 1 + step % 2, 1 + step // 2 % 2, 1 + step // 3 % 2
        reach = dilation * (window - 1)
        padding = min(step % 3, reach)
        length = reach + 1 + 2 * stride
        source = (2, channels * groups, length)
        weight = (2 * groups, channels, window)
        plain: dict[str, int] = {"stride": stride, "padding": 0, "dilation": dilation, "groups": groups}
        padded = {**plain, "padding": padding}
        outputs = (length + 2 * padding - reach - 1) // stride + 1
        inside = [
            sum(0 <= place * stride + tap * dilation - padding < length for tap in range(window))
            for place in range(outputs)
        ]
        ones = tuple(np.ones(prod(extents), dtype=np.int64) for extents in (source, weight))
        counts = np.tile(channels * np.array(inside), 2 * weight[0])
        yield Formula("count", k, ones, (source, weight), padded, counts)

        n, c, x = (axis.astype(np.int64) for axis in np.ogrid[:2, : source[1], :length])
        o, channel, tap = (axis.astype(np.int64) for axis in np.ogrid[: weight[0], :channels, :window])
        distinct = 1 + (n * source[1] + c) * length + x
        hit = (channel == o % channels) & (tap == o % window)
        places = (length - reach - 1) // stride + 1
        filters = np.arange(weight[0])[None, :, None]
        batch, place = np.arange(2)[:, None, None], np.arange(places)[None, None, :]
        origin = filters // 2 * channels + filters % channels
        shifted = 1 + (batch * source[1] + origin) * length + place * stride + filters % window * dilation
        delta = (distinct.ravel(), hit.astype(np.int64).ravel())
        yield Formula("delta", k, delta, (source, weight), plain, shifted.ravel())

        # Sum over channels and taps of (x + 2n + 1) * (tap + o + 1), with x = place * stride + tap * dilation.
        ramp = np.broadcast_to(x + 2 * n + 1, source).ravel()
        slope = np.broadcast_to(tap + o + 1, weight).ravel()
        taps, linear = window, window * (window - 1) // 2
        square = (window - 1) * window * (2 * window - 1) // 6
        start = place * stride + 2 * batch + 1
        total = channels * (start * (taps * (filters + 1) + linear) + dilation * ((filters + 1) * linear + square))
        yield Formula("ramps", k, (ramp, slope), (source, weight), plain, total.ravel())


def _split(terms: int) -> tuple[int, int]:
    """Channels and window whose product is the number of terms."""
    pair: Any = factors(terms)
    if pair is None:
        return (terms, 1) if terms > 7 else (1, terms)
    return (max(pair), min(pair))
