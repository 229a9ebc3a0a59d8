"""C matmul and reduce_sum at 1024 against NumPy at one thread: ``python benchmarks/kernels.py``. Medians, in a table.

NumPy's BLAS reads its thread count as it loads, so the script starts itself again with the environment it needs.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

SIZE = 1024
REPEATS = 7


def median_ms(run: Callable[[], object]) -> float:
    run()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def main() -> None:
    import numpy as np

    from pytest_kernelverify.carriers.base import View
    from pytest_kernelverify.carriers.cpu import CpuCarrier
    from pytest_kernelverify.numerics.layout import Layout
    from pytest_kernelverify.operations.plan import LogicalKernel, PlanKey

    carrier = CpuCarrier()
    rng = np.random.default_rng(0)
    square = Layout.compact((SIZE, SIZE))
    lhs, rhs = (rng.standard_normal((SIZE, SIZE)).astype(np.float32) for _ in range(2))
    wide_lhs, wide_rhs = lhs.astype(np.float64), rhs.astype(np.float64)
    sort_row = rng.standard_normal(4097).astype(np.float32)

    def launcher(text: str, arrays: list[np.ndarray], extents: tuple[int, ...]) -> Callable[[], object]:
        plan = PlanKey.from_text(text)
        kernel = LogicalKernel("cpu-compiled", plan.operation, f"cpu.{plan.operation}", "scalar")
        views = [View(a.reshape(-1).view(np.uint32), "f32", Layout.compact(a.shape)) for a in arrays]
        size = int(np.prod(extents))
        output = View(np.zeros(size, dtype=np.uint32), plan.output, Layout.compact(extents))
        return lambda: carrier.launch(kernel, plan, views, output, {})

    numpy_f32 = median_ms(lambda: lhs @ rhs)
    numpy_f64 = median_ms(lambda: wide_lhs @ wide_rhs)
    numpy_sum = median_ms(lambda: lhs.sum(axis=-1))
    matmul = f"matmul {SIZE}^3"
    product = "matmul(f32,f32)->f32 compute=f32 acc=floating"
    total = "reduce_sum(f32)->f32 compute=f32 acc=floating"
    rows = [
        (f"{matmul}, Float32 accumulator", f"{product}:f32", "float32", numpy_f32, 15),
        (f"{matmul}, Float64 accumulator", f"{product}:f64", "float32", numpy_f32, 15),
        (f"{matmul}, Float64 accumulator", f"{product}:f64", "float64", numpy_f64, 15),
        (f"reduce_sum {SIZE}^2, Float32", f"{total}:f32", "float32", numpy_sum, 5),
        (f"reduce_sum {SIZE}^2, Float64", f"{total}:f64", "float32", numpy_sum, None),
    ]
    own: dict[str, float] = {}
    print(f"{'kernel':34} {'ms':>9}  {'NumPy dtype':11} {'ms':>9} {'ratio':>6}  goal")
    for name, text, dtype, other, goal in rows:
        if text not in own:
            operands, extents = ([lhs, rhs], square.extents) if "matmul" in text else ([lhs], (SIZE,))
            own[text] = median_ms(launcher(text, operands, extents))
        limit = f"<= {goal}" if goal else ""
        print(f"{name:34} {own[text]:9.3f}  {dtype:11} {other:9.3f} {own[text] / other:6.2f}  {limit}")
    sort = median_ms(launcher("sort_values(f32)->f32 compute=f32", [sort_row.reshape(1, -1)], (1, 4097)))
    add = launcher("add(f32,f32)->f32 compute=f32", [sort_row[:7], sort_row[:7]], (7,))
    launch = median_ms(lambda: [add() for _ in range(1000)])
    print(f"{'sort_values 1x4097':34} {sort:9.3f}")
    print(f"{'launch of add, 7 elements (us)':34} {launch:9.3f}")


if __name__ == "__main__":
    if os.environ.get("KV_BENCHMARK_CHILD"):
        main()
    else:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
        environment |= {"KV_BENCHMARK_CHILD": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        sys.exit(subprocess.run([sys.executable, __file__], env=environment, check=False).returncode)
