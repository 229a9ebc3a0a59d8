"""Small reports that hold every type of record, made by the real stages over the real kernels of a few plans.

A wrapped carrier alters what some plans compute, so that records fail, err and are blocked. The catalog is thinned to a
few cases a class; the loader regenerates them through the same function, so what it compares is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any
from unittest import mock

import numpy as np

from pytest_kernelverify.carriers.base import View
from pytest_kernelverify.carriers.opening import open_carrier
from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.catalog.load import verification_profile
from pytest_kernelverify.evidence.receipt import Receipt
from pytest_kernelverify.evidence.record import EvidenceRecord, Outcome
from pytest_kernelverify.operations.plan import LogicalKernel, PlanKey
from pytest_kernelverify.report.assemble import assemble, selection_closure
from pytest_kernelverify.report.report import VerificationReport
from pytest_kernelverify.stages import recording
from pytest_kernelverify.stages.lost import lost_evidence
from pytest_kernelverify.stages.run import Run

WRONG_ORACLE = "mul(i32,i32)->i32 compute=i32_checked"
WIDELY_WRONG = "floor(f32)->f32 compute=f32"
RAISING_ORACLE = "sub(f32,f32)->f32 compute=f32"
LOST_TARGET = "abs(f32)->f32 compute=f32"
WRONG_TARGET = "neg(f32)->f32 compute=f32"
RAISING_TARGET = "sqrt(f32)->f32 compute=f32"
SUM32 = "reduce_sum(f32)->f32 compute=f32 acc=floating:f32"
CPU_PLANS = (
    "neg(f32)->f32 compute=f32",
    "add(i32,i32)->i32 compute=i32_checked",
    "exp2(f32)->f32 compute=f32",
    SUM32,
    WRONG_ORACLE,
    WIDELY_WRONG,
    RAISING_ORACLE,
    LOST_TARGET,
)
METAL_PLANS = ("add(i32,i32)->i32 compute=i32_checked", "ceil(f32)->f32 compute=f32", WRONG_TARGET, RAISING_TARGET)
SUBJECTS = ("copy",)
CASES_KEPT = 2
ONE, TWO = np.uint32(0x3F800000), np.uint32(0x40000000)


class Altered:
    """The CPU carrier under any profile's name; ``wrong`` plans give a wrong last word, ``raising`` ones raise."""

    def __init__(self, profile_id: str, provider: str, wrong: Sequence[str] = (), raising: Sequence[str] = ()) -> None:
        self._carrier = open_carrier("cpu-compiled", "cpu")
        self._profile_id, self._provider = profile_id, provider
        self._wrong, self._raising = wrong, raising

    def __getattr__(self, name: str) -> Any:
        return getattr(self._carrier, name)

    def receipt(self, kernel: LogicalKernel) -> Receipt:
        return replace(self._carrier.receipt(self._own(kernel)), kernel=kernel, provider=self._provider)

    def launch(
        self,
        kernel: LogicalKernel,
        plan: PlanKey | None,
        operands: Sequence[View],
        output: View,
        parameters: Mapping[str, Any],
    ) -> None:
        if plan is not None and plan.text in self._raising:
            raise RuntimeError("the device was lost")
        self._carrier.launch(self._own(kernel), plan, operands, output, parameters)
        if plan is not None and plan.text in self._wrong and output.layout.size:
            last = int(output.layout.offsets()[-1])
            output.memory[last] = ONE if output.memory[last] != ONE else TWO
        elif plan is not None and plan.text == WIDELY_WRONG:
            output.memory[output.layout.offsets()] ^= np.uint32(1 << 31)

    @staticmethod
    def _own(kernel: LogicalKernel) -> LogicalKernel:
        name = kernel.kernel_id.replace("metal.", "cpu.")
        return LogicalKernel("cpu-compiled", kernel.operation, name, kernel.variant)


def thinned(cases: Callable[..., tuple[Case, ...]]) -> Callable[..., tuple[Case, ...]]:
    """A catalog of a few cases for each plan and class: the first ones, an expected error, a declared limit."""

    @cache
    def few(*args: Any, **options: Any) -> tuple[Case, ...]:
        found = cases(*args, **options)
        plain = [case for case in found if case.error is None and case.deferred is None and not case.oracle_only]
        plain = [case for case in plain if case.output_layout.size > 1] or plain
        seeded = [case for case in plain if case.seed][:1]
        errors = [case for case in found if case.error is not None and case.deferred is None][:1]
        limits = [case for case in found if case.deferred is not None][:1]
        wide = [case for case in plain if case.plan is not None and case.plan.text == WIDELY_WRONG]
        wide = [case for case in wide if case.output_layout.size > 16][:1]
        return tuple(dict.fromkeys((*plain[:CASES_KEPT], *seeded, *wide, *errors, *limits)))

    return few


_few_cases = thinned(recording.cases_for)


@contextmanager
def small_catalog() -> Iterator[None]:
    """Run and load with the thinned catalog."""
    with mock.patch.object(recording, "cases_for", _few_cases):
        yield


def chosen_by(plans: Sequence[str], subjects: Sequence[str] = SUBJECTS) -> Callable[[Obligation], bool]:
    return lambda obligation: (
        (obligation.plan is not None and obligation.plan.text in plans) or (obligation.subject in subjects)
    )


@cache
def cpu_report() -> VerificationReport:
    """A view of cpu-compiled against itself: self comparisons, certificates, failures, blocked and lost records."""
    with small_catalog():
        run = Run(verification_profile("cpu-compiled"))
        carrier = Altered("cpu-compiled", "c-library", (WRONG_ORACLE,), (RAISING_ORACLE,))
        return _report(run, carrier, carrier, CPU_PLANS, lost=LOST_TARGET)


@cache
def metal_report() -> VerificationReport:
    """A view of another target against the oracle: records behind certificates, declared limits, failures, errors."""
    with small_catalog():
        run = Run(verification_profile("metal-tilelang"))
        oracle = Altered("cpu-compiled", "c-library")
        target = Altered("metal-tilelang", "tilelang", (WRONG_TARGET,), (RAISING_TARGET, SUM32))
        return _report(run, oracle, target, (*METAL_PLANS, SUM32))


def _report(
    run: Run,
    oracle: Altered,
    target: Altered,
    plans: Sequence[str],
    lost: str | None = None,
    subjects: Sequence[str] = SUBJECTS,
) -> VerificationReport:
    vars(run).update(_oracle_carrier=oracle, _target_carrier=target)
    selected = [obligation for obligation in run.obligations() if chosen_by(plans, subjects)(obligation)]
    records: list[EvidenceRecord] = []
    for obligation in selection_closure(run, selected):
        dead = obligation.stage.value == "target" and obligation.plan is not None and obligation.plan.text == lost
        records += lost_evidence(run, obligation, "the worker died") if dead else run.evidence(obligation)
    return assemble(run, selected, records)


RECORD_TYPES: Mapping[str, tuple[Callable[[], VerificationReport], Callable[[EvidenceRecord], bool]]] = {
    "oracle exact": (
        cpu_report,
        lambda r: _is(r, "oracle", "passed", "exact_arithmetic") and r.output_hash is not None,
    ),
    "oracle analytic": (cpu_report, lambda r: _is(r, "oracle", "passed", "analytic")),
    "oracle numerical": (cpu_report, lambda r: _is(r, "oracle", "passed", "numerical")),
    "oracle movement": (cpu_report, lambda r: _is(r, "oracle", "passed", "bit_exact")),
    "oracle expected error": (cpu_report, lambda r: _is(r, "oracle", "passed") and r.policy == "expected-error-v1"),
    "oracle failed": (cpu_report, lambda r: _is(r, "oracle", "failed") and r.mismatches == 1),
    "oracle failed widely": (
        cpu_report,
        lambda r: _is(r, "oracle", "failed") and r.case.plan == WIDELY_WRONG and (r.mismatches or 0) > 8,
    ),
    "oracle error": (cpu_report, lambda r: _is(r, "oracle", "error")),
    "oracle deferred": (cpu_report, lambda r: _is(r, "oracle", "deferred")),
    "self comparison": (cpu_report, lambda r: r.self_comparison and r.verification_class == "exact_arithmetic"),
    "target numerical": (cpu_report, lambda r: _is(r, "target", "passed", "numerical")),
    "target blocked": (cpu_report, lambda r: _is(r, "target", "blocked")),
    "target lost": (cpu_report, lambda r: _is(r, "target", "error") and r.receipt is None),
    "target exact": (metal_report, lambda r: _is(r, "target", "passed", "exact_arithmetic")),
    "target failed": (metal_report, lambda r: _is(r, "target", "failed")),
    "target error": (metal_report, lambda r: _is(r, "target", "error", "exact_arithmetic")),
    "target numerical error": (metal_report, lambda r: _is(r, "target", "error", "numerical")),
    "target limit": (metal_report, lambda r: _is(r, "target", "deferred")),
}


def _is(record: EvidenceRecord, stage: str, outcome: str, verification_class: str | None = None) -> bool:
    right = record.stage.value == stage and record.outcome is Outcome(outcome)
    return right and verification_class in (None, record.verification_class)


@cache
def sample(name: str) -> tuple[VerificationReport, int]:
    """A small view with a record of that type, and the record's index: its plan in both stages, and one plan more."""
    make, wanted = RECORD_TYPES[name]
    case = next(record for record in make().records if wanted(record)).case
    view = make().view(chosen_by([str(case.plan), BESIDE[make]], [str(case.subject)]))
    return view, next(index for index, record in enumerate(view.records) if wanted(record))


BESIDE = {cpu_report: "neg(f32)->f32 compute=f32", metal_report: "ceil(f32)->f32 compute=f32"}


@cache
def header_sample(make: Callable[[], VerificationReport]) -> VerificationReport:
    """A view whose header holds every kind of object and requirement."""
    return make().view(chosen_by([SUM32, "exp2(f32)->f32 compute=f32", *METAL_PLANS[:2]], SUBJECTS))


def unaltered_report(plan: str) -> VerificationReport:
    """A view of cpu-compiled against itself where every kernel is what it is."""
    with small_catalog():
        carrier = Altered("cpu-compiled", "c-library")
        return _report(Run(verification_profile("cpu-compiled")), carrier, carrier, (plan,), subjects=())
