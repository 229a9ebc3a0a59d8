"""The operations: operands, shapes, parameters and defaults. ``docs/operations.md`` is generated from this table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = ["OPERATIONS", "SUBJECTS", "Operation", "Subject", "operation", "output_extents"]

Extents = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One registered computational operation.

    ``operands`` pairs each operand's name with its shape; ``""`` is the common shape of a pointwise operation.
    """

    name: str
    family: str
    operands: tuple[tuple[str, str], ...]
    output: str
    rule: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Subject:
    """A movement or structural subject: verified independently of numerical kernels."""

    name: str
    kind: str
    rule: str


def _pointwise(family: str, names: str, operands: str, rules: Mapping[str, str], **parameters: Any) -> list[Operation]:
    shapes = tuple((name, "") for name in operands.split())
    return [
        Operation(name, family, shapes, "", rules.get(name, ""), MappingProxyType(parameters)) for name in names.split()
    ]


_RULES = {
    "add": "Int32 pairs are checked: overflow is an error",
    "sub": "Int32 pairs are checked: overflow is an error",
    "mul": "Int32 pairs are checked: overflow is an error",
    "div": "Int32 pairs are converted and give Float32",
    "rem": "C fmod: the result has the sign of lhs",
    "maximum": "NaN wins; max(+0,-0) is +0",
    "minimum": "NaN wins; min(+0,-0) is -0",
    "pow": "integer pow is checked, a negative exponent is an error, pow(0,0) is 1; floating pow is vendor math",
    "neg": "Int32 is checked: -INT_MIN is an error",
    "abs": "Int32 is checked: |INT_MIN| is an error",
    "sign": "-1, 0 or 1; Float32 keeps the sign of a zero and NaN",
    "round": "half to even",
    "recip": "1/x, rounded once",
    "rsqrt": "1/sqrt(x), rounded at each step",
    "relu": "NaN wins; relu(-0) is +0",
    "leaky_relu": "x for x >= 0, else x times negative_slope (a binary32 value); NaN propagates",
    "clamp": "min(max(x, lo), hi) with NaN winning from any operand; lo > hi is an error",
    "logical_not": "Float32: whether x equals zero; NaN does not",
    "cast": "Float32 to Int32 truncates, NaN or out of range is an error; to Bool: whether x differs from zero",
    "eq": "NaN equals nothing; +0 equals -0",
    "ne": "NaN differs from everything",
    "lt": "false where either operand is NaN",
    "le": "false where either operand is NaN",
}


def _operations() -> list[Operation]:
    row = (("x", "R,K"),)
    frozen = MappingProxyType
    return [
        *_pointwise("pointwise", "add sub mul div rem maximum minimum pow", "lhs rhs", _RULES),
        *_pointwise("pointwise", "neg abs sign ceil floor round recip sqrt rsqrt relu", "x", _RULES),
        *_pointwise("pointwise", "leaky_relu", "x", _RULES, negative_slope=0.01),
        *_pointwise("pointwise", "clamp", "x lo hi", _RULES),
        *_pointwise("pointwise", "logical_not cast", "x", _RULES),
        *_pointwise("pointwise", "select", "condition on_true on_false", _RULES),
        *_pointwise("predicate", "eq ne lt le", "lhs rhs", _RULES),
        *_pointwise("transcendental", "exp exp2 log log2 sin cos erf tanh sigmoid silu gelu softplus", "x", {}),
        *_pointwise("transcendental", "elu", "x", {}, alpha=1.0),
        Operation("reduce_sum", "reduction", row, "R", "over the last mode; the empty sum is +0"),
        Operation("reduce_prod", "reduction", row, "R", "over the last mode; the empty product is 1"),
        Operation("reduce_max", "reduction", row, "R", "NaN wins; +0 over -0; empty is -inf, for Int32 INT_MIN"),
        Operation("reduce_min", "reduction", row, "R", "NaN wins; -0 over +0; empty is +inf, for Int32 INT_MAX"),
        Operation("argmax", "reduction", row, "R", "first winner, the first NaN wins, +0 equals -0; empty is an error"),
        Operation("argmin", "reduction", row, "R", "first winner, the first NaN wins, +0 equals -0; empty is an error"),
        Operation("cumsum", "scan", row, "R,K", "running sum along the last mode"),
        Operation("matmul", "contraction", (("lhs", "B...,M,K"), ("rhs", "B...,K,N")), "B...,M,N", "K = 0 gives +0"),
        Operation(
            "conv",
            "contraction",
            (("input", "N,C,L..."), ("weight", "O,C/g,R...")),
            "N,O,(L+2p-d(R-1)-1)/s+1...",
            "cross-correlation, rank 1-3; terms in the order channel, then window row-major; padding adds no term",
            frozen({"stride": 1, "padding": 0, "dilation": 1, "groups": 1}),
        ),
        Operation(
            "gather", "indexing", (("source", "N,D"), ("index", "M")), "M,D", "a bad index is an error before any write"
        ),
        Operation(
            "scatter",
            "indexing",
            (("base", "N,D"), ("index", "M"), ("updates", "M,D")),
            "N,D",
            "the last update of a row wins; a bad index is an error before any write",
        ),
        Operation(
            "scatter_add",
            "indexing",
            (("base", "N,D"), ("index", "M"), ("updates", "M,D")),
            "N,D",
            "updates are added in order; a bad index is an error before any write",
        ),
        *[
            Operation(
                f"sort_{what}",
                "ordering",
                row,
                "R,K",
                "stable; NaN last ascending, first descending; +0 and -0 tie",
                frozen({"descending": False}),
            )
            for what in ("values", "indices")
        ],
        *[
            Operation(
                f"topk_{what}",
                "ordering",
                row,
                "R,k",
                "the first k of the stable descending sort; k > K is an error",
                frozen({"k": 1}),
            )
            for what in ("values", "indices")
        ],
    ]


OPERATIONS: Mapping[str, Operation] = MappingProxyType({entry.name: entry for entry in _operations()})

SUBJECTS: Mapping[str, Subject] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            Subject("copy", "movement", "every word arrives as it was"),
            Subject("view", "movement", "the same elements under another shape"),
            Subject("permute", "movement", "modes in another order"),
            Subject("rearrange", "movement", "leaves regrouped into other modes"),
            Subject("broadcast_to", "movement", "a stride-0 mode repeats its elements"),
            Subject("addressing", "structural", "every layout reads exactly its own elements"),
            Subject("coverage", "structural", "every output element is written exactly once"),
            Subject("bounds", "structural", "nothing outside is read into a result or written"),
        )
    }
)


def operation(name: str) -> Operation:
    """The operation of that name; ValueError for an unknown one."""
    try:
        return OPERATIONS[name]
    except KeyError:
        raise ValueError(f"unknown operation {name!r}; expected one of {', '.join(OPERATIONS)}") from None


def output_extents(name: str, operands: tuple[Extents, ...], parameters: Mapping[str, Any]) -> Extents:
    """The extents of the result, from the operands' extents; rank-0 operands are scalars.

    ValueError where the operands' extents do not fit the operation or each other.
    """
    entry = operation(name)
    if len(operands) != len(entry.operands):
        raise ValueError(f"{name}: {len(operands)} operand(s) given; expected {len(entry.operands)}")
    first = operands[0]
    if entry.family in ("pointwise", "predicate", "transcendental"):
        shaped = [extents for extents in operands if extents] or [()]
        if any(extents != shaped[0] for extents in shaped):
            raise ValueError(f"{name}: operands have the extents {operands}; they must be equal")
        return shaped[0]
    if entry.family in ("reduction", "scan", "ordering"):
        return _row_extents(name, first, parameters)
    if name == "matmul":
        lhs, rhs = operands
        if min(len(lhs), len(rhs)) < 2 or lhs[:-2] != rhs[:-2] or lhs[-1] != rhs[-2]:
            raise ValueError(f"matmul: {lhs} and {rhs} do not contract")
        return (*lhs[:-1], rhs[-1])
    if name == "conv":
        return _conv_extents(operands[0], operands[1], parameters)
    index = operands[1]
    if len(first) != 2 or len(index) != 1 or (name != "gather" and operands[2] != (*index, first[1])):
        shapes = ", ".join(f"{operand}[{shape}]" for operand, shape in entry.operands)
        raise ValueError(f"{name}: operands have the extents {operands}; expected {shapes}")
    return (index[0], first[1]) if name == "gather" else first


def _row_extents(name: str, rows: Extents, parameters: Mapping[str, Any]) -> Extents:
    """Operations over the last mode."""
    if not rows:
        raise ValueError(f"{name}: the operand has rank 0; there is no last mode to go along")
    if name.startswith("topk_"):
        k = int(parameters.get("k", 1))
        if not 0 <= k <= rows[-1]:
            raise ValueError(f"{name}: k is {k}; rows have {rows[-1]} element(s)")
        return (*rows[:-1], k)
    return rows if name == "cumsum" or name.startswith("sort_") else rows[:-1]


def _conv_extents(source: Extents, weight: Extents, parameters: Mapping[str, Any]) -> Extents:
    stride, padding, dilation, groups = (
        int(parameters.get(key, default))
        for key, default in (("stride", 1), ("padding", 0), ("dilation", 1), ("groups", 1))
    )
    fits = len(source) == len(weight) and 3 <= len(source) <= 5
    if not fits or weight[0] % groups or source[1] != weight[1] * groups:
        raise ValueError(f"conv: input {source} and weight {weight} do not fit {groups} group(s)")
    spatial = tuple(
        max((length + 2 * padding - dilation * (window - 1) - 1) // stride + 1, 0)
        for length, window in zip(source[2:], weight[2:], strict=True)
    )
    return (source[0], weight[0], *spatial)
