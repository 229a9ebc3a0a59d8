"""bind_report: parts that do not belong together make no report; the order they come in does not matter."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import report_samples as samples

from pytest_kernelverify.report.bind import bind_report
from pytest_kernelverify.report.report import VerificationReport


def parts(report: VerificationReport) -> dict[str, Any]:
    header = report.header
    return {
        "target": header.target,
        "oracle": header.oracle,
        "seed": header.seed,
        "complete": header.complete,
        "records": report.records,
        "certificates": report.certificates,
        "receipts": tuple(header.receipts.values()),
        "requirements": tuple(header.requirements.values()),
        "oracle_reference": next(iter(header.oracle_references.values())),
    }


def test_the_order_of_the_parts_does_not_matter() -> None:
    report = samples.cpu_report()
    mixed = parts(report)
    for name in ("records", "certificates", "receipts", "requirements"):
        mixed[name] = random.Random(1).sample(mixed[name], len(mixed[name]))
    assert bind_report(**mixed).to_jsonl() == report.to_jsonl()


def test_a_receipt_no_record_refers_to_is_left_out() -> None:
    given = parts(samples.cpu_report())
    spare = replace(given["receipts"][0], binding_name="spare")
    assert bind_report(**{**given, "receipts": (*given["receipts"], spare)}) == samples.cpu_report()


@pytest.mark.parametrize(
    ("name", "spoil", "said"),
    [
        ("records", lambda records: records[1:], "a record is missing, foreign or extra"),
        ("records", lambda records: (*records, records[0]), "is a duplicate"),
        ("requirements", lambda requirements: requirements[1:], "refers to the requirement .*, which is none"),
        ("certificates", lambda certificates: certificates[1:], "is missing; its evidence is complete"),
        ("certificates", lambda c: (replace(c[0], evidence_digest="0" * 64), *c[1:]), "the records give"),
        ("receipts", lambda receipts: (), "line 1: "),
        ("complete", lambda complete: not complete, "complete is true, but .* is missing"),
        ("target", lambda target: replace(target, error_channel=False), "is not as installed"),
        ("target", lambda target: replace(target, profile_id="x"), "unknown profile 'x'"),
    ],
)
def test_parts_that_do_not_belong_together_are_a_value_error(name: str, spoil: Any, said: str) -> None:
    given = parts(samples.cpu_report())
    with pytest.raises(ValueError, match=said):
        bind_report(**{**given, name: spoil(given[name])})


def test_a_record_judged_under_another_receipt_than_its_kernels_is_refused() -> None:
    given = parts(samples.metal_report())
    first = given["records"][0]
    other = next(found.id for found in given["receipts"] if found.kernel != first.case.kernel)
    with pytest.raises(ValueError, match="line "):
        bind_report(**{**given, "records": (replace(first, receipt=other), *given["records"][1:])})


def test_a_blocked_target_without_the_evidence_that_blocks_it_is_refused() -> None:
    given = parts(samples.cpu_report())
    gone = {
        found.id
        for found in given["requirements"]
        if found.plan == samples.WRONG_ORACLE and found.stage.value == "oracle"
    }
    given["requirements"] = [found for found in given["requirements"] if found.id not in gone]
    given["records"] = [record for record in given["records"] if record.requirement not in gone]
    with pytest.raises(
        ValueError, match=r"^line 1: mul\(i32,i32\).* \(target\) rests on mul.* \(oracle\), which is missing"
    ):
        bind_report(**given)


def test_a_record_count_or_records_digest_that_is_not_the_records_is_refused() -> None:
    report = samples.sample("oracle exact")[0]
    for name, value in (("record_count", 99), ("records_digest", "0" * 64)):
        forged = VerificationReport(replace(report.header, **{name: value}), report.records)
        with samples.small_catalog(), pytest.raises(ValueError, match=f"^line 1: {name} is "):
            VerificationReport.from_jsonl(forged.to_jsonl())


def test_a_receipt_in_the_header_that_no_record_refers_to_is_refused() -> None:
    report = samples.sample("oracle exact")[0]
    spare = next(found for found in samples.cpu_report().header.receipts.values() if found.binding_name == "kv_mul")
    receipts = {**report.header.receipts, spare.id: spare}
    forged = VerificationReport(replace(report.header, receipts=receipts), report.records)
    with samples.small_catalog(), pytest.raises(ValueError, match=r"^line 1: receipt .* no record refers to it"):
        VerificationReport.from_jsonl(forged.to_jsonl())
