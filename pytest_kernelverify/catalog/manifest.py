"""One profile as its TOML file states it: parsed, typed and checked against the operations table."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_kernelverify.catalog.profile import (
    ClassificationDisposition,
    PlanClassification,
    SubjectClassification,
    VerificationProfile,
    VerificationStage,
)
from pytest_kernelverify.operations.facts import ArithmeticFacts
from pytest_kernelverify.operations.plan import LogicalKernel, PlanKey, VerificationClass
from pytest_kernelverify.operations.table import OPERATIONS, SUBJECTS

__all__ = ["ProfileManifest", "read_manifest"]

# The kernel that movement subjects run on; it is no computational operation and has no plan.
MOVEMENT_OPERATION = "copy"


_PROFILE = {
    "profile_id": str,
    "carrier": str,
    "provider": str,
    "stages": list,
    "layouts": str,
    "error_channel": bool,
    "facts": dict,
    "subjects": dict,
    "kernels": list,
}
_KERNEL = {"operation": str, "kernel_id": str, "variant": str, "plans": dict}
_SUBJECT = {"kind": str, "kernel": str, "classes": list}
_DEFERRAL = {"deferred": str}
_TOML_NAMES = {str: "a string", list: "an array", bool: "true or false", dict: "a table"}
_PROFILE_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_VARIANT = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class ProfileManifest:
    """A profile with its logical kernels, the classification of each plan, and that of each subject."""

    profile: VerificationProfile
    kernels: tuple[LogicalKernel, ...]
    plans: tuple[PlanClassification, ...]
    subjects: tuple[SubjectClassification, ...]


def read_manifest(path: Path) -> ProfileManifest:
    """Parse one profile file; ValueError naming the file, the field and what was expected."""
    try:
        manifest = _manifest(tomllib.loads(path.read_text(encoding="utf-8")))
        if manifest.profile.profile_id != path.stem:
            raise ValueError(
                f"profile_id is {manifest.profile.profile_id!r}; it must be the file's name, {path.stem!r}"
            )
        check_manifest(manifest)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    return manifest


def _manifest(data: dict[str, Any]) -> ProfileManifest:
    _check_table(data, "the profile", _PROFILE)
    profile_id = data["profile_id"]
    profile = VerificationProfile(
        profile_id,
        data["carrier"],
        data["provider"],
        tuple(_stage(text) for text in data["stages"]),
        ArithmeticFacts.from_json(data["facts"]),
        data["layouts"],
        data["error_channel"],
    )
    kernels, plans = [], []
    for number, entry in enumerate(data["kernels"]):
        _check_table(entry, f"kernels[{number}]", _KERNEL, optional=("plans",))
        kernel = LogicalKernel(profile_id, entry["operation"], entry["kernel_id"], entry["variant"])
        kernels.append(kernel)
        for text, value in entry.get("plans", {}).items():
            plans.append(_plan_classification(kernel, PlanKey.from_text(text), value))
    by_id = {kernel.kernel_id: kernel for kernel in kernels}
    subjects = []
    for name, entry in data["subjects"].items():
        where = f"subjects.{name}"
        _check_table(entry, where, _SUBJECT)
        if entry["kernel"] not in by_id:
            raise ValueError(f"{where}: unknown kernel {entry['kernel']!r}")
        classes = tuple(_verification_class(text, where) for text in entry["classes"])
        subjects.append(SubjectClassification(by_id[entry["kernel"]], name, entry["kind"], classes))
    return ProfileManifest(profile, tuple(kernels), tuple(plans), tuple(subjects))


def _check_table(value: Any, where: str, fields: Mapping[str, type], optional: Iterable[str] = ()) -> None:
    """ValueError unless ``value`` is a table with these fields, each of its type, and no other."""
    if type(value) is not dict:
        raise ValueError(f"{where} is {value!r}; expected a table with {', '.join(fields)}")
    for name in value:
        if name not in fields:
            raise ValueError(f"{where}: unknown field {name!r}; expected {', '.join(fields)}")
    for name, kind in fields.items():
        if name not in value:
            if name not in optional:
                raise ValueError(f"{where}: missing field {name!r}")
        elif type(value[name]) is not kind:
            raise ValueError(f"{where}: {name} is {value[name]!r}; expected {_TOML_NAMES[kind]}")


def _stage(text: Any) -> VerificationStage:
    legal = [member.value for member in VerificationStage]
    if text not in legal:
        raise ValueError(f"stages: unknown role {text!r}; expected one of {', '.join(legal)}")
    return VerificationStage(text)


def _plan_classification(kernel: LogicalKernel, plan: PlanKey, value: Any) -> PlanClassification:
    if type(value) is list:
        classes = tuple(_verification_class(text, plan.text) for text in value)
        return PlanClassification(kernel, plan, classes, ClassificationDisposition.ACTIVE)
    if type(value) is not dict:
        raise ValueError(f'plan {plan.text} is {value!r}; expected an array of classes or {{ deferred = "reason" }}')
    _check_table(value, f"plan {plan.text}", _DEFERRAL)
    return PlanClassification(kernel, plan, (), ClassificationDisposition.DEFERRED, value["deferred"])


def _verification_class(text: Any, where: str) -> VerificationClass:
    legal = [member.value for member in VerificationClass if member is not VerificationClass.DEFERRED]
    if text not in legal:
        raise ValueError(f"{where}: unknown class {text!r}; expected one of {', '.join(legal)}")
    return VerificationClass(text)


def check_manifest(manifest: ProfileManifest) -> None:
    """ValueError unless kernels, plans, classes and subjects are complete, unique and known."""
    profile = manifest.profile
    if not _PROFILE_ID.fullmatch(profile.profile_id):
        raise ValueError(f"profile_id is {profile.profile_id!r}; expected lower-case words joined by '-'")
    if not profile.stages or len(set(profile.stages)) != len(profile.stages):
        raise ValueError("stages must name at least one role, each once")
    if profile.layouts not in ("nested", "one stride per axis"):
        raise ValueError(f"layouts is {profile.layouts!r}; expected 'nested' or 'one stride per axis'")
    for what, names in (
        ("kernel", [(kernel.kernel_id, kernel.variant) for kernel in manifest.kernels]),
        ("operation and variant", [(kernel.operation, kernel.variant) for kernel in manifest.kernels]),
        ("plan", [(row.plan.text, row.kernel.variant) for row in manifest.plans]),
        ("plan token", [(row.plan.token, row.kernel.variant) for row in manifest.plans]),
        ("subject", [row.subject for row in manifest.subjects]),
    ):
        _refuse_duplicates(what, names)
    _refuse_difference(
        "operation", {kernel.operation for kernel in manifest.kernels}, {*OPERATIONS, MOVEMENT_OPERATION}
    )
    _refuse_difference("subject", {row.subject for row in manifest.subjects}, set(SUBJECTS))
    planned = {row.kernel for row in manifest.plans}
    for kernel in manifest.kernels:
        if kernel.profile_id != profile.profile_id:
            raise ValueError(f"kernel {kernel.kernel_id} belongs to profile {kernel.profile_id!r}")
        if not _VARIANT.fullmatch(kernel.variant):
            raise ValueError(f"kernel {kernel.kernel_id}: variant is {kernel.variant!r}; expected a lower-case name")
        if kernel.operation != MOVEMENT_OPERATION and kernel not in planned:
            raise ValueError(f"kernel {kernel.kernel_id} has no plan")
    _check_plans(manifest)
    for row in manifest.subjects:
        if row.kind != SUBJECTS[row.subject].kind:
            raise ValueError(f"subject {row.subject} is {row.kind!r}; expected {SUBJECTS[row.subject].kind!r}")
        if row.kernel not in manifest.kernels:
            raise ValueError(f"subject {row.subject} names the unknown kernel {row.kernel.kernel_id!r}")
        if row.kind == "movement" and row.kernel.operation != MOVEMENT_OPERATION:
            raise ValueError(
                f"subject {row.subject} runs on {row.kernel.kernel_id}; expected a kernel of {MOVEMENT_OPERATION!r}"
            )
        expected = VerificationClass.BIT_EXACT if row.kind == "movement" else VerificationClass.STRUCTURAL
        if row.classes != (expected,):
            raise ValueError(f"subject {row.subject} must have exactly the class {expected.value}")


def _check_plans(manifest: ProfileManifest) -> None:
    order = list(VerificationClass)
    for row in manifest.plans:
        row.plan.validate()
        if row.kernel not in manifest.kernels:
            raise ValueError(f"plan {row.plan.text} names the unknown kernel {row.kernel.kernel_id!r}")
        if row.plan.operation != row.kernel.operation:
            raise ValueError(
                f"plan {row.plan.text} stands under kernel {row.kernel.kernel_id} of {row.kernel.operation!r}"
            )
        if len(row.plan.operands) != len(OPERATIONS[row.plan.operation].operands):
            raise ValueError(f"plan {row.plan.text} has {len(row.plan.operands)} operands, not the operation's")
        if row.disposition is ClassificationDisposition.DEFERRED:
            if row.classes or not (row.reason or "").strip():
                raise ValueError(f"plan {row.plan.text} is deferred: it needs a reason and no classes")
            continue
        if row.reason is not None or not row.classes:
            raise ValueError(f"plan {row.plan.text} is active: it needs at least one class and no reason")
        if VerificationClass.DEFERRED in row.classes or list(row.classes) != sorted(set(row.classes), key=order.index):
            raise ValueError(f"plan {row.plan.text}: classes must be active, unique and in their order")


def _refuse_duplicates(what: str, names: Iterable[object]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"duplicate {what} {name!r}")


def _refuse_difference(what: str, given: set[str], known: set[str]) -> None:
    missing, unknown = sorted(known - given), sorted(given - known)
    if missing or unknown:
        raise ValueError(f"{what}s do not match the operations table: missing={missing}, unknown={unknown}")
