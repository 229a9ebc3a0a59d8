"""Canonical JSON and the digests over it: sorted keys, no spaces, no NaN literals, SHA-256 in lower-case hex."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

__all__ = ["canonical_json", "digest_of", "exact_fields", "number_from_json", "number_to_json"]

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True).encode


def canonical_json(value: Any) -> str:
    """The one spelling of a JSON value in a report."""
    return _encode(value)


def digest_of(value: Any) -> str:
    return hashlib.sha256(canonical_json(value).encode("utf-8")).hexdigest()


def exact_fields(value: Any, names: Iterable[str], what: str) -> None:
    """ValueError unless ``value`` is an object with exactly these fields."""
    expected = set(names)
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not an object")
    if set(value) != expected:
        missing, unknown = sorted(expected - set(value)), sorted(set(value) - expected)
        raise ValueError(f"{what} has missing fields {missing} and unknown fields {unknown}")


def number_to_json(value: float | None) -> float | str | None:
    """Non-finite numbers as strings."""
    if value is None or value - value == 0:
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def number_from_json(value: Any) -> float | None:
    if value is None or (isinstance(value, float)):
        return value
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value.replace("Infinity", "inf"))
    raise ValueError(f"{value!r} is not a number in canonical form")
