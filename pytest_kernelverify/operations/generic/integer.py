"""Int32 arithmetic, checked: a result outside Int32 is an error, never a wrap. Values are int64."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pytest_kernelverify.operations.generic.answer import GenericError
from pytest_kernelverify.operations.generic.decode import Array

__all__ = ["CHECKED", "CHOOSING", "COMPARING", "INT_MAX", "INT_MIN", "clamp", "in_range", "words_of"]

INT_MIN, INT_MAX = -(2**31), 2**31 - 1


def words_of(values: Array) -> Array:
    """Two's-complement words of values already in range."""
    return (values & 0xFFFFFFFF).astype(np.uint32)


def in_range(name: str, values: Array | Sequence[int]) -> Array:
    """The values, of any size, as words; GenericError naming the first one outside Int32."""
    if not isinstance(values, np.ndarray):
        values = np.array([max(INT_MIN - 1, min(value, INT_MAX + 1)) for value in values], np.int64)
    outside = (values < INT_MIN) | (values > INT_MAX)
    if outside.any():
        raise GenericError(f"{name}: element {int(np.argmax(outside))} overflows Int32", "overflow")
    return words_of(values)


def _power(base: int, exponent: int, at: int) -> int:
    if exponent < 0:
        raise GenericError(f"pow: the exponent {exponent} at element {at} is negative", "domain")
    # From 2**32 on every power of a base beyond -1..1 overflows; the parity of the exponent is all that -1, 0, 1 need.
    value: int = base ** (exponent if exponent < 32 else 32 + exponent % 2)
    if not INT_MIN <= value <= INT_MAX:
        raise GenericError(f"pow: element {at} overflows Int32", "overflow")
    return value


def _pow(base: Array, exponent: Array) -> Array:
    pairs = enumerate(zip(base.tolist(), exponent.tolist(), strict=True))
    return np.array([_power(b, e, at) for at, (b, e) in pairs], np.int64)


def clamp(x: Array, low: Array, high: Array) -> Array:
    if (low > high).any():
        raise GenericError(f"clamp: lo exceeds hi at element {int(np.argmax(low > high))}", "domain")
    return np.minimum(np.maximum(x, low), high)


CHECKED: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "abs": np.abs,
    "pow": _pow,
}

CHOOSING: dict[str, Callable[..., Array]] = {
    "maximum": np.maximum,
    "minimum": np.minimum,
    "sign": np.sign,
    "relu": lambda x: np.maximum(x, 0),
    "clamp": clamp,
}

COMPARING: dict[str, Callable[..., Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
}
