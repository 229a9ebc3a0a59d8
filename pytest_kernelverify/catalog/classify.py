"""Classification of every plan a profile advertises, and the obligations that follow. Fails closed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from pytest_kernelverify.carriers.base import AdvertisedKernel
from pytest_kernelverify.carriers.opening import open_carrier
from pytest_kernelverify.catalog.check import check_against_oracle, check_manifest
from pytest_kernelverify.catalog.load import manifest_of, verification_profile
from pytest_kernelverify.catalog.profile import (
    ORACLE_PROFILE,
    ClassificationDisposition,
    PlanClassification,
    ProfileManifest,
    VerificationProfile,
    VerificationStage,
)
from pytest_kernelverify.evidence.record import EvidenceStage
from pytest_kernelverify.operations.plan import LogicalKernel, PlanKey, VerificationClass

__all__ = ["Obligation", "check_advertised", "classify_profile_plans", "obligations"]


@dataclass(frozen=True, slots=True)
class Obligation:
    """One plan or subject and one class to verify in one stage; a deferred plan is one obligation with its reason."""

    stage: EvidenceStage
    kernel: LogicalKernel
    plan: PlanKey | None
    subject: str | None
    verification_class: VerificationClass
    reason: str | None = None

    @property
    def token(self) -> str:
        """The obligation in a test id."""
        subject = self.plan.token if self.plan is not None else str(self.subject)
        profile = self.kernel.profile_id.replace("-", "_")
        return f"{subject}-{self.verification_class.value}-{self.kernel.variant}-{profile}"


def classify_profile_plans(profile: VerificationProfile) -> tuple[PlanClassification, ...]:
    """Every plan the profile advertises with its classes or the reason for its deferral, in the manifest's order.

    ValueError for any duplicate, missing, stale, unknown or mismatched kernel, plan, operation, class or subject;
    where the profile's kernels are compiled, the library's own table is what must be matched.
    """
    manifest = manifest_of(profile)
    _checked(profile)
    return manifest.plans


@cache
def _checked(profile: VerificationProfile) -> ProfileManifest:
    manifest = manifest_of(profile)
    check_manifest(manifest)
    check_against_oracle(manifest, manifest_of(verification_profile(ORACLE_PROFILE)))
    if profile.carrier == "cpu":
        check_advertised(manifest, open_carrier(profile.profile_id, profile.carrier).advertised())
    return manifest


def check_advertised(manifest: ProfileManifest, advertised: Sequence[AdvertisedKernel]) -> None:
    """ValueError unless the kernels and plans a library advertises are exactly those of the manifest."""
    profile_id = manifest.profile.profile_id
    listed = {(kernel.kernel_id, kernel.variant, kernel.operation) for kernel in manifest.kernels}
    found = [(row.kernel_id, row.variant, row.operation) for row in advertised]
    _match(profile_id, "kernel", listed, found)
    plans = {(row.kernel.kernel_id, row.kernel.variant, row.plan.text) for row in manifest.plans}
    offered = [(row.kernel_id, row.variant, text) for row in advertised for text in row.plans]
    _match(profile_id, "plan", plans, offered)


def _match(
    profile_id: str, what: str, listed: set[tuple[str, str, str]], found: Sequence[tuple[str, str, str]]
) -> None:
    present = set(found)
    if len(present) != len(found):
        twice = sorted({row for row in found if found.count(row) > 1})
        raise ValueError(f"profile {profile_id!r}: the library advertises a duplicate {what}: {twice}")
    missing, stale = sorted(present - listed), sorted(listed - present)
    if missing or stale:
        raise ValueError(
            f"profile {profile_id!r} does not match its library's {what}s: missing={missing}, stale={stale};"
            f" update profiles/{profile_id}.toml"
        )


def obligations(profile: VerificationProfile, stage: VerificationStage) -> tuple[Obligation, ...]:
    """What a profile owes in one stage, plan-major: every plan x class, every deferred plan, then the subjects.

    TypeError for no profile at all; ValueError, before any library is asked, for one that is not the installed one or
    does not play that role; otherwise the errors of :func:`classify_profile_plans`.
    """
    manifest_of(profile)
    if stage not in profile.stages:
        roles = ", ".join(role.value for role in profile.stages)
        raise ValueError(f"profile {profile.profile_id!r} is no {stage.value}; its roles: {roles}")
    return _obligations(profile, stage)


@cache
def _obligations(profile: VerificationProfile, stage: VerificationStage) -> tuple[Obligation, ...]:
    where = EvidenceStage(stage.value)
    manifest = _checked(profile)
    owed = []
    for row in manifest.plans:
        if row.disposition is ClassificationDisposition.DEFERRED:
            owed.append(Obligation(where, row.kernel, row.plan, None, VerificationClass.DEFERRED, row.reason))
        owed += [Obligation(where, row.kernel, row.plan, None, cls) for cls in row.classes]
    for subject in manifest.subjects:
        owed += [Obligation(where, subject.kernel, None, subject.subject, cls) for cls in subject.classes]
    return tuple(owed)
