"""A report as one HTML page that needs nothing else: no script, no network."""

from __future__ import annotations

import os
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from pytest_kernelverify.evidence.record import EvidenceRecord, Outcome
from pytest_kernelverify.report.jsonl import write_text
from pytest_kernelverify.report.report import VerificationReport
from pytest_kernelverify.report.show import deferrals, kernel_rows, shown_word

__all__ = ["render_html", "write_html"]

FAILURES_SHOWN = 200


@cache
def _page() -> Template:
    environment = Environment(
        loader=PackageLoader("pytest_kernelverify.report.html", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    return environment.get_template("page.html.j2")


def render_html(report: VerificationReport) -> str:
    """The page; the same report gives the same bytes."""
    bad = [
        (line, record)
        for line, record in enumerate(report.records, 2)
        if record.outcome in (Outcome.FAILED, Outcome.ERROR, Outcome.BLOCKED)
    ]
    return _page().render(
        header=report.header,
        summary=report.summary(),
        rows=kernel_rows(report.records),
        failures=[_failure(line, record) for line, record in bad[:FAILURES_SHOWN]],
        hidden=max(len(bad) - FAILURES_SHOWN, 0),
        deferrals=deferrals(report.records),
        receipts=sorted(
            {
                (receipt.compiler, " ".join(receipt.options), receipt.artifact)
                for receipt in report.header.receipts.values()
            }
        ),
    )


def write_html(report: VerificationReport, path: str | os.PathLike[str]) -> None:
    """Replace ``path`` with the page in one step; OSError, with ``path`` as it was, where that fails."""
    write_text(render_html(report), path)


def _failure(line: int, record: EvidenceRecord) -> dict[str, object]:
    first, dtype = record.first_mismatch, record.case.output_dtype
    return {
        "line": line,
        "stage": record.stage.value,
        "outcome": record.outcome.value,
        "case": record.case.case_id,
        "plan": record.case.plan or record.case.subject,
        "diagnostic": record.diagnostic,
        "where": None if first is None else list(first.coordinate),
        "got": None if first is None else shown_word(first.actual, dtype),
        "want": None if first is None else shown_word(first.expected, dtype),
    }
