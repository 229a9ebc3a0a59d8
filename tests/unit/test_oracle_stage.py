"""Stage One: every obligation attempted against Generic, and a certificate only for complete passing coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import FrozenInstanceError, replace
from typing import Any

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
    flip_first,
    oracle_result,
    oracle_stage,
    owed,
)

from pytest_kernelverify import (
    ClassificationDisposition,
    EvidenceRecord,
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
from pytest_kernelverify.catalog.classify import obligations
from pytest_kernelverify.catalog.load import manifest_of
from pytest_kernelverify.evidence.certificate import reconstruct
from pytest_kernelverify.evidence.record import EvidenceStage
from pytest_kernelverify.numerics.comparison import Deviations, Tolerance
from pytest_kernelverify.stages import oracle as oracle_module
from pytest_kernelverify.stages.oracle import OracleStage

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
