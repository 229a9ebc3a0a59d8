"""The architecture, held by reading the sources: floors, cycles, who imports what, and what importing costs."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import pytest_kernelverify as kv

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "pytest_kernelverify"
NAME = PACKAGE.name

FLOORS = (
    ("numerics",),
    ("operations",),
    ("evidence",),
    ("carriers",),
    ("catalog",),
    ("cases",),
    ("running", "contracts", "diagnosis"),
    ("stages",),
    ("report", "xray", "surface"),
    ("verify", "session", "plugin", "hookspecs", "suite", "cli"),
)
FLOOR_OF = {part: number for number, parts in enumerate(FLOORS) for part in parts}
KNOWS_PYTEST = ("session", "plugin", "hookspecs", "suite")
HEAVY = (
    "numpy",
    "cffi",
    "_cffi_backend",
    "torch",
    "tilelang",
    "triton",
    "z3",
    "pydantic",
    "click",
    "jinja2",
    f"{NAME}._oracle",
)
LONGEST = 420


@dataclass(frozen=True, slots=True)
class Import:
    """One import in a source: the dotted module (or module.name) and whether it is only for type checking."""

    target: str
    line: int
    typing_only: bool


def _module(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _sources() -> dict[str, Path]:
    return {_module(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports_in(source: str, module: str = "") -> list[Import]:
    """Every import statement, at the top, in a function, or under TYPE_CHECKING."""
    return list(_walk(ast.parse(source), module, typing_only=False))


def _walk(node: ast.AST, module: str, *, typing_only: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        yield from (Import(alias.name, node.lineno, typing_only) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            above = module.split(".")[: -node.level]
            base = ".".join([*above, *filter(None, [base])])
        yield from (Import(f"{base}.{alias.name}", node.lineno, typing_only) for alias in node.names)
    elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        for child in node.body:
            yield from _walk(child, module, typing_only=True)
        for child in node.orelse:
            yield from _walk(child, module, typing_only=typing_only)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _walk(child, module, typing_only=typing_only)


@cache
def _imports(module: str) -> tuple[Import, ...]:
    return tuple(imports_in(_sources()[module].read_text(encoding="utf-8"), module))


def _own_module(target: str) -> str | None:
    """The module of this package that an imported name lives in, or None for anybody else's."""
    if target.split(".")[0] != NAME:
        return None
    while target not in _sources() and "." in target:
        target = target.rpartition(".")[0]
    return target


def _floor(module: str) -> int:
    return FLOOR_OF[module.split(".")[1]]


def _python(code: str, cwd: Path) -> str:
    """What a fresh interpreter prints; run outside the checkout, so that the installed package is what it finds."""
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_reader_of_imports_sees_every_kind() -> None:
    source = (
        "from typing import TYPE_CHECKING\nimport numpy as np\n"
        "if TYPE_CHECKING:\n    import pytest\nelse:\n    import q\n"
        "def f():\n    from ..report import view\n    import a.b\n"
    )
    found = {(entry.target, entry.typing_only) for entry in imports_in(source, f"{NAME}.session.gate")}
    assert found == {
        ("typing.TYPE_CHECKING", False),
        ("numpy", False),
        ("pytest", True),
        ("q", False),
        (f"{NAME}.report.view", False),
        ("a.b", False),
    }


def test_every_module_stands_on_a_floor() -> None:
    parts = {module.split(".")[1] for module in _sources() if module != NAME}
    assert parts <= set(FLOOR_OF), f"no floor for {sorted(parts - set(FLOOR_OF))}; DESIGN section 4 lists them"


def test_imports_only_go_down_the_floors() -> None:
    wrong = [
        f"{module}:{entry.line} imports {entry.target} from floor {_floor(own)}, above its own {_floor(module)}"
        for module in _sources()
        if module != NAME
        for entry in _imports(module)
        if (own := _own_module(entry.target)) not in (None, NAME) and _floor(str(own)) > _floor(module)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_module_asks_the_package_itself_for_a_public_name() -> None:
    # The package's __init__ stands above all floors: a name asked of it could come from any of them.
    wrong = [
        f"{module}:{entry.line} imports {entry.target}"
        for module in _sources()
        for entry in _imports(module)
        if entry.target.rpartition(".")[0] == NAME and entry.target.rpartition(".")[2] in kv.__all__
    ]
    assert not wrong, "\n".join(wrong)


def test_no_two_files_import_each_other() -> None:
    # Imports in functions count; those for a type checker alone happen in no process.
    graph = {
        module: {
            str(own)
            for entry in _imports(module)
            if not entry.typing_only and (own := _own_module(entry.target)) not in (None, NAME)
        }
        for module in _sources()
        if module != NAME
    }
    cycle = _cycle(graph)
    assert cycle is None, " -> ".join(cycle or ())


def _cycle(graph: dict[str, set[str]]) -> list[str] | None:
    """A cycle of any length, or None; a module may import its own folder's __init__."""
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str] | None:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return None
        for target in sorted(graph.get(module, ())):
            found = visit(target, [*path, module]) if target != module else None
            if found:
                return found
        done.add(module)
        return None

    return next((found for module in sorted(graph) if (found := visit(module, []))), None)


def test_a_cycle_of_any_length_would_be_seen() -> None:
    assert _cycle({"a": {"b"}, "b": {"c"}, "c": {"d"}}) is None
    assert _cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


def test_nothing_outside_the_pytest_face_imports_pytest() -> None:
    wrong = [
        f"{module}:{entry.line}"
        for module in _sources()
        if module != NAME and module.split(".")[1] not in KNOWS_PYTEST
        for entry in _imports(module)
        if entry.target.split(".")[0] in ("pytest", "_pytest", "xdist", "pluggy")
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_cpu_carrier_imports_the_compiled_oracle() -> None:
    importers = {
        module
        for module, path in _sources().items()
        if any("_oracle" in entry.target.split(".") for entry in _imports(module)) or _names_the_oracle(path)
    }
    assert importers == {f"{NAME}.carriers.cpu"}


def _names_the_oracle(path: Path) -> bool:
    """Whether the extension's full name stands in the source, as it must to be imported without an import statement."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "find_spec":
            node.args.clear()  # asking whether it is there does not import it
    return any(isinstance(node, ast.Constant) and node.value == f"{NAME}._oracle" for node in ast.walk(tree))


def test_no_file_is_longer_than_a_person_reads_at_once() -> None:
    files = [*_sources().values(), *(ROOT / "csrc").rglob("*.[ch]")]
    long = {str(path.relative_to(ROOT)): lines for path in files if (lines := _lines(path)) > LONGEST}
    assert not long, f"longer than {LONGEST} lines: {long}"


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_every_module_opens_with_one_line_that_says_what_it_is() -> None:
    missing = [
        module for module, path in _sources().items() if not ast.get_docstring(ast.parse(path.read_text("utf-8")))
    ]
    assert not missing


@pytest.mark.parametrize("module", [NAME, f"{NAME}.plugin", f"{NAME}.hookspecs", f"{NAME}.session.options"])
def test_importing_what_pytest_imports_pulls_in_nothing_heavy(module: str, tmp_path: Path) -> None:
    code = f"import sys, {module}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    assert _python(code, tmp_path) == ""


def test_importing_the_package_imports_none_of_its_modules(tmp_path: Path) -> None:
    code = f"import sys, {NAME}; print(*[name for name in sys.modules if name.startswith('{NAME}.')])"
    assert _python(code, tmp_path) == ""


@pytest.mark.parametrize("name", kv.__all__)
def test_every_public_name_is_importable(name: str) -> None:
    assert getattr(kv, name).__name__ == name


def test_an_unknown_public_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="no attribute 'compare_float16'"):
        kv.compare_float16  # noqa: B018


def test_dir_lists_the_public_names() -> None:
    assert set(kv.__all__) <= set(dir(kv))


def test_type_checkers_see_exactly_the_names_that_are_lazily_imported() -> None:
    declared = {entry.target: entry.line for entry in _imports(NAME) if entry.typing_only}
    declared.pop("typing.Any", None)
    lazy = {f"{NAME}.{home}.{name}" for home, names in kv._HOMES.items() for name in names.split()}
    assert set(declared) == lazy


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def _profiles_dir_of(folder: Path, cwd: Path) -> Path:
    """profiles_dir() of the package in ``folder``, past the import hook of an editable install of this checkout."""
    return Path(
        _python(
            f"import sys; sys.meta_path = [finder for finder in sys.meta_path if isinstance(finder, type)]\n"
            f"sys.path.insert(0, {str(folder)!r})\n"
            f"from {NAME}.catalog.load import profiles_dir; print(profiles_dir())",
            cwd,
        )
    )


@pytest.mark.parametrize("where", ["inside the package, as in a wheel", "beside the package, as in a checkout"])
def test_profiles_are_found(where: str, tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / NAME, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    home = tmp_path / NAME if where.startswith("inside") else tmp_path
    shutil.copytree(ROOT / "profiles", home / "profiles")
    assert _profiles_dir_of(tmp_path, tmp_path) == home / "profiles"


@pytest.mark.sweep
def test_a_wheel_carries_its_profiles_and_its_types_and_fits_every_later_python(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)],
        check=True,
    )
    [wheel] = tmp_path.glob("*.whl")
    assert "-cp311-abi3-" in wheel.name
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(unpacked)
    assert {f"{NAME}/py.typed", f"{NAME}/profiles/cpu-compiled.toml", f"{NAME}/profiles/metal-tilelang.toml"} <= names
    assert {name.split("/")[0] for name in names} == {NAME, wheel.name.rsplit("-", 3)[0] + ".dist-info"}
    assert _profiles_dir_of(unpacked, tmp_path) == unpacked / NAME / "profiles"
