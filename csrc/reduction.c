/* Reductions over the last mode of x[R...,K]. */
#include "views.h"

KV_SOURCE(reduction);

/* One operand and its rows; `starts` yields where each row begins, `outputs` where its result goes. */
typedef struct rows {
    const kv_view *x;
    const kv_view *out;
    size_t count;
    size_t length;
    kv_cursor starts;
    kv_cursor outputs;
    kv_cursor row;
} rows;

/* The cursors are started only where there is a row. */
static kv_status rows_check(rows *all, const kv_call *call, kv_error *error, const char *operation)
{
    kv_status status = kv_check_views(call, error, operation);
    all->x = &call->operands[0];
    all->out = &call->output;
    if (status == KV_OK && (all->x->rank == 0 || all->out->rank != all->x->rank - 1))
        status = kv_misfit(error, operation, "x[R,K] and an output [R]");
    if (status == KV_OK)
        status = kv_check_leading(call, error, operation, 0, all->out->rank);
    if (status != KV_OK)
        return status;
    const size_t last = all->x->rank - 1;
    all->count = kv_count(all->out, 0, all->out->rank);
    all->length = kv_extent(&all->x->modes[last]);
    if (all->length > INT32_MAX)
        return kv_misfit(error, operation, "K below 2^31");
    if (all->count > 0) {
        kv_start(&all->starts, all->x, 0, last);
        kv_start(&all->outputs, all->out, 0, last);
        if (all->length > 0)
            kv_start(&all->row, all->x, last, last + 1);
    }
    return KV_OK;
}

/* A row is a number of runs of equally spaced elements; `row` then yields the starts of the runs. */
typedef struct runs {
    size_t count;
    size_t length;
    size_t stride;
} runs;

static runs split_runs(rows *all)
{
    runs split = {all->length, 1, 0};
    if (all->length > 0 && all->row.depth > 0) {
        const size_t inner = --all->row.depth;
        split.length = all->row.extent[inner];
        split.stride = all->row.stride[inner];
        split.count = all->length / split.length;
    }
    return split;
}

/* Independent partial sums, so that the additions of one lane need not wait for another's. */
enum { LANES = 16 };

static void add_run_f32(float sums[LANES], const float *x, size_t count, size_t stride)
{
    float lanes[LANES];
    size_t i = 0;
    memcpy(lanes, sums, sizeof lanes);
    if (stride == 1)
        for (; i + LANES <= count; i += LANES)
            for (size_t lane = 0; lane < LANES; lane++)
                lanes[lane] += x[i + lane];
    for (; i < count; i++)
        lanes[i % LANES] += x[i * stride];
    memcpy(sums, lanes, sizeof lanes);
}

static void add_run_f64(double sums[LANES], const float *x, size_t count, size_t stride)
{
    double lanes[LANES];
    size_t i = 0;
    memcpy(lanes, sums, sizeof lanes);
    if (stride == 1)
        for (; i + LANES <= count; i += LANES)
            for (size_t lane = 0; lane < LANES; lane++)
                lanes[lane] += (double)x[i + lane];
    for (; i < count; i++)
        lanes[i % LANES] += (double)x[i * stride];
    memcpy(sums, lanes, sizeof lanes);
}

static kv_status sum_reals(const kv_call *call, kv_error *error)
{
    rows all;
    const kv_status status = rows_check(&all, call, error, "reduce_sum");
    if (status != KV_OK || all.count == 0)
        return status;
    const runs split = split_runs(&all);
    const int wide = call->parameters.accumulation == KV_FLOATING_F64;
    for (size_t r = 0; r < all.count; r++) {
        const float *x = (const float *)all.x->data + kv_next(&all.starts);
        float narrow_sums[LANES] = {0.0f};
        double wide_sums[LANES] = {0.0};
        for (size_t run = 0; run < split.count; run++) {
            const float *from = x + kv_next(&all.row);
            if (wide)
                add_run_f64(wide_sums, from, split.length, split.stride);
            else
                add_run_f32(narrow_sums, from, split.length, split.stride);
        }
        for (size_t half = LANES / 2; half > 0; half /= 2)
            for (size_t lane = 0; lane < half; lane++) {
                narrow_sums[lane] += narrow_sums[lane + half];
                wide_sums[lane] += wide_sums[lane + half];
            }
        kv_put_real(all.out, kv_next(&all.outputs), wide ? (float)wide_sums[0] : narrow_sums[0]);
    }
    return KV_OK;
}

/* Fewer than 2^31 terms of fewer than 32 bits cannot leave 64. */
static int64_t sum_int_row(rows *all)
{
    const size_t start = kv_next(&all->starts);
    int64_t sum = 0;
    for (size_t i = 0; i < all->length; i++)
        sum += kv_int(all->x, start + kv_next(&all->row));
    return sum;
}

static kv_status sum_ints(const kv_call *call, kv_error *error)
{
    rows all;
    const kv_status status = rows_check(&all, call, error, "reduce_sum");
    if (status != KV_OK)
        return status;
    for (size_t r = 0; r < all.count; r++) {
        const int64_t sum = sum_int_row(&all);
        if (sum < INT32_MIN || sum > INT32_MAX)
            return kv_fail_at(error, KV_OVERFLOW, "reduce_sum", r);
    }
    for (size_t r = 0; r < all.count; r++)
        kv_put_int(all.out, kv_next(&all.outputs), (int32_t)sum_int_row(&all));
    return KV_OK;
}

KV_KERNEL(reduce_sum)
{
    if (kv_takes(call, "i->i:int"))
        return sum_ints(call, error);
    if (kv_takes(call, "f->f:f32 f->f:f64"))
        return sum_reals(call, error);
    return kv_unsupported(call, error, "reduce_sum");
}

KV_KERNEL(reduce_prod)
{
    if (!kv_takes(call, "f->f:seq f->f:f64"))
        return kv_unsupported(call, error, "reduce_prod");
    rows all;
    const kv_status status = rows_check(&all, call, error, "reduce_prod");
    if (status != KV_OK)
        return status;
    const int wide = call->parameters.accumulation == KV_FLOATING_F64;
    for (size_t r = 0; r < all.count; r++) {
        const size_t start = kv_next(&all.starts);
        float product = 1.0f;
        double wide_product = 1.0;
        for (size_t i = 0; i < all.length; i++) {
            const float x = kv_real(all.x, start + kv_next(&all.row));
            product *= x;
            wide_product *= (double)x;
        }
        kv_put_real(all.out, kv_next(&all.outputs), wide ? (float)wide_product : product);
    }
    return KV_OK;
}

static kv_status extreme_reals(const kv_call *call, kv_error *error, const char *operation, float empty,
                               float (*choose)(float, float))
{
    rows all;
    const kv_status status = rows_check(&all, call, error, operation);
    if (status != KV_OK)
        return status;
    for (size_t r = 0; r < all.count; r++) {
        const size_t start = kv_next(&all.starts);
        float best = empty;
        for (size_t i = 0; i < all.length; i++)
            best = choose(best, kv_real(all.x, start + kv_next(&all.row)));
        kv_put_real(all.out, kv_next(&all.outputs), best);
    }
    return KV_OK;
}

static int32_t larger_int(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static int32_t smaller_int(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static kv_status extreme_ints(const kv_call *call, kv_error *error, const char *operation, int32_t empty,
                              int32_t (*choose)(int32_t, int32_t))
{
    rows all;
    const kv_status status = rows_check(&all, call, error, operation);
    if (status != KV_OK)
        return status;
    for (size_t r = 0; r < all.count; r++) {
        const size_t start = kv_next(&all.starts);
        int32_t best = empty;
        for (size_t i = 0; i < all.length; i++)
            best = choose(best, kv_int(all.x, start + kv_next(&all.row)));
        kv_put_int(all.out, kv_next(&all.outputs), best);
    }
    return KV_OK;
}

KV_KERNEL(reduce_max)
{
    if (kv_takes(call, "i->i"))
        return extreme_ints(call, error, "reduce_max", INT32_MIN, larger_int);
    if (kv_takes(call, "f->f"))
        return extreme_reals(call, error, "reduce_max", -INFINITY, kv_larger);
    return kv_unsupported(call, error, "reduce_max");
}

KV_KERNEL(reduce_min)
{
    if (kv_takes(call, "i->i"))
        return extreme_ints(call, error, "reduce_min", INT32_MAX, smaller_int);
    if (kv_takes(call, "f->f"))
        return extreme_reals(call, error, "reduce_min", INFINITY, kv_smaller);
    return kv_unsupported(call, error, "reduce_min");
}

/* Whether x takes the place of the best so far: strictly better, or the first NaN. */
static int beats_real(float x, float best, int largest)
{
    if (x != x || best != best)
        return best == best;
    return largest ? x > best : x < best;
}

static int beats_int(int32_t x, int32_t best, int largest)
{
    return largest ? x > best : x < best;
}

static kv_status position(const kv_call *call, kv_error *error, const char *operation, int largest)
{
    if (!kv_takes(call, "f->i i->i"))
        return kv_unsupported(call, error, operation);
    rows all;
    const kv_status status = rows_check(&all, call, error, operation);
    if (status != KV_OK)
        return status;
    if (all.length == 0)
        return kv_fail(error, KV_EMPTY, "%s: the last mode is empty; it has no position to give", operation);
    for (size_t r = 0; r < all.count; r++) {
        const size_t start = kv_next(&all.starts);
        size_t best = start + kv_next(&all.row);
        int32_t winner = 0;
        for (size_t i = 1; i < all.length; i++) {
            const size_t at = start + kv_next(&all.row);
            const int better = all.x->dtype == KV_I32
                                   ? beats_int(kv_int(all.x, at), kv_int(all.x, best), largest)
                                   : beats_real(kv_real(all.x, at), kv_real(all.x, best), largest);
            if (better) {
                best = at;
                winner = (int32_t)i;
            }
        }
        kv_put_int(all.out, kv_next(&all.outputs), winner);
    }
    return KV_OK;
}

KV_KERNEL(argmax)
{
    return position(call, error, "argmax", 1);
}

KV_KERNEL(argmin)
{
    return position(call, error, "argmin", 0);
}
