"""EvidenceRecord: everything one case left behind, and the rules by which such a record makes sense."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pytest_kernelverify.evidence.canonical import (
    canonical_json,
    exact_fields,
    frozen,
    number_from_json,
    number_to_json,
    plain,
    strings,
    typed,
)
from pytest_kernelverify.evidence.case_facts import (
    STAGE_CLASSES,
    STAGE_ORDER,
    CaseFacts,
    EvidenceStage,
    Mismatch,
    Outcome,
)
from pytest_kernelverify.numerics.comparison import Deviations, Tolerance

__all__ = ["CaseFacts", "EvidenceRecord", "EvidenceStage", "Mismatch", "Outcome"]

ISOLATIONS = ("in_process",)  # no carrier of this version runs kernels anywhere else
AUTHORITIES = ("certificate", "generic", "user")
DETAIL_LIMIT = 4096
INFINITY = float("inf")
_ENVELOPES = ("stage-one-two-path-gamma-v1", "stage-two-single-path-gamma-v1")
_FIELDS = frozenset(
    {
        "accepted",
        "authority",
        "bound",
        "case",
        "certificates",
        "class",
        "detail",
        "deviations",
        "diagnostic",
        "digest",
        "first_mismatch",
        "input_hashes",
        "isolation",
        "mismatches",
        "nan_payload_mismatches",
        "oracle_reference",
        "order",
        "outcome",
        "output_hash",
        "policy",
        "receipt",
        "requirement",
        "self_comparison",
        "signed_zero_mismatches",
        "stage",
        "tolerance",
        "worst_ratio",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRecord:
    """One case in one stage. References (policy, requirement, receipt, ...) resolve in the report's header.

    ``requirement``, ``receipt``, ``oracle_reference`` and ``certificates`` are the first 16 hex digits of the digest of
    what they name; ``policy`` is a policy's name. ``bound`` is the error bound at the element with the worst
    |error|/bound, ``worst_ratio`` that ratio; both are None where words are compared and for an empty result.
    ``accepted`` counts results a looser declared fact allowed. ``detail`` is kept only for a failure. Where no words
    were compared (an expected error that came, a failure without a result, and every error, blocked or deferred record)
    deviations and mismatch counts are None. Unequal input hashes, and any other combination of fields that no run
    leaves behind, are a ValueError; ``docs/report-v3.md`` lists the rules.
    """

    stage: EvidenceStage
    verification_class: str
    case: CaseFacts
    target_input_hashes: tuple[str, ...]
    oracle_input_hashes: tuple[str, ...]
    output_hash: str | None
    policy: str
    tolerance: Tolerance
    bound: float | None
    worst_ratio: float | None
    deviations: Deviations
    mismatches: int | None
    signed_zero_mismatches: int | None
    nan_payload_mismatches: int | None
    first_mismatch: Mismatch | None
    outcome: Outcome
    diagnostic: str | None
    requirement: str
    receipt: str | None
    oracle_reference: str
    certificates: tuple[str, ...] = ()
    authority: str = "generic"
    self_comparison: bool = False
    accepted: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    isolation: str = "in_process"
    order: str | None = None
    detail: Mapping[str, Any] | None = None
    _texts: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.target_input_hashes != self.oracle_input_hashes:
            raise ValueError(
                f"record {self.case.case_id}: target and oracle input hashes differ; both must read one payload"
            )
        object.__setattr__(self, "accepted", MappingProxyType(dict(self.accepted)))
        if self.detail is not None:
            object.__setattr__(self, "detail", frozen(self.detail))
        problem = _problem(self)
        if problem is not None:
            where = f"record {self.case.case_id} ({self.stage.value}, {self.outcome.value})"
            raise ValueError(f"{where}: {problem}")

    @property
    def sort_key(self) -> tuple[int, str, str, str]:
        """Records stand in a report by stage, case id, kernel, variant."""
        kernel = self.case.kernel
        return STAGE_ORDER[self.stage], self.case.case_id, kernel.kernel_id, kernel.variant

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical JSON of the other fields; computed once."""
        return self._encoded()[0]

    @property
    def line(self) -> str:
        """The record's canonical JSON, without a line end; computed once."""
        return self._encoded()[1]

    @property
    def enveloped(self) -> bool:
        """Whether an error bound, not equality of words, decided."""
        return self.policy in _ENVELOPES

    def _encoded(self) -> list[str]:
        if not self._texts:
            value = self._other_fields()
            head = canonical_json({name: part for name, part in value.items() if name < "digest"})[:-1]
            tail = canonical_json({name: part for name, part in value.items() if name > "digest"})[1:]
            digest = hashlib.sha256(f"{head},{tail}".encode()).hexdigest()
            self._texts.extend((digest, f'{head},"digest":"{digest}",{tail}'))
        return self._texts

    def to_json(self) -> dict[str, Any]:
        return {**self._other_fields(), "digest": self.digest}

    def _other_fields(self) -> dict[str, Any]:
        deviations, tolerance = self.deviations, self.tolerance
        return {
            "accepted": dict(self.accepted),
            "authority": self.authority,
            "bound": number_to_json(self.bound),
            "case": self.case.to_json(),
            "certificates": list(self.certificates),
            "class": self.verification_class,
            "detail": plain(self.detail),
            "deviations": {
                "absolute": number_to_json(deviations.maximum_absolute),
                "relative": number_to_json(deviations.maximum_relative),
                "ulps": deviations.maximum_ulps,
            },
            "diagnostic": self.diagnostic,
            "first_mismatch": None if self.first_mismatch is None else self.first_mismatch.to_json(),
            # One list for both sides: no record has two.
            "input_hashes": list(self.target_input_hashes),
            "isolation": self.isolation,
            "mismatches": self.mismatches,
            "nan_payload_mismatches": self.nan_payload_mismatches,
            "oracle_reference": self.oracle_reference,
            "order": self.order,
            "outcome": self.outcome.value,
            "output_hash": self.output_hash,
            "policy": self.policy,
            "receipt": self.receipt,
            "requirement": self.requirement,
            "self_comparison": self.self_comparison,
            "signed_zero_mismatches": self.signed_zero_mismatches,
            "stage": self.stage.value,
            "tolerance": {
                "absolute": number_to_json(float(tolerance.absolute)),
                "relative": number_to_json(float(tolerance.relative)),
                "ulps": tolerance.ulps,
            },
            "worst_ratio": number_to_json(self.worst_ratio),
        }

    @classmethod
    def from_json(cls, value: Any) -> EvidenceRecord:
        """ValueError for a missing, unknown, ill-typed or inconsistent field, or a wrong digest."""
        exact_fields(value, _FIELDS, "record")
        deviations, tolerance = value["deviations"], value["tolerance"]
        exact_fields(deviations, Tolerance.__slots__, "deviations")
        exact_fields(tolerance, Tolerance.__slots__, "tolerance")
        hashes = strings(value, "input_hashes")
        mismatch, detail = value["first_mismatch"], typed(value, "detail", dict, None)
        absolute, relative = (number_from_json(tolerance[name]) for name in ("absolute", "relative"))
        if absolute is None or relative is None:
            raise ValueError("a tolerance is a number")
        record = cls(
            stage=_member(EvidenceStage, value, "stage"),
            verification_class=typed(value, "class", str),
            case=CaseFacts.from_json(value["case"]),
            target_input_hashes=hashes,
            oracle_input_hashes=hashes,
            output_hash=typed(value, "output_hash", str, None),
            policy=typed(value, "policy", str),
            tolerance=Tolerance(absolute, relative, typed(tolerance, "ulps", int)),
            bound=number_from_json(value["bound"]),
            worst_ratio=number_from_json(value["worst_ratio"]),
            deviations=Deviations(
                number_from_json(deviations["absolute"]),
                number_from_json(deviations["relative"]),
                typed(deviations, "ulps", int, None),
            ),
            mismatches=typed(value, "mismatches", int, None),
            signed_zero_mismatches=typed(value, "signed_zero_mismatches", int, None),
            nan_payload_mismatches=typed(value, "nan_payload_mismatches", int, None),
            first_mismatch=None if mismatch is None else Mismatch.from_json(mismatch),
            outcome=_member(Outcome, value, "outcome"),
            diagnostic=typed(value, "diagnostic", str, None),
            requirement=typed(value, "requirement", str),
            receipt=typed(value, "receipt", str, None),
            oracle_reference=typed(value, "oracle_reference", str),
            certificates=strings(value, "certificates"),
            authority=typed(value, "authority", str),
            self_comparison=typed(value, "self_comparison", bool),
            accepted=typed(value, "accepted", dict),
            isolation=typed(value, "isolation", str),
            order=typed(value, "order", str, None),
            detail=detail,
        )
        if record.digest != value["digest"]:
            raise ValueError(f"digest is {value['digest']!r}; the record's other fields give {record.digest!r}")
        return record


def _member(kind: type[Any], value: dict[str, Any], name: str) -> Any:
    found = typed(value, name, str)
    try:
        return kind(found)
    except ValueError:
        raise ValueError(f"{name} is {found!r}; expected one of {', '.join(m.value for m in kind)}") from None


def _problem(record: EvidenceRecord) -> str | None:
    """Why no run leaves such a record behind, or None."""
    outcome, counts = record.outcome, record.mismatches
    legal: tuple[tuple[str, str, tuple[str, ...]], ...] = (
        ("class", record.verification_class, STAGE_CLASSES[record.stage]),
        ("authority", record.authority, AUTHORITIES),
        ("isolation", record.isolation, ISOLATIONS),
    )
    for name, value, allowed in legal:
        if value not in allowed:
            return f"{name} is {value!r}; expected one of {', '.join(allowed)}"
    deferred = outcome is Outcome.DEFERRED
    if record.stage in (EvidenceStage.ORACLE, EvidenceStage.TARGET):
        if not deferred == (record.verification_class == "deferred") == (record.policy == "deferred-v1"):
            return "class deferred, policy deferred-v1 and outcome deferred go together"
        if record.order is not None:
            return "order is null until a verdict on the observed order exists"
    if record.stage is EvidenceStage.ORACLE:
        if outcome is Outcome.BLOCKED:
            return "nothing blocks Stage One"
        if record.certificates or record.authority != "generic" or record.self_comparison:
            return "Stage One is judged by Generic alone: no certificates, no self comparison"
    if record.self_comparison and record.authority != "generic":
        return "a self comparison is judged by Generic"
    if list(record.certificates) != sorted(set(record.certificates)):
        return "certificates must be sorted, each once"
    if (record.diagnostic is None) != (outcome is Outcome.PASSED) or record.diagnostic == "":
        return "every outcome but passed has a diagnostic, passed has none"
    if (record.detail is not None) != (outcome is Outcome.FAILED):
        return "exactly the failed records have a detail"
    if record.detail is not None and len(canonical_json(plain(record.detail)).encode()) > DETAIL_LIMIT:
        return f"the detail is longer than {DETAIL_LIMIT} bytes"
    if any(type(count) is not int or count < 1 for count in record.accepted.values()):
        return "accepted counts are integers of 1 or more"
    if outcome in (Outcome.BLOCKED, Outcome.DEFERRED) and (record.receipt is not None or record.certificates):
        return f"a {outcome.value} record was not run: it has no receipt and no certificates"
    if outcome in (Outcome.PASSED, Outcome.FAILED) and record.receipt is None:
        return "a kernel that ran has a receipt"
    if (counts is None) != (record.output_hash is None):
        return "an output hash and mismatch counts go together"
    return _unmeasured_problem(record) if counts is None else _measured_problem(record, counts)


def _unmeasured_problem(record: EvidenceRecord) -> str | None:
    measured = (
        record.signed_zero_mismatches,
        record.nan_payload_mismatches,
        record.first_mismatch,
        record.bound,
        record.worst_ratio,
        record.deviations.maximum_absolute,
        record.deviations.maximum_relative,
        record.deviations.maximum_ulps,
    )
    if any(value is not None for value in measured) or record.accepted:
        return "nothing was compared, so every measurement is null and nothing accepted"
    # What an envelope would have tolerated is known before a kernel fails to run.
    retained = record.tolerance.absolute if record.enveloped and record.outcome is Outcome.ERROR else 0.0
    if record.tolerance != Tolerance(absolute=retained) or not retained < INFINITY:
        return "nothing was compared, so the tolerance is zero, or in an error the envelope's largest bound"
    if record.outcome is Outcome.PASSED and record.policy != "expected-error-v1":
        return "only an expected error passes without a comparison"
    return None


def _measured_problem(record: EvidenceRecord, counts: int) -> str | None:
    zeros, payloads, first = record.signed_zero_mismatches, record.nan_payload_mismatches, record.first_mismatch
    absolute, relative, ulps = (getattr(record.deviations, name) for name in Deviations.__slots__)
    if record.outcome not in (Outcome.PASSED, Outcome.FAILED):
        return f"{record.outcome.value} leaves no measurements"
    if record.policy == "expected-error-v1":
        return "an expected error leaves no words to compare"
    if zeros is None or payloads is None or ulps is None:
        return "words were compared, so every count is a number"
    if min(zeros, payloads, counts - zeros - payloads, ulps) < 0 or counts > record.case.output_layout.size:
        return "mismatch counts do not add up"
    if (payloads and absolute is not None) or (zeros + payloads and record.case.output_dtype != "f32"):
        return "only Float32 words have signed zeros and NaN payloads, and a NaN leaves no absolute deviation"
    if (first is not None) != (counts > 0) or (ulps > 0) != (counts > zeros):
        return "first mismatch and deviations must agree with the mismatch counts"
    if (absolute is None or relative is None) and not (absolute is relative and ulps > 0):
        return "absolute and relative deviations are both null or both numbers"
    if absolute is not None and relative is not None:
        if not (absolute >= 0 and relative >= 0) or not (absolute > 0) == (relative > 0) == (ulps > 0):
            return "deviations are 0 or more, and zero together"
        if (absolute == INFINITY) != (relative == INFINITY) or (relative > 2 and relative != INFINITY):
            return "a symmetric relative deviation is at most 2, or infinite with the absolute one"
    if first is not None and (
        first.expected == first.actual
        or len(first.coordinate) != len(record.case.output_layout.extents)
        or any(not 0 <= at < n for at, n in zip(first.coordinate, record.case.output_layout.extents, strict=True))
        or not all(0 <= word < 1 << 32 for word in (first.expected, first.actual))
    ):
        return "the first mismatch is no element of the output, or none"
    if not record.enveloped:
        if record.bound is not None or record.worst_ratio is not None or record.tolerance != Tolerance():
            return "words were compared, so there is no bound and the tolerance is zero"
        allowed = sum(count for fact, count in record.accepted.items() if fact != "repeatability")
        if record.outcome is Outcome.PASSED and counts != allowed:
            return "an exact pass has no mismatch but those a declared fact accepts"
        return None
    if (record.bound is None) != (record.worst_ratio is None):
        return "bound and worst ratio go together"
    if record.tolerance != Tolerance(absolute=record.bound or 0.0):
        return "the tolerance of an envelope is its bound"
    if record.bound is None or record.worst_ratio is None:
        return None if record.case.output_layout.size == 0 else "an envelope that decided has a bound"
    if not 0 <= record.bound < INFINITY or not record.worst_ratio >= 0:
        return "bound and worst ratio are 0 or more"
    if record.outcome is Outcome.PASSED and record.worst_ratio > 1:
        return "a passed envelope has a worst ratio of at most 1"
    return None
