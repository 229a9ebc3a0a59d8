"""Every plan over every layout, and every error: a view's own elements are addressed, and an error writes nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from binary32 import INF, NAN, SPECIALS, words_of
from kernel_runs import WORDS, Given, f32, i32, kernel_of, run, sample, spread, truth

from pytest_kernelverify.carriers.base import ERROR_KINDS, KernelError, View
from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.operations.plan import PlanKey
from pytest_kernelverify.operations.table import output_extents

PROFILE = tomllib.loads((Path(__file__).parents[2] / "profiles/cpu-compiled.toml").read_text(encoding="utf-8"))
PLANS = [plan for kernel in PROFILE["kernels"] for plan in kernel.get("plans", {})]
KINDS = ["offset", "pitched", "transposed", "hierarchical"]


@pytest.mark.parametrize("text", PLANS)
def test_a_plan_gives_the_same_words_under_every_layout(carrier, text):
    plan = PlanKey.from_text(text)
    for extent in (1, 4, 6):
        operands, parameters = sample(plan, extent, extent)
        extents = output_extents(plan.operation, tuple(g.layout.extents for g in operands), parameters)
        expected = run(carrier, text, *operands, **parameters)
        for kind in KINDS:
            laid = [Given(g.dtype, spread(g.layout.extents, kind), g.words) for g in operands]
            assert run(carrier, text, *laid, **parameters) == expected, kind
            assert run(carrier, text, *operands, output=spread(extents, kind), **parameters) == expected, kind
        mixed = [Given(g.dtype, spread(g.layout.extents, KINDS[i]), g.words) for i, g in enumerate(operands)]
        assert run(carrier, text, *mixed, output=spread(extents, KINDS[-1]), **parameters) == expected


@pytest.mark.parametrize("text", PLANS)
def test_a_stride_0_mode_repeats_its_elements(carrier, text):
    plan = PlanKey.from_text(text)
    operands, parameters = sample(plan, 4, 0)
    for index, given in enumerate(operands):
        if not given.layout.extents:
            continue
        compact = given.layout
        whole = np.array(given.words, dtype=WORDS[given.dtype]).reshape(compact.extents)
        repeated = np.broadcast_to(whole[:1], whole.shape)
        broadcast = Layout(compact.shape, (0, *compact.stride[1:]))
        flat = [int(word) for word in repeated.reshape(-1)]
        laid, spelled = list(operands), list(operands)
        laid[index] = Given(given.dtype, broadcast, flat)
        spelled[index] = Given(given.dtype, compact.extents, flat)
        assert run(carrier, text, *laid, **parameters) == run(carrier, text, *spelled, **parameters)


@pytest.mark.parametrize("text", [text for text in PLANS if not text.startswith("arg")])
def test_zero_extents_write_nothing_outside(carrier, text):
    """An arg-reduction of nothing is an error, below."""
    plan = PlanKey.from_text(text)
    operands, parameters = sample(plan, 0, 0)
    extents = output_extents(plan.operation, tuple(g.layout.extents for g in operands), parameters)
    got = run(carrier, text, *operands, **parameters)
    assert len(got) == int(np.prod(extents))


@pytest.mark.parametrize("text", [text for text in PLANS if text.startswith(("arg", "cum", "reduce", "sort", "topk"))])
def test_a_row_kernel_takes_any_rank_up_to_eight(carrier, text):
    plan = PlanKey.from_text(text)
    operands, parameters = sample(plan, 6, 3)
    expected = run(carrier, text, *operands, **parameters)
    given = operands[0]
    deep = Given(given.dtype, (1, 2, 1, 1, 2, 1, 1, 6), given.words)
    assert run(carrier, text, deep, **parameters) == expected
    assert run(carrier, text, Given(given.dtype, (6,), given.words[:6]), **parameters) == expected[: len(expected) // 4]


def test_a_hierarchical_layout_visits_its_leaves_row_major(carrier):
    words = [10, 11, 12, 13]
    layout = Layout((1, (2, 2)), (1, (5, 2)))
    assert layout.offsets().tolist() == [0, 2, 5, 7]
    assert run(carrier, None, i32(words, layout), output=(1, 4)) == words
    parent = np.arange(100, 112, dtype=np.uint32)
    out = np.zeros(4, dtype=np.uint32)
    carrier.launch(kernel_of("copy"), None, [View(parent, "i32", layout)], View(out, "i32", Layout.compact((1, 4))), {})
    assert out.tolist() == [100, 102, 105, 107]


def test_copy_moves_every_word_signalling_nans_included_and_any_bool_byte(carrier):
    assert run(carrier, None, f32(SPECIALS)) == SPECIALS
    assert run(carrier, None, i32(SPECIALS)) == SPECIALS
    assert run(carrier, None, truth([0, 1, 1, 0, 0xA4])) == [0, 1, 1, 0, 0xA4]


def test_copy_keeps_logical_order_between_shapes(carrier):
    words = list(range(24))
    for shape in ((24,), (2, 12), (4, 3, 2), (1, 24, 1)):
        assert run(carrier, None, i32(words, (2, 3, 4)), output=shape) == words
    permuted = Layout((4, 2, 3), (1, 12, 4))
    assert run(carrier, None, i32(words, permuted), output=(4, 2, 3)) == words


def test_a_pointwise_kernel_takes_any_rank_up_to_eight(carrier):
    words = words_of(*range(16))
    for extents in ((16,), (2, 8), (2, 1, 2, 2, 1, 2, 1, 1)):
        assert run(carrier, ADD, f32(words, extents), f32(words_of(1), ())) == words_of(*range(1, 17))
    assert run(carrier, ADD, f32(words_of(1), ()), f32(words_of(2), ()), output=()) == words_of(3)


ADD, MUL = "add(f32,f32)->f32 compute=f32", "mul(i32,i32)->i32 compute=i32_checked"
CONV = "conv(f32,f32)->f32 compute=f32 acc=sequential_binary32"
ONE, TWO = words_of(1, 2)
ERRORS = [
    ("overflow", MUL, [i32([1, 2**16]), i32([1, 2**16])], {}, "element 1"),
    ("overflow", "neg(i32)->i32 compute=i32_checked", [i32([0, 0, -(2**31)])], {}, "element 2"),
    ("overflow", "abs(i32)->i32 compute=i32_checked", [i32([-(2**31)])], {}, "abs"),
    ("overflow", "reduce_sum(i32)->i32 compute=i32_checked acc=exact_integer",
     [i32([1, 1, 2**31 - 1, 1], (2, 2))], {}, "element 1"),
    ("domain", "pow(i32,i32)->i32 compute=i32_checked", [i32([2, 1]), i32([3, -1])], {}, "element 1"),
    ("domain", "clamp(f32,f32,f32)->f32 compute=f32",
     [f32([ONE, NAN]), f32([ONE, TWO]), f32([ONE, ONE])], {}, "element 1: lo"),
    ("domain", "clamp(i32,i32,i32)->i32 compute=i32", [i32([1]), i32([3]), i32([2])], {}, "lo is greater than hi"),
    ("domain", "cast(f32)->i32 compute=f32", [f32([ONE, NAN])], {}, "element 1"),
    ("domain", "cast(f32)->i32 compute=f32", [f32(words_of(1, 2, 2.0**31))], {}, "element 2"),
    ("domain", "cast(f32)->i32 compute=f32", [f32([0xCF000001])], {}, "element 0"),
    ("domain", "cast(f32)->i32 compute=f32", [f32([INF])], {}, "element 0"),
    ("index", "gather(f32,i32)->f32 compute=word", [f32([ONE, TWO], (2, 1)), i32([0, 2])], {}, "index 1 is 2"),
    ("index", "gather(f32,i32)->f32 compute=word", [f32([ONE, TWO], (2, 1)), i32([-1])], {}, "index 0 is -1"),
    ("index", "scatter(f32,i32,f32)->f32 compute=word",
     [f32([ONE, TWO], (2, 1)), i32([1, 5]), f32([ONE, TWO], (2, 1))], {}, "index 1 is 5"),
    ("index", "scatter_add(f32,i32,f32)->f32 compute=f32 acc=floating:f64",
     [f32([ONE, TWO], (2, 1)), i32([-(2**31)]), f32([ONE], (1, 1))], {}, "index 0 is -2147483648"),
    ("empty", "argmax(f32)->i32 compute=f32", [f32([], (3, 0))], {}, "the last mode is empty"),
    ("empty", "argmin(i32)->i32 compute=i32", [i32([], (1, 0))], {}, "the last mode is empty"),
    ("invalid", "topk_values(f32)->f32 compute=f32", [f32([ONE, TWO], (1, 2))], {"k": 3}, "k is 3"),
    ("invalid", "topk_indices(f32)->i32 compute=f32", [f32([ONE], (1, 1))], {"k": -1}, "k is -1"),
    ("invalid", CONV, [f32([ONE], (1, 1, 1)), f32([ONE], (1, 1, 1))], {"stride": 0}, "stride"),
    ("invalid", CONV, [f32([ONE], (1, 1, 1)), f32([ONE], (1, 1, 1))], {"groups": 2}, "2 groups"),
    ("invalid", CONV, [f32([ONE], (1, 1, 1)), f32([ONE], (1, 1, 1))], {"dilation": 0}, "dilation"),
    ("invalid", CONV, [f32([ONE], (1, 1, 1)), f32([ONE], (1, 1, 1))], {"padding": 2**40}, "padding"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "plan", "operands", "parameters", "message"), ERRORS)
def test_an_error_has_its_kind_says_where_and_leaves_the_output_untouched(
    carrier, kind, plan, operands, parameters, message
):
    extents = {CONV: (1, 1, 1)}.get(plan)
    if plan.startswith("topk"):
        extents = (1, 3)
    with pytest.raises(KernelError, match=message) as caught:
        run(carrier, plan, *operands, output=extents, **parameters)
    assert caught.value.kind == kind


def test_each_error_kind_has_a_witness():
    assert {kind for kind, *_ in ERRORS} == set(ERROR_KINDS)


MISFITS = [
    (ADD, [f32([ONE, TWO]), f32([ONE])], (2,)),
    (ADD, [f32([ONE, TWO], (1, 2)), f32([ONE, TWO])], (1, 2)),
    ("reduce_max(f32)->f32 compute=f32", [f32([ONE], ())], ()),
    ("reduce_max(f32)->f32 compute=f32", [f32([ONE, TWO], (2, 1))], (1,)),
    ("cumsum(f32)->f32 compute=f32 acc=sequential_binary32", [f32([ONE, TWO], (2, 1))], (1, 2)),
    ("sort_values(f32)->f32 compute=f32", [f32([ONE, TWO], (1, 2))], (1, 1)),
    ("matmul(f32,f32)->f32 compute=f32 acc=floating:f32", [f32([ONE, TWO], (1, 2)), f32([ONE], (1, 1))], (1, 1)),
    ("matmul(f32,f32)->f32 compute=f32 acc=floating:f32", [f32([ONE]), f32([ONE])], (1,)),
    ("gather(f32,i32)->f32 compute=word", [f32([ONE], (1, 1)), i32([0])], (2, 1)),
    ("scatter(f32,i32,f32)->f32 compute=word", [f32([ONE], (1, 1)), i32([0]), f32([ONE, TWO], (1, 2))], (1, 1)),
    (CONV, [f32([ONE], (1, 1, 1)), f32([ONE], (1, 1, 1))], (1, 1, 2)),
    (CONV, [f32([ONE], (1, 1)), f32([ONE], (1, 1))], (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "operands", "output"), MISFITS)
def test_extents_that_do_not_fit_are_refused(carrier, plan, operands, output):
    with pytest.raises(KernelError) as caught:
        run(carrier, plan, *operands, output=output)
    assert caught.value.kind == "invalid"


def test_copy_of_another_number_of_elements_is_refused(carrier):
    with pytest.raises(KernelError, match="as many elements") as caught:
        run(carrier, None, i32([1, 2, 3]), output=(2,))
    assert caught.value.kind == "invalid"


def test_an_output_that_writes_one_element_twice_is_refused(carrier):
    with pytest.raises(KernelError, match="stride 0") as caught:
        run(carrier, ADD, f32([ONE, TWO]), f32([ONE, TWO]), output=Layout((2,), (0,)))
    assert caught.value.kind == "invalid"


def test_a_plan_the_kernel_does_not_have_is_refused_by_its_signature(carrier):
    for plan, operands in [
        ("rem(i32,i32)->i32 compute=i32", [i32([1]), i32([1])]),
        ("add(f32,f32)->f32 compute=f32 acc=floating:f64", [f32([ONE]), f32([ONE])]),
        ("reduce_sum(f32)->f32 compute=f32", [f32([ONE], (1, 1))]),
        ("add(bool,f32)->f32 compute=f32", [truth([1]), f32([ONE])]),
        ("add(f32)->f32 compute=f32", [f32([ONE])]),
    ]:
        with pytest.raises(KernelError, match="no plan with") as caught:
            run(carrier, plan, *operands, output=(1,))
        assert caught.value.kind == "invalid"
