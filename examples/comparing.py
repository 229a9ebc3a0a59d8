"""Compare two arrays the way the verifier does: ``python examples/comparing.py``.

Words, not tolerances, say what differs; ULPs, the sign of zero and NaN payloads are counted apart.
"""

from __future__ import annotations

import numpy as np

import pytest_kernelverify as kv


def main() -> None:
    terms = 4097
    values = np.ones(terms, np.float32)
    values[0] = 2**24
    exact = 2**24 + terms - 1
    one_by_one = np.float32(0)
    for value in values:  # 2**24 + 1 rounds back to 2**24: every later term is lost
        one_by_one += value
    in_float64 = np.float32(values.sum(dtype=np.float64))

    bound = kv.gamma_bound(2.0**-24, terms, float(np.abs(values).sum(dtype=np.float64)))
    for name, got in (("one by one", one_by_one), ("in Float64", in_float64)):
        comparison = kv.compare_float32([float(exact)], [float(got)])
        ulps = comparison.deviations.maximum_ulps
        print(f"{name}: {float(got):.0f}, {ulps} ULP off; error {abs(float(got) - exact):.0f}, bound {bound:.1f}")

    zeros = kv.compare_float32([0.0, 1.0], [-0.0, 1.0])
    print(f"signed zeros: {zeros.signed_zero_mismatches}; within any tolerance: {zeros.within(kv.Tolerance(1, 1, 9))}")


if __name__ == "__main__":
    main()
