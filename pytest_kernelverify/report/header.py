"""Header: the first line of a report. What the records refer to stands here once, keyed by the id they use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from pytest_kernelverify.catalog.profile import VerificationProfile, VerificationStage
from pytest_kernelverify.evidence.canonical import canonical_json, digest_of, exact_fields, strings, typed
from pytest_kernelverify.evidence.certificate import OracleCertificate
from pytest_kernelverify.evidence.oracle_reference import OracleReference
from pytest_kernelverify.evidence.receipt import Receipt
from pytest_kernelverify.evidence.record import EvidenceRecord
from pytest_kernelverify.evidence.requirement import Requirement
from pytest_kernelverify.operations.facts import ArithmeticFacts

__all__ = ["SCHEMA", "Header", "digest_of_records"]

SCHEMA = "pytest-kernelverify.report.v3"
_FIELDS = (
    "certificates",
    "complete",
    "digest",
    "oracle",
    "oracle_references",
    "package_version",
    "policies",
    "receipts",
    "record_count",
    "records_digest",
    "requirements",
    "schema",
    "seed",
    "target",
)


class _Named(Protocol):
    @property
    def id(self) -> str: ...

    def to_json(self) -> dict[str, Any]: ...


T = TypeVar("T", bound=_Named)


def digest_of_records(records: Iterable[EvidenceRecord]) -> str:
    """One digest over the records' digests, in the report's order."""
    return digest_of([record.digest for record in records])


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a report's records refer to. Each mapping is keyed by the id of its values; ``policies`` by name.

    ``complete`` says whether both profiles' obligations are all present; otherwise the report is a view.
    """

    package_version: str
    seed: int
    complete: bool
    target: VerificationProfile
    oracle: VerificationProfile
    receipts: Mapping[str, Receipt]
    requirements: Mapping[str, Requirement]
    policies: Mapping[str, str]
    oracle_references: Mapping[str, OracleReference]
    certificates: Mapping[str, OracleCertificate]
    record_count: int
    records_digest: str
    _texts: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical JSON of the other fields; computed once."""
        return self._encoded()[0]

    @property
    def line(self) -> str:
        """The header's canonical JSON, without a line end; computed once."""
        return self._encoded()[1]

    def _encoded(self) -> list[str]:
        if not self._texts:
            value = self._other_fields()
            digest = digest_of(value)
            self._texts.extend((digest, canonical_json({**value, "digest": digest})))
        return self._texts

    def to_json(self) -> dict[str, Any]:
        return {**self._other_fields(), "digest": self.digest}

    def _other_fields(self) -> dict[str, Any]:
        return {
            "certificates": _keyed(self.certificates),
            "complete": self.complete,
            "oracle": profile_to_json(self.oracle),
            "oracle_references": _keyed(self.oracle_references),
            "package_version": self.package_version,
            "policies": dict(self.policies),
            "receipts": _keyed(self.receipts),
            "record_count": self.record_count,
            "records_digest": self.records_digest,
            "requirements": _keyed(self.requirements),
            "schema": SCHEMA,
            "seed": self.seed,
            "target": profile_to_json(self.target),
        }

    @classmethod
    def from_json(cls, value: Any) -> Header:
        """ValueError for another schema, a missing, unknown or ill-typed field, a wrong id or a wrong digest."""
        schema = value.get("schema") if isinstance(value, dict) else None
        if schema != SCHEMA:
            raise ValueError(f"schema is {schema!r}; this version reads {SCHEMA!r} and no other")
        exact_fields(value, _FIELDS, "header")
        policies = typed(value, "policies", dict)
        if any(type(text) is not str for text in policies.values()):
            raise ValueError("policies are texts")
        header = cls(
            package_version=typed(value, "package_version", str),
            seed=typed(value, "seed", int),
            complete=typed(value, "complete", bool),
            target=profile_from_json(value["target"]),
            oracle=profile_from_json(value["oracle"]),
            receipts=_by_id(value, "receipts", Receipt.from_json),
            requirements=_by_id(value, "requirements", Requirement.from_json),
            policies=MappingProxyType(policies),
            oracle_references=_by_id(value, "oracle_references", OracleReference.from_json),
            certificates=_by_id(value, "certificates", OracleCertificate.from_json),
            record_count=typed(value, "record_count", int),
            records_digest=typed(value, "records_digest", str),
        )
        if header.digest != value["digest"]:
            raise ValueError(f"digest is {value['digest']!r}; the header's other fields give {header.digest!r}")
        return header


def profile_to_json(profile: VerificationProfile) -> dict[str, Any]:
    return {
        "carrier": profile.carrier,
        "error_channel": profile.error_channel,
        "facts": profile.facts.to_json(),
        "layouts": profile.layouts,
        "profile_id": profile.profile_id,
        "provider": profile.provider,
        "stages": [stage.value for stage in profile.stages],
    }


def profile_from_json(value: Any) -> VerificationProfile:
    exact_fields(value, VerificationProfile.__slots__, "profile")
    return VerificationProfile(
        typed(value, "profile_id", str),
        typed(value, "carrier", str),
        typed(value, "provider", str),
        tuple(VerificationStage(stage) for stage in strings(value, "stages")),
        ArithmeticFacts.from_json(value["facts"]),
        typed(value, "layouts", str),
        typed(value, "error_channel", bool),
    )


def _keyed(values: Mapping[str, _Named]) -> dict[str, Any]:
    return {name: value.to_json() for name, value in values.items()}


def _by_id(value: dict[str, Any], name: str, read: Callable[[Any], T]) -> Mapping[str, T]:
    found: dict[str, T] = {}
    for key, part in typed(value, name, dict).items():
        try:
            item = read(part)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} {key}: {error}") from None
        if item.id != key:
            raise ValueError(f"{name} {key}: its fields give the id {item.id!r}")
        found[key] = item
    return MappingProxyType(found)
