"""What every payload promises: exact where exact, finite where finite, specials where specials belong."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from case_catalog import Obligation, all_cases, answer_of, cases_of, obligations, plans

from pytest_kernelverify.operations.plan import OperandRole, VerificationClass
from pytest_kernelverify.operations.table import OPERATIONS

items = pytest.mark.parametrize("item", obligations(), ids=lambda item: item.id)
ABS, INF = 0x7FFFFFFF, 0x7F800000
MAX = Fraction(2**24 - 1) * 2**104


def of_class(verification_class: VerificationClass, **where) -> list[Obligation]:
    return [
        item
        for item in obligations()
        if item.verification_class is verification_class
        and item.plan is not None
        and all(getattr(item.plan, name) in values for name, values in where.items())
    ]


def magnitudes(words):
    return words.astype(np.int64) & ABS


def is_nan(words):
    return magnitudes(words) > INF


def is_subnormal(words):
    return (magnitudes(words) > 0) & (magnitudes(words) < 0x00800000)


@items
def test_only_constant_payloads_coincide_between_operands(item: Obligation):
    for case in item.cases():
        tensors = [operand for operand in case.operands if operand.layout.size > 1]
        for number, one in enumerate(tensors):
            for other in tensors[:number]:
                same = one.words.dtype == other.words.dtype and np.array_equal(one.words, other.words)
                assert not same or len(set(one.words.tolist())) == 1, case.case_id


@items
def test_subnormal_operands_and_results_occur_only_in_the_subnormal_kind(item: Obligation):
    if item.plan is None or item.plan.compute == "word":
        return  # words are moved, not computed with
    for case in item.cases():
        if case.values == "subnormal" or case.error:
            continue
        for operand in case.operands:
            assert operand.dtype != "f32" or not is_subnormal(operand.words).any(), case.case_id
        if case.output_dtype == "f32":
            assert not is_subnormal(answer_of(case).words.ravel()).any(), case.case_id


@items
def test_the_subnormal_kind_holds_subnormals_whose_flushing_changes_the_answer(item: Obligation):
    if item.plan is None:
        return
    for case in item.cases():
        if case.values != "subnormal":
            continue
        results = answer_of(case).words.ravel()
        if case.operation == "reduce_prod":
            with np.errstate(all="ignore"):
                grid = case.operands[0].words.reshape(case.operands[0].extents).view(np.float32)
                results = np.multiply.accumulate(grid, axis=1).view(np.uint32).ravel()
        inputs = any(operand.dtype == "f32" and is_subnormal(operand.words).any() for operand in case.operands)
        assert inputs or (case.output_dtype == "f32" and is_subnormal(results).any()), case.case_id


def test_signalling_nans_occur_in_movement_subjects_only():
    def signalling(words):
        return is_nan(words) & ((words & 0x00400000) == 0)

    seen = set()
    for item in obligations():
        for case in item.cases():
            if any(operand.dtype == "f32" and signalling(operand.words).any() for operand in case.operands):
                seen.add(case.subject or case.plan.text)
    # ``bounds`` copies any 32 bits, so a signalling pattern may be among them.
    assert {"copy", "view", "permute", "rearrange", "broadcast_to"} <= seen <= {
        "copy", "view", "permute", "rearrange", "broadcast_to", "bounds"
    }  # fmt: skip


def test_no_witness_holds_a_word_that_guarded_memory_uses_as_poison():
    for case in all_cases():
        for operand in case.operands:
            if operand.dtype != "bool":
                assert not np.isin(operand.words, [0x7FC0DEAD, 0x71800000, 0xF1800000]).any() or (
                    case.values in ("order", "wide", "extremes", "specials", "cancellation", "halfway")
                ), case.case_id
                assert not (operand.words == 0x7FC0DEAD).any(), case.case_id


@pytest.mark.parametrize("plan", plans(), ids=lambda plan: plan.token)
def test_nans_stand_at_the_first_middle_last_and_a_tail_position_of_a_float_operand(plan):
    if not any(operand.dtype == "f32" for operand in plan.operands) or plan.operation == "cast":
        return
    if not any(operand.dtype == "f32" and operand.role is OperandRole.TENSOR for operand in plan.operands):
        return
    family = OPERATIONS[plan.operation].family
    special = [case for case in cases_of(plan) if case.values == "specials"]
    assert special, plan.text
    places = set()
    for case in special:
        for operand, key in zip(case.operands, plan.operands, strict=True):
            if operand.dtype != "f32" or key.role is OperandRole.SCALAR:
                continue
            words = operand.words
            if case.operation == "conv":
                found, length = np.argwhere((is_nan(words) | (magnitudes(words) == INF)).reshape(1, -1)), words.size
            elif family in ("reduction", "scan", "ordering", "contraction") or case.operation in ("gather", "scatter"):
                k = case.size
                grid = words.reshape(-1, k) if case.operation != "matmul" or operand is case.operands[0] else None
                if grid is None:
                    grid = words.reshape(-1, k, operand.extents[-1]).swapaxes(1, 2).reshape(-1, k)
                found = np.argwhere(is_nan(grid) | (magnitudes(grid) == INF))
                length = grid.shape[1]
            else:
                found, length = np.argwhere((is_nan(words) | (magnitudes(words) == INF)).reshape(1, -1)), words.size
            for _, place in found.tolist():
                places |= {
                    name
                    for name, hit in (
                        ("first", place == 0),
                        ("middle", 0 < place < length - 1),
                        ("last", place == length - 1),
                        ("tail", length % 8 and length - length % 8 <= place < length - 1),
                    )
                    if hit
                }
    wanted = {"first", "middle", "last"} if plan.operation in ("conv", "scatter_add") else {
        "first", "middle", "last", "tail"
    }  # fmt: skip
    assert places >= wanted, (plan.text, places)


# ---- numerical -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("item", of_class(VerificationClass.NUMERICAL, output=("f32",)), ids=lambda item: item.id)
def test_numerical_witnesses_are_finite_with_their_terms_below_a_quarter_of_the_maximum(item: Obligation):
    for case in item.cases():
        for operand in case.operands:
            if operand.dtype == "f32":
                assert (magnitudes(operand.words) < INF).all(), case.case_id
        answer = answer_of(case)
        largest = Fraction(max(answer.magnitudes, default=0)) * Fraction(2) ** answer.exponent
        assert largest < MAX / 4, case.case_id


@pytest.mark.parametrize("item", of_class(VerificationClass.NUMERICAL, output=("f32",)), ids=lambda item: item.id)
def test_every_nonzero_term_and_product_of_a_numerical_witness_is_at_least_two_to_the_minus_64(item: Obligation):
    for case in item.cases():
        least = Fraction(1)
        for operand, key in zip(case.operands, case.plan.operands, strict=True):
            if key.dtype == "f32":
                nonzero = magnitudes(operand.words)
                exponents = nonzero[nonzero > 0] >> 23
                assert (exponents > 0).all()
                factor = Fraction(2) ** (int(exponents.min(initial=127)) - 127)
                assert factor >= Fraction(2) ** -64, case.case_id
                least *= factor if case.operation in ("matmul", "conv") else 1
        assert least >= Fraction(2) ** -64, case.case_id


@pytest.mark.parametrize(
    "item", [i for i in of_class(VerificationClass.NUMERICAL) if i.plan.operation == "reduce_prod"], ids=lambda i: i.id
)
def test_every_sub_product_of_a_numerical_product_is_normal_in_any_association(item: Obligation):
    for case in item.cases():
        rows = case.operands[0].words.reshape(case.operands[0].extents)
        logs = np.log2(np.abs(rows.view(np.float32).astype(np.float64)))
        # The largest and the smallest product of any subset of a row's factors.
        assert (np.where(logs > 0, logs, 0).sum(axis=1) < 125).all(), case.case_id
        assert (np.where(logs < 0, logs, 0).sum(axis=1) > -125).all(), case.case_id


@pytest.mark.parametrize("item", of_class(VerificationClass.NUMERICAL, output=("i32",)), ids=lambda item: item.id)
def test_integer_numerical_witnesses_never_leave_int32_in_any_order(item: Obligation):
    for case in item.cases():
        values = [np.abs(o.words.view(np.int32).astype(np.int64)).reshape(o.extents) for o in case.operands]
        total = values[0].sum(axis=-1) if len(values) == 1 else values[0] @ values[1]
        assert (total < 2**31).all(), case.case_id


# ---- structural ------------------------------------------------------------------------------------------------------


def products_of(case) -> np.ndarray | None:
    """The terms of each output element of a row sum, a row product or a matmul, in binary64, where they are exact."""
    values = [
        operand.words.view(np.float32).astype(np.float64)
        if operand.dtype == "f32"
        else operand.words.view(np.int32).astype(np.float32).astype(np.float64)
        for operand in case.operands
    ]
    with np.errstate(all="ignore"):
        if case.operation in ("reduce_sum", "reduce_prod"):
            return values[0].reshape(case.operands[0].extents)
        if case.operation == "matmul":
            lhs, rhs = (v.reshape(o.extents) for v, o in zip(values, case.operands, strict=True))
            return (lhs[..., :, None, :] * rhs.swapaxes(-1, -2)[..., None, :, :]).reshape(-1, lhs.shape[-1])
    return None


def folded(terms: np.ndarray, dtype, step) -> list[np.ndarray]:
    """Sums (or products) of the rows: forward, backward, in pairs, in four lanes, and in a random order."""
    terms = terms.astype(dtype)
    identity = dtype(step is np.multiply)
    shuffled = terms[:, np.random.RandomState(7).permutation(terms.shape[1])]

    def run(grid):
        total = np.full(len(grid), identity, dtype)
        for column in grid.T:
            total = step(total, column)
        return total

    def pairs(grid):
        while grid.shape[1] > 1:
            odd = grid[:, -1:] if grid.shape[1] % 2 else grid[:, :0]
            even = grid[:, : grid.shape[1] // 2 * 2]
            grid = np.concatenate([step(even[:, ::2], even[:, 1::2]), odd], axis=1)
        return grid[:, 0] if grid.shape[1] else np.full(len(grid), identity, dtype)

    lanes = np.stack([run(terms[:, lane::4]) for lane in range(4)], axis=1)
    with np.errstate(all="ignore"):
        return [run(terms), run(terms[:, ::-1]), pairs(terms), run(lanes), run(shuffled)]


@pytest.mark.parametrize(
    "item",
    [
        item
        for item in of_class(VerificationClass.STRUCTURAL, output=("f32",))
        if item.plan.operation in ("reduce_sum", "reduce_prod", "matmul")
    ],
    ids=lambda item: item.id,
)
def test_a_structural_answer_is_the_same_in_every_order_and_association(item: Obligation):
    wide = item.plan.accumulator == "f64"
    step = np.multiply if item.plan.operation == "reduce_prod" else np.add
    with np.errstate(all="ignore"):
        for case in item.cases():
            if case.oracle_only or not 0 < case.size < 300 or case.values == "large":
                continue  # a long case differs from a short one only in its length
            right = answer_of(case).words.ravel()
            for got in folded(products_of(case), np.float64 if wide else np.float32, step):
                words = got.astype(np.float32).view(np.uint32)
                same = (words == right) | (is_nan(words) & is_nan(right))
                assert same.all(), case.case_id


@items
def test_no_witness_of_a_summing_family_has_a_zero_sum(item: Obligation):
    plan = item.plan
    if plan is None or plan.accumulation is None or plan.output != "f32" or plan.operation == "reduce_prod":
        return
    for case in item.cases():
        # An empty sum is +0 by the table, and an envelope does not see the sign of a zero.
        if case.error or not case.size or item.verification_class is VerificationClass.NUMERICAL:
            continue
        zero = magnitudes(answer_of(case).words.ravel()) == 0
        assert not zero.any(), (case.case_id, np.flatnonzero(zero)[:4])


def test_all_ones_count_the_terms_and_powers_of_four_name_them():
    for item in of_class(VerificationClass.STRUCTURAL):
        if item.plan.operation not in ("reduce_sum", "matmul"):
            continue
        for case in item.cases():
            words = answer_of(case).words.ravel() if not case.error else np.zeros(0, np.uint32)
            whole = case.output_dtype == "i32"
            if case.values == "ones":
                values = words.view(np.int32) if whole else words.view(np.float32)
                assert (values == case.size).all(), case.case_id
            if case.values == "fours":
                values = (words.view(np.int32) if whole else words.view(np.float32)).astype(np.int64)
                digits = [np.abs(values) // 4**place % 4 for place in range(12)]
                assert all((digit <= 1).all() for digit in digits), case.case_id
                assert (np.sum(digits, axis=0) == min(case.size, 12)).all(), case.case_id


def test_every_position_up_to_63_has_its_own_digit_in_some_row():
    for item in of_class(VerificationClass.STRUCTURAL):
        if item.plan.operation != "reduce_sum":
            continue
        case = max((case for case in item.cases() if case.values == "fours"), key=lambda case: case.size)
        grid = case.operands[0].words.reshape(case.operands[0].extents)
        covered = (magnitudes(grid) > 0).any(axis=0)
        assert covered[:12].all(), case.case_id
        assert covered[-12:].all(), case.case_id


# ---- probes ----------------------------------------------------------------------------------------------------------


def test_float32_matmuls_have_probes_on_which_every_fused_order_gives_another_value():
    found = 0
    for item in of_class(VerificationClass.STRUCTURAL):
        if item.plan.operation != "matmul" or item.plan.accumulator != "f32":
            continue
        case, anywhere = [case for case in item.cases() if case.oracle_only]
        found += 1
        assert (case.size, case.contraction_length) == (2, 2)
        lhs, rhs = (
            [Fraction(float(v)) for v in (o.words.view(np.float32) if o.dtype == "f32" else o.words.view(np.int32))]
            for o in case.operands
        )
        count = case.operands[0].extents[0]
        fused_somewhere = [False, False]
        for batch in range(count):
            for row in range(2):
                first, second = (lhs[(batch * 2 + row) * 2 + k] * rhs[batch * 2 + k] for k in (0, 1))

                def rounded(value: Fraction) -> Fraction:
                    return Fraction(float(np.float32(float(value))))

                plain = rounded(rounded(first) + rounded(second))
                stated = Fraction(float(case.expected.view(np.float32)[batch * 2 + row]))
                assert stated == plain
                # fma(a2, b2, p1) and fma(a1, b1, p2): the two ways in which a compiler may fuse.
                fused_somewhere[0] |= rounded(rounded(first) + second) != plain
                fused_somewhere[1] |= rounded(first + rounded(second)) != plain
        assert fused_somewhere == [True, True], case.case_id
        products = products_of(anywhere)
        assert ((products != 0).sum(axis=1) == 2).all()
        rounded_products = products.astype(np.float32).astype(np.float64)
        assert np.array_equal(rounded_products.sum(axis=1).astype(np.float32), anywhere.expected.view(np.float32))
        # Each place holds the product that rounds, once; fused, it would keep its last bit.
        assert ((products != rounded_products).sum(axis=0) == 1).all()
        assert (products.sum(axis=1).astype(np.float32) != anywhere.expected.view(np.float32)).all()
    assert found == 3


def test_oracle_only_cases_are_exactly_the_fusion_probes():
    assert {case.values for case in all_cases() if case.oracle_only} == {"unfused", "unfused_anywhere"}


def test_a_sequential_convolution_has_witnesses_that_a_fused_one_fails():
    (item,) = [i for i in of_class(VerificationClass.EXACT_ARITHMETIC) if i.plan.operation == "conv"]
    for case in item.cases():
        if case.values in ("specials", "extremes") or not case.size:
            continue
        source, weight = (o.words.view(np.float32).astype(np.float64) for o in case.operands)
        inexact = (np.outer(source, weight) != np.outer(source, weight).astype(np.float32)).any()
        assert inexact == (case.values == "unfused"), case.case_id


def test_sequential_order_witnesses_change_when_the_row_is_reversed():
    for item in of_class(VerificationClass.EXACT_ARITHMETIC, accumulation=("sequential_binary32",)):
        if item.plan.operation not in ("cumsum", "reduce_prod"):
            continue
        step = np.add if item.plan.operation == "cumsum" else np.multiply
        for case in item.cases():
            if case.values in ("order", "wide") and case.size > 7:
                with np.errstate(all="ignore"):
                    row = case.operands[0].words.reshape(case.operands[0].extents).view(np.float32)
                    forward, backward = (step.accumulate(x, axis=1)[:, -1] for x in (row, row[:, ::-1]))
                assert (forward != backward).any() or case.layout == "stride0", case.case_id


def test_cancelling_witnesses_lose_their_small_terms_in_a_float32_accumulator():
    for item in of_class(VerificationClass.NUMERICAL, output=("f32",)):
        cancelling = [case for case in item.cases() if case.values == "cancellation"]
        assert bool(cancelling) == (item.plan.operation != "reduce_prod"), item.id
        lost = []
        for case in cancelling:
            answer = answer_of(case)
            lost.append(any(m > abs(e) << 10 for e, m in zip(answer.scaled, answer.magnitudes, strict=True)))
        # Padding cuts some windows of a convolution short, and a stride of 0 repeats one term.
        partly = item.plan.operation == "conv"
        assert not cancelling or (any(lost) if partly else all(lost)), item.id
