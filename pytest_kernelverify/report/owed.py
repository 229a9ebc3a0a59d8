"""What two installed profiles owe, read from their manifests alone: no library is loaded, nothing runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.catalog.load import manifest_of
from pytest_kernelverify.catalog.profile import (
    ClassificationDisposition,
    PlanClassification,
    SubjectClassification,
    VerificationProfile,
)
from pytest_kernelverify.evidence.record import EvidenceStage
from pytest_kernelverify.evidence.requirement import Requirement
from pytest_kernelverify.operations.plan import LogicalKernel, VerificationClass
from pytest_kernelverify.stages.authority import reference_plan

__all__ = ["Owed", "name_of"]

Key = tuple[EvidenceStage, LogicalKernel, str | None, str | None, str]


def name_of(obligation: Obligation) -> str:
    """The plan's text or the subject's name."""
    return obligation.plan.text if obligation.plan is not None else str(obligation.subject)


@dataclass(frozen=True, slots=True)
class Owed:
    """The obligations of a target and of its oracle, and how the first rest on the second."""

    target: VerificationProfile
    oracle: VerificationProfile
    obligations: tuple[Obligation, ...]
    by_key: dict[Key, Obligation]
    by_oracle_name: dict[str, tuple[Obligation, ...]]

    @classmethod
    @cache
    def by(cls, target: VerificationProfile, oracle: VerificationProfile) -> Owed:
        """ValueError where a profile is not the installed one."""
        first, second = _obligations(oracle, EvidenceStage.ORACLE), _obligations(target, EvidenceStage.TARGET)
        by_name: dict[str, tuple[Obligation, ...]] = {}
        for obligation in first:
            name = name_of(obligation)
            by_name[name] = (*by_name.get(name, ()), obligation)
        keys = {_key(obligation): obligation for obligation in (*first, *second)}
        return cls(target, oracle, (*first, *second), keys, by_name)

    def profile(self, stage: EvidenceStage) -> VerificationProfile:
        return self.oracle if stage is EvidenceStage.ORACLE else self.target

    def needed(self, obligation: Obligation) -> tuple[str, ...]:
        """The oracle plans whose certificates a target obligation consumes."""
        plan = obligation.plan
        if obligation.stage is not EvidenceStage.TARGET or plan is None:
            return ()
        if obligation.verification_class is VerificationClass.DEFERRED:
            return ()
        reference = reference_plan(plan)
        both = plan != reference and plan.text in self.by_oracle_name
        return (reference.text, plan.text) if both else (reference.text,)

    def rests_on(self, obligation: Obligation) -> tuple[Obligation, ...]:
        """The Stage One obligations that belong into every report with this one."""
        return tuple(owed for name in self.needed(obligation) for owed in self.by_oracle_name.get(name, ()))

    def oracle_deferral(self, obligation: Obligation) -> str | None:
        """The oracle's reason where the plan a target is judged by is deferred there."""
        reasons = (owed.reason for owed in self.rests_on(obligation)[:1])
        return next((reason for reason in reasons if reason is not None), None)

    def is_oracle_itself(self, obligation: Obligation) -> bool:
        """Whether target and oracle are one function, so that only Generic can judge."""
        same = self.target.profile_id == self.oracle.profile_id and obligation.stage is EvidenceStage.TARGET
        return same and (obligation.plan is None or reference_plan(obligation.plan) == obligation.plan)

    def owner(self, requirement: Requirement, case_ids: Iterable[str]) -> Obligation:
        """The obligation a requirement belongs to; a declared limit names its class in its one case's id.

        ValueError where the installed profiles owe no such thing.
        """
        kernel, where = requirement.kernel, (requirement.plan, requirement.subject)
        found = self.by_key.get((requirement.stage, kernel, *where, requirement.verification_class))
        if found is not None:
            if found.reason != requirement.reason:
                raise ValueError(f"{requirement.what}: the reason is not the profile's, {found.reason!r}")
            return found
        ids = list(case_ids)
        if requirement.deferred and requirement.reason and len(ids) == 1:
            for member in VerificationClass:
                found = self.by_key.get((requirement.stage, kernel, *where, member.value))
                if found is not None and not found.reason and ids[0].startswith(prefix(found)):
                    return found
        profile = self.profile(requirement.stage).profile_id
        raise ValueError(f"{requirement.what}: the installed profile {profile!r} owes no such thing")


def prefix(obligation: Obligation) -> str:
    """How the ids of an obligation's cases begin."""
    head = obligation.plan.token if obligation.plan is not None else str(obligation.subject)
    return f"{head}-{obligation.verification_class.value}-"


def _key(obligation: Obligation) -> Key:
    plan = obligation.plan.text if obligation.plan is not None else None
    return obligation.stage, obligation.kernel, plan, obligation.subject, obligation.verification_class.value


def _obligations(profile: VerificationProfile, stage: EvidenceStage) -> tuple[Obligation, ...]:
    if stage.value not in [role.value for role in profile.stages]:
        raise ValueError(f"profile {profile.profile_id!r} is no {stage.value}")
    manifest = manifest_of(profile)
    rows: tuple[PlanClassification | SubjectClassification, ...] = (*manifest.plans, *manifest.subjects)
    return tuple(obligation for row in rows for obligation in _of_row(row, stage))


def _of_row(row: PlanClassification | SubjectClassification, stage: EvidenceStage) -> Iterable[Obligation]:
    if isinstance(row, SubjectClassification):
        return [Obligation(stage, row.kernel, None, row.subject, member) for member in row.classes]
    if row.disposition is ClassificationDisposition.DEFERRED:
        return [Obligation(stage, row.kernel, row.plan, None, VerificationClass.DEFERRED, row.reason)]
    return [Obligation(stage, row.kernel, row.plan, None, member) for member in row.classes]
