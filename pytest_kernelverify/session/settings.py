"""What was asked for, on the command line, in the ini file or by an xdist controller."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_kernelverify.session.anchor import suite_arguments

__all__ = ["Settings", "read_settings", "settings_key", "target_name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The resolved options. ``typed``: the target stands on the command line itself, not in an ini file or addopts.

    ``suite``: the arguments that select the suite or parts of it, where the run consists of nothing else.
    """

    target: str | None = None
    report: Path | None = None
    html: Path | None = None
    seed: int = 0
    typed: bool = False
    suite: tuple[str, ...] = ()
    distribution: str = "no"

    def to_worker(self) -> dict[str, Any]:
        """As builtins; only the controller writes the report."""
        return {**asdict(self), "report": None, "html": None, "suite": list(self.suite)}

    @classmethod
    def of_worker(cls, sent: dict[str, Any]) -> Settings:
        return cls(**{**sent, "suite": tuple(sent["suite"])})


settings_key = pytest.StashKey[Settings]()


def read_settings(config: pytest.Config) -> Settings:
    """UsageError, naming the option, for a value that cannot be used."""
    if hasattr(config, "workerinput"):
        sent = config.workerinput.get("kernelverify")
        return Settings.of_worker(sent["settings"]) if sent else Settings()
    for option, what in (("target", "a profile's name"), ("report", "a path"), ("html", "a path")):
        if config.getoption(f"kv_{option}") == "":
            raise pytest.UsageError(f"--kv-{option}: the value is empty; expected {what}")
    target = target_name(config)
    typed = any(str(arg).partition("=")[0] == "--kv-target" for arg in config.invocation_params.args)
    for option in ("report", "html"):
        if config.getoption(f"kv_{option}") and target is None:
            raise pytest.UsageError(f"--kv-{option}: there is nothing to report without a target; add --kv-target=NAME")
    report, html = (_path(config, what) if target is not None else None for what in ("report", "html"))
    if report is not None and report == html:
        raise pytest.UsageError(f"--kv-html: {html} is the report's path too; name another file")
    return Settings(
        target=target,
        report=report,
        html=html,
        seed=_seed(config),
        typed=typed,
        suite=suite_arguments(config, typed),
        distribution=str(config.getoption("dist", "no")),
    )


def target_name(config: pytest.Config) -> str | None:
    return config.getoption("kv_target") or config.getini("kv_target") or None


def _path(config: pytest.Config, what: str) -> Path | None:
    option, ini = config.getoption(f"kv_{what}"), config.getini(f"kv_{what}")
    if not (option or ini):
        return None
    name = f"--kv-{what}" if option else f"kv_{what}"
    beside = config.invocation_params.dir if option or config.inipath is None else config.inipath.parent
    path = Path(os.path.abspath(beside / (option or ini)))
    from pytest_kernelverify.report.jsonl import check_destination

    try:
        check_destination(path)
    except OSError as error:
        raise pytest.UsageError(f"{name}: {error}") from None
    return path


def _seed(config: pytest.Config) -> int:
    option, ini = config.getoption("kv_seed"), config.getini("kv_seed")
    if option is None and not ini:
        return 0
    text = option if option is not None else ini
    if not (text.isascii() and text.isdigit() and len(text) <= 19) or int(text) >= 1 << 63:
        name = "--kv-seed" if option is not None else "kv_seed"
        raise pytest.UsageError(f"{name}: {text!r} is not a seed; expected an integer from 0 to 2^63-1")
    return int(text)
