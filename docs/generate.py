"""Write docs/operations.md and docs/api.md from the package itself; ``--check`` only says whether they are current."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest_kernelverify as kv
from pytest_kernelverify.catalog.load import manifest_of
from pytest_kernelverify.catalog.profile import ClassificationDisposition, PlanClassification
from pytest_kernelverify.operations.table import OPERATIONS, SUBJECTS, Operation

DOCS = Path(__file__).resolve().parent
NOTE = "<!-- Written by `python docs/generate.py`; edit {source} instead. -->"

GROUPS = {
    "A whole run": (
        "verify_backend run_oracle_stage run_target_stage VerificationReport OracleStageResult StageReport"
    ),
    "Profiles and their classification": (
        "verification_profiles verification_profile kernel_manifest classify_profile_plans VerificationProfile"
        " VerificationStage LogicalKernel PlanClassification ClassificationDisposition VerificationClass"
        " ArithmeticFacts"
    ),
    "Plans": "PlanKey OperandKey OperandRole Layout",
    "Evidence": "EvidenceRecord EvidenceStage Outcome OracleCertificate Receipt KernelError",
    "Comparing and bounding": (
        "compare_float32 Comparison Deviations Tolerance float32_bits float32_ulp_distance gamma_bound"
    ),
    "Payloads": (
        "EncodedFloat32Payload EncodedInt32Payload EncodedInputs adversarial_float32_payload"
        " arbitrary_float32_payload wide_exponent_float32_payload exact_structural_payload ExactStructuralPayload"
        " analytic_cases AnalyticCase"
    ),
}

FAMILIES = {
    "pointwise": "Binary32 with each result rounded once; Int32 operands beside Float32 ones are converted first.",
    "predicate": "Bool output.",
    "transcendental": "Vendor math: every plan is deferred with its reason.",
    "reduction": "`x[R,K]` over the last mode.",
    "scan": "`x[R,K]` along the last mode, in order.",
    "contraction": "Sums of products; Float32 and Float64 accumulators, exact for Int32 pairs.",
    "indexing": "Rows named by an Int32 index.",
    "ordering": "`x[R,K]`; a stable order along the last mode.",
}


class _Bare(str):
    """An annotation as it stands in the source, without the quotes of a string."""

    def __repr__(self) -> str:
        return str(self)


def operations() -> str:
    """The text of docs/operations.md."""
    rows: dict[str, dict[str, PlanClassification]] = {}
    profiles = kv.verification_profiles()
    for profile in profiles:
        for row in manifest_of(profile).plans:
            rows.setdefault(row.plan.text, {})[profile.profile_id] = row
    lines = [
        NOTE.format(source="pytest_kernelverify/operations/table.py or profiles/*.toml"),
        "",
        "# Operations",
        "",
        "What each operation means, which plans of it there are, and which verification classes each plan owes in",
        "each profile. Shapes name modes (`R,K`; `B...` is any number of them); logical order is row-major. A plan's",
        "text is its name everywhere: `matmul(f32,i32>f32)->f32 compute=f32 acc=floating:f64` takes a Float32 and an",
        "Int32 operand, converts the latter to Float32, accumulates in Float64 and gives Float32. `f32:scalar` is one",
        "value for the whole call. [How it decides](how-it-decides.md) explains classes and dispositions.",
    ]
    for family, about in FAMILIES.items():
        members = [entry for entry in OPERATIONS.values() if entry.family == family]
        lines += ["", f"## {family.capitalize()}", "", about, ""]
        lines += _table(("operation", "operands", "result", "parameters", "rule"), map(_operation_row, members))
        lines += ["", *_plans(members, rows, [profile.profile_id for profile in profiles])]
    lines += ["", "## Subjects", "", "Verified independently of numerical kernels, on the kernel named here.", ""]
    lines += _table(
        ("subject", "kind", "what must hold", *(f"kernel in {profile.profile_id}" for profile in profiles)),
        (
            (f"`{name}`", subject.kind, subject.rule, *(_subject_kernel(profile, name) for profile in profiles))
            for name, subject in SUBJECTS.items()
        ),
    )
    return "\n".join(lines) + "\n"


def _subject_kernel(profile: kv.VerificationProfile, name: str) -> str:
    return next(f"`{row.kernel.kernel_id}`" for row in manifest_of(profile).subjects if row.subject == name)


def _operation_row(entry: Operation) -> tuple[str, ...]:
    operands = ", ".join(f"`{name}[{shape}]`" if shape else f"`{name}`" for name, shape in entry.operands)
    parameters = ", ".join(f"`{name}={value}`" for name, value in entry.parameters.items())
    result = f"`[{entry.output}]`" if entry.output else "same shape"
    return f"`{entry.name}`", operands, result, parameters, entry.rule


def _plans(
    members: Iterable[Operation], rows: dict[str, dict[str, PlanClassification]], profile_ids: list[str]
) -> Iterator[str]:
    names = {entry.name for entry in members}
    table = [
        (f"`{text}`", *(_disposition(found.get(profile_id)) for profile_id in profile_ids))
        for text, found in rows.items()
        if next(iter(found.values())).plan.operation in names
    ]
    return iter(_table(("plan", *profile_ids), table))


def _disposition(row: PlanClassification | None) -> str:
    if row is None:
        return ""
    if row.disposition is ClassificationDisposition.DEFERRED:
        return f"*deferred*: {row.reason}"
    return ", ".join(found.value for found in row.classes)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [head, tuple("---" for _ in head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def api() -> str:
    """The text of docs/api.md."""
    lines = [
        NOTE.format(source="the docstrings of the package"),
        "",
        "# Public names",
        "",
        "Everything that `pytest_kernelverify` exports; nothing else is public. Records are immutable. The command",
        "line is in the [quickstart](quickstart.md), the file format in [report-v3](report-v3.md).",
    ]
    for title, names in GROUPS.items():
        lines += ["", f"## {title}"]
        for name in names.split():
            lines += ["", f"### {name}", "", *_entry(name, getattr(kv, name))]
    lines += ["", "## Hooks", ""]
    lines += ["Implemented in a `conftest.py` or in a plugin.", "", *_hooks()]
    return "\n".join(lines) + "\n"


def _hooks() -> Iterator[str]:
    from pytest_kernelverify import hookspecs

    for name, hook in vars(hookspecs).items():
        if name.startswith("pytest_kernelverify_"):
            yield f"- `{name}{_signature(hook)}`: {_first_sentence(hook)}"


def _entry(name: str, found: Any) -> list[str]:
    about = _first_sentence(found)
    if isinstance(found, type) and issubclass(found, enum.Enum):
        return [about, "", "Members: " + ", ".join(f"`{part.name}` (`{part.value}`)" for part in found) + "."]
    lines = ["```python", _wrapped(f"{name}{_signature(found)}"), "```", "", about]
    members = _members(found) if isinstance(found, type) else []
    return [*lines, "", *members] if members else lines


def _members(found: type) -> list[str]:
    fields = {field.name for field in dataclasses.fields(found)} if dataclasses.is_dataclass(found) else set()
    lines = []
    own = [part for part in reversed(found.__mro__) if part.__module__.split(".")[0] == kv.__name__]
    for name, value in {name: value for part in own for name, value in vars(part).items()}.items():
        if name.startswith("_") or name in fields:
            continue
        about = _first_sentence(value.__func__ if isinstance(value, (classmethod, staticmethod)) else value)
        if about.startswith("Internal"):
            continue
        tail = f": {about}" if about else ""
        if isinstance(value, property):
            lines.append(f"- `.{name}`{tail}")
        elif isinstance(value, (classmethod, staticmethod)):
            lines.append(f"- `{found.__name__}.{name}{_signature(getattr(found, name))}`{tail}")
        elif inspect.isfunction(value):
            lines.append(f"- `.{name}{_signature(value, bound=True)}`{tail}")
    return lines


def _signature(found: Callable[..., Any], *, bound: bool = False) -> str:
    """The signature as the source writes it, without private parameters."""
    signature = inspect.signature(found)
    parameters = [
        entry.replace(annotation=_bare(entry.annotation), default=_default(entry.default))
        for entry in signature.parameters.values()
        if not entry.name.startswith("_")
    ][1 if bound else 0 :]
    returns = signature.empty if isinstance(found, type) else _bare(signature.return_annotation)
    return str(signature.replace(parameters=parameters, return_annotation=returns))


def _wrapped(signature: str) -> str:
    """A long signature with one parameter a line."""
    if len(signature) <= 100:
        return signature
    head, _, rest = signature.partition("(")
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(rest):
        depth += (letter in "([{") - (letter in ")]}")
        if (letter == "," and depth == 0) or depth < 0:
            parts.append(rest[start:place].strip())
            start = place + 1
        if depth < 0:
            return "\n".join([f"{head}(", *(f"    {part}," for part in parts), f"){rest[place + 1 :]}"])
    return signature


def _bare(annotation: Any) -> Any:
    return _Bare(annotation) if isinstance(annotation, str) else annotation


def _default(value: Any) -> Any:
    """A default that prints as a person would write it."""
    if repr(value) == "<factory>":
        return _Bare("...")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _Bare(f"{type(value).__name__}()")
    return value


def _first_sentence(found: Any) -> str:
    """The first paragraph of a docstring on one line."""
    text = inspect.getdoc(found) if getattr(found, "__doc__", None) else None
    return re.sub(r":\w+:`([^`]*)`", r"``\1``", " ".join((text or "").split("\n\n")[0].split()))


PAGES: dict[str, Callable[[], str]] = {"operations.md": operations, "api.md": api}


def main(arguments: list[str]) -> int:
    stale = []
    for name, text in PAGES.items():
        path, current = DOCS / name, text()
        if path.is_file() and path.read_text(encoding="utf-8") == current:
            continue
        stale.append(name)
        if arguments != ["--check"]:
            path.write_text(current, encoding="utf-8")
    print(f"{'stale' if arguments == ['--check'] else 'written'}: {', '.join(stale)}" if stale else "docs are current")
    return 1 if stale and arguments == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
