"""The table of mutants: every wrapping operator where it is a fault, and every edit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .edits import EDITS, Edit, apply
from .operators import OPERATORS, wrap

__all__ = ["EQUIVALENT", "MUTANTS", "SOURCES", "Mutant", "active_kernels"]

SOURCES = Path(__file__).resolve().parents[3] / "csrc"

_WHERE = {
    "checked": """add sub mul pow neg abs clamp cast reduce_sum argmax argmin matmul gather scatter scatter_add
        topk_values topk_indices""",
    "float_result": """add sub mul div rem maximum minimum neg abs sign ceil floor round recip sqrt rsqrt relu
        leaky_relu clamp select reduce_sum reduce_prod reduce_max reduce_min cumsum matmul conv gather scatter
        scatter_add sort_values topk_values""",
    # Those of which a result can be subnormal.
    "subnormal_result": """add sub mul div rem maximum minimum neg abs recip relu leaky_relu clamp select reduce_sum
        reduce_prod reduce_max reduce_min cumsum matmul conv gather scatter scatter_add sort_values topk_values copy""",
    # The sign of a zero sum is not specified, so the summing families are not here.
    "negative_zero": """add sub mul div rem maximum minimum neg sign ceil floor round recip sqrt leaky_relu clamp
        select reduce_prod reduce_max reduce_min gather scatter sort_values topk_values copy""",
    # Those of which arithmetic on a subnormal operand shows in the result.
    "reads_subnormals": """add sub mul div rem maximum minimum recip sqrt rsqrt relu leaky_relu clamp eq ne lt le
        logical_not cast sign ceil reduce_sum reduce_prod reduce_max reduce_min argmax argmin cumsum matmul conv
        scatter_add sort_values sort_indices topk_values topk_indices""",
    "rounded": """add sub mul div recip sqrt rsqrt leaky_relu cast reduce_sum reduce_prod cumsum matmul conv
        scatter_add""",
    "movers": "copy select gather scatter sort_values topk_values",
}

_OPERATES_ON = {
    "write_past_end": "all",
    "write_before_start": "all",
    "scribble_on_input": "all",
    "stale_last": "all",
    "stale_middle": "all",
    "zeros": "all",
    "one_ulp": "all",
    "leave_rounding": "all",
    "swallow_error": "checked",
    "write_then_fail": "checked",
    "flush_results": "subnormal_result",
    "flush_inside": "reads_subnormals",
    "round_up_inside": "rounded",
    "lose_nan": "float_result",
    "lose_payload": "movers",
    "lose_negative_zero": "negative_zero",
}

# Mutants that no input can tell from the kernel, each with its reason.
EQUIVALENT: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed source file, and the kernel whose certificate must be refused."""

    name: str
    kernel: str
    operator: str
    file: str
    edit: Edit | None = None

    def source(self) -> str:
        text = (SOURCES / self.file).read_text(encoding="utf-8")
        if self.edit is not None:
            return apply(text, self.edit)
        return wrap(text, self.kernel, OPERATORS[self.operator])


def active_kernels() -> dict[str, str]:
    """Each kernel that is not wholly deferred, with the file that defines it."""
    found = {}
    for path in sorted(SOURCES.glob("*.c")):
        if path.name == "transcendental.c":
            continue
        for kernel in re.findall(r"^KV_KERNEL\((\w+)\)\n\{", path.read_text(encoding="utf-8"), re.MULTILINE):
            found[kernel] = path.name
    return found


def _table() -> list[Mutant]:
    files = active_kernels()
    where = {name: kernels.split() for name, kernels in _WHERE.items()} | {"all": sorted(files)}
    mutants = [
        Mutant(f"{kernel}-{operator}", kernel, operator, files[kernel])
        for operator, group in _OPERATES_ON.items()
        for kernel in where[group]
    ]
    mutants += [Mutant(edit.name, edit.kernel, "edit", edit.file, edit) for edit in EDITS]
    return mutants


MUTANTS = _table()
