"""The two anchor tests; ``kernelverify init`` writes the same two functions into a project for IDE trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_kernelverify.session.gate import KernelCase
    from pytest_kernelverify.stages.run import Run


def test_oracle(kv_case: KernelCase, kv_oracle: Run) -> None:
    kv_case.check(kv_oracle)


def test_target(kv_case: KernelCase, kv_target: Run) -> None:
    kv_case.check(kv_target)


# A project whose ``python_functions`` is not ``test`` collects them all the same.
test_oracle.__test__ = test_target.__test__ = True  # type: ignore[attr-defined]
