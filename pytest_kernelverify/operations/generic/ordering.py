"""Stable sorts and top-k along the last mode: NaN above every number, the zeros equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pytest_kernelverify.operations.generic.answer import GenericError
from pytest_kernelverify.operations.generic.decode import Array, integers, is_nan, order

__all__ = ["sort_order", "topk_order"]


def _stable(x: Array, integer: bool, descending: bool) -> Array:
    keys = integers(x) if integer else np.where(is_nan(x), 1 << 40, order(x))
    return np.argsort(-keys if descending else keys, axis=-1, kind="stable")


def sort_order(x: Array, integer: bool, parameters: Mapping[str, Any]) -> Array:
    """For each row the indices that sort it."""
    descending = parameters["descending"]
    if not isinstance(descending, bool):
        raise GenericError(f"sort: descending is {descending!r}; expected True or False", "invalid")
    return _stable(x, integer, descending)


def topk_order(x: Array, integer: bool, parameters: Mapping[str, Any]) -> Array:
    """For each row the indices of its first k in the stable descending sort."""
    k = parameters["k"]
    if isinstance(k, bool) or not isinstance(k, int) or not 0 <= k <= x.shape[-1]:
        raise GenericError(f"topk: k is {k!r}; expected an integer from 0 to the row length {x.shape[-1]}", "invalid")
    return _stable(x, integer, True)[..., :k]
