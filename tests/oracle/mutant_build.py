"""Builds the kernel library from changed sources, recompiling only what changed."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

__all__ = ["build_library"]

_DIALECT = ("-std=c11", "-pedantic", "-ffp-contract=off", "-fvisibility=hidden", "-fPIC")
_HEADERS = ("kernelverify.h", "views.h", "pointwise.h")
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def build_library(
    source_dir: Path,
    out_dir: Path,
    *,
    compiler: str = "cc",
    options: Sequence[str] = (),
    changed: Mapping[str, str] | None = None,
) -> Path:
    """The library of ``source_dir`` with some files replaced by other text, as an extension below ``out_dir``.

    Objects of the unchanged sources are compiled once per ``out_dir``, compiler and options, and shared by processes.
    Options come after ``-O1`` and also reach the linker. ``CalledProcessError`` holds the compiler's words in
    ``stderr``; ValueError names a changed file that the sources do not have.
    """
    changed = dict(changed or {})
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(source_dir.glob("*.[ch]"))}
    unknown = sorted(set(changed) - set(texts))
    if unknown:
        raise ValueError(f"{source_dir} has no {', '.join(unknown)} to change")
    build = _Build(source_dir, compiler, tuple(options), {**texts, **changed})
    base = out_dir / f"base-{build.key(texts)}"
    target = out_dir / f"library-{build.key(build.texts)}" / "_oracle.abi3.so"
    if target.is_file():
        return target
    stale = {name for name in texts if name.endswith(".c") and build.reaches(name, set(changed))}
    if any(name.endswith(".h") for name in changed):
        stale.add("registry.c")
    base.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out_dir) as scratch:
        folder = Path(scratch)
        for name in stale | {name for name in texts if name.endswith(".h")}:
            (folder / name).write_text(build.texts[name], encoding="utf-8")
        jobs = [(name, folder if name in stale else base) for name in texts if name.endswith(".c")]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(lambda job: build.compile(*job, fresh=job[1] == folder), jobs))
            objects.append(build.glue(base))
        linked = folder / "linked.so"
        _run([compiler, "-shared", "-s", *options, "-o", linked, *objects, "-lm"])
        target.parent.mkdir(parents=True, exist_ok=True)
        linked.replace(target)
    return target


class _Build:
    """One set of texts under one compiler and options."""

    def __init__(self, source_dir: Path, compiler: str, options: tuple[str, ...], texts: Mapping[str, str]) -> None:
        self.source_dir, self.compiler, self.options, self.texts = source_dir, compiler, options, texts

    def key(self, texts: Mapping[str, str]) -> str:
        facts = repr((self.compiler, self.options, sorted(texts.items())))
        return hashlib.sha256(facts.encode("utf-8")).hexdigest()[:16]

    def reaches(self, name: str, changed: set[str]) -> bool:
        """Whether a file is one of the changed ones or includes one."""
        return name in changed or any(
            self.reaches(header, changed) for header in _INCLUDE.findall(self.texts[name]) if header in self.texts
        )

    def digest(self, name: str) -> str:
        return hashlib.sha256(self.texts[name].encode("utf-8")).hexdigest()

    def compile(self, name: str, folder: Path, *, fresh: bool) -> Path:
        """The object of one source; a quoted include is looked for beside it, so a fresh one has its headers there."""
        target = folder / f"{Path(name).stem}.o"
        if target.is_file() and not fresh:
            return target
        source = (folder if fresh else self.source_dir) / name
        definitions = [f'-DKV_SOURCE_DIGEST="{self.digest(name)}"']
        if name == "registry.c":
            words = " ".join(("-O1", *self.options, *_DIALECT[:-1]))
            definitions += [f'-DKV_COMPILER="{self.compiler}"', f'-DKV_OPTIONS="{words}"']
            definitions += [f'-DKV_DIGEST_{Path(h).stem.upper()}="{self.digest(h)}"' for h in _HEADERS]
        command = [self.compiler, "-O1", *self.options, *_DIALECT, *definitions]
        return self._object([*command, "-c", source], target)

    def glue(self, folder: Path) -> Path:
        target = folder / "glue.o"
        if target.is_file():
            return target
        source = folder / f"glue-{os.getpid()}.c"
        _run([sys.executable, self.source_dir / "glue.py", self.source_dir / "oracle.cdef", source])
        python = f"-I{sysconfig.get_path('include')}"
        command = [self.compiler, "-O0", "-fPIC", "-fvisibility=hidden", "-DPy_LIMITED_API=0x030b0000", python]
        return self._object([*command, f"-I{self.source_dir}", "-c", source], target)

    def _object(self, command: list[str | Path], target: Path) -> Path:
        """Compile beside the target and rename, so that another process never sees half an object."""
        partial = target.with_name(f"{target.name}.{os.getpid()}")
        _run([*command, "-o", partial])
        partial.replace(target)
        return target


def _run(command: Sequence[str | Path]) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
