"""Deterministic words: SplitMix64 draws, random floats and integers, and tables tiled to a length."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "INT_MAX",
    "INT_MIN",
    "Integers",
    "Words",
    "below",
    "cast_words",
    "draws",
    "float_words",
    "frozen",
    "int_words",
    "integers",
    "real_words",
    "scaled",
    "seed_of",
    "sparse_positions",
    "tiled",
    "whole_words",
]

Words = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@cache
def _steps(count: int) -> npt.NDArray[np.uint64]:
    return np.arange(1, count + 1, dtype=np.uint64) * _GAMMA


def seed_of(*parts: object) -> int:
    """A 64-bit seed from anything with a stable text."""
    return int.from_bytes(hashlib.sha256("\0".join(map(str, parts)).encode()).digest()[:8], "little")


def draws(seed: int, count: int) -> npt.NDArray[np.uint64]:
    """``count`` 64-bit words of the SplitMix64 sequence that starts at ``seed``."""
    word = _steps(count) + np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))


def below(seed: int, count: int, limit: int) -> Integers:
    """Integers in [0, limit)."""
    return ((draws(seed, count) >> np.uint64(24)) % np.uint64(limit)).astype(np.int64)


def integers(seed: int, count: int, low: int, high: int) -> Integers:
    """Integers in [low, high]."""
    return below(seed, count, high - low + 1) + low


def float_words(seed: int, count: int, low: int, high: int, *, signed: bool = True) -> Words:
    """Normal binary32 words with every significand and the exponents low..high (as in 2**exponent)."""
    word = draws(seed, count)
    exponent = (word >> np.uint64(32)) % np.uint64(high - low + 1) + np.uint64(low + 127)
    result = (word & np.uint64(0x7FFFFF)) | (exponent << np.uint64(23))
    if signed:
        result |= word >> np.uint64(63) << np.uint64(31)
    return result.astype(np.uint32)


def int_words(values: Any) -> Words:
    """Two's complement words of Int32 values."""
    return np.asarray(values, dtype=np.int64).astype(np.int32).view(np.uint32)


def whole_words(values: Any) -> Words:
    """Binary32 words of integers that binary32 holds exactly; another integer is a ValueError."""
    whole = np.asarray(values, dtype=np.int64)
    held = whole.astype(np.float32)
    wrong = held != whole
    if wrong.any():
        raise ValueError(f"binary32 does not hold {whole[wrong][0]}; a witness must state the integers it is made of")
    return held.view(np.uint32)


def real_words(values: Any) -> Words:
    """Binary32 words of reals that binary32 holds exactly."""
    return np.asarray(values, dtype=np.float64).astype(np.float32).view(np.uint32)


def cast_words(values: Any, dtype: str) -> Words:
    """Words of integers in a dtype that holds them exactly."""
    if dtype == "bool":
        truths: Words = (np.asarray(values) != 0).astype(np.uint8)
        return truths
    return whole_words(values) if dtype == "f32" else int_words(values)


def scaled(words: Words, power: Any) -> Words:
    """Normal words times 2**power, staying normal."""
    return (words.astype(np.int64) + (np.asarray(power, dtype=np.int64) << 23)).astype(np.uint32)


def tiled(table: Words, count: int, start: int = 0) -> Words:
    """The table's entries in turn, from ``start`` on, until ``count`` are taken."""
    result: Words = table[(np.arange(count) + start) % len(table)]
    return result


def sparse_positions(count: int) -> tuple[int, int, int, int]:
    """First, middle, last and the first position of the remainder after groups of eight."""
    return (0, count // 2, count - 1, min(count - count % 8, count - 1))


def frozen(words: Words) -> Words:
    """The same words, one-dimensional, read-only and contiguous."""
    words = np.ascontiguousarray(words).reshape(-1)
    words.flags.writeable = False
    return words
