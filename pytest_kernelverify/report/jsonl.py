"""JSONL: canonical lines to objects and back, and a report to a file in one step."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

from pytest_kernelverify.evidence.canonical import canonical_json
from pytest_kernelverify.evidence.record import EvidenceRecord
from pytest_kernelverify.report.header import Header

__all__ = ["check_destination", "decode", "parse", "parse_line", "write_report", "write_text"]


class _Line(Protocol):
    @property
    def line(self) -> str: ...


class _Writable(Protocol):
    def to_jsonl(self) -> str: ...


T = TypeVar("T", bound=_Line)


def decode(data: bytes) -> str:
    """UTF-8 text; ValueError naming the line of the first byte that is none."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line}: byte 0x{data[error.start]:02X} is not UTF-8; a report is UTF-8") from None


def parse(text: str) -> tuple[Header, tuple[EvidenceRecord, ...]]:
    """Header and records; ValueError naming the first line that is not in canonical form or not what it should be."""
    if not text:
        raise ValueError("line 1: the file is empty; a report begins with a header")
    lines = text.split("\n")
    if lines.pop() != "":
        raise ValueError(f"line {len(lines) + 1}: the last line has no line end; the file was cut")
    header = parse_line(1, lines[0], Header.from_json)
    return header, tuple(parse_line(number, line, EvidenceRecord.from_json) for number, line in enumerate(lines[1:], 2))


def parse_line(number: int, line: str, read: Callable[[Any], T]) -> T:
    """The object of one line; ValueError unless the line is exactly that object's canonical JSON."""
    try:
        if not line:
            raise ValueError("the line is blank; a report has no blank lines")
        if "\r" in line:
            raise ValueError("a carriage return ends or splits the line; lines end with a line feed alone")
        value = json.loads(line)
        try:
            found = read(value)
        except ValueError:
            _refuse_spelling(line)
            raise
        if found.line != line:
            _refuse_spelling(line)
            raise ValueError("the line is not the canonical JSON of what it holds")
    except RecursionError:
        raise ValueError(f"line {number}: nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"line {number}: {error}") from None
    return found


def _refuse_spelling(line: str) -> None:
    """ValueError where the line is no canonical JSON at all, whatever it holds."""
    value = json.loads(line, object_pairs_hook=_unique, parse_constant=_no_constant)
    if canonical_json(value) != line:
        raise ValueError("not canonical JSON; expected sorted keys, no spaces and no escapes that are not needed")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"duplicate key {next(name for name in names if names.count(name) > 1)!r}")
    return found


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON; non-finite numbers are the strings NaN, Infinity and -Infinity")


def check_destination(path: str | os.PathLike[str]) -> None:
    """OSError, saying what to do, unless a report can be written there."""
    destination = Path(path)
    folder = destination.parent
    if "\0" in str(destination):
        raise OSError("cannot write the report: its path holds a NUL character; name a file without one")
    if destination.is_dir():
        raise IsADirectoryError(f"cannot write the report to {destination}: it is a folder; name a file in it")
    if not folder.is_dir():
        raise FileNotFoundError(f"cannot write the report to {destination}: there is no folder {folder}; create it")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"cannot write the report to {destination}: the folder {folder} is not writable")
    try:
        special = destination.exists() and not destination.is_file()
    except OSError as error:
        raise OSError(f"cannot write the report to {destination}: {error.strerror}; choose another name") from None
    if special:
        raise OSError(f"cannot write the report to {destination}: it is no regular file; name one, or a new one")


def write_report(report: _Writable, path: str | os.PathLike[str]) -> None:
    """Replace ``path`` with the report's JSONL in one step; OSError, with ``path`` as it was, where that fails."""
    write_text(report.to_jsonl(), path)


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Replace ``path`` with UTF-8 text in one step: a temporary file beside it, flushed to disk, then renamed."""
    check_destination(path)
    destination = Path(path)
    mode = destination.stat().st_mode & 0o777 if destination.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=destination.parent, prefix=".kernelverify-", suffix=".tmp")
    try:
        with open(handle, "wb") as stream:
            stream.write(text.encode("utf-8"))
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, mode)
        os.replace(name, destination)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
