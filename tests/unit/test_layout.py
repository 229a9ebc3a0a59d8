"""Layouts: which parent elements a logical row-major walk visits."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelverify.numerics.layout import Layout


def walk(layout: Layout) -> list[int]:
    """Offsets by nested counting over all leaves, row-major."""
    leaves = [leaf for mode in layout.leaves for leaf in mode]
    places = itertools.product(*(range(extent) for extent, _ in leaves))
    return [layout.offset + sum(i * step for i, (_, step) in zip(at, leaves, strict=True)) for at in places]


flat = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=3)
modes = st.one_of(
    st.tuples(st.integers(0, 4), st.integers(0, 9)),
    flat.map(lambda parts: (tuple(e for e, _ in parts), tuple(s for _, s in parts))),
)
layouts = st.builds(
    lambda parts, offset: Layout(tuple(e for e, _ in parts), tuple(s for _, s in parts), offset),
    st.lists(modes, max_size=3),
    st.integers(0, 5),
)


def test_a_hierarchical_mode_enumerates_its_leaves_row_major() -> None:
    layout = Layout((1, (2, 2)), (1, (5, 2)))
    assert layout.offsets().tolist() == [0, 2, 5, 7]
    assert layout.extents == (1, 4)
    assert layout.leaves == (((1, 1),), ((2, 5), (2, 2)))
    assert layout.span == 8
    assert layout.folded() is None


@given(layouts)
def test_offsets_extents_size_and_span_agree_with_counting(layout: Layout) -> None:
    visited = walk(layout)
    assert layout.offsets().tolist() == visited
    assert layout.size == len(visited)
    assert int(np.prod(layout.extents, dtype=int)) == layout.size
    assert layout.span == (max(visited) + 1 if visited else layout.offset)


@given(layouts)
def test_a_folded_layout_visits_the_same_offsets_with_one_stride_per_mode(layout: Layout) -> None:
    folded = layout.folded()
    if folded is not None:
        assert folded.offsets().tolist() == walk(layout)
        assert folded.extents == layout.extents
        assert all(isinstance(step, int) for step in folded.stride)
        assert folded.folded() == folded


def test_nested_modes_that_are_one_run_fold_and_others_do_not() -> None:
    assert Layout(((2, 3),), ((12, 4),)).folded() == Layout((6,), (4,))
    assert Layout(((2, 1, 3), 5), ((3, 77, 1), 0)).folded() == Layout((6, 5), (1, 0))
    assert Layout(((3, 2),), ((0, 0),)).folded() == Layout((6,), (0,))
    assert Layout(((2, 3),), ((4, 12),)).folded() is None


@given(st.lists(st.integers(0, 5), max_size=4).map(tuple))
def test_a_compact_layout_visits_every_element_once_in_order(extents: tuple[int, ...]) -> None:
    layout = Layout.compact(extents)
    assert layout.offsets().tolist() == list(range(layout.size))
    assert layout.extents == extents
    assert layout.folded() is not None


def test_a_transposed_and_a_broadcast_layout_visit_what_their_strides_say() -> None:
    assert Layout((2, 3), (1, 2)).offsets().tolist() == [0, 2, 4, 1, 3, 5]
    assert Layout((2, 3), (0, 1), offset=4).offsets().tolist() == [4, 5, 6, 4, 5, 6]
    assert Layout((), ()).offsets().tolist() == [0]


@given(layouts)
def test_json_keeps_a_layout(layout: Layout) -> None:
    assert Layout.from_json(layout.to_json()) == layout


@pytest.mark.parametrize("wrong", [None, [], {"shape": [1]}, {"offset": 0, "shape": [1], "stride": [1], "more": 1}])
def test_json_with_other_fields_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="exactly the fields offset, shape and stride"):
        Layout.from_json(wrong)


@pytest.mark.parametrize(
    ("shape", "stride"), [((1,), (1, 1)), (((1, 2),), (1,)), ((1,), ((1,),)), (((1, 2),), ((1, 2, 3),))]
)
def test_a_stride_that_nests_differently_is_refused(shape: tuple[object, ...], stride: tuple[object, ...]) -> None:
    with pytest.raises(ValueError, match="nest differently"):
        Layout(shape, stride)


@pytest.mark.parametrize("arguments", [((-1,), (1,)), ((1,), (-1,)), ((1,), (1,), -1), (((1, -2),), ((1, 1),))])
def test_negative_extents_strides_and_offsets_are_refused(arguments: tuple[object, ...]) -> None:
    with pytest.raises(ValueError, match="negative"):
        Layout(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments", [([1], (1,)), ((1,), [1]), (("a",), (1,)), ((True,), (1,)), ((1,), (1.0,)), ((1,), (1,), True)]
)
def test_extents_strides_and_offsets_of_another_type_are_refused(arguments: tuple[object, ...]) -> None:
    with pytest.raises(TypeError):
        Layout(*arguments)  # type: ignore[arg-type]


def test_a_layout_is_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Layout.compact((2,)).offset = 3  # type: ignore[misc]
