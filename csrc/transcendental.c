/* The C library's functions at binary32: their accuracy is the vendor's, so every plan here is deferred. */
#include "pointwise.h"

KV_SOURCE(transcendental);

static kv_status vendor(const kv_call *call, kv_error *error, const char *operation, float (*function)(float),
                        const char *signatures)
{
    if (kv_takes(call, signatures))
        return kv_map_real(call, error, operation, function);
    return kv_unsupported(call, error, operation);
}

KV_KERNEL(exp)
{
    return vendor(call, error, "exp", expf, "f->f i->f");
}

KV_KERNEL(exp2)
{
    return vendor(call, error, "exp2", exp2f, "f->f");
}

KV_KERNEL(log)
{
    return vendor(call, error, "log", logf, "f->f");
}

KV_KERNEL(log2)
{
    return vendor(call, error, "log2", log2f, "f->f");
}

KV_KERNEL(sin)
{
    return vendor(call, error, "sin", sinf, "f->f");
}

KV_KERNEL(cos)
{
    return vendor(call, error, "cos", cosf, "f->f");
}

KV_KERNEL(erf)
{
    return vendor(call, error, "erf", erff, "f->f");
}

KV_KERNEL(tanh)
{
    return vendor(call, error, "tanh", tanhf, "f->f i->f");
}

static float sigmoid_real(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

KV_KERNEL(sigmoid)
{
    return vendor(call, error, "sigmoid", sigmoid_real, "f->f i->f");
}

static float silu_real(float x)
{
    return x / (1.0f + expf(-x));
}

KV_KERNEL(silu)
{
    return vendor(call, error, "silu", silu_real, "f->f i->f");
}

static float gelu_real(float x)
{
    const float root_half = 0x1.6a09e6p-1f;
    return 0.5f * x * (1.0f + erff(x * root_half));
}

KV_KERNEL(gelu)
{
    return vendor(call, error, "gelu", gelu_real, "f->f i->f");
}

/* max(x, 0) + log(1 + e^-|x|), which does not overflow where the result does not. */
static float softplus_real(float x)
{
    return kv_larger(x, 0.0f) + log1pf(expf(-fabsf(x)));
}

KV_KERNEL(softplus)
{
    return vendor(call, error, "softplus", softplus_real, "f->f i->f");
}

KV_KERNEL(elu)
{
    if (!kv_takes(call, "f->f i->f"))
        return kv_unsupported(call, error, "elu");
    const float alpha = call->parameters.alpha;
    kv_walk walk;
    const kv_status status = kv_walk_check(&walk, call, error, "elu");
    if (status != KV_OK)
        return status;
    for (size_t i = 0; i < walk.count; i++) {
        const float x = kv_real(&call->operands[0], kv_next(&walk.operands[0]));
        kv_put_real(&call->output, kv_next(&walk.output), x > 0.0f ? x : alpha * expm1f(x));
    }
    return KV_OK;
}
