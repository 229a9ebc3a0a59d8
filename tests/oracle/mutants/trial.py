"""Load one mutant as the oracle in a child process and ask Stage One for its certificates."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pytest_kernelverify.carriers.cpu import CpuCarrier
from pytest_kernelverify.catalog.classify import obligations
from pytest_kernelverify.catalog.load import verification_profile
from pytest_kernelverify.catalog.profile import VerificationStage
from pytest_kernelverify.evidence.record import Outcome
from pytest_kernelverify.operations.plan import PlanKey, VerificationClass
from pytest_kernelverify.stages.installed import installed_reference
from pytest_kernelverify.stages.oracle import OracleStage
from pytest_kernelverify.stages.references import References

__all__ = ["Trial", "certified_names", "try_library"]

LIMIT = 60.0
_references: list[References] = []
_answered: set[str] = set()


@dataclass(frozen=True, slots=True)
class Trial:
    """``refused`` names the plans and subjects of the kernel without a certificate, ``why`` the first record's words.

    ``died`` is set where the process did not live to say so: killed by a signal, or out of time.
    """

    refused: tuple[str, ...]
    why: str
    died: str | None = None


def shared_references(kernel: str) -> References:
    """One Generic for all trials, which has answered every case of the kernel: children inherit its answers."""
    if not _references:
        _references.append(References())
    if kernel not in _answered:
        stage = _stage(CpuCarrier(), _references[0])
        for what in certified_names(kernel):
            if stage.certificate(what) is None:
                raise AssertionError(f"the unchanged library is refused {what}: {stage.refusal(what)}")
        _answered.add(kernel)
    return _references[0]


def _stage(carrier: CpuCarrier, references: References) -> OracleStage:
    return OracleStage(verification_profile("cpu-compiled"), carrier, references, installed_reference())


def certified_names(kernel: str) -> tuple[PlanKey | str, ...]:
    """The active plans of a kernel and the subjects that run on it."""
    found: dict[PlanKey | str, None] = {}
    for owed in obligations(verification_profile("cpu-compiled"), VerificationStage.ORACLE):
        if owed.kernel.operation == kernel and owed.verification_class is not VerificationClass.DEFERRED:
            found[owed.plan if owed.plan is not None else str(owed.subject)] = None
    return tuple(found)


def try_library(library: Path, kernel: str) -> Trial:
    """Stage One of one kernel with this library as the oracle, in a child that may crash or hang."""
    shared = shared_references(kernel)
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        code = 1
        try:
            with os.fdopen(writing, "w") as answer:
                json.dump(_ask(library, kernel, shared), answer)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    return _await(child, reading)


def _ask(library: Path, kernel: str, shared: References) -> dict[str, object]:
    stage = _stage(CpuCarrier(_library=library), shared)
    refused, why = [], ""
    for what in certified_names(kernel):
        if stage.certificate(what) is None:
            refused.append(what.text if isinstance(what, PlanKey) else what)
            why = why or _first_fault(stage, what)
    return {"refused": refused, "why": why}


def _first_fault(stage: OracleStage, what: PlanKey | str) -> str:
    for obligation in stage.obligations_of(what):
        for record in stage.evidence(obligation):
            if record.outcome not in (Outcome.PASSED, Outcome.DEFERRED):
                return f"{record.case.case_id}: {record.diagnostic}"
    return "no record failed"


def _await(child: int, reading: int) -> Trial:
    deadline = time.monotonic() + LIMIT
    text = b""
    with os.fdopen(reading, "rb", buffering=0) as answer:
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([answer], [], [], left)[0]:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return Trial((), "", died=f"did not end within {LIMIT:.0f} s")
            part = answer.read(65536)
            if not part:
                break
            text += part
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return Trial((), "", died=f"killed by {signal.Signals(os.WTERMSIG(status)).name}")
    if not text:
        return Trial((), "", died="ended without an answer")
    answer_of = json.loads(text)
    return Trial(tuple(answer_of["refused"]), answer_of["why"])
