"""The words of every value kind of a pointwise plan."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pytest_kernelverify.cases.choosing_values import clamp_values, select_values
from pytest_kernelverify.cases.critical import (
    BEYOND_SIGNIFICAND,
    FLOAT_EXTREMES,
    INFINITY,
    INT_EXTREMES,
    MAX,
    NAN,
    NANS,
    SIGN,
    SPECIALS,
    SUBNORMALS,
    crossed,
    halfway_pairs,
    near_reciprocals,
    near_roots,
    pair_extremes,
    small_integers,
    wide,
    with_specials,
    words,
)
from pytest_kernelverify.cases.values import (
    INT_MAX,
    INT_MIN,
    Integers,
    Words,
    below,
    cast_words,
    float_words,
    int_words,
    integers,
    real_words,
    scaled,
    tiled,
    whole_words,
)
from pytest_kernelverify.operations.plan import OperandRole, PlanKey

__all__ = ["payload"]


def payload(plan: PlanKey, kind: str, count: int, seed: int, turn: int) -> list[Words]:
    """The words of each operand; one word for a scalar operand."""
    if plan.operation == "select":
        result = select_values(plan, kind, count, seed)
    elif plan.operation == "pow":
        result = _pow(plan, kind, count, seed, turn)
    elif plan.operation == "clamp":
        result = clamp_values(plan, kind, count, seed, turn)
    elif len(plan.operands) == 1:
        result = [_unary(plan, kind, count, seed, turn)]
    elif plan.compute != "f32":
        result = _integer_pair(plan, kind, count, seed, turn)
    elif plan.operands[1].role is OperandRole.SCALAR:
        result = _scaled(plan, kind, count, seed, turn)
    else:
        result = _float_pair(plan, kind, count, seed, turn)
    return [
        word[:1] if operand.role is OperandRole.SCALAR else word[:count]
        for word, operand in zip(result, plan.operands, strict=True)
    ]


# ---- one operand -----------------------------------------------------------------------------------------------------

_HALVES = np.concatenate(
    [
        real_words([0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, -3.5, 4194303.5, -8388606.5, 8388607.5, -8388607.5]),
        real_words([0.25, -0.25, 8388608.0, 8388609.0, 16777218.0, -8388609.0, 1.0, -2.0]),
        words(0x3EFFFFFF, 0xBEFFFFFF, 0x3F000001, 0xBF000001, 0x3F7FFFFF, 0xBF7FFFFF, 0x3FBFFFFF, 0x3FC00001),
        words(0x401FFFFF, 0x40200001, 0xC01FFFFF),
    ]
)
_CASTABLE = words(0x4EFFFFFF, 0xCF000000, 0x4E800001, 0xCEFFFFFF, 0x4B000001, 0x4B7FFFFF, 0x00800000, 0x80800000, 0)


def _unary(plan: PlanKey, kind: str, count: int, seed: int, turn: int) -> Words:
    name, dtype = plan.operation, plan.operands[0].dtype
    if dtype == "bool":
        return np.ones(count, np.uint8) if kind == "ones" else below(seed, count, 2).astype(np.uint8)
    if dtype == "i32":
        return _unary_integer(plan, kind, count, seed, turn)
    roots = name in ("sqrt", "rsqrt")
    match kind:
        case "small" if roots:
            return whole_words(integers(seed, count, 1, 40) ** 2)
        case "small" if name in ("cast", "logical_not") and plan.output == "bool":
            return whole_words(integers(seed, count, -1, 1))
        case "small":
            return whole_words(small_integers(seed, count))
        case "wide" if roots:
            return float_words(seed, count, -30, 30, signed=False)
        case "wide" if name in ("ceil", "floor", "round", "cast"):
            return float_words(seed, count, -6, 26)
        case "wide":
            return wide(seed, count)
        case "halfway" if roots:
            return tiled(near_roots(0), count, turn)
        case "halfway" if name == "recip":
            return tiled(near_reciprocals(0), count, turn)
        case "halfway" if name == "leaky_relu":
            # Odd 24-bit multiples of -1 below 4/3 of a binade: three quarters of them end in a tie.
            return whole_words(-(integers(seed, count, 2**22, 2**23 - 1) * 2 + 1))
        case "halfway":
            return tiled(_HALVES, count, turn)
        case "specials":
            table = np.append(SPECIALS, NANS[2]).astype(np.uint32)
            return with_specials(tiled(table, count, turn), words(NAN, NANS[1], SIGN | INFINITY, INFINITY))
        case "subnormal":
            table = SUBNORMALS
            if name == "recip":
                table = np.concatenate([table, words(MAX, SIGN | MAX, 0x7E800001, 0x7F000000, 0x7E800000, 0x00200000)])
            if name == "leaky_relu":
                table = np.concatenate([table, words(0x80800003, 0x81000001, 0x80FFFFFF)])
            return tiled(table, count, turn)
        case "extremes" if name == "cast" and plan.output == "i32":
            return tiled(_CASTABLE, count, turn)
        case "extremes" if name == "recip":
            return tiled(words(0x00800000, 0x80800000, 0x7E800000, 0xFE800000, 0x00800001, 0x7E7FFFFF), count, turn)
        case "extremes" if name == "leaky_relu":
            return tiled(words(MAX, SIGN | MAX, 0x00800000, 0xFF000000, 0xFF7FFFFE, 0xFEAAAAAB), count, turn)
    return tiled(FLOAT_EXTREMES, count, turn)


def _unary_integer(plan: PlanKey, kind: str, count: int, seed: int, turn: int) -> Words:
    if kind == "small":
        low = -1 if plan.output == "bool" else -9
        return int_words(integers(seed, count, low, -low))
    if kind == "wide":
        return int_words(integers(seed, count, INT_MIN + 1, INT_MAX))
    table = BEYOND_SIGNIFICAND if kind == "conversion" else INT_EXTREMES
    if plan.operation in ("neg", "abs"):
        table = table[table != INT_MIN]
    return int_words(tiled(table, count, turn))


# ---- two operands ----------------------------------------------------------------------------------------------------


def _float_pair(plan: PlanKey, kind: str, count: int, seed: int, turn: int) -> list[Words]:
    """Two tensors computed in binary32, either of which may be Int32."""
    name = plan.operation
    dtypes = [operand.dtype for operand in plan.operands]
    integral = [dtype == "i32" for dtype in dtypes]
    if kind == "small":
        return [cast_words(small_integers(seed + axis, count), dtype) for axis, dtype in enumerate(dtypes)]
    if kind == "wide":
        return [
            int_words(integers(seed + axis, count, -(2**30), 2**30)) if whole else wide(seed + axis, count)
            for axis, whole in enumerate(integral)
        ]
    if kind == "halfway":
        whole, partner = halfway_pairs(name, seed, count)
        return _ordered(name, whole, partner, integral, seed)
    if kind == "conversion":
        return _conversion(name, integral, count, seed, turn)
    if kind == "cancellation":
        first = wide(seed, count)
        second = first.astype(np.int64) + below(seed + 1, count, 9) - 4
        if name == "add":
            second ^= SIGN
        return [first, second.astype(np.uint32)]
    if kind == "ties":
        first = wide(seed, count)
        step = below(seed + 1, count, 3) - 1
        zeros = below(seed + 2, count, 4) == 0
        second = np.where(zeros, SIGN * (step & 1), first.astype(np.int64) + step).astype(np.uint32)
        return [np.where(zeros, np.uint32(SIGN) * (step != 0), first).astype(np.uint32), second]
    if kind == "extremes":
        return [tiled(table, count, turn) for table in pair_extremes(name)]
    subnormal = kind == "subnormal"
    if all(integral):
        table = np.array([0, 1, -1, INT_MIN, INT_MAX, 7])
        return [int_words(table[(turn + np.arange(count)) // step % 6]) for step in (1, 6)]
    if any(integral):
        special = np.append(SUBNORMALS, words(MAX, SIGN | MAX)) if subnormal else SPECIALS
        whole_table = np.array([1, -1, 0, 3, -7] if not subnormal else [0, 1, -1, 2**23 + 1])
        whole_words_ = int_words(tiled(whole_table, count, turn))
        step = (turn + np.arange(count)) // len(whole_table)
        floats = special[step % len(special)]
        if not subnormal:
            floats = with_specials(floats, words(NAN, NANS[1], INFINITY, SIGN | INFINITY))
        return [whole_words_ if whole else floats for whole in integral]
    left, right = (tiled(table, count, turn) for table in crossed(2, subnormal=subnormal))
    if not subnormal:
        left = with_specials(left, words(NAN, 0x3F800000, NANS[1], INFINITY))
        right = with_specials(right, words(0x40000000, NANS[2], 0xBF800000, NAN))
    return [left, right]


def _ordered(name: str, whole: Integers, partner: Words, integral: list[bool], seed: int) -> list[Words]:
    """Both operands of a halfway pair as the plan's dtypes, the whole one where an integer is needed."""
    count = len(whole)
    if name in ("mul", "div", "rem"):
        value = partner.view(np.float32).astype(np.int64)
        if integral[0] or integral[1]:
            both = [whole, value]
            return [cast_words(v, "i32" if flag else "f32") for v, flag in zip(both, integral, strict=True)]
        shift = integers(seed + 5, count, -40, 40)
        return [scaled(whole_words(whole), shift), scaled(partner, shift if name == "rem" else -(shift // 2))]
    if integral[0]:
        return [int_words(whole), partner]
    if integral[1]:
        return [partner, int_words(whole)]
    shift = integers(seed + 5, count, -40, 40)
    first, second = scaled(whole_words(whole), shift), scaled(partner, shift)
    swap = below(seed + 6, count, 2) == 1
    return [np.where(swap, second, first), np.where(swap, first, second)]


def _conversion(name: str, integral: list[bool], count: int, seed: int, turn: int) -> list[Words]:
    """Integers that must round first, beside operands that show whether they did."""
    beyond = tiled(BEYOND_SIGNIFICAND, count, turn)
    if all(integral):
        return [int_words(beyond), int_words(tiled(BEYOND_SIGNIFICAND[::-1].copy(), count, turn + 3))]
    if name in ("add", "sub"):
        # The difference to a nearby binary32 value is the conversion's rounding error, or what is left without it.
        partner = whole_words(beyond // 2**9 * 2**9) ^ np.uint32(SIGN if name == "add" else 0)
    else:
        partner = tiled(real_words([3.0, 1.0, -1.0, 0.75, 5.0]), count, seed % 5)
    return [int_words(beyond) if whole else partner for whole in integral]


def _scaled(plan: PlanKey, kind: str, count: int, seed: int, turn: int) -> list[Words]:
    """A tensor times one scalar Float32; ``infinite`` and ``nan`` are the scalar's."""
    integral = plan.operands[0].dtype == "i32"
    size = max(count, 1)

    def tensor(table: Words) -> Words:
        return tiled(table, count, turn)

    if kind in ("small", "wide"):
        scalar = (real_words([3.0, -5.0, 0.75]) if kind == "small" else words(0x3F9E3779, 0xC0490FDB))[turn % 2]
        values = small_integers(seed, count) if kind == "small" else integers(seed, count, -(2**30), 2**30)
        first = cast_words(values, plan.operands[0].dtype) if integral or kind == "small" else wide(seed, count)
        return [first, np.full(size, scalar, np.uint32)]
    if kind == "halfway":
        return [
            cast_words(integers(seed, count, 2**22, 2**23 - 1) * 2 + 1, plan.operands[0].dtype),
            np.full(size, real_words([0.75])[0], np.uint32),
        ]
    if kind == "conversion":
        return [tensor(int_words(BEYOND_SIGNIFICAND)), np.full(size, real_words([3.0])[0], np.uint32)]
    if kind == "extremes":
        table = words(MAX, SIGN | MAX, 0x7F7FFFFE, 0x7F000000, 0x7EFFFFFF, 0x7F000001, 0x00800000)
        return [tensor(table), np.full(size, 0x3F800001 if turn % 2 else 0x40000000, np.uint32)]
    if kind == "subnormal":
        if integral:
            return [tensor(int_words([1, 2, 3, -1, 2**23 + 1, 2**24 - 1])), np.full(size, 0x00000003, np.uint32)]
        return [tensor(np.append(SUBNORMALS, words(0x01800001, 0x01000003))), np.full(size, 0x3F000000, np.uint32)]
    scalar = {"specials": SIGN, "infinite": SIGN | INFINITY, "nan": NAN}[kind]
    if integral:
        return [int_words(tiled(np.array([3, -1, 0, 7, INT_MIN]), count, turn)), np.full(size, scalar, np.uint32)]
    table = with_specials(tensor(SPECIALS), words(NAN, NANS[1], SIGN | INFINITY, INFINITY))
    return [table, np.full(size, scalar, np.uint32)]


_SUMS = [(INT_MAX, 0), (INT_MAX - 5, 5), (INT_MIN, 0), (INT_MIN, INT_MAX), (INT_MIN + 7, -7), (2**30, 2**30 - 1)]
_PRODUCTS = [(46340, 46340), (65536, 32767), (-65536, 32768), (INT_MIN, 1), (INT_MAX, -1), (1, INT_MAX), (INT_MIN, 0)]
_INTEGER_EXTREMES: Mapping[str, list[tuple[int, int]]] = {
    "add": [*_SUMS, (-(2**30), -(2**30)), (2**24, 1), (-1, INT_MIN + 1)],
    "sub": [*((a, -b) for a, b in _SUMS), (-1, INT_MAX), (INT_MAX, INT_MAX), (-1, INT_MIN), (2**24 + 1, 2)],
    "mul": [*_PRODUCTS, (-1, INT_MAX), (4097, 4097), (32768, -65536), (715827882, 3)],
    "pow": [
        (2, 30), (-2, 31), (46340, 2), (1290, 3), (-1290, 3), (INT_MIN, 1), (INT_MAX, 1), (0, 0), (INT_MIN, 0),
        (-1, INT_MAX), (-1, INT_MAX - 1), (1, INT_MAX), (0, INT_MAX), (3, 19), (-3, 19), (7, 11), (0, 5), (2, 0),
    ],
}  # fmt: skip
_INTEGER_NEIGHBOURS = [
    (INT_MIN, INT_MAX), (INT_MAX, INT_MIN), (2**24, 2**24 + 1), (2**24 + 1, 2**24), (-1, 1), (1, -1),
    (INT_MIN, INT_MIN + 1), (INT_MAX, INT_MAX - 1), (INT_MIN, 1), (1, INT_MIN), (0, INT_MIN), (INT_MAX, -1),
]  # fmt: skip


def _pairs(table: list[tuple[int, int]], count: int, turn: int) -> list[Words]:
    array = np.array(table, dtype=np.int64)
    return [int_words(tiled(array[:, axis], count, turn)) for axis in (0, 1)]


def _integer_pair(plan: PlanKey, kind: str, count: int, seed: int, turn: int) -> list[Words]:
    name = plan.operation
    if plan.operands[1].role is OperandRole.SCALAR:
        scalar = {"small": (3, -5, 7), "wide": (-4099, 2053, 3001), "extremes": (-1, 1, 32767)}[kind][turn % 3]
        reach = {"small": 9, "wide": 2**18, "extremes": 65536 if scalar == 32767 else INT_MAX}[kind]
        first = small_integers(seed, count) if kind == "small" else integers(seed, count, -reach, reach)
        if kind == "extremes":
            first[: min(2, count)] = [reach, -reach][: min(2, count)]
        return [int_words(first), int_words(np.full(max(count, 1), scalar))]
    if kind == "small":
        return [int_words(small_integers(seed + axis, count)) for axis in (0, 1)]
    if kind == "ties":
        first = integers(seed, count, INT_MIN + 2, INT_MAX - 2)
        return [int_words(first), int_words(first + below(seed + 1, count, 3) - 1)]
    if kind == "extremes":
        return _pairs(_INTEGER_EXTREMES.get(name, _INTEGER_NEIGHBOURS), count, turn)
    reach = 2**15 if name == "mul" else 2**30 - 1 if name in ("add", "sub") else INT_MAX
    return [int_words(integers(seed + axis, count, -reach, reach)) for axis in (0, 1)]


def _pow(plan: PlanKey, kind: str, count: int, seed: int, turn: int) -> list[Words]:
    scalar = plan.operands[1].role is OperandRole.SCALAR
    if kind == "extremes" and not scalar:
        return _pairs(_INTEGER_EXTREMES["pow"], count, turn)
    if scalar:
        exponent = {"small": (2, 3, 5), "wide": (2, 7, 4), "extremes": (2, 31, 0)}[kind][turn % 3]
        reach = {0: INT_MAX, 2: 46340, 3: 1290, 4: 215, 5: 73, 7: 21, 31: 1}[exponent]
        if kind == "small":
            reach = 5
        base = integers(seed, count, -reach, reach)
        if kind == "extremes":
            base[: min(3, count)] = [reach, -reach, -2 if exponent == 31 else 0][: min(3, count)]
        return [int_words(base), int_words(np.full(max(count, 1), exponent))]
    if kind == "small":
        return [int_words(small_integers(seed, count, -5, 5)), int_words(integers(seed + 1, count, 0, 6))]
    # Any base with any exponent of at most 4 stays in range: what a stride of 0 needs.
    return [int_words(integers(seed, count, -215, 215)), int_words(integers(seed + 1, count, 0, 4))]
