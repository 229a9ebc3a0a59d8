/* Pointwise conversion: cast and logical_not. */
#include "pointwise.h"

KV_SOURCE(conversion);

KV_KERNEL(logical_not)
{
    if (!kv_takes(call, "f->b b->b"))
        return kv_unsupported(call, error, "logical_not");
    const kv_view *x = &call->operands[0];
    kv_walk walk;
    const kv_status status = kv_walk_check(&walk, call, error, "logical_not");
    if (status != KV_OK)
        return status;
    for (size_t i = 0; i < walk.count; i++) {
        const size_t at = kv_next(&walk.operands[0]);
        const int holds = x->dtype == KV_BOOL ? !kv_truth(x, at) : kv_real(x, at) == 0.0f;
        kv_put_truth(&call->output, kv_next(&walk.output), holds);
    }
    return KV_OK;
}

/* False for NaN. -2^31 and 2^31 are binary32 values, and so is every bound between. */
static int fits_int(float x)
{
    return x >= -0x1p31f && x < 0x1p31f;
}

static kv_status cast_real_to_int(const kv_call *call, kv_error *error)
{
    kv_walk walk;
    const kv_status status = kv_walk_check(&walk, call, error, "cast");
    if (status != KV_OK)
        return status;
    for (size_t i = 0; i < walk.count; i++)
        if (!fits_int(kv_real(&call->operands[0], kv_next(&walk.operands[0]))))
            return kv_fail_at(error, KV_DOMAIN, "cast", i);
    for (size_t i = 0; i < walk.count; i++) {
        const float x = kv_real(&call->operands[0], kv_next(&walk.operands[0]));
        kv_put_int(&call->output, kv_next(&walk.output), (int32_t)x);
    }
    return KV_OK;
}

static float same(float x)
{
    return x;
}

static kv_status cast_to_truth(const kv_call *call, kv_error *error)
{
    const kv_view *x = &call->operands[0];
    kv_walk walk;
    const kv_status status = kv_walk_check(&walk, call, error, "cast");
    if (status != KV_OK)
        return status;
    for (size_t i = 0; i < walk.count; i++) {
        const size_t at = kv_next(&walk.operands[0]);
        kv_put_truth(&call->output, kv_next(&walk.output), x->dtype == KV_I32 ? kv_int(x, at) != 0 : kv_real(x, at) != 0);
    }
    return KV_OK;
}

static kv_status cast_from_truth(const kv_call *call, kv_error *error)
{
    kv_walk walk;
    const kv_status status = kv_walk_check(&walk, call, error, "cast");
    if (status != KV_OK)
        return status;
    for (size_t i = 0; i < walk.count; i++) {
        const int holds = kv_truth(&call->operands[0], kv_next(&walk.operands[0]));
        const size_t at = kv_next(&walk.output);
        if (call->output.dtype == KV_F32)
            kv_put_real(&call->output, at, holds ? 1.0f : 0.0f);
        else
            kv_put_int(&call->output, at, holds ? 1 : 0);
    }
    return KV_OK;
}

KV_KERNEL(cast)
{
    if (kv_takes(call, "f->i"))
        return cast_real_to_int(call, error);
    if (kv_takes(call, "i->f"))
        return kv_map_real(call, error, "cast", same);
    if (kv_takes(call, "f->b i->b"))
        return cast_to_truth(call, error);
    if (kv_takes(call, "b->f b->i"))
        return cast_from_truth(call, error);
    return kv_unsupported(call, error, "cast");
}
