"""The structural class of summing and multiplying plans: witnesses whose answer no order or association changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_kernelverify.cases.geometry import LONG_SIZES, SIZES
from pytest_kernelverify.cases.ladder import Item, Payload, Rung, repeated, rungs
from pytest_kernelverify.cases.shapes import Shape, shape_of
from pytest_kernelverify.cases.terms import exact_terms
from pytest_kernelverify.cases.values import Words, cast_words, int_words, real_words, whole_words
from pytest_kernelverify.operations.plan import PlanKey

__all__ = ["collisions", "structural_cases", "structural_kinds", "summing_operands"]

_ANY = (1, 2, 3)


def structural_kinds(plan: PlanKey) -> tuple[str, ...]:
    """The value kinds of a plan's structural class."""
    dtypes = [operand.dtype for operand in plan.operands]
    if plan.accumulation == "exact_integer":
        return ("ones", "small", "fours", "extremes")
    kinds = ["ones", "small", "fours", "specials", "extremes"]
    if plan.operation == "reduce_prod":
        kinds = ["small", "ones", "twos", "primes", "specials", "extremes"]
    if "i32" in dtypes[:2] and plan.operation == "matmul":
        kinds.append("conversion")
    if plan.accumulator == "f64":
        kinds.append("cancellation")
    return (*kinds, "subnormal")


def _places(plan: PlanKey, kind: str) -> Sequence[int]:
    if kind in ("ones", "small"):
        return _ANY if kind == "small" else (9, 8, 7)
    if kind == "twos":
        return (127, 65, 64)
    if kind in ("fours", "primes"):
        return (63, 33, 65) if kind == "fours" else (31, 63)
    if kind == "specials":
        # Seven terms behind the last group of eight, so that a tail position is not the last one.
        return (31, 15, 63)
    return (15, 33) if plan.operation == "conv" and kind == "extremes" else (33, 31, 15, 17, 65)


def summing_operands(plan: PlanKey, words: Sequence[Words], shape: Shape) -> list[Payload]:
    """Words, dtype and extents of each operand."""
    return [
        (word, operand.dtype, extents)
        for word, operand, extents in zip(words, plan.operands, shape.operands, strict=True)
    ]


def structural_cases(item: Item) -> None:
    """The size ladder with every layout and value kind; nested layouts, repeated calls, subnormals, fusion probes."""
    plan = item.plan
    assert plan is not None
    kinds = structural_kinds(plan)
    core = {kind: _places(plan, kind) for kind in kinds if kind != "subnormal"}
    sizes = SIZES if plan.operation == "scatter_add" else LONG_SIZES
    ladder = rungs(sizes, core, turn=item.turn, free=("small", "ones"))
    for rung in ladder:
        _add(item, plan, rung, rung.values)
    _add(item, plan, Rung(64, "hierarchical", "small", item.turn), "small")
    if "subnormal" in kinds:
        _add(item, plan, Rung(15, "pitched", "subnormal", item.turn), "subnormal")
    for rung, batch in repeated(ladder, ("small", "ones")):
        _add(item, plan, rung, "small", batch)
    if plan.operation == "scatter_add":
        _wide(item, plan)
    if plan.operation == "matmul":
        _large(item, plan)
        if plan.accumulator == "f32":
            _fusion_probes(item, plan)


def _add(item: Item, plan: PlanKey, rung: Rung, kind: str, batch: int | None = None) -> None:
    full = kind in ("specials", "extremes", "conversion", "cancellation")
    shape = shape_of(plan.operation, rung.size, rung.layout, rung.turn, batch=batch, rows=7 if full else None)
    words = exact_terms(plan, kind, shape, item.seed_for(rung.name), rung.turn)
    length = shape.terms
    if plan.operation == "scatter_add":
        length = 1 + collisions(words[1])
    item.add(
        rung,
        summing_operands(plan, words, shape),
        shape.output,
        parameters=shape.parameters,
        contraction_length=length,
    )


def collisions(index: Words) -> int:
    """The most updates that one row of a scatter_add receives."""
    return int(np.bincount(index.astype(np.int64)).max()) if index.size else 0


def _large(item: Item, plan: PlanKey) -> None:
    """Matmuls past every small threshold in each extent, none of them round."""
    for values, (m, k, n) in (("large", (33, 65, 129)), ("tall", (129, 9, 5))):
        shape = Shape(((m, k), (k, n)), (m, n), {}, k)
        words = exact_terms(plan, "small", shape, item.seed_for(values), 0)
        rung = Rung(k, "pitched", values, item.turn)
        item.add(rung, summing_operands(plan, words, shape), shape.output, contraction_length=k)


def _wide(item: Item, plan: PlanKey) -> None:
    """Rows of 1000 columns, which the size of a scatter_add, its updates, leaves short."""
    shape = Shape(((3, 1000), (5,), (5, 1000)), (3, 1000), {}, 5)
    words = exact_terms(plan, "small", shape, item.seed_for("large"), 0)
    rung = Rung(5, "pitched", "large", item.turn)
    item.add(rung, summing_operands(plan, words, shape), shape.output, contraction_length=1 + collisions(words[1]))


# Products whose rounding shows: (1 + 2**-12)**2 loses 2**-24, and 4097**2 loses its last bit.
_PROBES = (
    # lhs row, rhs column: the first product rounds, the second is exact; then the other way round.
    ((1 + 2.0**-12, -1.0), (1 + 2.0**-12, 1.0)),
    ((-1.0, 1 + 2.0**-12), (1.0, 1 + 2.0**-12)),
    ((4097.0, -4096.0), (4097.0, 4096.0)),
    ((-4096.0, 4097.0), (4096.0, 4097.0)),
    ((-4097.0, 4095.0), (4097.0, 4096.0)),
)
_WHOLE_PROBES = _PROBES[2:]


def _fusion_probes(item: Item, plan: PlanKey) -> None:
    """K = 2, where fl(fl(p1) + fl(p2)) is the one unfused value in any order; a fused step gives another."""
    dtypes = [operand.dtype for operand in plan.operands]
    probes = _WHOLE_PROBES if "i32" in dtypes else _PROBES
    rows = np.array([[row, (2 * row[0], 2 * row[1])] for row, _ in probes])
    columns = np.array([column for _, column in probes])[:, :, None]
    count = len(probes)
    products = (rows * columns.transpose(0, 2, 1)).astype(np.float32).astype(np.float64)
    expected = real_words(products.sum(axis=2)).ravel()
    words = [
        int_words(values.ravel()) if dtype == "i32" else real_words(values.ravel())
        for values, dtype in zip((rows, columns), dtypes, strict=True)
    ]
    shape = Shape(((count, 2, 2), (count, 2, 1)), (count, 2, 1), {}, 2)
    item.add(
        Rung(2, "compact", "unfused", 0),
        summing_operands(plan, words, shape),
        shape.output,
        contraction_length=2,
        expected=expected,
        oracle_only=True,
    )
    # The same two terms at each pair of 33 places, 16 apart, between products of zero: wherever a step might be fused.
    size = 33
    row = np.arange(size)
    lhs = np.zeros((size, size), dtype=np.int64)
    lhs[row, row] = 4097
    lhs[row, np.where(row < 16, row + 16, row - 16)] = -4096
    both = [cast_words(values, dtype) for values, dtype in zip((lhs.ravel(), np.full(size, 4097)), dtypes, strict=True)]
    shape = Shape(((size, size), (size, 1)), (size, 1), {}, size)
    item.add(
        Rung(size, "compact", "unfused_anywhere", 0),
        summing_operands(plan, both, shape),
        shape.output,
        contraction_length=size,
        # 4097 * 4097 rounds to 4097 * 4096 + 4096.
        expected=whole_words(np.full(size, 4096)),
        oracle_only=True,
    )
