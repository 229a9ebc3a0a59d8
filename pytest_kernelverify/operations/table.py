"""The operations: operands, shapes, parameters, defaults and legal plans. ``docs/operations.md`` is made from this."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import Any

from pytest_kernelverify.operations.plan import OperandRole, PlanKey, VerificationClass

__all__ = [
    "OPERATIONS",
    "SUBJECTS",
    "Operation",
    "Subject",
    "check_legal",
    "legal_plans",
    "operation",
    "output_extents",
    "required_classes",
]

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
    """A movement or structural subject, verified independently of numerical kernels on a kernel of ``operation``.

    ``copy`` is no computational operation: a profile has a kernel of it for its subjects alone.
    """

    name: str
    kind: str
    operation: str
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
            Subject("copy", "movement", "copy", "every word arrives as it was"),
            Subject("view", "movement", "copy", "the same elements under another shape"),
            Subject("permute", "movement", "copy", "modes in another order"),
            Subject("rearrange", "movement", "copy", "leaves regrouped into other modes"),
            Subject("broadcast_to", "movement", "copy", "a stride-0 mode repeats its elements"),
            Subject("addressing", "structural", "copy", "every layout reads exactly its own elements"),
            Subject("coverage", "structural", "add", "every output element is written exactly once"),
            Subject("bounds", "structural", "copy", "nothing outside is read into a result or written"),
        )
    }
)

# Which plans an operation may have, its operands written as tensors. F is a Float32 operand or an Int32 one converted
# to it; M is the same beside at least one Float32 operand, where an Int32 pair has arithmetic of its own. N is a sum
# whose order is free; S is one whose order is normative unless the plan leaves it free.
_FORMS: tuple[tuple[str, ...], ...] = (
    ("add sub mul", "(M,M)->f32 compute=f32", "(i32,i32)->i32 compute=i32_checked"),
    ("div rem", "(F,F)->f32 compute=f32"),
    ("maximum minimum", "(M,M)->f32 compute=f32", "(i32,i32)->i32 compute=i32"),
    ("pow", "(F,F)->f32 compute=f32", "(i32,i32)->i32 compute=i32_checked"),
    ("neg abs", "(f32)->f32 compute=f32", "(i32)->i32 compute=i32_checked"),
    ("sign relu", "(f32)->f32 compute=f32", "(i32)->i32 compute=i32"),
    ("ceil floor round recip sqrt rsqrt leaky_relu", "(F)->f32 compute=f32"),
    ("clamp", "(M,M,M)->f32 compute=f32", "(i32,i32,i32)->i32 compute=i32"),
    ("logical_not", "(f32)->bool compute=f32", "(bool)->bool compute=word"),
    ("cast", "(f32)->i32 compute=f32", "(i32)->f32 compute=f32", "(f32)->bool compute=f32"),
    ("cast", "(i32)->bool compute=i32", "(bool)->f32 compute=word", "(bool)->i32 compute=word"),
    ("select", "(bool,f32,f32)->f32 compute=word", "(bool,i32,i32)->i32 compute=word"),
    ("eq ne lt le", "(M,M)->bool compute=f32", "(i32,i32)->bool compute=i32"),
    ("exp exp2 log log2 sin cos erf tanh sigmoid silu gelu softplus elu", "(F)->f32 compute=f32"),
    ("reduce_sum", "(f32)->f32 compute=f32 acc=N", "(i32)->i32 compute=i32_checked acc=exact_integer"),
    ("reduce_prod cumsum", "(f32)->f32 compute=f32 acc=S"),
    ("reduce_max reduce_min", "(f32)->f32 compute=f32", "(i32)->i32 compute=i32"),
    ("argmax argmin", "(f32)->i32 compute=f32", "(i32)->i32 compute=i32"),
    ("matmul", "(M,M)->f32 compute=f32 acc=N", "(i32,i32)->i32 compute=i32_checked acc=exact_integer"),
    ("conv", "(f32,f32)->f32 compute=f32 acc=S"),
    ("gather", "(f32,i32)->f32 compute=word", "(i32,i32)->i32 compute=word"),
    ("scatter", "(f32,i32,f32)->f32 compute=word", "(i32,i32,i32)->i32 compute=word"),
    ("scatter_add", "(f32,i32,f32)->f32 compute=f32 acc=S"),
    ("sort_values topk_values", "(f32)->f32 compute=f32", "(i32)->i32 compute=i32"),
    ("sort_indices topk_indices", "(f32)->i32 compute=f32", "(i32)->i32 compute=i32"),
)
_LETTERS = {
    "F": ("f32", "i32>f32"),
    "M": ("f32", "i32>f32"),
    "N": ("floating:f32", "floating:f64"),
    "S": ("sequential_binary32", "floating:f32", "floating:f64"),
}
_ELEMENTWISE = ("pointwise", "predicate", "transcendental")
_MOVERS = ("select", "gather", "scatter", "sort_values", "topk_values")


def _spelled(form: str) -> Iterator[str]:
    """Every plan, without its operation, that a form stands for."""
    parts = re.split(r"\b([FMNS])\b", form)
    for chosen in product(*(_LETTERS[letter] for letter in parts[1::2])):
        if "M" not in parts or "f32" in chosen:
            yield "".join(text for pair in zip(parts[::2], (*chosen, ""), strict=True) for text in pair)


@cache
def legal_plans(name: str) -> tuple[str, ...]:
    """The texts of the plans an operation may have, every operand a tensor; ValueError for an unknown operation."""
    operation(name)
    return tuple(
        f"{name}{text}"
        for names, *forms in _FORMS
        if name in names.split()
        for form in forms
        for text in _spelled(form)
    )


def check_legal(plan: PlanKey) -> None:
    """ValueError unless the operation may have such a plan: dtypes, conversions, compute, accumulation and output.

    Operands of an elementwise operation may be scalars, but not all of them; those of any other are tensors.
    """
    entry = operation(plan.operation)
    if len(plan.operands) != len(entry.operands):
        raise ValueError(f"plan {plan.text} has {len(plan.operands)} operands; {entry.name} has {len(entry.operands)}")
    scalars = sum(operand.role is OperandRole.SCALAR for operand in plan.operands)
    tensors = tuple(replace(operand, role=OperandRole.TENSOR) for operand in plan.operands)
    text = replace(plan, operands=tensors).text if scalars else plan.text
    if text not in legal_plans(entry.name):
        raise ValueError(f"plan {plan.text} is none of {entry.name}; expected {' or '.join(legal_plans(entry.name))}")
    if scalars and (entry.family not in _ELEMENTWISE or scalars == len(plan.operands)):
        allowed = "at least one tensor" if entry.family in _ELEMENTWISE else "tensors"
        raise ValueError(f"plan {plan.text} has {scalars} scalar operand(s); expected {allowed}")


def required_classes(plan: PlanKey) -> tuple[VerificationClass, ...]:
    """The classes an active classification of a legal plan names, in their order; none where it must be deferred."""
    entry = operation(plan.operation)
    if entry.family == "transcendental" or (entry.name == "pow" and plan.output == "f32"):
        return ()
    if plan.accumulation == "sequential_binary32":
        return VerificationClass.EXACT_ARITHMETIC, VerificationClass.STRUCTURAL
    if plan.accumulation is not None:
        return VerificationClass.STRUCTURAL, VerificationClass.ANALYTIC, VerificationClass.NUMERICAL
    return (VerificationClass.BIT_EXACT if entry.name in _MOVERS else VerificationClass.EXACT_ARITHMETIC,)


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
    if entry.family in _ELEMENTWISE:
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
