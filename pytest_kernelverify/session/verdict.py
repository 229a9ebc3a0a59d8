"""One item's records to one verdict and its text: a failure is a value, rendered here once."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.evidence.record import EvidenceRecord, Outcome

__all__ = ["Verdict", "verdict_of"]

SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of an item: its outcome, one line that says so, and the whole text of a failure."""

    outcome: Outcome
    line: str
    text: str


def verdict_of(obligation: Obligation, records: Sequence[EvidenceRecord], command: str) -> Verdict:
    """The worst outcome decides; deferred only where nothing else is left."""
    outcome = _outcome(records)
    name = f"{_operation(obligation)} {obligation.verification_class.value}"
    if outcome is Outcome.PASSED:
        return Verdict(outcome=outcome, line=f"{name}: passed", text="")
    deciding = sorted((record for record in records if record.outcome is outcome), key=_badness)
    reason = deciding[0].diagnostic
    if outcome is Outcome.DEFERRED:
        return Verdict(outcome=outcome, line=str(reason), text=str(reason))
    line = f"{name}: {reason}" if outcome is Outcome.FAILED else f"{name}: {outcome.value}: {reason}"
    if outcome is Outcome.BLOCKED:
        return Verdict(outcome=outcome, line=line, text=f"{line}\nreproduce: {command}")
    about = [line, f"  plan  {_plan(obligation)}"]
    about += [f"  case  {record.case.case_id}\n        {record.diagnostic}" for record in deciding[:SHOWN]]
    others = len(deciding) - SHOWN
    if others > 0:
        about.append(f"        and {others} more")
    about.append(f"  {len(deciding)} of {len(records)} cases {_PAST[outcome]}")
    return Verdict(outcome=outcome, line=line, text="\n".join([*about, f"reproduce: {command}"]))


_PAST = {Outcome.FAILED: "failed", Outcome.ERROR: "ended in an error"}
_WORST_FIRST = (Outcome.FAILED, Outcome.ERROR, Outcome.BLOCKED, Outcome.PASSED)


def _outcome(records: Sequence[EvidenceRecord]) -> Outcome:
    present = {record.outcome for record in records}
    return next((outcome for outcome in _WORST_FIRST if outcome in present), Outcome.DEFERRED)


def _badness(record: EvidenceRecord) -> tuple[float, int]:
    return -(record.worst_ratio or 0.0), -(record.mismatches or 0)


def _operation(obligation: Obligation) -> str:
    return obligation.plan.operation if obligation.plan is not None else str(obligation.subject)


def _plan(obligation: Obligation) -> str:
    return obligation.plan.text if obligation.plan is not None else str(obligation.subject)


def reproduction(target: str, seed: int, nodeid: str) -> str:
    """The command that runs one item again."""
    options = [f"--kv-target={target}"] + ([f"--kv-seed={seed}"] if seed else [])
    return shlex.join(["pytest", *options, nodeid])
