"""--lf agrees with and without -n: what did not pass is run again, what is deferred is not."""

from __future__ import annotations

import pytest


@pytest.mark.usefixtures("break_oracle")
def test_last_failed_runs_failed_and_blocked_items_again_and_nothing_else(project):
    project.verify("-k", "recip or rem or exp2", fresh=True)
    result = project.verify("--lf", fresh=True)
    outcomes = result.parseoutcomes()
    assert (outcomes["failed"], outcomes["blocked"]) == (1, 1)
    assert not {"passed", "deferred"} & set(outcomes)


@pytest.mark.usefixtures("break_oracle")
def test_last_failed_forgets_an_item_once_it_passes(plain):
    plain.verify("-k", "recip or rem", fresh=True)
    (plain.path / "conftest.py").unlink()
    result = plain.verify("--lf", fresh=True)
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] == 2
    result = plain.verify("--lf", "--lfnf=none", fresh=True)
    assert "passed" not in result.parseoutcomes()
