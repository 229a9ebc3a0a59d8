"""Items: a test function that requests ``kv_case`` becomes one for each plan x class of its stage."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.catalog.profile import VerificationStage
from pytest_kernelverify.session import unaimed_key
from pytest_kernelverify.session.runs import owed_in
from pytest_kernelverify.session.settings import settings_key
from pytest_kernelverify.session.start import refuse_distribution

__all__ = ["drop_unaimed", "kv_mark", "parametrize"]

_UNAIMED = object()

_ID = re.compile(r"[a-z0-9_]+(-[a-z0-9_]+)*")
_STAGES = {"kv_oracle": VerificationStage.ORACLE, "kv_target": VerificationStage.TARGET}


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Called by ``pytest_generate_tests``. Without a target one placeholder stands for the items, to be deselected."""
    config = metafunc.config
    stages = [stage for name, stage in _STAGES.items() if name in metafunc.fixturenames]
    if len(stages) != 1:
        pytest.fail(
            f"{metafunc.function.__name__} requests kv_case; it must also request one of kv_oracle and kv_target",
            pytrace=False,
        )
    if settings_key not in config.stash:
        config.stash[unaimed_key] = True
        metafunc.parametrize("kv_case", [pytest.param(_UNAIMED, id="no_target")], indirect=True)
        return
    owed = _owed(config, stages[0])
    metafunc.parametrize("kv_case", [pytest.param(o, id=o.token, marks=kv_mark(o)) for o in owed], indirect=True)


def drop_unaimed(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the placeholders. Called by ``pytest_collection_modifyitems``."""
    unaimed = [item for item in items if _param(item) is _UNAIMED]
    items[:] = [item for item in items if _param(item) is not _UNAIMED]
    config.hook.pytest_deselected(items=unaimed)


def _param(item: pytest.Item) -> object:
    callspec = getattr(item, "callspec", None)
    return None if callspec is None else callspec.params.get("kv_case")


def _owed(config: pytest.Config, stage: VerificationStage) -> Sequence[Obligation]:
    try:
        refuse_distribution(config.stash[settings_key].distribution)
        owed = owed_in(config, stage)
    except (pytest.UsageError, RuntimeError, ValueError) as error:
        pytest.fail(str(error), pytrace=False)
    _check_ids(owed)
    return owed


def _check_ids(owed: Sequence[Obligation]) -> None:
    seen: dict[str, Obligation] = {}
    for obligation in owed:
        token = obligation.token
        if not _ID.fullmatch(token):
            pytest.fail(f"{token!r} is no test id; tokens are of a-z, 0-9 and _, with - between them", pytrace=False)
        other = seen.setdefault(token, obligation)
        if other is not obligation:
            texts = [o.plan.text if o.plan is not None else o.subject for o in (other, obligation)]
            pytest.fail(f"two obligations have the test id {token!r}: {texts[0]} and {texts[1]}", pytrace=False)


def kv_mark(obligation: Obligation) -> pytest.MarkDecorator:
    """The marker for exact selection, e.g. ``-m "kv(operation='matmul', stage='target')"``."""
    plan, subject = obligation.plan, obligation.subject
    return pytest.mark.kv(
        operation=plan.operation if plan is not None else subject,
        stage=obligation.stage.value,
        cls=obligation.verification_class.value,
        plan=plan.text if plan is not None else subject,
    )
