"""``kernelverify profiles`` and ``kernelverify init``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_kernelverify import cli
from pytest_kernelverify.catalog.load import manifest_of, verification_profile, verification_profiles


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(*words: Any) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["kernelverify", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    return run


def test_profiles_lists_every_installed_profile(command: Any) -> None:
    code, out, _ = command("profiles")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[1:]] == [p.profile_id for p in verification_profiles()]


@pytest.mark.parametrize("profile_id", ["cpu-compiled", "metal-tilelang"])
def test_profiles_show_names_every_kernel_plan_class_and_reason(profile_id: str, command: Any) -> None:
    code, out, _ = command("profiles", "show", profile_id)
    manifest = manifest_of(verification_profile(profile_id))
    assert code == 0
    for kernel in manifest.kernels:
        assert f"\n{kernel.kernel_id}  {kernel.variant}\n" in out
    for row in manifest.plans:
        classes = ", ".join(member.value for member in row.classes) or f"deferred: {row.reason}"
        assert f"  {row.plan.text}  {classes}\n" in out + "\n"
    for subject in manifest.subjects:
        assert f"  {subject.subject} ({subject.kind} subject)  " in out


def test_an_unknown_profile_is_one_line_that_lists_the_known_ones(command: Any) -> None:
    code, out, err = command("profiles", "show", "nope")
    assert (code, out) == (2, "")
    assert err == "kernelverify: unknown profile 'nope'; known profiles: cpu-compiled, metal-tilelang\n"


def test_init_writes_the_two_function_module_and_refuses_to_overwrite_it(command: Any, tmp_path: Path) -> None:
    code, out, _ = command("init", tmp_path)
    path = tmp_path / "test_kernels.py"
    assert code == 0
    assert f"pytest {path} --kv-target=cpu-compiled" in out
    source = path.read_text()
    assert "def test_oracle(kv_case, kv_oracle):\n    kv_case.check(kv_oracle)\n" in source
    assert "def test_target(kv_case, kv_target):\n    kv_case.check(kv_target)\n" in source
    path.write_text("mine")
    code, _, err = command("init", tmp_path)
    assert (code, err) == (2, f"kernelverify: {path} exists already; it is left as it is\n")
    assert path.read_text() == "mine"


def test_init_into_a_missing_folder_says_so(command: Any, tmp_path: Path) -> None:
    code, _, err = command("init", tmp_path / "no")
    assert (code, err) == (2, f"kernelverify: there is no folder {tmp_path / 'no'}; create it first\n")


def test_version_is_the_packages(command: Any) -> None:
    assert command("--version")[1] == "kernelverify, version 0.1.0\n"
