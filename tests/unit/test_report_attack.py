"""Every field of every type of record and of every header object: altered, dropped, doubled, and refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from unittest import mock

import pytest
import report_attacks as attacks
import report_samples as samples

from pytest_kernelverify.report import jsonl
from pytest_kernelverify.report.report import VerificationReport

DOCUMENT = Path(__file__).parents[2] / "docs" / "report-v3.md"
HEADERS = {"header, cpu": samples.cpu_report, "header, metal": samples.metal_report}
TARGETS = [*samples.RECORD_TYPES, *HEADERS]
# The larger header takes as long as everything else together; the smaller one holds every kind of object too.
ATTACKED = [pytest.param(name, marks=pytest.mark.sweep) if name == "header, cpu" else name for name in TARGETS]


def lines_and_index(name: str) -> tuple[attacks.Lines, int]:
    """A good report's lines, and the index of the line under attack."""
    if name in HEADERS:
        return attacks.lines_of(samples.header_sample(HEADERS[name])), 0
    report, index = samples.sample(name)
    return attacks.lines_of(report), index + 1


def attacked_paths(lines: attacks.Lines, index: int) -> list[attacks.Path]:
    """All paths of a line; of a header, two objects of each kind stand for all of theirs."""
    line = lines[index]
    if index:
        return list(attacks.paths_in(line))
    kept: list[attacks.Path] = []
    for path in attacks.paths_in(line):
        held = line[path[0]]
        keyed = path[0] in ("receipts", "requirements", "certificates", "oracle_references")
        if not keyed or len(path) == 1 or path[1] in _representatives(str(path[0]), held):
            kept.append(path)
    return kept


def _representatives(kind: str, held: dict[str, dict[str, object]]) -> list[str]:
    """One requirement of each stage and class, else the first and the last object."""
    if kind == "requirements":
        return list({(part["stage"], part["class"]): name for name, part in held.items()}.values())
    return [next(iter(held)), list(held)[-1]]


def alterations(lines: attacks.Lines, index: int, path: attacks.Path) -> Iterator[attacks.Lines]:
    """The report with one value altered, in each way, and with it dropped."""
    value = attacks.at(lines[index], path)
    siblings = []
    for other in lines[1:] if index else ():
        try:
            found = attacks.at(other, path)
        except (KeyError, IndexError, TypeError):
            continue
        if found != value and found not in siblings:
            siblings.append(found)
    for changed in attacks.other_values(value, str(path[-1]), siblings):
        yield attacks.changed(lines, index, path, changed)
    yield attacks.dropped(lines, index, path)


_parse_line = lru_cache(None)(jsonl.parse_line)


def refusal(text: str) -> str | None:
    """Why a text is refused, which must name a line; None where it is read. Lines seen before are not parsed again."""
    try:
        with samples.small_catalog(), mock.patch.object(jsonl, "parse_line", _parse_line):
            VerificationReport.from_jsonl(text)
    except ValueError as error:
        said = str(error)
    else:
        return None
    assert re.match(r"line \d+: ", said), said
    return said


@pytest.mark.parametrize("name", TARGETS)
def test_the_unaltered_report_is_read_and_resealing_it_changes_nothing(name: str) -> None:
    lines, _ = lines_and_index(name)
    assert attacks.resealed(lines) == lines
    assert refusal(attacks.text_of(lines)) is None


def test_the_samples_hold_every_stage_outcome_and_class_that_a_run_leaves() -> None:
    records = [*samples.cpu_report().records, *samples.metal_report().records]
    assert {record.outcome.value for record in records} == {"passed", "failed", "error", "blocked", "deferred"}
    assert {record.verification_class for record in records} == set(attacks.VOCABULARY["class"]) - {"leaf", "gap"}


@pytest.mark.parametrize("name", ATTACKED)
def test_an_altered_dropped_or_doubled_field_is_refused_with_its_line(name: str) -> None:
    lines, index = lines_and_index(name)
    for path in attacked_paths(lines, index):
        for altered in alterations(lines, index, path):
            said = refusal(attacks.text_of(altered))
            assert said is not None, f"{name}: {attacks.shown(path)} -> {attacks.at(altered[index], path[:-1])}"
        said = refusal(attacks.doubled_text(lines, index, path))
        assert said is not None, f"{name}: {attacks.shown(path)} doubled"
        if isinstance(path[-1], str):
            assert said.startswith(f"line {index + 1}: duplicate key '{path[-1]}'"), said


@cache
def undetermined(name: str) -> frozenset[str]:
    """The fields whose alteration is read once every digest and id is made right again."""
    lines, index = lines_and_index(name)
    found = set()
    for path in attacked_paths(lines, index):
        for altered in alterations(lines, index, path):
            if refusal(attacks.text_of(attacks.resealed(altered, path if index == 0 else ()))) is None:
                found.add(attacks.shown(path))
                break
    return frozenset(found - {"digest"})


def documented() -> dict[str, set[str]]:
    """The table of docs/report-v3.md: for each type of line the fields nothing determines."""
    section = DOCUMENT.read_text(encoding="utf-8").split("## Fields nothing determines")[1].split("\n## ")[0]
    found: dict[str, set[str]] = {name: set() for name in TARGETS}
    for row in re.findall(r"^\| `([\w.]+)` \| ([^|]+) \|", section, re.MULTILINE):
        for name in row[1].split(";"):
            found[name.strip()].add(row[0])
    return found


@pytest.mark.parametrize("name", ATTACKED)
def test_with_all_digests_right_again_only_the_documented_fields_can_be_forged(name: str) -> None:
    assert undetermined(name) == documented()[name]


def forged_together(name: str, *changes: tuple[attacks.Path, object], stage: str | None = None) -> str | None:
    """What is said of a report in which several fields of one record changed at once and all digests are right."""
    report, index = samples.sample(name)
    record = report.records[index]
    if stage is not None:
        report = report.view(lambda owed: owed.stage.value == stage)
        index = report.records.index(record)
    lines = attacks.lines_of(report)
    for path, value in changes:
        lines = attacks.changed(lines, index + 1, path, value)
    return refusal(attacks.text_of(attacks.resealed(lines)))


def test_changed_input_hashes_are_refused_because_the_catalog_gives_them() -> None:
    said = forged_together("oracle exact", (("input_hashes",), ["0" * 64]))
    assert said is not None
    assert "input_hashes is ('000" in said
    assert "the catalog's case has" in said


@pytest.mark.parametrize("name", ["oracle analytic", "oracle movement"])
def test_an_output_hash_is_refused_where_the_case_states_its_answer_even_without_a_twin(name: str) -> None:
    said = forged_together(name, (("output_hash",), "0" * 64), stage="oracle")
    assert said is not None
    assert "another output_hash than the words its case states" in said


def test_fields_that_say_the_same_can_be_forged_only_together_as_documented() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert "`bound` with `tolerance.absolute`, and `diagnostic` with `detail.diagnosis`" in text
    bound, tolerance = (("bound",), 1.0), (("tolerance", "absolute"), 1.0)
    assert forged_together("oracle numerical", bound) is not None
    assert forged_together("oracle numerical", tolerance) is not None
    assert forged_together("oracle numerical", bound, tolerance) is None
    said, again = (("diagnostic",), "x"), (("detail", "diagnosis"), "x")
    assert forged_together("oracle failed", said) is not None
    assert forged_together("oracle failed", said, again) is None
