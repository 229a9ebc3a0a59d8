"""pytest-kernelverify: evidence that a kernel computes what it claims, or a named gap. See ``docs/api.md``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "numerics.bits": "float32_bits float32_ulp_distance",
    "numerics.payloads": "EncodedFloat32Payload EncodedInputs EncodedInt32Payload ExactStructuralPayload",
    "numerics.generators": (
        "adversarial_float32_payload arbitrary_float32_payload exact_structural_payload wide_exponent_float32_payload"
    ),
    "numerics.comparison": "Comparison Deviations Tolerance compare_float32",
    "numerics.bounds": "gamma_bound",
    "numerics.layout": "Layout",
    "operations.facts": "ArithmeticFacts",
    "operations.plan": "LogicalKernel OperandKey OperandRole PlanKey VerificationClass",
    "evidence.record": "EvidenceRecord EvidenceStage Outcome",
    "evidence.certificate": "OracleCertificate",
    "evidence.receipt": "Receipt",
    "evidence.stage_report": "OracleStageResult StageReport",
    "carriers.base": "KernelError",
    "catalog.profile": "ClassificationDisposition PlanClassification VerificationProfile VerificationStage",
    "catalog.load": "kernel_manifest verification_profile verification_profiles",
    "catalog.classify": "classify_profile_plans",
    "cases.analytic": "AnalyticCase analytic_cases",
    "stages.oracle": "run_oracle_stage",
    "stages.target": "run_target_stage",
    "report.report": "VerificationReport",
    "verify": "verify_backend",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """PEP 562: a name is imported when it is first asked for, so that pytest's start pays for none of them."""
    try:
        home = _HOME_OF[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
