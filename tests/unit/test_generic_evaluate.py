"""evaluate: one stated answer for every active plan, and what it refuses."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from generic_words import INFINITY, NAN, SIGN, Array, answer, f32, i32, run, truth, words

from pytest_kernelverify.operations.generic import ERROR_KINDS, Answer, GenericError, evaluate
from pytest_kernelverify.operations.plan import OperandKey, OperandRole, PlanKey
from pytest_kernelverify.operations.table import output_extents

PROFILES = Path(__file__).resolve().parents[2] / "profiles"
INT_MIN, INT_MAX = -(2**31), 2**31 - 1
THIRD = 0x3EAAAAAB


def plans(profile: str) -> dict[str, Any]:
    kernels = tomllib.loads((PROFILES / f"{profile}.toml").read_text(encoding="utf-8"))["kernels"]
    return {text: classes for kernel in kernels for text, classes in kernel.get("plans", {}).items()}


ACTIVE = [text for text, classes in plans("cpu-compiled").items() if isinstance(classes, list)]
DEFERRED = [text for text, classes in plans("cpu-compiled").items() if not isinstance(classes, list)]


def scalar(word: Array) -> Array:
    return word.reshape(())


ROW = words(NAN, 0x3F800000, SIGN, 0, 0xC0000000).reshape(1, 5)
INTS = i32(5, INT_MIN, 7, 7, INT_MAX).reshape(1, 5)
TALL, STEP = f32(2.0**24, 1, 1).reshape(1, 3), f32(1, 1, 1).reshape(3, 1)
SMALL = f32(2.0**-75, 2.0**-75, 2.0**100).reshape(1, 3)
SIGNAL, KERNEL = f32(2.0**24, 1, 1, 4).reshape(1, 1, 4), f32(1, 1, 1).reshape(1, 1, 3)
BASE, UPDATES = f32(2.0**24, -1).reshape(2, 1), f32(1, 1, 3).reshape(3, 1)
TARGET = i32(0, 0, 1)
UNARY_GIVEN = f32(2.5, -2.5, -0.5)
THREE = f32(2.0**24, 1.0), i32(-1, 2**24 + 1)  # an Int32 that is no binary32 value

STATED: dict[str, tuple[Any, ...]] = {
    "add(f32,f32)->f32 compute=f32": (f32(1, 1), words(0x33800000, 0x33800001), words(0x3F800000, 0x3F800001)),
    "add(f32,i32>f32)->f32 compute=f32": (*THREE, f32(2.0**24 - 1, 2.0**24)),
    "add(i32>f32,f32)->f32 compute=f32": (*THREE[::-1], f32(2.0**24 - 1, 2.0**24)),
    "add(i32,i32)->i32 compute=i32_checked": (i32(INT_MAX, -3), i32(INT_MIN, 5), i32(-1, 2)),
    "sub(f32,f32)->f32 compute=f32": (f32(1, 3), words(0x33000001, 0x40400000), words(0x3F7FFFFF, 0)),
    "sub(f32,i32>f32)->f32 compute=f32": (*THREE, f32(2.0**24, 1 - 2.0**24)),
    "sub(i32>f32,f32)->f32 compute=f32": (*THREE[::-1], f32(-(2.0**24), 2.0**24 - 1)),
    "sub(i32,i32)->i32 compute=i32_checked": (i32(INT_MIN, 4), i32(INT_MIN, 9), i32(0, -5)),
    "mul(f32,f32)->f32 compute=f32": (words(0x3F800001, 3), words(0x3F800001, 0x3F000000), words(0x3F800002, 2)),
    "mul(f32,i32>f32)->f32 compute=f32": (*THREE, f32(-(2.0**24), 2.0**24)),
    "mul(i32>f32,f32)->f32 compute=f32": (*THREE[::-1], f32(-(2.0**24), 2.0**24)),
    "mul(i32,i32)->i32 compute=i32_checked": (i32(46340, -3), i32(46340, 7), i32(2147395600, -21)),
    "mul(f32,f32:scalar)->f32 compute=f32": (f32(1, 3), scalar(words(0x3DCCCCCD)), words(0x3DCCCCCD, 0x3E99999A)),
    "mul(i32>f32,f32:scalar)->f32 compute=f32": (i32(3, 2**24 + 1), scalar(f32(2)), f32(6, 2.0**25)),
    "mul(i32,i32:scalar)->i32 compute=i32_checked": (i32(3, -4), scalar(i32(-5)), i32(-15, 20)),
    "div(f32,f32)->f32 compute=f32": (f32(1, -1), f32(3, 0), words(THIRD, SIGN | INFINITY)),
    "div(f32,i32>f32)->f32 compute=f32": (f32(1, 2.0**25), i32(3, 2**24 + 1), words(THIRD, 0x40000000)),
    "div(i32>f32,f32)->f32 compute=f32": (i32(1, 2**24 + 1), f32(3, 2), words(THIRD, 0x4B000000)),
    "div(i32>f32,i32>f32)->f32 compute=f32": (i32(1, 7), i32(3, -2), words(THIRD, 0xC0600000)),
    "rem(f32,f32)->f32 compute=f32": (f32(5.5, -5.5), f32(2, 2), f32(1.5, -1.5)),
    "maximum(f32,f32)->f32 compute=f32": (words(SIGN, NAN, 5), words(0, 0, 9), words(0, NAN, 9)),
    "maximum(i32,i32)->i32 compute=i32": (i32(-2, 3), i32(-3, 4), i32(-2, 4)),
    "minimum(f32,f32)->f32 compute=f32": (words(0, 0, 5), words(SIGN, NAN, 9), words(SIGN, NAN, 5)),
    "minimum(i32,i32)->i32 compute=i32": (i32(-2, 3), i32(-3, 4), i32(-3, 3)),
    "pow(i32,i32)->i32 compute=i32_checked": (i32(0, -3, 2), i32(0, 3, 30), i32(1, -27, 2**30)),
    "pow(i32,i32:scalar)->i32 compute=i32_checked": (i32(-7, 12), scalar(i32(3)), i32(-343, 1728)),
    "neg(f32)->f32 compute=f32": (words(0, 0xC0000000), words(SIGN, 0x40000000)),
    "neg(i32)->i32 compute=i32_checked": (i32(5, INT_MAX), i32(-5, -INT_MAX)),
    "abs(f32)->f32 compute=f32": (words(SIGN, 0xC0000000), words(0, 0x40000000)),
    "abs(i32)->i32 compute=i32_checked": (i32(-5, INT_MAX), i32(5, INT_MAX)),
    "sign(f32)->f32 compute=f32": (words(SIGN, 1, 0xC0000000), words(SIGN, 0x3F800000, 0xBF800000)),
    "sign(i32)->i32 compute=i32": (i32(INT_MIN, 0, 3), i32(-1, 0, 1)),
    "ceil(f32)->f32 compute=f32": (UNARY_GIVEN, f32(3, -2, -0.0)),
    "floor(f32)->f32 compute=f32": (UNARY_GIVEN, f32(2, -3, -1)),
    "round(f32)->f32 compute=f32": (UNARY_GIVEN, f32(2, -2, -0.0)),
    "recip(f32)->f32 compute=f32": (f32(3, -0.0), words(THIRD, SIGN | INFINITY)),
    "sqrt(f32)->f32 compute=f32": (f32(2, 9), words(0x3FB504F3, 0x40400000)),
    "rsqrt(f32)->f32 compute=f32": (f32(4, 3), words(0x3F000000, 0x3F13CD3A)),
    "relu(f32)->f32 compute=f32": (words(SIGN, 7, 0xBF800000), words(0, 7, 0)),
    "relu(i32)->i32 compute=i32": (i32(-3, 4), i32(0, 4)),
    "leaky_relu(f32)->f32 compute=f32": (f32(-1, 2, -0.0), words(0xBC23D70A, 0x40000000, SIGN)),
    "leaky_relu(i32>f32)->f32 compute=f32": (i32(-1, 2**24 + 1), words(0xBC23D70A, 0x4B800000)),
    "clamp(f32,f32,f32)->f32 compute=f32": (f32(-9, 0.5, 9), f32(-1, 0, 1), f32(1, 1, 2), f32(-1, 0.5, 2)),
    "clamp(f32,f32,f32:scalar)->f32 compute=f32": (f32(-9, 9), f32(-1, 0), scalar(f32(1)), f32(-1, 1)),
    "clamp(f32,f32:scalar,f32)->f32 compute=f32": (f32(-9, 9), scalar(f32(-1)), f32(0, 1), f32(-1, 1)),
    "clamp(f32,f32:scalar,f32:scalar)->f32 compute=f32": (
        f32(-9, 0.5),
        scalar(f32(-1)),
        scalar(f32(1)),
        f32(-1, 0.5),
    ),
    "clamp(i32,i32,i32)->i32 compute=i32": (i32(-9, 3), i32(-1, 0), i32(1, 2), i32(-1, 2)),
    "logical_not(f32)->bool compute=f32": (words(SIGN, 1, NAN), truth(1, 0, 0)),
    "logical_not(bool)->bool compute=word": (truth(0, 1), truth(1, 0)),
    "cast(f32)->i32 compute=f32": (f32(-2.75, 2.0**31 - 128), i32(-2, 2**31 - 128)),
    "cast(i32)->f32 compute=f32": (i32(2**24 + 3, -1), f32(2.0**24 + 4, -1)),
    "cast(f32)->bool compute=f32": (words(SIGN, 1, NAN), truth(0, 1, 1)),
    "cast(i32)->bool compute=i32": (i32(0, INT_MIN), truth(0, 1)),
    "cast(bool)->f32 compute=word": (truth(0, 1), f32(0, 1)),
    "cast(bool)->i32 compute=word": (truth(0, 1), i32(0, 1)),
    "select(bool,f32,f32)->f32 compute=word": (truth(1, 0), words(0x7F800001, 1), words(2, 3), words(0x7F800001, 3)),
    "select(bool,i32,i32)->i32 compute=word": (truth(1, 0), i32(-1, 1), i32(2, -3), i32(-1, -3)),
    "eq(f32,f32)->bool compute=f32": (words(0, NAN, 1), words(SIGN, NAN, 2), truth(1, 0, 0)),
    "eq(i32,i32)->bool compute=i32": (i32(3, -3), i32(3, 3), truth(1, 0)),
    "ne(f32,f32)->bool compute=f32": (words(0, NAN, 1), words(SIGN, NAN, 2), truth(0, 1, 1)),
    "ne(i32,i32)->bool compute=i32": (i32(3, -3), i32(3, 3), truth(0, 1)),
    "lt(f32,f32)->bool compute=f32": (words(SIGN, NAN, 0xBF800000), words(0, 1, SIGN | 1), truth(0, 0, 1)),
    "lt(i32,i32)->bool compute=i32": (i32(INT_MIN, 2), i32(INT_MAX, 2), truth(1, 0)),
    "le(f32,f32)->bool compute=f32": (words(0, NAN, 2), words(SIGN, NAN, 1), truth(1, 0, 0)),
    "le(i32,i32)->bool compute=i32": (i32(2, 3), i32(2, -3), truth(1, 0)),
    "reduce_sum(f32)->f32 compute=f32 acc=floating:f32": (TALL, words(0x4B800001)),
    "reduce_sum(f32)->f32 compute=f32 acc=floating:f64": (TALL, words(0x4B800001)),
    "reduce_sum(i32)->i32 compute=i32_checked acc=exact_integer": (INTS, i32(18)),
    "reduce_prod(f32)->f32 compute=f32 acc=sequential_binary32": (SMALL, f32(0)),
    "reduce_prod(f32)->f32 compute=f32 acc=floating:f64": (SMALL, f32(2.0**-50)),
    "reduce_max(f32)->f32 compute=f32": (ROW[:, 1:], words(0x3F800000)),
    "reduce_max(i32)->i32 compute=i32": (INTS, i32(INT_MAX)),
    "reduce_min(f32)->f32 compute=f32": (ROW[:, 1:4], words(SIGN)),
    "reduce_min(i32)->i32 compute=i32": (INTS, i32(INT_MIN)),
    "argmax(f32)->i32 compute=f32": (ROW, i32(0)),
    "argmax(i32)->i32 compute=i32": (INTS, i32(4)),
    "argmin(f32)->i32 compute=f32": (ROW[:, 1:], i32(3)),
    "argmin(i32)->i32 compute=i32": (INTS, i32(1)),
    "cumsum(f32)->f32 compute=f32 acc=sequential_binary32": (TALL, words(0x4B800000, 0x4B800000, 0x4B800000)),
    "cumsum(f32)->f32 compute=f32 acc=floating:f64": (TALL, words(0x4B800000, 0x4B800000, 0x4B800001)),
    "matmul(f32,f32)->f32 compute=f32 acc=floating:f32": (TALL, STEP, words(0x4B800001)),
    "matmul(f32,f32)->f32 compute=f32 acc=floating:f64": (TALL, STEP, words(0x4B800001)),
    "matmul(f32,i32>f32)->f32 compute=f32 acc=floating:f32": (
        TALL,
        i32(1, 3, 2**24 + 1).reshape(3, 1),
        f32(2.0**25 + 4),
    ),
    "matmul(f32,i32>f32)->f32 compute=f32 acc=floating:f64": (
        TALL,
        i32(1, 3, 2**24 + 1).reshape(3, 1),
        f32(2.0**25 + 4),
    ),
    "matmul(i32>f32,f32)->f32 compute=f32 acc=floating:f32": (
        i32(2**24 + 1, 2).reshape(1, 2),
        STEP[:2],
        f32(2.0**24 + 2),
    ),
    "matmul(i32>f32,f32)->f32 compute=f32 acc=floating:f64": (
        i32(2**24 + 1, 2).reshape(1, 2),
        STEP[:2],
        f32(2.0**24 + 2),
    ),
    "matmul(i32,i32)->i32 compute=i32_checked acc=exact_integer": (
        i32(INT_MIN, INT_MIN).reshape(1, 2),
        i32(-3, 4).reshape(2, 1),
        i32(INT_MIN),
    ),
    "conv(f32,f32)->f32 compute=f32 acc=sequential_binary32": (SIGNAL, KERNEL, words(0x4B800000, 0x40C00000)),
    "conv(f32,f32)->f32 compute=f32 acc=floating:f64": (SIGNAL, KERNEL, words(0x4B800001, 0x40C00000)),
    "gather(f32,i32)->f32 compute=word": (BASE, i32(1, 0), f32(-1, 2.0**24)),
    "gather(i32,i32)->i32 compute=word": (INTS.T, i32(4, 1), i32(INT_MAX, INT_MIN)),
    "scatter(f32,i32,f32)->f32 compute=word": (BASE, TARGET, UPDATES, f32(1, 3)),
    "scatter(i32,i32,i32)->i32 compute=word": (INTS.T[:2], i32(1), i32(9).reshape(1, 1), i32(5, 9)),
    "scatter_add(f32,i32,f32)->f32 compute=f32 acc=sequential_binary32": (BASE, TARGET, UPDATES, f32(2.0**24, 2)),
    "scatter_add(f32,i32,f32)->f32 compute=f32 acc=floating:f64": (BASE, TARGET, UPDATES, f32(2.0**24 + 2, 2)),
    "sort_values(f32)->f32 compute=f32": (ROW, words(0xC0000000, SIGN, 0, 0x3F800000, NAN)),
    "sort_values(i32)->i32 compute=i32": (INTS, i32(INT_MIN, 5, 7, 7, INT_MAX)),
    "sort_indices(f32)->i32 compute=f32": (ROW, i32(4, 2, 3, 1, 0)),
    "sort_indices(i32)->i32 compute=i32": (INTS, i32(1, 0, 2, 3, 4)),
    "topk_values(f32)->f32 compute=f32": (ROW, words(NAN)),
    "topk_values(i32)->i32 compute=i32": (INTS, i32(INT_MAX)),
    "topk_indices(f32)->i32 compute=f32": (ROW, i32(0)),
    "topk_indices(i32)->i32 compute=i32": (INTS, i32(4)),
}


def test_an_answer_is_stated_for_every_active_plan_and_no_other() -> None:
    assert sorted(STATED) == sorted(ACTIVE)
    assert len(ACTIVE) == 103


@pytest.mark.parametrize("text", ACTIVE)
def test_every_active_plan_gives_its_stated_answer(text: str) -> None:
    *operands, expected = STATED[text]
    got = run(text, *operands).words
    assert got.dtype == expected.dtype
    assert got.tolist() == expected.tolist()


@pytest.mark.parametrize("text", ACTIVE)
def test_an_answer_has_one_word_for_each_element_of_the_output(text: str) -> None:
    *operands, _ = STATED[text]
    plan = PlanKey.from_text(text)
    extents = output_extents(plan.operation, tuple(operand.shape for operand in operands), {})
    assert run(text, *operands).words.shape == (np.prod(extents, dtype=int),)


@pytest.mark.parametrize("text", ACTIVE)
def test_bounds_come_with_accumulating_plans_and_leave_the_words_alone(text: str) -> None:
    *operands, expected = STATED[text]
    got = run(text, *operands, bounds=True)
    assert got.words.tolist() == expected.tolist()
    if PlanKey.from_text(text).accumulation is None:
        assert (got.scaled, got.magnitudes, got.terms, got.exact, got.magnitude) == (None,) * 5
    else:
        parts = got.scaled, got.magnitudes, got.terms, got.exact, got.magnitude
        assert [part is not None and len(part) for part in parts] == [expected.size] * 5


@pytest.mark.parametrize("text", [text for text in plans("metal-tilelang") if text not in DEFERRED])
def test_every_active_plan_of_a_target_has_a_reference(text: str) -> None:
    assert text in STATED


@pytest.mark.parametrize("text", DEFERRED)
def test_a_deferred_plan_has_no_exact_reference(text: str) -> None:
    plan = PlanKey.from_text(text)
    one = {"f32": f32(1), "i32": i32(1)}
    operands = [scalar(one[key.dtype]) if key.role is OperandRole.SCALAR else one[key.dtype] for key in plan.operands]
    with pytest.raises(GenericError, match="no exact reference exists") as caught:
        evaluate(plan, operands)
    assert caught.value.kind == "invalid"


@pytest.mark.parametrize(
    "text",
    [
        "add(f32,f32)->i32 compute=f32",
        "add(i32,i32)->i32 compute=i32",
        "add(f32,i32)->f32 compute=f32",
        "add(f32>i32,i32)->i32 compute=i32_checked",
        "add(bool,bool)->bool compute=word",
        "eq(f32,f32)->f32 compute=f32",
        "rem(i32,i32)->i32 compute=i32_checked",
        "cast(f32)->f32 compute=f32",
        "cast(bool)->bool compute=word",
        "logical_not(i32)->bool compute=i32",
        "select(bool,f32,i32)->f32 compute=word",
        "select(i32,f32,f32)->f32 compute=word",
        "reduce_sum(f32)->f32 compute=f32",
        "reduce_sum(f32)->f32 compute=f32 acc=sequential_binary32",
        "reduce_sum(f32)->f32 compute=f32 acc=exact_integer",
        "reduce_sum(i32)->i32 compute=i32_checked acc=floating:f32",
        "reduce_prod(i32)->i32 compute=i32_checked acc=exact_integer",
        "reduce_max(f32)->i32 compute=f32",
        "argmax(f32)->f32 compute=f32",
        "cumsum(i32)->i32 compute=i32_checked acc=exact_integer",
        "conv(i32,i32)->i32 compute=i32_checked acc=exact_integer",
        "matmul(f32,f32)->f32 compute=f32 acc=sequential_binary32",
        "gather(f32,f32)->f32 compute=word",
        "gather(f32,i32)->i32 compute=word",
        "scatter(f32,i32,i32)->f32 compute=word",
        "scatter_add(i32,i32,i32)->i32 compute=i32_checked acc=exact_integer",
        "sort_values(f32)->i32 compute=f32",
        "topk_indices(f32)->f32 compute=f32",
    ],
)
def test_a_plan_without_a_reference_is_refused_and_not_approximated(text: str) -> None:
    plan = PlanKey.from_text(text)
    kinds = {"f32": f32(1), "i32": i32(1), "bool": truth(1)}
    with pytest.raises(GenericError, match="no exact reference exists for this plan") as caught:
        evaluate(plan, [kinds[key.dtype] for key in plan.operands])
    assert caught.value.kind == "invalid"


def test_operands_that_are_not_words_of_the_plan_are_a_type_error() -> None:
    plan = PlanKey.from_text("add(f32,f32)->f32 compute=f32")
    for wrong in (np.ones(1, np.float32), np.ones(1, np.int32), truth(1), [1], np.uint32(1)):
        with pytest.raises(TypeError, match=r"add\(f32,f32\).*expected an array of uint32 words"):
            evaluate(plan, [f32(1), wrong])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("text", "operands", "parameters", "message"),
    [
        ("add(f32,f32)->f32 compute=f32", [f32(1)], {}, "takes 2 operands, got 1"),
        ("add(f32,f32)->f32 compute=f32", [f32(1), f32(1, 2)], {}, "must be equal"),
        ("add(f32,f32)->f32 compute=f32", [f32(1), f32(1).reshape(1, 1)], {}, "must be equal"),
        ("add(f32,f32)->f32 compute=f32", [f32(1), f32(1)], {"k": 1}, "has no parameter 'k'"),
        ("mul(f32,f32:scalar)->f32 compute=f32", [f32(1), f32(1)], {}, r"expected \(\)"),
        ("leaky_relu(f32)->f32 compute=f32", [f32(1)], {"negative_slope": "a"}, "expected a number"),
        ("reduce_max(f32)->f32 compute=f32", [scalar(f32(1))], {}, "no mode"),
        ("sort_values(f32)->f32 compute=f32", [scalar(f32(1))], {}, "no mode"),
    ],
)
def test_a_call_that_does_not_fit_its_plan_is_invalid(
    text: str, operands: list[Array], parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(GenericError, match=message) as caught:
        run(text, *operands, parameters=parameters)
    assert caught.value.kind == "invalid"


def test_an_operand_is_never_changed() -> None:
    for text in ACTIVE:
        *operands, _ = STATED[text]
        before = [operand.tobytes() for operand in operands]
        for operand in operands:
            operand.flags.writeable = False
        got = run(text, *operands, bounds=True).words
        got[...] = 1  # and the answer is no view of one
        for operand, bytes_ in zip(operands, before, strict=True):
            assert operand.tobytes() == bytes_


def test_an_operand_converted_to_its_own_dtype_stays_as_it_is() -> None:
    same = OperandKey(OperandRole.TENSOR, "f32", "f32")
    assert evaluate(PlanKey("neg", (same,), "f32", None, None, "f32"), [f32(1)]).words.tolist() == f32(-1).tolist()


def test_the_error_kinds_are_the_words_carriers_use() -> None:
    from pytest_kernelverify.carriers import base

    assert ERROR_KINDS == base.ERROR_KINDS
    with pytest.raises(ValueError, match="error kind is 'oops'"):
        GenericError("message", "oops")


def test_exact_values_are_refused_where_an_answer_has_none() -> None:
    infinite = run("reduce_sum(f32)->f32 compute=f32 acc=floating:f32", words(INFINITY, 0).reshape(1, 2), bounds=True)
    assert infinite.words.tolist() == [INFINITY]
    assert infinite.exact is infinite.magnitude is None
    for read in (infinite.exact_at, infinite.magnitude_at):
        with pytest.raises(ValueError, match="bounds=True on finite operands"):
            read(0)


def test_exact_values_have_one_power_of_two_of_either_sign() -> None:
    small = Answer(words(0), scaled=(3, -5), magnitudes=(3, 7), exponent=-2, terms=(1, 2))
    large = Answer(words(0), scaled=(3, -5), magnitudes=(3, 7), exponent=2, terms=(1, 2))
    assert [float(value) for value in small.exact or ()] == [0.75, -1.25]
    assert [float(value) for value in large.magnitude or ()] == [12, 28]


def test_answers_do_not_depend_on_earlier_calls() -> None:
    plan = "matmul(f32,f32)->f32 compute=f32 acc=floating:f32"
    first = answer(plan, TALL, STEP)
    answer(plan, f32(*range(12)).reshape(3, 4), f32(*range(8)).reshape(4, 2))
    assert answer(plan, TALL, STEP) == first
