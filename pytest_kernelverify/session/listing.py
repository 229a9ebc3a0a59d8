"""``--kv-list``: what a target owes, without running any of it."""

from __future__ import annotations

import pytest

from pytest_kernelverify.catalog.classify import obligations
from pytest_kernelverify.catalog.load import verification_profiles
from pytest_kernelverify.catalog.profile import VerificationStage
from pytest_kernelverify.session.profiles import register_offered, resolve
from pytest_kernelverify.session.settings import target_name

__all__ = ["print_list"]


def print_list(config: pytest.Config) -> int:
    """Print plan, class and reason of everything the target owes; UsageError without a target."""
    register_offered(config)
    target = target_name(config)
    if target is None:
        known = ", ".join(p.profile_id for p in verification_profiles() if VerificationStage.TARGET in p.stages)
        raise pytest.UsageError(f"--kv-list: name the target to list with --kv-target=NAME; known targets: {known}")
    profile = resolve(target)
    try:
        owed = obligations(profile, VerificationStage.TARGET)
    except (RuntimeError, ValueError) as error:
        raise pytest.UsageError(f"--kv-list: {error}") from None
    names = [o.plan.text if o.plan is not None else str(o.subject) for o in owed]
    width = max(map(len, names))
    for obligation, name in zip(owed, names, strict=True):
        reason = f"  {obligation.reason}" if obligation.reason else ""
        print(f"{name:{width}}  {obligation.verification_class.value}{reason}")
    return 0
