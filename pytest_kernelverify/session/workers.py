"""What an xdist controller tells its workers. Registered on the controller; nothing relies on a shared disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_kernelverify.session.profiles import conftest_ids_key
from pytest_kernelverify.session.runs import fingerprint, profile_key, run_of
from pytest_kernelverify.session.settings import settings_key

__all__ = ["Workers"]


class Workers:
    """Hooks of pytest-xdist, all optional."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._message: dict[str, Any] | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, config: pytest.Config, specs: Sequence[Any]) -> None:
        """Called by xdist before it opens a gateway. UsageError for a profile that a worker elsewhere cannot know."""
        profile = config.stash[profile_key].profile_id
        elsewhere = [spec for spec in specs if not spec.popen or spec.chdir]
        if elsewhere and profile in config.stash[conftest_ids_key]:
            raise pytest.UsageError(
                f"--tx {elsewhere[0]}: a remote worker does not know the profile {profile!r} of a conftest; install it"
                " there as a pytest plugin that implements pytest_kernelverify_profiles"
            )

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Called by xdist before it starts a worker: options are parsed anew there, and its ini file may be another."""
        if self._message is None:
            self._message = self._for_workers()
        node.workerinput["kernelverify"] = self._message

    def _for_workers(self) -> dict[str, Any]:
        try:
            agreed = fingerprint(run_of(self._config))
        except RuntimeError:
            agreed = {}  # each item says why the target cannot run; a target typed here has been refused before
        return {"settings": self._config.stash[settings_key].to_worker(), "fingerprint": agreed}
