"""Plans and the kernels that execute them: PlanKey, LogicalKernel and the verification classes."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

__all__ = ["LogicalKernel", "OperandKey", "OperandRole", "PlanKey", "VerificationClass"]

DTYPES = ("f32", "i32", "bool")
COMPUTES = ("f32", "i32_checked", "i32", "word")
ACCUMULATIONS = ("floating", "sequential_binary32", "exact_integer")
ACCUMULATORS = ("f32", "f64")


class VerificationClass(Enum):
    """What kind of evidence an obligation asks for."""

    BIT_EXACT = "bit_exact"
    EXACT_ARITHMETIC = "exact_arithmetic"
    STRUCTURAL = "structural"
    ANALYTIC = "analytic"
    NUMERICAL = "numerical"
    DEFERRED = "deferred"


class OperandRole(Enum):
    """Whether an operand is a tensor or one value for the whole call (rank 0)."""

    TENSOR = "tensor"
    SCALAR = "scalar"


@dataclass(frozen=True, slots=True)
class OperandKey:
    """One operand of a plan: its role, its dtype and the dtype it is converted to first, if any."""

    role: OperandRole
    dtype: str
    convert_to: str | None = None

    @property
    def text(self) -> str:
        suffix = f">{self.convert_to}" if self.convert_to else ""
        return self.dtype + (":scalar" if self.role is OperandRole.SCALAR else "") + suffix


class _Remembered:
    """What a plan key works out once; it is in no field, so in no comparison, repr, copy or pickle."""

    __slots__ = ("_hash", "_text", "_token")

    _hash: int
    _text: str
    _token: str


@dataclass(frozen=True, slots=True)
class PlanKey(_Remembered):
    """One exact operation plan; ``text`` names it everywhere.

    >>> PlanKey.from_text("matmul(f32,i32>f32)->f32 compute=f32 acc=floating:f64").token
    'matmul-f32_i32_f32-acc_f64'
    """

    operation: str
    operands: tuple[OperandKey, ...]
    compute: str
    accumulation: str | None
    accumulator: str | None
    output: str

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            fields = (self.operation, self.operands, self.compute, self.accumulation, self.accumulator, self.output)
            object.__setattr__(self, "_hash", hash(fields))
            return self._hash

    @property
    def text(self) -> str:
        """The canonical text; computed once."""
        try:
            return self._text
        except AttributeError:
            object.__setattr__(self, "_text", self._make_text())
            return self._text

    @property
    def token(self) -> str:
        """The plan in a test id: letters, digits and ``_`` inside tokens, ``-`` between them; computed once."""
        try:
            return self._token
        except AttributeError:
            object.__setattr__(self, "_token", self._make_token())
            return self._token

    def _make_text(self) -> str:
        operands = ",".join(operand.text for operand in self.operands)
        text = f"{self.operation}({operands})->{self.output} compute={self.compute}"
        if self.accumulation:
            text += f" acc={self.accumulation}" + (f":{self.accumulator}" if self.accumulator else "")
        return text

    def _make_token(self) -> str:
        dtypes = [o.dtype + ("s" if o.role is OperandRole.SCALAR else "") for o in self.operands]
        token = f"{self.operation}-{'_'.join([*dtypes, self.output])}"
        if self.accumulation:
            short = {"floating": self.accumulator, "sequential_binary32": "sequential", "exact_integer": "exact"}
            token += f"-acc_{short[self.accumulation]}"
        return token

    def with_accumulation(self, accumulation: str, accumulator: str | None) -> PlanKey:
        return PlanKey(self.operation, self.operands, self.compute, accumulation, accumulator, self.output)

    @classmethod
    def from_text(cls, text: str) -> PlanKey:
        """Parse a canonical text; ValueError for any other spelling."""
        plan = _normal(_parsed(text))
        if plan.text != text:
            raise ValueError(f"{text!r} is not canonical; expected {plan.text!r}")
        return plan

    @classmethod
    def from_plan_like(cls, plan: Any) -> PlanKey:
        """Normalize a PlanKey, a canonical text, a mapping or an object with the same attributes.

        A mapping or object gives ``operation``, ``operands`` (a sequence, each an OperandKey, a text such as
        ``i32>f32``, or a mapping with ``role``, ``dtype``, ``convert_to``), ``compute``, ``accumulation``,
        ``accumulator``, ``output``. A conversion of an operand to its own dtype is none. The result is a PlanKey, also
        of an object of a subclass. What is no plan, or has operands without an order, is a TypeError; a value that no
        plan may have is a ValueError.
        """
        if isinstance(plan, PlanKey):
            plan.validate()
            return _normal(plan)
        if isinstance(plan, str):
            return _normal(_parsed(plan))
        read = _reader(plan)
        missing = [name for name in ("operation", "operands", "compute", "output") if read(name) is None]
        if missing:
            raise TypeError(f"{type(plan).__name__} is not plan-like: it has no {', '.join(missing)}")
        operands = read("operands")
        if isinstance(operands, str):
            raise TypeError(f"plan operands are the text {operands!r}; pass one entry per operand")
        if not isinstance(operands, Sequence) or isinstance(operands, (bytes, bytearray, memoryview)):
            raise TypeError(f"plan operands are of type {type(operands).__name__}; pass a list or tuple, in order")
        key = PlanKey(
            read("operation"),
            tuple(_operand(part) for part in operands),
            read("compute"),
            read("accumulation"),
            read("accumulator"),
            read("output"),
        )
        key.validate()
        return _normal(key)

    def validate(self) -> None:
        """ValueError naming the first field whose value no plan may have."""
        legal: list[tuple[str, Any, tuple[Any, ...]]] = [
            ("compute", self.compute, COMPUTES),
            ("accumulation", self.accumulation, (None, *ACCUMULATIONS)),
            ("accumulator", self.accumulator, ACCUMULATORS if self.accumulation == "floating" else (None,)),
            ("output", self.output, DTYPES),
        ]
        if not isinstance(self.operands, tuple):
            raise TypeError(f"plan operands are a {type(self.operands).__name__}; expected a tuple of OperandKey")
        for operand in self.operands:
            if not isinstance(operand, OperandKey):
                raise TypeError(f"plan operand {operand!r} is not an OperandKey")
            legal += [
                ("operand role", operand.role, tuple(OperandRole)),
                ("operand dtype", operand.dtype, DTYPES),
                ("operand convert_to", operand.convert_to, (None, *DTYPES)),
            ]
        for name, value, allowed in legal:
            if value not in allowed:
                raise ValueError(f"plan {name} is {value!r}; expected one of {', '.join(map(str, allowed))}")
        if not isinstance(self.operation, str) or not _NAME.fullmatch(self.operation):
            raise ValueError(f"plan operation is {self.operation!r}; expected a lower-case name")


def _parsed(text: str) -> PlanKey:
    """The valid plan whose text this is; its operands may still convert to their own dtype."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a plan; expected e.g. matmul(f32,f32)->f32 compute=f32 acc=floating:f64")
    operands = tuple(_operand(part) for part in match["operands"].split(",") if part)
    plan = PlanKey(
        match["operation"], operands, match["compute"], match["accumulation"], match["accumulator"], match["output"]
    )
    plan.validate()
    if plan.text != text:
        raise ValueError(f"{text!r} is not canonical; expected {plan.text!r}")
    return plan


def _normal(plan: PlanKey) -> PlanKey:
    """The one spelling of a valid plan, of plain texts and classes; the key itself where it is that already."""
    names = (plan.operation, plan.compute, plan.accumulation, plan.accumulator, plan.output)
    operands = tuple(map(_normal_operand, plan.operands))
    if type(plan) is PlanKey and {*map(type, names)} <= _PLAIN and all(map(operator.is_, operands, plan.operands)):
        return plan
    operation, compute, accumulation, accumulator, output = map(_plain, names)
    return PlanKey(operation, operands, compute, accumulation, accumulator, output)


def _normal_operand(operand: OperandKey) -> OperandKey:
    dtypes = (operand.dtype, operand.convert_to)
    if type(operand) is OperandKey and {*map(type, dtypes)} <= _PLAIN and operand.dtype != operand.convert_to:
        return operand
    dtype, convert_to = map(_plain, dtypes)
    return OperandKey(operand.role, dtype, None if convert_to == dtype else convert_to)


_PLAIN = {str, type(None)}


def _plain(name: Any) -> Any:
    return None if name is None else str.__str__(name)


def _reader(value: Any) -> Callable[[str], Any]:
    return value.get if isinstance(value, Mapping) else lambda name: getattr(value, name, None)


def _operand(part: Any) -> OperandKey:
    if isinstance(part, OperandKey):
        return part
    if isinstance(part, str):
        dtype, _, convert_to = part.partition(">")
        dtype, _, role = dtype.partition(":")
        return OperandKey(_role(role or "tensor"), dtype, convert_to or None)
    read = _reader(part)
    return OperandKey(_role(read("role") or OperandRole.TENSOR), read("dtype"), read("convert_to"))


def _role(value: Any) -> OperandRole:
    try:
        return OperandRole(value)
    except ValueError:
        raise ValueError(f"plan operand role is {value!r}; expected tensor or scalar") from None


_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TEXT = re.compile(
    r"(?P<operation>[a-z][a-z0-9_]*)\((?P<operands>[^()]*)\)->(?P<output>\w+) compute=(?P<compute>\w+)"
    r"(?: acc=(?P<accumulation>\w+)(?::(?P<accumulator>\w+))?)?"
)


@dataclass(frozen=True, slots=True)
class LogicalKernel:
    """One bounded operation, stable kernel id and variant in a profile."""

    profile_id: str
    operation: str
    kernel_id: str
    variant: str
