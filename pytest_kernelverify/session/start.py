"""What is loaded once a target is named."""

from __future__ import annotations

import pytest

from pytest_kernelverify.session import profiles
from pytest_kernelverify.session.options import Settings
from pytest_kernelverify.session.runs import profile_key

__all__ = ["refuse_distribution", "start"]

_DISTRIBUTIONS = ("no", "load", "worksteal")


def start(config: pytest.Config, settings: Settings) -> None:
    """Called by ``pytest_configure``; UsageError for a target or a distribution that cannot be used."""
    assert settings.target is not None
    if settings.typed:
        refuse_distribution(settings.distribution)
    profiles.register_offered(config)
    config.stash[profile_key] = profiles.resolve(settings.target)

    from pytest_kernelverify.session.gate import Items

    config.pluginmanager.register(Items(), "kernelverify-items")
    if not hasattr(config, "workerinput"):
        from pytest_kernelverify.session.reporter import Reporter
        from pytest_kernelverify.session.terminal import Terminal
        from pytest_kernelverify.session.workers import Workers

        reporter = Reporter(config)
        config.pluginmanager.register(reporter, "kernelverify-reporter")
        config.pluginmanager.register(Terminal(config, reporter), "kernelverify-terminal")
        config.pluginmanager.register(Workers(config), "kernelverify-workers")


def refuse_distribution(distribution: str) -> None:
    """UsageError for the xdist schedulers that run an item twice or lose it when a kernel kills its worker."""
    if distribution not in _DISTRIBUTIONS:
        raise pytest.UsageError(
            f"--dist {distribution}: kernel tests are distributed by load or worksteal only; use --dist load"
        )
