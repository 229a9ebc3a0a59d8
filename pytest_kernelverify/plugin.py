"""The pytest plugin: hooks of one line each; what they do lives in ``session``, imported when it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_kernelverify.session import PACKAGE, SUITE, options, unaimed_key

if TYPE_CHECKING:
    from pytest_kernelverify.session.gate import KernelCase
    from pytest_kernelverify.stages.run import Run


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from pytest_kernelverify import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    options.configure(config)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    return options.list_if_asked(config)


@pytest.hookimpl(tryfirst=True)
def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if path.name != PACKAGE.name:
        return None
    from pytest_kernelverify.session import anchor

    return anchor.suite_package(path, parent)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if module_path.name != SUITE.name or not module_path.samefile(SUITE):
        return None
    from pytest_kernelverify.session import anchor

    return anchor.suite_module(module_path, parent)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kv_case" in metafunc.fixturenames:
        from pytest_kernelverify.session import collect

        collect.parametrize(metafunc)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if unaimed_key in config.stash:
        from pytest_kernelverify.session import collect

        collect.drop_unaimed(config, items)


@pytest.fixture
def kv_case(request: pytest.FixtureRequest) -> KernelCase:
    """One plan x class to verify; a test that requests it becomes one item for each."""
    from pytest_kernelverify.session import gate

    return gate.kernel_case(request)


@pytest.fixture
def kv_oracle(kv_case: KernelCase) -> Run:
    """Stage One: the oracle against Generic."""
    return kv_case.oracle_run()


@pytest.fixture
def kv_target(kv_case: KernelCase) -> Run:
    """Stage Two: the target, behind the certificates it needs; without them the test is blocked here."""
    return kv_case.target_run()
