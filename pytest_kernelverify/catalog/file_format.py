"""The structure of a profile file: its tables, their fields and types. Imported only when a file is read."""

from __future__ import annotations

import re
import reprlib
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError

__all__ = ["DeferralTable", "ProfileTable", "parse"]

_MESSAGES = {"missing": "missing field", "extra_forbidden": "unknown field"}
_TABLE = "Input should be a table"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class DeferralTable(_Table):
    """A plan that is set aside."""

    deferred: str


class SubjectTable(_Table):
    """One entry of ``[subjects]``."""

    kind: str
    kernel: str
    classes: list[str]


def _shape(value: Any) -> str | None:
    if isinstance(value, list):
        return "classes"
    return "deferral" if isinstance(value, dict) else None


PlanEntry = Annotated[
    Annotated[list[str], Tag("classes")] | Annotated[DeferralTable, Tag("deferral")],
    Discriminator(
        _shape,
        custom_error_type="plan",
        custom_error_message='Input should be an array of classes or { deferred = "reason" }',
    ),
]


class KernelTable(_Table):
    """One entry of ``[[kernels]]``."""

    operation: str
    kernel_id: str
    variant: str
    plans: dict[str, PlanEntry] = Field(default_factory=dict)


class ProfileTable(_Table):
    """A whole file."""

    profile_id: str
    carrier: str
    provider: str
    stages: list[str]
    layouts: str
    error_channel: bool
    facts: dict[str, str]
    subjects: dict[str, SubjectTable]
    kernels: list[KernelTable]


def parse(data: dict[str, Any]) -> ProfileTable:
    """The tables of a parsed file; ValueError of one line naming the first field that is wrong and what it holds."""
    try:
        return ProfileTable.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = _TABLE if first["type"] in ("model_type", "dict_type") else first["msg"]
        message = _MESSAGES.get(first["type"]) or f"{message}, not {reprlib.repr(first['input'])}"
        raise ValueError(f"{_where(first['loc'])}: {message}") from None


def _where(location: tuple[int | str, ...]) -> str:
    """Where in the file, as TOML would spell it: ``kernels[3].plans."add(f32,f32)->f32 compute=f32"[0]``."""
    if location[2:3] == ("plans",):  # after the plan's text stands which of the two shapes it has
        location = (*location[:4], *location[5:])
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if re.fullmatch(r"[A-Za-z0-9_-]+", part) else f'."{part}"'
    return text.removeprefix(".")
