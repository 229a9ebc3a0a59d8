"""A carrier over NumPy whose kernel is a Python function, and small cases made by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pytest_kernelverify.carriers.base import AdvertisedKernel, ArithmeticStateError, View
from pytest_kernelverify.cases.case import Case, Operand
from pytest_kernelverify.evidence.receipt import Receipt
from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.operations.plan import LogicalKernel, PlanKey, VerificationClass

KERNEL = LogicalKernel("fake", "neg", "fake.neg", "scalar")
PLAN = PlanKey.from_text("neg(f32)->f32 compute=f32")
SIGN = np.uint32(0x80000000)

Kernel = Callable[[Sequence[View], View], None]


def read(view: View) -> Any:
    """The view's words in logical order."""
    return view.memory[view.layout.offsets()]


def write(view: View, words: Any) -> None:
    view.memory[view.layout.offsets()] = words


def negate(operands: Sequence[View], output: View) -> None:
    """The right kernel for PLAN."""
    write(output, read(operands[0]) ^ SIGN)


class FakeCarrier:
    """Launches ``kernel`` and writes down, in order, what it was asked to do."""

    def __init__(self, kernel: Kernel = negate) -> None:
        self.kernel = kernel
        self.calls: list[str] = []
        self.state: str | None = None

    def advertised(self) -> tuple[AdvertisedKernel, ...]:
        return ()

    def receipt(self, kernel: LogicalKernel) -> Receipt:
        self.calls.append("receipt")
        return receipt_of(kernel)

    def allocate(self, words: Any) -> Any:
        self.calls.append("allocate")
        return words.copy()

    def fetch(self, memory: Any) -> Any:
        self.calls.append("fetch")
        return memory.copy()

    def launch(
        self,
        kernel: LogicalKernel,
        plan: PlanKey | None,
        operands: Sequence[View],
        output: View,
        parameters: Mapping[str, Any],
    ) -> None:
        self.calls.append("launch")
        self.kernel(operands, output)

    def synchronize(self) -> None:
        self.calls.append("synchronize")

    def check_arithmetic_state(self, where: str) -> None:
        self.calls.append("check")
        if self.state is not None:
            raise ArithmeticStateError(f"{self.state} {where}")


def receipt_of(kernel: LogicalKernel, artifact: str = "0" * 64) -> Receipt:
    return Receipt(
        kind="compiled-executable",
        provider="fake",
        kernel=kernel,
        binding_name="fake",
        sources=(("fake.c", "0" * 64),),
        compiler="none",
        options=(),
        architecture="none",
        operating_system="none",
        endianness="little",
        pointer_bits=64,
        artifact=artifact,
    )


def words(*values: float) -> Any:
    """The binary32 words of numbers; an integer of 2**31 or more, or given as a hex literal, goes through ``raw``."""
    return raw(*np.array(values, dtype=np.float32).view(np.uint32).tolist())


def raw(*bits: int, dtype: Any = np.uint32) -> Any:
    array = np.array(bits, dtype=dtype)
    array.flags.writeable = False
    return array


def case(
    *operands: Operand,
    plan: PlanKey | None = PLAN,
    verification_class: VerificationClass = VerificationClass.EXACT_ARITHMETIC,
    output: Layout | None = None,
    output_dtype: str = "f32",
    **rest: Any,
) -> Case:
    """A case named ``by_hand``; the output is compact with the first operand's extents unless a layout is given."""
    rest.setdefault("name", "by_hand")
    return Case(
        plan=plan,
        subject=rest.pop("subject", None),
        operation=rest.pop("operation", plan.operation if plan is not None else "copy"),
        verification_class=verification_class,
        operands=operands,
        output_dtype=output_dtype,
        output_layout=output if output is not None else Layout.compact(operands[0].extents),
        **rest,
    )


def operand(values: Any, layout: Layout | None = None, dtype: str = "f32") -> Operand:
    return Operand(values, dtype, layout if layout is not None else Layout.compact((values.size,)))


THREE = operand(words(1.0, -2.0, 3.5))
