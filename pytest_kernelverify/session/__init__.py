"""Everything that knows pytest; here only what its files share, and every pytest run imports."""

from __future__ import annotations

from pathlib import Path

import pytest

__all__ = ["PACKAGE", "SUITE", "unaimed_key"]

PACKAGE = Path(__file__).parent.parent
SUITE = PACKAGE / "suite.py"

unaimed_key = pytest.StashKey[bool]()
"""Set where tests request kv_case and no target is named."""
