"""The one Run of this process, and what must agree between two processes that share a report."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from pytest_kernelverify.catalog.classify import Obligation, obligations
from pytest_kernelverify.catalog.load import verification_profile
from pytest_kernelverify.catalog.profile import VerificationProfile, VerificationStage
from pytest_kernelverify.session.settings import settings_key

if TYPE_CHECKING:
    from pytest_kernelverify.stages.run import Run

__all__ = ["fingerprint", "owed_in", "profile_key", "refusal", "run_of"]

log = logging.getLogger("kernelverify")

profile_key = pytest.StashKey[VerificationProfile]()
_run_key = pytest.StashKey["Run | str"]()


def owed_in(config: pytest.Config, stage: VerificationStage) -> tuple[Obligation, ...]:
    """What the oracle or the target owes; nothing is opened that only a run needs."""
    from pytest_kernelverify.stages.target import ORACLE_PROFILE

    target = stage is VerificationStage.TARGET
    return obligations(config.stash[profile_key] if target else verification_profile(ORACLE_PROFILE), stage)


def run_of(config: pytest.Config) -> Run:
    """The Run of this process, made and checked when it is first asked for.

    RuntimeError, the same each time, where the target cannot run here.
    """
    run = config.stash.get(_run_key, None)
    if run is None:
        run = config.stash[_run_key] = _open(config)
    if isinstance(run, str):
        raise RuntimeError(run)
    return run


def _open(config: pytest.Config) -> Run | str:
    from pytest_kernelverify.stages.run import Run

    profile, settings = config.stash[profile_key], config.stash[settings_key]
    log.info("opening %s, oracle included", profile.profile_id)
    run = Run(profile, seed=settings.seed)
    try:
        run.preflight()
    except RuntimeError as error:
        return str(error)
    return run


def fingerprint(run: Run) -> dict[str, str]:
    """Digests of what two processes must have in common before their records may stand in one report."""
    from pytest_kernelverify.evidence.canonical import digest_of
    from pytest_kernelverify.evidence.record import EvidenceStage

    owed = run.obligations()
    oracles = dict.fromkeys(obligation.kernel for obligation in owed if obligation.stage is EvidenceStage.ORACLE)
    profiles = [
        [profile.profile_id, profile.carrier, profile.provider, profile.layouts, profile.error_channel]
        for profile in (run.oracle, run.target)
    ]
    plans = [
        [o.stage.value, o.plan.text if o.plan else o.subject, o.verification_class.value, o.kernel.kernel_id, o.reason]
        for o in owed
    ]
    return {
        "profile": digest_of([profiles, plans]),
        "oracle receipt": digest_of([run.receipt(EvidenceStage.ORACLE, kernel).digest for kernel in oracles]),
        "oracle reference": run.oracle_reference.digest,
        "arithmetic facts": digest_of([run.oracle.facts.to_json(), run.target.facts.to_json()]),
    }


def refusal(config: pytest.Config) -> str | None:
    """Why this worker may not add to its controller's report; None in the process that writes it."""
    sent = getattr(config, "workerinput", {}).get("kernelverify")
    if not sent or not sent.get("fingerprint"):
        return None
    mine = fingerprint(run_of(config))
    differing = [name for name, digest in sent["fingerprint"].items() if mine.get(name) != digest]
    if not differing:
        return None
    return (
        f"this worker's {' and '.join(differing)} differ from the controller's; install the same pytest-kernelverify"
        " for both"
    )
