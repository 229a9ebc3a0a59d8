/* Walking views, and the checks that come before any write. */
#include "views.h"

#include <float.h>
#include <stdarg.h>
#include <stdio.h>

_Static_assert(FLT_EVAL_METHOD == 0, "binary32 expressions must be rounded to binary32");
_Static_assert(sizeof(float) == 4 && FLT_MANT_DIG == 24 && sizeof(double) == 8 && DBL_MANT_DIG == 53, "IEEE formats");

KV_SOURCE(views);

size_t kv_extent(const kv_mode *mode)
{
    size_t extent = 1;
    for (size_t leaf = 0; leaf < mode->leaf_count; leaf++)
        extent *= mode->leaves[leaf].extent;
    return extent;
}

size_t kv_count(const kv_view *view, size_t first, size_t end)
{
    size_t count = 1;
    for (size_t mode = first; mode < end; mode++)
        count *= kv_extent(&view->modes[mode]);
    return count;
}

size_t kv_offset(const kv_mode *mode, size_t at)
{
    if (mode->leaf_count == 1)
        return at * mode->leaves[0].stride;
    size_t offset = 0;
    for (size_t leaf = mode->leaf_count; leaf-- > 0;) {
        offset += at % mode->leaves[leaf].extent * mode->leaves[leaf].stride;
        at /= mode->leaves[leaf].extent;
    }
    return offset;
}

void kv_start(kv_cursor *cursor, const kv_view *view, size_t first, size_t end)
{
    cursor->offset = 0;
    cursor->depth = 0;
    for (size_t mode = first; mode < end; mode++) {
        for (size_t leaf = 0; leaf < view->modes[mode].leaf_count; leaf++) {
            const kv_leaf next = view->modes[mode].leaves[leaf];
            const size_t depth = cursor->depth;
            if (next.extent == 1)
                continue;
            if (depth > 0 && cursor->stride[depth - 1] == next.extent * next.stride) {
                cursor->extent[depth - 1] *= next.extent;
                cursor->stride[depth - 1] = next.stride;
                continue;
            }
            cursor->extent[depth] = next.extent;
            cursor->stride[depth] = next.stride;
            cursor->index[depth] = 0;
            cursor->depth++;
        }
    }
}

kv_status kv_fail(kv_error *error, kv_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

kv_status kv_fail_at(kv_error *error, kv_status status, const char *operation, size_t element)
{
    const char *what = status == KV_OVERFLOW ? "the exact result does not fit Int32" : "the value is outside the domain";
    return kv_fail(error, status, "%s: element %zu: %s", operation, element, what);
}

enum { SIGNATURE_SIZE = KV_MAX_OPERANDS + 8 };

/* Returns the length. */
static size_t write_signature(const kv_call *call, char text[SIGNATURE_SIZE])
{
    static const char letters[] = "fib";
    static const char accumulations[][5] = {"", ":f32", ":f64", ":seq", ":int"};
    const unsigned output = (unsigned)call->output.dtype, accumulation = (unsigned)call->parameters.accumulation;
    size_t length = 0;
    for (size_t operand = 0; operand < call->count && operand < KV_MAX_OPERANDS; operand++) {
        const unsigned dtype = (unsigned)call->operands[operand].dtype;
        text[length++] = dtype < 3 ? letters[dtype] : '?';
    }
    text[length++] = '-';
    text[length++] = '>';
    text[length++] = output < 3 ? letters[output] : '?';
    strcpy(text + length, accumulation < 5 ? accumulations[accumulation] : ":?");
    return length + strlen(text + length);
}

int kv_takes(const kv_call *call, const char *signatures)
{
    char own[SIGNATURE_SIZE];
    if (call->count > KV_MAX_OPERANDS)
        return 0;
    const size_t length = write_signature(call, own);
    for (const char *at = signatures; (at = strstr(at, own)) != NULL; at++)
        if ((at == signatures || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' '))
            return 1;
    return 0;
}

kv_status kv_unsupported(const kv_call *call, kv_error *error, const char *operation)
{
    char own[SIGNATURE_SIZE];
    write_signature(call, own);
    return kv_fail(error, KV_INVALID, "%s: no plan with %zu operands has the signature %s", operation, call->count, own);
}

static int well_formed(const kv_view *view)
{
    if (view->rank > KV_MAX_RANK)
        return 0;
    for (size_t mode = 0; mode < view->rank; mode++)
        if (view->modes[mode].leaf_count > KV_MAX_LEAVES)
            return 0;
    return view->data != NULL || kv_count(view, 0, view->rank) == 0;
}

kv_status kv_check_views(const kv_call *call, kv_error *error, const char *operation)
{
    for (size_t operand = 0; operand < call->count; operand++)
        if (!well_formed(&call->operands[operand]))
            return kv_fail(error, KV_INVALID, "%s: operand %zu is not a view", operation, operand);
    if (!well_formed(&call->output))
        return kv_fail(error, KV_INVALID, "%s: the output is not a view", operation);
    if (kv_count(&call->output, 0, call->output.rank) == 0)
        return KV_OK;
    for (size_t mode = 0; mode < call->output.rank; mode++)
        for (size_t leaf = 0; leaf < call->output.modes[mode].leaf_count; leaf++)
            if (call->output.modes[mode].leaves[leaf].extent > 1 && call->output.modes[mode].leaves[leaf].stride == 0)
                return kv_fail(error, KV_INVALID, "%s: mode %zu of the output has stride 0", operation, mode);
    return KV_OK;
}

kv_status kv_check_leading(const kv_call *call, kv_error *error, const char *operation, size_t operand, size_t modes)
{
    for (size_t mode = 0; mode < modes; mode++) {
        const size_t extent = kv_extent(&call->operands[operand].modes[mode]);
        const size_t expected = kv_extent(&call->output.modes[mode]);
        if (extent != expected)
            return kv_fail(error, KV_INVALID, "%s: mode %zu of operand %zu has extent %zu, of the output %zu", operation,
                           mode, operand, extent, expected);
    }
    return KV_OK;
}

kv_status kv_check_pointwise(const kv_call *call, kv_error *error, const char *operation, size_t *count)
{
    kv_status status = kv_check_views(call, error, operation);
    for (size_t operand = 0; operand < call->count && status == KV_OK; operand++) {
        const size_t rank = call->operands[operand].rank;
        if (rank == 0)
            continue;
        if (rank != call->output.rank)
            return kv_fail(error, KV_INVALID, "%s: operand %zu has rank %zu, the output %zu", operation, operand, rank,
                           call->output.rank);
        status = kv_check_leading(call, error, operation, operand, rank);
    }
    *count = kv_count(&call->output, 0, call->output.rank);
    return status;
}

kv_status kv_misfit(kv_error *error, const char *operation, const char *expected)
{
    return kv_fail(error, KV_INVALID, "%s: the extents do not fit; expected %s", operation, expected);
}
