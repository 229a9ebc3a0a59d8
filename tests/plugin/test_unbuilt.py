"""`python -m pytest` in a checkout without a built extension says in one line how to build it."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from pytest_kernelverify.session import PACKAGE

# What `python -m pytest` does, without the import hook of an editable install, which would come before the folder.
RUN = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
sys.path.insert(0, ".")
import pytest
sys.exit(pytest.main())
"""


@pytest.fixture
def checkout(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / PACKAGE.name, ignore=shutil.ignore_patterns("_oracle*", "__pycache__"))
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\ntestpaths = ['tests']\n")
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_own.py").write_text("def test_own(): pass")
    (tests / "conftest.py").write_text(
        "from pytest_kernelverify.session.start import refuse_unbuilt_checkout as pytest_configure\n"
    )
    return tmp_path


@pytest.mark.parametrize("autoload", ["installed elsewhere", "not installed"])
def test_an_unbuilt_checkout_says_how_to_build_it(checkout, monkeypatch, autoload):
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    if autoload == "not installed":
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    done = subprocess.run([sys.executable, "-c", RUN], cwd=checkout, capture_output=True, text=True)
    assert done.returncode == 4
    assert done.stderr.splitlines() == [
        "ERROR: pytest_kernelverify is imported from this checkout, whose C extension is not built; build it with:"
        " python -m pip install -e '.[test]'",
        "",
    ]
