"""Both stages on the real library, shared by the modules of one process; and a carrier around the real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from pytest_kernelverify import (
    LogicalKernel,
    OracleStageResult,
    PlanKey,
    StageReport,
    VerificationClass,
    VerificationStage,
    run_oracle_stage,
    run_target_stage,
    verification_profile,
)
from pytest_kernelverify.carriers.base import Carrier, View
from pytest_kernelverify.carriers.opening import open_carrier
from pytest_kernelverify.catalog.classify import Obligation, obligations
from pytest_kernelverify.stages.authority import Authority
from pytest_kernelverify.stages.installed import installed_reference
from pytest_kernelverify.stages.oracle import OracleStage
from pytest_kernelverify.stages.references import References
from pytest_kernelverify.stages.target import TargetStage

CPU, METAL = verification_profile("cpu-compiled"), verification_profile("metal-tilelang")
NEG = PlanKey.from_text("neg(f32)->f32 compute=f32")
NEG_INT = PlanKey.from_text("neg(i32)->i32 compute=i32_checked")
SUM = PlanKey.from_text("reduce_sum(f32)->f32 compute=f32 acc=floating:f32")
SUM_WIDE = SUM.with_accumulation("floating", "f64")
MATMUL = PlanKey.from_text("matmul(f32,f32)->f32 compute=f32 acc=floating:f32")
MATMUL_WIDE = MATMUL.with_accumulation("floating", "f64")
EXP = PlanKey.from_text("exp(f32)->f32 compute=f32")


@contextmanager
def unpatched() -> Iterator[None]:
    """What is kept for all tests is made with the real obligations and carriers, whatever a test has put in place."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("oracle", "target", "run"):
            patch.setattr(f"pytest_kernelverify.stages.{module}.obligations", obligations)
            patch.setattr(f"pytest_kernelverify.stages.{module}.open_carrier", open_carrier)
        yield


@cache
def oracle_result() -> OracleStageResult:
    with unpatched():
        return run_oracle_stage(CPU)


@cache
def target_report() -> StageReport:
    result = oracle_result()
    with unpatched():
        return run_target_stage(CPU, result)


@cache
def references() -> References:
    return References()


def owed(
    what: PlanKey | str,
    verification_class: VerificationClass | None = None,
    *,
    profile: Any = CPU,
    stage: VerificationStage = VerificationStage.ORACLE,
) -> tuple[Obligation, ...]:
    """The obligations of a plan or subject, all or those of one class."""
    return tuple(
        o for o in obligations(profile, stage)
        if what in (o.plan, o.subject) and verification_class in (None, o.verification_class)
    )  # fmt: skip


Launch = Callable[[LogicalKernel, "PlanKey | None", Sequence[View], View, Mapping[str, Any]], None]


class Around:
    """The real carrier, watched: ``calls`` in order, and two places to interfere with a launch.

    ``before`` may raise instead of launching; ``after`` may alter what the kernel left behind. A kernel of another
    profile is launched as the CPU kernel of its operation.
    """

    def __init__(self, *, before: Launch | None = None, after: Launch | None = None) -> None:
        self.real: Carrier = open_carrier(CPU.profile_id, CPU.carrier)
        self.before, self.after = before, after
        self.calls: list[str] = []
        self.artifact: str | None = None
        self.check: Callable[[str], None] = lambda where: None

    def advertised(self) -> Any:
        return self.real.advertised()

    def receipt(self, kernel: LogicalKernel) -> Any:
        receipt = replace(self.real.receipt(self._own(kernel)), kernel=kernel)
        return receipt if self.artifact is None else replace(receipt, artifact=self.artifact)

    def allocate(self, words: Any) -> Any:
        self.calls.append("allocate")
        return self.real.allocate(words)

    def fetch(self, memory: Any) -> Any:
        self.calls.append("fetch")
        return self.real.fetch(memory)

    def launch(
        self,
        kernel: LogicalKernel,
        plan: PlanKey | None,
        operands: Sequence[View],
        output: View,
        parameters: Mapping[str, Any],
    ) -> None:
        self.calls.append("launch")
        if self.before is not None:
            self.before(kernel, plan, operands, output, parameters)
        self.real.launch(self._own(kernel), plan, operands, output, parameters)
        if self.after is not None:
            self.after(kernel, plan, operands, output, parameters)

    def synchronize(self) -> None:
        self.calls.append("synchronize")
        self.real.synchronize()

    def check_arithmetic_state(self, where: str) -> None:
        self.calls.append("check")
        self.check(where)

    @staticmethod
    def _own(kernel: LogicalKernel) -> LogicalKernel:
        return replace(kernel, profile_id="cpu-compiled", kernel_id=f"cpu.{kernel.operation}")


def flip_first(operation: str) -> Launch:
    """Makes the first output word of one operation wrong by its lowest bit."""

    def after(kernel: LogicalKernel, plan: Any, operands: Any, output: View, parameters: Any) -> None:
        if kernel.operation == operation and output.layout.size:
            output.memory[output.layout.offset] ^= 1

    return after


def oracle_stage(carrier: Any = None, **rest: Any) -> OracleStage:
    return OracleStage(CPU, carrier or Around(), references(), installed_reference(), **rest)


def target_stage(carrier: Any, authority: Authority | None = None, profile: Any = METAL) -> TargetStage:
    """Stage Two of a target on ``carrier``, behind a fresh Stage One of the real library or another authority."""
    oracle = oracle_stage()
    return TargetStage(profile, carrier, oracle, authority or oracle)


class Opened:
    """Stands in for ``open_carrier``: hands out one carrier and writes down for whom."""

    def __init__(self, carrier: Any = None) -> None:
        self.carrier = carrier
        self.asked: list[str] = []

    def __call__(self, profile_id: str, carrier: str) -> Any:
        self.asked.append(profile_id)
        if self.carrier is None:
            raise AssertionError(f"the carrier of {profile_id} was opened")
        return self.carrier


def few(monkeypatch: pytest.MonkeyPatch, *what: PlanKey | str) -> None:
    """Let both stages owe only these plans and subjects, so that a whole stage takes no time."""

    def some(profile: Any, stage: VerificationStage) -> tuple[Obligation, ...]:
        return tuple(o for o in obligations(profile, stage) if o.plan in what or o.subject in what)

    for module in ("oracle", "target", "run"):
        monkeypatch.setattr(f"pytest_kernelverify.stages.{module}.obligations", some)
