"""Receipts: what was compiled from what, with which compiler and options. Content digests, no paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_kernelverify.evidence.canonical import digest_of, exact_fields
from pytest_kernelverify.operations.plan import LogicalKernel

__all__ = ["Receipt"]

RECEIPT_KINDS = ("compiled-executable",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One compiled kernel. ``sources`` pairs file names with SHA-256 digests; ``artifact`` is the stripped binary's."""

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
        exact_fields(value, cls.__slots__, "receipt")
        if value["kind"] not in RECEIPT_KINDS:
            raise ValueError(f"receipt kind is {value['kind']!r}; expected one of {', '.join(RECEIPT_KINDS)}")
        receipt = cls(
            **{
                **value,
                "kernel": kernel_from_json(value["kernel"]),
                "options": tuple(value["options"]),
                "sources": tuple(tuple(pair) for pair in value["sources"]),
            }
        )
        if receipt.to_json() != value:
            raise ValueError("receipt has a field of the wrong type")
        return receipt


def kernel_to_json(kernel: LogicalKernel) -> dict[str, Any]:
    return {name: getattr(kernel, name) for name in LogicalKernel.__slots__}


def kernel_from_json(value: Any) -> LogicalKernel:
    exact_fields(value, LogicalKernel.__slots__, "kernel")
    return LogicalKernel(**value)
