/* Sorting and selecting along the last mode of x[R...,K].
 *
 * Positions are ordered by (key, position), which no two share, so that any method is stable. A heap of the k best
 * positions, worst on top, lives in the output row itself; emptied from the top it leaves the row in order, and the
 * value kernels then replace each position by its word. */
#include "views.h"

KV_SOURCE(ordering);

typedef struct row {
    const kv_view *x;
    const kv_view *out;
    const kv_mode *from; /* the last mode of x */
    const kv_mode *to;   /* the last mode of the output */
    kv_view keys;        /* x and out from the start of the current row on */
    kv_view slots;
    int descending;
} row;

/* -1, 0 or 1; NaN is above every number. */
static int compare_real(float a, float b)
{
    if (a != a || b != b)
        return (a != a) - (b != b);
    return (a > b) - (a < b);
}

static int before(const row *current, uint32_t a, uint32_t b)
{
    const size_t at = kv_offset(current->from, a), bt = kv_offset(current->from, b);
    int order;
    if (current->x->dtype == KV_I32) {
        const int32_t left = kv_int(&current->keys, at), right = kv_int(&current->keys, bt);
        order = (left > right) - (left < right);
    } else {
        order = compare_real(kv_real(&current->keys, at), kv_real(&current->keys, bt));
    }
    if (order == 0)
        return a < b;
    return current->descending ? order > 0 : order < 0;
}

static uint32_t slot(const row *current, size_t at)
{
    return kv_word(&current->slots, kv_offset(current->to, at));
}

static void put_slot(const row *current, size_t at, uint32_t position)
{
    kv_put_word(&current->slots, kv_offset(current->to, at), position);
}

/* Puts `position` where it belongs below `top` in a heap of `count` slots with the last in order on top. */
static void sift(const row *current, size_t top, size_t count, uint32_t position)
{
    for (;;) {
        size_t child = 2 * top + 1;
        if (child >= count)
            break;
        if (child + 1 < count && before(current, slot(current, child), slot(current, child + 1)))
            child++;
        if (!before(current, position, slot(current, child)))
            break;
        put_slot(current, top, slot(current, child));
        top = child;
    }
    put_slot(current, top, position);
}

static void order_row(const row *current, size_t length, size_t kept)
{
    for (size_t i = 0; i < kept; i++)
        put_slot(current, i, (uint32_t)i);
    for (size_t top = kept / 2; top-- > 0;)
        sift(current, top, kept, slot(current, top));
    for (size_t i = kept; i < length; i++)
        if (before(current, (uint32_t)i, slot(current, 0)))
            sift(current, 0, kept, (uint32_t)i);
    for (size_t end = kept; end-- > 1;) {
        const uint32_t last = slot(current, 0);
        const uint32_t moved = slot(current, end);
        put_slot(current, end, last);
        sift(current, 0, end, moved);
    }
}

/* The first `kept` positions of the order, or their values; `kept` is the length of the row for a sort. */
static kv_status order(const kv_call *call, kv_error *error, const char *operation, int values, int top)
{
    if (!kv_takes(call, values ? "f->f i->i" : "f->i i->i"))
        return kv_unsupported(call, error, operation);
    const kv_view *x = &call->operands[0], *out = &call->output;
    kv_status status = kv_check_views(call, error, operation);
    if (status == KV_OK && (x->rank == 0 || out->rank != x->rank))
        status = kv_misfit(error, operation, "x[R,K] and an output of the same rank");
    if (status == KV_OK)
        status = kv_check_leading(call, error, operation, 0, x->rank - 1);
    if (status != KV_OK)
        return status;
    const size_t last = x->rank - 1, length = kv_extent(&x->modes[last]);
    const size_t kept = top ? call->parameters.k : length;
    if (kept > length)
        return kv_fail(error, KV_INVALID, "%s: k is %zu; the last mode has only %zu elements", operation, kept, length);
    if (kv_extent(&out->modes[last]) != kept || length > INT32_MAX)
        return kv_misfit(error, operation, top ? "x[R,K] and an output [R,k], K below 2^31" : "two [R,K], K below 2^31");
    if (kv_count(out, 0, out->rank) == 0)
        return KV_OK;

    row current = {x, out, &x->modes[last], &out->modes[last], *x, *out, top || call->parameters.descending};
    kv_cursor starts, outputs;
    kv_start(&starts, x, 0, last);
    kv_start(&outputs, out, 0, last);
    for (size_t rows = kv_count(x, 0, last); rows > 0; rows--) {
        current.keys.data = (uint32_t *)x->data + kv_next(&starts);
        current.slots.data = (uint32_t *)out->data + kv_next(&outputs);
        order_row(&current, length, kept);
        for (size_t i = 0; values && i < kept; i++)
            put_slot(&current, i, kv_word(&current.keys, kv_offset(current.from, slot(&current, i))));
    }
    return KV_OK;
}

KV_KERNEL(sort_values)
{
    return order(call, error, "sort_values", 1, 0);
}

KV_KERNEL(sort_indices)
{
    return order(call, error, "sort_indices", 0, 0);
}

KV_KERNEL(topk_values)
{
    return order(call, error, "topk_values", 1, 1);
}

KV_KERNEL(topk_indices)
{
    return order(call, error, "topk_indices", 0, 1);
}
