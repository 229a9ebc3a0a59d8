"""Stage Two: only behind certificates, on whatever carrier, and never a run that was not compared."""

from __future__ import annotations

from collections import Counter
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
    NEG_INT,
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
    LogicalKernel,
    OracleCertificate,
    OracleStageResult,
    Outcome,
    PlanKey,
    StageReport,
    Tolerance,
    VerificationClass,
    VerificationStage,
    classify_profile_plans,
    run_target_stage,
)
from pytest_kernelverify.carriers.base import ArithmeticStateError, KernelError, View
from pytest_kernelverify.catalog.classify import Obligation, obligations
from pytest_kernelverify.evidence.record import EvidenceStage
from pytest_kernelverify.running.run_case import CaseRun
from pytest_kernelverify.stages import target as target_module
from pytest_kernelverify.stages.authority import reference_plan
from pytest_kernelverify.stages.target import TargetStage

EMPTY = OracleStageResult(StageReport(EvidenceStage.ORACLE, "cpu-compiled", (), ()), ())
NUMERICAL = VerificationClass.NUMERICAL


def on_metal(what: PlanKey | str, verification_class: VerificationClass | None = None) -> tuple[Obligation, ...]:
    return owed(what, verification_class, profile=METAL, stage=VerificationStage.TARGET)


def records_of(what: PlanKey | str, report: StageReport) -> list[EvidenceRecord]:
    name = what.text if isinstance(what, PlanKey) else what
    return [record for record in report.records if name in (record.case.plan, record.case.subject)]


# Before anything is prepared -------------------------------------------------------------------------------


@pytest.fixture
def nothing_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_module, "open_carrier", Opened())


@pytest.mark.usefixtures("nothing_opens")
@pytest.mark.parametrize("profile", ["metal-tilelang", None, 3])
def test_a_target_that_is_no_profile_is_a_type_error_before_anything_is_opened(profile: Any) -> None:
    with pytest.raises(TypeError, match="profile must be a VerificationProfile"):
        run_target_stage(profile, EMPTY)


@pytest.mark.usefixtures("nothing_opens")
def test_a_forged_target_profile_is_a_value_error_before_anything_is_opened() -> None:
    with pytest.raises(ValueError, match="differs from the installed profile"):
        run_target_stage(replace(METAL, error_channel=True), EMPTY)


@pytest.mark.usefixtures("nothing_opens")
def test_run_target_stage_shall_require_a_target_stage_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle_only = replace(CPU, stages=(VerificationStage.ORACLE,))
    monkeypatch.setattr("pytest_kernelverify.catalog.classify.manifest_of", lambda profile: None)
    with pytest.raises(ValueError, match="profile 'cpu-compiled' is no target; its roles: oracle"):
        run_target_stage(oracle_only, EMPTY)


@pytest.mark.usefixtures("nothing_opens")
@pytest.mark.parametrize("given", [None, (), EMPTY.report, OracleStageResult(EMPTY.report, ["x"])])  # type: ignore[arg-type]
def test_what_is_no_oracle_result_is_a_type_error_before_anything_is_opened(given: Any) -> None:
    with pytest.raises(TypeError, match="oracle_result"):
        run_target_stage(CPU, given)


@pytest.mark.usefixtures("nothing_opens")
def test_a_result_of_another_stage_is_a_value_error_before_anything_is_opened() -> None:
    target = OracleStageResult(replace(EMPTY.report, stage=EvidenceStage.TARGET), ())
    with pytest.raises(ValueError, match="expected the oracle stage of 'cpu-compiled'"):
        run_target_stage(CPU, target)


def test_a_wrong_arithmetic_state_at_the_start_of_stage_two_is_a_runtime_error(monkeypatch: pytest.MonkeyPatch) -> None:
    carrier = Around()

    def check(where: str) -> None:
        raise ArithmeticStateError(f"{where}: subnormal operands are flushed to zero")

    carrier.check = check
    with pytest.raises(RuntimeError, match="at the start of Stage Two: subnormal operands are flushed"):
        target_stage(carrier)
    assert "launch" not in carrier.calls


# A whole Stage Two: the CPU target --------------------------------------------------------------------------


def test_the_cpu_target_passes_stage_two_whole() -> None:
    report = target_report()
    assert (report.stage, report.profile_id, report.certificates) == (EvidenceStage.TARGET, "cpu-compiled", ())
    assert Counter(record.outcome for record in report.records).keys() == {Outcome.PASSED, Outcome.DEFERRED}


def test_stage_two_verifies_every_active_plan_and_class_and_every_subject() -> None:
    found = {(r.case.plan or r.case.subject, r.verification_class) for r in target_report().records}
    for obligation in obligations(CPU, VerificationStage.TARGET):
        name = obligation.plan.text if obligation.plan is not None else obligation.subject
        assert (name, obligation.verification_class.value) in found


def test_a_plan_deferred_on_the_target_has_exactly_one_deferred_record_with_its_reason() -> None:
    for row in classify_profile_plans(CPU):
        if row.reason is not None:
            (record,) = records_of(row.plan, target_report())
            assert (record.outcome, record.diagnostic) == (Outcome.DEFERRED, row.reason)


def test_where_target_and_oracle_are_one_function_generic_judges_and_the_record_says_so() -> None:
    for record in target_report().records:
        if record.outcome is Outcome.DEFERRED:
            assert not record.self_comparison
            continue
        plan = PlanKey.from_text(record.case.plan) if record.case.plan else None
        same = plan is None or reference_plan(plan) == plan
        assert record.self_comparison == same, record.case.case_id
        assert record.authority == ("generic" if same else "certificate")


def test_a_float32_accumulator_target_is_judged_by_the_float64_oracle_and_names_both_certificates() -> None:
    by_plan = {certificate.plan: certificate for certificate in oracle_result().certificates}
    for plan, wide in ((SUM, SUM_WIDE), (MATMUL, MATMUL_WIDE)):
        expected = tuple(sorted((by_plan[plan].id, by_plan[wide].id)))
        for record in records_of(plan, target_report()):
            assert record.certificates == expected
            assert record.authority == "certificate"


def test_the_float64_oracles_words_are_what_a_float32_target_is_compared_with() -> None:
    """The oracle alone is altered: then the deviations, which say how far target and oracle are apart, move."""
    (obligation,) = owed(SUM, NUMERICAL, stage=VerificationStage.TARGET)
    plain = TargetStage(CPU, Around(), oracle_stage(), oracle_stage()).evidence(obligation)

    def after(kernel: LogicalKernel, plan: Any, operands: Any, output: View, parameters: Any) -> None:
        if plan == SUM_WIDE and output.layout.size:
            output.memory[output.layout.offset] ^= 1  # the rounding error of an oracle, still inside its envelope

    moved = TargetStage(CPU, Around(), oracle_stage(Around(after=after)), oracle_stage()).evidence(obligation)
    assert [record.deviations for record in plain] != [record.deviations for record in moved]


def test_numerical_cases_shall_use_the_single_path_float32_gamma_envelope_and_record_deviations() -> None:
    for plan in (SUM, SUM_WIDE, MATMUL, MATMUL_WIDE):
        found = [r for r in records_of(plan, target_report()) if r.verification_class == "numerical"]
        assert found
        for record in found:
            assert record.policy == "stage-two-single-path-gamma-v1"
            assert record.bound is None or record.tolerance == Tolerance(absolute=record.bound)
            assert record.deviations.maximum_ulps is not None


def test_a_single_path_bound_is_half_of_the_two_path_one_but_for_the_floor() -> None:
    (obligation,) = owed(SUM, NUMERICAL, stage=VerificationStage.TARGET)
    first = {r.case.case_id: r for r in records_of(SUM, oracle_result().report)}
    for record in records_of(SUM, target_report()):
        if record.verification_class == "numerical" and record.bound and record.worst_ratio:
            twin = first[record.case.case_id]
            assert twin.bound is not None
            assert 0 < record.bound < twin.bound
            assert obligation.kernel == record.case.kernel


def test_cases_and_inputs_are_the_same_in_both_stages() -> None:
    first = {r.case.case_id: r for r in oracle_result().report.records}
    for record in target_report().records:
        twin = first[record.case.case_id]
        assert record.target_input_hashes == twin.target_input_hashes
        assert record.case == twin.case


def test_oracle_only_probes_stay_out_of_stage_two() -> None:
    first = {r.case.case_id for r in oracle_result().report.records}
    second = {r.case.case_id for r in target_report().records}
    assert second < first
    assert all("matmul" in case_id for case_id in first - second)


def test_catalogs_shall_cover_non_compact_and_hierarchical_layouts_and_record_effective_shapes() -> None:
    layouts = [layout for record in target_report().records for layout in record.case.layouts]
    assert any(isinstance(mode, tuple) for layout in layouts for mode in layout.shape)
    assert any(layout.folded() is None for layout in layouts)
    assert any(0 in [step for mode in layout.leaves for _, step in mode] for layout in layouts)
    assert any(layout.offset for layout in layouts)


def test_an_authorized_hierarchical_contraction_records_hashes_shapes_length_deviations_tolerance_and_outcome() -> None:
    found = [
        record
        for record in records_of(MATMUL, target_report())
        if any(layout.folded() is None for layout in record.case.layouts)
    ]
    assert found
    for record in found:
        assert len(record.target_input_hashes) == len(record.case.layouts) == 2
        assert record.case.contraction_length == record.case.layouts[0].extents[-1]
        assert record.deviations.maximum_ulps is not None
        assert isinstance(record.tolerance, Tolerance)
        assert record.outcome is Outcome.PASSED


# Another target: Metal's plans, launched on the CPU -------------------------------------------------------------------


@pytest.mark.parametrize("what", [NEG, NEG_INT, SUM, MATMUL, "copy", "coverage"])
def test_a_target_of_other_kernel_ids_is_verified_behind_the_oracles_certificates(what: PlanKey | str) -> None:
    stage = target_stage(Around())
    records = [record for o in on_metal(what) for record in stage.evidence(o)]
    assert {record.outcome for record in records} <= {Outcome.PASSED, Outcome.DEFERRED}
    ran = [record for record in records if record.outcome is Outcome.PASSED]
    assert ran
    assert {record.case.kernel.kernel_id.split(".")[0] for record in ran} == {"metal"}
    assert not any(record.self_comparison for record in ran)
    assert {record.authority for record in ran} == {"certificate" if isinstance(what, PlanKey) else "generic"}


def test_a_declared_limit_is_one_deferred_record_with_its_reason_and_a_requirement_of_its_own() -> None:
    stage = target_stage(Around())
    (obligation,) = on_metal(NEG_INT)
    (deferred,) = (r for r in stage.evidence(obligation) if r.outcome is Outcome.DEFERRED)
    assert deferred.diagnostic == "this profile's kernels have no way to report an error"
    requirements = {r.id: r for r in stage.requirements(obligation)}
    assert len(requirements) == 2
    own = requirements[deferred.requirement]
    assert (own.verification_class, own.case_count, own.reason) == ("deferred", 1, deferred.diagnostic)
    others = {r.requirement for r in stage.evidence(obligation)} - {deferred.requirement}
    assert {requirements[other].verification_class for other in others} == {"exact_arithmetic"}


def test_the_profile_shall_synchronize_target_work_before_it_is_decoded() -> None:
    carrier = Around()
    target_stage(carrier).evidence(on_metal(NEG)[0])
    assert "fetch" in carrier.calls
    pending = False
    for call in carrier.calls:
        if call == "launch":
            pending = True
        elif call == "synchronize":
            pending = False
        assert not (call == "fetch" and pending)


@pytest.mark.parametrize("verification_class", [VerificationClass.STRUCTURAL, VerificationClass.ANALYTIC])
def test_exact_cases_shall_preserve_bit_identity(verification_class: VerificationClass) -> None:
    stage = target_stage(Around(after=flip_first("reduce_sum")))
    failed = [r for r in stage.evidence(on_metal(SUM, verification_class)[0]) if r.outcome is Outcome.FAILED]
    assert failed
    for record in failed:
        assert record.authority == "certificate"
        assert record.bound is None
        assert record.mismatches == 1


def test_one_ulp_in_a_numerical_case_is_inside_the_envelope_and_still_recorded() -> None:
    stage = target_stage(Around(after=flip_first("reduce_sum")))
    long = [r for r in stage.evidence(on_metal(SUM, NUMERICAL)[0]) if r.case.contraction_length >= 63]
    assert long
    assert {record.outcome for record in long} == {Outcome.PASSED}
    assert any(record.mismatches for record in long)


def test_a_numerical_result_far_outside_its_envelope_fails() -> None:
    def after(kernel: LogicalKernel, plan: Any, operands: Any, output: View, parameters: Any) -> None:
        if output.layout.size:
            output.memory[output.layout.offset] ^= 1 << 22

    stage = target_stage(Around(after=after))
    failed = [r for r in stage.evidence(on_metal(SUM, NUMERICAL)[0]) if r.outcome is Outcome.FAILED]
    assert failed
    assert all(record.worst_ratio is not None and record.worst_ratio > 1 for record in failed)


def test_subnormals_a_target_may_flush_widen_its_envelope() -> None:
    (obligation,) = on_metal(SUM, NUMERICAL)
    wide = {r.case.case_id: r.bound for r in target_stage(Around()).evidence(obligation)}
    narrow = {r.case.case_id: r.bound for r in records_of(SUM, target_report()) if r.verification_class == "numerical"}
    common = [case_id for case_id in wide if narrow.get(case_id)]
    assert common
    assert all(wide[case_id] >= narrow[case_id] for case_id in common)


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
