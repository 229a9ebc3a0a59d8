"""Tolerance policies: by which rule a record was judged. Names are versioned; a header carries the definitions used."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pytest_kernelverify.evidence.record import EvidenceStage
from pytest_kernelverify.operations.plan import PlanKey, VerificationClass

__all__ = ["POLICIES", "policy_name"]

_CANONICAL_NAN = "every NaN word becomes 0x7FC00000 on both sides first"
_FLOOR = "half the smallest subnormal (the smallest normal where subnormals may be flushed)"
_TERMS = "per element, S = sum of |terms| (of K factors, |product| with K - 1 for K)"

POLICIES: Mapping[str, str] = MappingProxyType(
    {
        "bit-exact-v1": "words are equal, NaN payloads and the sign of zero included",
        "arithmetic-exact-v1": f"words are equal, the sign of zero included; {_CANONICAL_NAN}",
        "structural-exact-v1": f"exactly representable witnesses: words are equal; {_CANONICAL_NAN}",
        "analytic-exact-v1": f"words equal the independently stated answer; {_CANONICAL_NAN}",
        "integer-exact-v1": "integer results are equal",
        "stage-one-two-path-gamma-v1": (
            "|got - exact| <= 2 (gamma_K(u_acc) S [+ u_out (|exact| + gamma_K(u_acc) S) where the accumulator is wider"
            f" than the output]) + {_FLOOR}; {_TERMS}"
        ),
        "stage-two-single-path-gamma-v1": (
            f"|got - exact| <= gamma_K(2^-24) S + {_FLOOR}; {_TERMS}; the certified oracle's word lies within its own"
            " Float64 envelope of exact"
        ),
        "expected-error-v1": "both sides report the same error kind and leave the output untouched",
        "deferred-v1": "not run; the diagnostic is the reason",
    }
)


def policy_name(
    stage: EvidenceStage, plan: PlanKey | None, verification_class: VerificationClass, *, error: bool = False
) -> str:
    """The policy a case of this stage, plan and class is judged by."""
    if verification_class is VerificationClass.DEFERRED:
        return "deferred-v1"
    if error:
        return "expected-error-v1"
    if verification_class is VerificationClass.NUMERICAL:
        if plan is not None and plan.output == "i32":
            return "integer-exact-v1"
        return "stage-one-two-path-gamma-v1" if stage is EvidenceStage.ORACLE else "stage-two-single-path-gamma-v1"
    return {
        VerificationClass.BIT_EXACT: "bit-exact-v1",
        VerificationClass.EXACT_ARITHMETIC: "arithmetic-exact-v1",
        VerificationClass.STRUCTURAL: "bit-exact-v1" if plan is None else "structural-exact-v1",
        VerificationClass.ANALYTIC: "analytic-exact-v1",
    }[verification_class]
