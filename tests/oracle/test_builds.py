"""The build: free of warnings under gcc and clang, the same bytes from two folders, clean under the sanitizers."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kernel_runs import run, sample
from mutant_build import build_library

from pytest_kernelverify.carriers.cpu import CpuCarrier
from pytest_kernelverify.operations.plan import PlanKey

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "csrc"
WARNINGS = "-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -pedantic-errors -Werror"
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")


def _compiler(name: str) -> str:
    if shutil.which(name) is None:
        pytest.fail(f"{name} is not installed; CI builds with gcc and clang (Debian: apt-get install {name})")
    return name


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_sources_compile_without_a_warning(compiler, tmp_path):
    command = [_compiler(compiler), "-std=c11", "-O2", "-ffp-contract=off", *WARNINGS.split()]
    definitions = [f'-D{name}="x"' for name in ("KV_SOURCE_DIGEST", "KV_COMPILER", "KV_OPTIONS")]
    definitions += [f'-DKV_DIGEST_{header}="x"' for header in ("KERNELVERIFY", "VIEWS", "POINTWISE")]

    def warnings_of(source: Path) -> str:
        ran = subprocess.run(
            [*command, *definitions, "-c", source, "-o", tmp_path / f"{source.stem}.o"], capture_output=True, text=True
        )
        return ran.stderr

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        assert "".join(pool.map(warnings_of, sorted(SOURCES.glob("*.c")))) == ""


def test_no_source_is_longer_than_400_lines():
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES.iterdir()}
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_no_kernel_allocates_or_contracts():
    """And none asks for a builtin: what C11 does not define, another compiler need not have."""
    banned = ("alloc(", "alloca(", "__builtin", "fma(", "fmaf(", "__int128", "__attribute__")
    for path in SOURCES.glob("*.[ch]"):
        text = path.read_text(encoding="utf-8")
        assert [word for word in banned if word in text] == [], path.name


def _wheel(folder: Path) -> Path:
    source = folder / "source"
    kept = shutil.ignore_patterns(".git", "build", "dist", ".venv", ".tox", "__pycache__", "*.so")
    shutil.copytree(ROOT, source, ignore=kept)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, source]
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.mark.sweep
def test_two_builds_in_two_folders_give_the_same_bytes(tmp_path_factory):
    digests = set()
    for name in ("first", "a-second-folder-of-another-length"):
        wheel = _wheel(tmp_path_factory.mktemp(name))
        assert "-cp311-abi3-" in wheel.name
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read("pytest_kernelverify/_oracle.abi3.so")
            assert "pytest_kernelverify/profiles/cpu-compiled.toml" in archive.namelist()
            assert not [entry for entry in archive.namelist() if entry.startswith("csrc")]
        assert name.encode() not in content, "the build folder is in the binary"
        digests.add(hashlib.sha256(content).hexdigest())
    assert len(digests) == 1


@pytest.fixture(scope="session")
def builds(tmp_path_factory):
    return tmp_path_factory.mktemp("builds")


@pytest.mark.sweep
def test_clang_and_gcc_builds_give_the_same_words(builds):
    first, second = (
        CpuCarrier(_library=build_library(SOURCES, builds, compiler=_compiler(name), options=("-O3",)))
        for name in ("gcc", "clang")
    )
    for row in first.advertised():
        for text in row.plans:
            plan = PlanKey.from_text(text)
            for extent in (1, 4, 17, 130):
                operands, parameters = sample(plan, extent, extent)
                words = run(first, text, *operands, **parameters)
                assert run(second, text, *operands, **parameters) == words, text


def _driven(library: Path) -> subprocess.CompletedProcess[str]:
    """Every plan of a sanitized library, in a process whose allocator is the sanitizer's."""
    runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    environment = os.environ | {
        "LD_PRELOAD": runtime.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)]),
    }
    command = [sys.executable, str(Path(__file__).parent / "sanitizer_driver.py"), str(library)]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.mark.sweep
def test_every_kernel_is_clean_under_the_address_and_undefined_behaviour_sanitizers(builds):
    library = build_library(SOURCES, builds, compiler=_compiler("gcc"), options=SANITIZERS)
    ran = _driven(library)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert ran.stdout.startswith("ran ")


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("source", "right", "wrong", "report"),
    [
        ("scan.c", "kv_put_real(out, kv_next(&to)", "kv_put_real(out, 1 + kv_next(&to)", "heap-buffer-overflow"),
        ("movement.c", "kv_word(x, from)", "kv_word(x, from + 1)", "heap-buffer-overflow"),
        (
            "unary.c",
            "    if (x == INT32_MIN)\n        return KV_OVERFLOW;\n",
            "",
            "signed integer overflow|negation of",
        ),
    ],
)
def test_the_sanitizers_see_a_planted_fault(builds, source, right, wrong, report):
    text = (SOURCES / source).read_text(encoding="utf-8")
    assert right in text
    changed = {source: text.replace(right, wrong)}
    library = build_library(SOURCES, builds, compiler=_compiler("gcc"), options=SANITIZERS, changed=changed)
    ran = _driven(library)
    assert ran.returncode != 0
    assert any(part in ran.stderr for part in report.split("|")), ran.stderr[-2000:]
