"""Run one case on one carrier, twice with two poisons, in guarded memory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_kernelverify.carriers.base import ArithmeticStateError, Carrier, KernelError, View
from pytest_kernelverify.carriers.memory import GuardedParent, poisons
from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.operations.facts import STRICT, ArithmeticFacts
from pytest_kernelverify.operations.plan import LogicalKernel, PlanKey

__all__ = ["CaseRun", "run_case"]

Words = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class CaseRun:
    """What a case left behind: output words in logical order, or an error; and any violation of guarded memory.

    ``error_kind`` is set where the kernel reported the error itself and left everything untouched. ``other_words`` is
    the second run's output where it differs and the profile does not promise repeatability.
    """

    words: Words | None = None
    other_words: Words | None = None
    error_kind: str | None = None
    error: str | None = None
    violation: str | None = None


def run_case(
    carrier: Carrier,
    kernel: LogicalKernel,
    case: Case,
    *,
    plan: PlanKey | None = None,
    facts: ArithmeticFacts = STRICT,
) -> CaseRun:
    """Run ``case`` with ``kernel``; ``plan`` replaces the case's own where an oracle runs another accumulator.

    What fails while preparing or executing is in the result: RuntimeError, KernelError among them, and ValueError.
    Other exceptions are faults of this package and propagate.
    """
    pair = poisons(case.operation, descending=bool(case.parameters.get("descending", False)))
    try:
        parents = [GuardedParent.around(operand.dtype, operand.layout) for operand in case.operands]
        output = GuardedParent.around(case.output_dtype, case.output_layout)
        if case.alias is not None:
            aliased = case.operands[case.alias]
            if (aliased.dtype, aliased.layout) != (case.output_dtype, case.output_layout):
                raise ValueError(f"operand {case.alias} is aliased with an output of another dtype or layout")
            output = parents[case.alias]
    except (RuntimeError, ValueError) as error:
        return CaseRun(error=masked(f"{type(error).__name__}: {error}"))
    runs = []
    for number, poison in enumerate(pair, start=1):
        run = _run_once(carrier, kernel, plan or case.plan, case, parents, output, poison)
        if run.error is not None and run.error_kind is None:
            return run
        if run.violation is not None:
            return CaseRun(words=run.words, violation=f"run {number} of 2: {run.violation}")
        runs.append(run)
    return _agree(runs[0], runs[1], case, output, pair, facts)


def _run_once(
    carrier: Carrier,
    kernel: LogicalKernel,
    plan: PlanKey | None,
    case: Case,
    parents: list[GuardedParent],
    output: GuardedParent,
    poison: dict[str, int],
) -> CaseRun:
    kind = None
    try:
        before = [
            parent.filled(poison[operand.dtype], operand.words)
            for parent, operand in zip(parents, case.operands, strict=True)
        ]
        output_before = output.filled(poison[case.output_dtype]) if case.alias is None else before[case.alias]
        memory = [carrier.allocate(words) for words in before]
        target = carrier.allocate(output_before) if case.alias is None else memory[case.alias]
        views = [View(place, parent.dtype, parent.layout) for place, parent in zip(memory, parents, strict=True)]
        try:
            carrier.launch(kernel, plan, views, View(target, case.output_dtype, output.layout), case.parameters)
        except KernelError as error:
            if error.kind is None:
                raise
            kind = error.kind
        carrier.synchronize()
        carrier.check_arithmetic_state(f"after {kernel.kernel_id}")
        after = [carrier.fetch(place) for place in memory]
        output_after = carrier.fetch(target)
    except ArithmeticStateError as error:
        return CaseRun(error=str(error))
    except (RuntimeError, ValueError) as error:
        return CaseRun(error=masked(f"{type(error).__name__}: {error}"))
    violation = _violation(case, parents, output, before, after, output_before, output_after, kind)
    if kind is not None:
        return CaseRun(error_kind=kind, error=f"the kernel reported {kind}", violation=violation)
    return CaseRun(words=output.read(output_after), violation=violation)


def _violation(
    case: Case,
    parents: list[GuardedParent],
    output: GuardedParent,
    before: list[Words],
    after: list[Words],
    output_before: Words,
    output_after: Words,
    kind: str | None,
) -> str | None:
    for number, (parent, old, new) in enumerate(zip(parents, before, after, strict=True)):
        if number == case.alias or new.tobytes() == old.tobytes():
            continue
        index = parent.outside_change(old, new)
        if index is not None:
            return f"guard of operand {number} was written {parent.place(index)}"
        index = parent.inside_change(old, new)
        if index is not None:
            return f"input operand {number} was changed at logical element {index}"
    index = output.outside_change(output_before, output_after)
    if index is not None:
        return f"guard of the output was written {output.place(index)}"
    if kind is not None:
        index = output.inside_change(output_before, output_after)
        if index is not None:
            return f"the kernel reported {kind} but wrote the output at logical element {index}"
    return None


def _agree(
    first: CaseRun,
    second: CaseRun,
    case: Case,
    output: GuardedParent,
    pair: tuple[dict[str, int], dict[str, int]],
    facts: ArithmeticFacts,
) -> CaseRun:
    if first.error_kind != second.error_kind:
        what = [run.error_kind or "a result" for run in (first, second)]
        return CaseRun(violation=f"two runs with two poisons gave {what[0]} and {what[1]}")
    if first.words is None or second.words is None:
        return first
    if first.words.tobytes() == second.words.tobytes():
        return first  # an unwritten element would hold two different poisons
    if case.alias is None:
        stale = (first.words == pair[0][case.output_dtype]) & (second.words == pair[1][case.output_dtype])
        if stale.any():
            where = coordinate(int(stale.argmax()), output)
            count = int(np.count_nonzero(stale))
            return CaseRun(words=first.words, violation=f"{count} output element(s) unwritten, the first at {where}")
    if facts.repeatability == "unspecified":
        return CaseRun(words=first.words, other_words=second.words)
    where = coordinate(int((first.words != second.words).argmax()), output)
    return CaseRun(
        words=first.words,
        violation=f"two runs with two poisons differ, first at {where}: poison or a race reached the result",
    )


def coordinate(index: int, parent: GuardedParent) -> tuple[int, ...]:
    """The logical coordinate of a flat logical index."""
    return tuple(int(part) for part in np.unravel_index(index, parent.layout.extents)) if parent.layout.extents else ()


_MASKS = (
    (re.compile(r"0x[0-9a-fA-F]{6,}"), "<address>"),
    (re.compile(r"(?<![\w.])(?:/[\w.@+-]+){2,}"), "<path>"),
    (re.compile(r"(?i)\b(pid|process|process id|thread)[ =:]+\d+"), r"\1 <number>"),
)


def masked(message: str) -> str:
    """A foreign message on one line without addresses, paths and process numbers, so that reports compare equal."""
    text = " ".join(message.split())
    for pattern, replacement in _MASKS:
        text = pattern.sub(replacement, text)
    return text if len(text) <= 400 else text[:397] + "..."
