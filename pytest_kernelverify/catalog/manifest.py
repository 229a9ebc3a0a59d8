"""One profile as its TOML file states it: parsed, typed and checked against the operations table."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kernelverify.catalog.check import check_manifest
from pytest_kernelverify.catalog.profile import (
    ClassificationDisposition,
    PlanClassification,
    ProfileManifest,
    SubjectClassification,
    VerificationProfile,
    VerificationStage,
)
from pytest_kernelverify.operations.facts import ArithmeticFacts
from pytest_kernelverify.operations.plan import LogicalKernel, PlanKey, VerificationClass

if TYPE_CHECKING:
    from pytest_kernelverify.catalog.file_format import DeferralTable, ProfileTable

__all__ = ["ProfileManifest", "read_manifest"]


def read_manifest(path: Path) -> ProfileManifest:
    """Parse one profile file; ValueError naming the file, the field and what was expected."""
    from pytest_kernelverify.catalog.file_format import parse

    try:
        manifest = _manifest(parse(tomllib.loads(path.read_text(encoding="utf-8"))))
        if manifest.profile.profile_id != path.stem:
            raise ValueError(
                f"profile_id is {manifest.profile.profile_id!r}; it must be the file's name, {path.stem!r}"
            )
        check_manifest(manifest)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    return manifest


def _manifest(table: ProfileTable) -> ProfileManifest:
    profile = VerificationProfile(
        table.profile_id,
        table.carrier,
        table.provider,
        tuple(_stage(text) for text in table.stages),
        ArithmeticFacts.from_json(table.facts),
        table.layouts,
        table.error_channel,
    )
    kernels, plans = [], []
    for entry in table.kernels:
        kernel = LogicalKernel(table.profile_id, entry.operation, entry.kernel_id, entry.variant)
        kernels.append(kernel)
        for text, value in entry.plans.items():
            plans.append(_plan_classification(kernel, PlanKey.from_text(text), value))
    by_id = {kernel.kernel_id: kernel for kernel in kernels}
    subjects = []
    for name, subject in table.subjects.items():
        where = f"subjects.{name}"
        if subject.kernel not in by_id:
            raise ValueError(f"{where}: unknown kernel {subject.kernel!r}")
        classes = tuple(_verification_class(text, where) for text in subject.classes)
        subjects.append(SubjectClassification(by_id[subject.kernel], name, subject.kind, classes))
    return ProfileManifest(profile, tuple(kernels), tuple(plans), tuple(subjects))


def _stage(text: str) -> VerificationStage:
    legal = [member.value for member in VerificationStage]
    if text not in legal:
        raise ValueError(f"stages: unknown role {text!r}; expected one of {', '.join(legal)}")
    return VerificationStage(text)


def _plan_classification(kernel: LogicalKernel, plan: PlanKey, value: list[str] | DeferralTable) -> PlanClassification:
    if isinstance(value, list):
        classes = tuple(_verification_class(text, plan.text) for text in value)
        return PlanClassification(kernel, plan, classes, ClassificationDisposition.ACTIVE)
    return PlanClassification(kernel, plan, (), ClassificationDisposition.DEFERRED, value.deferred)


def _verification_class(text: str, where: str) -> VerificationClass:
    legal = [member.value for member in VerificationClass if member is not VerificationClass.DEFERRED]
    if text not in legal:
        raise ValueError(f"{where}: unknown class {text!r}; expected one of {', '.join(legal)}")
    return VerificationClass(text)
