"""Installed and not used, the plugin is silent and costs next to nothing."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("numpy", "cffi", "torch", "tilelang", "triton", "z3", "click", "pydantic", "xdist")


def test_importing_the_plugin_imports_nothing_heavy():
    code = f"import sys, pytest_kernelverify.plugin; print([n for n in {HEAVY} if n in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_a_run_without_a_target_loads_nothing_of_the_core(plain):
    plain.conftest(
        """
        import sys

        def pytest_unconfigure():
            ours = sorted(name for name in sys.modules if name.startswith("pytest_kernelverify."))
            print("loaded:", ours, "numpy" in sys.modules)
        """
    )
    plain.pytester.makepyfile(test_own="def test_own(): pass")
    result = plain.run(fresh=True)
    assert result.ret == 0
    expected = [f"pytest_kernelverify.{name}" for name in ("hookspecs", "plugin", "session", "session.options")]
    result.stdout.fnmatch_lines([f"loaded: {str(expected).replace('[', '[[]')} False"])


def test_a_run_without_a_target_says_nothing(plain):
    plain.pytester.makepyfile(test_own="def test_own(): pass")
    result = plain.run("-v", "-p", "no:warnings")
    # Where Python lies and which plugins are installed is pytest's to say.
    own = [line for line in result.outlines if not line.startswith(("plugins:", "platform ", "rootdir:"))]
    assert not [line for line in own if "kernelverify" in line]


def test_the_marker_is_registered_for_strict_projects(plain):
    plain.pytester.makepyfile(test_own="import pytest\n@pytest.mark.kv(operation='add')\ndef test_own(): pass")
    assert plain.run("--strict-markers").ret == 0
    plain.run("--markers").stdout.fnmatch_lines(["@pytest.mark.kv(operation, stage, cls, plan): *"])


def test_the_options_stand_in_one_group_of_the_help(plain):
    plain.run("--help").stdout.fnmatch_lines(
        ["kernel verification:", "  --kv-target=NAME *", "  --kv-report=PATH *", "  --kv-seed=N *", "  --kv-list *"]
    )
