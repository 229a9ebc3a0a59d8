"""A whole run without pytest."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_kernelverify.catalog.load import verification_profile
from pytest_kernelverify.catalog.profile import VerificationProfile, VerificationStage
from pytest_kernelverify.report.assemble import assemble
from pytest_kernelverify.report.jsonl import check_destination, write_report
from pytest_kernelverify.report.report import VerificationReport
from pytest_kernelverify.stages.run import Run
from pytest_kernelverify.stages.walk import check_seed

__all__ = ["resolve_target", "verify_backend"]


def resolve_target(target: str) -> VerificationProfile:
    """The installed target profile of that id; TypeError for a non-string, ValueError where there is no such target."""
    if not isinstance(target, str):
        raise TypeError(f"target must be a profile id (a string), not {type(target).__name__}")
    profile = verification_profile(target)
    if VerificationStage.TARGET not in profile.stages:
        raise ValueError(f"profile {target!r} is no target; its roles: {', '.join(s.value for s in profile.stages)}")
    return profile


def verify_backend(target: str, *, output: str | os.PathLike[str] | None = None, seed: int = 0) -> VerificationReport:
    """Certify the cpu-compiled oracle, verify ``target`` behind its certificates, and return the whole report.

    ``output`` is replaced atomically with the report's canonical JSONL once the report is complete. TypeError and
    ValueError for a wrong or unknown target, OSError for an output that cannot be written, and RuntimeError where the
    target's runtime is missing, all before anything is compiled or run.
    """
    profile = resolve_target(target)
    if output is not None and not isinstance(output, (str, os.PathLike)):
        raise TypeError(f"output must be a path or None, not {type(output).__name__}")
    check_seed(seed)
    path = Path(output) if output is not None else None
    if path is not None:
        check_destination(path)
    run = Run(profile, seed=seed)
    run.preflight()
    report = assemble(run, run.obligations())
    if path is not None:
        write_report(report, path)
    return report
