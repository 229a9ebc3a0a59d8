"""The installed reference: digests of Generic and of the case generators that this process judges by."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from pytest_kernelverify.evidence.oracle_reference import OracleReference
from pytest_kernelverify.operations.generic.digest import implementation_digest

__all__ = ["installed_reference"]


@cache
def installed_reference() -> OracleReference:
    """Content digests only: the same sources give the same reference wherever they are installed."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for source in sorted(package.glob("cases/*.py")) + sorted(package.glob("numerics/*.py")):
        digest.update(f"{source.relative_to(package).as_posix()}\n".encode())
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return OracleReference(implementation=implementation_digest(), cases=digest.hexdigest())
