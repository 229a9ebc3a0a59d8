"""pytest-kernelverify: evidence that a kernel computes what it claims, or a named gap. See ``docs/api.md``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names again, for type checkers: tests hold the two lists equal
    from pytest_kernelverify.carriers.base import KernelError as KernelError
    from pytest_kernelverify.cases.analytic import AnalyticCase as AnalyticCase
    from pytest_kernelverify.cases.analytic import analytic_cases as analytic_cases
    from pytest_kernelverify.catalog.classify import classify_profile_plans as classify_profile_plans
    from pytest_kernelverify.catalog.load import kernel_manifest as kernel_manifest
    from pytest_kernelverify.catalog.load import verification_profile as verification_profile
    from pytest_kernelverify.catalog.load import verification_profiles as verification_profiles
    from pytest_kernelverify.catalog.profile import ClassificationDisposition as ClassificationDisposition
    from pytest_kernelverify.catalog.profile import PlanClassification as PlanClassification
    from pytest_kernelverify.catalog.profile import VerificationProfile as VerificationProfile
    from pytest_kernelverify.catalog.profile import VerificationStage as VerificationStage
    from pytest_kernelverify.evidence.certificate import OracleCertificate as OracleCertificate
    from pytest_kernelverify.evidence.receipt import Receipt as Receipt
    from pytest_kernelverify.evidence.record import EvidenceRecord as EvidenceRecord
    from pytest_kernelverify.evidence.record import EvidenceStage as EvidenceStage
    from pytest_kernelverify.evidence.record import Outcome as Outcome
    from pytest_kernelverify.evidence.stage_report import OracleStageResult as OracleStageResult
    from pytest_kernelverify.evidence.stage_report import StageReport as StageReport
    from pytest_kernelverify.numerics.bits import float32_bits as float32_bits
    from pytest_kernelverify.numerics.bits import float32_ulp_distance as float32_ulp_distance
    from pytest_kernelverify.numerics.bounds import gamma_bound as gamma_bound
    from pytest_kernelverify.numerics.comparison import Comparison as Comparison
    from pytest_kernelverify.numerics.comparison import Deviations as Deviations
    from pytest_kernelverify.numerics.comparison import Tolerance as Tolerance
    from pytest_kernelverify.numerics.comparison import compare_float32 as compare_float32
    from pytest_kernelverify.numerics.generators import adversarial_float32_payload as adversarial_float32_payload
    from pytest_kernelverify.numerics.generators import arbitrary_float32_payload as arbitrary_float32_payload
    from pytest_kernelverify.numerics.generators import exact_structural_payload as exact_structural_payload
    from pytest_kernelverify.numerics.generators import wide_exponent_float32_payload as wide_exponent_float32_payload
    from pytest_kernelverify.numerics.layout import Layout as Layout
    from pytest_kernelverify.numerics.payloads import EncodedFloat32Payload as EncodedFloat32Payload
    from pytest_kernelverify.numerics.payloads import EncodedInputs as EncodedInputs
    from pytest_kernelverify.numerics.payloads import EncodedInt32Payload as EncodedInt32Payload
    from pytest_kernelverify.numerics.payloads import ExactStructuralPayload as ExactStructuralPayload
    from pytest_kernelverify.operations.facts import ArithmeticFacts as ArithmeticFacts
    from pytest_kernelverify.operations.plan import LogicalKernel as LogicalKernel
    from pytest_kernelverify.operations.plan import OperandKey as OperandKey
    from pytest_kernelverify.operations.plan import OperandRole as OperandRole
    from pytest_kernelverify.operations.plan import PlanKey as PlanKey
    from pytest_kernelverify.operations.plan import VerificationClass as VerificationClass
    from pytest_kernelverify.report.report import VerificationReport as VerificationReport
    from pytest_kernelverify.stages.oracle import run_oracle_stage as run_oracle_stage
    from pytest_kernelverify.stages.target import run_target_stage as run_target_stage
    from pytest_kernelverify.verify import verify_backend as verify_backend

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

__all__ = sorted(_HOME_OF)
__version__ = "0.1.0"


if not TYPE_CHECKING:  # else every name, spelt wrong or right, would be Any to a type checker

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
