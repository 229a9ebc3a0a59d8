"""The walk both stages share: an obligation's cases, each attempted once, each leaving one record."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from pytest_kernelverify.carriers.base import Carrier
from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.catalog.profile import VerificationProfile
from pytest_kernelverify.evidence.record import EvidenceRecord
from pytest_kernelverify.evidence.requirement import Requirement
from pytest_kernelverify.running.run_case import CaseRun, masked
from pytest_kernelverify.stages.judge import Judgement, errored
from pytest_kernelverify.stages.recording import cases_of, requirements_of

__all__ = ["Progress", "StageWalk", "check_seed", "recovered", "walk_all"]

Progress = Callable[[int, int, str], None]
"""Called with the number of an obligation, how many there are, and its id."""

LARGEST_SEED = 2**63 - 1

log = logging.getLogger("kernelverify")


def check_seed(seed: object) -> int:
    """TypeError for anything but an integer, ValueError outside [0, 2^63)."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed must be an integer, not {type(seed).__name__}")
    if not 0 <= seed <= LARGEST_SEED:
        raise ValueError("seed is out of range; expected 0 to 2^63 - 1")
    return int(seed)


class StageWalk(ABC):
    """Evidence on demand in one process, each obligation attempted once, in whatever order it is asked for."""

    def __init__(self, profile: VerificationProfile, carrier: Carrier, *, seed: int, name: str) -> None:
        self.profile = profile
        self.carrier = carrier
        self.seed = check_seed(seed)
        self.name = name
        self._cases: dict[Obligation, tuple[Case, ...]] = {}
        self._requirements: dict[Obligation, dict[str, Requirement]] = {}
        self._evidence: dict[Obligation, tuple[EvidenceRecord, ...]] = {}
        carrier.check_arithmetic_state(f"at the start of {name}")

    def evidence(self, obligation: Obligation) -> tuple[EvidenceRecord, ...]:
        """One record for each case of the obligation."""
        records = self._evidence.get(obligation)
        if records is None:
            records = self._evidence[obligation] = tuple(self._attempt(obligation))
        return records

    def requirements(self, obligation: Obligation) -> tuple[Requirement, ...]:
        """What must be present for the obligation."""
        return tuple(dict.fromkeys(self._requirements_of(obligation).values()))

    def _cases_of(self, obligation: Obligation) -> tuple[Case, ...]:
        cases = self._cases.get(obligation)
        if cases is None:
            cases = self._cases[obligation] = self._make_cases(obligation)
        return cases

    def _requirements_of(self, obligation: Obligation) -> dict[str, Requirement]:
        found = self._requirements.get(obligation)
        if found is None:
            found = self._requirements[obligation] = requirements_of(obligation, self._cases_of(obligation))
        return found

    def _make_cases(self, obligation: Obligation) -> tuple[Case, ...]:
        return cases_of(obligation, self.profile, self.seed)

    @abstractmethod
    def _attempt(self, obligation: Obligation) -> Iterable[EvidenceRecord]:
        """Attempt each case of the obligation."""


def recovered(attempt: Callable[[], tuple[CaseRun, Judgement]]) -> tuple[CaseRun | None, Judgement]:
    """One case's run and judgement; a RuntimeError or ValueError of preparing or judging it is its error."""
    try:
        return attempt()
    except (RuntimeError, ValueError) as error:
        text = masked(f"{type(error).__name__} while the case was prepared or judged: {error}")
        return None, errored(text)


def walk_all(
    stage: StageWalk, owed: tuple[Obligation, ...], progress: Progress | None
) -> tuple[list[EvidenceRecord], list[Requirement]]:
    """All records and requirements of a stage, in order; each obligation is logged as it begins."""
    records: list[EvidenceRecord] = []
    requirements: list[Requirement] = []
    for number, obligation in enumerate(owed, start=1):
        log.info("%s %d/%d %s", stage.name, number, len(owed), obligation.token)
        if progress is not None:
            progress(number, len(owed), obligation.token)
        records += stage.evidence(obligation)
        requirements += stage.requirements(obligation)
    return records, requirements
