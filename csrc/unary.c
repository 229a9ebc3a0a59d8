/* Pointwise arithmetic of one operand. */
#include "pointwise.h"

KV_SOURCE(unary);

static float neg_real(float x)
{
    return -x;
}

static kv_status neg_int(int32_t x, int32_t *result)
{
    if (x == INT32_MIN)
        return KV_OVERFLOW;
    *result = -x;
    return KV_OK;
}

KV_KERNEL(neg)
{
    if (kv_takes(call, "i->i"))
        return kv_map_int(call, error, "neg", neg_int);
    if (kv_takes(call, "f->f"))
        return kv_map_real(call, error, "neg", neg_real);
    return kv_unsupported(call, error, "neg");
}

static float abs_real(float x)
{
    return fabsf(x);
}

static kv_status abs_int(int32_t x, int32_t *result)
{
    if (x == INT32_MIN)
        return KV_OVERFLOW;
    *result = x < 0 ? -x : x;
    return KV_OK;
}

KV_KERNEL(abs)
{
    if (kv_takes(call, "i->i"))
        return kv_map_int(call, error, "abs", abs_int);
    if (kv_takes(call, "f->f"))
        return kv_map_real(call, error, "abs", abs_real);
    return kv_unsupported(call, error, "abs");
}

static float sign_real(float x)
{
    if (x > 0.0f)
        return 1.0f;
    return x < 0.0f ? -1.0f : x;
}

static kv_status sign_int(int32_t x, int32_t *result)
{
    *result = (x > 0) - (x < 0);
    return KV_OK;
}

KV_KERNEL(sign)
{
    if (kv_takes(call, "i->i"))
        return kv_map_int(call, error, "sign", sign_int);
    if (kv_takes(call, "f->f"))
        return kv_map_real(call, error, "sign", sign_real);
    return kv_unsupported(call, error, "sign");
}

static float ceil_real(float x)
{
    return ceilf(x);
}

KV_KERNEL(ceil)
{
    if (kv_takes(call, "f->f"))
        return kv_map_real(call, error, "ceil", ceil_real);
    return kv_unsupported(call, error, "ceil");
}

static float floor_real(float x)
{
    return floorf(x);
}

KV_KERNEL(floor)
{
    if (kv_takes(call, "f->f"))
        return kv_map_real(call, error, "floor", floor_real);
    return kv_unsupported(call, error, "floor");
}

/* From 2^23 on every binary32 value is an integer; below it, |x| - floor(|x|) is exact. C11 has no roundeven, and rint
 * would follow the rounding mode. */
static float round_real(float x)
{
    const float size = fabsf(x);
    if (!(size < 0x1p23f))
        return x;
    const float below = floorf(size), rest = size - below;
    const int up = rest > 0.5f || (rest == 0.5f && fmodf(below, 2.0f) != 0.0f);
    return copysignf(up ? below + 1.0f : below, x);
}

KV_KERNEL(round)
{
    if (kv_takes(call, "f->f"))
        return kv_map_real(call, error, "round", round_real);
    return kv_unsupported(call, error, "round");
}

static float recip_real(float x)
{
    return 1.0f / x;
}

KV_KERNEL(recip)
{
    if (kv_takes(call, "f->f"))
        return kv_map_real(call, error, "recip", recip_real);
    return kv_unsupported(call, error, "recip");
}

static float sqrt_real(float x)
{
    return sqrtf(x);
}

KV_KERNEL(sqrt)
{
    if (kv_takes(call, "f->f"))
        return kv_map_real(call, error, "sqrt", sqrt_real);
    return kv_unsupported(call, error, "sqrt");
}

static float rsqrt_real(float x)
{
    const float root = sqrtf(x);
    return 1.0f / root;
}

KV_KERNEL(rsqrt)
{
    if (kv_takes(call, "f->f"))
        return kv_map_real(call, error, "rsqrt", rsqrt_real);
    return kv_unsupported(call, error, "rsqrt");
}

static float relu_real(float x)
{
    if (x != x)
        return x;
    return x > 0.0f ? x : 0.0f;
}

static kv_status relu_int(int32_t x, int32_t *result)
{
    *result = x > 0 ? x : 0;
    return KV_OK;
}

KV_KERNEL(relu)
{
    if (kv_takes(call, "i->i"))
        return kv_map_int(call, error, "relu", relu_int);
    if (kv_takes(call, "f->f"))
        return kv_map_real(call, error, "relu", relu_real);
    return kv_unsupported(call, error, "relu");
}

KV_KERNEL(leaky_relu)
{
    if (!kv_takes(call, "f->f i->f"))
        return kv_unsupported(call, error, "leaky_relu");
    const float slope = call->parameters.negative_slope;
    kv_walk walk;
    const kv_status status = kv_walk_check(&walk, call, error, "leaky_relu");
    if (status != KV_OK)
        return status;
    for (size_t i = 0; i < walk.count; i++) {
        const float x = kv_real(&call->operands[0], kv_next(&walk.operands[0]));
        kv_put_real(&call->output, kv_next(&walk.output), x >= 0.0f ? x : x * slope);
    }
    return KV_OK;
}
