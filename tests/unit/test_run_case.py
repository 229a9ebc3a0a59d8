"""run_case: one case, twice with two poisons; every way in which a kernel can touch what is not its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fake_carrier import KERNEL, SIGN, THREE, FakeCarrier, Kernel, case, negate, operand, raw, read, words, write

from pytest_kernelverify.carriers.base import KernelError, View
from pytest_kernelverify.carriers.memory import GUARD, poisons
from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.operations.facts import STRICT
from pytest_kernelverify.running.run_case import CaseRun, masked, run_case

UNREPEATABLE = replace(STRICT, repeatability="unspecified")


PLAIN = case(THREE)


def run(kernel: Kernel, given: Case = PLAIN, **rest: Any) -> CaseRun:
    return run_case(FakeCarrier(kernel), KERNEL, given, **rest)


def touching(index: int, *, of: str = "output") -> Kernel:
    """The right kernel, which also flips a bit of one parent element, counted from the view's start."""

    def kernel(operands: Sequence[View], output: View) -> None:
        negate(operands, output)
        view = output if of == "output" else operands[0]
        view.memory[view.layout.offset + index] ^= 1

    return kernel


# What a right kernel leaves behind ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "layout",
    [
        Layout.compact((3,)),
        Layout((3,), (2,)),
        Layout((3,), (1,), 5),
        Layout(((1, 3),), ((9, 4),)),
        Layout((3, 1), (1, 7)),
    ],
)
def test_a_right_kernel_gives_its_words_in_logical_order(layout: Layout) -> None:
    found = run(negate, case(operand(THREE.words, layout), output=Layout((3,), (3,), 2)))
    assert found.words is not None
    assert np.array_equal(found.words, THREE.words ^ SIGN)
    assert (found.violation, found.error, found.error_kind, found.other_words) == (None, None, None, None)


def test_a_case_runs_twice_and_synchronisation_precedes_every_fetch() -> None:
    carrier = FakeCarrier()
    run_case(carrier, KERNEL, case(THREE))
    once = ["allocate", "allocate", "launch", "synchronize", "check", "fetch", "fetch"]
    assert carrier.calls == once * 2


def test_the_two_runs_see_the_two_poisons_around_the_same_words() -> None:
    seen: list[Any] = []

    def kernel(operands: Sequence[View], output: View) -> None:
        seen.append((operands[0].memory.copy(), output.memory.copy()))
        negate(operands, output)

    run(kernel, case(operand(THREE.words, Layout((3,), (2,)))))
    for (source, target), poison in zip(seen, poisons("neg"), strict=True):
        assert np.array_equal(source[GUARD : GUARD + 5 : 2], THREE.words)
        source[GUARD : GUARD + 5 : 2] = poison["f32"]
        assert set(source.tolist()) == set(target.tolist()) == {poison["f32"]}


def test_a_broadcast_operand_holds_its_one_word_once() -> None:
    given = case(operand(words(2.0, 2.0, 2.0), Layout((3,), (0,))))
    found = run(negate, given)
    assert found.words is not None
    assert set(found.words.tolist()) == {0xC0000000}


@pytest.mark.parametrize("extents", [(0,), (0, 3), (3, 0)])
def test_an_empty_output_is_a_result_without_words(extents: tuple[int, ...]) -> None:
    layout = Layout.compact(extents)
    found = run(negate, case(operand(raw(), layout), output=layout))
    assert found.words is not None
    assert found.words.size == 0
    assert found.violation is None


def test_a_scalar_output_has_the_empty_coordinate() -> None:
    layout = Layout((), ())
    found = run(lambda operands, output: None, case(operand(words(1.0), layout), output=layout))
    assert found.violation == "1 output element(s) unwritten, the first at ()"


# Guards and inputs ---------------------------------------------------------------------------------------------------


def test_a_write_one_past_the_end_is_a_violation() -> None:
    assert run(touching(3)).violation == "run 1 of 2: guard of the output was written 1 element(s) past its end"


def test_a_write_before_the_start_is_a_violation() -> None:
    assert run(touching(-1)).violation == "run 1 of 2: guard of the output was written 1 element(s) before its start"


def test_a_write_at_either_end_of_the_guard_is_a_violation() -> None:
    assert "past its end" in str(run(touching(3 + GUARD - 1)).violation)
    assert "before its start" in str(run(touching(-GUARD)).violation)


def test_a_write_in_a_gap_is_a_violation() -> None:
    given = case(THREE, output=Layout((3,), (2,)))
    assert run(touching(1), given).violation == (
        "run 1 of 2: guard of the output was written in a gap, 1 element(s) after its start"
    )


def test_a_write_to_an_input_is_a_violation_that_names_the_element() -> None:
    assert run(touching(1, of="operand")).violation == "run 1 of 2: input operand 0 was changed at logical element 1"


def test_a_write_into_an_inputs_guard_is_a_violation() -> None:
    assert run(touching(-1, of="operand")).violation == (
        "run 1 of 2: guard of operand 0 was written 1 element(s) before its start"
    )


def test_a_write_that_only_the_second_poison_shows_is_a_violation() -> None:
    def kernel(operands: Sequence[View], output: View) -> None:
        negate(operands, output)
        output.memory[output.layout.offset + 3] = poisons("neg")[0]["f32"]  # what run 1 holds there already

    assert run(kernel).violation == "run 2 of 2: guard of the output was written 1 element(s) past its end"


def test_the_second_operand_is_guarded_as_the_first_is() -> None:
    def kernel(operands: Sequence[View], output: View) -> None:
        negate(operands, output)
        operands[1].memory[operands[1].layout.offset + 2] = 0

    assert run(kernel, case(THREE, THREE)).violation == ("run 1 of 2: input operand 1 was changed at logical element 2")


# What reaches the result -----------------------------------------------------------------------------------------


def test_an_element_left_unwritten_is_a_violation() -> None:
    def kernel(operands: Sequence[View], output: View) -> None:
        output.memory[output.layout.offsets()[[0, 2]]] = (read(operands[0]) ^ SIGN)[[0, 2]]

    found = run(kernel)
    assert found.violation == "1 output element(s) unwritten, the first at (1,)"
    assert found.words is not None


def test_unwritten_elements_are_counted_and_the_first_is_named_by_coordinate() -> None:
    given = case(operand(words(*range(6)), Layout.compact((2, 3))))

    def kernel(operands: Sequence[View], output: View) -> None:
        output.memory[output.layout.offsets()[:4]] = (read(operands[0]) ^ SIGN)[:4]

    assert run(kernel, given).violation == "2 output element(s) unwritten, the first at (1, 1)"


@pytest.mark.parametrize("reach", [-1, 3])
def test_a_read_outside_carries_the_poison_into_the_result(reach: int) -> None:
    def kernel(operands: Sequence[View], output: View) -> None:
        result = read(operands[0]) ^ SIGN
        result[2] = operands[0].memory[operands[0].layout.offset + reach]
        write(output, result)

    violation = str(run(kernel).violation)
    # Copied as it is, poison looks unwritten; either way the case fails and says where.
    assert violation == "1 output element(s) unwritten, the first at (2,)"


def test_a_result_computed_from_poison_differs_between_the_runs() -> None:
    def kernel(operands: Sequence[View], output: View) -> None:
        result = read(operands[0]) ^ SIGN
        result[1] = operands[0].memory[operands[0].layout.offset - 1] ^ 1
        write(output, result)

    assert run(kernel).violation == (
        "two runs with two poisons differ, first at (1,): poison or a race reached the result"
    )


def test_a_result_that_is_not_repeatable_is_a_violation() -> None:
    count = iter(range(10))

    def kernel(operands: Sequence[View], output: View) -> None:
        write(output, read(operands[0]) + np.uint32(next(count)))

    found = run(kernel)
    assert "differ, first at (0,)" in str(found.violation)
    assert found.other_words is None


def test_where_repeatability_is_unspecified_both_results_are_kept() -> None:
    count = iter(range(10))

    def kernel(operands: Sequence[View], output: View) -> None:
        write(output, read(operands[0]) + np.uint32(next(count)))

    found = run(kernel, facts=UNREPEATABLE)
    assert found.violation is None
    assert found.words is not None
    assert found.other_words is not None
    assert np.array_equal(found.other_words, found.words + np.uint32(1))


def test_unspecified_repeatability_excuses_no_unwritten_element() -> None:
    assert "unwritten" in str(run(lambda operands, output: None, facts=UNREPEATABLE).violation)


@pytest.mark.parametrize("byte", [2, 0x80, 0xFF])
def test_a_bool_byte_other_than_0_and_1_reaches_the_judge_as_it_is(byte: int) -> None:
    def kernel(operands: Sequence[View], output: View) -> None:
        write(output, np.array([0, byte, 1], dtype=np.uint8))

    found = run(kernel, case(THREE, output=Layout.compact((3,)), output_dtype="bool"))
    assert found.words is not None
    assert found.words.tolist() == [0, byte, 1]
    assert found.words.dtype == np.uint8


def test_an_unwritten_bool_is_seen() -> None:
    given = case(THREE, output=Layout.compact((3,)), output_dtype="bool")
    assert "3 output element(s) unwritten" in str(run(lambda operands, output: None, given).violation)


# Aliased output ----------------------------------------------------------------------------------------------------

IN_PLACE = case(THREE, alias=0, output=THREE.layout)


def test_an_output_aliased_with_an_operand_holds_its_input_and_may_change_it() -> None:
    found = run(negate, IN_PLACE)
    assert found.violation is None
    assert found.words is not None
    assert np.array_equal(found.words, THREE.words ^ SIGN)


def test_an_aliased_output_shares_the_operands_memory() -> None:
    shared = []

    def kernel(operands: Sequence[View], output: View) -> None:
        shared.append(operands[0].memory is output.memory)
        negate(operands, output)

    run(kernel, IN_PLACE)
    assert shared == [True, True]


def test_an_aliased_outputs_guard_is_watched() -> None:
    assert "guard of the output was written" in str(run(touching(3), IN_PLACE).violation)


def test_the_other_operands_of_an_aliased_case_are_watched() -> None:
    given = case(THREE, THREE, alias=0, output=THREE.layout)

    def kernel(operands: Sequence[View], output: View) -> None:
        negate(operands, output)
        write(operands[1], 0)

    assert "input operand 1 was changed" in str(run(kernel, given).violation)


@pytest.mark.parametrize("touches", [False, True])
def test_an_error_in_an_aliased_case_must_leave_the_operand_intact(touches: bool) -> None:
    def kernel(operands: Sequence[View], output: View) -> None:
        if touches:
            output.memory[output.layout.offset + 1] ^= 1
        raise KernelError("too large", "overflow")

    found = run(kernel, IN_PLACE)
    wrote = "run 1 of 2: the kernel reported overflow but wrote the output at logical element 1"
    assert found.violation == (wrote if touches else None)
    assert found.error_kind == (None if touches else "overflow")


def test_an_alias_of_another_layout_is_an_error_and_nothing_is_launched() -> None:
    carrier = FakeCarrier()
    found = run_case(carrier, KERNEL, case(THREE, alias=0, output=Layout((3,), (2,))))
    assert found.error == "ValueError: operand 0 is aliased with an output of another dtype or layout"
    assert carrier.calls == []


# Errors the kernel reports -----------------------------------------------------------------------------------------


def failing(kind: str | None, *kinds: str | None, touch: int | None = None) -> Kernel:
    """Fails with the kinds in turn; ``touch`` is the parent element it flips first, from the output's start."""
    pending = [kind, *(kinds or (kind,))]

    def kernel(operands: Sequence[View], output: View) -> None:
        if touch is not None:
            output.memory[output.layout.offset + touch] ^= 1
        found = pending.pop(0)
        if found == "none":
            negate(operands, output)
        else:
            raise KernelError("no", found)

    return kernel


@pytest.mark.parametrize("kind", ["overflow", "domain", "index", "empty", "invalid"])
def test_an_error_reported_with_everything_untouched_is_its_kind(kind: str) -> None:
    found = run(failing(kind))
    assert found.error_kind == kind
    assert found.error == f"the kernel reported {kind}"
    assert found.violation is None
    assert found.words is None


@pytest.mark.parametrize(
    ("touch", "place"), [(0, "wrote the output at logical element 0"), (3, "1 element(s) past its end")]
)
def test_an_error_with_the_output_touched_is_a_violation(touch: int, place: str) -> None:
    found = run(failing("overflow", touch=touch))
    assert place in str(found.violation)
    assert found.error_kind is None


def test_error_kinds_that_differ_between_the_runs_are_a_violation() -> None:
    found = run(failing("overflow", "index"))
    assert found.violation == "two runs with two poisons gave overflow and index"


@pytest.mark.parametrize(
    ("kinds", "what"), [(("overflow", "none"), "overflow and a result"), (("none", "index"), "a result and index")]
)
def test_an_error_in_only_one_run_is_a_violation(kinds: tuple[str, str], what: str) -> None:
    assert run(failing(*kinds)).violation == f"two runs with two poisons gave {what}"


# Failures that are no verdict --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (KernelError("it fell over"), "KernelError: it fell over"),
        (RuntimeError("no device"), "RuntimeError: no device"),
        (ValueError("bad grid"), "ValueError: bad grid"),
    ],
)
def test_a_recoverable_case_error_is_in_the_result(raised: Exception, message: str) -> None:
    def kernel(operands: Sequence[View], output: View) -> None:
        raise raised

    found = run(kernel)
    assert found.error == message
    assert (found.error_kind, found.violation, found.words) == (None, None, None)


@pytest.mark.parametrize("call", ["allocate", "fetch", "synchronize"])
def test_a_recoverable_error_anywhere_on_the_carrier_is_in_the_result(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    carrier = FakeCarrier()

    def broken(*arguments: Any) -> Any:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(carrier, call, broken)
    assert run_case(carrier, KERNEL, case(THREE)).error == "RuntimeError: out of memory"


def test_words_that_do_not_fit_their_layout_are_a_recoverable_error_of_preparing() -> None:
    found = run(negate, case(operand(THREE.words, Layout.compact((2,))), output=Layout.compact((2,))))
    assert str(found.error).startswith("ValueError: ")


@pytest.mark.parametrize("raised", [TypeError("ours"), KeyError("ours"), AssertionError("ours"), KeyboardInterrupt()])
def test_an_exception_of_our_own_code_propagates(raised: BaseException) -> None:
    def kernel(operands: Sequence[View], output: View) -> None:
        raise raised

    with pytest.raises(type(raised)):
        run(kernel)


def test_an_error_in_the_second_run_is_the_result() -> None:
    assert run(failing("none", None)).error == "KernelError: no"


def test_an_arithmetic_state_changed_by_a_launch_is_an_error_that_names_it() -> None:
    carrier = FakeCarrier()
    carrier.state = "flush-to-zero is on"
    found = run_case(carrier, KERNEL, case(THREE))
    assert found.error == "flush-to-zero is on after fake.neg"
    assert "fetch" not in carrier.calls


# Foreign messages ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("fault at 0x7ffde4b1c2a0 in kernel", "fault at <address> in kernel"),
        ("cannot open /tmp/build-17/kernel.so: no", "cannot open <path>: no"),
        ("see /home/someone/.cache/x/y.log", "see <path>"),
        ("pid 4711 died", "pid <number> died"),
        ("PID: 12 died", "PID <number> died"),
        ("thread=12 died", "thread <number> died"),
        ("line one\nline  two\t", "line one line two"),
        ("word 0x7FC0 stays, 3/4 stays", "word 0x7FC0 stays, 3/4 stays"),
    ],
)
def test_a_foreign_message_is_one_line_without_addresses_paths_and_process_numbers(message: str, shown: str) -> None:
    assert masked(message) == shown


def test_a_long_foreign_message_is_cut() -> None:
    shown = masked("x" * 1000)
    assert len(shown) == 400
    assert shown.endswith("...")


def test_a_foreign_message_reaches_the_result_masked() -> None:
    def kernel(operands: Sequence[View], output: View) -> None:
        raise RuntimeError("at 0xdeadbeef00\nin /usr/lib/x.so")

    assert run(kernel).error == "RuntimeError: at <address> in <path>"
