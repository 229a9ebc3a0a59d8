"""What was asked for, on the command line or in the ini file; cheap to import, because every pytest run does."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

__all__ = [
    "SUITE_ID",
    "Settings",
    "add_options",
    "configure",
    "drop_unaimed",
    "list_if_asked",
    "settings_key",
    "suite_module",
    "unaimed_key",
]

SUITE_ID = "pytest_kernelverify/suite.py"
SUITE_MODULE = "pytest_kernelverify.suite"
SUITE_PATH = Path(__file__).parent.parent / "suite.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The resolved options. ``typed``: the target stands on the command line itself, not in an ini file or addopts.

    ``suite``: the arguments that select the suite or parts of it, where the run consists of nothing else.
    """

    target: str | None = None
    report: Path | None = None
    seed: int = 0
    typed: bool = False
    suite: tuple[str, ...] = ()
    distribution: str = "no"


settings_key = pytest.StashKey[Settings]()
aimed_key = pytest.StashKey[bool]()
unaimed_key = pytest.StashKey[bool]()


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("kernelverify", "kernel verification")
    group.addoption("--kv-target", metavar="NAME", help="verify the target profile NAME; see --kv-list")
    group.addoption("--kv-report", metavar="PATH", help="write the evidence as one schema-v3 JSONL report")
    group.addoption("--kv-seed", metavar="N", help="seed of the generated witnesses (default: 0)")
    group.addoption(
        "--kv-list", action="store_true", help="list the plans of the target with their classes and reasons, and exit"
    )
    parser.addini("kv_target", "target profile of the tests that request kv_case", type="string", default="")
    parser.addini("kv_report", "path of the report, relative to this file", type="string", default="")
    parser.addini("kv_seed", "seed of the generated witnesses", type="string", default="")


def configure(config: pytest.Config) -> None:
    """Called by ``pytest_configure``: resolve the options, aim the arguments, and load the rest only for a target."""
    config.addinivalue_line(
        "markers", "kv(operation, stage, cls, plan): a kernel verification item, e.g. -m \"kv(operation='matmul')\""
    )
    settings = read_settings(config)
    config.stash[settings_key] = settings
    if settings.suite:
        config.args = list(settings.suite)
        config.args_source = config.ArgsSource.ARGS
    _aim_arguments(config)
    _refuse_unbuilt_checkout(config)
    if settings.target is not None:
        from pytest_kernelverify.session import start

        start.start(config, settings)


def read_settings(config: pytest.Config) -> Settings:
    """UsageError, naming the option, for a value that cannot be used."""
    sent = getattr(config, "workerinput", None)
    if sent is not None:
        return Settings(**_worker_fields(sent.get("kernelverify") or {}))
    target = _text(config, "kv_target")
    typed = any(str(arg).partition("=")[0] == "--kv-target" for arg in config.invocation_params.args)
    if config.getoption("kv_report") and target is None:
        raise pytest.UsageError("--kv-report: there is nothing to report without a target; add --kv-target=NAME")
    return Settings(
        target=target,
        report=_report_path(config) if target is not None else None,
        seed=_seed(config),
        typed=typed,
        suite=_suite_arguments(config, typed),
        distribution=str(config.getoption("dist", "no")),
    )


def _worker_fields(sent: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if name == "suite" else value
        for name, value in sent.items()
        if name in ("target", "seed", "typed", "suite", "distribution")
    }


def _text(config: pytest.Config, name: str) -> str | None:
    return config.getoption(name) or config.getini(name) or None


def _report_path(config: pytest.Config) -> Path | None:
    option, ini = config.getoption("kv_report"), config.getini("kv_report")
    if not (option or ini):
        return None
    name = "--kv-report" if option else "kv_report"
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
    if not (text.isascii() and text.isdigit()) or int(text) >= 1 << 63:
        name = "--kv-seed" if option is not None else "kv_seed"
        raise pytest.UsageError(f"{name}: {text!r} is not a seed; expected an integer from 0 to 2^63-1")
    return int(text)


def _suite_arguments(config: pytest.Config, typed: bool) -> tuple[str, ...]:
    if config.args_source is not config.ArgsSource.ARGS:
        return (SUITE_ID,) if typed else ()
    parts = [_suite_part(config, argument) for argument in config.args]
    return tuple(SUITE_ID + part for part in parts if part is not None) if None not in parts else ()


def _suite_part(config: pytest.Config, argument: str) -> str | None:
    """What follows the suite in an argument that names it: by its node id as pytest prints it, or by its path."""
    head, separator, rest = argument.partition("::")
    printed = os.path.abspath(config.invocation_params.dir / head)
    if head == SUITE_ID or printed in (str(config.rootpath / SUITE_ID), str(SUITE_PATH)):
        return separator + rest
    return None


def _aim_arguments(config: pytest.Config) -> None:
    """Name the installed suite as a module: by its path pytest would collect every folder above it."""
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
    config.stash[aimed_key] = True


class SuitePackage(pytest.Collector):
    """The package holds the suite and nothing else. As a pytest.Package it would load every conftest.py above it."""

    def collect(self) -> list[pytest.Collector]:
        module = suite_module(SUITE_PATH, self)
        assert module is not None
        return [module]


def suite_package(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Called by ``pytest_collect_directory``."""
    if path != SUITE_PATH.parent or not parent.config.stash.get(aimed_key, False):
        return None
    package: SuitePackage = SuitePackage.from_parent(parent, name=path.name, path=path, nodeid=path.name)
    return package


def suite_module(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """The suite under its fixed node id, wherever the environment lives. Called by ``pytest_pycollect_makemodule``."""
    if module_path.name != SUITE_PATH.name or not os.path.samefile(module_path, SUITE_PATH):
        return None
    from pytest_kernelverify import suite

    module: pytest.Module = pytest.Module.from_parent(parent, path=module_path, nodeid=SUITE_ID)
    module.obj = suite  # pytest would import it by path, and put site-packages first on sys.path to do so
    return module


def drop_unaimed(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the items that had no target to verify. Called by ``pytest_collection_modifyitems``."""
    if not config.stash.get(unaimed_key, False):
        return
    unaimed = [item for item in items if _case_param(item) is unaimed_key]
    items[:] = [item for item in items if _case_param(item) is not unaimed_key]
    config.hook.pytest_deselected(items=unaimed)


def _case_param(item: pytest.Item) -> object:
    callspec = getattr(item, "callspec", None)
    return None if callspec is None else callspec.params.get("kv_case")


def list_if_asked(config: pytest.Config) -> int | None:
    """``--kv-list``: print instead of running. Called by ``pytest_cmdline_main``."""
    if not config.getoption("kv_list"):
        return None
    from pytest_kernelverify.session import listing

    return listing.print_list(config, _text(config, "kv_target"))


def _refuse_unbuilt_checkout(config: pytest.Config) -> None:
    """``python -m pytest`` puts the checkout before an installed package; without its extension nothing can run."""
    package = SUITE_PATH.parent
    if package.parent != config.rootpath:
        return
    from importlib.util import find_spec

    if find_spec("pytest_kernelverify._oracle") is None:
        raise pytest.UsageError(
            f"{package.name} is imported from this checkout, whose C extension is not built; build it with:"
            " python -m pip install -e '.[test]'"
        )
