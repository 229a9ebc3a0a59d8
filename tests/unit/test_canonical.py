"""Canonical JSON: one spelling of a value, and strict reading of fields and numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pytest_kernelverify.evidence.canonical import (
    canonical_json,
    digest_of,
    exact_fields,
    is_digest,
    number_from_json,
    number_to_json,
    strings,
    typed,
)


def test_keys_are_sorted_and_nothing_is_spaced_or_escaped() -> None:
    assert canonical_json({"b": [1, 2.0], "a": "é", "c": None}) == '{"a":"é","b":[1,2.0],"c":null}'


def test_a_nan_literal_is_never_written() -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(math.nan)


def test_the_digest_is_the_sha256_of_the_canonical_utf8_bytes() -> None:
    assert digest_of({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert is_digest(digest_of("é"))


@pytest.mark.parametrize("text", ["", "0" * 63, "0" * 65, "A" * 64, "g" * 64])
def test_anything_but_64_lower_case_hex_digits_is_no_digest(text: str) -> None:
    assert not is_digest(text)


@pytest.mark.parametrize("value", [0.0, -0.5, 1e300, math.inf, -math.inf, None])
def test_numbers_survive_with_non_finite_ones_as_text(value: float | None) -> None:
    assert number_from_json(number_to_json(value)) == value


def test_nan_survives_as_text() -> None:
    assert number_to_json(math.nan) == "NaN"
    assert math.isnan(number_from_json("NaN") or 0.0)


@pytest.mark.parametrize("value", [0, True, "1.0", "inf", [], {}])
def test_anything_else_is_no_number(value: Any) -> None:
    with pytest.raises(ValueError, match="not a number in canonical form"):
        number_from_json(value)


def test_missing_and_unknown_fields_are_both_named() -> None:
    with pytest.raises(ValueError, match=r"thing has missing fields \['a'\] and unknown fields \['c'\]"):
        exact_fields({"b": 1, "c": 2}, ("a", "b"), "thing")
    with pytest.raises(ValueError, match="thing is not an object"):
        exact_fields([], ("a",), "thing")


def test_a_bool_is_no_integer_and_null_only_where_it_is_allowed() -> None:
    assert typed({"a": None}, "a", int, None) is None
    with pytest.raises(ValueError, match="a is True; expected int"):
        typed({"a": True}, "a", int)
    with pytest.raises(ValueError, match="a is None; expected str"):
        typed({"a": None}, "a", str)


def test_a_list_of_strings_holds_nothing_else() -> None:
    assert strings({"a": ["x"]}, "a") == ("x",)
    with pytest.raises(ValueError, match="expected a list of strings"):
        strings({"a": ["x", 1]}, "a")
