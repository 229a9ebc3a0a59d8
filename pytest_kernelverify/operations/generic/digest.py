"""The digest of Generic: its own source files and what they import from this package."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["implementation_digest", "implementation_files"]

_PACKAGE = Path(__file__).parents[2]


def _file_of(module: str, root: Path) -> Path | None:
    base = root.parent.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement, nested ones included; an import is never part of an expression."""
    for node in body:
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            for child in getattr(node, field, []):
                yield from _statements([child] if isinstance(child, ast.stmt) else child.body)


def _imported(path: Path, root: Path) -> set[Path]:
    """The files of the package that one file imports, submodules named in a from-import included."""
    found: set[Path | None] = set()
    for node in _statements(ast.parse(path.read_text(encoding="utf-8")).body):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.ImportFrom):
            raise ValueError(f"{path.name} imports relatively; the digest follows absolute imports only")
        else:
            continue
        found.update(_file_of(name, root) for name in names if name.split(".")[0] == root.name)
    return {path for path in found if path is not None}


def implementation_files(root: Path = _PACKAGE) -> tuple[str, ...]:
    """Generic's own files and their local imports, as sorted paths below the package, with ``/``."""
    pending = set((root / "operations" / "generic").glob("*.py"))
    seen: set[Path] = set()
    while pending:
        path = pending.pop()
        seen.add(path)
        pending |= _imported(path, root) - seen
    return tuple(sorted(path.relative_to(root).as_posix() for path in seen))


@cache
def implementation_digest(root: Path = _PACKAGE) -> str:
    """SHA-256 over names and contents (line ends as ``\\n``) of Generic's files and their local imports."""
    digest = hashlib.sha256()
    for name in implementation_files(root):
        content = (root / name).read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
