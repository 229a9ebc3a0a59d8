"""The carrier itself: what it says of the library, how it fails, and the arithmetic state it keeps."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from binary32 import words_of
from kernel_runs import f32, kernel_of, run
from mutant_build import build_library

from pytest_kernelverify.carriers import cpu
from pytest_kernelverify.carriers.base import ArithmeticStateError, KernelError, View
from pytest_kernelverify.carriers.cpu import CpuCarrier
from pytest_kernelverify.numerics.layout import Layout
from pytest_kernelverify.operations.plan import PlanKey

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "csrc"
PROFILE = tomllib.loads((ROOT / "profiles/cpu-compiled.toml").read_text(encoding="utf-8"))
ADD = "add(f32,f32)->f32 compute=f32"


@pytest.fixture(scope="session")
def builds(tmp_path_factory):
    return tmp_path_factory.mktemp("builds")


def test_the_library_describes_exactly_the_kernels_and_plans_of_its_profile(carrier):
    described = [(row.kernel_id, row.variant, row.operation, row.plans) for row in carrier.advertised()]
    assert described == [
        (row["kernel_id"], row["variant"], row["operation"], tuple(row.get("plans", {}))) for row in PROFILE["kernels"]
    ]


def test_each_kernel_names_its_binding_its_source_and_the_digest_of_that_file(carrier):
    for row in carrier.advertised():
        text = (SOURCES / row.source).read_text(encoding="utf-8")
        assert f"KV_KERNEL({row.binding_name.removeprefix('kv_')})" in text
        assert row.source_digest == hashlib.sha256(text.encode("utf-8")).hexdigest(), f"{row.source}: install again"
        assert PlanKey.from_text(row.plans[0]).operation == row.operation if row.plans else row.operation == "copy"


def test_the_python_declarations_are_those_of_the_header():
    """The compiler checks types and members; that none is missing is checked here."""
    header = (SOURCES / "kernelverify.h").read_text(encoding="utf-8")
    declared = (SOURCES / "oracle.cdef").read_text(encoding="utf-8")
    kernels = re.findall(r"^KV_KERNEL\((\w+)\);", header, re.MULTILINE)
    assert re.findall(r"^kv_status kv_(\w+)\(const kv_call", declared, re.MULTILINE) == kernels
    assert sorted(kernels) == sorted(row["operation"] for row in PROFILE["kernels"])


def test_a_receipt_names_sources_compiler_options_and_the_loaded_file(carrier):
    from pytest_kernelverify import _oracle  # type: ignore[attr-defined]

    receipt = carrier.receipt(kernel_of("add"))
    assert receipt.artifact == hashlib.sha256(Path(_oracle.__file__).read_bytes()).hexdigest()
    assert receipt.sources[0][0] == "arithmetic.c"
    assert {name for name, _ in receipt.sources} >= {"kernelverify.h", "views.c", "views.h", "pointwise.h"}
    for name, digest in receipt.sources:
        assert digest == hashlib.sha256((SOURCES / name).read_bytes()).hexdigest(), name
    assert {"-std=c11", "-ffp-contract=off", "-fno-fast-math"} <= set(receipt.options)
    assert not any("/" in option for option in receipt.options)
    assert re.fullmatch(r"\w+ [\d.]+", receipt.compiler)
    assert receipt == carrier.receipt(kernel_of("add"))
    assert type(receipt).from_json(receipt.to_json()) == receipt


def test_a_kernel_the_library_does_not_have_is_a_value_error(carrier):
    with pytest.raises(ValueError, match=r"no kernel 'cpu\.softmax'"):
        carrier.receipt(kernel_of("softmax"))


def test_a_parent_keeps_words_and_fetch_gives_a_copy(carrier):
    words = np.array([0x7F800001, 0x80000000], dtype=np.uint32)
    memory = carrier.allocate(words)
    words[0] = 0
    fetched = carrier.fetch(memory)
    assert fetched.tolist() == [0x7F800001, 0x80000000]
    fetched[1] = 7
    assert carrier.fetch(memory).tolist() == [0x7F800001, 0x80000000]
    with pytest.raises(ValueError, match="float32"):
        carrier.allocate(words.view(np.float32))


def test_a_view_larger_than_its_parent_is_refused_before_the_launch(carrier):
    memory = np.zeros(3, dtype=np.uint32)
    view = View(memory, "f32", Layout((2,), (3,)))
    small = View(memory, "f32", Layout((2,), (2,)))
    with pytest.raises(ValueError, match="parent of 3 uint32 words"):
        carrier.launch(kernel_of("copy"), None, [view], small, {})
    with pytest.raises(ValueError, match="does not hold bool"):
        carrier.launch(kernel_of("copy"), None, [View(memory, "bool", Layout((2,), (1,)))], small, {})


def test_a_layout_beyond_what_the_library_addresses_is_invalid(carrier):
    memory = np.zeros(4, dtype=np.uint32)
    for layout in (Layout((1,) * 9, (1,) * 9), Layout(((1,) * 5,), ((1,) * 5,))):
        view = View(memory, "f32", layout)
        with pytest.raises(KernelError, match="8 modes of 4 leaves") as caught:
            carrier.launch(kernel_of("copy"), None, [view], view, {})
        assert caught.value.kind == "invalid"


def test_a_plan_or_parameter_of_something_else_is_a_value_error(carrier):
    memory = np.zeros(1, dtype=np.uint32)
    view, integer = View(memory, "f32", Layout((1,), (1,))), View(memory, "i32", Layout((1,), (1,)))
    with pytest.raises(ValueError, match=r"does not describe cpu\.add"):
        carrier.launch(kernel_of("add"), PlanKey.from_text(ADD), [view, integer], view, {})
    with pytest.raises(ValueError, match=r"does not describe cpu\.mul"):
        carrier.launch(kernel_of("mul"), PlanKey.from_text(ADD), [view, view], view, {})
    with pytest.raises(ValueError, match="add has no parameter 'alpha'"):
        carrier.launch(kernel_of("add"), PlanKey.from_text(ADD), [view, view], view, {"alpha": 1.0})


@pytest.mark.parametrize(
    ("rounding", "results", "operands", "words"),
    [
        (1, 0, 0, "rounding is downward, subnormal numbers are preserved"),
        (2, 0, 0, "rounding is upward"),
        (3, 0, 0, "rounding is toward zero"),
        (0, 1, 0, "subnormal results are flushed to zero"),
        (0, 0, 1, "subnormal operands are flushed to zero"),
        (2, 1, 1, "rounding is upward, subnormal results and operands are flushed to zero"),
    ],
)
def test_a_changed_arithmetic_state_is_named_and_restored(carrier, rounding, results, operands, words):
    ffi, lib = carrier._library.ffi, carrier._library.lib
    state = ffi.new("kv_float_state *", [rounding, results, operands])[0]
    assert lib.kv_set_float_state(state) == 0
    with pytest.raises(ArithmeticStateError, match=f"before the stage: .*{words}"):
        carrier.check_arithmetic_state("before the stage")
    carrier.check_arithmetic_state("restored")
    tiny = f32([1])
    assert run(carrier, ADD, tiny, f32([0])) == [1]
    assert lib.kv_set_float_state(state) == 0
    with pytest.raises(ArithmeticStateError, match=rf"after launching cpu\.add: .*{words}.*has been restored"):
        run(carrier, ADD, tiny, f32([0]))
    assert run(carrier, ADD, tiny, f32(words_of(1))) == words_of(1)
    assert run(carrier, ADD, tiny, f32([0])) == [1]


def test_flushing_is_real_before_it_is_restored(carrier):
    """The bits set above do flush: otherwise the test proves nothing about arithmetic."""
    ffi, lib = carrier._library.ffi, carrier._library.lib
    view = [View(np.array(w, dtype=np.uint32), "f32", Layout((1,), (1,))) for w in ([1], [0], [9])]
    assert lib.kv_set_float_state(ffi.new("kv_float_state *", [0, 1, 1])[0]) == 0
    with pytest.raises(ArithmeticStateError):
        carrier.launch(kernel_of("add"), PlanKey.from_text(ADD), view[:2], view[2], {})
    assert view[2].memory.tolist() == [0]


def test_a_library_that_sets_flush_to_zero_as_it_loads_is_refused(builds, carrier):
    fast = build_library(SOURCES, builds, compiler="gcc", options=("-ffast-math",))
    with pytest.raises(ArithmeticStateError, match=r"after loading _oracle\.abi3\.so: .*flushed to zero"):
        CpuCarrier(_library=fast)
    carrier.check_arithmetic_state("afterwards")


def test_several_builds_live_in_one_process_and_the_installed_one_stays(builds, carrier):
    text = (SOURCES / "arithmetic.c").read_text(encoding="utf-8")
    assert "return lhs + rhs;" in text
    swapped = build_library(SOURCES, builds, changed={"arithmetic.c": text.replace("lhs + rhs;", "lhs - rhs;", 1)})
    same = build_library(SOURCES, builds)
    first, second = CpuCarrier(_library=swapped), CpuCarrier(_library=same)
    for built, expected in ((first, -1), (second, 3), (carrier, 3), (CpuCarrier(), 3)):
        assert run(built, ADD, f32(words_of(1)), f32(words_of(2))) == words_of(expected)
    digests = {c.receipt(kernel_of("add")).artifact for c in (first, second, carrier)}
    assert len(digests) == 3
    assert first.receipt(kernel_of("add")).sources[0] != second.receipt(kernel_of("add")).sources[0]
    assert first.receipt(kernel_of("conv")).sources == second.receipt(kernel_of("conv")).sources


def test_a_changed_header_reaches_every_source_that_includes_it(builds):
    text = (SOURCES / "pointwise.h").read_text(encoding="utf-8")
    shorter = text.replace("for (size_t i = 0; i < walk.count; i++)", "for (size_t i = 0; i + 1 < walk.count; i++)")
    built = CpuCarrier(_library=build_library(SOURCES, builds, changed={"pointwise.h": shorter}))
    assert run(built, ADD, f32(words_of(1, 1)), f32(words_of(2, 2))) == [*words_of(3), 0x7FC0BEEF]


def test_a_mutant_of_a_file_that_is_not_there_is_a_value_error(builds):
    with pytest.raises(ValueError, match=r"has no nothing\.c to change"):
        build_library(SOURCES, builds, changed={"nothing.c": ""})


def test_a_library_that_does_not_load_is_a_runtime_error_that_says_how_to_build_it(tmp_path):
    broken = tmp_path / "_oracle.abi3.so"
    broken.write_bytes(b"not an extension")
    with pytest.raises(RuntimeError, match=r"_oracle\.abi3\.so could not be loaded .*`pip install \.`"):
        cpu.load_library(broken)


def test_a_missing_library_is_a_runtime_error_that_says_how_to_build_it(monkeypatch):
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(cpu, "import_module", missing)
    cpu._installed.cache_clear()
    try:
        with pytest.raises(RuntimeError, match=r"pytest_kernelverify\._oracle could not be loaded .*pip install"):
            CpuCarrier()
    finally:
        cpu._installed.cache_clear()
