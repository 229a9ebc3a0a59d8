"""verify_backend: one explicit target, one report, one file replaced in one step."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from real_runs import CPU, EXP, METAL, NEG, NEG_INT, Around, Opened, flip_first, oracle_result, target_report

from pytest_kernelverify import Outcome, VerificationReport, VerificationStage, run_oracle_stage, verify_backend
from pytest_kernelverify import verify as verify_module
from pytest_kernelverify.carriers.base import ArithmeticStateError
from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.report import jsonl
from pytest_kernelverify.report.assemble import assemble
from pytest_kernelverify.stages import run as run_module
from pytest_kernelverify.stages.run import Run
from pytest_kernelverify.verify import resolve_target


@cache
def verified() -> VerificationReport:
    return verify_backend("cpu-compiled")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Nothing may be opened."""
    found = Opened()
    monkeypatch.setattr(run_module, "open_carrier", found)
    return found


def shorten(monkeypatch: pytest.MonkeyPatch, carrier: Around) -> None:
    """Let verify_backend select a few plans and subjects, on this carrier."""

    def some(run: Run, owed: Sequence[Obligation]) -> VerificationReport:
        return assemble(run, [o for o in owed if o.plan in (NEG, NEG_INT, EXP) or o.subject == "copy"])

    monkeypatch.setattr(verify_module, "assemble", some)
    monkeypatch.setattr(run_module, "open_carrier", Opened(carrier))


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Around:
    """A run of a few plans on a watched carrier."""
    carrier = Around()
    shorten(monkeypatch, carrier)
    return carrier


# Arguments -----------------------------------------------------------------------------------------------------------


def test_the_call_takes_a_target_and_keywords_and_no_compatibility_mode() -> None:
    parameters = signature(verify_backend).parameters
    assert list(parameters) == ["target", "output", "seed"]
    assert [p.kind.name for p in parameters.values()] == ["POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY", "KEYWORD_ONLY"]
    assert (parameters["output"].default, parameters["seed"].default) == (None, 0)


@pytest.mark.parametrize("target", [None, 3, b"cpu-compiled", CPU, Path("cpu-compiled"), ["cpu-compiled"]])
def test_a_target_of_an_invalid_type_shall_raise_type_error(target: Any, opened: Opened) -> None:
    with pytest.raises(TypeError, match=r"target must be a profile id \(a string\), not "):
        verify_backend(target)
    assert opened.asked == []


@pytest.mark.parametrize("output", [3, b"report.jsonl", ["report.jsonl"], True])
def test_an_output_of_an_invalid_type_shall_raise_type_error(output: Any, opened: Opened) -> None:
    with pytest.raises(TypeError, match="output must be a path or None, not "):
        verify_backend("cpu-compiled", output=output)
    assert opened.asked == []


@pytest.mark.parametrize("seed", ["0", 1.0, None, True])
def test_a_seed_that_is_no_integer_is_a_type_error(seed: Any, opened: Opened) -> None:
    with pytest.raises(TypeError, match="seed must be an integer, not "):
        verify_backend("cpu-compiled", seed=seed)
    assert opened.asked == []


@pytest.mark.parametrize("target", ["", "cpu", "cpu_compiled", "CPU-COMPILED", "metal"])
def test_an_unknown_target_shall_raise_value_error_before_anything_is_opened_or_written(
    target: str, opened: Opened, tmp_path: Path
) -> None:
    output = tmp_path / "report.jsonl"
    output.write_text("old")
    with pytest.raises(ValueError, match=r"unknown profile .*; known profiles: cpu-compiled, metal-tilelang"):
        verify_backend(target, output=output)
    assert opened.asked == []
    assert output.read_text() == "old"


def test_an_oracle_used_as_a_target_it_is_not_is_a_value_error(monkeypatch: pytest.MonkeyPatch, opened: Opened) -> None:
    from dataclasses import replace

    oracle_only = replace(CPU, stages=(VerificationStage.ORACLE,))
    monkeypatch.setattr(verify_module, "verification_profile", lambda profile_id: oracle_only)
    with pytest.raises(ValueError, match="profile 'cpu-compiled' is no target; its roles: oracle"):
        verify_backend("cpu-compiled")
    assert opened.asked == []


def test_resolve_target_gives_the_installed_profile() -> None:
    assert resolve_target("cpu-compiled") is CPU
    assert resolve_target("metal-tilelang") is METAL


# A destination that cannot be written ---------------------------------------------------------------------------------


def test_a_missing_folder_is_an_error_before_anything_is_opened(opened: Opened, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere; create it"):
        verify_backend("cpu-compiled", output=tmp_path / "nowhere" / "report.jsonl")
    assert opened.asked == []
    assert list(tmp_path.iterdir()) == []


def test_a_folder_as_output_is_an_error_before_anything_is_opened(opened: Opened, tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="it is a folder; name a file in it"):
        verify_backend("cpu-compiled", output=tmp_path)
    assert opened.asked == []


# Runtime and state ---------------------------------------------------------------------------------------------------


def test_a_library_that_does_not_load_is_a_runtime_error_that_says_how_to_build_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(profile_id: str, carrier: str) -> Any:
        from pytest_kernelverify.carriers.cpu import load_library

        (tmp_path / "_oracle.abi3.so").write_bytes(b"no library")
        return load_library(tmp_path / "_oracle.abi3.so")

    monkeypatch.setattr(run_module, "open_carrier", broken)
    output = tmp_path / "report.jsonl"
    with pytest.raises(RuntimeError, match=r"could not be loaded .* build it with `pip install \.`"):
        verify_backend("cpu-compiled", output=output)
    assert not output.exists()


def test_a_wrong_arithmetic_state_at_the_start_is_a_runtime_error_and_nothing_is_written(
    short: Around, tmp_path: Path
) -> None:
    def check(where: str) -> None:
        raise ArithmeticStateError(f"{where}: rounding is downward")

    short.check = check
    with pytest.raises(RuntimeError, match="at the start of Stage One: rounding is downward"):
        verify_backend("cpu-compiled", output=tmp_path / "report.jsonl")
    assert list(tmp_path.iterdir()) == []
    assert "launch" not in short.calls


# The report ----------------------------------------------------------------------------------------------------------


def test_the_whole_report_passes_its_gate_and_keeps_what_is_deferred() -> None:
    report = verified()
    assert isinstance(report, VerificationReport)
    assert report.summary().gate_passed
    outcomes = Counter((record.stage.value, record.outcome) for record in report.records)
    assert outcomes["oracle", Outcome.DEFERRED] == outcomes["target", Outcome.DEFERRED] == 28
    assert {outcome for _, outcome in outcomes} == {Outcome.PASSED, Outcome.DEFERRED}


def test_the_report_binds_exactly_what_the_two_stages_found() -> None:
    by_id = {(r.stage, r.case.case_id): r for r in verified().records}
    stages = (*oracle_result().report.records, *target_report().records)
    assert len(by_id) == len(verified().records) == len(stages)
    for record in stages:
        assert by_id[record.stage, record.case.case_id].line == record.line


def test_records_stand_in_order_of_stage_and_case_id() -> None:
    keys = [record.sort_key for record in verified().records]
    assert keys == sorted(keys)


def test_the_report_reads_back_as_it_was_written() -> None:
    text = verified().to_jsonl()
    again = VerificationReport.from_jsonl(text)
    assert again.to_jsonl() == text
    assert again.records == verified().records


def test_every_passing_record_takes_at_most_one_and_a_half_kilobytes() -> None:
    sizes = [len(r.line.encode()) + 1 for r in verified().records if r.outcome is Outcome.PASSED]
    assert max(sizes) <= 1536


def test_the_same_facts_give_the_same_bytes_twice(short: Around, tmp_path: Path) -> None:
    for name in ("one.jsonl", "two.jsonl"):
        verify_backend("cpu-compiled", output=tmp_path / name)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def test_another_seed_gives_another_report(short: Around) -> None:
    assert verify_backend("cpu-compiled").to_jsonl() != verify_backend("cpu-compiled", seed=1).to_jsonl()


def test_a_failing_kernel_fails_the_gate_and_the_report_is_still_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shorten(monkeypatch, Around(after=flip_first("neg")))
    report = verify_backend("cpu-compiled", output=tmp_path / "report.jsonl")
    assert not report.summary().gate_passed
    outcomes = {
        (r.stage.value, r.case.plan or r.case.subject): r.outcome
        for r in report.records
        if r.case.output_layout.size > 1
    }
    assert outcomes["oracle", NEG.text] is Outcome.FAILED
    assert outcomes["target", NEG.text] is Outcome.BLOCKED
    assert outcomes["target", "copy"] is Outcome.PASSED
    assert (tmp_path / "report.jsonl").read_text(encoding="utf-8") == report.to_jsonl()


# The file ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, Path])
def test_output_is_written_whole_as_canonical_utf8_jsonl(
    kind: Callable[[Any], Any], short: Around, tmp_path: Path
) -> None:
    output = tmp_path / "report.jsonl"
    report = verify_backend("cpu-compiled", output=kind(output))
    assert output.read_bytes() == report.to_jsonl().encode("utf-8")
    assert b"\r" not in output.read_bytes()


def test_only_the_output_is_replaced_and_nothing_is_left_beside_it(short: Around, tmp_path: Path) -> None:
    output = tmp_path / "report.jsonl"
    (tmp_path / "other").write_text("other")
    output.write_text("old")
    verify_backend("cpu-compiled", output=output)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "report.jsonl"]
    assert (tmp_path / "other").read_text() == "other"
    assert output.read_text(encoding="utf-8").startswith('{"')


def test_without_an_output_nothing_is_written(short: Around, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    verify_backend("cpu-compiled")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_interrupted_write_is_observable_and_leaves_the_old_file(
    step: str, short: Around, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any, **named: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(jsonl.os, step, full)
    output = tmp_path / "report.jsonl"
    output.write_text("old")
    with pytest.raises(OSError, match="No space left on device"):
        verify_backend("cpu-compiled", output=output)
    assert output.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.jsonl"]


def test_the_old_file_stays_until_the_report_is_complete(
    short: Around, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "report.jsonl"
    output.write_text("old")

    def before(*arguments: Any) -> None:
        assert output.read_text() == "old"
        if short.calls.count("launch") == 40:
            raise KeyboardInterrupt

    short.before = before
    with pytest.raises(KeyboardInterrupt):
        verify_backend("cpu-compiled", output=output)
    assert output.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.jsonl"]


def test_no_environment_variable_clock_or_folder_enters_a_report(
    short: Around, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = verify_backend("cpu-compiled").to_jsonl()
    monkeypatch.chdir(tmp_path)
    for name in ("CI", "GITHUB_SHA", "USER", "HOSTNAME", "SOURCE_DATE_EPOCH", "TZ"):
        monkeypatch.setenv(name, "12345")
    monkeypatch.setattr("time.time", lambda: 1.0)
    second = verify_backend("cpu-compiled").to_jsonl()
    assert first == second
    assert os.getcwd() not in second


@pytest.mark.parametrize(("seed", "error"), [("1", TypeError), (True, TypeError), (1.0, TypeError), (None, TypeError)])
def test_a_seed_of_another_type_is_refused_before_anything_runs(seed: Any, error: type[Exception]) -> None:
    for start in (
        lambda: verify_backend("cpu-compiled", seed=seed),
        lambda: run_oracle_stage(CPU, seed=seed),
        lambda: Run(CPU, seed=seed),
    ):
        with pytest.raises(error, match="seed must be an integer"):
            start()


@pytest.mark.parametrize("seed", [-1, 2**63, 10**5000], ids=["negative", "too_large", "enormous"])
def test_a_seed_out_of_range_is_refused_before_anything_runs(seed: int) -> None:
    for start in (
        lambda: verify_backend("cpu-compiled", seed=seed),
        lambda: run_oracle_stage(CPU, seed=seed),
        lambda: Run(CPU, seed=seed),
    ):
        with pytest.raises(ValueError, match="seed is out of range"):
            start()


@pytest.mark.parametrize(
    ("name", "why"),
    [("a\0b", "NUL"), ("n" * 300, "File name too long"), ("pipe", "no regular file")],
    ids=["nul", "long", "fifo"],
)
def test_an_output_that_cannot_be_a_file_is_refused_before_anything_runs(
    name: str, why: str, tmp_path: Path, opened: Opened
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=why):
        verify_backend("cpu-compiled", output=tmp_path / name)
    assert opened.asked == []


def test_a_name_as_long_as_the_file_system_allows_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    jsonl.write_text("text\n", path)
    assert path.read_text() == "text\n"
