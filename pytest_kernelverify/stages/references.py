"""What Generic expects of a case: words or an error, and the envelope of a numerical one. Memoised per process."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.numerics.bounds import integer_envelope
from pytest_kernelverify.operations.generic import Answer, GenericError, evaluate
from pytest_kernelverify.operations.generic.qualify import qualify
from pytest_kernelverify.operations.plan import PlanKey, VerificationClass
from pytest_kernelverify.stages.judge import LEAST_EXPONENT, Envelope, Expectation

__all__ = ["References"]


class References:
    """Generic's answers in one process; both stages of a run read the same one."""

    def __init__(self) -> None:
        failures = qualify()
        if failures:
            raise RuntimeError(f"Generic does not pass its own self-check: {'; '.join(failures)}")
        self._answers: dict[Case, Answer | GenericError] = {}

    def expectation(self, case: Case) -> Expectation:
        """The words or the error kind; an analytic case's words are those it states."""
        if case.plan is None:
            return Expectation(_subject_words(case))
        answer = self._answer(case)
        if isinstance(answer, GenericError):
            return Expectation(None, answer.kind)
        return Expectation(answer.words if case.expected is None else case.expected)

    def disagreement(self, case: Case) -> str | None:
        """Why Generic cannot judge this case: its own answer is not the stated one. None where it can."""
        if case.plan is None:
            return None
        answer = self._answer(case)
        kind = answer.kind if isinstance(answer, GenericError) else None
        if kind != case.error:
            return f"Generic gives {kind or 'a result'} where the case expects {case.error or 'a result'}"
        # An oracle-only case asks for rounding steps that Generic, which rounds once, does not take.
        if isinstance(answer, GenericError) or case.expected is None or case.oracle_only:
            return None
        if np.array_equal(answer.words, case.expected):
            return None
        return "Generic's answer is not the independently stated one"

    def envelope(self, case: Case, *, accumulator: str, paths: int, flushed: bool = False) -> Envelope:
        """The exact values of a numerical case and the bound around each; ``flushed`` where subnormals may be."""
        answer = self._answer(case)
        if isinstance(answer, GenericError) or answer.terms is None:
            raise ValueError(f"{case.case_id} has no exact values; a numerical case has finite operands and a result")
        assert answer.scaled is not None
        assert answer.magnitudes is not None
        exponent = min(answer.exponent, LEAST_EXPONENT)
        lift = answer.exponent - exponent
        # Half the smallest subnormal, or the smallest normal.
        floor = 1 << (-126 if flushed else -150) - exponent
        # A product of K factors rounds K - 1 times, and its magnitude is that of the product.
        fewer = 1 if case.operation == "reduce_prod" else 0
        exact = tuple(value << lift for value in answer.scaled)
        found = [
            integer_envelope(
                value,
                magnitude << lift,
                max(terms - fewer, 0),
                accumulator=accumulator,
                paths=paths,
                floor=floor,
            )
            for value, magnitude, terms in zip(exact, answer.magnitudes, answer.terms, strict=True)
        ]
        return Envelope(exact, tuple(bound for bound, _ in found), tuple(part for _, part in found), exponent)

    def _answer(self, case: Case) -> Answer | GenericError:
        answer = self._answers.get(case)
        if answer is None:
            assert case.plan is not None
            answer = self._answers[case] = _evaluate(case.plan, case)
        return answer


def _evaluate(plan: PlanKey, case: Case) -> Answer | GenericError:
    operands = [operand.words.reshape(operand.extents) for operand in case.operands]
    numerical = case.verification_class is VerificationClass.NUMERICAL and case.output_dtype == "f32"
    try:
        return evaluate(plan, operands, case.parameters, bounds=numerical)
    except GenericError as error:
        return error


def _subject_words(case: Case) -> npt.NDArray[Any]:
    """Movement is identity; coverage adds one to each element, exactly once."""
    words = case.operands[0].words
    return words + np.uint32(1) if case.subject == "coverage" else words
