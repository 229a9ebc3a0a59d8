"""Profiles and classification: every plan is classified exactly once, and every error comes before anything runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_kernelverify import (
    ArithmeticFacts,
    ClassificationDisposition,
    LogicalKernel,
    PlanClassification,
    PlanKey,
    VerificationClass,
    VerificationProfile,
    VerificationStage,
    classify_profile_plans,
    kernel_manifest,
    run_oracle_stage,
    run_target_stage,
    verification_profile,
    verification_profiles,
    verify_backend,
)
from pytest_kernelverify.carriers.base import AdvertisedKernel
from pytest_kernelverify.catalog import classify
from pytest_kernelverify.catalog.classify import obligations
from pytest_kernelverify.catalog.load import manifest_of
from pytest_kernelverify.evidence.record import EvidenceStage
from pytest_kernelverify.evidence.stage_report import OracleStageResult, StageReport
from pytest_kernelverify.operations.table import OPERATIONS

CPU, METAL = verification_profile("cpu-compiled"), verification_profile("metal-tilelang")
MANIFEST = manifest_of(CPU)
ADD = next(row for row in MANIFEST.plans if row.plan.text == "add(f32,f32)->f32 compute=f32")
TRANSCENDENTAL = "vendor transcendental implementation: its accuracy is not specified"
POWER = "floating pow depends on the vendor math library"
every_profile = pytest.mark.parametrize("profile", verification_profiles(), ids=lambda profile: profile.profile_id)


# Selectors and records ----------------------------------------------------------------------------------------------


def test_verification_profiles_shall_be_sorted_by_profile_id_and_include_the_shipped_ones() -> None:
    profiles = verification_profiles()
    assert isinstance(profiles, tuple)
    assert [profile.profile_id for profile in profiles] == ["cpu-compiled", "metal-tilelang"]
    assert all(isinstance(profile, VerificationProfile) for profile in profiles)


def test_each_profile_shall_expose_exact_string_fields_and_ordered_stages() -> None:
    cpu, metal = verification_profiles()
    assert (cpu.profile_id, cpu.carrier, cpu.provider) == ("cpu-compiled", "cpu", "c-library")
    assert (metal.profile_id, metal.carrier, metal.provider) == ("metal-tilelang", "metal", "tilelang")
    for profile in (cpu, metal):
        assert all(type(getattr(profile, name)) is str for name in ("profile_id", "carrier", "provider"))


def test_cpu_compiled_shall_be_usable_in_both_roles_and_metal_tilelang_as_a_target() -> None:
    cpu, metal = verification_profiles()
    assert cpu.stages == (VerificationStage.ORACLE, VerificationStage.TARGET)
    assert metal.stages == (VerificationStage.TARGET,)


def test_the_stages_shall_be_oracle_and_target() -> None:
    assert [stage.value for stage in VerificationStage] == ["oracle", "target"]


@pytest.mark.parametrize("selector", [None, 3, b"cpu-compiled", ["cpu-compiled"], Path("cpu-compiled")])
def test_a_non_string_selector_shall_raise_type_error(selector: Any) -> None:
    with pytest.raises(TypeError, match="profile_id must be a string, not "):
        verification_profile(selector)


@pytest.mark.parametrize("selector", ["", "cpu", "CPU-COMPILED", "cpu-compiled ", "cpu_compiled", "cpu-compiled.toml"])
def test_an_unknown_selector_shall_raise_value_error_that_lists_the_known_ones(selector: str) -> None:
    known = "cpu-compiled, metal-tilelang"
    with pytest.raises(ValueError, match=re.escape(f"unknown profile {selector!r}; known profiles: {known}")):
        verification_profile(selector)


def test_verification_profile_shall_resolve_an_exact_string_selector() -> None:
    assert verification_profile("cpu-compiled") is verification_profiles()[0]


def test_kernel_manifest_shall_return_logical_kernels_binding_profile_operation_id_and_variant() -> None:
    for profile in verification_profiles():
        kernels = kernel_manifest(profile)
        assert isinstance(kernels, tuple)
        assert all(isinstance(kernel, LogicalKernel) for kernel in kernels)
        assert {kernel.profile_id for kernel in kernels} == {profile.profile_id}
        assert len({(kernel.kernel_id, kernel.variant) for kernel in kernels}) == len(kernels)
        short = profile.profile_id.split("-")[0]
        assert all(kernel.kernel_id == f"{short}.{kernel.operation}" for kernel in kernels)


@pytest.mark.parametrize("given", ["cpu-compiled", None, 3])
def test_a_manifest_of_what_is_no_profile_is_a_type_error(given: Any) -> None:
    with pytest.raises(TypeError, match="profile must be a VerificationProfile, not "):
        kernel_manifest(given)


@pytest.mark.parametrize(
    "change",
    [
        {"carrier": "gpu"},
        {"provider": "other"},
        {"stages": (VerificationStage.TARGET,)},
        {"stages": (VerificationStage.TARGET, VerificationStage.ORACLE)},
        {"facts": ArithmeticFacts(nan="ignored")},
        {"layouts": "one stride per axis"},
        {"error_channel": False},
    ],
)
def test_a_manifest_of_a_forged_profile_is_a_value_error(change: dict[str, Any]) -> None:
    forged = replace(verification_profile("cpu-compiled"), **change)
    with pytest.raises(ValueError, match="profile 'cpu-compiled' differs from the installed profile of that id"):
        kernel_manifest(forged)


def test_a_manifest_of_a_profile_that_is_not_installed_is_a_value_error() -> None:
    stranger = replace(verification_profile("cpu-compiled"), profile_id="mine")
    with pytest.raises(ValueError, match="unknown profile 'mine'"):
        kernel_manifest(stranger)


@pytest.mark.parametrize(
    "record", [MANIFEST.profile, MANIFEST.kernels[0], MANIFEST.plans[0], MANIFEST.subjects[0], ADD.plan]
)
def test_the_public_catalog_records_shall_be_immutable(record: Any) -> None:
    for name in record.__dataclass_fields__:
        with pytest.raises(FrozenInstanceError):
            setattr(record, name, None)
    assert not hasattr(record, "__dict__")


# Classification -----------------------------------------------------------------------------------------------------


@every_profile
def test_classify_profile_plans_shall_cover_every_advertised_plan_exactly_once(profile: VerificationProfile) -> None:
    rows = classify_profile_plans(profile)
    assert isinstance(rows, tuple)
    assert len({(row.kernel, row.plan) for row in rows}) == len(rows)
    assert {row.kernel for row in rows} == {k for k in kernel_manifest(profile) if k.operation != "copy"}


def test_the_plans_of_cpu_compiled_are_those_the_compiled_library_advertises() -> None:
    carrier = classify.open_carrier(CPU.profile_id, CPU.carrier)
    offered = [(row.kernel_id, row.variant, text) for row in carrier.advertised() for text in row.plans]
    rows = classify_profile_plans(CPU)
    assert sorted(offered) == sorted((row.kernel.kernel_id, row.kernel.variant, row.plan.text) for row in rows)


@every_profile
def test_each_classification_shall_bind_kernel_plan_ordered_classes_disposition_and_reason(
    profile: VerificationProfile,
) -> None:
    order = list(VerificationClass)
    for row in classify_profile_plans(profile):
        assert isinstance(row, PlanClassification)
        assert isinstance(row.kernel, LogicalKernel)
        assert PlanKey.from_text(row.plan.text) == row.plan
        assert row.plan.operation == row.kernel.operation
        assert list(row.classes) == sorted(set(row.classes), key=order.index)
        assert VerificationClass.DEFERRED not in row.classes


@every_profile
def test_an_active_plan_shall_name_its_classes_and_a_deferred_one_a_reason_and_no_class(
    profile: VerificationProfile,
) -> None:
    for row in classify_profile_plans(profile):
        if row.disposition is ClassificationDisposition.ACTIVE:
            assert row.classes
            assert row.reason is None
        else:
            assert row.disposition is ClassificationDisposition.DEFERRED
            assert row.classes == ()
            assert row.reason


@every_profile
def test_vendor_transcendental_and_floating_pow_plans_shall_stay_deferred_with_their_reason(
    profile: VerificationProfile,
) -> None:
    deferred = [row for row in classify_profile_plans(profile) if row.reason is not None]
    assert Counter(row.reason for row in deferred) == {TRANSCENDENTAL: 20, POWER: 8}
    transcendental = {name for name, row in OPERATIONS.items() if row.family == "transcendental"}
    assert {row.plan.operation for row in deferred if row.reason == TRANSCENDENTAL} == transcendental
    assert {(row.plan.operation, row.plan.output) for row in deferred if row.reason == POWER} == {("pow", "f32")}


@every_profile
def test_every_plan_of_a_vendor_function_is_deferred(profile: VerificationProfile) -> None:
    for row in classify_profile_plans(profile):
        vendor = OPERATIONS[row.plan.operation].family == "transcendental"
        power = row.plan.operation == "pow" and row.plan.output == "f32"
        assert (row.disposition is ClassificationDisposition.DEFERRED) == (vendor or power), row.plan.text


@every_profile
def test_exact_integer_pow_shall_remain_active(profile: VerificationProfile) -> None:
    active = [row.plan.text for row in classify_profile_plans(profile) if row.plan.operation == "pow" and row.classes]
    assert active == [
        "pow(i32,i32)->i32 compute=i32_checked",
        "pow(i32,i32:scalar)->i32 compute=i32_checked",
    ]


@every_profile
def test_each_profile_shall_classify_its_movement_and_structural_subjects(profile: VerificationProfile) -> None:
    rows = manifest_of(profile).subjects
    assert [row.subject for row in rows if row.classes == (VerificationClass.BIT_EXACT,)] == [
        "copy",
        "view",
        "permute",
        "rearrange",
        "broadcast_to",
    ]
    assert [row.subject for row in rows if row.classes == (VerificationClass.STRUCTURAL,)] == [
        "addressing",
        "coverage",
        "bounds",
    ]


def test_metal_tilelang_shall_cover_a_plan_of_every_registered_computational_operation() -> None:
    assert {row.plan.operation for row in classify_profile_plans(METAL)} == set(OPERATIONS)


def test_metal_tilelang_declares_a_float32_accumulator_and_no_float64_one() -> None:
    accumulators = {row.plan.accumulator for row in classify_profile_plans(METAL)}
    assert accumulators == {None, "f32"}


def test_every_active_target_plan_has_an_oracle_plan_that_can_judge_it() -> None:
    from pytest_kernelverify.stages.authority import reference_plan

    oracle = {row.plan for row in classify_profile_plans(CPU) if row.classes}
    for profile in verification_profiles():
        for row in classify_profile_plans(profile):
            assert not row.classes or reference_plan(row.plan) in oracle, row.plan.text


def test_classification_shall_not_grow_with_jit_specialisation() -> None:
    """A classification names no shape, layout or option: two specialisations of one plan share it."""
    fields = {name for record in (PlanClassification, LogicalKernel, PlanKey) for name in record.__dataclass_fields__}
    assert fields - {"_names"} == {
        *("kernel", "plan", "classes", "disposition", "reason"),
        *("profile_id", "operation", "kernel_id", "variant"),
        *("operands", "compute", "accumulation", "accumulator", "output"),
    }


# A library that does not match ---------------------------------------------------------------------------------------


class Library:
    """A carrier of which only the table is ever asked."""

    def __init__(self, rows: tuple[AdvertisedKernel, ...]) -> None:
        self.rows = rows

    def advertised(self) -> tuple[AdvertisedKernel, ...]:
        return self.rows


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    """The compiled library's table, which a test may alter before the first classification."""
    found = Library(classify.open_carrier(CPU.profile_id, CPU.carrier).advertised())
    monkeypatch.setattr(classify, "open_carrier", lambda profile_id, carrier: found)
    for cached in (classify._checked, classify._obligations):
        cached.cache_clear()
    yield found
    for cached in (classify._checked, classify._obligations):
        cached.cache_clear()


def nothing_but_a_table(*arguments: object, **named: object) -> None:
    raise AssertionError("a carrier was opened for running")


def attempts() -> list[tuple[str, Any]]:
    result = OracleStageResult(StageReport(EvidenceStage.ORACLE, "cpu-compiled", (), ()), ())
    return [
        ("classify_profile_plans", lambda: classify_profile_plans(CPU)),
        ("run_oracle_stage", lambda: run_oracle_stage(CPU)),
        ("run_target_stage", lambda: run_target_stage(CPU, result)),
        ("verify_backend", lambda: verify_backend("cpu-compiled")),
    ]


@pytest.mark.parametrize(("name", "attempt"), attempts(), ids=[name for name, _ in attempts()])
@pytest.mark.parametrize("alteration", ["kernel lost", "kernel gained", "plan lost", "plan gained"])
def test_a_profile_whose_library_changed_shall_raise_value_error_before_execution(
    name: str, attempt: Any, alteration: str, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("oracle", "target", "run"):
        monkeypatch.setattr(f"pytest_kernelverify.stages.{module}.open_carrier", nothing_but_a_table)
    first, *others = library.rows
    last = others[-1]
    library.rows = {
        "kernel lost": (first, *others[:-1]),
        "kernel gained": (first, *others, replace(last, kernel_id="cpu.new", operation="new", plans=())),
        "plan lost": (first, *others[:-1], replace(last, plans=last.plans[:-1])),
        "plan gained": (
            first,
            *others[:-1],
            replace(last, plans=(*last.plans, "topk_indices(bool)->i32 compute=word")),
        ),
    }[alteration]
    with pytest.raises(ValueError, match=r"does not match its library's (kernel|plan)s"):
        attempt()


@pytest.mark.usefixtures("library")
def test_a_target_that_lost_a_plan_shall_raise_value_error_when_it_is_classified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = {profile: manifest_of(profile) for profile in (CPU, METAL)}
    lost = whole[METAL].plans[0].plan.text
    altered = whole | {METAL: replace(whole[METAL], plans=whole[METAL].plans[1:])}
    monkeypatch.setattr(classify, "manifest_of", altered.__getitem__)
    with pytest.raises(ValueError, match="plans do not match those of cpu-compiled") as error:
        classify_profile_plans(METAL)
    assert lost in str(error.value)


# Obligations and their tokens ----------------------------------------------------------------------------------------


def test_an_obligation_is_a_plan_and_a_class_and_a_deferred_plan_is_one() -> None:
    owed = obligations(CPU, VerificationStage.ORACLE)
    rows = classify_profile_plans(CPU)
    expected = sum(max(len(row.classes), 1) for row in rows) + len(MANIFEST.subjects)
    assert len(owed) == len(set(owed)) == expected
    assert sum(o.verification_class is VerificationClass.DEFERRED for o in owed) == 28
    assert {o.stage for o in owed} == {EvidenceStage.ORACLE}


@every_profile
def test_tokens_are_unique_and_fit_a_test_id(profile: VerificationProfile) -> None:
    tokens = [o.token for o in obligations(profile, VerificationStage.TARGET)]
    assert len(set(tokens)) == len(tokens)
    assert all(re.fullmatch(r"[a-z0-9_]+(-[a-z0-9_]+)*", token) for token in tokens)


@pytest.mark.parametrize(
    "token",
    [
        "matmul-f32_f32_f32-acc_f32-structural-scalar-metal_tilelang",
        "matmul-i32_i32_i32-acc_exact-numerical-scalar-metal_tilelang",
        "pow-f32s_i32_f32-deferred-scalar-metal_tilelang",
        "cumsum-f32_f32-acc_sequential-exact_arithmetic-scalar-metal_tilelang",
        "select-bool_f32_f32_f32-bit_exact-scalar-metal_tilelang",
        "broadcast_to-bit_exact-scalar-metal_tilelang",
        "matmul-f32_i32_f32-acc_f64-analytic-scalar-cpu_compiled",
        "clamp-f32_f32s_f32s_f32-exact_arithmetic-scalar-cpu_compiled",
        "coverage-structural-scalar-cpu_compiled",
    ],
)
def test_ids_that_people_have_noted_down_stay_as_they_are(token: str) -> None:
    owed = [o.token for profile in (CPU, METAL) for o in obligations(profile, VerificationStage.TARGET)]
    assert owed.count(token) == 1


def test_obligations_are_plan_major_in_the_manifests_order_with_subjects_last() -> None:
    owed = obligations(CPU, VerificationStage.TARGET)
    plans = list(dict.fromkeys(o.plan for o in owed if o.plan is not None))
    assert plans == [row.plan for row in MANIFEST.plans]
    assert [o.subject for o in owed if o.plan is None] == [row.subject for row in MANIFEST.subjects]
    assert owed.index(next(o for o in owed if o.plan is None)) == len(owed) - len(MANIFEST.subjects)


def test_a_profile_that_does_not_play_a_role_owes_nothing_in_it() -> None:
    with pytest.raises(ValueError, match="profile 'metal-tilelang' is no oracle; its roles: target"):
        obligations(METAL, VerificationStage.ORACLE)


# Metal, whose runtime is missing ---------------------------------------------------------------------------------


def test_running_metal_tilelang_is_a_runtime_error_that_names_what_is_missing(tmp_path: Path) -> None:
    output = tmp_path / "report.jsonl"
    with pytest.raises(RuntimeError, match=r"profile 'metal-tilelang' cannot run: .* the Metal carrier \(TileLang"):
        verify_backend("metal-tilelang", output=output)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_runtime_is_found_before_the_oracle_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_kernelverify.stages import run

    def prepared(*arguments: object, **named: object) -> None:
        raise AssertionError("the oracle was prepared")

    monkeypatch.setattr(run, "OracleStage", prepared)
    monkeypatch.setattr(run, "References", prepared)
    with pytest.raises(RuntimeError, match="metal-tilelang"):
        verify_backend("metal-tilelang")


def test_run_target_stage_of_a_missing_runtime_is_the_same_runtime_error() -> None:
    result = OracleStageResult(StageReport(EvidenceStage.ORACLE, "cpu-compiled", (), ()), ())
    with pytest.raises(RuntimeError, match="profile 'metal-tilelang' cannot run"):
        run_target_stage(METAL, result)


def test_a_carrier_that_no_version_has_is_a_runtime_error_naming_it() -> None:
    with pytest.raises(RuntimeError, match="'mine' names the carrier 'abacus'"):
        classify.open_carrier("mine", "abacus")
