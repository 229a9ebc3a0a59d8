"""Writes the cffi glue of ``pytest_kernelverify._oracle``: ``python glue.py oracle.cdef _oracle.c``."""

from __future__ import annotations

import sys
from pathlib import Path

from cffi import FFI


def main(declarations: str, output: str) -> None:
    ffi = FFI()
    ffi.cdef(Path(declarations).read_text(encoding="utf-8"))
    ffi.set_source("pytest_kernelverify._oracle", '#include "kernelverify.h"')
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main(*sys.argv[1:])
