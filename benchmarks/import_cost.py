"""What the installed plugin adds to pytest's start: ``python benchmarks/import_cost.py [RUNS]``.

Each row is the median of several fresh processes, in milliseconds, the two kinds of process taking turns. No target is
named, as in the runs of every other project on the machine.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = 21
PLUGIN = "pytest_kernelverify.plugin"
IMPORT = f"import pytest, time; t = time.perf_counter(); import {PLUGIN}; print(time.perf_counter() - t)"


def import_seconds() -> float:
    """The import alone, in an interpreter that has pytest already."""
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
    return float(done.stdout)


def start_seconds(folder: str, *options: str) -> float:
    """A whole pytest run that collects nothing."""
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *options]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode != 5:
        raise RuntimeError(f"pytest ended with {done.returncode}, not 5 (nothing collected): {done.stderr}")
    return seconds


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        import_seconds(), start_seconds(folder), start_seconds(folder, "-p", PLUGIN)
        imports, without, added = [], [], []
        for _ in range(runs):
            imports.append(import_seconds())
            bare = start_seconds(folder)
            without.append(bare)
            added.append(start_seconds(folder, "-p", PLUGIN) - bare)
    rows = [
        (f"import {PLUGIN}", imports, "<= 10"),
        ("added to pytest's start", added, "<= 10"),
        ("pytest's start without it", without, ""),
    ]
    print(f"{'what':36} {'median ms':>10}  goal")
    for what, seconds, goal in rows:
        print(f"{what:36} {statistics.median(seconds) * 1e3:10.1f}  {goal}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
