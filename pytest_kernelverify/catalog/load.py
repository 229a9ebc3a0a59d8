"""Which profiles are installed: find their files, resolve a selector, hand out manifests."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pytest_kernelverify.catalog.manifest import ProfileManifest, check_manifest, read_manifest
from pytest_kernelverify.catalog.profile import VerificationProfile
from pytest_kernelverify.operations.plan import LogicalKernel

__all__ = [
    "kernel_manifest",
    "manifest_of",
    "profiles_dir",
    "register_profiles",
    "verification_profile",
    "verification_profiles",
]


def profiles_dir() -> Path:
    """The folder of profile files: inside an installed package, or beside it in an editable checkout."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "profiles", package.parent / "profiles"):
        if folder.is_dir():
            return folder
    raise RuntimeError(f"no profiles folder in or beside {package.name}; reinstall pytest-kernelverify")


@cache
def _manifests() -> dict[str, ProfileManifest]:
    manifests = [read_manifest(path) for path in sorted(profiles_dir().glob("*.toml"))]
    return {manifest.profile.profile_id: manifest for manifest in manifests}


def register_profiles(manifests: Iterable[ProfileManifest]) -> None:
    """Make profiles of one's own known in this process; ValueError for an id that another profile has."""
    for manifest in manifests:
        check_manifest(manifest)
        profile_id = manifest.profile.profile_id
        if _manifests().setdefault(profile_id, manifest) != manifest:
            raise ValueError(f"profile {profile_id!r} is there already and says something else; choose another id")


def verification_profiles() -> tuple[VerificationProfile, ...]:
    """All installed profiles, sorted by ``profile_id``."""
    return tuple(manifest.profile for _, manifest in sorted(_manifests().items()))


def verification_profile(profile_id: str) -> VerificationProfile:
    """The installed profile of that exact id; TypeError for a non-string, ValueError for an unknown one."""
    if not isinstance(profile_id, str):
        raise TypeError(f"profile_id must be a string, not {type(profile_id).__name__}")
    manifest = _manifests().get(profile_id)
    if manifest is None:
        raise ValueError(f"unknown profile {profile_id!r}; known profiles: {', '.join(sorted(_manifests()))}")
    return manifest.profile


def manifest_of(profile: VerificationProfile) -> ProfileManifest:
    """The manifest of an installed profile; ValueError where the record is not the installed one."""
    if not isinstance(profile, VerificationProfile):
        raise TypeError(f"profile must be a VerificationProfile, not {type(profile).__name__}")
    if verification_profile(profile.profile_id) != profile:
        raise ValueError(f"profile {profile.profile_id!r} differs from the installed profile of that id")
    return _manifests()[profile.profile_id]


def kernel_manifest(profile: VerificationProfile) -> tuple[LogicalKernel, ...]:
    """The logical kernels of a profile, in its own order."""
    return manifest_of(profile).kernels
