"""The catalog fails closed: a profile file, a manifest or a library's table altered in any one way is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_kernelverify import (
    ClassificationDisposition,
    LogicalKernel,
    PlanClassification,
    PlanKey,
    VerificationClass,
    verification_profile,
)
from pytest_kernelverify.carriers.base import AdvertisedKernel
from pytest_kernelverify.catalog.check import check_manifest
from pytest_kernelverify.catalog.classify import check_advertised
from pytest_kernelverify.catalog.load import manifest_of, profiles_dir
from pytest_kernelverify.catalog.manifest import read_manifest
from pytest_kernelverify.catalog.profile import ProfileManifest

CPU = (profiles_dir() / "cpu-compiled.toml").read_text(encoding="utf-8")


def one_line(error: pytest.ExceptionInfo[BaseException]) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


# A profile file altered --------------------------------------------------------------------------------------------

ADD_KEY = 'kernels[1].plans."add(f32,f32)->f32 compute=f32"'
ADD_PLAN = '"add(f32,f32)->f32 compute=f32" = ["exact_arithmetic"]\n'
ADD_HEAD = '[[kernels]]\noperation = "add"\nkernel_id = "cpu.add"\nvariant = "scalar"\n'
EXP2_REASON = "vendor transcendental implementation: its accuracy is not specified"
EXP2_KEY = 'kernels[29].plans."exp2(f32)->f32 compute=f32"'
EXP2 = f'"exp2(f32)->f32 compute=f32" = {{ deferred = "{EXP2_REASON}" }}'
VIEW = 'view = { kind = "movement", kernel = "cpu.copy", classes = ["bit_exact"] }'

ALTERED_FILES: dict[str, tuple[str, str, str]] = {
    # what is altered: the text, what it becomes, what the message must name
    "no TOML": ('profile_id = "cpu-compiled"', "profile_id = ", "line"),
    "another id": (
        'profile_id = "cpu-compiled"',
        'profile_id = "cpu"',
        "profile_id is 'cpu'; it must be the file's name",
    ),
    "unknown field": ('carrier = "cpu"', 'carrier = "cpu"\ncolour = "red"', "cpu-compiled.toml: colour: unknown field"),
    "missing field": ('provider = "c-library"\n', "", "cpu-compiled.toml: provider: missing field"),
    "wrong type": (
        "error_channel = true",
        'error_channel = "yes"',
        "error_channel: Input should be a valid boolean, not 'yes'",
    ),
    "number for a bool": (
        "error_channel = true",
        "error_channel = 1",
        "error_channel: Input should be a valid boolean, not 1",
    ),
    "stages as text": (
        'stages = ["oracle", "target"]',
        'stages = "oracle"',
        "stages: Input should be a valid list, not 'oracle'",
    ),
    "no stages": ('stages = ["oracle", "target"]', "stages = []", "stages must name at least one role"),
    "unknown stage": (
        '"oracle", "target"]',
        '"oracle", "judge"]',
        "unknown role 'judge'; expected one of oracle, target",
    ),
    "stage twice": ('"oracle", "target"]', '"oracle", "oracle"]', "stages must name at least one role, each once"),
    "unknown layouts": ('layouts = "nested"', 'layouts = "flat"', "layouts is 'flat'"),
    "unknown fact": ('nan = "propagates"', 'nan = "propagates"\nmood = "good"', "unknown=['mood']"),
    "missing fact": ('contraction = "forbidden"\n', "", "missing=['contraction']"),
    "bad fact": ('nan = "propagates"', 'nan = "lost"', "arithmetic fact nan is 'lost'; expected one of propagates"),
    "fact of another type": ('nan = "propagates"', "nan = 1", "facts.nan: Input should be a valid string, not 1"),
    "unknown kernel field": (ADD_HEAD, ADD_HEAD + "fast = true\n", "kernels[1].fast: unknown field"),
    "missing kernel field": (
        ADD_HEAD,
        ADD_HEAD.replace('variant = "scalar"\n', ""),
        "kernels[1].variant: missing field",
    ),
    "kernel field of another type": (
        ADD_HEAD,
        ADD_HEAD.replace('"cpu.add"', "7"),
        "kernels[1].kernel_id: Input should be a valid string, not 7",
    ),
    "bad variant": (ADD_HEAD, ADD_HEAD.replace('"scalar"', '"AVX 2"'), "kernel cpu.add: variant is 'AVX 2'"),
    "operation unknown": (ADD_HEAD, ADD_HEAD.replace('"add"', '"plus"'), "missing=['add'], unknown=['plus']"),
    "kernel twice": ('kernel_id = "cpu.sub"', 'kernel_id = "cpu.add"', "duplicate kernel ('cpu.add', 'scalar')"),
    "operation twice": (
        '[[kernels]]\noperation = "le"',
        '[[kernels]]\noperation = "lt"',
        "duplicate operation and variant ('lt', 'scalar')",
    ),
    "no plan": (
        '"rem(f32,f32)->f32 compute=f32" = ["exact_arithmetic"]\n',
        "",
        "kernel cpu.rem has no plan",
    ),
    "plan twice": (ADD_PLAN, ADD_PLAN * 2, "line"),
    "plan in another spelling": (ADD_PLAN, ADD_PLAN.replace("f32,f32", "f32:tensor,f32"), "not canonical"),
    "plan of another operation": (
        ADD_PLAN,
        ADD_PLAN.replace("add(f32,f32)", "sub(f32,f32:scalar)"),
        "stands under kernel cpu.add of 'add'",
    ),
    "plan with too few operands": (
        ADD_PLAN,
        ADD_PLAN.replace("(f32,f32)", "(f32)"),
        "add(f32)->f32 compute=f32 has 1 operands; add has 2",
    ),
    "plan with an unknown compute": (ADD_PLAN, ADD_PLAN.replace("compute=f32", "compute=f16"), "compute is 'f16'"),
    "plan as text": (
        ADD_PLAN,
        ADD_PLAN.replace('["exact_arithmetic"]', '"exact"'),
        f"{ADD_KEY}: Input should be an array of classes or {{ deferred = \"reason\" }}, not 'exact'",
    ),
    "unknown class": (
        ADD_PLAN,
        ADD_PLAN.replace("exact_arithmetic", "exact"),
        "unknown class 'exact'; expected one of",
    ),
    "class of another type": (
        ADD_PLAN,
        ADD_PLAN.replace('"exact_arithmetic"', "3"),
        f"{ADD_KEY}[0]: Input should be a valid string, not 3",
    ),
    "class deferred": (ADD_PLAN, ADD_PLAN.replace("exact_arithmetic", "deferred"), "unknown class 'deferred'"),
    "no class": (ADD_PLAN, ADD_PLAN.replace('"exact_arithmetic"', ""), "is active: it needs at least one class"),
    "class twice": (
        ADD_PLAN,
        ADD_PLAN.replace('"exact_arithmetic"', '"exact_arithmetic", "exact_arithmetic"'),
        "unique",
    ),
    "classes out of order": (
        ADD_PLAN,
        ADD_PLAN.replace('"exact_arithmetic"', '"structural", "exact_arithmetic"'),
        "in their order",
    ),
    "deferral without a reason": (EXP2, EXP2.split("{")[0] + '{ deferred = " " }', "it needs a reason and no classes"),
    "deferral without the field": (EXP2, EXP2.split("{")[0] + "{ }", f"{EXP2_KEY}.deferred: missing field"),
    "deferral with more": (EXP2, EXP2.replace(" }", ", until = 3 }"), f"{EXP2_KEY}.until: unknown field"),
    "deferral of another type": (
        EXP2,
        EXP2.split("{")[0] + "{ deferred = true }",
        f"{EXP2_KEY}.deferred: Input should be a valid string, not True",
    ),
    "subject missing": (
        'bounds = { kind = "structural", kernel = "cpu.copy", classes = ["structural"] }\n',
        "",
        "missing=['bounds']",
    ),
    "subject unknown": ("bounds = {", "limits = {", "missing=['bounds'], unknown=['limits']"),
    "subject twice": ("bounds = {", "coverage = {", "line"),
    "subject field unknown": ("bounds = {", 'bounds = { colour = "red",', "subjects.bounds.colour: unknown field"),
    "subject of another kind": (
        'bounds = { kind = "structural"',
        'bounds = { kind = "movement"',
        "subject bounds is 'movement'; expected 'structural'",
    ),
    "subject of an unknown kernel": (
        'coverage = { kind = "structural", kernel = "cpu.add"',
        'coverage = { kind = "structural", kernel = "cpu.plus"',
        "subjects.coverage: unknown kernel 'cpu.plus'",
    ),
    "movement on a computing kernel": (
        'view = { kind = "movement", kernel = "cpu.copy"',
        'view = { kind = "movement", kernel = "cpu.neg"',
        "subject view runs on cpu.neg of 'neg'; expected a kernel of 'copy'",
    ),
    "subject class of another kind": (
        VIEW,
        VIEW.replace("bit_exact", "structural"),
        "subject view must have exactly the class bit_exact",
    ),
    "subject without a class": (
        VIEW,
        VIEW.replace('"bit_exact"', ""),
        "subject view must have exactly the class bit_exact",
    ),
    "subject class unknown": (
        VIEW,
        VIEW.replace("bit_exact", "exact"),
        "subjects.view: unknown class 'exact'",
    ),
    "subject as text": (
        VIEW,
        'view = "cpu.copy"',
        "subjects.view: Input should be a table, not 'cpu.copy'",
    ),
    "subjects as an array": (
        "[subjects]",
        "[[subjects]]",
        "subjects: Input should be a table, not [{",
    ),
}


@pytest.mark.parametrize("alteration", ALTERED_FILES)
def test_a_profile_file_altered_in_one_place_shall_raise_value_error(alteration: str, tmp_path: Path) -> None:
    old, new, named = ALTERED_FILES[alteration]
    assert CPU.count(old) == 1, "the alteration must touch one place"
    path = tmp_path / "cpu-compiled.toml"
    path.write_text(CPU.replace(old, new), encoding="utf-8")
    with pytest.raises(ValueError) as error:  # noqa: PT011
        read_manifest(path)
    message = one_line(error)
    assert message.startswith("cpu-compiled.toml: ")
    assert named in message


def test_an_unaltered_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cpu-compiled.toml"
    path.write_text(CPU, encoding="utf-8")
    assert read_manifest(path) == manifest_of(verification_profile("cpu-compiled"))


def test_a_file_that_is_no_utf8_names_itself(tmp_path: Path) -> None:
    path = tmp_path / "cpu-compiled.toml"
    path.write_bytes(CPU.encode("utf-8") + b"# \xff")
    with pytest.raises(ValueError, match=r"^cpu-compiled\.toml: "):
        read_manifest(path)


@pytest.mark.parametrize("profile_id", ["cpu_compiled", "Cpu", "cpu-", "-cpu", "7cpu"])
def test_a_profile_id_that_no_test_id_could_hold_is_refused(profile_id: str, tmp_path: Path) -> None:
    path = tmp_path / f"{profile_id}.toml"
    path.write_text(CPU.replace('"cpu-compiled"', f'"{profile_id}"'), encoding="utf-8")
    with pytest.raises(ValueError, match="expected lower-case words joined by '-'"):
        read_manifest(path)


# A manifest altered ------------------------------------------------------------------------------------------------

MANIFEST = manifest_of(verification_profile("cpu-compiled"))
ADD = next(row for row in MANIFEST.plans if row.plan.text == "add(f32,f32)->f32 compute=f32")
EXP = next(row for row in MANIFEST.plans if row.disposition is ClassificationDisposition.DEFERRED)
STRANGER = LogicalKernel("cpu-compiled", "add", "cpu.stranger", "scalar")
COPY = MANIFEST.subjects[0]


def plans(*changes: tuple[PlanClassification, PlanClassification | None]) -> ProfileManifest:
    """The manifest with rows replaced, or dropped where the replacement is None."""
    change = dict(changes)
    rows = [change.get(row, row) for row in MANIFEST.plans]
    return replace(MANIFEST, plans=tuple(row for row in rows if row is not None))


ALTERED_MANIFESTS: dict[str, tuple[Callable[[], ProfileManifest], str]] = {
    "kernel gained": (
        lambda: replace(MANIFEST, kernels=(*MANIFEST.kernels, replace(STRANGER, variant="vector"))),
        "kernel cpu.stranger has no plan",
    ),
    "kernel lost": (lambda: replace(MANIFEST, kernels=MANIFEST.kernels[:-1]), "missing=['topk_indices']"),
    "kernel duplicated": (
        lambda: replace(MANIFEST, kernels=MANIFEST.kernels + MANIFEST.kernels[1:2]),
        "duplicate kernel",
    ),
    "kernel of another profile": (
        lambda: replace(MANIFEST, kernels=(replace(MANIFEST.kernels[0], profile_id="other"), *MANIFEST.kernels[1:])),
        "kernel cpu.copy belongs to profile 'other'",
    ),
    "operation unknown": (
        lambda: replace(MANIFEST, kernels=(*MANIFEST.kernels, replace(STRANGER, operation="softmax"))),
        "operations do not match the operations table: missing=[], unknown=['softmax']",
    ),
    "plan duplicated": (lambda: replace(MANIFEST, plans=(*MANIFEST.plans, ADD)), f"duplicate plan ('{ADD.plan.text}'"),
    "plan of an unknown kernel": (
        lambda: plans((ADD, replace(ADD, kernel=STRANGER))),
        f"plan {ADD.plan.text} names the unknown kernel 'cpu.stranger'",
    ),
    "plan of a mismatched operation": (
        lambda: plans((ADD, replace(ADD, plan=PlanKey.from_text("sub(f32,f32:scalar)->f32 compute=f32")))),
        "stands under kernel cpu.add of 'add'",
    ),
    "plan with an unknown dtype": (
        lambda: plans((ADD, replace(ADD, plan=replace(ADD.plan, output="f64")))),
        "plan output is 'f64'",
    ),
    "all plans of a kernel lost": (
        lambda: replace(MANIFEST, plans=tuple(row for row in MANIFEST.plans if row.kernel != ADD.kernel)),
        "kernel cpu.add has no plan",
    ),
    "two plans of one token": (
        lambda: replace(MANIFEST, plans=(*MANIFEST.plans, replace(ADD, plan=replace(ADD.plan, compute="word")))),
        "duplicate plan token ('add-f32_f32_f32', 'scalar')",
    ),
    "active without classes": (lambda: plans((ADD, replace(ADD, classes=()))), "needs at least one class"),
    "active with a reason": (lambda: plans((ADD, replace(ADD, reason="why"))), "and no reason"),
    "active and deferred at once": (
        lambda: plans((ADD, replace(ADD, classes=(VerificationClass.DEFERRED,)))),
        "classes must be active",
    ),
    "classes out of order": (
        lambda: plans((ADD, replace(ADD, classes=(VerificationClass.STRUCTURAL, VerificationClass.BIT_EXACT)))),
        "in their order",
    ),
    "deferred with classes": (
        lambda: plans((EXP, replace(EXP, classes=(VerificationClass.NUMERICAL,)))),
        "it needs a reason and no classes",
    ),
    "deferred without a reason": (lambda: plans((EXP, replace(EXP, reason=None))), "it needs a reason"),
    "subject lost": (lambda: replace(MANIFEST, subjects=MANIFEST.subjects[1:]), "missing=['copy']"),
    "subject duplicated": (lambda: replace(MANIFEST, subjects=(*MANIFEST.subjects, COPY)), "duplicate subject 'copy'"),
    "subject unknown": (
        lambda: replace(MANIFEST, subjects=(*MANIFEST.subjects, replace(COPY, subject="teleport"))),
        "unknown=['teleport']",
    ),
    "subject of an unknown kernel": (
        lambda: replace(MANIFEST, subjects=(replace(COPY, kernel=STRANGER), *MANIFEST.subjects[1:])),
        "subject copy names the unknown kernel 'cpu.stranger'",
    ),
    "subject of another kind": (
        lambda: replace(MANIFEST, subjects=(replace(COPY, kind="structural"), *MANIFEST.subjects[1:])),
        "subject copy is 'structural'; expected 'movement'",
    ),
    "subject without a class": (
        lambda: replace(MANIFEST, subjects=(replace(COPY, classes=()), *MANIFEST.subjects[1:])),
        "subject copy must have exactly the class bit_exact",
    ),
    "no role": (lambda: replace(MANIFEST, profile=replace(MANIFEST.profile, stages=())), "at least one role"),
}


@pytest.mark.parametrize("alteration", ALTERED_MANIFESTS)
def test_completeness_shall_raise_value_error_for_a_manifest_altered_in_one_place(alteration: str) -> None:
    altered, named = ALTERED_MANIFESTS[alteration]
    with pytest.raises(ValueError) as error:  # noqa: PT011
        check_manifest(altered())
    assert named in one_line(error)


def test_the_unaltered_manifest_is_complete() -> None:
    check_manifest(MANIFEST)


# A library's own table altered --------------------------------------------------------------------------------------


def advertised() -> list[AdvertisedKernel]:
    """The table of a library that is exactly what the manifest says."""
    rows = []
    for kernel in MANIFEST.kernels:
        own = tuple(row.plan.text for row in MANIFEST.plans if row.kernel == kernel)
        name = f"kv_{kernel.operation}"
        rows.append(AdvertisedKernel(kernel.kernel_id, kernel.variant, kernel.operation, name, "x.c", "0" * 64, own))
    return rows


def changed(place: int, **change: Any) -> list[AdvertisedKernel]:
    rows = advertised()
    rows[place] = replace(rows[place], **change)
    return rows


EXTRA = AdvertisedKernel("cpu.softmax", "scalar", "softmax", "kv_softmax", "x.c", "0" * 64, ())
ALTERED_TABLES: dict[str, tuple[Callable[[], list[AdvertisedKernel]], str, str]] = {
    "kernel missing": (lambda: advertised()[:-1], "kernels", "stale=[('cpu.topk_indices', 'scalar', 'topk_indices')]"),
    "kernel added": (lambda: [*advertised(), EXTRA], "kernels", "missing=[('cpu.softmax', 'scalar', 'softmax')]"),
    "kernel twice": (lambda: [*advertised(), advertised()[0]], "duplicate kernel", "('cpu.copy', 'scalar', 'copy')"),
    "kernel renamed": (lambda: changed(1, kernel_id="cpu.plus"), "kernels", "missing=[('cpu.plus', 'scalar', 'add')]"),
    "other variant": (lambda: changed(1, variant="avx2"), "kernels", "missing=[('cpu.add', 'avx2', 'add')]"),
    "other operation": (lambda: changed(1, operation="sub"), "kernels", "missing=[('cpu.add', 'scalar', 'sub')]"),
    "plan missing": (
        lambda: changed(1, plans=advertised()[1].plans[1:]),
        "plans",
        f"stale=[('cpu.add', 'scalar', '{ADD.plan.text}')]",
    ),
    "plan added": (
        lambda: changed(1, plans=(*advertised()[1].plans, "add(f32,f32:scalar)->f32 compute=f32")),
        "plans",
        "missing=[('cpu.add', 'scalar', 'add(f32,f32:scalar)->f32 compute=f32')]",
    ),
    "plan twice": (lambda: changed(1, plans=advertised()[1].plans * 2), "duplicate plan", ADD.plan.text),
    "plan respelled": (
        lambda: changed(1, plans=("add(f32, f32)->f32 compute=f32", *advertised()[1].plans[1:])),
        "plans",
        "missing=",
    ),
    "no kernel at all": (list, "kernels", "missing=[], stale=["),
}


@pytest.mark.parametrize("alteration", ALTERED_TABLES)
def test_a_library_that_gains_loses_or_duplicates_a_kernel_or_plan_shall_raise_value_error(alteration: str) -> None:
    altered, what, named = ALTERED_TABLES[alteration]
    with pytest.raises(ValueError) as error:  # noqa: PT011
        check_advertised(MANIFEST, altered())
    message = one_line(error)
    assert message.startswith("profile 'cpu-compiled'")
    assert what in message
    assert named in message


def test_a_library_whose_table_is_the_manifest_is_accepted_in_any_order() -> None:
    check_advertised(MANIFEST, advertised()[::-1])


def test_what_to_do_about_a_mismatch_is_said() -> None:
    with pytest.raises(ValueError, match=r"update profiles/cpu-compiled\.toml$"):
        check_advertised(MANIFEST, advertised()[1:])
