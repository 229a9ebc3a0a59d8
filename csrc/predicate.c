/* Comparisons of two operands. */
#include "pointwise.h"

KV_SOURCE(predicate);

/* out[i] = real(lhs[i], rhs[i]) or integer(lhs[i], rhs[i]), by dtype. */
static kv_status compare(const kv_call *call, kv_error *error, const char *operation, int (*real)(float, float),
                         int (*integer)(int32_t, int32_t))
{
    if (!kv_takes(call, "ff->b ii->b"))
        return kv_unsupported(call, error, operation);
    const kv_view *lhs = &call->operands[0], *rhs = &call->operands[1];
    kv_walk walk;
    const kv_status status = kv_walk_check(&walk, call, error, operation);
    if (status != KV_OK)
        return status;
    for (size_t i = 0; i < walk.count; i++) {
        const size_t left = kv_next(&walk.operands[0]), right = kv_next(&walk.operands[1]);
        const int holds = lhs->dtype == KV_I32 ? integer(kv_int(lhs, left), kv_int(rhs, right))
                                               : real(kv_real(lhs, left), kv_real(rhs, right));
        kv_put_truth(&call->output, kv_next(&walk.output), holds);
    }
    return KV_OK;
}

static int eq_real(float lhs, float rhs)
{
    return lhs == rhs;
}

static int eq_int(int32_t lhs, int32_t rhs)
{
    return lhs == rhs;
}

KV_KERNEL(eq)
{
    return compare(call, error, "eq", eq_real, eq_int);
}

static int ne_real(float lhs, float rhs)
{
    return lhs != rhs;
}

static int ne_int(int32_t lhs, int32_t rhs)
{
    return lhs != rhs;
}

KV_KERNEL(ne)
{
    return compare(call, error, "ne", ne_real, ne_int);
}

static int lt_real(float lhs, float rhs)
{
    return lhs < rhs;
}

static int lt_int(int32_t lhs, int32_t rhs)
{
    return lhs < rhs;
}

KV_KERNEL(lt)
{
    return compare(call, error, "lt", lt_real, lt_int);
}

static int le_real(float lhs, float rhs)
{
    return lhs <= rhs;
}

static int le_int(int32_t lhs, int32_t rhs)
{
    return lhs <= rhs;
}

KV_KERNEL(le)
{
    return compare(call, error, "le", le_real, le_int);
}
