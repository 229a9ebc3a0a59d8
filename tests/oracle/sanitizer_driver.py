"""Runs every plan of a library, given as the argument, in parents without room to spare; test_builds.py starts it."""

from __future__ import annotations

import sys
from pathlib import Path

import kernel_runs
import numpy as np
from binary32 import SPECIALS, int_words
from kernel_runs import Given, kernel_of, run, sample, spread

from pytest_kernelverify.carriers.base import KernelError, View
from pytest_kernelverify.carriers.cpu import CpuCarrier
from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.operations.plan import PlanKey
from pytest_kernelverify.operations.table import output_extents

INTEGERS = int_words(0, 1, -1, 2, 46341, -(2**31), 2**31 - 1)


def main(library: Path) -> None:
    kernel_runs.GUARD = 0  # the sanitizer's own guards begin right behind the last element
    carrier = CpuCarrier(_library=library)
    count = 0
    for row in carrier.advertised():
        for text in row.plans:
            count += drive(carrier, PlanKey.from_text(text))
    for dtype in ("f32", "i32", "bool"):
        for kind in ("compact", "pitched", "transposed", "hierarchical"):
            layout = spread((4, 6), kind)
            run(carrier, None, Given(dtype, layout, [1] * 24), output=spread((6, 4), kind))
            count += 1
    print(f"ran {count} calls")


def drive(carrier: CpuCarrier, plan: PlanKey) -> int:
    count = 0
    for extent in (0, 1, 4, 17, 66, 130):
        if extent == 0 and plan.operation.startswith("arg"):
            continue
        operands, parameters = sample(plan, extent, extent)
        extents = output_extents(plan.operation, tuple(g.layout.extents for g in operands), parameters)
        for kind in ("compact", "pitched", "transposed", "hierarchical"):
            laid = [Given(g.dtype, spread(g.layout.extents, kind), g.words) for g in operands]
            run(carrier, plan.text, *laid, output=spread(extents, kind), **parameters)
            count += 1
    return count + extremes(carrier, plan, *sample(plan, 4, 0))


def extremes(carrier: CpuCarrier, plan: PlanKey, operands: list[Given], parameters: dict[str, int]) -> int:
    """The same call on extreme words, where an error is as good as a result."""
    extents = output_extents(plan.operation, tuple(g.layout.extents for g in operands), parameters)
    for shift in range(7):
        views = []
        for given in operands:
            pool = {"f32": SPECIALS, "i32": INTEGERS, "bool": [0, 1, 0xFF]}[given.dtype]
            words = [pool[(i * 5 + shift) % len(pool)] for i in range(len(given.words))]
            memory = np.array(words, dtype=kernel_runs.WORDS[given.dtype])
            views.append(View(memory, given.dtype, Layout.compact(given.layout.extents)))
        layout = Layout.compact(extents)
        output = View(np.zeros(layout.span, dtype=kernel_runs.WORDS[plan.output]), plan.output, layout)
        try:
            carrier.launch(kernel_of(plan.operation), plan, views, output, parameters)
        except KernelError as error:
            if error.kind is None:
                raise
    return 7


if __name__ == "__main__":
    main(Path(sys.argv[1]))
