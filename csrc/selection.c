/* Pointwise choice: clamp and select. */
#include "pointwise.h"

KV_SOURCE(selection);

static kv_status lo_above_hi(kv_error *error, size_t element)
{
    return kv_fail(error, KV_DOMAIN, "clamp: element %zu: lo is greater than hi", element);
}

static kv_status clamp_reals(const kv_call *call, kv_error *error)
{
    const kv_view *x = &call->operands[0], *lo = &call->operands[1], *hi = &call->operands[2];
    kv_walk walk;
    const kv_status status = kv_walk_check(&walk, call, error, "clamp");
    if (status != KV_OK)
        return status;
    for (size_t i = 0; i < walk.count; i++) {
        const float least = kv_real(lo, kv_next(&walk.operands[1])), most = kv_real(hi, kv_next(&walk.operands[2]));
        if (least > most)
            return lo_above_hi(error, i);
    }
    for (size_t i = 0; i < walk.count; i++) {
        const float least = kv_real(lo, kv_next(&walk.operands[1])), most = kv_real(hi, kv_next(&walk.operands[2]));
        const float value = kv_real(x, kv_next(&walk.operands[0]));
        kv_put_real(&call->output, kv_next(&walk.output), kv_smaller(kv_larger(value, least), most));
    }
    return KV_OK;
}

static kv_status clamp_ints(const kv_call *call, kv_error *error)
{
    const kv_view *x = &call->operands[0], *lo = &call->operands[1], *hi = &call->operands[2];
    kv_walk walk;
    const kv_status status = kv_walk_check(&walk, call, error, "clamp");
    if (status != KV_OK)
        return status;
    for (size_t i = 0; i < walk.count; i++)
        if (kv_int(lo, kv_next(&walk.operands[1])) > kv_int(hi, kv_next(&walk.operands[2])))
            return lo_above_hi(error, i);
    for (size_t i = 0; i < walk.count; i++) {
        const int32_t least = kv_int(lo, kv_next(&walk.operands[1])), most = kv_int(hi, kv_next(&walk.operands[2]));
        const int32_t value = kv_int(x, kv_next(&walk.operands[0])), raised = value < least ? least : value;
        kv_put_int(&call->output, kv_next(&walk.output), raised > most ? most : raised);
    }
    return KV_OK;
}

KV_KERNEL(clamp)
{
    if (kv_takes(call, "iii->i"))
        return clamp_ints(call, error);
    if (kv_takes(call, "fff->f"))
        return clamp_reals(call, error);
    return kv_unsupported(call, error, "clamp");
}

KV_KERNEL(select)
{
    if (!kv_takes(call, "bff->f bii->i"))
        return kv_unsupported(call, error, "select");
    kv_walk walk;
    const kv_status status = kv_walk_check(&walk, call, error, "select");
    if (status != KV_OK)
        return status;
    for (size_t i = 0; i < walk.count; i++) {
        const int holds = kv_truth(&call->operands[0], kv_next(&walk.operands[0]));
        const uint32_t on_true = kv_word(&call->operands[1], kv_next(&walk.operands[1]));
        const uint32_t on_false = kv_word(&call->operands[2], kv_next(&walk.operands[2]));
        kv_put_word(&call->output, kv_next(&walk.output), holds ? on_true : on_false);
    }
    return KV_OK;
}
