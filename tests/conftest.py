"""The tests run the compiled kernels: without them the run ends here, in one line that says how to build them."""

from __future__ import annotations

import pytest

from pytest_kernelverify.session.start import refuse_unbuilt_checkout


def pytest_configure(config: pytest.Config) -> None:
    refuse_unbuilt_checkout(config)
