"""compare_float32 on two large arrays beside the usual comparisons: ``python benchmarks/compare.py [RUNS]``.

Two NumPy arrays of ten million binary32 numbers of every exponent; each row is the median of several runs, in million
elements a second. The others are given equal arrays, their fastest case. The last table is one call on few words.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from pytest_kernelverify import arbitrary_float32_payload, compare_float32
from pytest_kernelverify.numerics.comparison import compare_words

SIZE = 10_000_000
RUNS = 7


def median_seconds(run: Callable[[], object], runs: int) -> float:
    run()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def torch_rows(words: np.ndarray) -> list[tuple[str, Callable[[], object], str]]:
    """PyTorch's comparison, where it is installed."""
    try:
        import torch
    except ImportError:
        return []
    torch.set_num_threads(1)
    left, right = (torch.from_numpy(words.view(np.float32).copy()) for _ in range(2))
    return [("torch.testing.assert_close, equal", lambda: torch.testing.assert_close(left, right), "")]


def main(runs: int) -> None:
    words = arbitrary_float32_payload(1, SIZE).words
    expected = words.view(np.float32)
    near, other = words.copy(), arbitrary_float32_payload(2, SIZE).words.copy()
    near[::2] ^= np.uint32(1)
    special = near.copy()
    special[::1000] = 0x7FC00001

    def comparing(actual: np.ndarray) -> Callable[[], object]:
        values = actual.view(np.float32)
        return lambda: compare_float32(expected, values)

    rows: list[tuple[str, Callable[[], object], str]] = [
        ("compare_float32, equal", comparing(words.copy()), ">= 1,000"),
        ("compare_float32, half one ULP off", comparing(near), ">= 80"),
        ("compare_float32, and one NaN in 1,000", comparing(special), ""),
        ("compare_float32, nothing equal", comparing(other), ""),
    ]
    equal = words.copy().view(np.float32)
    rows.append(("numpy.testing.assert_allclose, equal", lambda: np.testing.assert_allclose(equal, expected), ""))
    rows.append(("numpy.array_equal, equal (no measure)", lambda: np.array_equal(equal, expected), ""))
    print(f"{SIZE:,} binary32 elements, median of {runs} runs, NumPy {np.__version__}")
    print(f"{'comparison':40} {'M elements/s':>12}  goal")
    for name, run, goal in rows + torch_rows(words):
        print(f"{name:40} {SIZE / median_seconds(run, runs) / 1e6:12,.0f}  {goal}".rstrip())

    print(f"\n{'compare_words, one call':40} {'us':>12}")
    for name, size, actual in (("12 words, equal", 12, words), ("12 words, half one ULP off", 12, near)):
        left, right = words[:size].copy(), actual[:size].copy()

        def many(left: np.ndarray = left, right: np.ndarray = right) -> None:
            for _ in range(1000):
                compare_words(left, right, "f32")

        print(f"{name:40} {median_seconds(many, runs) * 1e3:12.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else RUNS)
