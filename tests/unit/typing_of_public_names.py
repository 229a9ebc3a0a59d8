"""Read by mypy, never run: what a type checker makes of the public names; a needless ignore is an error too."""

import pytest_kernelverify as kv
from pytest_kernelverify import Comparison, VerificationReport, compare_float32, verify_backend

word: int = kv.float32_bits(1.0)
text: str = kv.float32_bits(1.0)  # type: ignore[assignment]
misspelt = kv.compare_float16  # type: ignore[attr-defined]
comparison: Comparison = compare_float32([1.0], [1.0])
report: VerificationReport = verify_backend("cpu-compiled", output=None)
passed: bool = report.summary().gate_passed
verify_backend(3)  # type: ignore[arg-type]
