/* How kernels walk views, read elements and report faults. Internal. */
#ifndef KV_VIEWS_H
#define KV_VIEWS_H

#include <math.h>
#include <string.h>

#include "kernelverify.h"

/* Each source file names itself once, so that the registry can say which file a kernel was compiled from. */
#define KV_SOURCE(stem)                                                                                                \
    extern const kv_source kv_source_##stem;                                                                           \
    const kv_source kv_source_##stem = {#stem ".c", KV_SOURCE_DIGEST}

/* Yields the element offsets of some modes of a view in logical order, and starts over after the last. */
typedef struct kv_cursor {
    size_t offset;
    size_t depth;
    size_t extent[KV_MAX_RANK * KV_MAX_LEAVES];
    size_t stride[KV_MAX_RANK * KV_MAX_LEAVES];
    size_t index[KV_MAX_RANK * KV_MAX_LEAVES];
} kv_cursor;

/* A cursor over the modes [first, end). None of them may have extent 0. */
void kv_start(kv_cursor *cursor, const kv_view *view, size_t first, size_t end);

/* The offset the cursor stands on; steps to the next. */
static inline size_t kv_next(kv_cursor *cursor)
{
    const size_t here = cursor->offset;
    for (size_t level = cursor->depth; level-- > 0;) {
        if (++cursor->index[level] < cursor->extent[level]) {
            cursor->offset += cursor->stride[level];
            break;
        }
        cursor->offset -= (cursor->extent[level] - 1) * cursor->stride[level];
        cursor->index[level] = 0;
    }
    return here;
}

size_t kv_extent(const kv_mode *mode);
/* The number of elements of the modes [first, end). */
size_t kv_count(const kv_view *view, size_t first, size_t end);
/* The offset of position `at` along one mode. */
size_t kv_offset(const kv_mode *mode, size_t at);

static inline uint32_t kv_word(const kv_view *view, size_t at)
{
    uint32_t word;
    memcpy(&word, (const unsigned char *)view->data + at * sizeof word, sizeof word);
    return word;
}

static inline void kv_put_word(const kv_view *view, size_t at, uint32_t word)
{
    memcpy((unsigned char *)view->data + at * sizeof word, &word, sizeof word);
}

static inline int32_t kv_int(const kv_view *view, size_t at)
{
    return ((const int32_t *)view->data)[at];
}

static inline void kv_put_int(const kv_view *view, size_t at, int32_t value)
{
    ((int32_t *)view->data)[at] = value;
}

/* A Float32 element, or an Int32 element converted to binary32. */
static inline float kv_real(const kv_view *view, size_t at)
{
    return view->dtype == KV_I32 ? (float)kv_int(view, at) : ((const float *)view->data)[at];
}

static inline void kv_put_real(const kv_view *view, size_t at, float value)
{
    ((float *)view->data)[at] = value;
}

static inline int kv_truth(const kv_view *view, size_t at)
{
    return ((const unsigned char *)view->data)[at] != 0;
}

static inline void kv_put_truth(const kv_view *view, size_t at, int truth)
{
    ((unsigned char *)view->data)[at] = truth ? 1 : 0;
}

/* Writes the message and returns the status. */
kv_status kv_fail(kv_error *error, kv_status status, const char *format, ...);
/* The fault of one element of a checked kernel. */
kv_status kv_fail_at(kv_error *error, kv_status status, const char *operation, size_t element);

/* Whether the call's dtypes and accumulation are one of these signatures, separated by spaces: letters f, i, b for the
 * operands, `->`, the output, and `:f32`, `:f64`, `:seq` or `:int` where something accumulates. */
int kv_takes(const kv_call *call, const char *signatures);
/* KV_INVALID: the kernel has no plan with this signature. */
kv_status kv_unsupported(const kv_call *call, kv_error *error, const char *operation);

/* KV_OK if each view is well formed and the output does not write one element twice through a stride of 0. */
kv_status kv_check_views(const kv_call *call, kv_error *error, const char *operation);
/* The same, and the extents are those of a pointwise kernel; `*count` is the number of elements. */
kv_status kv_check_pointwise(const kv_call *call, kv_error *error, const char *operation, size_t *count);
/* KV_OK if modes [0, modes) of the operand and of the output have equal extents. */
kv_status kv_check_leading(const kv_call *call, kv_error *error, const char *operation, size_t operand, size_t modes);
/* KV_INVALID: the extents do not fit; `expected` says what would. */
kv_status kv_misfit(kv_error *error, const char *operation, const char *expected);

/* NaN wins; of two zeros +0 is the larger. */
static inline float kv_larger(float a, float b)
{
    if (a != a || b != b)
        return a != a ? a : b;
    if (a == b)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}

static inline float kv_smaller(float a, float b)
{
    if (a != a || b != b)
        return a != a ? a : b;
    if (a == b)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}

#endif
