"""Requirement: which cases must be present, so that a missing or an extra record is seen offline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pytest_kernelverify.evidence.canonical import digest_of, exact_fields, typed
from pytest_kernelverify.evidence.case_facts import EvidenceStage
from pytest_kernelverify.evidence.receipt import kernel_from_json, kernel_to_json
from pytest_kernelverify.operations.plan import LogicalKernel

__all__ = ["Requirement", "cases_digest"]


def cases_digest(case_ids: Iterable[str]) -> str:
    """SHA-256 over the sorted case ids."""
    return digest_of(sorted(case_ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One plan x class, subject x class, deferred plan, or declared limit, and the cases it asks for.

    ``plan`` is the plan's text. A deferred plan and a declared limit have the class ``deferred``, a ``reason`` and
    exactly one case. ``cases_digest`` is that of the sorted case ids.
    """

    stage: EvidenceStage
    kernel: LogicalKernel
    plan: str | None
    subject: str | None
    verification_class: str
    reason: str | None
    case_count: int
    cases_digest: str
    _digests: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical JSON; computed once."""
        if not self._digests:
            self._digests.append(digest_of(self.to_json()))
        return self._digests[0]

    @property
    def id(self) -> str:
        """The short form a record refers to: the first 16 hex digits of the digest."""
        return self.digest[:16]

    @property
    def deferred(self) -> bool:
        return self.verification_class == "deferred"

    @property
    def what(self) -> str:
        """Plan or subject, class and stage, for messages."""
        return f"{self.plan or self.subject} {self.verification_class} ({self.stage.value})"

    def to_json(self) -> dict[str, Any]:
        return {
            "case_count": self.case_count,
            "cases_digest": self.cases_digest,
            "class": self.verification_class,
            "kernel": kernel_to_json(self.kernel),
            "plan": self.plan,
            "reason": self.reason,
            "stage": self.stage.value,
            "subject": self.subject,
        }

    @classmethod
    def from_json(cls, value: Any) -> Requirement:
        """ValueError for a missing, unknown or ill-typed field."""
        names = ("case_count", "cases_digest", "class", "kernel", "plan", "reason", "stage", "subject")
        exact_fields(value, names, "requirement")
        return cls(
            stage=EvidenceStage(typed(value, "stage", str)),
            kernel=kernel_from_json(value["kernel"]),
            plan=typed(value, "plan", str, None),
            subject=typed(value, "subject", str, None),
            verification_class=typed(value, "class", str),
            reason=typed(value, "reason", str, None),
            case_count=typed(value, "case_count", int),
            cases_digest=typed(value, "cases_digest", str),
        )
