"""Receipts: what was compiled from what, with which compiler and options. Content digests, no paths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pytest_kernelverify.evidence.canonical import digest_of, exact_fields, is_digest, strings, typed
from pytest_kernelverify.operations.plan import LogicalKernel

__all__ = ["Receipt"]

RECEIPT_KINDS = ("compiled-executable",)
_ABSOLUTE = re.compile(r"(?:^|[\s=:,]|-[A-Za-z])(?:/|[A-Za-z]:\\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One compiled kernel; ``artifact`` is the digest of the stripped binary.

    ``sources`` pairs file names with SHA-256 digests: the owning source first, then what it shares, sorted by name.
    """

    kind: str
    provider: str
    kernel: LogicalKernel
    binding_name: str
    sources: tuple[tuple[str, str], ...]
    compiler: str
    options: tuple[str, ...]
    architecture: str
    operating_system: str
    endianness: str
    pointer_bits: int
    artifact: str

    @property
    def digest(self) -> str:
        return digest_of(self.to_json())

    @property
    def id(self) -> str:
        """The short form a record refers to: the first 16 hex digits of the digest."""
        return self.digest[:16]

    def to_json(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture,
            "artifact": self.artifact,
            "binding_name": self.binding_name,
            "compiler": self.compiler,
            "endianness": self.endianness,
            "kernel": kernel_to_json(self.kernel),
            "kind": self.kind,
            "operating_system": self.operating_system,
            "options": list(self.options),
            "pointer_bits": self.pointer_bits,
            "provider": self.provider,
            "sources": [list(pair) for pair in self.sources],
        }

    @classmethod
    def from_json(cls, value: Any) -> Receipt:
        """ValueError for a missing, unknown or ill-typed field, a value no receipt has, or an absolute path."""
        exact_fields(value, cls.__slots__, "receipt")
        pairs = typed(value, "sources", list)
        if not pairs or any(type(pair) is not list or [type(part) for part in pair] != [str, str] for pair in pairs):
            raise ValueError("receipt sources are pairs of a name and a digest, at least one")
        receipt = cls(
            kind=typed(value, "kind", str),
            provider=typed(value, "provider", str),
            kernel=kernel_from_json(value["kernel"]),
            binding_name=typed(value, "binding_name", str),
            sources=tuple((name, digest) for name, digest in pairs),
            compiler=typed(value, "compiler", str),
            options=strings(value, "options"),
            architecture=typed(value, "architecture", str),
            operating_system=typed(value, "operating_system", str),
            endianness=typed(value, "endianness", str),
            pointer_bits=typed(value, "pointer_bits", int),
            artifact=typed(value, "artifact", str),
        )
        receipt.validate()
        return receipt

    def validate(self) -> None:
        """ValueError naming the first field whose value no receipt may have."""
        legal: tuple[tuple[str, Any, tuple[Any, ...]], ...] = (
            ("kind", self.kind, RECEIPT_KINDS),
            ("endianness", self.endianness, ("little", "big")),
            ("pointer_bits", self.pointer_bits, (32, 64)),
        )
        for name, value, allowed in legal:
            if value not in allowed:
                raise ValueError(f"receipt {name} is {value!r}; expected one of {', '.join(map(str, allowed))}")
        for digest in (self.artifact, *(digest for _, digest in self.sources)):
            if not is_digest(digest):
                raise ValueError(f"{digest!r} is not a SHA-256 digest in lower-case hex")
        names = [name for name, _ in self.sources]
        if len(names) != len(set(names)) or names[1:] != sorted(names[1:]):
            raise ValueError("receipt sources are the owning one, then the shared ones sorted by name, each once")
        for text in (self.compiler, *self.options, *names):
            if _ABSOLUTE.search(text):
                raise ValueError(f"{text!r} holds an absolute path; a receipt names content, not places")
        if not all((self.provider, self.binding_name, self.compiler, self.architecture, self.operating_system)):
            raise ValueError("no field of a receipt is empty")


# The field of LogicalKernel behind each name in JSON.
_KERNEL_FIELDS = {"id": "kernel_id", "operation": "operation", "profile": "profile_id", "variant": "variant"}


def kernel_to_json(kernel: LogicalKernel) -> dict[str, Any]:
    return {name: getattr(kernel, field) for name, field in _KERNEL_FIELDS.items()}


def kernel_from_json(value: Any) -> LogicalKernel:
    """ValueError for a missing, unknown or ill-typed field."""
    exact_fields(value, _KERNEL_FIELDS, "kernel")
    return LogicalKernel(**{field: typed(value, name, str) for name, field in _KERNEL_FIELDS.items()})
