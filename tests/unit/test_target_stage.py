"""Stage Two: only behind certificates, on whatever carrier, and never a run that was not compared."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from real_runs import (
    CPU,
    MATMUL,
    MATMUL_WIDE,
    METAL,
    NEG,
    NEG_INT,
    SUM,
    SUM_WIDE,
    Around,
    Opened,
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
from pytest_kernelverify.carriers.base import ArithmeticStateError, View
from pytest_kernelverify.catalog.classify import Obligation, obligations
from pytest_kernelverify.evidence.record import EvidenceStage
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
