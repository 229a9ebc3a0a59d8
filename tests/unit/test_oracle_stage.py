"""Stage One: every obligation attempted against Generic, and a certificate only for complete passing coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from real_runs import (
    CPU,
    EXP,
    MATMUL,
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
)

from pytest_kernelverify import (
    ClassificationDisposition,
    EvidenceRecord,
    LogicalKernel,
    OracleCertificate,
    OracleStageResult,
    Outcome,
    PlanKey,
    StageReport,
    VerificationClass,
    VerificationStage,
    classify_profile_plans,
    run_oracle_stage,
)
from pytest_kernelverify.carriers.base import ArithmeticStateError, KernelError, View
from pytest_kernelverify.catalog.classify import obligations
from pytest_kernelverify.catalog.load import manifest_of
from pytest_kernelverify.evidence.certificate import reconstruct
from pytest_kernelverify.evidence.record import EvidenceStage
from pytest_kernelverify.numerics.comparison import Deviations, Tolerance
from pytest_kernelverify.stages import oracle as oracle_module
from pytest_kernelverify.stages.judge import Expectation
from pytest_kernelverify.stages.oracle import OracleStage
from pytest_kernelverify.stages.references import References

ACTIVE = [row for row in classify_profile_plans(CPU) if row.disposition is ClassificationDisposition.ACTIVE]
DEFERRED = [row for row in classify_profile_plans(CPU) if row.disposition is ClassificationDisposition.DEFERRED]


def records_of(what: PlanKey | str, result: OracleStageResult) -> list[EvidenceRecord]:
    name = what.text if isinstance(what, PlanKey) else what
    return [record for record in result.report.records if name in (record.case.plan, record.case.subject)]


# Who may be an oracle ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["cpu-compiled", None, 3])
def test_run_oracle_stage_of_what_is_no_profile_is_a_type_error(profile: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle_module, "open_carrier", Opened())
    with pytest.raises(TypeError, match="profile must be a VerificationProfile"):
        run_oracle_stage(profile)


def test_run_oracle_stage_shall_require_a_profile_registered_for_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle_module, "open_carrier", Opened())
    with pytest.raises(ValueError, match="profile 'metal-tilelang' is no oracle; its roles: target"):
        run_oracle_stage(METAL)
    forged = replace(METAL, stages=(VerificationStage.ORACLE, VerificationStage.TARGET))
    with pytest.raises(ValueError, match="differs from the installed profile"):
        run_oracle_stage(forged)


def test_run_oracle_stage_offers_no_way_to_alter_a_result() -> None:
    from inspect import signature

    assert list(signature(run_oracle_stage).parameters) == ["profile", "seed", "progress"]


# A whole Stage One -------------------------------------------------------------------------------------------------


def test_run_oracle_stage_shall_return_an_immutable_result_of_a_report_and_certificates() -> None:
    result = oracle_result()
    assert isinstance(result, OracleStageResult)
    assert isinstance(result.report, StageReport)
    assert (result.report.stage, result.report.profile_id) == (EvidenceStage.ORACLE, "cpu-compiled")
    assert result.certificates == result.report.certificates
    for part, name in ((result, "report"), (result.report, "records"), (result.certificates[0], "plan")):
        with pytest.raises(FrozenInstanceError):
            setattr(part, name, ())
    for parts in (result.certificates, result.report.records, result.report.requirements, result.report.receipts):
        assert isinstance(parts, tuple)


def test_the_oracle_stage_shall_attempt_every_required_class_for_every_active_plan() -> None:
    attempted = {(r.case.plan, r.verification_class) for r in oracle_result().report.records if r.case.plan}
    for row in ACTIVE:
        for member in row.classes:
            assert (row.plan.text, member.value) in attempted


def test_the_shipped_library_passes_stage_one_whole() -> None:
    outcomes = Counter(record.outcome for record in oracle_result().report.records)
    assert set(outcomes) == {Outcome.PASSED, Outcome.DEFERRED}
    assert outcomes[Outcome.DEFERRED] == len(DEFERRED) == 28
    assert outcomes[Outcome.PASSED] >= 3000


def test_the_oracle_stage_shall_emit_one_record_for_every_deferred_plan_with_its_reason() -> None:
    for row in DEFERRED:
        (record,) = records_of(row.plan, oracle_result())
        assert record.outcome is Outcome.DEFERRED
        assert record.verification_class == "deferred"
        assert record.diagnostic == row.reason
        assert record.receipt is None
        assert record.output_hash is None


def test_the_oracle_stage_shall_emit_the_required_movement_and_structural_cases() -> None:
    for row in manifest_of(CPU).subjects:
        found = records_of(row.subject, oracle_result())
        assert found
        assert {record.verification_class for record in found} == {row.classes[0].value}


def test_pow_is_split_by_executable_plan() -> None:
    outcomes = {
        row.plan.output: {record.outcome for record in records_of(row.plan, oracle_result())}
        for row in classify_profile_plans(CPU)
        if row.plan.operation == "pow"
    }
    assert outcomes == {"i32": {Outcome.PASSED}, "f32": {Outcome.DEFERRED}}
    certified = {c.plan for c in oracle_result().certificates if c.operation == "pow"}
    assert certified == {row.plan for row in ACTIVE if row.plan.operation == "pow"}


def test_case_ids_are_unique_within_the_stage() -> None:
    ids = [record.case.case_id for record in oracle_result().report.records]
    assert len(set(ids)) == len(ids)


def test_every_record_refers_to_a_requirement_and_a_receipt_of_the_report() -> None:
    report = oracle_result().report
    requirements, receipts = {r.id for r in report.requirements}, {r.id for r in report.receipts}
    assert {record.requirement for record in report.records} == requirements
    assert {record.receipt for record in report.records} - {None} <= receipts
    assert {receipt.kernel for receipt in report.receipts} == {row.kernel for row in obligations_of_all()}


def obligations_of_all() -> Sequence[Any]:
    return obligations(CPU, VerificationStage.ORACLE)


def test_stage_one_floating_sums_shall_use_the_two_path_policy_and_record_deviations() -> None:
    for plan in (SUM, SUM_WIDE, MATMUL):
        found = [r for r in records_of(plan, oracle_result()) if r.verification_class == "numerical"]
        assert found
        for record in found:
            assert record.policy == "stage-one-two-path-gamma-v1"
            assert record.bound is None or record.tolerance == Tolerance(absolute=record.bound)
            assert record.deviations.maximum_ulps is not None
            assert record.deviations.maximum_absolute is not None
            assert record.deviations.maximum_relative is not None


def test_integer_numerical_cases_shall_be_exact() -> None:
    plan = PlanKey.from_text("reduce_sum(i32)->i32 compute=i32_checked acc=exact_integer")
    found = [r for r in records_of(plan, oracle_result()) if r.verification_class == "numerical"]
    assert found
    assert {record.policy for record in found if record.policy != "expected-error-v1"} == {"integer-exact-v1"}


def test_input_hashes_are_those_of_the_payloads() -> None:
    from pytest_kernelverify.cases.catalog import cases_for
    from pytest_kernelverify.numerics.payloads import encoded

    cases = {c.case_id: c for c in cases_for(NEG, None, VerificationClass.EXACT_ARITHMETIC, profile=CPU)}
    for record in records_of(NEG, oracle_result()):
        operands = cases[record.case.case_id].operands
        assert record.target_input_hashes == tuple(encoded(o.words, o.dtype).bit_hash for o in operands)
        assert record.oracle_input_hashes == record.target_input_hashes


# Certificates ------------------------------------------------------------------------------------------------------


def test_every_active_plan_and_every_subject_of_the_shipped_library_is_certified_once() -> None:
    certified = Counter(certificate.what for certificate in oracle_result().certificates)
    expected = {row.plan.text for row in ACTIVE} | {row.subject for row in manifest_of(CPU).subjects}
    assert certified == dict.fromkeys(expected, 1)


def test_a_certificate_shall_bind_profile_kernel_operation_plan_complete_classes_and_evidence() -> None:
    result = oracle_result()
    carrier = Around()
    for row in ACTIVE:
        (certificate,) = (c for c in result.certificates if c.plan == row.plan)
        assert isinstance(certificate, OracleCertificate)
        assert certificate.oracle_profile == "cpu-compiled"
        assert certificate.kernel == row.kernel
        assert certificate.operation == row.plan.operation
        assert certificate.classes == row.classes
        assert certificate.subject is None
        assert certificate.receipt == carrier.receipt(row.kernel).digest
        required = [r for r in result.report.requirements if r.plan == row.plan.text]
        reconstruct(certificate, required, records_of(row.plan, result))


def test_no_certificate_covers_a_deferred_plan() -> None:
    assert not {c.plan for c in oracle_result().certificates} & {row.plan for row in DEFERRED}
    assert oracle_stage().certificate(EXP) is None


def test_a_certificate_does_not_depend_on_the_order_of_its_evidence() -> None:
    stage = oracle_stage()
    evidence = [record for o in owed(SUM) for record in stage.evidence(o)]
    assert stage.reissue(SUM, evidence[::-1]) == stage.reissue(SUM, evidence) == stage.certificate(SUM)
    assert stage.certificate(SUM) is not None


def test_a_binary_of_another_digest_gets_another_certificate() -> None:
    mine, other = oracle_stage(), Around()
    other.artifact = "f" * 64
    first, second = mine.certificate(NEG), oracle_stage(other).certificate(NEG)
    assert first is not None
    assert second is not None
    assert (first.receipt, first.digest) != (second.receipt, second.digest)


def tampered(evidence: list[EvidenceRecord]) -> dict[str, list[EvidenceRecord]]:
    first = next(record for record in evidence if record.case.output_layout.size)
    others = [record for record in evidence if record is not first]
    foreign = oracle_stage().evidence(owed(NEG_INT)[0])[0]
    failed = oracle_stage(Around(after=flip_first("neg"))).evidence(owed(NEG)[0])
    same_failed = next(r for r in failed if r.case.case_id == first.case.case_id)
    assert same_failed.outcome is Outcome.FAILED
    return {
        "one missing": others,
        "none at all": [],
        "one twice": [first, *evidence],
        "one failed": [same_failed, *others],
        "one errored": [
            replace(
                first, outcome=Outcome.ERROR, diagnostic="RuntimeError: no", output_hash=None, mismatches=None,
                deviations=Deviations(None, None, None), signed_zero_mismatches=None, nan_payload_mismatches=None,
            ),
            *others,
        ],
        "one of another binary": [replace(first, receipt="f" * 16), *others],
        "one judged by another Generic": [replace(first, oracle_reference="f" * 16), *others],
        "one of another requirement": [replace(first, requirement=foreign.requirement), *others],
        "one of the other stage": [replace(first, stage=EvidenceStage.TARGET), *others],
        "one under a foreign id": [
            replace(first, case=replace(first.case, case_id="neg-f32_f32-exact_arithmetic-forged")), *others,
        ],
        "one of another kernel": [
            replace(first, case=replace(first.case, kernel=replace(first.case.kernel, variant="avx2"))), *others,
        ],
    }  # fmt: skip


@pytest.fixture(scope="module")
def tampering() -> tuple[OracleStage, dict[str, list[EvidenceRecord]]]:
    stage = oracle_stage()
    return stage, tampered(list(stage.evidence(owed(NEG)[0])))


@pytest.mark.parametrize(
    "how",
    [
        "one missing",
        "none at all",
        "one twice",
        "one failed",
        "one errored",
        "one of another binary",
        "one judged by another Generic",
        "one of another requirement",
        "one of the other stage",
        "one under a foreign id",
        "one of another kernel",
    ],
)
def test_missing_failed_errored_forged_or_incomplete_evidence_shall_prevent_a_certificate(
    how: str, tampering: tuple[OracleStage, dict[str, list[EvidenceRecord]]]
) -> None:
    stage, evidence = tampering
    assert stage.reissue(NEG, evidence[how]) is None


def test_records_of_other_plans_do_not_stand_in_the_way_of_a_certificate() -> None:
    assert oracle_stage().reissue(NEG, oracle_result().report.records) == next(
        c for c in oracle_result().certificates if c.plan == NEG
    )


# Failures and errors -------------------------------------------------------------------------------------------------


def test_one_failed_witness_leaves_evidence_and_no_certificate_for_its_plan_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few(monkeypatch, NEG, NEG_INT, SUM, "copy", EXP)

    def after(kernel: LogicalKernel, plan: Any, operands: Any, output: View, parameters: Any) -> None:
        if plan == NEG:
            output.memory[output.layout.offset] ^= 1

    monkeypatch.setattr(oracle_module, "open_carrier", Opened(Around(after=after)))
    result = run_oracle_stage(CPU)
    assert Outcome.FAILED in {record.outcome for record in records_of(NEG, result)}
    for what in (NEG_INT, SUM, "copy"):
        assert {record.outcome for record in records_of(what, result)} == {Outcome.PASSED}
    assert [r.outcome for r in records_of(EXP, result)] == [Outcome.DEFERRED]
    assert {certificate.what for certificate in result.certificates} == {NEG_INT.text, SUM.text, "copy"}
    stage = oracle_stage(Around(after=after))
    assert stage.certificate(NEG) is None
    assert stage.refusal(NEG).startswith("Stage One failed at neg-f32_f32-exact_arithmetic-")


def test_a_failed_record_keeps_what_was_measured_and_a_detail() -> None:
    failed = [
        r for r in oracle_stage(Around(after=flip_first("neg"))).evidence(owed(NEG)[0]) if r.outcome is Outcome.FAILED
    ]
    assert failed
    for record in failed:
        assert record.detail is not None
        assert record.diagnostic == record.detail["diagnosis"]
        assert record.first_mismatch is not None
        assert record.mismatches
        assert record.output_hash is not None


def failing_at(number: int, raised: BaseException) -> Around:
    """Raises instead of the launch of that number, counted from 1."""

    def before(*arguments: Any) -> None:
        if carrier.calls.count("launch") == number:
            raise raised

    carrier = Around(before=before)
    return carrier


@pytest.mark.parametrize("raised", [RuntimeError("no device"), ValueError("no such grid"), KernelError("it fell over")])
def test_a_recoverable_case_error_shall_leave_complete_error_evidence_and_independent_cases_continue(
    raised: Exception,
) -> None:
    numerical = VerificationClass.NUMERICAL
    good = oracle_stage().evidence(owed(SUM, numerical)[0])
    bad = oracle_stage(failing_at(1, raised)).evidence(owed(SUM, numerical)[0])
    assert [record.case.case_id for record in bad] == [record.case.case_id for record in good]
    assert bad[1:] == good[1:]
    error, twin = bad[0], good[0]
    assert error.outcome is Outcome.ERROR
    assert error.diagnostic == f"{type(raised).__name__}: {raised}"
    assert (error.case, error.stage, error.verification_class, error.policy) == (
        twin.case, twin.stage, twin.verification_class, twin.policy,
    )  # fmt: skip
    assert error.case.kernel == owed(SUM)[0].kernel
    assert error.case.plan == SUM.text
    assert error.case.layouts
    assert error.case.contraction_length == twin.case.contraction_length > 0
    assert error.target_input_hashes == twin.target_input_hashes
    assert error.tolerance == Tolerance()
    assert error.deviations == Deviations(None, None, None)
    assert error.output_hash is None


def test_one_errored_witness_prevents_the_certificate() -> None:
    stage = oracle_stage(failing_at(7, RuntimeError("no")))
    assert stage.certificate(NEG) is None
    assert "Stage One error at " in stage.refusal(NEG)
    assert stage.certificate(NEG_INT) is not None


def test_an_exception_of_our_own_code_is_not_made_evidence() -> None:
    with pytest.raises(TypeError, match="ours"):
        oracle_stage(failing_at(3, TypeError("ours"))).evidence(owed(NEG)[0])


def test_an_expected_error_is_recorded_without_measurements() -> None:
    found = [r for r in records_of(NEG_INT, oracle_result()) if r.policy == "expected-error-v1"]
    assert found
    assert {(r.outcome, r.output_hash, r.mismatches, r.diagnostic) for r in found} == {
        (Outcome.PASSED, None, None, None)
    }


def test_a_kernel_that_wraps_where_it_must_report_overflow_fails() -> None:
    def before(kernel: Any, plan: Any, operands: Sequence[View], output: View, parameters: Any) -> None:
        words = operands[0].memory[operands[0].layout.offsets()]
        output.memory[output.layout.offsets()] = -words
        raise Done

    class Done(Exception):  # noqa: N818
        pass

    class Wrapping(Around):
        def launch(self, *arguments: Any) -> None:
            with suppress(Done):
                super().launch(*arguments)

    records = oracle_stage(Wrapping(before=before)).evidence(owed(NEG_INT)[0])
    wrong = [record for record in records if record.policy == "expected-error-v1"]
    assert {record.diagnostic for record in wrong} == {"expected the error overflow, got a result"}


def test_a_fused_accumulation_is_an_error_that_names_the_contraction() -> None:
    """Float64 accumulation is what a fused multiply-add does to two products."""

    class Fusing(Around):
        def launch(self, kernel: Any, plan: Any, *rest: Any) -> None:
            super().launch(kernel, plan.with_accumulation("floating", "f64") if plan is not None else None, *rest)

    stage = oracle_stage(Fusing())
    probes = [
        record
        for o in owed(MATMUL)
        for record in stage.evidence(o)
        if record.outcome is Outcome.ERROR and "contraction is forbidden" in str(record.diagnostic)
    ]
    assert probes
    assert stage.certificate(MATMUL) is None


# Arithmetic state ----------------------------------------------------------------------------------------------------


def test_a_wrong_arithmetic_state_at_the_start_of_stage_one_is_a_runtime_error_naming_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    carrier = Around()

    def check(where: str) -> None:
        raise ArithmeticStateError(f"{where}: rounding is downward")

    carrier.check = check
    monkeypatch.setattr(oracle_module, "open_carrier", Opened(carrier))
    with pytest.raises(RuntimeError, match="at the start of Stage One: rounding is downward"):
        run_oracle_stage(CPU)
    assert "launch" not in carrier.calls


def test_an_arithmetic_state_changed_by_a_launch_is_an_error_record_and_other_cases_continue() -> None:
    carrier = Around()
    stage = oracle_stage(carrier)

    def check(where: str) -> None:
        if carrier.calls.count("launch") == 3:
            raise ArithmeticStateError(f"{where}: subnormal results are flushed to zero")

    carrier.check = check
    records = stage.evidence(owed(NEG)[0])
    assert [r.outcome for r in records].count(Outcome.ERROR) == 1
    (error,) = (record for record in records if record.outcome is Outcome.ERROR)
    assert error.diagnostic == "after cpu.neg: subnormal results are flushed to zero"
    assert {r.outcome for r in records if r is not error} == {Outcome.PASSED}


# Generic must agree with itself -------------------------------------------------------------------------------------


class Contradicted(References):
    """A Generic whose answers are all one off where an answer is stated independently."""

    def _answer(self, case: Any) -> Any:
        answer = super()._answer(case)
        return replace(answer, words=answer.words + np.uint32(1)) if case.expected is not None else answer


def test_where_generic_contradicts_an_independent_answer_the_case_is_an_error_and_nothing_is_certified() -> None:
    stage = OracleStage(CPU, Around(), Contradicted(), oracle_stage().oracle_reference)
    records = stage.evidence(owed(SUM, VerificationClass.ANALYTIC)[0])
    assert {record.outcome for record in records} == {Outcome.ERROR}
    assert {record.diagnostic for record in records} == {"Generic's answer is not the independently stated one"}
    assert stage.certificate(SUM) is None


class Forgiving(References):
    """A Generic that sees no error anywhere."""

    def expectation(self, case: Any) -> Expectation:
        raise AssertionError("it must not get that far")

    def disagreement(self, case: Any) -> str | None:
        case = replace(case, error=None)
        return super().disagreement(case)


def test_where_generic_and_the_case_expect_different_errors_the_case_is_an_error() -> None:
    stage = OracleStage(CPU, Around(), Forgiving(), oracle_stage().oracle_reference)
    obligation = owed(NEG_INT)[0]
    case = next(case for case in stage._cases_of(obligation) if case.error is not None)
    judgement = stage._judge(case, stage.run(case, NEG_INT))
    assert judgement.outcome is Outcome.ERROR
    assert judgement.diagnostic == "Generic gives overflow where the case expects a result"


def test_a_generic_that_fails_its_own_check_judges_no_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_kernelverify.stages.references.qualify", lambda: ["add gives 3"])
    with pytest.raises(RuntimeError, match="Generic does not pass its own self-check: add gives 3"):
        References()


# Determinism and progress --------------------------------------------------------------------------------------------


def test_two_stages_asked_in_different_orders_give_equal_records() -> None:
    what = (NEG, SUM, "coverage", EXP)
    first, second = oracle_stage(), oracle_stage()
    forward = {o: first.evidence(o) for plan in what for o in owed(plan)}
    backward = {o: second.evidence(o) for plan in what[::-1] for o in owed(plan)[::-1]}
    assert forward == backward
    assert [r.line for o in forward for r in forward[o]] == [r.line for o in forward for r in backward[o]]


def test_evidence_is_made_once() -> None:
    carrier = Around()
    stage = oracle_stage(carrier)
    records = stage.evidence(owed(NEG)[0])
    launches = carrier.calls.count("launch")
    assert launches == 2 * len(records)
    assert stage.evidence(owed(NEG)[0]) is records
    stage.certificate(NEG)
    assert carrier.calls.count("launch") == launches


def test_an_active_obligation_without_a_case_is_a_value_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_kernelverify.stages.recording.cases_for", lambda *arguments, **named: ())
    with pytest.raises(ValueError, match=r"neg-f32_f32-exact_arithmetic-scalar-cpu_compiled 0 case\(s\)"):
        oracle_stage().evidence(owed(NEG)[0])


def test_progress_is_told_each_obligation(monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, NEG, EXP)
    seen: list[tuple[int, int, str]] = []
    run_oracle_stage(CPU, progress=lambda *step: seen.append(step))
    assert seen == [
        (1, 2, "neg-f32_f32-exact_arithmetic-scalar-cpu_compiled"),
        (2, 2, "exp-f32_f32-deferred-scalar-cpu_compiled"),
    ]


def test_another_seed_gives_other_random_payloads_under_the_same_ids() -> None:
    numerical = owed(SUM, VerificationClass.NUMERICAL)[0]
    first, second = oracle_stage().evidence(numerical), oracle_stage(seed=5).evidence(numerical)
    assert [record.case.case_id for record in first] == [record.case.case_id for record in second]
    assert [r.target_input_hashes for r in first] != [r.target_input_hashes for r in second]
    assert {record.outcome for record in second} == {Outcome.PASSED}
