"""Bad input gets one line that names the option, says what was expected, and leaves nothing behind."""

from __future__ import annotations

import pytest


def _error(result):
    assert result.ret == 4
    lines = [line for line in result.errlines if line]
    assert len(lines) == 1
    return lines[0]


def test_an_unknown_target_is_refused_with_the_known_ones(project):
    error = _error(project.verify("--kv-target=no-such"))
    assert error == "ERROR: --kv-target: there is no profile 'no-such'; known targets: cpu-compiled, metal-tilelang"
    assert not list(project.path.glob("report*"))


def test_an_unknown_ini_target_is_refused_too(plain):
    plain.pytester.makeini("[pytest]\nkv_target = no-such\n")
    assert "no profile 'no-such'" in _error(plain.run())


def test_a_target_whose_runtime_is_missing_is_refused_before_anything_runs(plain):
    error = _error(plain.run("--kv-target=metal-tilelang", "--kv-report=report.jsonl"))
    assert error.startswith("ERROR: --kv-target: profile 'metal-tilelang' cannot run")
    assert not list(plain.path.glob("report*"))


def test_a_report_in_a_missing_folder_is_refused(plain):
    error = _error(plain.run("--kv-target=cpu-compiled", "--kv-report=missing/report.jsonl"))
    assert error.startswith("ERROR: --kv-report: ")
    assert str(plain.path / "missing") in error
    assert not (plain.path / "missing").exists()


def test_a_report_that_is_a_folder_is_refused(plain):
    plain.pytester.mkdir("folder")
    assert "--kv-report: " in _error(plain.run("--kv-target=cpu-compiled", "--kv-report=folder"))


def test_a_report_without_a_target_is_refused(plain):
    assert "add --kv-target=NAME" in _error(plain.run("--kv-report=report.jsonl"))


@pytest.mark.parametrize("option", ["target", "report", "html"])
def test_an_empty_value_is_refused(plain, option):
    assert f"--kv-{option}: the value is empty; expected" in _error(plain.run(f"--kv-{option}="))


@pytest.mark.parametrize("seed", ["x", "-1", "1.5", "", "9223372036854775808", "1" + "0" * 5000])
def test_a_seed_that_is_no_seed_is_refused(plain, seed):
    result = plain.run("--kv-target=cpu-compiled", f"--kv-seed={seed}")
    assert f"--kv-seed: {seed!r} is not a seed" in _error(result)


def test_a_seed_in_the_ini_file_is_checked_under_its_own_name(plain):
    plain.pytester.makeini("[pytest]\nkv_target = cpu-compiled\nkv_seed = x\n")
    assert "kv_seed: 'x' is not a seed" in _error(plain.run())


@pytest.mark.usefixtures("xdist")
@pytest.mark.parametrize("dist", ["loadscope", "loadfile", "loadgroup", "each"])
def test_a_scheduler_that_loses_items_is_refused(plain, dist):
    error = _error(plain.run("--kv-target=cpu-compiled", "-n2", "--dist", dist))
    assert error == f"ERROR: --dist {dist}: kernel tests are distributed by load or worksteal only; use --dist load"


@pytest.mark.usefixtures("xdist")
def test_a_scheduler_is_no_concern_of_ours_where_no_kernel_is_tested(plain):
    plain.pytester.makeini("[pytest]\nkv_target = cpu-compiled\n")
    plain.pytester.makepyfile(test_own="def test_own(): pass")
    assert plain.run("-n1", "--dist", "loadfile", fresh=True).ret == 0


def test_a_profile_that_is_no_target_is_refused(plain):
    plain.conftest(
        """
        import dataclasses
        from pytest_kernelverify.catalog import load
        from pytest_kernelverify.catalog.profile import VerificationStage

        def pytest_kernelverify_profiles(config):
            manifest = load.manifest_of(load.verification_profile("cpu-compiled"))
            rename = lambda kernel: dataclasses.replace(kernel, profile_id="judge")
            move = lambda row: dataclasses.replace(row, kernel=rename(row.kernel))
            profile = dataclasses.replace(manifest.profile, profile_id="judge", stages=(VerificationStage.ORACLE,))
            return [
                dataclasses.replace(
                    manifest,
                    profile=profile,
                    kernels=tuple(map(rename, manifest.kernels)),
                    plans=tuple(map(move, manifest.plans)),
                    subjects=tuple(map(move, manifest.subjects)),
                )
            ]
        """
    )
    error = _error(plain.run("--kv-target=judge", fresh=True))
    assert error.startswith("ERROR: --kv-target: profile 'judge' is no target (its roles: oracle)")


def test_a_changed_rounding_mode_is_refused_and_named(plain):
    plain.conftest(
        """
        import ctypes, ctypes.util
        libm = ctypes.CDLL(ctypes.util.find_library("m"))

        def pytest_configure():
            assert libm.fesetround(0x800) == 0  # upward, on x86
        """
    )
    result = plain.run("--kv-target=cpu-compiled", "-k", "recip", fresh=True)
    assert "rounding is upward" in _error(result)
