"""The calling thread's rounding mode and flush bits, changed for one block and put back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pytest_kernelverify.carriers.cpu import load_library

DOWNWARD, UPWARD, TOWARD_ZERO = 1, 2, 3
FLUSHING = (0, 1, 1)
STATES = [(DOWNWARD, 0, 0), (UPWARD, 0, 0), (TOWARD_ZERO, 0, 0), (0, 1, 0), (0, 0, 1), FLUSHING, (UPWARD, 1, 1)]


@contextmanager
def float_state(rounding: int, flush_results: int, flush_operands: int) -> Iterator[None]:
    library = load_library()
    declared = library.lib.kv_get_float_state()
    changed = library.ffi.new("kv_float_state *", [rounding, flush_results, flush_operands])[0]
    assert library.lib.kv_set_float_state(changed) == 0
    try:
        yield
    finally:
        assert library.lib.kv_set_float_state(declared) == 0
