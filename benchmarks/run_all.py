"""Run every benchmark beside this file, one after the other, and print its table: ``python benchmarks/run_all.py``."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path


def processor() -> str:
    """The processor's own name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def main() -> int:
    here = Path(__file__).resolve()
    print(f"{platform.system()} {platform.machine()}, {processor()}, Python {platform.python_version()}")
    failed = []
    for script in sorted(here.parent.glob("*.py")):
        if script == here:
            continue
        print(f"\n== {script.name}", flush=True)
        if subprocess.run([sys.executable, str(script)], check=False).returncode:
            failed.append(script.name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
