"""From the name of a target to its profile, the profiles of conftests and plugins included."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_kernelverify.catalog.load import register_profiles, verification_profile, verification_profiles
from pytest_kernelverify.catalog.manifest import ProfileManifest
from pytest_kernelverify.catalog.profile import VerificationProfile, VerificationStage

__all__ = ["conftest_ids_key", "register_offered", "resolve"]

HOOK = "pytest_kernelverify_profiles"

conftest_ids_key = pytest.StashKey[frozenset[str]]()


def register_offered(config: pytest.Config) -> None:
    """Make known what conftests and plugins offer, and remember which ids come from a conftest."""
    plugins = config.pluginmanager.get_plugins()
    conftests = {plugin for plugin in plugins if Path(getattr(plugin, "__file__", None) or "").name == "conftest.py"}
    installed = _offered(config, without=conftests)
    own = _offered(config, without=plugins - conftests)
    config.stash[conftest_ids_key] = frozenset(manifest.profile.profile_id for manifest in own)
    try:
        register_profiles([*installed, *own])
    except ValueError as error:
        raise pytest.UsageError(f"{HOOK}: {error}") from None


def _offered(config: pytest.Config, *, without: Iterable[object]) -> list[ProfileManifest]:
    hook = config.pluginmanager.subset_hook_caller(HOOK, remove_plugins=without)
    offered = [manifest for found in hook(config=config) for manifest in found]
    for manifest in offered:
        if not isinstance(manifest, ProfileManifest):
            raise pytest.UsageError(
                f"{HOOK}: a {type(manifest).__name__} is no profile; return what catalog.manifest.read_manifest gives"
            )
    return offered


def resolve(name: str) -> VerificationProfile:
    """UsageError, listing the known names, for an unknown profile or one that is no target."""
    targets = [profile for profile in verification_profiles() if VerificationStage.TARGET in profile.stages]
    known = ", ".join(profile.profile_id for profile in targets)
    try:
        profile = verification_profile(name)
    except ValueError:
        raise pytest.UsageError(f"--kv-target: there is no profile {name!r}; known targets: {known}") from None
    if profile not in targets:
        roles = ", ".join(role.value for role in profile.stages)
        raise pytest.UsageError(f"--kv-target: profile {name!r} is no target (its roles: {roles}); targets: {known}")
    return profile
