"""What every carrier offers: memory, launch, synchronisation, receipts; and how its kernels fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from pytest_kernelverify.evidence.receipt import Receipt
from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.operations.plan import LogicalKernel, PlanKey

__all__ = ["ERROR_KINDS", "AdvertisedKernel", "ArithmeticStateError", "Carrier", "KernelError", "View"]

# overflow: checked Int32 arithmetic; domain: clamp lo > hi, cast of NaN or out of range, a negative integer exponent;
# index: outside the indexed extent; empty: arg-reduction of nothing; invalid: extents, dtypes or parameters that no
# kernel accepts (k > K, a convolution window that does not fit the groups, ...).
ERROR_KINDS = ("overflow", "domain", "index", "empty", "invalid")


class KernelError(RuntimeError):
    """A kernel failed: ``kind`` is one of ERROR_KINDS where it reported the error itself, else None."""

    def __init__(self, message: str, kind: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind


class ArithmeticStateError(RuntimeError):
    """Rounding mode or flush bits are not the declared ones; they have been restored."""


@dataclass(frozen=True, slots=True)
class AdvertisedKernel:
    """One row of the table with which a kernel library describes itself."""

    kernel_id: str
    variant: str
    operation: str
    binding_name: str
    source: str
    source_digest: str
    plans: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class View:
    """A layout in one parent allocation (a handle from ``allocate``)."""

    memory: Any
    dtype: str
    layout: Layout


class Carrier(Protocol):
    """Where memory lives and how a kernel is launched."""

    def advertised(self) -> tuple[AdvertisedKernel, ...]:
        """The kernels the installed library describes, in its own order."""

    def receipt(self, kernel: LogicalKernel) -> Receipt:
        """What was compiled from what for this kernel."""

    def allocate(self, words: npt.NDArray[Any]) -> Any:
        """A parent buffer of its own holding these words (uint32 or uint8), bit for bit; the array is not kept."""

    def fetch(self, memory: Any) -> npt.NDArray[Any]:
        """The words of a parent buffer, bit for bit."""

    def launch(
        self,
        kernel: LogicalKernel,
        plan: PlanKey | None,
        operands: Sequence[View],
        output: View,
        parameters: Mapping[str, Any],
    ) -> None:
        """Run one kernel; KernelError when it fails."""

    def synchronize(self) -> None:
        """Wait until everything launched is visible to ``fetch``."""

    def check_arithmetic_state(self, where: str) -> None:
        """ArithmeticStateError, after restoring it, if rounding mode or flush bits are not the declared ones."""
