"""Mutations of single places in the kernels, from ``edits/<source file>.toml``.

Each names the kernel whose certificate must be refused, the fault, and the old and the new text. ``old`` occurs once
in the file; where it occurs more often, ``which`` counts from 0.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

__all__ = ["EDITS", "Edit", "apply"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One place of one source file, changed."""

    kernel: str
    fault: str
    file: str
    old: str
    new: str
    which: int | None = None

    @property
    def name(self) -> str:
        return f"{self.kernel}-{self.fault.replace(' ', '_').replace(',', '')}"


def apply(source: str, edit: Edit) -> str:
    """The source with one place changed; ValueError unless the table names it unambiguously."""
    pieces = source.split(edit.old)
    found = len(pieces) - 1
    if edit.which is None and found != 1:
        raise ValueError(f"{edit.file}: {edit.old!r} occurs {found} times; name the one meant")
    at = (edit.which or 0) + 1
    if at > found:
        raise ValueError(f"{edit.file}: {edit.old!r} occurs only {found} times")
    return edit.old.join(pieces[:at]) + edit.new + edit.old.join(pieces[at:])


def _read() -> list[Edit]:
    tables = sorted((Path(__file__).parent / "edits").glob("*.toml"))
    return [
        Edit(file=table.stem, **entry)
        for table in tables
        for entry in tomllib.loads(table.read_text(encoding="utf-8"))["edits"]
    ]


EDITS = _read()
