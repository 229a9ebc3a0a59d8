"""Generic's self-check: known answers, stated as words, that it must give before it judges anyone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pytest_kernelverify.operations.generic.answer import GenericError
from pytest_kernelverify.operations.generic.decode import Array
from pytest_kernelverify.operations.generic.dispatch import evaluate
from pytest_kernelverify.operations.plan import PlanKey

__all__ = ["qualify"]

_F32 = "compute=f32"
_SEQUENTIAL = "acc=sequential_binary32"


def _row(words: str) -> Array:
    return np.array([[int(word, 16) for word in words.split()]], np.uint32)


def _column(words: str) -> Array:
    return _row(words).T


# plan, operands, parameters, the words of the answer. Binary32: 3F800000 is 1, 4B800000 is 2**24, 00000001 the
# smallest subnormal, 00800000 the smallest normal, 7F7FFFFF the largest finite value.
_KNOWN: list[tuple[str, list[Array], Mapping[str, Any], str]] = [
    # 1 + 2**-24 is halfway and goes to even; (1 + 2**-23) + 2**-24 is halfway and goes up; one ulp more than half;
    # the largest finite value plus half its ulp is infinity, plus the word below that is not; 1 - 1 is +0.
    (
        f"add(f32,f32)->f32 {_F32}",
        [
            _row("3F800000 3F800001 3F800000 7F7FFFFF 7F7FFFFF 3F800000 80000000 00000001"),
            _row("33800000 33800000 33800001 73000000 72FFFFFF BF800000 80000000 007FFFFF"),
        ],
        {},
        "3F800000 3F800002 3F800001 7F800000 7F7FFFFF 00000000 80000000 00800000",
    ),
    (f"sub(f32,f32)->f32 {_F32}", [_row("3F800000 3F800000"), _row("33000000 33000001")], {}, "3F800000 3F7FFFFF"),
    # Half the smallest subnormal goes to 0, one and a half of it to two, a product just below the normals up to one.
    (
        f"mul(f32,f32)->f32 {_F32}",
        [
            _row("00000001 00000003 00FFFFFF 3F800001 7F800000 C0000000"),
            _row("3F000000 3F000000 3F000000 3F800001 00000000 00000000"),
        ],
        {},
        "00000000 00000002 00800000 3F800002 7FC00000 80000000",
    ),
    # The last two quotients exceed a halfway point by less than 2**-13 of a place.
    (
        f"div(f32,f32)->f32 {_F32}",
        [
            _row("3F800000 40000000 3F800000 00000001 00000000 3FFBE63D 3F84E472"),
            _row("40400000 40400000 41200000 40000000 00000000 3FF48C9B 3F811C0B"),
        ],
        {},
        "3EAAAAAB 3F2AAAAB 3DCCCCCD 00000000 7FC00000 3F83D8DF 3F83C015",
    ),
    # fmod(5.3, 2), of huge by three, of a subnormal, with the sign of lhs, by infinity, by zero.
    (
        f"rem(f32,f32)->f32 {_F32}",
        [
            _row("40B00000 7F000000 00000007 C0B00000 C0B00000 3F800000"),
            _row("40000000 40400000 00000004 40000000 7F800000 00000000"),
        ],
        {},
        "3FC00000 40000000 00000003 BFC00000 C0B00000 7FC00000",
    ),
    # Roots just below and just above a halfway point, of a subnormal, and rounded up.
    (
        f"sqrt(f32)->f32 {_F32}",
        [_row("40000000 3F7FFFFF 3F800001 3FD7F255 40438171 00000001 40A00000 80000000 BF800000")],
        {},
        "3FB504F3 3F7FFFFF 3F800000 3FA6419F 3FDFB7A3 1A3504F3 400F1BBD 80000000 7FC00000",
    ),
    (f"rsqrt(f32)->f32 {_F32}", [_row("40800000 80000000 40400000")], {}, "3F000000 FF800000 3F13CD3A"),
    (
        f"round(f32)->f32 {_F32}",
        [_row("3F000000 3FC00000 40200000 BF000000 4B000001")],
        {},
        "00000000 40000000 40000000 80000000 4B000001",
    ),
    (f"ceil(f32)->f32 {_F32}", [_row("BF000000 00000001")], {}, "80000000 3F800000"),
    (f"floor(f32)->f32 {_F32}", [_row("BF000000 80000001 3F7FFFFF")], {}, "BF800000 BF800000 00000000"),
    ("cast(i32)->f32 compute=f32", [_row("01000001 01000003 7FFFFFFF")], {}, "4B800000 4B800002 4F000000"),
    # [2**24, 1, -2**24] is 1 exactly and 0 in binary32 steps; [2**24, 1, 1] is 2**24 in steps, 2**24 + 2 exactly.
    (f"reduce_sum(f32)->f32 {_F32} acc=floating:f32", [_row("4B800000 3F800000 CB800000")], {}, "3F800000"),
    (
        f"reduce_sum(f32)->f32 {_F32} acc=floating:f64",
        [_row("7F7FFFFF 7F7FFFFF FF7FFFFF FF7FFFFF 00000001")],
        {},
        "00000001",
    ),
    # 2**60 + 2**36 is halfway; 2**-60 beside it, hidden or not, decides.
    (f"reduce_sum(f32)->f32 {_F32} acc=floating:f64", [_row("5D800000 51800000 21800000 A1800000")], {}, "5D800000"),
    (f"reduce_sum(f32)->f32 {_F32} acc=floating:f64", [_row("5D800000 51800000 21800000")], {}, "5D800001"),
    (f"reduce_sum(f32)->f32 {_F32} acc=floating:f64", [_row("7F800000 FF800000")], {}, "7FC00000"),
    (f"cumsum(f32)->f32 {_F32} {_SEQUENTIAL}", [_row("4B800000 3F800000 3F800000")], {}, "4B800000 4B800000 4B800000"),
    (
        f"cumsum(f32)->f32 {_F32} acc=floating:f64",
        [_row("4B800000 3F800000 3F800000")],
        {},
        "4B800000 4B800000 4B800001",
    ),
    # 2**-75 twice underflows halfway to 0 in steps; exactly, 2**100 brings it back.
    (f"reduce_prod(f32)->f32 {_F32} {_SEQUENTIAL}", [_row("1A000000 1A000000 71800000")], {}, "00000000"),
    (
        f"reduce_prod(f32)->f32 {_F32} {_SEQUENTIAL}",
        [_row("1A000000 9A000000 7F000000 7F000000 7F000000")],
        {},
        "80000000",
    ),
    (f"reduce_prod(f32)->f32 {_F32} acc=floating:f64", [_row("1A000000 1A000000 71800000")], {}, "26800000"),
    (
        f"matmul(f32,f32)->f32 {_F32} acc=floating:f32",
        [_row("3F800001 3F800000"), _column("3F800001 BF800002")],
        {},
        "28800000",
    ),
    # (1 + 2**-12)**2 - (1 + 2**-11) is 2**-24, which a product rounded before the sum has lost.
    (
        f"conv(f32,f32)->f32 {_F32} {_SEQUENTIAL}",
        [_column("3F800800 BF801000")[None], _column("3F800800 3F800000")[None]],
        {},
        "00000000",
    ),
    (
        f"conv(f32,f32)->f32 {_F32} acc=floating:f64",
        [_column("3F800800 BF801000")[None], _column("3F800800 3F800000")[None]],
        {},
        "33800000",
    ),
    # 2**24 - 1, 2, 1: each has 24 bits, their sum rounds on the way.
    (f"cumsum(f32)->f32 {_F32} {_SEQUENTIAL}", [_row("4B7FFFFF 40000000 3F800000")], {}, "4B7FFFFF 4B800000 4B800000"),
    # 2**24 + 1 + 1 is 2**24 in this order and 2**24 + 2 in the other.
    (
        f"conv(f32,f32)->f32 {_F32} {_SEQUENTIAL}",
        [_row("4B800000 3F800000 3F800000")[None], _row("3F800000 3F800000 3F800000")[None]],
        {},
        "4B800000",
    ),
    (
        f"conv(f32,f32)->f32 {_F32} {_SEQUENTIAL}",
        [_row("4B800000 3F800000 3F800000")[None], _row("3F800000 3F800000")[None]],
        {"padding": 1},
        "4B800000 4B800000 40000000 3F800000",
    ),
    (
        f"scatter_add(f32,i32,f32)->f32 {_F32} {_SEQUENTIAL}",
        [_column("4B800000 80000000"), _row("0 0")[0], _column("3F800000 3F800000")],
        {},
        "4B800000 80000000",
    ),
    (
        "matmul(i32,i32)->i32 compute=i32_checked acc=exact_integer",
        [_row("7FFFFFFF 80000000"), _column("1 1")],
        {},
        "FFFFFFFF",
    ),
    (f"sort_indices(f32)->i32 {_F32}", [_row("7FC00000 80000000 00000000 BF800000")], {}, "3 1 2 0"),
    (f"argmin(f32)->i32 {_F32}", [_row("00000000 80000000")], {}, "0"),
    (f"reduce_min(f32)->f32 {_F32}", [_row("00000000 80000000")], {}, "80000000"),
]

_ERRORS: list[tuple[str, list[Array], str]] = [
    ("add(i32,i32)->i32 compute=i32_checked", [_row("7FFFFFFF"), _row("1")], "overflow"),
    ("cast(f32)->i32 compute=f32", [_row("4F000000")], "domain"),
    ("gather(i32,i32)->i32 compute=word", [_row("1 2"), _row("1")[0]], "index"),
    (f"argmax(f32)->i32 {_F32}", [_row("")], "empty"),
]


def qualify() -> list[str]:
    """What Generic gets wrong, one sentence each; empty when it may judge."""
    failures = []
    for text, operands, parameters, expected in _KNOWN:
        words = evaluate(PlanKey.from_text(text), operands, parameters).words
        found = " ".join(f"{int(word):08X}" for word in words)
        if found != " ".join(f"{int(word, 16):08X}" for word in expected.split()):
            failures.append(f"{text} gives {found}; expected {expected}")
    for text, operands, kind in _ERRORS:
        try:
            evaluate(PlanKey.from_text(text), operands)
        except GenericError as error:
            if error.kind != kind:
                failures.append(f"{text} reports {error.kind}; expected {kind}")
        else:
            failures.append(f"{text} reports no error; expected {kind}")
    return failures
