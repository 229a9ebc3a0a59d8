"""Kernels that are wrong in one way each, as formulas: some case of every plan they can be wrong in tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from case_catalog import obligations
from judging import rejected, right_words

from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.operations.plan import PlanKey


class Mutant(NamedTuple):
    """A wrong result for each case, or None where the mutation does not touch it."""

    name: str
    applies: Callable[[PlanKey], bool]
    result: Callable[[Case], np.ndarray | None]


def named(*names: str, **where) -> Callable[[PlanKey], bool]:
    return lambda plan: plan.operation in names and all(getattr(plan, key) == value for key, value in where.items())


def floats(case: Case, number: int, dtype=np.float32) -> np.ndarray:
    """An operand's values in the computing dtype, after its declared conversion."""
    operand = case.operands[number]
    values = operand.words.view(np.float32) if operand.dtype == "f32" else whole(case, number).astype(np.float32)
    return values.astype(dtype).reshape(operand.extents)


def whole(case: Case, number: int) -> np.ndarray:
    operand = case.operands[number]
    return operand.words.view(np.int32).astype(np.int64).reshape(operand.extents)


def words(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values.astype(np.float32)).reshape(-1).view(np.uint32)


def int_words(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int64).astype(np.int32).reshape(-1).view(np.uint32)


def flush(values: np.ndarray) -> np.ndarray:
    bits = values.reshape(-1).view(np.uint32)
    return np.where((bits & 0x7F800000) == 0, bits & np.uint32(0x80000000), bits).view(np.float32).reshape(values.shape)


BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "rem": np.fmod}
UNARY = {
    "sqrt": np.sqrt,
    "recip": lambda x: np.float32(1) / x,
    "rsqrt": lambda x: np.float32(1) / np.sqrt(x),
    "ceil": np.ceil,
    "floor": np.floor,
    "round": np.rint,
    "relu": lambda x: np.where(x > 0, x, np.where(np.isnan(x), x, np.float32(0))),
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
}


def is_float(plan: PlanKey) -> bool:
    return plan.compute == "f32" and plan.output == "f32"


def reads_float(plan: PlanKey) -> bool:
    return any(operand.dtype == "f32" for operand in plan.operands)


def flushing(case: Case) -> np.ndarray:
    if case.operation in BINARY:
        return words(BINARY[case.operation](flush(floats(case, 0)), flush(floats(case, 1))))
    return words(flush(UNARY[case.operation](flush(floats(case, 0)))))


def result_flushing(case: Case) -> np.ndarray:
    return words(flush(BINARY[case.operation](floats(case, 0), floats(case, 1))))


def unconverted(case: Case) -> np.ndarray:
    """Int32 operands widened to binary64, in which the operation runs; one rounding at the end."""
    values = [
        floats(case, n, np.float64) if o.dtype == "f32" else whole(case, n).astype(np.float64)
        for n, o in enumerate(case.operands)
    ]
    return words(BINARY[case.operation](*values))


def toward_zero(case: Case) -> np.ndarray:
    """Every inexact result rounded toward zero."""
    with np.errstate(all="ignore"):
        exact = BINARY[case.operation](floats(case, 0, np.float64), floats(case, 1, np.float64))
        near = exact.astype(np.float32)
        away = np.abs(near.astype(np.float64)) > np.abs(exact)
        return words(np.where(away & np.isfinite(near), np.nextafter(near, np.float32(0)), near))


def half_up(case: Case) -> np.ndarray:
    return words(np.floor(floats(case, 0, np.float64) + 0.5))


def half_up_in_binary32(case: Case) -> np.ndarray:
    return words(np.floor(floats(case, 0) + np.float32(0.5)))


def losing_nan(case: Case) -> np.ndarray:
    return words((np.fmax if case.operation == "maximum" else np.fmin)(floats(case, 0), floats(case, 1)))


def first_if_greater(case: Case) -> np.ndarray:
    """x > y ? x : y: the second zero, and the second operand beside a NaN."""
    x, y = floats(case, 0), floats(case, 1)
    return words(np.where(x > y if case.operation == "maximum" else x < y, x, y))


def compared_in_binary32(case: Case) -> np.ndarray:
    x, y = (whole(case, n).astype(np.float32) for n in (0, 1))
    compare = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}[case.operation]
    return compare(x, y).astype(np.uint8).reshape(-1)


def compared_by_difference(case: Case) -> np.ndarray:
    x, y = (case.operands[n].words for n in (0, 1))
    difference = (x - y).view(np.int32)
    test = {"eq": difference == 0, "ne": difference != 0, "lt": difference < 0, "le": difference <= 0}
    return test[case.operation].astype(np.uint8)


def compared_as_bits(case: Case) -> np.ndarray:
    """Binary32 words compared as Int32."""
    x, y = (case.operands[n].words.view(np.int32) for n in (0, 1))
    compare = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}[case.operation]
    return compare(x, y).astype(np.uint8)


def swapped(case: Case) -> np.ndarray:
    x, y = floats(case, 0), floats(case, 1)
    return {"lt": y < x, "le": y <= x}[case.operation].astype(np.uint8).reshape(-1)


# ---- rows ------------------------------------------------------------------------------------------------------------


def row_values(case: Case) -> np.ndarray:
    return floats(case, 0) if case.operands[0].dtype == "f32" else whole(case, 0).astype(np.float64)


def extremum(case: Case, x: np.ndarray, initial: float | None = None) -> np.ndarray:
    fold = np.max if case.operation.endswith("max") else np.min
    result = fold(x, axis=-1) if initial is None else fold(x, axis=-1, initial=initial)
    return words(result) if case.output_dtype == "f32" else int_words(result)


def from_zero(case: Case) -> np.ndarray | None:
    return extremum(case, row_values(case), 0.0) if case.size else None


def without_last(case: Case) -> np.ndarray | None:
    return extremum(case, row_values(case)[..., :-1]) if case.size > 1 else None


def without_tail(case: Case) -> np.ndarray | None:
    whole_groups = case.size // 8 * 8
    return extremum(case, row_values(case)[..., :whole_groups]) if whole_groups else None


def last_winner(case: Case) -> np.ndarray | None:
    if case.error:
        return None
    pick = np.argmax if case.operation == "argmax" else np.argmin
    return int_words(case.size - 1 - pick(row_values(case)[..., ::-1], axis=-1))


def one_based(case: Case) -> np.ndarray:
    return right_words(case) + np.uint32(1)


def unstable(case: Case) -> np.ndarray:
    """Ties in reverse order."""
    x = row_values(case).astype(np.float64)
    descending = case.parameters.get("descending", False) or case.operation.startswith("topk_")
    keys = np.where(np.isnan(x), np.inf if not descending else -np.inf, -x if descending else x)
    order = np.lexsort((-np.arange(case.size)[None, :] * np.ones_like(x), keys), axis=-1)
    return int_words(order[..., : case.output_layout.extents[-1]])


# ---- sums ------------------------------------------------------------------------------------------------------------


def sums(case: Case, dtype, step: int = 1, last: int | None = None) -> np.ndarray | None:
    """The sums of a row, a product of rows and columns, or a running sum, term by term in ``dtype``."""
    if case.operation == "matmul":
        lhs, rhs = floats(case, 0, dtype), floats(case, 1, dtype)
        terms = range(case.size)[:last][::step]
        total = np.zeros((*lhs.shape[:-1], rhs.shape[-1]), dtype)
        for k in terms:
            total = total + lhs[..., :, k, None] * rhs[..., None, k, :]
        return words(total)
    x = floats(case, 0, dtype)[..., :last][..., ::step]
    if case.operation == "cumsum":
        return words(np.add.accumulate(x, axis=-1)) if step == 1 and last is None else None
    total = np.full(x.shape[:-1], dtype(case.operation == "reduce_prod"), dtype)
    for k in range(x.shape[-1]):
        total = total * x[..., k] if case.operation == "reduce_prod" else total + x[..., k]
    return words(total)


def short(dtype) -> Callable[[Case], np.ndarray | None]:
    return lambda case: sums(case, dtype, last=-1) if case.size else None


def pairwise_cumsum(case: Case) -> np.ndarray:
    """The second half of each row on top of the first half's total, its own running sum apart."""
    x = floats(case, 0)
    half = case.size // 2
    left, right = np.add.accumulate(x[..., :half], axis=-1), np.add.accumulate(x[..., half:], axis=-1)
    total = left[..., -1:] if half else np.zeros_like(x[..., :1])[..., :1]
    return words(np.concatenate([left, right + total], axis=-1)) if case.size > 1 else right_words(case)


def exclusive(case: Case) -> np.ndarray:
    x = floats(case, 0)
    return words(np.add.accumulate(x, axis=-1) - x)


MUTANTS = [
    Mutant(
        "flushes subnormal operands",
        # A rounded subnormal is a zero of its sign anyhow.
        lambda p: is_float(p) and p.operation in {*BINARY, *UNARY} - {"round"} and reads_float(p),
        flushing,
    ),
    Mutant(
        "flushes subnormal results",
        lambda p: is_float(p) and p.operation in BINARY and reads_float(p)
        and not any(o.role.value == "scalar" for o in p.operands),
        result_flushing,
    ),
    Mutant(
        "does not convert Int32 first",
        lambda p: is_float(p) and p.operation in ("add", "sub", "mul", "div")
        and any(o.convert_to for o in p.operands),
        unconverted,
    ),
    Mutant(
        "rounds toward zero",
        lambda p: is_float(p) and p.operation in ("add", "sub", "mul", "div"),
        toward_zero,
    ),
    Mutant("rounds halves up", named("round"), half_up),
    Mutant("adds one half in binary32", named("round"), half_up_in_binary32),
    Mutant("truncates", named("round", "ceil", "floor"), lambda c: words(np.trunc(floats(c, 0)))),
    Mutant(
        "rounds once", named("rsqrt"), lambda c: words(np.float64(1) / np.sqrt(floats(c, 0, np.float64)))
    ),
    Mutant(
        "squares and divides", named("recip"), lambda c: words(floats(c, 0) / (floats(c, 0) * floats(c, 0)))
    ),
    Mutant("approximates", named("sqrt"), lambda c: words(floats(c, 0) * (np.float32(1) / np.sqrt(floats(c, 0))))),
    Mutant(
        "rounds to nearest",
        named("cast", output="i32", compute="f32"),
        lambda c: None if c.error else int_words(np.rint(floats(c, 0, np.float64))),
    ),
    Mutant(
        "looks at the low byte",
        lambda p: p.operation == "cast" and p.operands[0].dtype == "i32" and p.output == "bool",
        lambda c: ((c.operands[0].words & 0xFF) != 0).astype(np.uint8),
    ),
    Mutant(
        "looks at all bits of a zero",
        lambda p: p.operation == "cast" and p.operands[0].dtype == "f32" and p.output == "bool",
        lambda c: (c.operands[0].words != 0).astype(np.uint8),
    ),
    Mutant("loses NaN", named("maximum", "minimum", compute="f32"), losing_nan),
    Mutant("returns the second of two zeros", named("maximum", "minimum", compute="f32"), first_if_greater),
    Mutant("compares Int32 in binary32", named("eq", "ne", "lt", "le", compute="i32"), compared_in_binary32),
    Mutant("compares by a wrapping difference", named("lt", "le", compute="i32"), compared_by_difference),
    Mutant("compares binary32 as bits", named("eq", "ne", "lt", "le", compute="f32"), compared_as_bits),
    Mutant("swaps the operands", named("lt", "le", compute="f32"), swapped),
    Mutant("starts from zero", named("reduce_max", "reduce_min"), from_zero),
    Mutant("drops the last element", named("reduce_max", "reduce_min"), without_last),
    Mutant("drops the tail", named("reduce_max", "reduce_min"), without_tail),
    Mutant("keeps the last winner", named("argmax", "argmin"), last_winner),
    Mutant("counts from one", named("argmax", "argmin", "sort_indices", "topk_indices"), one_based),
    Mutant("reverses ties", named("sort_indices", "topk_indices"), unstable),
    Mutant(
        "accumulates in Float32",
        named("reduce_sum", "reduce_prod", "matmul", "cumsum", accumulator="f64"),
        lambda c: sums(c, np.float32),
    ),
    Mutant(
        "accumulates in Float16",
        named("reduce_sum", "matmul", accumulator="f32"),
        lambda c: sums(c, np.float16),
    ),
    Mutant("drops the last term", named("reduce_sum", "reduce_prod", accumulator="f32"), short(np.float64)),
    Mutant("drops the last term", named("matmul", accumulation="floating"), short(np.float64)),
    Mutant(
        "accumulates in Float64", named("cumsum", "reduce_prod", accumulation="sequential_binary32"),
        lambda c: sums(c, np.float64),
    ),
    Mutant(
        "goes backwards", named("reduce_prod", accumulation="sequential_binary32"),
        lambda c: sums(c, np.float32, step=-1),
    ),
    Mutant("adds halves apart", named("cumsum", accumulation="sequential_binary32"), pairwise_cumsum),
    Mutant("is exclusive", named("cumsum"), exclusive),
]  # fmt: skip
PAIRS = [
    pytest.param(mutant, item, id=f"{mutant.name.replace(' ', '_')}-{item.id}")
    for mutant in MUTANTS
    for item in obligations()
    if item.plan is not None and mutant.applies(item.plan)
]

# What a class cannot see by design: its witnesses are exact in every order and every accumulator, or it is coarse.
BLIND = {
    ("accumulates in Float32", "reduce_sum", "analytic"),
    ("accumulates in Float32", "reduce_prod", "analytic"),
    ("accumulates in Float32", "cumsum", "analytic"),
    ("accumulates in Float32", "matmul", "analytic"),
    ("accumulates in Float64", "cumsum", "structural"),
    ("accumulates in Float64", "reduce_prod", "structural"),
    ("goes backwards", "reduce_prod", "structural"),
    ("adds halves apart", "cumsum", "structural"),
}


def killed(mutant: Mutant, item) -> bool:
    with np.errstate(all="ignore"):
        for case in item.cases():
            if case.error or case.oracle_only or not case.output_layout.size:
                continue
            result = mutant.result(case)
            if result is not None and rejected(case, result):
                return True
    return False


@pytest.mark.parametrize(("mutant", "item"), PAIRS)
def test_a_kernel_wrong_in_one_way_is_rejected_by_some_case_of_its_item(mutant, item):
    blind = (mutant.name, item.plan.operation, item.verification_class.value) in BLIND
    assert killed(mutant, item) is not blind


def test_every_mutant_has_a_plan_and_no_blind_spot_is_a_whole_plan():
    for mutant in MUTANTS:
        assert any(mutant.applies(item.plan) for item in obligations() if item.plan is not None), mutant.name
    for name, operation, _ in BLIND:
        seeing = [
            item
            for item in obligations()
            if item.plan is not None
            and item.plan.operation == operation
            and any(mutant.name == name and mutant.applies(item.plan) for mutant in MUTANTS)
            and (name, operation, item.verification_class.value) not in BLIND
        ]
        assert seeing, (name, operation)


def test_a_correct_float_formula_is_not_rejected_so_that_these_tests_can_pass_and_fail():
    right = Mutant("none", lambda p: is_float(p) and p.operation in BINARY, lambda c: words(
        BINARY[c.operation](floats(c, 0), floats(c, 1))
    ))  # fmt: skip
    checked = 0
    for item in obligations():
        if item.plan is not None and right.applies(item.plan):
            assert not killed(right, item), item.id
            checked += 1
    assert checked == 16
