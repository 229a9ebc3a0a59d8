"""Guarded memory: where poison lies, what counts as a change, and how a place is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_kernelverify.carriers.memory import GUARD, WORD_DTYPES, GuardedParent, poisons
from pytest_kernelverify.numerics.layout import Layout

LAYOUTS = {
    "compact": Layout.compact((2, 3)),
    "pitched": Layout((2, 3), (5, 1)),
    "offset": Layout((2, 3), (3, 1), 7),
    "transposed": Layout((3, 2), (1, 3)),
    "stride 0": Layout((2, 3), (0, 1)),
    "hierarchical": Layout((1, (2, 2)), (1, (5, 2))),
    "rank 0": Layout((), ()),
    "empty": Layout.compact((0, 3)),
}


def places(parent: GuardedParent) -> Any:
    """The parent index of each logical element."""
    return np.arange(parent.length)[parent.own]


every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


@every_layout
def test_a_parent_has_a_guard_band_on_both_sides_of_the_span(layout: Layout) -> None:
    parent = GuardedParent.around("f32", layout)
    assert parent.layout.offset == layout.offset + GUARD
    assert parent.length == layout.span + 2 * GUARD
    assert np.array_equal(places(parent), layout.offsets() + GUARD)
    if layout.size:
        assert places(parent).min() >= GUARD
        assert places(parent).max() < parent.length - GUARD


def test_evenly_spaced_elements_are_selected_by_a_slice_and_others_by_their_indices() -> None:
    sliced = {name for name, layout in LAYOUTS.items() if isinstance(GuardedParent.around("f32", layout).own, slice)}
    assert sliced == {"compact", "offset", "rank 0"}
    assert GuardedParent.around("f32", Layout((4,), (3,))).own == slice(GUARD, GUARD + 10, 3)


@every_layout
def test_what_is_read_is_a_copy(layout: Layout) -> None:
    parent = GuardedParent.around("f32", layout)
    buffer = parent.filled(1)
    parent.read(buffer)[:] = 9
    assert set(buffer.tolist()) == {1}


@every_layout
def test_everything_but_the_views_own_elements_holds_poison(layout: Layout) -> None:
    parent = GuardedParent.around("i32", layout)
    filled = parent.filled(7, np.full(layout.size, 1, dtype=np.uint32))
    assert set(filled[places(parent)].tolist()) <= {1}
    filled[places(parent)] = 7
    assert set(filled.tolist()) == {7}


@every_layout
def test_words_come_back_in_logical_order(layout: Layout) -> None:
    parent = GuardedParent.around("f32", layout)
    given_words = layout.offsets().astype(np.uint32) + 100  # elements that share an offset share a word
    assert np.array_equal(parent.read(parent.filled(0, given_words)), given_words)


@pytest.mark.parametrize("dtype", ["f32", "i32", "bool"])
def test_a_parent_holds_the_words_of_its_dtype(dtype: str) -> None:
    first, second = poisons("add")
    parent = GuardedParent.around(dtype, LAYOUTS["compact"])
    assert parent.filled(first[dtype]).dtype == WORD_DTYPES[dtype]
    assert first[dtype] != second[dtype]


@every_layout
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_each_changed_element_is_seen_inside_or_outside_and_never_both(layout: Layout, data: st.DataObject) -> None:
    parent = GuardedParent.around("f32", layout)
    before = parent.filled(5, np.full(layout.size, 6, dtype=np.uint32))
    index = data.draw(st.integers(0, parent.length - 1))
    after = before.copy()
    after[index] ^= 1
    own = np.flatnonzero(places(parent) == index)
    if own.size:
        assert parent.outside_change(before, after) is None
        assert parent.inside_change(before, after) == own[0]
    else:
        assert parent.outside_change(before, after) == index
        assert parent.inside_change(before, after) is None


def test_a_change_inside_does_not_hide_one_outside() -> None:
    parent = GuardedParent.around("f32", LAYOUTS["pitched"])
    before = parent.filled(0)
    after = before.copy()
    after[places(parent)[0]] = 1
    after[-1] = 1
    assert parent.outside_change(before, after) == parent.length - 1


def test_a_place_is_named_relative_to_the_view() -> None:
    parent = GuardedParent.around("f32", LAYOUTS["pitched"])
    assert parent.place(GUARD - 1) == "1 element(s) before its start"
    assert parent.place(0) == f"{GUARD} element(s) before its start"
    assert parent.place(GUARD + 8) == "1 element(s) past its end"
    assert parent.place(parent.length - 1) == f"{GUARD} element(s) past its end"
    assert parent.place(GUARD + 4) == "in a gap, 4 element(s) after its start"


def test_the_first_poison_is_a_nan_whose_payload_no_witness_uses() -> None:
    word = poisons("add")[0]["f32"]
    assert word & 0x7FFFFFFF > 0x7F800000
    assert word != 0x7FC00000


@pytest.mark.parametrize(
    ("operation", "descending", "low"),
    [
        ("minimum", False, True),
        ("reduce_min", False, True),
        ("argmin", False, True),
        ("sort_values", False, True),
        ("sort_indices", False, True),
        ("sort_values", True, False),
        ("maximum", False, False),
        ("argmax", False, False),
        ("topk_values", False, False),
        ("reduce_sum", False, False),
    ],
)
def test_the_second_poison_is_what_the_operation_would_pick(operation: str, descending: bool, low: bool) -> None:
    second = poisons(operation, descending=descending)[1]
    value = float(np.uint32(second["f32"]).view(np.float32))
    assert value == (-(2.0**100) if low else 2.0**100)
    assert int(np.uint32(second["i32"]).view(np.int32)) == (-0x3C3C3C3C if low else 0x5A5A5A5A)


def test_no_bool_poison_is_a_bool() -> None:
    assert [poison["bool"] for poison in poisons("eq")] == [0x5A, 0xA5]
