"""A whole ``verify_backend("cpu-compiled")`` on one core: records a second, and bytes a passing record.

``python benchmarks/verify_backend.py [RUNS]``. Each run is a process of its own, so that no answer is remembered from
an earlier one; the clock runs from the call to the finished report, imports excluded. Medians, in a table.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter

RUNS = 5
GOAL_RATE = 1_000
GOAL_STAGE_ONE = 4_000
GOAL_BYTES = 1_500
THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1")


def one_run() -> dict[str, float]:
    """Measured in this process, on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    from pytest_kernelverify import Outcome, verify_backend

    start, processor = time.perf_counter(), time.process_time()
    report = verify_backend("cpu-compiled")
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    text = report.to_jsonl()
    lines = text.encode().split(b"\n")[1:-1]
    passing = [
        len(line) + 1 for line, record in zip(lines, report.records, strict=True) if record.outcome is Outcome.PASSED
    ]
    stages = Counter(record.stage.value for record in report.records)
    return {
        "seconds": seconds,
        "processor": processor,
        "records": len(report.records),
        "stage_one": stages["oracle"],
        "passing": len(passing),
        "bytes": statistics.fmean(passing),
        "largest": max(passing),
        "file": len(text.encode()),
        "gate": report.summary().gate_passed,
    }


def main(runs: int) -> int:
    environment = {**os.environ, **THREADS}
    command = [sys.executable, __file__, "--child"]
    found = [
        json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
        for _ in range(runs)
    ]
    middle = {name: statistics.median(run[name] for run in found) for name in found[0]}
    rows = [
        ("seconds", f"{middle['seconds']:.2f}", ""),
        ("of them on the processor", f"{middle['processor']:.2f}", ""),
        ("records", f"{middle['records']:,.0f}", ""),
        ("of them Stage One", f"{middle['stage_one']:,.0f}", f"about {GOAL_STAGE_ONE:,}"),
        ("records/s", f"{middle['records'] / middle['seconds']:,.0f}", f">= {GOAL_RATE:,}"),
        ("records/s of processor time", f"{middle['records'] / middle['processor']:,.0f}", ""),
        ("bytes a passing record, mean", f"{middle['bytes']:,.0f}", f"<= {GOAL_BYTES:,}"),
        ("bytes a passing record, largest", f"{middle['largest']:,.0f}", f"<= {GOAL_BYTES:,}"),
        ("bytes of the file a passing record", f"{middle['file'] / middle['passing']:,.0f}", f"<= {GOAL_BYTES:,}"),
        ("gate", "passed" if middle["gate"] else "not passed", "passed"),
    ]
    print(f'verify_backend("cpu-compiled"), one core, median of {runs} runs')
    for name, value, goal in rows:
        print(f"{name:36} {value:>12}  {goal}".rstrip())
    return 0 if middle["gate"] else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["--child"]:
        print(json.dumps(one_run()))
    else:
        sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else RUNS))
