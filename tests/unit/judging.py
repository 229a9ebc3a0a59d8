"""The judging rule, applied by tests to results that no kernel made."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache

import numpy as np
from case_catalog import answer_of

from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.evidence.policy import policy_name
from pytest_kernelverify.evidence.record import EvidenceStage
from pytest_kernelverify.numerics.bounds import product_envelope, sum_envelope
from pytest_kernelverify.operations.plan import VerificationClass
from pytest_kernelverify.stages.judge import canonical_nans


def right_words(case: Case) -> np.ndarray:
    """The words a case must give: those it states, those of its subject, or Generic's."""
    if case.expected is not None:
        return case.expected
    if case.plan is None:
        return case.operands[0].words + np.uint32(case.subject == "coverage")
    return answer_of(case).words.ravel()


def by_envelope(case: Case) -> bool:
    return case.verification_class is VerificationClass.NUMERICAL and case.output_dtype == "f32"


def moves_words(case: Case) -> bool:
    return policy_name(EvidenceStage.ORACLE, case.plan, case.verification_class) == "bit-exact-v1"


@cache
def _accumulator(case: Case) -> tuple[str, int]:
    return case.plan.accumulator or "f32", 2


def inside(case: Case, index: int, word: int) -> bool:
    """Whether one output word lies inside the envelope of Stage One, the wider of the two stages."""
    value = float(np.uint32(word).view(np.float32))
    if value - value != 0:
        return False
    answer = answer_of(case)
    exact, terms = answer.exact_at(index), answer.terms[index]
    accumulator, paths = _accumulator(case)
    if case.operation == "reduce_prod":
        bound = product_envelope(exact, terms, accumulator=accumulator, paths=paths)
    else:
        bound = sum_envelope(exact, answer.magnitude_at(index), terms, accumulator=accumulator, paths=paths)
    return abs(Fraction(value) - exact) <= bound


def rejected(case: Case, words: np.ndarray, where: Iterable[int] | None = None) -> bool:
    """Whether the case fails on these output words; ``where`` limits the elements looked at."""
    right = right_words(case)
    if not moves_words(case):
        right, words = (canonical_nans(part, case.output_dtype) for part in (right, words))
    differing = np.flatnonzero(right != words) if where is None else [i for i in where if right[i] != words[i]]
    if not by_envelope(case):
        return len(differing) > 0
    return any(not inside(case, int(index), int(words[index])) for index in differing)
