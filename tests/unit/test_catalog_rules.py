"""What a manifest may say: classes by plan, kernels by subject, known providers, legal plans, none of them lost."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from pytest_kernelverify.catalog import load
from pytest_kernelverify.catalog.manifest import read_manifest
from pytest_kernelverify.catalog.profile import PlanClassification, ProfileManifest, SubjectClassification

FILES = {path.name: path.read_text(encoding="utf-8") for path in sorted(load.profiles_dir().glob("*.toml"))}
CPU, METAL = "cpu-compiled.toml", "metal-tilelang.toml"
SUMS = "structural, analytic, numerical"
both_files = pytest.mark.parametrize("name", [CPU, METAL])


def read(name: str, text: str, folder: Path) -> ProfileManifest:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_manifest(path)


def refusal(name: str, text: str, folder: Path) -> str:
    """The one line with which a file is refused; it begins with the file's name."""
    with pytest.raises(ValueError) as error:  # noqa: PT011
        read(name, text, folder)
    message = str(error.value)
    assert message.startswith(f"{name}: ")
    assert "\n" not in message
    return message.removeprefix(f"{name}: ")


def classified(name: str, plan: str, value: str) -> str:
    """The file with another classification of one plan."""
    lines = FILES[name].splitlines(keepends=True)
    [place] = [number for number, line in enumerate(lines) if line.startswith(f'"{plan}" = ')]
    lines[place] = f'"{plan}" = {value}\n'
    return "".join(lines)


# Classes ------------------------------------------------------------------------------------------------------------

WRONG_CLASSES = {
    # plan, what it is classified as: what the message says was found, what is required
    ("matmul(f32,f32)->f32 compute=f32 acc=floating:f32", '["structural"]'): ("structural", SUMS),
    ("reduce_sum(f32)->f32 compute=f32 acc=floating:f32", '["structural", "analytic"]'): ("structural, analytic", SUMS),
    ("reduce_sum(i32)->i32 compute=i32_checked acc=exact_integer", '["numerical"]'): ("numerical", SUMS),
    ("cumsum(f32)->f32 compute=f32 acc=sequential_binary32", '["exact_arithmetic"]'): (
        "exact_arithmetic",
        "exact_arithmetic, structural",
    ),
    ("add(f32,f32)->f32 compute=f32", '["bit_exact"]'): ("bit_exact", "exact_arithmetic"),
    ("add(f32,f32)->f32 compute=f32", '["numerical"]'): ("numerical", "exact_arithmetic"),
    ("add(f32,f32)->f32 compute=f32", '["exact_arithmetic", "numerical"]'): (
        "exact_arithmetic, numerical",
        "exact_arithmetic",
    ),
    ("add(f32,f32)->f32 compute=f32", '{ deferred = "later" }'): ("deferred with a reason", "exact_arithmetic"),
    ("sort_values(f32)->f32 compute=f32", '["exact_arithmetic"]'): ("exact_arithmetic", "bit_exact"),
    ("sort_indices(f32)->i32 compute=f32", '["bit_exact"]'): ("bit_exact", "exact_arithmetic"),
    ("exp2(f32)->f32 compute=f32", '["exact_arithmetic"]'): ("exact_arithmetic", "deferred with a reason"),
    ("pow(f32,f32)->f32 compute=f32", '["exact_arithmetic"]'): ("exact_arithmetic", "deferred with a reason"),
    ("pow(i32,i32)->i32 compute=i32_checked", '{ deferred = "later" }'): ("deferred with a reason", "exact_arithmetic"),
}


@both_files
@pytest.mark.parametrize(("plan", "value"), WRONG_CLASSES)
def test_an_active_plan_shall_name_every_required_class_and_no_other(
    name: str, plan: str, value: str, tmp_path: Path
) -> None:
    found, required = WRONG_CLASSES[plan, value]
    message = refusal(name, classified(name, plan, value), tmp_path)
    assert message == f"plan {plan} is {found}; required: {required}"


def test_the_float64_plan_that_judges_a_target_shall_name_every_required_class(tmp_path: Path) -> None:
    plan = "matmul(f32,f32)->f32 compute=f32 acc=floating:f64"
    message = refusal(CPU, classified(CPU, plan, '["structural"]'), tmp_path)
    assert message == f"plan {plan} is structural; required: {SUMS}"


@both_files
@pytest.mark.parametrize(
    ("subject", "operation", "expected"),
    [
        ("coverage", "matmul", "add"),
        ("coverage", "exp", "add"),
        ("coverage", "copy", "add"),
        ("addressing", "add", "copy"),
        ("bounds", "gather", "copy"),
        ("broadcast_to", "add", "copy"),
    ],
)
def test_a_subject_on_the_kernel_of_another_operation_shall_be_refused(
    name: str, subject: str, operation: str, expected: str, tmp_path: Path
) -> None:
    short = name.split("-")[0]
    lines = FILES[name].splitlines(keepends=True)
    [place] = [number for number, line in enumerate(lines) if line.startswith(f"{subject} = {{ kind")]
    lines[place] = lines[place].replace(f'"{short}.{expected}"', f'"{short}.{operation}"')
    assert refusal(name, "".join(lines), tmp_path) == (
        f"subject {subject} runs on {short}.{operation} of {operation!r}; expected a kernel of {expected!r}"
    )


# Carriers and providers ---------------------------------------------------------------------------------------------


@both_files
@pytest.mark.parametrize(
    "change", [("carrier", "gpu"), ("carrier", ""), ("provider", ""), ("provider", "nvcc"), ("carrier", "both")]
)
def test_a_carrier_or_provider_that_no_version_has_is_refused_with_the_known_pairs(
    name: str, change: tuple[str, str], tmp_path: Path
) -> None:
    field, value = change
    lines = FILES[name].splitlines(keepends=True)
    [place] = [number for number, line in enumerate(lines) if line.startswith(f"{field} = ")]
    lines[place] = f'{field} = "{value}"\n'
    message = refusal(name, "".join(lines), tmp_path)
    assert message.startswith("unknown carrier/provider ")
    assert repr(value) in message
    assert message.endswith("; known pairs: cpu/c-library, metal/tilelang")


@both_files
def test_a_provider_of_another_carrier_is_refused(name: str, tmp_path: Path) -> None:
    text = FILES[name].replace('"c-library"', '"?"').replace('"tilelang"', '"c-library"').replace('"?"', '"tilelang"')
    assert refusal(name, text, tmp_path).startswith("unknown carrier/provider ")


# Plans --------------------------------------------------------------------------------------------------------------


@both_files
@pytest.mark.parametrize(
    "plan",
    [
        "add(f32,f32)->bool compute=word",
        "add(f32,f32)->f32 compute=f32 acc=floating:f64",
        "add(bool,bool)->bool compute=word",
    ],
)
def test_a_plan_that_its_operation_cannot_have_is_refused(name: str, plan: str, tmp_path: Path) -> None:
    text = FILES[name].replace('"add(f32,f32)->f32 compute=f32" =', f'"{plan}" =')
    message = refusal(name, text, tmp_path)
    assert message.startswith(f"plan {plan} is none of add; expected add(f32,f32)->f32 compute=f32 or ")


@both_files
def test_an_operand_converted_to_its_own_dtype_is_refused(name: str, tmp_path: Path) -> None:
    text = FILES[name].replace('"add(f32,f32)->f32 compute=f32" =', '"add(f32>f32,f32)->f32 compute=f32" =')
    assert "add(f32>f32,f32)->f32 compute=f32" in refusal(name, text, tmp_path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the shipped profiles, which a test may alter before they are read."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(load, "profiles_dir", lambda: tmp_path)
    monkeypatch.setattr(load, "_manifests", cache(load._manifests.__wrapped__))
    return tmp_path


def without(name: str, plan: str) -> str:
    lines = FILES[name].splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(f'"{plan}" = ')]
    assert len(kept) == len(lines) - 1
    return "".join(kept)


MATMUL = "matmul(f32,f32)->f32 compute=f32 acc=floating:f32"
WHAT = "plans do not match those of cpu-compiled that metal/tilelang computes"


@pytest.mark.parametrize("plan", [MATMUL, "add(i32,i32)->i32 compute=i32_checked", "exp(i32>f32)->f32 compute=f32"])
def test_a_target_that_loses_a_plan_of_the_oracle_shall_raise_value_error(plan: str, folder: Path) -> None:
    (folder / METAL).write_text(without(METAL, plan), encoding="utf-8")
    with pytest.raises(ValueError) as error:  # noqa: PT011
        load.verification_profiles()
    assert str(error.value) == f"{METAL}: {WHAT}: missing=[{plan!r}], unknown=[]"


@pytest.mark.parametrize(
    "plan",
    ["matmul(f32,f32)->f32 compute=f32 acc=floating:f64", "matmul(i32>f32,i32>f32)->f32 compute=f32 acc=floating:f32"],
)
def test_a_target_may_have_no_plan_that_its_provider_or_the_oracle_lacks(plan: str, folder: Path) -> None:
    classes = '["structural", "analytic", "numerical"]'
    text = FILES[METAL].replace(f'"{MATMUL}" = ', f'"{plan}" = {classes}\n"{MATMUL}" = ')
    (folder / METAL).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"^metal-tilelang\.toml: ") as error:
        load.verification_profile("cpu-compiled")
    assert plan in str(error.value)


def test_an_oracle_that_loses_the_plan_of_a_target_shall_raise_value_error(folder: Path) -> None:
    plan = "cast(bool)->i32 compute=word"
    (folder / CPU).write_text(without(CPU, plan), encoding="utf-8")
    with pytest.raises(ValueError, match="unknown=") as error:
        load.verification_profiles()
    assert plan in str(error.value)


def test_an_installation_without_its_oracle_says_so(folder: Path) -> None:
    (folder / CPU).unlink()
    with pytest.raises(RuntimeError, match=r"no cpu-compiled\.toml .*; reinstall pytest-kernelverify"):
        load.verification_profiles()


# Profiles of one's own ----------------------------------------------------------------------------------------------


def renamed(profile_id: str) -> ProfileManifest:
    """The manifest of metal-tilelang under another id."""
    given = load.manifest_of(load.verification_profile("metal-tilelang"))

    def moved(row: PlanClassification | SubjectClassification) -> PlanClassification | SubjectClassification:
        return replace(row, kernel=replace(row.kernel, profile_id=profile_id))

    return ProfileManifest(
        replace(given.profile, profile_id=profile_id),
        tuple(replace(kernel, profile_id=profile_id) for kernel in given.kernels),
        tuple(map(moved, given.plans)),  # type: ignore[arg-type]
        tuple(map(moved, given.subjects)),  # type: ignore[arg-type]
    )


def test_a_complete_profile_of_ones_own_is_registered_once(folder: Path) -> None:
    mine = renamed("my-metal")
    load.register_profiles([mine, renamed("my-metal")])
    assert load.verification_profile("my-metal") is mine.profile


def test_a_profile_of_ones_own_that_lost_a_plan_is_refused_by_its_id(folder: Path) -> None:
    mine = renamed("my-metal")
    lost = replace(mine, plans=tuple(row for row in mine.plans if row.plan.text != MATMUL))
    with pytest.raises(ValueError) as error:  # noqa: PT011
        load.register_profiles([lost])
    assert str(error.value) == f"profile 'my-metal': {WHAT}: missing=[{MATMUL!r}], unknown=[]"


def test_a_refused_profile_of_ones_own_stays_unknown(folder: Path) -> None:
    mine = renamed("my-metal")
    with pytest.raises(ValueError, match="profile 'my-metal': unknown carrier/provider 'gpu'/'tilelang'"):
        load.register_profiles([replace(mine, profile=replace(mine.profile, carrier="gpu"))])
    with pytest.raises(ValueError, match="unknown profile 'my-metal'"):
        load.verification_profile("my-metal")


@pytest.mark.parametrize("change", [{"error_channel": 0}, {"stages": []}, {"carrier": None}, {"facts": None}])
def test_a_profile_of_ones_own_has_fields_of_exactly_their_types(change: dict[str, object], folder: Path) -> None:
    mine = renamed("my-metal")
    [field] = change
    with pytest.raises(ValueError, match=rf"profile 'my-metal': {field} is .*; expected exactly a "):
        load.register_profiles([replace(mine, profile=replace(mine.profile, **change))])  # type: ignore[arg-type]


def test_another_profile_under_an_id_that_is_taken_is_refused(folder: Path) -> None:
    mine = renamed("my-metal")
    load.register_profiles([mine])
    for other in (
        replace(mine, plans=mine.plans[:-1]),
        replace(mine, profile=replace(mine.profile, error_channel=0)),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match="profile 'my-metal' is there already and says something else"):
            load.register_profiles([other])
