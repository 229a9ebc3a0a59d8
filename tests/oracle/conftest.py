from __future__ import annotations

import pytest

from pytest_kernelverify.carriers.cpu import CpuCarrier


@pytest.fixture(scope="session")
def carrier() -> CpuCarrier:
    return CpuCarrier()
