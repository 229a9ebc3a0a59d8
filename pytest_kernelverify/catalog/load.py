"""Which profiles are installed: find their files, resolve a selector, hand out manifests."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pytest_kernelverify.catalog.check import check_against_oracle, check_manifest, same
from pytest_kernelverify.catalog.manifest import read_manifest
from pytest_kernelverify.catalog.profile import ORACLE_PROFILE, ProfileManifest, VerificationProfile
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
    manifests = {path.stem: read_manifest(path) for path in sorted(profiles_dir().glob("*.toml"))}
    if ORACLE_PROFILE not in manifests:
        raise RuntimeError(f"no {ORACLE_PROFILE}.toml in the profiles folder; reinstall pytest-kernelverify")
    for name, manifest in manifests.items():
        try:
            check_against_oracle(manifest, manifests[ORACLE_PROFILE])
        except ValueError as error:
            raise ValueError(f"{name}.toml: {error}") from None
    return manifests


def register_profiles(manifests: Iterable[ProfileManifest]) -> None:
    """Make profiles of one's own known in this process; ValueError for an id that another profile has."""
    known = _manifests()
    for manifest in manifests:
        profile_id = manifest.profile.profile_id
        if profile_id in known:
            if not same(manifest, known[profile_id]):
                raise ValueError(f"profile {profile_id!r} is there already and says something else; choose another id")
            continue
        try:
            check_manifest(manifest)
            check_against_oracle(manifest, known[ORACLE_PROFILE])
        except ValueError as error:
            raise ValueError(f"profile {profile_id!r}: {error}") from None
        known[profile_id] = manifest


def verification_profiles() -> tuple[VerificationProfile, ...]:
    """All installed profiles, sorted by ``profile_id``."""
    return tuple(manifest.profile for _, manifest in sorted(_manifests().items()))


def verification_profile(profile_id: str) -> VerificationProfile:
    """The installed profile of that exact id; TypeError for a non-string, ValueError for an unknown one."""
    if not isinstance(profile_id, str):
        raise TypeError(f"profile_id must be a string, not {type(profile_id).__name__}")
    name = str.__str__(profile_id)  # a subclass may compare as it likes; its characters do not
    manifest = _manifests().get(name)
    if manifest is None:
        raise ValueError(f"unknown profile {name!r}; known profiles: {', '.join(sorted(_manifests()))}")
    return manifest.profile


def manifest_of(profile: VerificationProfile) -> ProfileManifest:
    """The manifest of an installed profile; ValueError where the record is not the installed one."""
    if type(profile) is not VerificationProfile:
        raise TypeError(f"profile must be a VerificationProfile, not {type(profile).__name__}")
    installed = verification_profile(profile.profile_id)
    if not same(profile, installed):
        raise ValueError(f"profile {installed.profile_id!r} differs from the installed profile of that id")
    return _manifests()[installed.profile_id]


def kernel_manifest(profile: VerificationProfile) -> tuple[LogicalKernel, ...]:
    """The logical kernels of a profile, in its own order."""
    return manifest_of(profile).kernels
