"""``kernelverify report``: what it prints, and exit 0, 1 or 2."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import report_samples as samples

from pytest_kernelverify import cli
from pytest_kernelverify.report.journal import JournalWriter, journal_path
from pytest_kernelverify.report.jsonl import write_report

GOOD = "neg(f32)->f32 compute=f32"


@pytest.fixture(autouse=True)
def _small_catalog() -> Iterator[None]:
    with samples.small_catalog():
        yield


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    reports = {
        "bad": samples.cpu_report(),
        "good": samples.cpu_report().view(samples.chosen_by([GOOD])),
        "metal": samples.metal_report(),
    }
    paths = {name: tmp_path / f"{name}.jsonl" for name in reports}
    for name, report in reports.items():
        write_report(report, paths[name])
    return paths


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: Any) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["kernelverify", *map(str, words)])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    out, err = capsys.readouterr()
    return int(stopped.value.code or 0), out, err


Command = Any


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return lambda *words: run(capsys, monkeypatch, *words)


def test_show_leads_with_the_verdict_and_exits_with_it(command: Command, files: dict[str, Path]) -> None:
    code, out, err = command("report", "show", files["good"])
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("PASSED: cpu-compiled against cpu-compiled (")
    code, out, _ = command("report", "show", files["bad"])
    assert code == 1
    assert out.splitlines()[0].startswith("NOT PASSED: ")


def test_show_has_one_row_for_each_kernel_and_its_worst_ratio(command: Command, files: dict[str, Path]) -> None:
    _, out, _ = command("report", "show", files["bad"])
    rows = [line for line in out.splitlines() if line.startswith("cpu.")]
    assert len({line.split()[0] for line in rows}) == len(rows) == len(samples.cpu_report().summary().by_operation)
    [total] = [line for line in rows if line.startswith("cpu.reduce_sum")]
    assert 0 < float(total.split()[-1]) <= 1


def test_show_names_failures_with_their_first_mismatch_in_hex_and_value(
    command: Command, files: dict[str, Path]
) -> None:
    _, out, _ = command("report", "show", files["metal"], "--outcome", "failed")
    index = next(i for i, record in enumerate(samples.metal_report().records) if record.outcome.value == "failed")
    record = samples.metal_report().records[index]
    assert f"line {index + 2}  target  failed  {record.case.case_id}" in out
    assert "got 0x3F800000 (1), want 0x" in out
    assert str(record.diagnostic) in out


def test_show_says_once_why_many_records_are_blocked(command: Command, files: dict[str, Path]) -> None:
    _, out, _ = command("report", "show", files["bad"], "--outcome", "blocked", "--operation", "mul")
    reason = f"no certificate for {samples.WRONG_ORACLE}: Stage One failed at "
    assert out.count(reason) == 1
    assert "and 2 more for the same reason" in out


def test_show_groups_deferrals_by_reason(command: Command, files: dict[str, Path]) -> None:
    _, out, _ = command("report", "show", files["bad"])
    assert "deferred: 2\n  2  vendor transcendental implementation" in out
    assert out.rstrip().endswith("exp2")


def test_filters_choose_what_is_shown_and_not_the_verdict(command: Command, files: dict[str, Path]) -> None:
    code, out, _ = command("report", "show", files["bad"], "--operation", "neg", "--stage", "oracle")
    assert code == 1
    assert [line.split()[0] for line in out.splitlines() if line.startswith("cpu.")] == ["cpu.neg"]
    assert "shown: 2 record(s) that are oracle, neg" in out


def test_show_json_gives_the_summary_and_the_chosen_records(command: Command, files: dict[str, Path]) -> None:
    code, out, _ = command("report", "show", files["bad"], "--json", "--outcome", "blocked")
    value = json.loads(out)
    assert code == 1
    assert value["summary"]["gate_passed"] is False
    assert {record["outcome"] for record in value["records"]} == {"blocked"}


def test_show_reads_a_journal_as_incomplete_and_exits_1(command: Command, tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "report.jsonl", {"target": "cpu-compiled"})
    writer.append(samples.cpu_report().records[0])
    writer.close()
    path = journal_path(tmp_path / "report.jsonl")
    code, out, _ = command("report", "show", path)
    assert code == 1
    assert out.startswith("INCOMPLETE: the run ended early and left 1 record(s)\n  target cpu-compiled")
    assert command("report", "check", path)[0] == 1
    assert json.loads(command("report", "show", "--json", path)[1])["complete"] is False


def test_check_says_one_line_a_file(command: Command, files: dict[str, Path]) -> None:
    code, out, _ = command("report", "check", files["good"], files["bad"])
    assert code == 1
    assert [line.partition(": ")[2].partition(",")[0] for line in out.splitlines()] == ["valid", "valid"]
    assert command("report", "check", files["good"])[0] == 0


@pytest.mark.parametrize("verb", ["show", "check", "diff"])
def test_an_unreadable_file_is_one_line_on_stderr_and_exit_2(
    verb: str, command: Command, files: dict[str, Path], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(files["good"].read_bytes()[:-2])
    for path, said in ((broken, "the file was cut"), (tmp_path / "none", "No such file"), (tmp_path, "directory")):
        code, out, err = command("report", verb, path, *([files["good"]] if verb == "diff" else []))
        assert (code, out) == (2, "")
        assert len(err.splitlines()) == 1
        assert err.startswith(f"kernelverify: {path}: ")
        assert said in err


def test_diff_names_what_was_added_removed_and_changed(command: Command, files: dict[str, Path]) -> None:
    code, out, _ = command("report", "diff", files["good"], files["good"])
    assert (code, out) == (0, "no difference in outcomes and results\n")
    code, out, _ = command("report", "diff", files["good"], files["bad"])
    assert code == 1
    whole, part = samples.cpu_report(), samples.cpu_report().view(samples.chosen_by([GOOD]))
    assert f"added: {len(whole.records) - len(part.records)}\n" in out
    code, out, _ = command("report", "diff", files["bad"], files["good"])
    assert "removed: " in out
    code, out, _ = command("report", "diff", files["bad"], files["metal"])
    assert f"{samples.RAISING_TARGET.split('(')[0]}" in out
    assert "target: cpu-compiled -> metal-tilelang" in out


def test_a_changed_outcome_is_named_with_both_results(command: Command, tmp_path: Path) -> None:
    """The same plan through a right and through a wrong kernel."""
    wrong, right = (tmp_path / name for name in ("wrong.jsonl", "right.jsonl"))
    plan = samples.WRONG_ORACLE
    write_report(samples.cpu_report().view(lambda o: o.plan is not None and o.plan.text == plan), wrong)
    write_report(samples.unaltered_report(plan), right)
    code, out, _ = command("report", "diff", right, wrong)
    assert code == 1
    assert "passed -> failed, result " in out
    assert "passed -> blocked" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("report", "show"), "Missing argument 'FILE...'"),
        (("report", "show", "--stage", "three", "x"), "'three' is not one of 'oracle'"),
        (("report", "diff", "x"), "Missing argument 'B'"),
        (("reprot",), "No such command 'reprot'"),
        (("report", "--loud"), "No such option"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(words: tuple[str, ...], said: str, command: Command) -> None:
    code, _, err = command(*words)
    assert code == 2
    assert len(err.splitlines()) == 1
    assert said in err


def test_help_imports_neither_numpy_nor_a_profile() -> None:
    code = (
        "import sys\nfrom pytest_kernelverify.cli import kernelverify\n"
        "try: kernelverify(['--help'])\nexcept SystemExit: pass\n"
        "print([name for name in ('numpy', 'pydantic', 'pytest_kernelverify.report') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
