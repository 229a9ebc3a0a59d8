"""Arithmetic facts: what a profile promises about the arithmetic its policies then hold it to."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

__all__ = ["STRICT", "ArithmeticFacts"]

_VALUES = {
    "nan": ("propagates", "ignored", "unspecified"),
    "repeatability": ("exact", "unspecified"),
    "signed_zero": ("ordered", "unspecified"),
    "subnormals": ("preserved", "flushed", "unspecified"),
    "int_overflow": ("checked", "wrap", "undefined"),
    "contraction": ("forbidden", "allowed"),
    "rounding": ("nearest_even",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArithmeticFacts:
    """The declared arithmetic of a profile; the defaults are the strict values."""

    nan: str = "propagates"
    repeatability: str = "exact"
    signed_zero: str = "ordered"
    subnormals: str = "preserved"
    int_overflow: str = "checked"
    contraction: str = "forbidden"
    rounding: str = "nearest_even"

    def __post_init__(self) -> None:
        for field in fields(self):
            value, legal = getattr(self, field.name), _VALUES[field.name]
            if value not in legal:
                raise ValueError(f"arithmetic fact {field.name} is {value!r}; expected one of {', '.join(legal)}")

    def to_json(self) -> dict[str, str]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> ArithmeticFacts:
        if not isinstance(value, dict):
            raise ValueError(f"arithmetic facts are {value!r}; expected an object with {', '.join(_VALUES)}")
        missing, unknown = sorted(set(_VALUES) - set(value)), sorted(set(value) - set(_VALUES))
        if missing or unknown:
            raise ValueError(f"arithmetic facts: missing={missing}, unknown={unknown}")
        return cls(**value)


STRICT = ArithmeticFacts()
