"""Profiles and classifications: the immutable records the catalog hands out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pytest_kernelverify.operations.facts import STRICT, ArithmeticFacts
from pytest_kernelverify.operations.plan import LogicalKernel, PlanKey, VerificationClass

__all__ = [
    "ORACLE_PROFILE",
    "ClassificationDisposition",
    "PlanClassification",
    "ProfileManifest",
    "SubjectClassification",
    "VerificationProfile",
    "VerificationStage",
]

# The profile by whose certified plans targets are judged.
ORACLE_PROFILE = "cpu-compiled"


class VerificationStage(Enum):
    """The role a profile may play in a run."""

    ORACLE = "oracle"
    TARGET = "target"


class ClassificationDisposition(Enum):
    """Whether an obligation is run (active) or set aside with a reason (deferred)."""

    ACTIVE = "active"
    DEFERRED = "deferred"


@dataclass(frozen=True, slots=True)
class VerificationProfile:
    """One immutable installed oracle or target identity.

    ``layouts`` is ``nested`` or ``one stride per axis``; ``error_channel`` says whether a kernel can report an error.
    """

    profile_id: str
    carrier: str
    provider: str
    stages: tuple[VerificationStage, ...]
    facts: ArithmeticFacts = STRICT
    layouts: str = "nested"
    error_channel: bool = True


@dataclass(frozen=True, slots=True)
class PlanClassification:
    """The verification classes of one plan of one logical kernel, or the reason for which it is deferred."""

    kernel: LogicalKernel
    plan: PlanKey
    classes: tuple[VerificationClass, ...]
    disposition: ClassificationDisposition
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SubjectClassification:
    """The verification classes of one movement or structural subject and the kernel that carries it."""

    kernel: LogicalKernel
    subject: str
    kind: str
    classes: tuple[VerificationClass, ...]


@dataclass(frozen=True, slots=True)
class ProfileManifest:
    """A profile with its logical kernels, the classification of each plan, and that of each subject."""

    profile: VerificationProfile
    kernels: tuple[LogicalKernel, ...]
    plans: tuple[PlanClassification, ...]
    subjects: tuple[SubjectClassification, ...]
