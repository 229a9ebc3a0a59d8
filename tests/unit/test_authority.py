"""Authority: which certificates a target plan needs, and what makes a given one count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
    flip_first,
    oracle_stage,
    owed,
)

from pytest_kernelverify import OracleStageResult, PlanKey, StageReport, VerificationStage
from pytest_kernelverify.catalog.classify import obligations
from pytest_kernelverify.evidence.record import EvidenceStage
from pytest_kernelverify.stages.authority import (
    ResultAuthority,
    check_result,
    needed_plans,
    oracle_deferral,
    receipts_match,
    reference_plan,
)
from pytest_kernelverify.stages.oracle import OracleStage, stage_result

SEQUENTIAL = PlanKey.from_text("cumsum(f32)->f32 compute=f32 acc=sequential_binary32")
UNORDERED = SEQUENTIAL.with_accumulation("floating", "f32")


@pytest.fixture(scope="module")
def oracle() -> OracleStage:
    return oracle_stage()


@pytest.fixture(scope="module")
def result(oracle: OracleStage) -> OracleStageResult:
    """A Stage One of a few plans."""
    return stage_result(oracle, tuple(o for what in (NEG, SUM, SUM_WIDE, EXP, "copy") for o in owed(what)))


# What a target plan needs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "needed"),
    [
        (NEG, (NEG,)),
        (SUM, (SUM_WIDE, SUM)),
        (MATMUL, (MATMUL_WIDE, MATMUL)),
        (SUM_WIDE, (SUM_WIDE,)),
        (SEQUENTIAL, (SEQUENTIAL,)),
        (UNORDERED, (SEQUENTIAL.with_accumulation("floating", "f64"),)),
    ],
)
def test_float32_sums_shall_require_certified_float64_accumulator_coverage(
    plan: PlanKey, needed: tuple[PlanKey, ...], oracle: OracleStage
) -> None:
    assert needed_plans(plan, oracle) == needed
    assert reference_plan(plan) == needed[0]


@pytest.mark.parametrize("operation", ["reduce_sum", "matmul"])
def test_every_float32_reduce_sum_and_matmul_target_rests_on_a_float64_oracle_plan(
    operation: str, oracle: OracleStage
) -> None:
    for profile in (CPU, METAL):
        owed_by_target = obligations(profile, VerificationStage.TARGET)
        plans = {o.plan for o in owed_by_target if o.plan and o.plan.operation == operation and o.plan.output == "f32"}
        assert plans
        for plan in plans:
            assert needed_plans(plan, oracle)[0].accumulator == "f64"


def test_the_oracles_deferral_is_found_through_the_plan_that_would_judge(oracle: OracleStage) -> None:
    assert oracle_deferral(EXP, oracle) == "vendor transcendental implementation: its accuracy is not specified"
    assert oracle_deferral(NEG, oracle) is None
    assert oracle_deferral(SUM, oracle) is None


# What makes a given certificate count ------------------------------------------------------------------------


def test_a_genuine_certificate_counts(result: OracleStageResult, oracle: OracleStage) -> None:
    authority = ResultAuthority(result, oracle)
    for what in (NEG, SUM, SUM_WIDE, "copy"):
        assert authority.certificate(what) == oracle.certificate(what) is not None


def test_a_certificate_counts_where_the_loaded_oracle_gives_it_again(result: OracleStageResult) -> None:
    carrier = Around()
    assert ResultAuthority(result, oracle_stage(carrier)).certificate(NEG) is not None
    assert "launch" in carrier.calls


def test_a_certificate_that_the_loaded_oracle_does_not_give_again_is_refused(result: OracleStageResult) -> None:
    authority = ResultAuthority(result, oracle_stage(Around(after=flip_first("neg"))))
    assert authority.certificate(NEG) is None
    assert authority.refusal(NEG) == "Stage One of the oracle that is loaded does not give this certificate again"


MADE_UP: dict[str, Any] = {
    "inputs": lambda record: replace(record, target_input_hashes=("0" * 64,), oracle_input_hashes=("0" * 64,)),
    "output": lambda record: record if record.output_hash is None else replace(record, output_hash="0" * 64),
    "seed": lambda record: replace(record, case=replace(record.case, seed=record.case.seed + 1)),
    "parameters": lambda record: replace(record, case=replace(record.case, parameters={"k": 1})),
    "dtypes": lambda record: replace(record, case=replace(record.case, operand_dtypes=("i32",))),
}


@pytest.mark.parametrize("what", MADE_UP)
def test_evidence_that_is_made_up_but_consistent_is_refused(
    what: str, result: OracleStageResult, oracle: OracleStage
) -> None:
    records = [MADE_UP[what](record) for record in result.report.records if record.case.plan == NEG.text]
    certificate = oracle.reissue(NEG, records)
    assert certificate is not None
    forgery = changed(result, NEG, lambda record: [MADE_UP[what](record)])
    kept = tuple(certificate if c.plan == NEG else c for c in result.certificates)
    forgery = OracleStageResult(replace(forgery.report, certificates=kept), kept)
    authority = ResultAuthority(forgery, oracle)
    assert authority.certificate(NEG) is None
    assert authority.refusal(NEG) == "Stage One of the oracle that is loaded does not give this certificate again"


def without(result: OracleStageResult, *what: PlanKey | str, report: bool = True) -> OracleStageResult:
    """The result without some certificates."""
    names = {plan.text if isinstance(plan, PlanKey) else plan for plan in what}
    kept = tuple(c for c in result.certificates if c.what not in names)
    return OracleStageResult(replace(result.report, certificates=kept) if report else result.report, kept)


def forged(result: OracleStageResult, what: PlanKey, **change: Any) -> OracleStageResult:
    """The result with one certificate altered, everywhere it stands."""
    certificates = tuple(replace(c, **change) if c.plan == what else c for c in result.certificates)
    return OracleStageResult(replace(result.report, certificates=certificates), certificates)


def changed(result: OracleStageResult, what: PlanKey, change: Any) -> OracleStageResult:
    """The result with the records of one plan altered; ``change`` gives the records to put in place of each."""
    records = tuple(
        new
        for record in result.report.records
        for new in (change(record) if record.case.plan == what.text else [record])
    )
    return replace(result, report=replace(result.report, records=records))


def test_an_absent_certificate_is_refused(result: OracleStageResult, oracle: OracleStage) -> None:
    authority = ResultAuthority(without(result, NEG), oracle)
    assert authority.certificate(NEG) is None
    assert authority.refusal(NEG) == "no certificate covers it"
    assert authority.certificate(SUM) is not None


def test_a_refusal_names_the_first_witness_that_stage_one_did_not_pass(oracle: OracleStage) -> None:
    failed = stage_result(oracle_stage(Around(after=flip_first("neg"))), owed(NEG))
    refusal = ResultAuthority(failed, oracle).refusal(NEG)
    assert refusal.startswith("Stage One failed at neg-f32_f32-exact_arithmetic-")
    assert "word(s) differ" in refusal


def test_a_plan_that_stage_one_does_not_have_is_refused(result: OracleStageResult, oracle: OracleStage) -> None:
    authority = ResultAuthority(result, oracle)
    assert authority.certificate(UNORDERED) is None
    assert authority.refusal(UNORDERED) == "no certificate covers it"


@pytest.mark.parametrize(
    "change",
    [
        {"evidence_digest": "0" * 64},
        {"receipt": "0" * 64},
        {"oracle_profile": "metal-tilelang"},
        {"operation": "abs"},
        {"classes": ()},
        {"kernel": replace(owed(NEG)[0].kernel, variant="avx2")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_forged_certificate_is_refused(
    change: dict[str, Any], result: OracleStageResult, oracle: OracleStage
) -> None:
    authority = ResultAuthority(forged(result, NEG, **change), oracle)
    assert authority.certificate(NEG) is None
    assert authority.refusal(NEG) == "the certificate is not the one its evidence gives"
    assert authority.certificate(SUM) is not None


def test_a_certificate_moved_to_another_plan_is_refused(result: OracleStageResult, oracle: OracleStage) -> None:
    authority = ResultAuthority(forged(without(result, SUM), NEG, plan=SUM, operation="reduce_sum"), oracle)
    assert authority.certificate(SUM) is None
    assert authority.certificate(NEG) is None


CHANGES: dict[str, Any] = {
    "dropped": lambda record: [],
    "doubled": lambda record: [record, record],
    "of another binary": lambda record: [replace(record, receipt="0" * 16)],
    "of another Generic": lambda record: [replace(record, oracle_reference="0" * 16)],
    "with another output": lambda record: [
        record if record.output_hash is None else replace(record, output_hash="0" * 64)
    ],
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_certificate_whose_evidence_was_altered_is_refused(
    how: str, result: OracleStageResult, oracle: OracleStage
) -> None:
    authority = ResultAuthority(changed(result, NEG, CHANGES[how]), oracle)
    assert authority.certificate(NEG) is None
    assert authority.certificate(SUM) is not None


def test_a_certificate_that_lacks_one_record_of_its_evidence_is_refused(
    result: OracleStageResult, oracle: OracleStage
) -> None:
    last = next(r for r in reversed(result.report.records) if r.case.plan == NEG.text)
    authority = ResultAuthority(changed(result, NEG, lambda r: [] if r is last else [r]), oracle)
    assert authority.certificate(NEG) is None


def test_two_certificates_of_one_plan_are_refused(result: OracleStageResult, oracle: OracleStage) -> None:
    twice = (*result.certificates, next(c for c in result.certificates if c.plan == NEG))
    authority = ResultAuthority(OracleStageResult(replace(result.report, certificates=twice), twice), oracle)
    assert authority.certificate(NEG) is None
    assert authority.refusal(NEG) == "2 certificates for one plan"


def test_a_certificate_that_the_report_does_not_hold_is_refused(result: OracleStageResult, oracle: OracleStage) -> None:
    inconsistent = OracleStageResult(without(result, NEG).report, result.certificates)
    authority = ResultAuthority(inconsistent, oracle)
    assert authority.certificate(NEG) is None
    assert authority.refusal(NEG) == "the result holds a certificate that its report does not"


def test_a_certificate_that_only_the_report_holds_is_refused(result: OracleStageResult, oracle: OracleStage) -> None:
    authority = ResultAuthority(without(result, NEG, report=False), oracle)
    assert authority.certificate(NEG) is None


def test_certificates_of_another_binary_than_the_loaded_one_are_refused(
    result: OracleStageResult, oracle: OracleStage
) -> None:
    other = Around()
    other.artifact = "f" * 64
    rebuilt = oracle_stage(other)
    assert ResultAuthority(result, rebuilt).certificate(NEG) is None
    genuine = oracle.certificate(NEG)
    assert genuine is not None
    assert receipts_match({NEG: genuine}, oracle) is None
    assert receipts_match({NEG: genuine}, rebuilt) == (
        f"the certificate of {NEG.text} binds another binary than the oracle that is loaded"
    )


def test_evidence_in_any_order_gives_the_same_verdicts(result: OracleStageResult, oracle: OracleStage) -> None:
    report = replace(result.report, records=result.report.records[::-1], certificates=result.certificates[::-1])
    authority = ResultAuthority(OracleStageResult(report, result.certificates[::-1]), oracle)
    assert all(authority.certificate(what) == oracle.certificate(what) for what in (NEG, SUM, SUM_WIDE, "copy"))


# What is no result at all ------------------------------------------------------------------------------------

EMPTY = StageReport(EvidenceStage.ORACLE, "cpu-compiled", (), ())


def test_an_empty_result_is_whole_and_authorises_nothing(oracle: OracleStage) -> None:
    result = OracleStageResult(EMPTY, ())
    check_result(result, "cpu-compiled")
    assert ResultAuthority(result, oracle).certificate(NEG) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "oracle_result must be an OracleStageResult, not NoneType"),
        ((EMPTY, ()), "oracle_result must be an OracleStageResult, not tuple"),
        (EMPTY, "oracle_result must be an OracleStageResult, not StageReport"),
        (OracleStageResult(None, ()), "oracle_result.report must be a StageReport, not NoneType"),  # type: ignore[arg-type]
        (OracleStageResult(EMPTY, []), "oracle_result.certificates must be a tuple of OracleCertificate"),  # type: ignore[arg-type]
        (OracleStageResult(EMPTY, ("x",)), "oracle_result.certificates must be a tuple of OracleCertificate"),  # type: ignore[arg-type]
        (OracleStageResult(replace(EMPTY, records=[]), ()), "report.records must be a tuple of EvidenceRecord"),  # type: ignore[arg-type]
        (OracleStageResult(replace(EMPTY, records=(1,)), ()), "report.records must be a tuple of EvidenceRecord"),  # type: ignore[arg-type]
        (OracleStageResult(replace(EMPTY, certificates=None), ()), "report.certificates must be a tuple"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_oracle_result_is_a_type_error(given: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        check_result(given, "cpu-compiled")


@pytest.mark.parametrize(
    ("report", "message"),
    [
        (replace(EMPTY, stage=EvidenceStage.TARGET), "is of the target stage of 'cpu-compiled'; expected the oracle"),
        (replace(EMPTY, profile_id="metal-tilelang"), "is of the oracle stage of 'metal-tilelang'"),
        (replace(EMPTY, stage="oracle"), "is of the oracle stage of 'cpu-compiled'"),  # type: ignore[arg-type]
    ],
)
def test_a_result_of_another_stage_or_oracle_is_a_value_error(report: StageReport, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_result(OracleStageResult(report, ()), "cpu-compiled")


def test_subjects_and_integer_plans_are_their_own_authority(oracle: OracleStage) -> None:
    assert needed_plans(NEG_INT, oracle) == (NEG_INT,)
