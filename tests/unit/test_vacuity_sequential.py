"""Sequential plans: each value kind tells, by itself, the order, the roundings and the fusions it is there for."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import folding
import numpy as np
import pytest
from case_catalog import obligations, plans
from folding import Terms, terms_of
from judging import right_words

from pytest_kernelverify.operations.plan import PlanKey, VerificationClass

PLANS = {plan.operation: plan for plan in plans() if plan.accumulation == "sequential_binary32"}
SUMS = ("cumsum", "conv", "scatter_add")

# What each kind must reject by itself, whatever the other kinds reject.
ORDERS = ("backwards", "in_pairs", "in_lanes", "in_halves", "in_binary64")
REJECTS = {
    "order": ORDERS,
    "wide": ORDERS,
    "halfway": (*ORDERS, "toward_zero", "ties_away", "ties_to_zero"),
    "cancellation": ORDERS,
    "unfused": ("fused",),
}
REJECTIONS = [
    pytest.param(plan, kind, name, id=f"{operation}-{kind}-{name}")
    for operation, plan in PLANS.items()
    for kind, names in REJECTS.items()
    if not (kind == "cancellation" and operation == "reduce_prod") and not (kind == "unfused" and operation != "conv")
    for name in names
]


def exact_cases(plan: PlanKey, *kinds: str):
    """The cases of a plan's exact class, those of some kinds or all; long ones differ only in their length."""
    (item,) = [
        item
        for item in obligations()
        if item.plan == plan and item.verification_class is VerificationClass.EXACT_ARITHMETIC
    ]
    return [c for c in item.cases() if c.size < 300 and not c.error and (not kinds or c.values in kinds)]


def rejecting(case, fold) -> list[Terms]:
    """The output elements that another fold gets wrong."""
    right = right_words(case).view(np.float32)
    with np.errstate(all="ignore"):
        return [terms for terms in terms_of(case) if fold(terms) != right[terms.element]]


@pytest.mark.parametrize("operation", PLANS)
def test_the_declared_order_gives_the_answer_so_that_these_tests_can_pass_and_fail(operation: str):
    for case in exact_cases(PLANS[operation]):
        right = right_words(case).view(np.float32)
        with np.errstate(all="ignore"):
            for terms in terms_of(case):
                got = folding.in_order(terms)
                assert got == right[terms.element] or np.isnan([got, right[terms.element]]).all(), case.case_id


@pytest.mark.parametrize(("plan", "kind", "name"), REJECTIONS)
def test_a_kind_rejects_by_itself_each_order_rounding_and_fusion_it_is_there_for(plan: PlanKey, kind: str, name: str):
    assert any(rejecting(case, getattr(folding, name)) for case in exact_cases(plan, kind))


def roundings(terms: Terms) -> Counter[tuple[str, str, str]]:
    """How each step of the declared order rounds: what the exact step is, which way it goes, and its sign."""
    found: Counter[tuple[str, str, str]] = Counter()
    total = terms.left[0] * terms.right[0]
    for term in (terms.left * terms.right)[1:]:
        a, b = Fraction(float(total)), Fraction(float(term))
        exact = a * b if terms.multiplies else a + b
        total = np.float32(total * term) if terms.multiplies else np.float32(total + term)
        if exact == Fraction(float(total)):
            continue
        other = np.nextafter(total, np.float32(np.inf if exact > Fraction(float(total)) else -np.inf))
        ulp = abs(Fraction(float(other)) - Fraction(float(total)))
        away = abs(abs(exact - Fraction(float(total))) / ulp - Fraction(1, 2))
        what = "tie" if away == 0 else "beside" if away < Fraction(1, 2**10) else "else"
        found[what, "up" if abs(Fraction(float(total))) > abs(exact) else "down", "-" if exact < 0 else "+"] += 1
    return found


@pytest.mark.parametrize("operation", PLANS)
def test_halfway_steps_are_ties_to_even_and_their_neighbours_in_both_directions_and_signs(operation: str):
    wanted = {(what, way, sign) for what in ("tie", "beside") for way in ("up", "down") for sign in "+-"}
    # Padding cuts a window short, and with it the steps that lead up to one another.
    cases = [case for case in exact_cases(PLANS[operation], "halfway") if not case.parameters.get("padding")]
    assert cases
    for case in cases:
        found = sum(map(roundings, terms_of(case)), Counter())
        assert wanted <= found.keys(), (case.case_id, wanted - found.keys())


@pytest.mark.parametrize("operation", SUMS)
def test_cancelling_sums_lose_whole_terms_in_three_of_four_elements_of_every_case(operation: str):
    """Not a last bit: what the steps lose is as large as the small terms, which the large ones leave when they go."""
    remainders = []
    for case in exact_cases(PLANS[operation], "cancellation"):
        lost = []
        for terms in terms_of(case):
            if len(terms.left) >= 5:
                exact = sum(map(Fraction, terms.exact.tolist()))
                lost.append(abs(Fraction(float(folding.in_order(terms))) - exact) >= 1)
                remainders.append(abs(exact) / Fraction(float(np.abs(terms.exact).sum())))
        assert sum(lost) * 4 >= len(lost) * 3, case.case_id
    assert min(remainders) < Fraction(1, 2**20)
