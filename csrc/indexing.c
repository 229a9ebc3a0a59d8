/* Rows by index: gather, scatter and scatter_add. */
#include "views.h"

KV_SOURCE(indexing);

/* KV_OK if index[M] lies in [0, extent). */
static kv_status check_index(const kv_view *index, size_t extent, kv_error *error, const char *operation)
{
    const size_t count = kv_extent(&index->modes[0]);
    for (size_t m = 0; m < count; m++) {
        const int32_t row = kv_int(index, kv_offset(&index->modes[0], m));
        if (row < 0 || (size_t)row >= extent)
            return kv_fail(error, KV_INDEX, "%s: index %zu is %ld; the indexed extent is %zu", operation, m, (long)row,
                           extent);
    }
    return KV_OK;
}

static size_t row_of(const kv_view *index, size_t m)
{
    return (size_t)kv_int(index, kv_offset(&index->modes[0], m));
}

/* The offset of element [n,d]. */
static size_t element(const kv_view *view, size_t n, size_t d)
{
    return kv_offset(&view->modes[0], n) + kv_offset(&view->modes[1], d);
}

KV_KERNEL(gather)
{
    if (!kv_takes(call, "fi->f ii->i"))
        return kv_unsupported(call, error, "gather");
    const kv_view *source = &call->operands[0], *index = &call->operands[1], *out = &call->output;
    kv_status status = kv_check_views(call, error, "gather");
    if (status != KV_OK)
        return status;
    if (source->rank != 2 || index->rank != 1 || out->rank != 2 ||
        kv_extent(&out->modes[0]) != kv_extent(&index->modes[0]) ||
        kv_extent(&out->modes[1]) != kv_extent(&source->modes[1]))
        return kv_misfit(error, "gather", "source[N,D], index[M] and an output [M,D]");
    status = check_index(index, kv_extent(&source->modes[0]), error, "gather");
    if (status != KV_OK)
        return status;
    const size_t count = kv_extent(&index->modes[0]), width = kv_extent(&source->modes[1]);
    for (size_t m = 0; m < count; m++) {
        const size_t row = row_of(index, m);
        for (size_t d = 0; d < width; d++)
            kv_put_word(out, element(out, m, d), kv_word(source, element(source, row, d)));
    }
    return KV_OK;
}

static kv_status check_scatter(const kv_call *call, kv_error *error, const char *operation)
{
    const kv_view *base = &call->operands[0], *index = &call->operands[1], *updates = &call->operands[2];
    const kv_status status = kv_check_views(call, error, operation);
    if (status != KV_OK)
        return status;
    if (base->rank != 2 || index->rank != 1 || updates->rank != 2 || call->output.rank != 2 ||
        kv_extent(&updates->modes[0]) != kv_extent(&index->modes[0]) ||
        kv_extent(&updates->modes[1]) != kv_extent(&base->modes[1]) ||
        kv_extent(&call->output.modes[0]) != kv_extent(&base->modes[0]) ||
        kv_extent(&call->output.modes[1]) != kv_extent(&base->modes[1]))
        return kv_misfit(error, operation, "base[N,D], index[M], updates[M,D] and an output [N,D]");
    return check_index(index, kv_extent(&base->modes[0]), error, operation);
}

static void copy_base(const kv_call *call)
{
    const kv_view *base = &call->operands[0], *out = &call->output;
    const size_t rows = kv_extent(&base->modes[0]), width = kv_extent(&base->modes[1]);
    for (size_t n = 0; n < rows; n++)
        for (size_t d = 0; d < width; d++)
            kv_put_word(out, element(out, n, d), kv_word(base, element(base, n, d)));
}

KV_KERNEL(scatter)
{
    if (!kv_takes(call, "fif->f iii->i"))
        return kv_unsupported(call, error, "scatter");
    const kv_view *index = &call->operands[1], *updates = &call->operands[2], *out = &call->output;
    const kv_status status = check_scatter(call, error, "scatter");
    if (status != KV_OK)
        return status;
    copy_base(call);
    const size_t count = kv_extent(&index->modes[0]), width = kv_extent(&updates->modes[1]);
    for (size_t m = 0; m < count; m++) {
        const size_t row = row_of(index, m);
        for (size_t d = 0; d < width; d++)
            kv_put_word(out, element(out, row, d), kv_word(updates, element(updates, m, d)));
    }
    return KV_OK;
}

static void add_in_order(const kv_call *call)
{
    const kv_view *index = &call->operands[1], *updates = &call->operands[2], *out = &call->output;
    const size_t count = kv_extent(&index->modes[0]), width = kv_extent(&updates->modes[1]);
    copy_base(call);
    for (size_t m = 0; m < count; m++) {
        const size_t row = row_of(index, m);
        for (size_t d = 0; d < width; d++) {
            const size_t at = element(out, row, d);
            const float sum = kv_real(out, at) + kv_real(updates, element(updates, m, d));
            kv_put_real(out, at, sum);
        }
    }
}

enum { WIDE_COLUMNS = 64 };

/* The binary64 sums of some columns of one row at a time, since the output has no room for them. */
static void add_wide(const kv_call *call)
{
    const kv_view *base = &call->operands[0], *index = &call->operands[1], *updates = &call->operands[2];
    const size_t rows = kv_extent(&base->modes[0]), width = kv_extent(&base->modes[1]);
    const size_t count = kv_extent(&index->modes[0]);
    double sums[WIDE_COLUMNS];
    for (size_t n = 0; n < rows; n++)
        for (size_t first = 0; first < width; first += WIDE_COLUMNS) {
            const size_t columns = width - first < WIDE_COLUMNS ? width - first : WIDE_COLUMNS;
            for (size_t d = 0; d < columns; d++)
                sums[d] = (double)kv_real(base, element(base, n, first + d));
            for (size_t m = 0; m < count; m++)
                for (size_t d = 0; row_of(index, m) == n && d < columns; d++)
                    sums[d] += (double)kv_real(updates, element(updates, m, first + d));
            for (size_t d = 0; d < columns; d++)
                kv_put_real(&call->output, element(&call->output, n, first + d), (float)sums[d]);
        }
}

KV_KERNEL(scatter_add)
{
    if (!kv_takes(call, "fif->f:seq fif->f:f64"))
        return kv_unsupported(call, error, "scatter_add");
    const kv_status status = check_scatter(call, error, "scatter_add");
    if (status != KV_OK)
        return status;
    if (call->parameters.accumulation == KV_FLOATING_F64)
        add_wide(call);
    else
        add_in_order(call);
    return KV_OK;
}
