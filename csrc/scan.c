/* Running sums along the last mode of x[R...,K]. */
#include "views.h"

KV_SOURCE(scan);

KV_KERNEL(cumsum)
{
    if (!kv_takes(call, "f->f:seq f->f:f64"))
        return kv_unsupported(call, error, "cumsum");
    const kv_view *x = &call->operands[0], *out = &call->output;
    kv_status status = kv_check_views(call, error, "cumsum");
    if (status == KV_OK && (x->rank == 0 || out->rank != x->rank))
        status = kv_misfit(error, "cumsum", "x[R,K] and an output [R,K]");
    if (status == KV_OK)
        status = kv_check_leading(call, error, "cumsum", 0, x->rank);
    if (status != KV_OK || kv_count(out, 0, out->rank) == 0)
        return status;

    const int wide = call->parameters.accumulation == KV_FLOATING_F64;
    const size_t rows = kv_count(x, 0, x->rank - 1), length = kv_extent(&x->modes[x->rank - 1]);
    kv_cursor from, to;
    kv_start(&from, x, 0, x->rank);
    kv_start(&to, out, 0, out->rank);
    for (size_t r = 0; r < rows; r++) {
        float sum = 0.0f;
        double wide_sum = 0.0;
        for (size_t i = 0; i < length; i++) {
            const float term = kv_real(x, kv_next(&from));
            sum += term;
            wide_sum += (double)term;
            kv_put_real(out, kv_next(&to), wide ? (float)wide_sum : sum);
        }
    }
    return KV_OK;
}
