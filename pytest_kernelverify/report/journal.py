"""Journal: what an unfinished run has left so far, in ``<report>.partial``; removed when the report is written."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from pytest_kernelverify.evidence.canonical import canonical_json, exact_fields
from pytest_kernelverify.evidence.record import EvidenceRecord
from pytest_kernelverify.report.jsonl import check_destination, decode, parse_line

__all__ = ["JOURNAL", "Journal", "JournalWriter", "is_journal", "journal_path", "read_journal"]

JOURNAL = "pytest-kernelverify.journal.v3"


@dataclass(frozen=True, slots=True)
class Journal:
    """A run that did not finish: what run it is, the records it left, and whether its last line was cut."""

    run: Mapping[str, Any]
    records: tuple[EvidenceRecord, ...]
    cut: bool


def journal_path(report: str | os.PathLike[str]) -> Path:
    """Where the journal of a report lies."""
    return Path(f"{os.fspath(report)}.partial")


class JournalWriter:
    """Appends one line a record; each line reaches the file before the next one begins."""

    def __init__(self, report: str | os.PathLike[str], run: Mapping[str, Any]) -> None:
        """Begin the journal of ``report``; ``run`` (JSON values) says what run it is. OSError where it cannot."""
        check_destination(report)
        self.path = journal_path(report)
        self._stream: TextIO = open(self.path, "w", encoding="utf-8", newline="\n", buffering=1)  # noqa: SIM115
        self._stream.write(canonical_json({"journal": JOURNAL, "run": dict(run)}) + "\n")

    def append(self, record: EvidenceRecord) -> None:
        self._stream.write(record.line + "\n")

    def close(self) -> None:
        """Leave the journal in place: the run did not finish."""
        self._stream.close()

    def remove(self) -> None:
        """The report is written; the journal has nothing more to say."""
        self._stream.close()
        self.path.unlink(missing_ok=True)


def read_journal(path: str | os.PathLike[str]) -> Journal:
    """Read a journal; a cut last line is left out. ValueError naming any other line that is not in canonical form."""
    data = Path(path).read_bytes()
    whole, _, rest = data.rpartition(b"\n")
    lines = decode(whole).split("\n") if whole else []
    if not lines:
        raise ValueError("line 1: the journal has no first line that says what run it is")
    try:
        first = json.loads(lines[0])
        exact_fields(first, ("journal", "run"), "journal")
        if first["journal"] != JOURNAL or type(first["run"]) is not dict:
            raise ValueError(f"journal is {first['journal']!r}; this version reads {JOURNAL!r}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"line 1: {error}") from None
    records = tuple(parse_line(number, line, EvidenceRecord.from_json) for number, line in enumerate(lines[1:], 2))
    return Journal(first["run"], records, bool(rest))


def is_journal(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a journal does, whatever its name; OSError where it cannot be read."""
    with open(path, "rb") as stream:
        return stream.read(64).startswith(b'{"journal":')
