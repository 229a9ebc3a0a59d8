"""Receipts: content digests, no paths, and only values a receipt may have."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest
import report_samples as samples

from pytest_kernelverify.evidence.receipt import Receipt


def receipt() -> Receipt:
    return next(iter(samples.cpu_report().header.receipts.values()))


def test_a_receipt_survives_json_and_its_id_begins_its_digest() -> None:
    assert Receipt.from_json(receipt().to_json()) == receipt()
    assert receipt().digest.startswith(receipt().id)
    assert len(receipt().id) == 16


def test_a_receipt_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        receipt().artifact = "0" * 64  # type: ignore[misc]


def test_one_changed_value_changes_the_digest() -> None:
    for name in ("artifact", "binding_name", "compiler", "architecture"):
        value = receipt().to_json()
        value[name] = "1" * 64
        assert Receipt.from_json(value).digest != receipt().digest


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("kind", "guess", "receipt kind is 'guess'; expected one of compiled-executable"),
        ("endianness", "middle", "expected one of little, big"),
        ("pointer_bits", 48, "expected one of 32, 64"),
        ("pointer_bits", "64", "expected int"),
        ("artifact", "abc", "not a SHA-256 digest"),
        ("sources", [], "at least one"),
        ("sources", [["a.c"]], "pairs of a name and a digest"),
        ("sources", [["a.c", "x"]], "not a SHA-256 digest"),
        ("sources", [["b.c", "0" * 64], ["a.h", "0" * 64], ["a.c", "0" * 64]], "sorted by name, each once"),
        ("sources", [["a.c", "0" * 64], ["a.c", "0" * 64]], "sorted by name, each once"),
        ("sources", [["/src/a.c", "0" * 64]], "holds an absolute path"),
        ("options", ["-I/usr/include"], "holds an absolute path"),
        ("options", ["--sysroot=/opt"], "holds an absolute path"),
        ("options", [1], "expected a list of strings"),
        ("compiler", "/usr/bin/gcc 12", "holds an absolute path"),
        ("binding_name", "", "no field of a receipt is empty"),
        ("kernel", {}, "kernel has missing fields"),
    ],
)
def test_a_value_no_receipt_has_is_refused(name: str, value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Receipt.from_json({**receipt().to_json(), name: value})


def test_missing_and_unknown_fields_are_refused() -> None:
    value = receipt().to_json()
    del value["options"]
    with pytest.raises(ValueError, match="missing fields"):
        Receipt.from_json(value)
    with pytest.raises(ValueError, match="unknown fields"):
        Receipt.from_json({**receipt().to_json(), "host": "here"})
