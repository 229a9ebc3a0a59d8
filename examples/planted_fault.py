"""Watch the verifier refuse a wrong kernel: plant one fault in a copy of the C library, install it, run pytest.

``python examples/planted_fault.py [FOLDER]`` copies this checkout to FOLDER (a temporary one unless named), changes one
line of csrc/reduction.c there, installs the copy into an environment of its own and runs the reduce_sum items. It exits
with pytest's code: 1, because the faulty kernel is caught.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
SOURCE = "csrc/reduction.c"
PARTS = ("pytest_kernelverify", "csrc", "profiles", "pyproject.toml", "README.md", "LICENSE", "constraints.txt")
# The Float64 sum's loop over the elements that do not fill a block stops one short: a dropped tail.
SOUND = "for (; i < count; i++)\n        lanes[i % LANES] += (double)x[i * stride];"
FAULTY = SOUND.replace("i < count", "i + 1 < count")


def plant(folder: Path) -> None:
    """Change the one line; ValueError if the source no longer has it."""
    path = folder / SOURCE
    text = path.read_text(encoding="utf-8")
    if text.count(SOUND) != 1:
        raise ValueError(f"{SOURCE} holds {SOUND!r} {text.count(SOUND)} times; expected once")
    path.write_text(text.replace(SOUND, FAULTY), encoding="utf-8")


def main(folder: Path) -> int:
    copy = folder / "checkout"
    copy.mkdir(parents=True)
    for part in PARTS:
        if (CHECKOUT / part).is_dir():
            shutil.copytree(CHECKOUT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        else:
            shutil.copy(CHECKOUT / part, copy / part)
    plant(copy)
    subprocess.run([sys.executable, "-m", "venv", str(folder / ".venv")], check=True)
    binaries = folder / ".venv" / "bin"
    install = [str(binaries / "pip"), "install", "-q", "-c", str(copy / "constraints.txt"), str(copy)]
    subprocess.run(install, check=True)
    command = [str(binaries / "pytest"), "--kv-target=cpu-compiled", "-k", "reduce_sum", "-q"]
    return subprocess.run(command, cwd=folder, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(Path(temporary) / "kernelverify"))
