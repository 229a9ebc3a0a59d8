"""cases_for: deterministic, memoised, the same ids for every profile, and complete about what a profile leaves out."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from case_catalog import CPU, METAL, Obligation, all_cases, error_of, obligations, plans
from test_cases_coverage import expected_sizes

from pytest_kernelverify.cases.catalog import cases_for
from pytest_kernelverify.catalog.profile import VerificationProfile
from pytest_kernelverify.operations.facts import ArithmeticFacts
from pytest_kernelverify.operations.plan import PlanKey, VerificationClass
from pytest_kernelverify.operations.table import OPERATIONS, output_extents

items = pytest.mark.parametrize("item", obligations(), ids=lambda item: item.id)


def digest(seed: int = 0) -> str:
    """Every id, layout and word of a few items of each kind."""
    state = hashlib.sha256()
    for item in obligations()[::9]:
        for case in item.cases(seed=seed):
            state.update(f"{case.case_id} {case.output_layout} {dict(case.parameters)} {case.error}".encode())
            for operand in case.operands:
                state.update(f"{operand.dtype} {operand.layout}".encode())
                state.update(operand.words.tobytes())
    return state.hexdigest()


def test_the_catalog_has_about_four_thousand_cases_about_thirty_an_item():
    assert 3500 <= len(all_cases()) <= 4500
    assert max(Counter(case.case_id.rsplit("-n", 1)[0] for case in all_cases()).values()) <= 45


def test_cases_are_memoised_so_that_a_second_call_gives_the_same_objects():
    item = obligations()[0]
    assert item.cases() is item.cases()
    assert item.cases(seed=1) is not item.cases()


def test_case_ids_are_unique_over_the_whole_catalog_and_use_the_id_alphabet():
    ids = [case.case_id for case in all_cases()]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z0-9_]+(-[a-z0-9_]+)*", case_id) for case_id in ids)


def test_another_process_with_another_hash_seed_gives_the_same_words():
    script = "from test_cases_catalog import digest; print(digest())"
    found = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONHASHSEED": "4711"},
        cwd=Path(__file__).parent,  # not the checkout, where the package has no extension
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == digest()


def test_another_seed_changes_words_but_no_id():
    assert digest(seed=1) != digest()
    for item in obligations()[::9]:
        assert [case.case_id for case in item.cases(seed=1)] == [case.case_id for case in item.cases()]


@items
def test_words_fill_their_layouts_are_read_only_and_share_an_offset_only_when_equal(item: Obligation):
    for case in item.cases():
        for operand in case.operands:
            assert operand.words.dtype == (np.uint8 if operand.dtype == "bool" else np.uint32)
            assert operand.words.ndim == 1
            assert operand.words.size == operand.layout.size
            assert not operand.words.flags.writeable
            if operand.dtype == "bool":
                assert (operand.words <= 1).all()
            parent = np.zeros(operand.layout.span + 1, operand.words.dtype)
            offsets = operand.layout.offsets()
            parent[offsets] = operand.words
            assert np.array_equal(parent[offsets], operand.words), case.case_id


@items
def test_no_two_output_elements_share_an_address(item: Obligation):
    for case in item.cases():
        offsets = case.output_layout.offsets()
        assert np.unique(offsets).size == offsets.size, case.case_id


@items
def test_operands_and_output_have_the_dtypes_and_extents_of_the_plan(item: Obligation):
    for case in item.cases():
        if case.plan is None:
            assert case.output_layout.extents == case.operands[0].extents
            continue
        assert [operand.dtype for operand in case.operands] == [operand.dtype for operand in case.plan.operands]
        assert case.output_dtype == case.plan.output
        if case.error == "invalid":
            continue  # k > K: no extents fit
        extents = output_extents(case.operation, tuple(operand.extents for operand in case.operands), case.parameters)
        assert case.output_layout.extents == extents, case.case_id
        assert set(case.parameters) <= set(OPERATIONS[case.operation].parameters)


@items
def test_an_aliased_operand_has_the_dtype_and_the_layout_of_the_output(item: Obligation):
    for case in item.cases():
        if case.alias is not None:
            operand = case.operands[case.alias]
            assert (operand.dtype, operand.layout) == (case.output_dtype, case.output_layout), case.case_id
        assert (case.alias is not None) == ("aliased" in case.layout)


@items
def test_generic_reports_exactly_the_error_a_case_expects(item: Obligation):
    if item.plan is not None:
        for case in item.cases():
            assert error_of(case) == case.error, case.case_id


def test_every_error_kind_is_expected_somewhere_at_first_middle_and_last_positions():
    kinds = Counter(case.error for case in all_cases() if case.error)
    assert set(kinds) == {"overflow", "domain", "index", "empty", "invalid"}
    for kind in ("overflow", "domain", "index"):
        names = [case.values for case in all_cases() if case.error == kind]
        assert {f"{kind}-first", f"{kind}-middle", f"{kind}-last"} == set(names)


def test_the_rejected_values_are_those_the_design_names():
    def words(text: str, values: str) -> list[list[int]]:
        plan = PlanKey.from_text(text)
        case = next(
            case for item in obligations() if item.plan == plan for case in item.cases() if case.values == values
        )
        return [operand.words.astype(np.int64).tolist() for operand in case.operands]

    neg = words("neg(i32)->i32 compute=i32_checked", "overflow-middle")[0]
    assert neg[len(neg) // 2] == 2**31
    cast = [words("cast(f32)->i32 compute=f32", f"domain-{place}")[0] for place in ("first", "middle", "last")]
    assert cast[0][0] == 0x4F000000  # 2**31
    assert cast[1][len(cast[1]) // 2] & 0x7FFFFFFF > 0x7F800000  # NaN
    assert cast[2][-1] == 0xCF000001  # below -2**31
    index = [words("gather(f32,i32)->f32 compute=word", f"index-{place}")[1] for place in ("first", "last", "middle")]
    assert [index[0][0], index[1][-1], index[2][2]] == [2**32 - 1, 2**32 - 4, 4]  # -1, -N, N
    assert words("pow(i32,i32)->i32 compute=i32_checked", "domain-first")[1][0] == 2**32 - 1


# ---- what a profile leaves out ---------------------------------------------------------------------------------------


def limits(cases) -> dict[str, str]:
    return {case.name.removeprefix("limit-"): case.deferred for case in cases if case.deferred}


def profile(**changes) -> VerificationProfile:
    facts = {name: changes.pop(name) for name in list(changes) if name in ArithmeticFacts.__slots__}
    return replace(CPU, profile_id="other", facts=ArithmeticFacts(**facts), **changes)


def test_the_strict_profile_leaves_nothing_out():
    assert not any(case.deferred for case in all_cases())


def test_case_ids_and_payloads_are_the_same_for_every_profile():
    shared = 0
    for item in obligations(METAL):
        mine = {case.case_id: case for case in item.cases()}
        for case in item.cases(METAL):
            if case.deferred is None:
                assert mine[case.case_id] is case
                shared += 1
    assert shared > 3000


def test_without_an_error_channel_a_plan_with_error_cases_has_exactly_one_deferred_record_for_them():
    silent = profile(error_channel=False)
    for item in obligations():
        errors = [case for case in item.cases() if case.error]
        found = item.cases(silent)
        assert limits(found).keys() == ({"errors"} if errors else set()), item.id
        assert not any(case.error and not case.deferred for case in found)
        assert len(found) == len(item.cases()) - len(errors) + bool(errors)


def test_with_one_stride_per_axis_nested_cases_become_one_deferred_record_except_for_pointwise_plans():
    flat = profile(layouts="one stride per axis")
    for item in obligations():
        nested = [
            case
            for case in item.cases()
            if any(layout.folded() is None for layout in (case.output_layout, *(o.layout for o in case.operands)))
        ]
        pointwise = item.plan is not None and OPERATIONS[item.plan.operation].family in ("pointwise", "predicate")
        expected = set() if pointwise or not nested else {"nested"}
        assert limits(item.cases(flat)).keys() == expected, item.id
        if item.plan is not None and item.verification_class is not VerificationClass.ANALYTIC:
            assert nested, item.id


def test_where_subnormals_are_not_preserved_no_exact_case_has_any_and_one_deferred_record_says_so():
    for value in ("flushed", "unspecified"):
        flushing = profile(subnormals=value)
        for item in obligations():
            found = limits(item.cases(flushing))
            has = any(case.values == "subnormal" for case in item.cases())
            assert found.keys() == ({"subnormals"} if has else set())
            assert all(value in reason for reason in found.values())


def test_where_fusing_is_allowed_sequential_witnesses_of_it_are_deferred_once():
    fusing = profile(contraction="allowed")
    found = [item.id for item in obligations() if limits(item.cases(fusing))]
    assert found == ["conv-f32_f32_f32-acc_sequential-exact_arithmetic"]


def test_where_int32_overflow_is_undefined_no_partial_sum_overflows():
    loose = profile(int_overflow="undefined")
    found = {item.id for item in obligations() if limits(item.cases(loose))}
    assert found == {"reduce_sum-i32_i32-acc_exact-structural", "matmul-i32_i32_i32-acc_exact-structural"}


def test_a_core_pair_is_not_lost_with_a_limit():
    strictest = profile(layouts="one stride per axis", error_channel=False, subnormals="flushed", contraction="allowed")
    for plan in plans():
        mine = [item for item in obligations() if item.plan == plan]
        everything = [case for item in mine for case in item.cases()]
        kept = [case for item in mine for case in item.cases(strictest) if not case.deferred]
        errors_only = {case.size for case in everything if case.error} - {c.size for c in everything if not c.error}
        lost_sizes = {case.size for case in everything} - {case.size for case in kept}
        assert lost_sizes & expected_sizes(plan) <= errors_only, plan.text
        assert {case.layout for case in everything} - {case.layout for case in kept} <= {"hierarchical"}
        # A formula under a nested layout is left out with it; formulas are no rung of the value ladder.
        ladder = [case for case in everything if case.verification_class is not VerificationClass.ANALYTIC]
        lost = {case.values for case in ladder} - {case.values for case in kept}
        assert lost <= {"subnormal", "unfused"} | {case.values for case in everything if case.error}, plan.text


# ---- requests that make no sense -------------------------------------------------------------------------------------


def test_a_class_the_plan_cannot_have_is_refused_by_name():
    plan = PlanKey.from_text("add(f32,f32)->f32 compute=f32")
    with pytest.raises(ValueError, match=r"add.* has no numerical cases"):
        cases_for(plan, None, VerificationClass.NUMERICAL, profile=CPU)
    with pytest.raises(ValueError, match="'copy' has no structural cases"):
        cases_for(None, "copy", VerificationClass.STRUCTURAL, profile=CPU)
    with pytest.raises(ValueError, match="'transmute' has no bit_exact cases"):
        cases_for(None, "transmute", VerificationClass.BIT_EXACT, profile=CPU)
    with pytest.raises(ValueError, match="no deferred cases"):
        cases_for(plan, None, VerificationClass.DEFERRED, profile=CPU)
    exp = PlanKey.from_text("exp(f32)->f32 compute=f32")
    with pytest.raises(ValueError, match=r"exp.* has no exact_arithmetic cases"):
        cases_for(exp, None, VerificationClass.EXACT_ARITHMETIC, profile=CPU)


def test_a_sequential_plan_has_no_numerical_or_analytic_class():
    plan = PlanKey.from_text("cumsum(f32)->f32 compute=f32 acc=sequential_binary32")
    for verification_class in (VerificationClass.NUMERICAL, VerificationClass.ANALYTIC):
        with pytest.raises(ValueError, match=verification_class.value):
            cases_for(plan, None, verification_class, profile=CPU)
