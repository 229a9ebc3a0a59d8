"""The journal of an unfinished run: every whole line is kept, a cut last line is left out."""

from __future__ import annotations

from pathlib import Path

import pytest
import report_samples as samples

from pytest_kernelverify.report.journal import JournalWriter, is_journal, journal_path, read_journal

RUN = {"target": "cpu-compiled", "seed": 0}


def written(folder: Path, count: int = 3) -> Path:
    writer = JournalWriter(folder / "report.jsonl", RUN)
    for record in samples.cpu_report().records[:count]:
        writer.append(record)
    writer.close()
    return journal_path(folder / "report.jsonl")


def test_a_journal_holds_its_run_and_its_records(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert path == tmp_path / "report.jsonl.partial"
    journal = read_journal(path)
    assert journal.run == RUN
    assert journal.records == samples.cpu_report().records[:3]
    assert not journal.cut
    assert is_journal(path)
    assert not (tmp_path / "report.jsonl").exists()


def test_each_record_reaches_the_file_before_the_next(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "report.jsonl", RUN)
    for count, record in enumerate(samples.cpu_report().records[:3], start=1):
        writer.append(record)
        assert len(read_journal(writer.path).records) == count
    writer.remove()
    assert not writer.path.exists()


@pytest.mark.parametrize("cut", [1, 40, 900])
def test_a_cut_last_line_is_left_out(cut: int, tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes()[:-cut])
    journal = read_journal(path)
    assert journal.records == samples.cpu_report().records[:2]
    assert journal.cut


def test_any_other_broken_line_is_refused_with_its_number(tmp_path: Path) -> None:
    path = written(tmp_path)
    lines = path.read_text().split("\n")
    path.write_text("\n".join([*lines[:2], lines[2][:-5], *lines[3:]]))
    with pytest.raises(ValueError, match=r"^line 3: "):
        read_journal(path)


@pytest.mark.parametrize("text", ["", "x", "{}\n", '{"journal":"v2","run":{}}\n', "[[[\n"])
def test_what_does_not_begin_as_a_journal_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.partial"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"^line 1: "):
        read_journal(path)


def test_a_journal_of_a_report_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        JournalWriter(tmp_path / "no" / "report.jsonl", RUN)
