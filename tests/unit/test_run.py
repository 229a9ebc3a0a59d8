"""Run: both stages of one target on demand, and from a selection to a report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from real_runs import (
    CPU,
    EXP,
    METAL,
    NEG,
    NEG_INT,
    SUM,
    SUM_WIDE,
    Around,
    Opened,
    flip_first,
    owed,
)

from pytest_kernelverify import Outcome, VerificationStage
from pytest_kernelverify.catalog.classify import Obligation, obligations
from pytest_kernelverify.evidence.record import EvidenceStage
from pytest_kernelverify.report.assemble import assemble, selection_closure
from pytest_kernelverify.stages import run as run_module
from pytest_kernelverify.stages.run import Run


def run_on(monkeypatch: pytest.MonkeyPatch, carrier: Around, profile: Any = CPU, **rest: Any) -> Run:
    """A run whose target and oracle both use this carrier."""
    monkeypatch.setattr(run_module, "open_carrier", Opened(carrier))
    return Run(profile, **rest)


def target(what: Any, verification_class: Any = None, profile: Any = CPU) -> tuple[Obligation, ...]:
    return owed(what, verification_class, profile=profile, stage=VerificationStage.TARGET)


# What a run owes ----------------------------------------------------------------------------------------------------


def test_a_run_owes_stage_one_of_the_oracle_and_then_stage_two_of_the_target() -> None:
    for profile in (CPU, METAL):
        assert Run(profile).obligations() == (
            *obligations(CPU, VerificationStage.ORACLE),
            *obligations(profile, VerificationStage.TARGET),
        )


@pytest.mark.parametrize("profile", ["cpu-compiled", None])
def test_a_run_of_what_is_no_profile_is_a_type_error(profile: Any) -> None:
    with pytest.raises(TypeError, match="profile must be a VerificationProfile"):
        Run(profile)


def test_a_run_of_a_forged_profile_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="differs from the installed profile"):
        Run(replace(METAL, error_channel=True))


def test_making_a_run_opens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "open_carrier", Opened())
    run = Run(CPU)
    run.obligations()


def test_preflight_finds_a_missing_runtime_and_opens_the_target_first(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = run_module.open_carrier

    def opening(profile_id: str, carrier: str) -> Any:
        opened.append(profile_id)
        return real(profile_id, carrier)

    monkeypatch.setattr(run_module, "open_carrier", opening)
    with pytest.raises(RuntimeError, match="profile 'metal-tilelang' cannot run"):
        Run(METAL).preflight()
    assert opened == ["metal-tilelang"]


def test_preflight_of_the_cpu_opens_one_carrier_for_both_stages_and_launches_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    carrier = Around()
    opened = Opened(carrier)
    monkeypatch.setattr(run_module, "open_carrier", opened)
    run = Run(CPU)
    run.preflight()
    run.preflight()
    assert opened.asked == ["cpu-compiled"]
    assert "launch" not in carrier.calls


# On demand ---------------------------------------------------------------------------------------------------------


def test_a_gate_proves_exactly_what_its_obligation_rests_on(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = set()

    def before(kernel: Any, plan: Any, *rest: Any) -> None:
        launched.add(plan)

    run = run_on(monkeypatch, Around(before=before))
    (obligation,) = target(NEG)
    assert launched == set()
    assert run.gate(obligation) is None
    assert launched == {NEG}


def test_the_gate_of_a_stage_one_obligation_is_open_without_any_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    carrier = Around()
    run = run_on(monkeypatch, carrier)
    assert run.gate(owed(NEG)[0]) is None
    assert run.needed(owed(NEG)[0]) == ()
    assert run.dependencies(owed(NEG)[0]) == ()
    assert carrier.calls == []


def test_a_failed_oracle_blocks_its_own_targets_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_on(monkeypatch, Around(after=flip_first("neg")))
    assert str(run.gate(target(NEG)[0])).startswith(f"no certificate for {NEG.text}: Stage One failed at ")
    assert {r.outcome for r in run.evidence(target(NEG)[0])} == {Outcome.BLOCKED}
    assert run.gate(target(SUM)[0]) is None


def test_a_float32_sum_rests_on_all_classes_of_the_float64_plan_and_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = run_on(monkeypatch, Around())
    for obligation in target(SUM):
        assert run.needed(obligation) == (*owed(SUM_WIDE), *owed(SUM))
    assert run.needed(target("copy")[0]) == ()
    assert run.needed(target(EXP)[0]) == ()


def test_dependencies_are_the_stage_one_records_an_obligation_rests_on(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_on(monkeypatch, Around())
    records = run.dependencies(target(NEG)[0])
    assert records == run.evidence(owed(NEG)[0])
    assert {record.stage for record in records} == {EvidenceStage.ORACLE}


def test_evidence_is_the_same_in_whatever_order_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [o for what in (NEG, SUM, SUM_WIDE, "copy", EXP) for o in (*owed(what), *target(what))]
    first, second = run_on(monkeypatch, Around()), run_on(monkeypatch, Around())
    forward = {o: [r.line for r in first.evidence(o)] for o in asked}
    backward = {o: [r.line for r in second.evidence(o)] for o in reversed(asked)}
    assert forward == backward


# From records to a report ------------------------------------------------------------------------------------------


def test_a_selection_brings_along_what_it_rests_on_once_and_in_the_runs_order(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_on(monkeypatch, Around())
    closure = selection_closure(run, [*target(SUM), *target(NEG)])
    expected = {*owed(SUM), *owed(SUM_WIDE), *owed(NEG), *target(SUM), *target(NEG)}
    assert set(closure) == expected
    assert len(closure) == len(expected)
    assert list(closure) == [o for o in run.obligations() if o in expected]


def test_certificates_follow_from_records_that_another_process_made(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = run_on(monkeypatch, Around()), run_on(monkeypatch, Around())
    records = [r for what in (NEG, "copy") for o in owed(what) for r in there.evidence(o)]
    found = here.certificates([NEG, "copy", NEG_INT], records)
    assert [certificate.what for certificate in found] == [NEG.text, "copy"]
    assert found == there.certificates([NEG, "copy"], records[::-1])


def test_part_of_the_evidence_gives_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_on(monkeypatch, Around())
    records = list(run.evidence(owed(NEG)[0]))
    assert run.certificates([NEG], records[1:]) == ()
    assert len(run.certificates([NEG], records)) == 1
    assert run.certificates([NEG], []) == ()


def test_the_report_of_a_selection_is_the_same_from_own_and_from_foreign_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, there = run_on(monkeypatch, Around()), run_on(monkeypatch, Around())
    selected = [*target(NEG), *target(EXP)]
    records = [r for o in selection_closure(there, selected) for r in there.evidence(o)]
    assert assemble(here, selected).to_jsonl() == assemble(here, selected, records[::-1]).to_jsonl()


def test_receipts_of_both_stages_are_those_of_their_carriers(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_on(monkeypatch, Around(), METAL)
    kernel = target(NEG, profile=METAL)[0].kernel
    assert run.receipt(EvidenceStage.TARGET, kernel).kernel == kernel
    assert run.receipt(EvidenceStage.ORACLE, owed(NEG)[0].kernel).kernel.kernel_id == "cpu.neg"


def test_another_seed_reaches_both_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_kernelverify import VerificationClass

    zero, five = run_on(monkeypatch, Around()), run_on(monkeypatch, Around(), seed=5)
    for obligation in (*owed(SUM, VerificationClass.NUMERICAL), *target(SUM, VerificationClass.NUMERICAL)):
        first, second = zero.evidence(obligation), five.evidence(obligation)
        assert {record.outcome for record in second} == {Outcome.PASSED}
        assert [r.target_input_hashes for r in first] != [r.target_input_hashes for r in second]
        assert {r.case.seed for r in second} == {5}
