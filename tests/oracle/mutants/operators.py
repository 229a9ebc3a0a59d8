"""Mutation operators that wrap a whole kernel: the kernel itself stays as it is, what it leaves behind does not."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OPERATORS", "Operator", "wrap"]

_HELPERS = """
static size_t mutant_size(const kv_view *view)
{
    return view->dtype == KV_BOOL ? 1 : 4;
}

static unsigned char *mutant_element(const kv_view *view, size_t at)
{
    size_t offset = 0;
    for (size_t mode = view->rank; mode-- > 0;) {
        const size_t extent = kv_extent(&view->modes[mode]);
        offset += kv_offset(&view->modes[mode], at % extent);
        at /= extent;
    }
    return (unsigned char *)view->data + offset * mutant_size(view);
}
"""


@dataclass(frozen=True, slots=True)
class Operator:
    """``before`` and ``after`` run around the kernel; ``out``, ``count`` and, after it, ``status`` are in scope."""

    name: str
    fault: str
    before: str = ""
    after: str = ""
    include: str = ""


def _each_f32(body: str) -> str:
    """Code for each Float32 output word ``w`` of a kernel that succeeded."""
    return (
        "for (size_t i = 0; status == KV_OK && out->dtype == KV_F32 && i < count; i++) {"
        " uint32_t w; unsigned char *at = mutant_element(out, i); memcpy(&w, at, 4);"
        f" {body} memcpy(at, &w, 4); }}"
    )


_FENV = "#include <fenv.h>\n"
_CSR = "#include <xmmintrin.h>\n"

OPERATORS = {
    operator.name: operator
    for operator in (
        Operator(
            "write_past_end",
            "one element past the end of the output is written",
            after="if (status == KV_OK && count) mutant_element(out, count - 1)[mutant_size(out)] ^= 1;",
        ),
        Operator(
            "write_before_start",
            "the element before the output is written",
            after="if (status == KV_OK && count) *((unsigned char *)out->data - mutant_size(out)) ^= 1;",
        ),
        Operator(
            "scribble_on_input",
            "an input element is changed",
            after="if (status == KV_OK && call->count && kv_count(&call->operands[0], 0, call->operands[0].rank))"
            " *mutant_element(&call->operands[0], 0) ^= 1;",
        ),
        Operator(
            "stale_last",
            "the last output element is not written",
            before="unsigned char kept[4] = {0}; if (count) memcpy(kept, mutant_element(out, count - 1),"
            " mutant_size(out));",
            after="if (status == KV_OK && count) memcpy(mutant_element(out, count - 1), kept, mutant_size(out));",
        ),
        Operator(
            "stale_middle",
            "an output element in the middle keeps what was there",
            before="unsigned char kept[4] = {0}; if (count) memcpy(kept, mutant_element(out, count / 2),"
            " mutant_size(out));",
            after="if (status == KV_OK && count) memcpy(mutant_element(out, count / 2), kept, mutant_size(out));",
        ),
        Operator(
            "zeros",
            "the output is zero everywhere",
            after="for (size_t i = 0; status == KV_OK && i < count; i++) memset(mutant_element(out, i), 0,"
            " mutant_size(out));",
        ),
        Operator(
            "swallow_error",
            "an error is reported as success",
            after="if (status != KV_OK) return KV_OK;",
        ),
        Operator(
            "write_then_fail",
            "the output is touched although an error is reported",
            after="if (status != KV_OK && count) *mutant_element(out, 0) ^= 1;",
        ),
        Operator(
            "flush_results",
            "subnormal results become zero",
            after=_each_f32("if ((w & 0x7F800000u) == 0) w &= 0x80000000u;"),
        ),
        Operator(
            "flush_inside",
            "the kernel runs with flush-to-zero and denormals-are-zero",
            before="const unsigned control = _mm_getcsr(); _mm_setcsr(control | 0x8040u);",
            after="_mm_setcsr(control);",
            include=_CSR,
        ),
        Operator(
            "round_up_inside",
            "the kernel rounds upward",
            before="fesetround(FE_UPWARD);",
            after="fesetround(FE_TONEAREST);",
            include=_FENV,
        ),
        Operator(
            "leave_rounding",
            "the kernel leaves another rounding mode behind",
            after="fesetround(FE_DOWNWARD);",
            include=_FENV,
        ),
        Operator(
            "lose_nan",
            "a NaN result becomes zero",
            after=_each_f32("if ((w & 0x7FFFFFFFu) > 0x7F800000u) w = 0;"),
        ),
        Operator(
            "lose_payload",
            "a NaN loses its payload",
            after=_each_f32("if ((w & 0x7FFFFFFFu) > 0x7F800000u) w = 0x7FC00000u;"),
        ),
        Operator(
            "lose_negative_zero",
            "a negative zero becomes positive",
            after=_each_f32("if (w == 0x80000000u) w = 0;"),
        ),
        Operator(
            "one_ulp",
            "the first result is one ULP off",
            after="if (status == KV_OK && count) *mutant_element(out, 0) ^= 1;",
        ),
    )
}


def wrap(source: str, kernel: str, operator: Operator) -> str:
    """The source with ``kernel`` renamed and a kernel of its name around it that applies the operator."""
    head = f"KV_KERNEL({kernel})\n{{"
    if source.count(head) != 1:
        raise ValueError(f"the source does not define {kernel} exactly once")
    inner = source.replace(head, f"static KV_KERNEL({kernel}_kept)\n{{")
    return (
        f"{inner}\n{operator.include}{_HELPERS}\nKV_KERNEL({kernel})\n{{\n"
        "    const kv_view *out = &call->output;\n"
        "    const size_t count = kv_count(out, 0, out->rank);\n"
        f"    (void)count;\n    {operator.before}\n"
        f"    const kv_status status = kv_{kernel}_kept(call, error);\n"
        f"    {operator.after}\n    return status;\n}}\n"
    )
