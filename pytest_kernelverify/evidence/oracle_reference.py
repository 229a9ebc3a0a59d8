"""OracleReference: which exact reference and which case catalog a record was judged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_kernelverify.evidence.canonical import digest_of, exact_fields

__all__ = ["OracleReference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleReference:
    """Digests (SHA-256) of Generic with its local imports and of the case generators."""

    implementation: str
    cases: str

    @property
    def digest(self) -> str:
        return digest_of(self.to_json())

    @property
    def id(self) -> str:
        """The short form a record refers to."""
        return self.digest[:16]

    def to_json(self) -> dict[str, Any]:
        return {"cases": self.cases, "implementation": self.implementation}

    @classmethod
    def from_json(cls, value: Any) -> OracleReference:
        exact_fields(value, cls.__slots__, "oracle reference")
        return cls(**value)
