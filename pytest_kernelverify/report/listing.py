"""Profiles as text: what is installed, and what one profile's kernels owe."""

from __future__ import annotations

from pytest_kernelverify.catalog.load import manifest_of, verification_profile, verification_profiles
from pytest_kernelverify.catalog.profile import ClassificationDisposition

__all__ = ["list_profiles", "show_profile"]


def list_profiles() -> str:
    """One row for each installed profile."""
    rows = [("profile", "roles", "carrier", "provider", "kernels", "plans", "deferred")]
    for profile in verification_profiles():
        manifest = manifest_of(profile)
        deferred = sum(row.disposition is ClassificationDisposition.DEFERRED for row in manifest.plans)
        roles = ", ".join(stage.value for stage in profile.stages)
        counts = (str(len(manifest.kernels)), str(len(manifest.plans) - deferred), str(deferred))
        rows.append((profile.profile_id, roles, profile.carrier, profile.provider, *counts))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def show_profile(profile_id: str) -> str:
    """A profile's facts, kernels, plans with their classes or reasons, and subjects; ValueError for an unknown one."""
    profile = verification_profile(profile_id)
    manifest = manifest_of(profile)
    lines = [
        f"{profile.profile_id}: {', '.join(stage.value for stage in profile.stages)};"
        f" carrier {profile.carrier}, provider {profile.provider}, layouts {profile.layouts}",
        "facts: " + ", ".join(f"{name} {value}" for name, value in profile.facts.to_json().items()),
    ]
    for kernel in manifest.kernels:
        lines += ["", f"{kernel.kernel_id}  {kernel.variant}"]
        for row in manifest.plans:
            if row.kernel == kernel:
                classes = ", ".join(member.value for member in row.classes) or f"deferred: {row.reason}"
                lines.append(f"  {row.plan.text}  {classes}")
        for subject in manifest.subjects:
            if subject.kernel == kernel:
                classes = ", ".join(member.value for member in subject.classes)
                lines.append(f"  {subject.subject} ({subject.kind} subject)  {classes}")
    return "\n".join(lines)
