"""The vacuity audit: what does not compute the answer is rejected by at least one case of every item."""

from __future__ import annotations

import numpy as np
import pytest
from case_catalog import Obligation, answer_of, obligations
from judging import by_envelope, inside, moves_words, rejected, right_words

from pytest_kernelverify.operations.plan import VerificationClass
from pytest_kernelverify.stages.judge import canonical_nans

items = pytest.mark.parametrize("item", obligations(), ids=lambda item: item.id)
POISONS = {"f32": (0x7FC0DEAD, 0x71800000), "i32": (0x7FC0DEAD, 0x5A5A5A5A), "bool": (0x5A, 0xA5)}


def judged(item: Obligation):
    """The cases that compare words or envelopes: those with a result that has elements."""
    return [case for case in item.cases() if case.error is None and case.output_layout.size]


def as_output(case, words: np.ndarray) -> np.ndarray:
    """Another operand's words as if they were the output's: as many of them, the lowest bit for a Bool."""
    words = np.resize(words, case.output_layout.size)
    return (words & 1).astype(np.uint8) if case.output_dtype == "bool" else words.astype(np.uint32)


def positions(size: int) -> dict[str, int]:
    return {"first": 0, "middle": size // 2, "last": size - 1}


@items
def test_zeros_are_rejected(item: Obligation):
    assert any(rejected(case, np.zeros_like(right_words(case))) for case in judged(item))


@items
def test_any_one_constant_is_rejected(item: Obligation):
    """Whatever word a case would accept everywhere, no word is accepted everywhere by all cases."""
    candidates = None
    for case in judged(item):
        right = right_words(case) if moves_words(case) else canonical_nans(right_words(case), case.output_dtype)
        if by_envelope(case):
            # Words far from this case's first element are rejected; the answers of the others are the candidates.
            continue
        words = set(right.tolist())
        accepted = words if len(words) == 1 else set()
        candidates = accepted if candidates is None else candidates & accepted
        if not candidates:
            return
    answers = [right_words(case)[0] for case in judged(item)]
    for word in dict.fromkeys(answers):
        assert any(rejected(case, np.full_like(right_words(case), word)) for case in judged(item)), hex(word)


# Where an operand is the answer: moving, and widening a Bool.
IS_ITS_OPERAND = {
    **{f"{name}-bit_exact": (0,) for name in ("copy", "view", "permute", "rearrange", "broadcast_to")},
    "addressing-structural": (0,),
    "bounds-structural": (0,),
    "cast-bool_i32-exact_arithmetic": (0,),
}


@items
def test_every_operand_returned_unchanged_is_rejected(item: Obligation):
    for number in range(len(judged(item)[0].operands)):
        if number not in IS_ITS_OPERAND.get(item.id, ()):
            assert any(rejected(case, as_output(case, case.operands[number].words)) for case in judged(item)), number


def test_the_operands_that_are_the_answer_are_exactly_those_named():
    for item in obligations():
        for number in IS_ITS_OPERAND.get(item.id, ()):
            assert not any(rejected(case, as_output(case, case.operands[number].words)) for case in judged(item))


@items
def test_the_answer_rotated_by_one_is_rejected(item: Obligation):
    assert any(rejected(case, np.roll(right_words(case), 1)) for case in judged(item))
    assert any(rejected(case, np.roll(right_words(case), -1)) for case in judged(item))


@items
def test_one_stale_element_is_rejected_at_the_first_middle_and_last_position_of_every_layout(item: Obligation):
    for layout in {case.layout for case in judged(item)}:
        cases = [case for case in judged(item) if case.layout == layout]
        for name in ("first", "middle", "last"):
            for poison in range(2):
                assert any(
                    rejected(case, replaced(case, name, POISONS[case.output_dtype][poison]), [at(case, name)])
                    for case in cases
                ), (layout, name)


@items
def test_an_element_left_at_its_neighbours_value_is_rejected_at_the_first_middle_and_last_position(item: Obligation):
    for name in ("first", "middle", "last"):
        assert any(
            rejected(case, replaced(case, name, int(right_words(case)[at(case, name) - 1])), [at(case, name)])
            for case in judged(item)
        ), name


@items
def test_an_element_left_from_an_earlier_case_is_rejected(item: Obligation):
    """A result that was kept: the output of the last call of the same shape, whole."""
    cases = judged(item)
    if item.verification_class in (VerificationClass.NUMERICAL, VerificationClass.ANALYTIC):
        return  # no shape is called twice there; the plan's structural class does it
    (again,) = [case for case in cases if case.values == "again"]
    earlier = [case for case in cases if case.output_layout == again.output_layout and case is not again]
    assert earlier
    assert all(rejected(again, right_words(case)) for case in earlier)


@pytest.mark.parametrize(
    "item",
    [item for item in obligations() if item.verification_class is not VerificationClass.NUMERICAL],
    ids=lambda item: item.id,
)
def test_one_ulp_is_rejected_at_the_first_middle_and_last_position_of_every_layout(item: Obligation):
    for layout in {case.layout for case in judged(item)}:
        cases = [case for case in judged(item) if case.layout == layout]
        for name in ("first", "middle", "last"):
            for step in (1, -1):
                assert any(
                    rejected(case, replaced(case, name, neighbour(case, name, step)), [at(case, name)])
                    for case in cases
                ), (layout, name, step)


def at(case, name: str) -> int:
    return positions(case.output_layout.size)[name]


def replaced(case, name: str, word: int) -> np.ndarray:
    words = right_words(case).copy()
    words[at(case, name)] = word
    return words


def neighbour(case, name: str, step: int) -> int:
    """One ULP away; the other truth value of a Bool; plus or minus one for Int32."""
    word = int(right_words(case)[at(case, name)])
    return 1 - word if case.output_dtype == "bool" else (word + step) % 2**32


@pytest.mark.parametrize(
    "item",
    [
        item
        for item in obligations()
        if item.verification_class is VerificationClass.NUMERICAL and item.plan.output == "f32"
    ],
    ids=lambda item: item.id,
)
def test_the_rounded_exact_value_is_inside_its_envelope_and_the_double_is_not(item: Obligation):
    for case in judged(item):
        words = answer_of(case).words.ravel()
        for index in {0, words.size // 2, words.size - 1}:
            assert inside(case, index, int(words[index])), case.case_id
    assert all(
        any(
            not inside(case, at(case, name), int(np.float32(2 * right_words(case).view(np.float32)[at(case, name)])
                                                 .view(np.uint32)))
            for case in judged(item)
        )
        for name in ("first", "middle", "last")
    )  # fmt: skip
