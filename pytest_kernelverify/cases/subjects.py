"""Movement and structural subjects: words that must arrive, elements that must be reached exactly once."""

from __future__ import annotations

from math import prod

import numpy as np

from pytest_kernelverify.cases.critical import NANS, SPECIALS, SUBNORMALS, random_bits, words
from pytest_kernelverify.cases.geometry import SIZES, Extents, factors, nested, pointwise_extents, strided
from pytest_kernelverify.cases.ladder import Item, Payload, Rung
from pytest_kernelverify.cases.values import Words, below, int_words, sparse_positions, tiled
from pytest_kernelverify.numerics.layout import Layout

__all__ = ["subject_cases"]

_DTYPES = ("f32", "i32", "bool")
# Signalling NaNs with payloads of their own among the quiet ones, infinities, zeros and subnormals.
_ADVERSARIAL = np.concatenate(
    [words(0x7F800001, 0xFF812345, 0x7FBFFFFF, 0xFFA00007, *NANS), SPECIALS, SUBNORMALS]
).astype(np.uint32)

Placed = tuple[Layout, Layout]


def subject_cases(item: Item) -> None:
    """The cases of one subject over the size ladder."""
    build = {"addressing": _addressing, "bounds": _bounds, "coverage": _coverage}.get(str(item.subject), _movement)
    build(item)
    _again(item)


def _again(item: Item) -> None:
    """The first case of 33 elements once more: one shape and layout called again with other words."""
    case = next(case for case in item.cases if case.size == 33)
    words = item.seed_for("again")
    operands: list[Payload] = []
    for operand in case.operands:
        other = _payload(operand.dtype, "wide", 33, words, 0)
        if case.alias is not None:
            other = int_words(np.arange(33) * 5 - 99) if not operands else operand.words
        operands.append((other, operand.dtype, operand.extents))
    item.add(
        Rung(33, case.layout, "again", 0), operands, case.output_layout.extents, operation=case.operation,
        output_dtype=case.output_dtype, alias=case.alias,
        placed=(tuple(operand.layout for operand in case.operands), case.output_layout),
    )  # fmt: skip


def _payload(dtype: str, values: str, count: int, seed: int, turn: int) -> Words:
    if dtype == "bool":
        return below(seed, count, 2).astype(np.uint8)
    if values == "adversarial":
        table = tiled(_ADVERSARIAL, count, turn)
        if count > 3:
            table[list(sparse_positions(count))] = _ADVERSARIAL[:4]
        return table
    if values == "unique":
        return (np.arange(1, count + 1) * 2654435761 % 2**32).astype(np.uint32)
    return random_bits(seed, count)


def _grid(size: int, turn: int) -> Extents:
    """Two or three modes, all above 1 where the size allows."""
    return pointwise_extents(size, "transposed", turn) if factors(size) else (1, size) if turn % 2 else (size, 1)


def _place(subject: str, extents: Extents, turn: int) -> tuple[str, Placed]:
    """The layout rung of a movement case, its source and its destination."""
    gap = 1 + turn % 3
    rank = len(extents)
    compact, pitched = strided(extents), strided(extents, gap=gap, inner=1 + turn % 2, offset=turn % 4)
    composite = any(extent and factors(extent) for extent in extents)
    if subject == "view" and composite:
        # The same elements, one side with a mode split into leaves that fold.
        axis = next(axis for axis, extent in enumerate(extents) if extent and factors(extent))
        outer, inner = factors(extents[axis]) or (1, 1)
        shape = tuple((outer, inner) if at == axis else extent for at, extent in enumerate(extents))
        base = (pitched, compact)[turn % 2]
        step = base.stride[axis]
        stride = tuple((step * inner, step) if at == axis else each for at, each in enumerate(base.stride))
        split = Layout(shape, stride, base.offset)
        other = strided(extents, gap=2, offset=1)
        return ("split", (split, other)) if turn % 2 else ("split", (other, split))
    if subject == "permute" and rank > 1:
        order = tuple(range(rank)) if turn % 2 or rank < 3 else (1, 0, *range(2, rank))
        turned = strided(extents, order=order, gap=turn % 2)
        target = (compact, pitched, strided(extents, order=(0, *range(rank - 1, 0, -1)), gap=2))[turn % 3]
        return ("permuted", (turned, target)) if turn % 4 else ("permuted_output", (pitched, turned))
    if subject == "rearrange" and composite:
        source, target = nested(extents, gap=gap), nested(extents, gap=1 + (turn + 1) % 3, inner=2, offset=1)
        return (
            ("hierarchical", (source, compact)), ("hierarchical_output", (pitched, target)),
            ("hierarchical_both", (source, target)),
        )[turn % 3]  # fmt: skip
    if subject == "broadcast_to":
        wide = [axis for axis, extent in enumerate(extents) if extent > 1]
        if wide:
            flat = {wide[turn % len(wide)]} if turn % 5 else set(wide)
            kept = strided(tuple(1 if axis in flat else extent for axis, extent in enumerate(extents)), gap=gap)
            stride = tuple(0 if axis in flat else step for axis, step in enumerate(kept.stride))
            return "stride0", (Layout(extents, stride, turn % 2), (pitched, compact)[turn % 2])
    kinds = ("compact", "pitched", "offset", "multi")
    kind = kinds[turn % 4] if size_of(extents) > 1 else "compact"
    return kind, {
        "compact": (compact, compact),
        "pitched": (pitched, strided(extents, gap=1 + gap, inner=2)),
        "offset": (strided(extents, offset=3 + turn % 2), strided(extents, offset=1)),
        "multi": (compact, pitched),
    }[kind]


def size_of(extents: Extents) -> int:
    return prod(extents)


def _movement(item: Item) -> None:
    """Each size with one dtype and one arrangement; the adversarial words under each dtype's own sizes."""
    subject = str(item.subject)
    for step, size in enumerate((*SIZES, 4, 12, 24, 60, 96)):
        turn = item.turn + step
        dtype = _DTYPES[step % 3] if size > 4 else "f32" if step % 2 else "i32"
        values = "adversarial" if dtype == "f32" else "flags" if dtype == "bool" else "wide"
        _move(item, subject, size, turn, dtype, values)


def _move(item: Item, subject: str, size: int, turn: int, dtype: str, values: str) -> None:
    extents = _grid(size, turn)
    layout, (source, target) = _place(subject, extents, turn)
    rung = Rung(size, layout, values, turn)
    x = _payload(dtype, values, size, item.seed_for(rung.name), turn)
    operands: list[Payload] = [(x, dtype, extents)]
    item.add(rung, operands, extents, operation="copy", placed=((source,), target), name=f"{rung.name}-{dtype}")


def _addressing(item: Item) -> None:
    """Every element its own word; every layout on either side, and none like the other."""
    for step, size in enumerate((*SIZES, 4, 12, 24, 60, 96)):
        turn = item.turn + step
        extents = _grid(size, turn)
        names = ("permute", "rearrange", "view", "broadcast_to", "copy")
        layout, (source, target) = _place(names[step % 5], extents, turn)
        rung = Rung(size, layout, "unique", turn)
        x = _payload("i32", "unique", size, 0, 0)
        item.add(rung, [(x, "i32", extents)], extents, operation="copy", placed=((source,), target))


def _bounds(item: Item) -> None:
    """Gaps everywhere and the last element at the very edge: one element too many, on either side, meets poison."""
    for step, size in enumerate(SIZES):
        turn = item.turn + step
        extents = _grid(size, turn)
        gapped = size > 1 and step % 2 == 0
        source = strided(extents, gap=2 + turn % 2, inner=2) if gapped else strided(extents)
        target = strided(extents) if step % 3 == 0 else strided(extents, gap=1, inner=3)
        layout = ("edge", "gaps", "gaps_output", "gaps_both")[2 * (step % 3 != 0) + gapped]
        dtype = _DTYPES[step % 3] if size > 4 else "i32"
        rung = Rung(size, layout, dtype, turn)
        x = _payload(dtype, "wide", size, item.seed_for(rung.name), turn)
        item.add(rung, [(x, dtype, extents)], extents, operation="copy", placed=((source,), target))


def _coverage(item: Item) -> None:
    """out = x + 1 over x itself: an element written twice, or never, does not grow by exactly one."""
    for step, size in enumerate((*SIZES, 4, 24, 96)):
        turn = item.turn + step
        extents = _grid(size, turn)
        composite = any(extent and factors(extent) for extent in extents)
        kinds = ("compact", "pitched", "transposed", "offset", *(("hierarchical",) if composite else ()))
        layout = kinds[turn % len(kinds)] if size > 1 else "compact"
        place = {
            "compact": strided(extents),
            "pitched": strided(extents, gap=1 + turn % 3, inner=2),
            "transposed": strided(extents, order=tuple(range(len(extents)))),
            "offset": strided(extents, offset=5),
        }.get(layout) or nested(extents, gap=1)
        rung = Rung(size, f"{layout}_aliased", "increment", turn)
        x = int_words(np.arange(size) * 3 + 7)
        operands: list[Payload] = [(x, "i32", extents), (int_words(np.ones(size)), "i32", extents)]
        item.add(
            rung, operands, extents, operation="add", output_dtype="i32", alias=0,
            placed=((place, strided(extents)), place),
        )  # fmt: skip
