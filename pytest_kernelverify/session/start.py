"""What is loaded for a run that concerns us."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from pytest_kernelverify.session import PACKAGE
from pytest_kernelverify.session.anchor import aim_arguments
from pytest_kernelverify.session.settings import Settings, read_settings, settings_key

__all__ = ["refuse_distribution", "refuse_unbuilt_checkout", "start"]

_DISTRIBUTIONS = ("no", "load", "worksteal")


def start(config: pytest.Config) -> None:
    """Called by ``pytest_configure``; UsageError for an option, a target or a distribution that cannot be used."""
    refuse_unbuilt_checkout(config)
    settings = read_settings(config)
    aim_arguments(config, settings.suite)
    if settings.target is not None:
        config.stash[settings_key] = settings
        _register(config, settings, settings.target)


def _register(config: pytest.Config, settings: Settings, target: str) -> None:
    from pytest_kernelverify.session import profiles
    from pytest_kernelverify.session.gate import Items
    from pytest_kernelverify.session.runs import profile_key

    if settings.typed:
        refuse_distribution(settings.distribution)
    profiles.register_offered(config)
    config.stash[profile_key] = profiles.resolve(target)
    items = Items()
    config.pluginmanager.register(items, "kernelverify-items")
    if not hasattr(config, "workerinput"):
        from pytest_kernelverify.session.reporter import Reporter
        from pytest_kernelverify.session.terminal import Terminal
        from pytest_kernelverify.session.workers import Workers

        reporter = Reporter(config, items.made)
        config.pluginmanager.register(reporter, "kernelverify-reporter")
        config.pluginmanager.register(Terminal(config, reporter), "kernelverify-terminal")
        config.pluginmanager.register(Workers(config), "kernelverify-workers")


def refuse_distribution(distribution: str) -> None:
    """UsageError for the xdist schedulers that run an item twice or lose it when a kernel kills its worker."""
    if distribution not in _DISTRIBUTIONS:
        raise pytest.UsageError(
            f"--dist {distribution}: kernel tests are distributed by load or worksteal only; use --dist load"
        )


def refuse_unbuilt_checkout(config: pytest.Config) -> None:
    """UsageError where pytest runs in a checkout from which nothing can run, installed elsewhere or not."""
    if config.rootpath == PACKAGE.parent and find_spec("pytest_kernelverify._oracle") is None:
        raise pytest.UsageError(
            f"{PACKAGE.name} is imported from this checkout, whose C extension is not built; build it with:"
            " python -m pip install -e '.[test]'"
        )
