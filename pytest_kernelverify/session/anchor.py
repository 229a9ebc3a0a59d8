"""The suite under its fixed node id, wherever the environment lives and from whichever folder pytest is run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_kernelverify import suite
from pytest_kernelverify.session import PACKAGE, SUITE

__all__ = ["SUITE_ID", "aim_arguments", "suite_arguments", "suite_module", "suite_package"]

SUITE_ID = "pytest_kernelverify/suite.py"
SUITE_MODULE = "pytest_kernelverify.suite"

_aimed_key = pytest.StashKey[bool]()


def suite_arguments(config: pytest.Config, typed: bool) -> tuple[str, ...]:
    """The arguments, by node id, of a run of the suite and nothing else: no path beside a typed target is one."""
    if config.args_source is not config.ArgsSource.ARGS:
        return (SUITE_ID,) if typed else ()
    parts = [_suite_part(config, argument) for argument in config.args]
    return tuple(SUITE_ID + part for part in parts if part is not None) if None not in parts else ()


def aim_arguments(config: pytest.Config, suite_only: tuple[str, ...]) -> None:
    """Name the installed suite as a module: by its path pytest would collect every folder above it."""
    if suite_only:
        config.args = list(suite_only)
        config.args_source = config.ArgsSource.ARGS
    parts = [_suite_part(config, argument) for argument in config.args]
    if parts.count(None) == len(parts):
        return
    aimed = []
    for argument, part in zip(config.args, parts, strict=True):
        head, separator, rest = argument.partition("::")
        if part is not None:
            aimed.append(SUITE_MODULE + part)
        elif config.option.pyargs:
            aimed.append(argument)
        else:
            aimed.append(f"{os.path.abspath(config.invocation_params.dir / head)}{separator}{rest}")
    config.args = aimed
    config.option.pyargs = True
    config.stash[_aimed_key] = True


def _suite_part(config: pytest.Config, argument: str) -> str | None:
    """What follows the suite in an argument that names it: by its node id as pytest prints it, or by its path."""
    head, separator, rest = argument.partition("::")
    printed = os.path.abspath(config.invocation_params.dir / head)
    if config.option.pyargs and head == SUITE_MODULE:
        return separator + rest
    if head == SUITE_ID or printed in (str(config.rootpath / SUITE_ID), str(SUITE)):
        return separator + rest
    return None


class SuitePackage(pytest.Collector):
    """The package holds the suite and nothing else. As a pytest.Package it would load every conftest.py above it."""

    def collect(self) -> list[pytest.Collector]:
        return [suite_module(SUITE, self)]


def suite_package(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Called by ``pytest_collect_directory`` for a folder of the package's name."""
    if path != PACKAGE or not parent.config.stash.get(_aimed_key, False):
        return None
    package: SuitePackage = SuitePackage.from_parent(parent, name=path.name, path=path, nodeid=path.name)
    return package


def suite_module(path: Path, parent: pytest.Collector) -> pytest.Module:
    """Called by ``pytest_pycollect_makemodule`` for the suite's own file."""
    module: pytest.Module = pytest.Module.from_parent(parent, path=path, nodeid=SUITE_ID)
    module.obj = suite  # pytest would import it by path, and put site-packages first on sys.path to do so
    return module
