"""Reading and writing: exactly one spelling is read, and a file is replaced whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import report_attacks as attacks
import report_samples as samples

from pytest_kernelverify.evidence.canonical import digest_of
from pytest_kernelverify.evidence.oracle_reference import OracleReference
from pytest_kernelverify.report import check
from pytest_kernelverify.report.jsonl import check_destination, write_report
from pytest_kernelverify.report.report import VerificationReport


@pytest.fixture(autouse=True)
def _small_catalog() -> Any:
    with samples.small_catalog():
        yield


def text() -> str:
    return samples.sample("oracle exact")[0].to_jsonl()


def test_a_report_reads_back_as_itself_byte_for_byte(tmp_path: Path) -> None:
    for report in (samples.cpu_report(), samples.metal_report()):
        path = tmp_path / "report.jsonl"
        write_report(report, path)
        assert VerificationReport.load(path) == report
        assert path.read_bytes().decode() == report.to_jsonl()


def _line(number: int, change: Any) -> str:
    lines = text().split("\n")
    lines[number - 1] = change(lines[number - 1])
    return "\n".join(lines)


SPELLINGS: dict[str, tuple[Any, str]] = {
    "an empty file": (lambda: "", "line 1: the file is empty"),
    "a missing final newline": (lambda: text()[:-1], r"line \d+: the last line has no line end; the file was cut"),
    "a cut line": (lambda: text()[:-40], r"line \d+: the last line has no line end"),
    "carriage returns": (lambda: text().replace("\n", "\r\n"), "line 1: a carriage return"),
    "one carriage return": (lambda: _line(3, lambda line: line + "\r"), "line 3: a carriage return"),
    "a blank line": (lambda: _line(2, lambda line: line + "\n"), "line 3: the line is blank"),
    "a blank last line": (lambda: text() + "\n", r"line \d+: the line is blank"),
    "a byte order mark": (lambda: "\ufeff" + text(), "line 1: "),
    "a space": (lambda: _line(2, lambda line: line.replace(":", ": ", 1)), "line 2: not canonical JSON"),
    "a trailing space": (lambda: _line(2, lambda line: line + " "), "line 2: not canonical JSON"),
    "an escape": (lambda: _line(2, lambda line: line.replace("oracle", "\\u006fracle", 1)), "line 2: not canonical"),
    "unsorted keys": (
        lambda: _line(2, lambda line: json.dumps(dict(reversed(json.loads(line).items())), separators=(",", ":"))),
        "line 2: not canonical JSON",
    ),
    "a bare NaN": (lambda: _line(2, lambda line: line.replace(":null", ":NaN", 1)), "line 2: NaN is no JSON"),
    "a bare Infinity": (lambda: _line(2, lambda line: line.replace(":0.0", ":Infinity", 1)), "line 2: Infinity is no"),
    "a number in another form": (lambda: _line(2, lambda line: line.replace(":0.0", ":0e0", 1)), "line 2: not canon"),
    "an integer for a float": (lambda: _line(2, lambda line: line.replace(":0.0", ":0", 1)), "line 2: 0 is not a num"),
    "no JSON": (lambda: _line(2, lambda line: "{"), "line 2: "),
    "no object": (lambda: _line(2, lambda line: "[]"), "line 2: record is not an object"),
    "deep nesting": (lambda: _line(2, lambda line: "[" * 100_000), "line 2: nested too deeply"),
    "a duplicate key": (
        lambda: _line(2, lambda line: '{"accepted":{},' + line[1:]),
        "line 2: duplicate key 'accepted'",
    ),
    "a record first": (lambda: text().split("\n", 1)[1], "line 1: schema is None"),
    "a second header": (lambda: _line(2, lambda line: text().split("\n")[0]), "line 2: record has missing fields"),
}


@pytest.mark.parametrize(("make", "said"), SPELLINGS.values(), ids=SPELLINGS)
def test_any_other_spelling_is_refused_with_its_line(make: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}"):
        VerificationReport.from_jsonl(make())


def test_bytes_that_are_not_utf8_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    path.write_bytes(text().encode().replace(b"oracle exact", b"").replace(b'"seed":0', b'"seed":\xff', 2))
    with pytest.raises(ValueError, match=r"^line 1: byte 0xFF is not UTF-8"):
        VerificationReport.load(path)


def test_every_single_changed_byte_is_refused() -> None:
    data = text().encode()
    for place in range(0, len(data), 97):
        altered = bytearray(data)
        altered[place] ^= 1
        with pytest.raises(ValueError, match=r"^line \d+: "):
            VerificationReport.from_jsonl(altered.decode())


@pytest.mark.parametrize("schema", ["pytest-kernelverify.report.v2", "strideweave.kernel-verification.v3", 3, None])
def test_another_schema_version_is_refused_and_there_is_no_compatibility_mode(schema: Any) -> None:
    lines = attacks.changed(attacks.lines_of(samples.sample("oracle exact")[0]), 0, ("schema",), schema)
    with pytest.raises(ValueError, match=r"^line 1: schema is .*; this version reads 'pytest-kernelverify.report.v3'"):
        VerificationReport.from_jsonl(attacks.text_of(lines))


def test_a_report_of_another_catalog_is_refused_with_the_version_that_wrote_it() -> None:
    other = OracleReference(implementation="0" * 64, cases="1" * 64)
    with (
        mock.patch.object(check, "installed_reference", return_value=other),
        pytest.raises(ValueError, match=r"^line 1: the report was written by pytest-kernelverify 0\.1\.0 with another"),
    ):
        VerificationReport.from_jsonl(text())


def test_records_out_of_order_or_twice_are_refused_even_with_all_digests_right() -> None:
    header, *records = attacks.lines_of(samples.sample("oracle exact")[0])

    def sealed(records: attacks.Lines) -> str:
        new = {**header, "record_count": len(records), "records_digest": digest_of([r["digest"] for r in records])}
        del new["digest"]
        return attacks.text_of([{**new, "digest": digest_of(new)}, *records])

    with pytest.raises(ValueError, match=r"^line 3: record .* is out of order"):
        VerificationReport.from_jsonl(sealed([records[1], records[0], *records[2:]]))
    with pytest.raises(ValueError, match=r"^line 3: record .* is a duplicate"):
        VerificationReport.from_jsonl(sealed([records[0], *records]))
    with pytest.raises(ValueError, match=r"^line 1: requirement .* a record is missing, foreign or extra"):
        VerificationReport.from_jsonl(sealed(records[1:]))


def test_only_a_string_is_a_reports_text() -> None:
    with pytest.raises(TypeError, match="must be a string, not bytes"):
        VerificationReport.from_jsonl(text().encode())  # type: ignore[arg-type]


def test_a_report_replaces_only_its_own_path_and_leaves_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    path.write_text("before")
    path.chmod(0o640)
    (tmp_path / "other").write_text("other")
    write_report(samples.cpu_report(), path)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["other", "report.jsonl"]
    assert path.read_text() == samples.cpu_report().to_jsonl()
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
def test_an_io_error_is_observable_and_nothing_is_half_written(call: str, tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    path.write_text("before")
    with mock.patch.object(os, call, side_effect=OSError("disk full")), pytest.raises(OSError, match="disk full"):
        write_report(samples.cpu_report(), path)
    assert [found.name for found in tmp_path.iterdir()] == ["report.jsonl"]
    assert path.read_text() == "before"


def test_a_missing_folder_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"cannot write the report to .*: there is no folder .*; create it"):
        write_report(samples.cpu_report(), tmp_path / "no" / "report.jsonl")
    with pytest.raises(IsADirectoryError, match="it is a folder; name a file in it"):
        check_destination(tmp_path)


@pytest.mark.parametrize("line", [1, 2])
def test_a_wrong_digest_is_named_with_the_right_one(line: int) -> None:
    lines = attacks.lines_of(samples.sample("oracle exact")[0])
    right = lines[line - 1]["digest"]
    forged = attacks.changed(lines, line - 1, ("digest",), "0" * 64)
    with pytest.raises(ValueError, match=rf"^line {line}: digest is '0+'; the .* other fields give '{right}'"):
        VerificationReport.from_jsonl(attacks.text_of(forged))


@pytest.mark.parametrize("kind", ["receipts", "requirements", "certificates", "oracle_references"])
def test_an_object_under_another_id_than_its_own_is_refused(kind: str) -> None:
    header, *records = attacks.lines_of(samples.sample("self comparison")[0])
    held = dict(header[kind])
    name = next(iter(held))
    held["0" * 16] = held.pop(name)
    forged = {**header, kind: held}
    del forged["digest"]
    with pytest.raises(ValueError, match=rf"^line 1: {kind} 0+: its fields give the id '{name}'"):
        VerificationReport.from_jsonl(attacks.text_of([{**forged, "digest": digest_of(forged)}, *records]))
