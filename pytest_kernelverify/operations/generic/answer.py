"""Answer: what Generic computed for one plan and its operands; GenericError: the error the plan demands instead."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy.typing as npt

__all__ = ["ERROR_KINDS", "Answer", "GenericError"]

ERROR_KINDS = ("overflow", "domain", "index", "empty", "invalid")


class GenericError(ValueError):
    """The operation has no result for these operands; ``kind`` is one of ERROR_KINDS, the words carriers use."""

    def __init__(self, message: str, kind: str) -> None:
        if kind not in ERROR_KINDS:
            raise ValueError(f"error kind is {kind!r}; expected one of {', '.join(ERROR_KINDS)}")
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The output words in logical row-major order (1-D; uint32 for f32 and i32, uint8 for bool).

    Where bounds were asked for and every operand is finite, output element i also has its unrounded value
    ``scaled[i] * 2**exponent``, the sum of its terms' magnitudes ``magnitudes[i] * 2**exponent`` (for reduce_prod the
    magnitude of the product), both exact, and the number of its terms ``terms[i]``. One power of two for the whole
    answer keeps a judge in integers; ``exact`` and ``magnitude`` give the same as Fractions, slowly.
    """

    words: npt.NDArray[Any]
    scaled: tuple[int, ...] | None = None
    magnitudes: tuple[int, ...] | None = None
    exponent: int = 0
    terms: tuple[int, ...] | None = None

    def exact_at(self, index: int) -> Fraction:
        """The unrounded value of one output element; ValueError where the answer has no bounds."""
        return self._at(self.scaled, index)

    def magnitude_at(self, index: int) -> Fraction:
        """The sum of the magnitudes of one output element's terms; ValueError where the answer has no bounds."""
        return self._at(self.magnitudes, index)

    @property
    def exact(self) -> tuple[Fraction, ...] | None:
        return None if self.scaled is None else tuple(map(self.exact_at, range(len(self.scaled))))

    @property
    def magnitude(self) -> tuple[Fraction, ...] | None:
        return None if self.magnitudes is None else tuple(map(self.magnitude_at, range(len(self.magnitudes))))

    def _at(self, values: tuple[int, ...] | None, index: int) -> Fraction:
        if values is None:
            raise ValueError(
                "this answer has no exact values; evaluate a summing or multiplying plan with bounds=True on finite"
                " operands"
            )
        value = values[index]
        return Fraction(value << self.exponent) if self.exponent >= 0 else Fraction(value, 1 << -self.exponent)
