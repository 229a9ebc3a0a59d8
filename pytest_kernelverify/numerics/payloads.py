"""Encoded payloads: immutable, content-hashed operands that target and oracle both decode."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from pytest_kernelverify.numerics.bits import float32_values, float32_words, shown

__all__ = [
    "EncodedBoolPayload",
    "EncodedFloat32Payload",
    "EncodedInputs",
    "EncodedInt32Payload",
    "ExactStructuralPayload",
    "encoded",
    "word_hash",
]

Words = npt.NDArray[Any]


def word_hash(words: Words) -> str:
    """The SHA-256 (hex) of the little-endian bytes of words, in logical order."""
    array = np.ascontiguousarray(words)
    return hashlib.sha256(array.astype(array.dtype.newbyteorder("<"), copy=False).data).hexdigest()


def _integers(items: Iterable[Any], low: int, high: int, what: str) -> npt.NDArray[Any]:
    """Checked integers as an array: Booleans and non-integers are a TypeError, others out of range a ValueError."""
    if isinstance(items, np.ndarray):
        if items.dtype.kind in "iu":
            array = items.ravel()
            if array.size and (int(array.min()) < low or int(array.max()) > high):
                bad = next(number for number in array.tolist() if not low <= number <= high)
                raise ValueError(f"{what} {bad} is out of range; it must lie in {low}..{high}")
            return array
        items = items.ravel()
    if isinstance(items, str):
        raise TypeError(f"{what}s are integers, not the text {shown(items)}")
    numbers = []
    for item in items:
        if isinstance(item, (bool, np.bool_)):
            raise TypeError(f"{what} {item!r} is a Boolean; pass an integer")
        try:
            number = int.__index__(operator.index(item))  # of a subclass, the number it holds
        except TypeError:
            raise TypeError(f"{what} {shown(item)} is a {type(item).__name__}; pass an integer") from None
        if not low <= number <= high:
            raise ValueError(f"{what} {shown(number)} is out of range; it must lie in {low}..{high}")
        numbers.append(number)
    return np.array(numbers, dtype=np.int64)


def _immutable(words: Words, kind: Any) -> Words:
    """Words as a 1-D array over a ``bytes`` object: no flag makes it writable, nor any view of it."""
    owner: Any = words
    while type(owner) is np.ndarray:
        owner = owner.base
    array = np.ascontiguousarray(words, dtype=kind).reshape(-1)
    if type(owner) is bytes and np.may_share_memory(array, words):
        return array
    return np.frombuffer(array.tobytes(), dtype=kind)


class _Encoded:
    """What the payloads share: one immutable word array; the tuple and the hash are made when first asked for."""

    __slots__ = ("_words",)

    dtype: ClassVar[str]
    _word_type: ClassVar[Any]
    _largest: ClassVar[int]
    bits: tuple[int, ...]
    bit_hash: str
    _words: Words

    @classmethod
    def from_words(cls, words: Words) -> Self:
        """Internal: from an array of words (uint32, or uint8 for Bool) in logical order, without a check.

        The array is copied, unless it is that of another payload.
        """
        self = object.__new__(cls)
        object.__setattr__(self, "_words", _immutable(words, cls._word_type))
        return self

    @classmethod
    def from_bits(cls, bits: Iterable[Any]) -> Self:
        """Encode words. Booleans and non-integers are a TypeError, a word out of range is a ValueError."""
        return cls.from_words(_integers(bits, 0, cls._largest, "word"))

    @property
    def words(self) -> Words:
        """The words as a read-only 1-D array; a payload constructed directly converts its ``bits`` each time."""
        try:
            return self._words
        except AttributeError:
            return _immutable(_integers(self.bits, 0, self._largest, "word"), self._word_type)

    def __getattr__(self, name: str) -> Any:
        # Reached only where a slot is still empty.
        if name == "bits":
            value: Any = tuple(self._words.tolist())
        elif name == "bit_hash":
            value = word_hash(self._words)
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        object.__setattr__(self, name, value)
        return value

    def _kept(self) -> Words | None:
        try:
            return object.__getattribute__(self, "_words")  # type: ignore[no-any-return]
        except AttributeError:
            return None

    def __len__(self) -> int:
        kept = self._kept()
        return len(self.bits) if kept is None else int(kept.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Encoded) or type(self) is not type(other):
            return NotImplemented
        left, right = self._kept(), other._kept()
        if left is not None and right is not None:
            return np.array_equal(left, right)
        return self.bits == other.bits and self.bit_hash == other.bit_hash

    def __hash__(self) -> int:
        return hash((type(self), self.bit_hash))

    def __reduce__(self) -> tuple[Any, ...]:
        kept = self._kept()
        return (type(self), (self.bits, self.bit_hash)) if kept is None else (type(self).from_words, (kept,))

    def __repr__(self) -> str:
        kept = self._kept()
        size = len(self)
        if size <= 8:
            shown = repr(self.bits)
        else:
            first = self.bits[:3] if kept is None else kept[:3].tolist()
            shown = f"({', '.join(map(repr, first))}, ... {size} words)"
        return f"{type(self).__name__}(bits={shown}, bit_hash={self.bit_hash!r})"


@dataclass(frozen=True, eq=False, repr=False)
class EncodedFloat32Payload(_Encoded):
    """Binary32 words and the SHA-256 of their little-endian bytes.

    The factories check and canonicalise; direct construction keeps what it is given.
    """

    __slots__ = ("bit_hash", "bits")

    dtype: ClassVar[str] = "f32"
    _word_type: ClassVar[Any] = np.uint32
    _largest: ClassVar[int] = 2**32 - 1

    bits: tuple[int, ...]
    bit_hash: str

    @classmethod
    def from_values(cls, values: Iterable[Any]) -> Self:
        """Quantise each number exactly once; errors are those of :func:`float32_bits`."""
        return cls.from_words(float32_words(values))

    def values(self) -> tuple[float, ...]:
        """The decoded values; each NaN keeps its payload and encodes to the same word again."""
        return tuple(float32_values(self.words).tolist())


@dataclass(frozen=True, eq=False, repr=False)
class EncodedInt32Payload(_Encoded):
    """Two's-complement words (unsigned) and the SHA-256 of their little-endian bytes."""

    __slots__ = ("bit_hash", "bits")

    dtype: ClassVar[str] = "i32"
    _word_type: ClassVar[Any] = np.uint32
    _largest: ClassVar[int] = 2**32 - 1

    bits: tuple[int, ...]
    bit_hash: str

    @classmethod
    def from_values(cls, values: Iterable[Any]) -> Self:
        """Encode signed 32-bit integers; Booleans and non-integers are a TypeError, out of range is a ValueError."""
        return cls.from_words(_integers(values, -(2**31), 2**31 - 1, "Int32 value").astype(np.int32).view(np.uint32))

    def values(self) -> tuple[int, ...]:
        """The decoded signed integers."""
        return tuple(self.words.view(np.int32).tolist())


@dataclass(frozen=True, eq=False, repr=False)
class EncodedBoolPayload(_Encoded):
    """Words 0 and 1 and the SHA-256 of one byte each; made by the staged verifier."""

    __slots__ = ("bit_hash", "bits")

    dtype: ClassVar[str] = "bool"
    _word_type: ClassVar[Any] = np.uint8
    _largest: ClassVar[int] = 1

    bits: tuple[int, ...]
    bit_hash: str

    @classmethod
    def from_values(cls, values: Iterable[Any]) -> Self:
        """Encode Booleans; anything else is a TypeError."""
        items = values.ravel().tolist() if isinstance(values, np.ndarray) else list(values)
        for item in items:
            if not isinstance(item, (bool, np.bool_)):
                raise TypeError(f"Bool value {shown(item)} is a {type(item).__name__}; pass True or False")
        return cls.from_words(np.array(items, dtype=np.uint8))

    def values(self) -> tuple[bool, ...]:
        """The decoded Booleans."""
        return tuple(self.words.astype(np.bool_).tolist())


_PAYLOADS: dict[str, type[_Encoded]] = {
    cls.dtype: cls for cls in (EncodedFloat32Payload, EncodedInt32Payload, EncodedBoolPayload)
}


def encoded(words: Words, dtype: str) -> Any:
    """Internal: the payload of a word array of dtype ``f32``, ``i32`` or ``bool``."""
    return _PAYLOADS[dtype].from_words(words)


@dataclass(frozen=True, slots=True)
class EncodedInputs:
    """The operands of one case in order; target and oracle decode the same payloads."""

    operands: tuple[Any, ...]

    def target_values(self) -> tuple[tuple[Any, ...], ...]:
        """Each operand decoded for the target."""
        return tuple(payload.values() for payload in self.operands)

    def oracle_values(self) -> tuple[tuple[Any, ...], ...]:
        """Each operand decoded for the oracle."""
        return tuple(payload.values() for payload in self.operands)

    @property
    def input_hashes(self) -> tuple[str, ...]:
        """The payload hashes in operand order."""
        return tuple(payload.bit_hash for payload in self.operands)


@dataclass(frozen=True, slots=True)
class ExactStructuralPayload:
    """Operands whose every legal partial sum or product is exact under ``mantissa_bits``, and the facts behind it."""

    lhs: EncodedFloat32Payload
    rhs: EncodedFloat32Payload | None
    contraction_length: int
    operand_bound: int
    mantissa_bits: int
