"""Item: the cases of one plan and class as they gather; and rungs: which size goes with which layout and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pytest_kernelverify.cases.case import Case, Operand
from pytest_kernelverify.cases.geometry import CORE_LAYOUTS, Extents, arrange, broadcast, factors
from pytest_kernelverify.cases.values import Words, frozen, seed_of
from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.operations.plan import PlanKey, VerificationClass

__all__ = ["Item", "Payload", "Rung", "repeated", "rungs"]

Payload = tuple[Words, str, Extents]
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Rung:
    """One step of each ladder, taken together by one case; ``turn`` varies everything the ladders leave open."""

    size: int
    layout: str
    values: str
    turn: int

    @property
    def name(self) -> str:
        return f"n{self.size}-{self.layout}-{self.values}"


@dataclass(slots=True)
class Item:
    """The cases of one plan (or subject) and class, in the order in which they run."""

    plan: PlanKey | None
    subject: str | None
    verification_class: VerificationClass
    seed: int
    cases: list[Case] = field(default_factory=list)

    @property
    def token(self) -> str:
        return self.plan.token if self.plan is not None else str(self.subject)

    @property
    def turn(self) -> int:
        """Where this item starts in every rotation, so that two items do not combine the same rungs."""
        return seed_of(self.token, self.verification_class.value) % 2520

    def seed_for(self, name: str) -> int:
        return seed_of(self.seed, self.token, self.verification_class.value, name)

    def add(
        self,
        rung: Rung,
        operands: Sequence[Payload],
        output: Extents,
        *,
        operation: str | None = None,
        output_dtype: str | None = None,
        parameters: Mapping[str, Any] = _NOTHING,
        contraction_length: int = 0,
        alias: int | None = None,
        error: str | None = None,
        expected: Words | None = None,
        oracle_only: bool = False,
        placed: tuple[tuple[Layout, ...], Layout] | None = None,
        name: str | None = None,
    ) -> None:
        """Lay the operands out for the rung and keep the case."""
        name = name or rung.name
        if placed is None:
            placed = arrange(rung.layout, [extents for _, _, extents in operands], output, rung.turn, alias)
        layouts, output_layout = placed
        self.cases.append(
            Case(
                plan=self.plan,
                subject=self.subject,
                operation=operation or (self.plan.operation if self.plan else "copy"),
                verification_class=self.verification_class,
                name=name,
                operands=tuple(
                    Operand(frozen(broadcast(words, layout)), dtype, layout)
                    for (words, dtype, _), layout in zip(operands, layouts, strict=True)
                ),
                output_dtype=output_dtype or (self.plan.output if self.plan else operands[0][1]),
                output_layout=output_layout,
                parameters=MappingProxyType(dict(parameters)) if parameters else _NOTHING,
                seed=self.seed,
                contraction_length=contraction_length,
                size=rung.size,
                layout=rung.layout,
                values=rung.values,
                expected=None if expected is None else frozen(expected),
                error=error,
                alias=alias,
                oracle_only=oracle_only,
            )
        )


def rungs(
    sizes: Sequence[int],
    kinds: Mapping[str, Sequence[int]],
    *,
    turn: int,
    free: Sequence[str],
    flat: bool = False,
    layouts: Sequence[str] = CORE_LAYOUTS,
) -> list[Rung]:
    """One rung a size, so that every core layout and every value kind occurs.

    ``kinds`` gives for each value kind the sizes at which its whole table fits, the preferred one first; ``free``
    names the kinds that may lie under a stride of 0. ``flat`` says that the size is the only extent, so that transposed
    and stride-0 layouts need a composite one.
    """
    chosen = _kind_sizes(sizes, kinds)
    used = dict.fromkeys(layouts, 0)
    spent = dict.fromkeys(kinds, 0)
    result = []
    for step, size in enumerate(sizes):
        kind = chosen.get(size)
        fitting = [
            layout
            for layout in layouts
            if not (size < 2 and layout != "compact")
            and not (flat and layout in ("transposed", "stride0") and factors(size) is None)
            and not (layout == "stride0" and kind is not None and kind not in free)
        ]
        shift = (turn + step) % len(fitting)
        layout = min([*fitting[shift:], *fitting[:shift]], key=used.__getitem__)
        used[layout] += 1
        if kind is None:
            fit = [name for name in (free if layout == "stride0" else kinds) if size >= min(4, *kinds[name])]
            fit = fit or [free[0]]
            shift = (turn + step) % len(fit)
            kind = min([*fit[shift:], *fit[:shift]], key=spent.__getitem__)
        spent[kind] += 1
        result.append(Rung(size, layout, kind, turn + step))
    return result


def _kind_sizes(sizes: Sequence[int], kinds: Mapping[str, Sequence[int]]) -> dict[int, str]:
    chosen: dict[int, str] = {}
    for kind in sorted(kinds, key=lambda name: -min(kinds[name])):
        size = next((size for size in kinds[kind] if size in sizes and size not in chosen), None)
        if size is None:
            raise ValueError(f"no size is left for the value kind {kind}; it asks for one of {tuple(kinds[kind])}")
        chosen[size] = kind
    return chosen


def repeated(
    ladder: Sequence[Rung], kinds: Sequence[str], sizes: Sequence[int] = (9, 8, 7, 5, 15, 16, 17, 31, 3, 2)
) -> list[tuple[Rung, int | None]]:
    """A rung of those values again with others; then a larger and a smaller batch, each with its leading extent."""
    rung_of = {rung.size: rung for rung in ladder if rung.values in kinds and rung.layout != "stride0"}
    size = next(size for size in sizes if size in rung_of)
    again = rung_of[size]
    return [
        (Rung(size, again.layout, "again", again.turn), None),
        (Rung(size, "compact", "grown", again.turn + 1), 7),
        (Rung(size, "pitched", "shrunk", again.turn + 2), 1),
    ]
