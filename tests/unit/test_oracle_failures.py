"""Stage One where something fails: evidence stays, independent cases continue, nothing incomplete is certified."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from real_runs import (
    CPU,
    EXP,
    MATMUL,
    NEG,
    NEG_INT,
    SUM,
    Around,
    Opened,
    few,
    flip_first,
    oracle_result,
    oracle_stage,
    owed,
)

from pytest_kernelverify import (
    EvidenceRecord,
    LogicalKernel,
    OracleStageResult,
    Outcome,
    PlanKey,
    VerificationClass,
    run_oracle_stage,
)
from pytest_kernelverify.carriers.base import ArithmeticStateError, KernelError, View
from pytest_kernelverify.carriers.cpu import load_library
from pytest_kernelverify.numerics.comparison import Deviations
from pytest_kernelverify.stages import oracle as oracle_module
from pytest_kernelverify.stages.judge import Expectation
from pytest_kernelverify.stages.oracle import OracleStage
from pytest_kernelverify.stages.references import References


def records_of(what: PlanKey | str, result: OracleStageResult) -> list[EvidenceRecord]:
    name = what.text if isinstance(what, PlanKey) else what
    return [record for record in result.report.records if name in (record.case.plan, record.case.subject)]


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
    assert twin.bound is not None
    assert error.tolerance.absolute >= twin.bound > 0
    assert error.deviations == Deviations(None, None, None)
    assert error.output_hash is None


@pytest.mark.parametrize("name", ["expectation", "disagreement", "envelope"])
def test_an_error_while_one_case_is_judged_shall_not_stop_the_others(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = oracle_stage()
    obligation = owed(SUM, VerificationClass.NUMERICAL)[0]
    first, judged = stage._cases_of(obligation)[0], getattr(stage.references, name)

    def failing(case: Any, **options: Any) -> Any:
        if case is first:
            raise ValueError("no reference")
        return judged(case, **options)

    monkeypatch.setattr(stage.references, name, failing)
    records = stage.evidence(obligation)
    assert [record.outcome for record in records[1:]] == [Outcome.PASSED] * (len(records) - 1)
    assert records[0].outcome is Outcome.ERROR
    assert records[0].diagnostic == "ValueError while the case was prepared or judged: no reference"
    assert stage.certificate(SUM) is None


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


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"rounding": 1}, "rounding is downward, subnormal numbers are preserved"),
        ({"flush_results": 1}, "rounding is to nearest, subnormal results are flushed to zero"),
    ],
    ids=["rounding mode", "flush-to-zero"],
)
def test_a_changed_state_of_this_process_is_a_runtime_error_and_is_restored(
    change: dict[str, int], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch, NEG)
    library = load_library().lib
    state = library.kv_get_float_state()
    for name, value in change.items():
        setattr(state, name, value)
    library.kv_set_float_state(state)
    with pytest.raises(RuntimeError, match=f"at the start of Stage One: {named}; .* has been restored"):
        run_oracle_stage(CPU)
    assert {record.outcome for record in run_oracle_stage(CPU).report.records} == {Outcome.PASSED}


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
