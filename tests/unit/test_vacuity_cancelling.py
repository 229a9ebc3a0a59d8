"""Structural sums that cancel: no term is neutral, and no Float32 accumulator gets them right in any order."""

from __future__ import annotations

from itertools import accumulate

import folding
import numpy as np
import pytest
from case_catalog import Obligation, answer_of, obligations

from pytest_kernelverify.cases.case import Case
from pytest_kernelverify.operations.plan import VerificationClass

WIDE = [
    item
    for item in obligations()
    if item.verification_class is VerificationClass.STRUCTURAL
    and item.plan is not None
    and item.plan.accumulator == "f64"
    and item.plan.operation != "reduce_prod"
]
wide_items = pytest.mark.parametrize("item", WIDE, ids=lambda item: item.id)


def cancelling(item: Obligation) -> list[Case]:
    return [case for case in item.cases() if case.values == "cancellation" and case.size < 300]


@wide_items
def test_no_run_of_the_terms_of_a_structural_cancelling_sum_adds_nothing_so_that_a_dropped_one_shows(item: Obligation):
    runs = 0
    for case in cancelling(item):
        for terms in folding.terms_of(case):
            exact = [int(term) for term in terms.exact.tolist()]
            if 0 in exact or max(map(abs, exact)) > 2**31:
                continue  # beyond binary32 on the way: that row is about infinity
            totals = list(accumulate(exact, initial=0))
            assert len(set(totals)) == len(totals), (case.case_id, exact)
            runs += len(totals)
    assert runs


@wide_items
@pytest.mark.parametrize("fold", ["in_order", "backwards", "in_pairs", "in_lanes", "in_halves"])
def test_a_structural_cancelling_sum_rejects_a_float32_accumulator_in_any_order(fold: str, item: Obligation):
    assert cancelling(item)
    for case in cancelling(item):
        right = answer_of(case).words.ravel().view(np.float32)
        with np.errstate(all="ignore"):
            wrong = [terms for terms in folding.terms_of(case) if getattr(folding, fold)(terms) != right[terms.element]]
        # Rows with an infinity on the way are not what this test is about.
        assert any(np.abs(terms.exact).max() < 2.0**100 for terms in wrong), case.case_id
