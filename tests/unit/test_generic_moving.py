"""Operations that move words: gather, scatter, scatter_add, sorts, top-k and the reductions that pick."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from generic_words import (
    INFINITY,
    NAN,
    SIGN,
    Array,
    adversarial,
    answer,
    canonical,
    f32,
    finite,
    floats,
    fraction,
    i32,
    nearest,
    run,
    words,
)

from pytest_kernelverify.operations.generic import GenericError

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
GATHER, SCATTER = "gather(f32,i32)->f32 compute=word", "scatter(f32,i32,f32)->f32 compute=word"
ADD, ADD64 = (f"scatter_add(f32,i32,f32)->f32 compute=f32 acc={acc}" for acc in ("sequential_binary32", "floating:f64"))
MATRIX = words(0x7F800001, 1, SIGN, 3, 0xFFC12345, 5).reshape(3, 2)


def test_gather_moves_rows_with_their_payloads() -> None:
    assert answer(GATHER, MATRIX, i32(2, 0, 2)) == [0xFFC12345, 5, 0x7F800001, 1, 0xFFC12345, 5]
    assert answer("gather(i32,i32)->i32 compute=word", MATRIX, i32(1)) == [SIGN, 3]
    assert answer(GATHER, MATRIX, i32()) == []


def test_scatter_replaces_rows_and_the_last_update_wins() -> None:
    updates = words(10, 11, 12, 13, 14, 0x7FC00007).reshape(3, 2)
    assert answer(SCATTER, MATRIX, i32(1, 0, 1), updates) == [12, 13, 14, 0x7FC00007, 0xFFC12345, 5]
    assert MATRIX.ravel().tolist() == [0x7F800001, 1, SIGN, 3, 0xFFC12345, 5]
    assert answer("scatter(i32,i32,i32)->i32 compute=word", i32(1, 2).reshape(2, 1), i32(1), i32(-1).reshape(1, 1)) == [
        1, 0xFFFFFFFF,
    ]  # fmt: skip


@pytest.mark.parametrize("index", [3, -1, INT_MIN, INT_MAX])
@pytest.mark.parametrize("plan", [GATHER, SCATTER, ADD, ADD64])
def test_an_index_outside_the_rows_is_an_index_error(plan: str, index: int) -> None:
    updates = [] if plan == GATHER else [np.zeros((2, 2), np.uint32)]
    with pytest.raises(GenericError, match=f"index {index} at position 1 is outside the 3 rows") as caught:
        run(plan, MATRIX, i32(2, index), *updates)
    assert caught.value.kind == "index"


def test_no_row_can_be_indexed_where_there_is_none() -> None:
    nothing = np.zeros((0, 2), np.uint32)
    assert answer(ADD, nothing, i32(), nothing) == []
    with pytest.raises(GenericError) as caught:
        run(GATHER, nothing, i32(0))
    assert caught.value.kind == "index"


@pytest.mark.parametrize(
    ("plan", "shapes"),
    [
        (GATHER, [(3,), (1,)]),
        (GATHER, [(3, 2), (1, 1)]),
        (SCATTER, [(3, 2), (1,), (2, 2)]),
        (SCATTER, [(3, 2), (1,), (1, 3)]),
        (ADD, [(3,), (1,), (1,)]),
    ],
)
def test_extents_that_do_not_fit_an_index_are_invalid(plan: str, shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(GenericError) as caught:
        run(plan, *(np.zeros(shape, np.uint32) for shape in shapes))
    assert caught.value.kind == "invalid"


@pytest.mark.parametrize("kind", ["integers", "fractions", "adversarial"])
def test_scatter_add_adds_each_update_in_order_in_binary32(kind: str) -> None:
    rng = np.random.default_rng(5)
    base, updates = {
        "integers": lambda: (f32(*rng.integers(-9, 9, 15)), f32(*rng.integers(-9, 9, 120))),
        "fractions": lambda: (f32(*rng.uniform(-1, 1, 15)), f32(*rng.uniform(-1, 1, 120))),
        "adversarial": lambda: (adversarial(70, 15), adversarial(71, 120)),
    }[kind]()
    base, updates, index = base.reshape(5, 3), updates.reshape(40, 3), rng.integers(0, 4, 40)
    expected = floats(base).copy()
    with np.errstate(all="ignore"):
        for row, update in zip(index.tolist(), floats(updates), strict=True):
            expected[row] = expected[row] + update
    got = run(ADD, base, i32(*index.tolist()), updates, bounds=True)
    assert np.array_equal(got.words, canonical(expected).ravel())
    if kind != "adversarial":
        exact = run(ADD64, base, i32(*index.tolist()), updates, bounds=True)
        for row, column in itertools.product(range(5), range(3)):
            terms = [fraction(int(base[row, column]))]
            terms += [fraction(int(updates[at, column])) for at in np.flatnonzero(index == row)]
            at = row * 3 + column
            assert exact.words[at] == nearest(sum(terms, Fraction()))
            assert got.exact_at(at) == exact.exact_at(at) == sum(terms)
            assert got.magnitude_at(at) == exact.magnitude_at(at) == sum(map(abs, terms))
            assert got.terms is not None
            assert got.terms[at] == len(terms)


def test_scatter_add_shows_its_order_and_keeps_rows_without_updates() -> None:
    base = words(0x4B800000, SIGN, 0x3F800000).reshape(3, 1)
    updates = words(0x3F800000, 0x3F800000, SIGN).reshape(3, 1)
    assert answer(ADD, base, i32(0, 0, 0), updates) == [0x4B800000, SIGN, 0x3F800000]
    assert answer(ADD64, base, i32(0, 0, 0), updates) == [0x4B800001, SIGN, 0x3F800000]
    assert answer(ADD, base, i32(1), words(SIGN).reshape(1, 1)) == [0x4B800000, SIGN, 0x3F800000]
    assert answer(ADD, base, i32(1), words(0).reshape(1, 1)) == [0x4B800000, 0, 0x3F800000]
    assert answer(ADD, base, i32(2), words(0xBF800000).reshape(1, 1)) == [0x4B800000, SIGN, 0]


ROW = words(0x7FC00007, 0x3F800000, SIGN, 0, 0xFFC00001, 0xBF800000, SIGN | INFINITY, 0x3F800000, 1).reshape(1, 9)


def test_sorts_are_stable_with_nan_last_ascending_and_first_descending() -> None:
    plan = "sort_indices(f32)->i32 compute=f32"
    assert answer(plan, ROW) == [6, 5, 2, 3, 8, 1, 7, 0, 4]
    assert answer(plan, ROW, descending=True) == [0, 4, 1, 7, 8, 2, 3, 5, 6]
    moved = answer("sort_values(f32)->f32 compute=f32", ROW)
    assert moved == [ROW[0, at] for at in (6, 5, 2, 3, 8, 1, 7, 0, 4)]
    integers = i32(3, INT_MIN, INT_MAX, 3, -1).reshape(1, 5)
    assert answer("sort_indices(i32)->i32 compute=i32", integers) == [1, 4, 0, 3, 2]
    assert answer("sort_indices(i32)->i32 compute=i32", integers, descending=True) == [2, 0, 3, 4, 1]
    assert answer("sort_values(i32)->i32 compute=i32", integers) == i32(INT_MIN, -1, 3, 3, INT_MAX).tolist()


def test_topk_is_the_head_of_the_stable_descending_sort() -> None:
    assert answer("topk_indices(f32)->i32 compute=f32", ROW, k=4) == [0, 4, 1, 7]
    assert answer("topk_values(f32)->f32 compute=f32", ROW, k=2) == [0x7FC00007, 0xFFC00001]
    assert answer("topk_values(f32)->f32 compute=f32", ROW) == [0x7FC00007]
    two = i32(1, 5, 5, 9, -1, 9).reshape(2, 3)
    assert answer("topk_indices(i32)->i32 compute=i32", two, k=2) == [1, 2, 0, 2]
    assert answer("topk_values(i32)->i32 compute=i32", two, k=2) == [5, 5, 9, 9]
    assert answer("topk_values(i32)->i32 compute=i32", two, k=0) == []


@pytest.mark.parametrize("k", [10, -1, 1.0, True])
def test_a_k_outside_the_row_is_invalid(k: object) -> None:
    with pytest.raises(GenericError, match="row length 9") as caught:
        run("topk_values(f32)->f32 compute=f32", ROW, parameters={"k": k})
    assert caught.value.kind == "invalid"


def test_a_sort_direction_is_a_bool() -> None:
    with pytest.raises(GenericError, match="descending is 1") as caught:
        run("sort_values(f32)->f32 compute=f32", ROW, parameters={"descending": 1})
    assert caught.value.kind == "invalid"


@pytest.mark.parametrize("descending", [False, True])
def test_sorts_agree_with_a_python_sort_by_value(descending: bool) -> None:
    x = adversarial(80, 400).reshape(2, 200)

    def key(word: int) -> tuple[bool, Fraction]:
        nan = word & 0x7FFFFFFF > INFINITY
        return nan, Fraction() if nan else fraction(word)

    expected: list[int] = []  # a reversed Python sort is stable too
    for row in x.tolist():
        expected += sorted(range(200), key=lambda at, row=row: key(row[at]), reverse=descending)  # type: ignore[misc]
    assert answer("sort_indices(f32)->i32 compute=f32", x, descending=descending) == expected


def test_reductions_that_pick_let_nan_win_and_order_the_zeros() -> None:
    rows = words(0, SIGN, 1, 0, SIGN, SIGN, 0x3F800000, 0xFFC12345, 0x40000000).reshape(3, 3)
    assert answer("reduce_max(f32)->f32 compute=f32", rows) == [1, 0, NAN]
    assert answer("reduce_min(f32)->f32 compute=f32", rows) == [SIGN, SIGN, NAN]
    assert answer("argmax(f32)->i32 compute=f32", rows) == [2, 0, 1]
    assert answer("argmin(f32)->i32 compute=f32", rows) == [0, 0, 1]


def test_the_first_of_equal_winners_and_of_nans_wins() -> None:
    rows = words(0x3F800000, 0x40000000, 0x40000000, 0xFFC00001, 0, 0x7FC00000).reshape(2, 3)
    assert answer("argmax(f32)->i32 compute=f32", rows) == [1, 0]
    assert answer("argmin(f32)->i32 compute=f32", np.ascontiguousarray(rows[:, ::-1])) == [2, 0]
    integers = i32(INT_MIN, INT_MAX, INT_MAX, 7, INT_MIN, INT_MIN).reshape(2, 3)
    assert answer("argmax(i32)->i32 compute=i32", integers) == [1, 0]
    assert answer("argmin(i32)->i32 compute=i32", integers) == [0, 1]


def test_empty_rows_have_the_identity_of_their_reduction() -> None:
    nothing = np.zeros((2, 0), np.uint32)
    assert answer("reduce_max(f32)->f32 compute=f32", nothing) == [SIGN | INFINITY] * 2
    assert answer("reduce_min(f32)->f32 compute=f32", nothing) == [INFINITY] * 2
    assert answer("reduce_max(i32)->i32 compute=i32", nothing) == i32(INT_MIN, INT_MIN).tolist()
    assert answer("reduce_min(i32)->i32 compute=i32", nothing) == i32(INT_MAX, INT_MAX).tolist()
    assert answer("reduce_max(f32)->f32 compute=f32", np.zeros((0, 3), np.uint32)) == []


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("rows", [0, 2])
def test_an_arg_reduction_of_nothing_is_an_empty_error(name: str, rows: int) -> None:
    for dtype in ("f32", "i32"):
        with pytest.raises(GenericError, match="nothing can win") as caught:
            run(f"{name}({dtype})->i32 compute={dtype}", np.zeros((rows, 0), np.uint32))
        assert caught.value.kind == "empty"


def test_extrema_of_rows_agree_with_numpy() -> None:
    x = finite(adversarial(81, 3500)).reshape(7, 500)
    for name, reduce in (("max", np.max), ("min", np.min)):
        got = run(f"reduce_{name}(f32)->f32 compute=f32", x).words
        assert np.array_equal(floats(got), reduce(floats(x), axis=-1))
        signed = run(f"reduce_{name}(i32)->i32 compute=i32", x).words
        assert np.array_equal(signed.view(np.int32), reduce(x.view(np.int32), axis=-1))


@pytest.mark.parametrize(
    "plan",
    [
        "reduce_max(f32)->f32 compute=f32",
        "reduce_sum(f32)->f32 compute=f32 acc=floating:f32",
        "reduce_prod(f32)->f32 compute=f32 acc=sequential_binary32",
        "reduce_prod(f32)->f32 compute=f32 acc=floating:f64",
        "cumsum(f32)->f32 compute=f32 acc=sequential_binary32",
        "cumsum(f32)->f32 compute=f32 acc=floating:f64",
        "argmin(f32)->i32 compute=f32",
        "sort_values(f32)->f32 compute=f32",
        "sort_indices(f32)->i32 compute=f32",
        "topk_values(f32)->f32 compute=f32",
    ],
)
def test_every_rank_works_along_its_last_mode(plan: str) -> None:
    assert answer("reduce_max(f32)->f32 compute=f32", f32(*range(8)).reshape(2, 2, 2)) == f32(1, 3, 5, 7).tolist()
    x: Array = f32(*np.random.default_rng(9).uniform(-2, 2, 30)).reshape(2, 3, 5)
    rows = run(plan, x.reshape(6, 5), bounds=True)
    for other in (x, x.reshape(1, 2, 3, 1, 5)):
        got = run(plan, other, bounds=True)
        assert np.array_equal(got.words, rows.words)
        assert (got.exact, got.terms) == (rows.exact, rows.terms)
    alone = [word for row in x.reshape(6, 5) for word in answer(plan, row)]
    assert alone == rows.words.tolist()
