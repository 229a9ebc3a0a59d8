"""Canonical JSON and the digests over it: sorted keys, no spaces, no NaN literals, SHA-256 in lower-case hex."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

__all__ = [
    "canonical_json",
    "digest_of",
    "exact_fields",
    "frozen",
    "is_digest",
    "number_from_json",
    "number_to_json",
    "plain",
    "strings",
    "typed",
]

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True).encode


def canonical_json(value: Any) -> str:
    """The one spelling of a JSON value in a report."""
    return _encode(value)


def digest_of(value: Any) -> str:
    return hashlib.sha256(canonical_json(value).encode("utf-8")).hexdigest()


def is_digest(text: str) -> bool:
    """Whether this is a SHA-256 in lower-case hex."""
    return len(text) == 64 and not set(text) - set("0123456789abcdef")


def exact_fields(value: Any, names: Iterable[str], what: str) -> None:
    """ValueError unless ``value`` is an object with exactly these fields."""
    expected = set(names)
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not an object")
    if set(value) != expected:
        missing, unknown = sorted(expected - set(value)), sorted(set(value) - expected)
        raise ValueError(f"{what} has missing fields {missing} and unknown fields {unknown}")


def frozen(value: Any) -> Any:
    """A JSON value that nobody can change: mappings read-only, lists as tuples."""
    if isinstance(value, Mapping):
        return MappingProxyType({name: frozen(part) for name, part in value.items()})
    return tuple(frozen(part) for part in value) if isinstance(value, (list, tuple)) else value


def plain(value: Any) -> Any:
    """The JSON value behind a frozen one."""
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def number_to_json(value: float | None) -> float | str | None:
    """Non-finite numbers as strings."""
    if value is None or value - value == 0:
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def number_from_json(value: Any) -> float | None:
    """A float, one of the three non-finite texts, or None; anything else is a ValueError."""
    if value is None or type(value) is float:
        return value
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value.replace("Infinity", "inf"))
    raise ValueError(f"{value!r} is not a number in canonical form")


def typed(value: dict[str, Any], name: str, *kinds: type | None) -> Any:
    """The field of that name; ValueError unless its type is exactly one of ``kinds`` (a bool is no int)."""
    found = value[name]
    if (None if found is None else type(found)) not in kinds:
        expected = " or ".join("null" if kind is None else kind.__name__ for kind in kinds)
        raise ValueError(f"{name} is {found!r}; expected {expected}")
    return found


def strings(value: dict[str, Any], name: str) -> tuple[str, ...]:
    """The list of strings of that name."""
    found = typed(value, name, list)
    if any(type(part) is not str for part in found):
        raise ValueError(f"{name} is {found!r}; expected a list of strings")
    return tuple(found)
