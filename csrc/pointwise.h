/* The loops of the pointwise kernels: each applies one element function. Internal. */
#ifndef KV_POINTWISE_H
#define KV_POINTWISE_H

#include "views.h"

/* `count` elements: a cursor for each operand and one for the output. */
typedef struct kv_walk {
    size_t count;
    kv_cursor operands[KV_MAX_OPERANDS];
    kv_cursor output;
} kv_walk;

static inline void kv_walk_start(kv_walk *walk, const kv_call *call)
{
    for (size_t operand = 0; operand < call->count; operand++)
        kv_start(&walk->operands[operand], &call->operands[operand], 0, call->operands[operand].rank);
    kv_start(&walk->output, &call->output, 0, call->output.rank);
}

static inline kv_status kv_walk_check(kv_walk *walk, const kv_call *call, kv_error *error, const char *operation)
{
    const kv_status status = kv_check_pointwise(call, error, operation, &walk->count);
    if (status == KV_OK && walk->count > 0)
        kv_walk_start(walk, call);
    return status;
}

/* out[i] = function(x[i]), in binary32. */
static inline kv_status kv_map_real(const kv_call *call, kv_error *error, const char *operation,
                                    float (*function)(float))
{
    kv_walk walk;
    const kv_status status = kv_walk_check(&walk, call, error, operation);
    if (status != KV_OK)
        return status;
    for (size_t i = 0; i < walk.count; i++) {
        const float x = kv_real(&call->operands[0], kv_next(&walk.operands[0]));
        kv_put_real(&call->output, kv_next(&walk.output), function(x));
    }
    return KV_OK;
}

/* out[i] = function(lhs[i], rhs[i]), in binary32. */
static inline kv_status kv_map_reals(const kv_call *call, kv_error *error, const char *operation,
                                     float (*function)(float, float))
{
    kv_walk walk;
    const kv_status status = kv_walk_check(&walk, call, error, operation);
    if (status != KV_OK)
        return status;
    for (size_t i = 0; i < walk.count; i++) {
        const float lhs = kv_real(&call->operands[0], kv_next(&walk.operands[0]));
        const float rhs = kv_real(&call->operands[1], kv_next(&walk.operands[1]));
        kv_put_real(&call->output, kv_next(&walk.output), function(lhs, rhs));
    }
    return KV_OK;
}

/* out[i] = function(x[i]), checked: the first pass only looks for a fault, so that none leaves a trace. */
static inline kv_status kv_map_int(const kv_call *call, kv_error *error, const char *operation,
                                   kv_status (*function)(int32_t, int32_t *))
{
    kv_walk walk;
    const kv_status status = kv_walk_check(&walk, call, error, operation);
    if (status != KV_OK)
        return status;
    int32_t result = 0;
    for (size_t i = 0; i < walk.count; i++) {
        const int32_t x = kv_int(&call->operands[0], kv_next(&walk.operands[0]));
        const kv_status fault = function(x, &result);
        if (fault != KV_OK)
            return kv_fail_at(error, fault, operation, i);
    }
    for (size_t i = 0; i < walk.count; i++) {
        const int32_t x = kv_int(&call->operands[0], kv_next(&walk.operands[0]));
        function(x, &result);
        kv_put_int(&call->output, kv_next(&walk.output), result);
    }
    return KV_OK;
}

/* out[i] = function(lhs[i], rhs[i]), checked in the same way. */
static inline kv_status kv_map_ints(const kv_call *call, kv_error *error, const char *operation,
                                    kv_status (*function)(int32_t, int32_t, int32_t *))
{
    kv_walk walk;
    const kv_status status = kv_walk_check(&walk, call, error, operation);
    if (status != KV_OK)
        return status;
    int32_t result = 0;
    for (size_t i = 0; i < walk.count; i++) {
        const int32_t lhs = kv_int(&call->operands[0], kv_next(&walk.operands[0]));
        const int32_t rhs = kv_int(&call->operands[1], kv_next(&walk.operands[1]));
        const kv_status fault = function(lhs, rhs, &result);
        if (fault != KV_OK)
            return kv_fail_at(error, fault, operation, i);
    }
    for (size_t i = 0; i < walk.count; i++) {
        const int32_t lhs = kv_int(&call->operands[0], kv_next(&walk.operands[0]));
        const int32_t rhs = kv_int(&call->operands[1], kv_next(&walk.operands[1]));
        function(lhs, rhs, &result);
        kv_put_int(&call->output, kv_next(&walk.output), result);
    }
    return KV_OK;
}

#endif
