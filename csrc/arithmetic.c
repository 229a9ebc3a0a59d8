/* Pointwise arithmetic of two operands. */
#include "pointwise.h"

KV_SOURCE(arithmetic);

static const char floating[] = "ff->f fi->f if->f";

static kv_status narrow(int64_t exact, int32_t *result)
{
    if (exact < INT32_MIN || exact > INT32_MAX)
        return KV_OVERFLOW;
    *result = (int32_t)exact;
    return KV_OK;
}

static float add_real(float lhs, float rhs)
{
    return lhs + rhs;
}

static kv_status add_int(int32_t lhs, int32_t rhs, int32_t *result)
{
    return narrow((int64_t)lhs + rhs, result);
}

KV_KERNEL(add)
{
    if (kv_takes(call, "ii->i"))
        return kv_map_ints(call, error, "add", add_int);
    if (kv_takes(call, floating))
        return kv_map_reals(call, error, "add", add_real);
    return kv_unsupported(call, error, "add");
}

static float sub_real(float lhs, float rhs)
{
    return lhs - rhs;
}

static kv_status sub_int(int32_t lhs, int32_t rhs, int32_t *result)
{
    return narrow((int64_t)lhs - rhs, result);
}

KV_KERNEL(sub)
{
    if (kv_takes(call, "ii->i"))
        return kv_map_ints(call, error, "sub", sub_int);
    if (kv_takes(call, floating))
        return kv_map_reals(call, error, "sub", sub_real);
    return kv_unsupported(call, error, "sub");
}

static float mul_real(float lhs, float rhs)
{
    return lhs * rhs;
}

static kv_status mul_int(int32_t lhs, int32_t rhs, int32_t *result)
{
    return narrow((int64_t)lhs * rhs, result);
}

KV_KERNEL(mul)
{
    if (kv_takes(call, "ii->i"))
        return kv_map_ints(call, error, "mul", mul_int);
    if (kv_takes(call, floating))
        return kv_map_reals(call, error, "mul", mul_real);
    return kv_unsupported(call, error, "mul");
}

static float div_real(float lhs, float rhs)
{
    return lhs / rhs;
}

KV_KERNEL(div)
{
    if (kv_takes(call, floating) || kv_takes(call, "ii->f"))
        return kv_map_reals(call, error, "div", div_real);
    return kv_unsupported(call, error, "div");
}

static float rem_real(float lhs, float rhs)
{
    return fmodf(lhs, rhs);
}

KV_KERNEL(rem)
{
    if (kv_takes(call, "ff->f"))
        return kv_map_reals(call, error, "rem", rem_real);
    return kv_unsupported(call, error, "rem");
}

static kv_status maximum_int(int32_t lhs, int32_t rhs, int32_t *result)
{
    *result = lhs > rhs ? lhs : rhs;
    return KV_OK;
}

KV_KERNEL(maximum)
{
    if (kv_takes(call, "ii->i"))
        return kv_map_ints(call, error, "maximum", maximum_int);
    if (kv_takes(call, "ff->f"))
        return kv_map_reals(call, error, "maximum", kv_larger);
    return kv_unsupported(call, error, "maximum");
}

static kv_status minimum_int(int32_t lhs, int32_t rhs, int32_t *result)
{
    *result = lhs < rhs ? lhs : rhs;
    return KV_OK;
}

KV_KERNEL(minimum)
{
    if (kv_takes(call, "ii->i"))
        return kv_map_ints(call, error, "minimum", minimum_int);
    if (kv_takes(call, "ff->f"))
        return kv_map_reals(call, error, "minimum", kv_smaller);
    return kv_unsupported(call, error, "minimum");
}

static float pow_real(float base, float exponent)
{
    return powf(base, exponent);
}

/* From |base| = 2 on, at most 32 products are taken before the result leaves Int32. */
static kv_status pow_int(int32_t base, int32_t exponent, int32_t *result)
{
    if (exponent < 0)
        return KV_DOMAIN;
    if (base == 0 || base == 1) {
        *result = exponent == 0 ? 1 : base;
        return KV_OK;
    }
    if (base == -1) {
        *result = exponent % 2 == 0 ? 1 : -1;
        return KV_OK;
    }
    int32_t power = 1;
    for (int32_t i = 0; i < exponent; i++)
        if (narrow((int64_t)power * base, &power) != KV_OK)
            return KV_OVERFLOW;
    *result = power;
    return KV_OK;
}

KV_KERNEL(pow)
{
    if (kv_takes(call, "ii->i"))
        return kv_map_ints(call, error, "pow", pow_int);
    if (kv_takes(call, floating) || kv_takes(call, "ii->f"))
        return kv_map_reals(call, error, "pow", pow_real);
    return kv_unsupported(call, error, "pow");
}
