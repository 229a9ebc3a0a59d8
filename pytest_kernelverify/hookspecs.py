"""The hooks a conftest or a plugin may implement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_kernelverify.catalog.manifest import ProfileManifest
    from pytest_kernelverify.evidence.record import EvidenceRecord


@pytest.hookspec()
def pytest_kernelverify_profiles(config: pytest.Config) -> Iterable[ProfileManifest]:  # type: ignore[empty-body]
    """Profiles of one's own, so that ``--kv-target`` and the ini value ``kv_target`` know their ids.

    Called once in every process, while pytest configures itself and only if a target is named. An id that another
    profile has already is a usage error. Remote workers know the profiles of installed plugins, not of a conftest.

    :param config: The pytest config object.
    :returns: Manifests, e.g. of profile files by ``pytest_kernelverify.catalog.manifest.read_manifest``.
    """


@pytest.hookspec()
def pytest_kernelverify_record(record: EvidenceRecord) -> None:
    """One evidence record has arrived.

    Called once for each record, in the process that writes the report (under xdist the controller), in the order of
    arrival, which is not the order of the report.

    :param record: The immutable record.
    """
