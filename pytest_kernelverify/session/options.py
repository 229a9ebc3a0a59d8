"""The options, and whether a run concerns us at all; cheap, because every pytest run imports it."""

from __future__ import annotations

import pytest

from pytest_kernelverify.session import PACKAGE, SUITE

__all__ = ["add_options", "configure", "list_if_asked"]


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("kernelverify", "kernel verification")
    group.addoption("--kv-target", metavar="NAME", help="verify the target profile NAME; see --kv-list")
    group.addoption("--kv-report", metavar="PATH", help="write the evidence as one schema-v3 JSONL report")
    group.addoption("--kv-html", metavar="PATH", help="write the same evidence as one HTML page to look at")
    group.addoption("--kv-seed", metavar="N", help="seed of the generated witnesses (default: 0)")
    group.addoption(
        "--kv-list", action="store_true", help="list the plans of the target with their classes and reasons, and exit"
    )
    parser.addini("kv_target", "target profile of the tests that request kv_case", type="string", default="")
    parser.addini("kv_report", "path of the report, relative to this file", type="string", default="")
    parser.addini("kv_html", "path of the HTML page, relative to this file", type="string", default="")
    parser.addini("kv_seed", "seed of the generated witnesses", type="string", default="")


def configure(config: pytest.Config) -> None:
    """Called by ``pytest_configure``: the rest is loaded only for a run that concerns us."""
    config.addinivalue_line(
        "markers", "kv(operation, stage, cls, plan): a kernel verification item, e.g. -m \"kv(operation='matmul')\""
    )
    if _concerned(config):
        from pytest_kernelverify.session import start

        start.start(config)


def _concerned(config: pytest.Config) -> bool:
    names = ("kv_target", "kv_report", "kv_html", "kv_seed")
    return (
        any(config.getoption(name) is not None or config.getini(name) for name in names)
        or "kernelverify" in getattr(config, "workerinput", ())
        or config.rootpath == PACKAGE.parent
        or any(SUITE.name in str(argument) for argument in config.args)
    )


def list_if_asked(config: pytest.Config) -> int | None:
    """``--kv-list``: print instead of running. Called by ``pytest_cmdline_main``."""
    if not config.getoption("kv_list"):
        return None
    from pytest_kernelverify.session import listing

    return listing.print_list(config)
