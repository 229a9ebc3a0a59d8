"""Stage Two where it may not run or does not succeed: blocked, deferred and error evidence, and its order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from real_runs import (
    CPU,
    EXP,
    MATMUL,
    MATMUL_WIDE,
    METAL,
    NEG,
    SUM,
    SUM_WIDE,
    Around,
    Opened,
    few,
    flip_first,
    oracle_result,
    oracle_stage,
    owed,
    target_report,
    target_stage,
)

from pytest_kernelverify import (
    EvidenceRecord,
    OracleCertificate,
    OracleStageResult,
    Outcome,
    PlanKey,
    StageReport,
    VerificationClass,
    VerificationStage,
    run_target_stage,
)
from pytest_kernelverify.carriers.base import ArithmeticStateError, KernelError
from pytest_kernelverify.catalog.classify import Obligation
from pytest_kernelverify.evidence.record import EvidenceStage
from pytest_kernelverify.running.run_case import CaseRun
from pytest_kernelverify.stages import target as target_module
from pytest_kernelverify.stages.target import TargetStage

EMPTY = OracleStageResult(StageReport(EvidenceStage.ORACLE, "cpu-compiled", (), ()), ())
NUMERICAL = VerificationClass.NUMERICAL


def on_metal(what: PlanKey | str, verification_class: VerificationClass | None = None) -> tuple[Obligation, ...]:
    return owed(what, verification_class, profile=METAL, stage=VerificationStage.TARGET)


def records_of(what: PlanKey | str, report: StageReport) -> list[EvidenceRecord]:
    name = what.text if isinstance(what, PlanKey) else what
    return [record for record in report.records if name in (record.case.plan, record.case.subject)]


# What blocks -----------------------------------------------------------------------------------------------


class Knows:
    """An authority that has only the certificates it is given."""

    def __init__(self, *certificates: OracleCertificate | None) -> None:
        self.certificates = {c.plan: c for c in certificates if c is not None}

    def certificate(self, what: Any) -> OracleCertificate | None:
        return self.certificates.get(what)

    def refusal(self, what: Any) -> str:
        return "not proved"


@pytest.mark.parametrize(("plan", "wide"), [(SUM, SUM_WIDE), (MATMUL, MATMUL_WIDE)], ids=["reduce_sum", "matmul"])
def test_stage_two_blocks_a_target_without_float64_oracle_scope(plan: PlanKey, wide: PlanKey) -> None:
    carrier = Around()
    stage = target_stage(carrier, Knows(oracle_stage().certificate(plan)))
    for obligation in on_metal(plan):
        reason = f"no certificate for {wide.text}: not proved"
        assert stage.gate(obligation) == reason
        records = stage.evidence(obligation)
        assert records
        for record in records:
            if record.outcome is Outcome.DEFERRED:
                continue
            assert (record.outcome, record.diagnostic) == (Outcome.BLOCKED, reason)
            assert (record.receipt, record.certificates, record.output_hash) == (None, (), None)
            assert record.target_input_hashes
    assert "launch" not in carrier.calls


def test_the_float64_oracle_alone_does_not_authorise_where_the_oracle_has_the_targets_own_plan() -> None:
    stage = target_stage(Around(), Knows(oracle_stage().certificate(SUM_WIDE)))
    assert stage.gate(on_metal(SUM)[0]) == f"no certificate for {SUM.text}: not proved"
    both = target_stage(Around(), Knows(oracle_stage().certificate(SUM_WIDE), oracle_stage().certificate(SUM)))
    assert both.gate(on_metal(SUM)[0]) is None


def test_a_certificate_that_lacks_a_required_class_blocks_exactly_that_class() -> None:
    wide, own = oracle_stage().certificate(SUM_WIDE), oracle_stage().certificate(SUM)
    assert wide is not None
    lacking = replace(wide, classes=(VerificationClass.STRUCTURAL, VerificationClass.ANALYTIC))
    stage = target_stage(Around(), Knows(lacking, own))
    gates = {o.verification_class: stage.gate(o) for o in on_metal(SUM)}
    assert gates == {
        VerificationClass.STRUCTURAL: None,
        VerificationClass.ANALYTIC: None,
        NUMERICAL: f"the certificate of {SUM_WIDE.text} lacks numerical",
    }


def test_a_certificate_of_another_binary_blocks() -> None:
    genuine = oracle_stage().certificate(NEG)
    assert genuine is not None
    stage = target_stage(Around(), Knows(replace(genuine, receipt="0" * 64)))
    assert str(stage.gate(on_metal(NEG)[0])).endswith("binds another binary than the oracle that is loaded")


def test_blocked_evidence_replaces_only_the_affected_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, NEG, SUM, SUM_WIDE, "copy", EXP)
    monkeypatch.setattr(target_module, "open_carrier", Opened(Around()))
    kept = tuple(c for c in oracle_result().certificates if c.plan != NEG)
    result = OracleStageResult(replace(oracle_result().report, certificates=kept), kept)
    report = run_target_stage(CPU, result)
    outcomes = {what: {r.outcome for r in records_of(what, report)} for what in (NEG, SUM, "copy", EXP)}
    assert outcomes == {
        NEG: {Outcome.BLOCKED},
        SUM: {Outcome.PASSED},
        "copy": {Outcome.PASSED},
        EXP: {Outcome.DEFERRED},
    }


def test_nothing_at_all_is_authorised_by_an_empty_result(monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, NEG, SUM, MATMUL)
    carrier = Around()
    monkeypatch.setattr(target_module, "open_carrier", Opened(carrier))
    report = run_target_stage(CPU, EMPTY)
    assert {record.outcome for record in report.records} == {Outcome.BLOCKED}
    assert {record.diagnostic.split(": ")[1] for record in report.records if record.diagnostic} == {
        "no certificate covers it"
    }
    assert "launch" not in carrier.calls
    assert report.receipts == ()


def test_the_gate_of_a_failed_oracle_names_the_witness() -> None:
    oracle = oracle_stage(Around(after=flip_first("neg")))
    stage = TargetStage(METAL, Around(), oracle, oracle)
    reason = str(stage.gate(on_metal(NEG)[0]))
    assert reason.startswith(f"no certificate for {NEG.text}: Stage One failed at neg-f32_f32-exact_arithmetic-")


# What the oracle defers --------------------------------------------------------------------------------------


def test_an_explicit_oracle_deferral_shall_emit_one_deferred_record_and_run_nothing() -> None:
    carrier = Around()
    stage = target_stage(carrier)
    (plain,) = on_metal(EXP)
    active = replace(plain, verification_class=VerificationClass.EXACT_ARITHMETIC, reason=None)
    assert stage.gate(active) is None
    (record,) = stage.evidence(active)
    assert record.outcome is Outcome.DEFERRED
    assert record.verification_class == "deferred"
    assert record.diagnostic == f"the oracle defers this plan: {plain.reason}"
    assert record.case.case_id == "exp-f32_f32-exact_arithmetic-oracle_deferred"
    (requirement,) = stage.requirements(active)
    assert (requirement.id, requirement.case_count) == (record.requirement, 1)
    assert "launch" not in carrier.calls


# Errors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raised", [RuntimeError("no device"), ValueError("bad grid"), KernelError("it fell over")])
def test_a_target_error_shall_leave_complete_error_evidence_and_independent_cases_continue(raised: Exception) -> None:
    def before(*arguments: Any) -> None:
        if carrier.calls.count("launch") == 1:
            raise raised

    carrier = Around(before=before)
    (obligation,) = on_metal(SUM, NUMERICAL)
    good, bad = target_stage(Around()).evidence(obligation), target_stage(carrier).evidence(obligation)
    assert bad[1:] == good[1:]
    error = bad[0]
    assert (error.outcome, error.diagnostic) == (Outcome.ERROR, f"{type(raised).__name__}: {raised}")
    assert (error.case, error.target_input_hashes) == (good[0].case, good[0].target_input_hashes)
    assert (error.certificates, error.authority, error.policy) == (
        good[0].certificates,
        good[0].authority,
        good[0].policy,
    )
    assert error.output_hash is None


def test_an_exception_of_our_own_code_is_not_made_evidence() -> None:
    def before(*arguments: Any) -> None:
        raise TypeError("ours")

    with pytest.raises(TypeError, match="ours"):
        target_stage(Around(before=before)).evidence(on_metal(NEG)[0])


def test_an_arithmetic_state_that_a_target_leaves_wrong_is_an_error_record() -> None:
    carrier = Around()
    stage = target_stage(carrier)

    def check(where: str) -> None:
        raise ArithmeticStateError(f"{where}: rounding is upward")

    carrier.check = check
    records = stage.evidence(on_metal(NEG)[0])
    ran = [r for r in records if r.outcome is not Outcome.DEFERRED]
    assert {(r.outcome, r.diagnostic) for r in ran} == {(Outcome.ERROR, "after metal.neg: rounding is upward")}


def test_a_certified_oracle_that_fails_later_is_an_error_and_not_a_verdict_on_the_target() -> None:
    broken = Around()
    oracle = oracle_stage(broken)
    assert oracle.certificate(NEG) is not None
    oracle._runs.clear()

    def before(*arguments: Any) -> None:
        raise KernelError("it fell over")

    broken.before = before
    stage = TargetStage(METAL, Around(), oracle, oracle)
    ran = [r for r in stage.evidence(on_metal(NEG)[0]) if r.outcome is not Outcome.DEFERRED]
    assert {(r.outcome, r.diagnostic) for r in ran} == {
        (Outcome.ERROR, "the certified oracle did not run: KernelError: it fell over")
    }


@pytest.mark.parametrize("word", [0x7FC00000, 0x7F7FFFFF])
def test_a_certified_oracle_whose_word_leaves_its_own_float64_envelope_is_an_error(word: int) -> None:
    oracle = oracle_stage()
    oracle.certificate(SUM_WIDE)
    oracle.certificate(SUM)
    stage = TargetStage(METAL, Around(), oracle, oracle)
    plain = oracle.run

    def strayed(case: Any, plan: PlanKey) -> CaseRun:
        run = plain(case, plan)
        return CaseRun(words=np.full_like(run.words, word)) if run.words is not None else run

    oracle.run = strayed  # type: ignore[method-assign]
    records = [r for r in stage.evidence(on_metal(SUM, NUMERICAL)[0]) if r.case.output_layout.size]
    assert {record.outcome for record in records} == {Outcome.ERROR}
    assert all("the certified oracle's element 0 leaves its own envelope" in str(r.diagnostic) for r in records)


# Determinism -----------------------------------------------------------------------------------------------


def test_evidence_in_any_order_gives_equal_records() -> None:
    what: Sequence[PlanKey | str] = (NEG, SUM, "copy", EXP)
    first, second = target_stage(Around()), target_stage(Around())
    forward = {o: first.evidence(o) for plan in what for o in on_metal(plan)}
    backward = {o: second.evidence(o) for plan in what[::-1] for o in on_metal(plan)[::-1]}
    assert {o: [r.line for r in records] for o, records in forward.items()} == {
        o: [r.line for r in records] for o, records in backward.items()
    }


def test_a_gate_is_the_same_whether_or_not_the_evidence_exists() -> None:
    asked, proved = target_stage(Around()), target_stage(Around())
    (obligation,) = on_metal(NEG)
    proved.evidence(obligation)
    assert asked.gate(obligation) == proved.gate(obligation) is None


def test_run_target_stage_gives_what_its_obligations_give_and_tells_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, NEG, EXP)
    seen: list[tuple[int, int, str]] = []
    report = run_target_stage(CPU, oracle_result(), progress=lambda *step: seen.append(step))
    assert [step[:2] for step in seen] == [(1, 2), (2, 2)]
    assert report.records == tuple(r for what in (NEG, EXP) for r in records_of(what, target_report()))
    assert {r.id for r in report.requirements} == {record.requirement for record in report.records}
    assert [receipt.kernel.kernel_id for receipt in report.receipts] == ["cpu.neg"]
