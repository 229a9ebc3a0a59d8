"""The page shows what the report says, needs nothing else, and believes nothing a record holds to be HTML."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import report_samples as samples

from pytest_kernelverify import VerificationReport
from pytest_kernelverify.report.html import render_html, write_html

VOID = {"meta", "br"}


class Balanced(HTMLParser):
    """Collects text, and refuses a tag that closes another than the last one opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def text_of(page: str) -> str:
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    return " ".join(" ".join(parser.text).split())


def sample(name: str) -> VerificationReport:
    return samples.sample(name)[0]


def test_the_page_states_the_verdict_and_every_kernel() -> None:
    report = sample("oracle exact")
    text = text_of(render_html(report))
    assert ("The gate passed." in text) == report.summary().gate_passed
    for kernel in {record.case.kernel.kernel_id for record in report.records}:
        assert kernel in text


def test_a_failure_is_shown_with_its_case_words_and_diagnostic() -> None:
    report, index = samples.sample("oracle failed")
    record = report.records[index]
    text = text_of(render_html(report))
    assert "The gate did not pass." in text
    assert record.case.case_id in text
    assert str(record.diagnostic) in text
    assert record.first_mismatch is not None
    assert f"0x{record.first_mismatch.expected:08X}" in text
    assert f"0x{record.first_mismatch.actual:08X}" in text


def test_what_was_not_run_is_not_said_to_be_compared() -> None:
    report, _ = samples.sample("oracle deferred")
    deferred = tuple(record for record in report.records if record.outcome.value == "deferred")
    assert "words compared" not in text_of(render_html(replace(report, records=deferred)))
    assert "words compared" in text_of(render_html(report))


def test_the_page_needs_no_script_and_no_network() -> None:
    page = render_html(sample("oracle failed"))
    assert not re.search(r"<script|<link|src=|href=|url\(|https?://", page)


def test_the_same_report_gives_the_same_page() -> None:
    assert render_html(sample("oracle failed")) == render_html(sample("oracle failed"))


def test_what_a_record_says_is_shown_and_never_interpreted() -> None:
    report, index = samples.sample("oracle error")
    record = replace(report.records[index], diagnostic="<b onclick=x>&")
    records = (*report.records[:index], record, *report.records[index + 1 :])
    page = render_html(replace(report, records=records))
    assert "<b onclick" not in page
    assert "&lt;b onclick=x&gt;&amp;" in page


def test_a_page_into_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_html(sample("oracle exact"), tmp_path / "missing" / "page.html")
