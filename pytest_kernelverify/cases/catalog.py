"""cases_for: the cases of one plan (or subject) and class under one profile, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.cases.closed_forms import formula_cases
from pytest_kernelverify.cases.empty import empty_cases
from pytest_kernelverify.cases.errors import error_cases
from pytest_kernelverify.cases.indexing import indexing_cases
from pytest_kernelverify.cases.ladder import Item
from pytest_kernelverify.cases.numerical import numerical_cases
from pytest_kernelverify.cases.pointwise import pointwise_cases
from pytest_kernelverify.cases.rows import row_cases
from pytest_kernelverify.cases.sequential import sequential_cases
from pytest_kernelverify.cases.structural import structural_cases
from pytest_kernelverify.cases.subjects import subject_cases
from pytest_kernelverify.catalog.profile import VerificationProfile
from pytest_kernelverify.operations.plan import PlanKey, VerificationClass
from pytest_kernelverify.operations.table import SUBJECTS, operation

__all__ = ["cases_for"]


def cases_for(
    plan: PlanKey | None,
    subject: str | None,
    verification_class: VerificationClass,
    *,
    profile: VerificationProfile,
    seed: int = 0,
) -> tuple[Case, ...]:
    """The cases of a plan, or of a subject where ``plan`` is None, in one class; the same objects on every call.

    Case ids, words and layouts do not depend on the profile. What a profile declares out (layouts, subnormals, an
    error channel, ...) is left out, and one deferred case for each such limit says so. A class that the plan or
    subject cannot have is a ValueError.
    """
    cases = _cases(plan, subject, verification_class, seed)
    return _within(
        cases,
        profile.layouts,
        profile.error_channel,
        profile.facts.subnormals,
        profile.facts.contraction,
        profile.facts.int_overflow,
    )


@cache
def _cases(
    plan: PlanKey | None, subject: str | None, verification_class: VerificationClass, seed: int
) -> tuple[Case, ...]:
    item = Item(plan, subject, verification_class, seed)
    builder, once = _builder(item)
    builder(item)
    if once:
        empty_cases(item)
        error_cases(item)
    names = [case.name for case in item.cases]
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise RuntimeError(f"{item.token} {verification_class.value}: cases are named twice: {', '.join(twice)}")
    return tuple(item.cases)


def _builder(item: Item) -> tuple[Callable[[Item], None], bool]:
    """What builds an item's cases, and whether those that a plan has in one class only stand in this one."""
    cls = item.verification_class
    plan = item.plan
    if plan is None:
        found = SUBJECTS.get(str(item.subject))
        kind = found.kind if found is not None else None
        wanted = VerificationClass.BIT_EXACT if kind == "movement" else VerificationClass.STRUCTURAL
        if kind is not None and cls is wanted:
            return subject_cases, False
        raise ValueError(f"subject {item.subject!r} has no {cls.value} cases")
    exact = cls in (VerificationClass.EXACT_ARITHMETIC, VerificationClass.BIT_EXACT)
    family = operation(plan.operation).family
    if plan.accumulation is not None:
        if exact and plan.accumulation == "sequential_binary32":
            return sequential_cases, True
        if cls is VerificationClass.STRUCTURAL:
            return structural_cases, plan.accumulation != "sequential_binary32"
        if cls is VerificationClass.ANALYTIC and plan.accumulation != "sequential_binary32":
            return formula_cases, False
        if cls is VerificationClass.NUMERICAL and plan.accumulation != "sequential_binary32":
            return numerical_cases, False
    elif exact and family in ("pointwise", "predicate"):
        return pointwise_cases, True
    elif exact and family in ("reduction", "ordering"):
        return row_cases, True
    elif exact and family == "indexing":
        return indexing_cases, True
    raise ValueError(f"plan {plan.text} has no {cls.value} cases")


@cache
def _within(
    cases: tuple[Case, ...], layouts: str, error_channel: bool, subnormals: str, contraction: str, int_overflow: str
) -> tuple[Case, ...]:
    limits: dict[str, tuple[Callable[[Case], bool], str]] = {}
    if layouts == "one stride per axis":
        limits["nested"] = _unfoldable, "a nested mode does not fold to one stride, which is all this profile offers"
    if not error_channel:
        limits["errors"] = lambda case: case.error is not None, "this profile's kernels have no way to report an error"
    if subnormals != "preserved":
        limits["subnormals"] = (
            lambda case: case.values == "subnormal",
            f"subnormal values are {subnormals} on this profile",
        )
    if contraction != "forbidden":
        limits["contraction"] = (
            lambda case: case.values == "unfused" and not case.oracle_only,
            "products may be fused with sums on this profile",
        )
    if int_overflow == "undefined":
        limits["overflow"] = (
            lambda case: case.values == "extremes" and case.plan is not None and case.plan.accumulation is not None
            and case.plan.output == "i32",
            "partial sums beyond Int32 are undefined on this profile",
        )  # fmt: skip
    if not limits:
        return cases
    return tuple(_limited(cases, limits))


def _limited(cases: tuple[Case, ...], limits: dict[str, tuple[Callable[[Case], bool], str]]) -> Iterator[Case]:
    """The cases inside every limit; then one deferred case for each limit that left any out."""
    first: dict[str, Case] = {}
    for case in cases:
        broken = next((name for name, (outside, _) in limits.items() if outside(case)), None)
        if broken is None:
            yield case
        else:
            first.setdefault(broken, case)
    for name, case in first.items():
        yield replace(case, name=f"limit-{name}", deferred=limits[name][1])


def _unfoldable(case: Case) -> bool:
    """Whether a layout needs nested modes; a pointwise operation runs on their leaves as modes of their own."""
    if case.plan is not None and operation(case.plan.operation).family in ("pointwise", "predicate"):
        return False
    layouts = [operand.layout for operand in case.operands] + [case.output_layout]
    return any(layout.folded() is None for layout in layouts)
