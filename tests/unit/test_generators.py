"""Generators: deterministic, finite or fixed, and exact where they say so."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

from pytest_kernelverify.numerics.generators import (
    adversarial_float32_payload,
    arbitrary_float32_payload,
    exact_structural_payload,
    mixed,
    wide_exponent_float32_payload,
)


def test_the_mixer_gives_the_published_sequence_of_splitmix64() -> None:
    assert [hex(word) for word in mixed(0, 3).tolist()] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


@pytest.mark.parametrize("generate", [arbitrary_float32_payload, wide_exponent_float32_payload])
def test_a_seed_gives_the_same_finite_words_everywhere(generate) -> None:  # type: ignore[no-untyped-def]
    payload = generate(73, 500)
    assert payload == generate(73, 500)
    assert payload.bits[:100] == generate(73, 100).bits
    assert payload.bit_hash != generate(74, 500).bit_hash
    assert generate(-(10**30), 3) != generate(-(10**30) + 1, 3)
    assert all(word & 0x7F800000 != 0x7F800000 for word in payload.bits)
    assert len(set(payload.bits)) > 490
    assert generate(1, 0).bits == ()


def test_generated_words_are_pinned() -> None:
    assert arbitrary_float32_payload(1, 3).bits == ARBITRARY
    assert wide_exponent_float32_payload(1, 3).bits == WIDE
    assert exact_structural_payload(17, 4, product=False).lhs.values() == EXACT


@pytest.mark.parametrize("generate", [arbitrary_float32_payload, wide_exponent_float32_payload])
def test_a_negative_count_fails_with_value_error_and_another_type_with_type_error(generate) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="count -1"):
        generate(0, -1)
    for seed, count in ((1.5, 3), (True, 3), (0, 2.0), (0, False), ("1", 1)):
        with pytest.raises(TypeError):
            generate(seed, count)


def test_arbitrary_words_reach_every_exponent_field_and_both_signs() -> None:
    words = arbitrary_float32_payload(3, 20_000).words
    assert set(((words >> np.uint32(23)) & np.uint32(0xFF)).tolist()) == set(range(255))
    assert 9_000 < int((words >> np.uint32(31)).sum()) < 11_000


def test_wide_exponents_spread_at_once_and_keep_products_normal() -> None:
    for seed in range(20):
        fields = ((wide_exponent_float32_payload(seed, 61).words >> np.uint32(23)) & np.uint32(0xFF)).tolist()
        assert sorted(fields) == list(range(97, 158))
    values = [Fraction(value) for value in wide_exponent_float32_payload(2, 400).values()]
    assert min(map(abs, values)) ** 2 >= Fraction(1, 2**60)
    assert max(map(abs, values)) < 2**31
    assert {value > 0 for value in values} == {True, False}


def test_the_adversarial_payload_covers_zeros_subnormals_extremes_infinities_and_distinct_nans() -> None:
    words = adversarial_float32_payload().bits
    assert len(set(words)) == len(words)
    assert {0, 0x80000000, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0xFF7FFFFF, 1, 0x7FFFFF, 0x800000} <= set(words)
    nans = [word for word in words if word & 0x7FFFFFFF > 0x7F800000]
    assert {bool(word & 0x400000) for word in nans} == {True, False}
    assert len(nans) >= 6
    assert sum(0 < word & 0x7FFFFFFF < 0x800000 for word in words) >= 4


@pytest.mark.parametrize(("length", "sums", "products"), [(1, 2**24, 4096), (4, 4194304, 2048), (1000, 16777, 129)])
def test_the_operand_bound_is_the_share_of_the_budget(length: int, sums: int, products: int) -> None:
    assert exact_structural_payload(17, length, product=False).operand_bound == sums
    assert exact_structural_payload(17, length, product=True).operand_bound == products


@pytest.mark.parametrize("product", [False, True])
@pytest.mark.parametrize(("length", "bits"), [(1, 24), (4, 24), (7, 11), (64, 8), (300, 24), (5, 53), (256, 8), (1, 1)])
def test_every_legal_partial_sum_or_product_is_exact_under_the_budget(length: int, bits: int, product: bool) -> None:
    payload = exact_structural_payload(5, length, product=product, rows=3, mantissa_bits=bits)
    lhs, rhs = payload.lhs.values(), payload.rhs.values() if payload.rhs is not None else None
    assert len(lhs) == 3 * length
    assert (rhs is not None) == product
    assert rhs is None or len(rhs) == len(lhs)
    assert (payload.contraction_length, payload.mantissa_bits) == (length, bits)
    terms = [Fraction(a) * Fraction(b) for a, b in zip(lhs, rhs or [1.0] * len(lhs), strict=True)]
    assert all(term.denominator == 1 and term != 0 for term in terms)
    assert max(map(abs, map(int, lhs))) <= payload.operand_bound <= 2**24
    for row in range(3):
        fibre = terms[row * length : (row + 1) * length]
        assert sum(map(abs, fibre)) <= 2**bits  # so any subset, in any order, is an integer the budget holds
    for total in itertools.accumulate(terms[:length]):
        assert abs(total) <= 2**bits


@pytest.mark.parametrize("product", [False, True])
def test_every_positive_mantissa_budget_is_supported_and_operands_stay_exact_in_binary32(product: bool) -> None:
    huge = exact_structural_payload(0, 3, product=product, mantissa_bits=10**30)
    assert (huge.operand_bound, huge.mantissa_bits) == (2**24, 10**30)
    assert huge.lhs == exact_structural_payload(0, 3, product=product, mantissa_bits=60).lhs
    for bits in range(1, 60):
        share = 2**bits // 3
        bound = min(isqrt(share) if product else share, 2**24)
        if bound:
            assert exact_structural_payload(0, 3, product=product, mantissa_bits=bits).operand_bound == bound


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((0, 10**5000), {}),
        ((0, -(10**5000)), {}),
        ((0, 10**5000), {"mantissa_bits": 10**30}),
        ((0, 3), {"rows": 10**5000}),
        ((0, 3), {"rows": -(10**5000)}),
        ((0, 3), {"mantissa_bits": -(10**5000)}),
    ],
)
def test_huge_lengths_and_rows_fail_with_value_error_in_words_of_ours(arguments, keywords) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=r"must be 1 or more|leaves no operand|more than an array holds") as error:
        exact_structural_payload(*arguments, product=True, **keywords)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("generate", [arbitrary_float32_payload, wide_exponent_float32_payload])
def test_a_huge_count_fails_with_value_error_and_a_huge_seed_is_a_seed(generate) -> None:  # type: ignore[no-untyped-def]
    for count in (10**30, 10**5000, -(10**5000)):
        with pytest.raises(ValueError, match=r"more than an array holds|must be 0 or more"):
            generate(0, count)
    assert len(generate(10**5000, 2)) == 2


def test_rows_and_operands_differ() -> None:
    payload = exact_structural_payload(9, 8, product=True, rows=4)
    assert payload.rhs is not None
    rows = {payload.lhs.bits[start : start + 8] for start in range(0, 32, 8)}
    assert len(rows) == 4
    assert payload.lhs.bits != payload.rhs.bits


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((1, 0), {}),
        ((1, -3), {}),
        ((1, 4), {"rows": 0}),
        ((1, 4), {"mantissa_bits": 0}),
        ((1, 2**24 + 1), {}),
        ((1, 3), {"mantissa_bits": 1}),
    ],
)
def test_lengths_rows_and_budgets_that_leave_no_operand_fail_with_value_error(arguments, keywords) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=r"must be 1 or more|leaves no operand"):
        exact_structural_payload(*arguments, product=False, **keywords)


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [(("1", 4), {}), ((1, 4.0), {}), ((1, True), {}), ((1, 4), {"product": 1}), ((1, 4), {"rows": 1.0})],
)
def test_arguments_of_another_type_fail_with_type_error(arguments, keywords) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TypeError):
        exact_structural_payload(*arguments, **{"product": False, **keywords})


ARBITRARY = (813196079, 3894500138, 572277059)
WIDE = (947838953, 3282041647, 816933275)
EXACT = (-2154195.0, 2180918.0, 2941105.0, -1073350.0)
