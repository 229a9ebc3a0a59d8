/* The contract of every kernel: what it computes, how exactly, and over which inputs.
 *
 * All kernels share one signature: they read `call`, write the elements of `call->output` and return a status.
 * Whenever the status is not KV_OK, `error` holds a message and not one byte of the output was written.
 * Operands are never written, nothing is allocated, and no element outside the views is read or written.
 *
 * Arithmetic is IEEE 754 to nearest even with subnormals preserved and no contraction. "Rounded once" below means
 * the exact result rounded once to binary32. Where a Float32 result has an Int32 operand, that operand is converted
 * to binary32 first. NaN results have an unspecified payload, except that words are moved whole where it says "word".
 * Element order is row-major over modes; inside a nested mode, row-major over its leaves.
 *
 * Only pointwise kernels may have an operand whose memory and layout are the output's own. */
#ifndef KERNELVERIFY_H
#define KERNELVERIFY_H

#include <stddef.h>
#include <stdint.h>

enum { KV_MAX_RANK = 8, KV_MAX_LEAVES = 4, KV_MAX_OPERANDS = 3, KV_MESSAGE_SIZE = 256 };

typedef enum kv_status {
    KV_OK,
    KV_OVERFLOW, /* a checked Int32 result does not fit */
    KV_DOMAIN,   /* clamp with lo > hi, cast of NaN or out of range, a negative integer exponent */
    KV_INDEX,    /* an index outside the indexed extent */
    KV_EMPTY,    /* an arg-reduction of nothing */
    KV_INVALID   /* extents, dtypes or parameters that the kernel does not accept */
} kv_status;

/* KV_F32 and KV_I32 are 4-byte words; KV_BOOL is a byte, 0 or 1, and any other byte read counts as 1. */
typedef enum kv_dtype { KV_F32, KV_I32, KV_BOOL } kv_dtype;

/* Which arithmetic carries a sum or product, and whether its order is normative (SEQUENTIAL: binary32, in order). */
typedef enum kv_accumulation { KV_NONE, KV_FLOATING_F32, KV_FLOATING_F64, KV_SEQUENTIAL, KV_EXACT } kv_accumulation;

/* One leaf of a mode: `extent` elements, `stride` elements apart; stride 0 repeats one element. */
typedef struct kv_leaf {
    size_t extent;
    size_t stride;
} kv_leaf;

/* A mode is the row-major nest of its leaves, outermost first; no leaf means extent 1. */
typedef struct kv_mode {
    size_t leaf_count;
    kv_leaf leaves[KV_MAX_LEAVES];
} kv_mode;

/* `data` points at element 0 of the layout, its offset already applied. Rank 0 is one element. */
typedef struct kv_view {
    void *data;
    kv_dtype dtype;
    size_t rank;
    kv_mode modes[KV_MAX_RANK];
} kv_view;

typedef struct kv_parameters {
    kv_accumulation accumulation;
    float negative_slope; /* leaky_relu */
    float alpha;          /* elu */
    size_t stride;        /* conv, the same along each axis, as are the next two */
    size_t padding;
    size_t dilation;
    size_t groups;
    size_t k;       /* topk */
    int descending; /* sort */
} kv_parameters;

typedef struct kv_call {
    size_t count; /* of operands */
    kv_view operands[KV_MAX_OPERANDS];
    kv_view output;
    kv_parameters parameters;
} kv_call;

typedef struct kv_error {
    char message[KV_MESSAGE_SIZE];
} kv_error;

#define KV_KERNEL(operation) kv_status kv_##operation(const kv_call *call, kv_error *error)

/* ---- pointwise: out[i] = f(x[i], ...); every operand has the output's extents or rank 0 ------------------------- */

/* lhs + rhs, lhs - rhs, lhs * rhs. Float32: rounded once, all values. Int32 pairs: exact or KV_OVERFLOW. */
KV_KERNEL(add);
KV_KERNEL(sub);
KV_KERNEL(mul);
/* lhs / rhs. Float32, rounded once, all values; Int32 pairs too are converted and give Float32. */
KV_KERNEL(div);
/* lhs - rhs * trunc(lhs / rhs), exact, with the sign of lhs: C fmod. Float32. */
KV_KERNEL(rem);
/* The larger, the smaller. Float32: NaN wins from either side; max(+0,-0) = +0, min(+0,-0) = -0. Int32: exact. */
KV_KERNEL(maximum);
KV_KERNEL(minimum);
/* lhs ** rhs. Int32 pairs to Int32: exact or KV_OVERFLOW, 0**0 = 1, a negative exponent is KV_DOMAIN.
 * To Float32: the C library's powf, whose accuracy is not specified. */
KV_KERNEL(pow);

/* -x, |x|. Float32: the sign bit, all values. Int32: exact; INT32_MIN is KV_OVERFLOW. */
KV_KERNEL(neg);
KV_KERNEL(abs);
/* -1, 0 or 1. Float32: a zero keeps its sign and NaN stays NaN. Int32: exact. */
KV_KERNEL(sign);
/* The integer at or above, at or below, nearest with halfway cases to even. Float32, exact, sign of zero kept. */
KV_KERNEL(ceil);
KV_KERNEL(floor);
KV_KERNEL(round);
/* 1/x and the square root, each rounded once; 1/sqrt(x) with the root rounded and then the quotient. Float32. */
KV_KERNEL(recip);
KV_KERNEL(sqrt);
KV_KERNEL(rsqrt);
/* x where x > 0, else +0; NaN stays NaN. Float32, Int32, exact. */
KV_KERNEL(relu);
/* x where x >= 0, else x * negative_slope rounded once; NaN stays NaN. Float32, Int32 converted. */
KV_KERNEL(leaky_relu);

/* min(max(x, lo), hi) with the zeros and NaNs of maximum and minimum; lo > hi anywhere is KV_DOMAIN. Float32, Int32. */
KV_KERNEL(clamp);
/* The word of on_true where condition holds, else the word of on_false. Any payload. */
KV_KERNEL(select);
/* Whether x equals zero: NaN does not. Float32, Bool, to Bool. */
KV_KERNEL(logical_not);
/* Float32 to Int32 truncates, NaN and values outside [-2^31, 2^31) are KV_DOMAIN; Int32 to Float32 is rounded once;
 * to Bool: whether x differs from zero; Bool to a number: 0 or 1. */
KV_KERNEL(cast);

/* Comparisons to Bool. NaN differs from everything and is neither less nor greater; +0 equals -0. Float32, Int32. */
KV_KERNEL(eq);
KV_KERNEL(ne);
KV_KERNEL(lt);
KV_KERNEL(le);

/* The C library's functions at binary32, whose accuracy is not specified; Int32 converted first. */
KV_KERNEL(exp);
KV_KERNEL(exp2);
KV_KERNEL(log);
KV_KERNEL(log2);
KV_KERNEL(sin);
KV_KERNEL(cos);
KV_KERNEL(erf);
KV_KERNEL(tanh);
/* 1/(1+e^-x); x/(1+e^-x); x(1+erf(x/sqrt 2))/2; log(1+e^x); x where x > 0, else alpha(e^x - 1). Not specified. */
KV_KERNEL(sigmoid);
KV_KERNEL(silu);
KV_KERNEL(gelu);
KV_KERNEL(softplus);
KV_KERNEL(elu);

/* ---- rows: x[R...,K], over the last mode ------------------------------------------------------------------------ */

/* The sum of a row, starting from +0, so that an empty row gives +0. FLOATING_F32: K-1 roundings to binary32 at most
 * on any term's path, in no specified order. FLOATING_F64: the same in binary64, then rounded once. EXACT (Int32): the
 * exact sum or KV_OVERFLOW. Inf and NaN reach the sum. K < 2^31. */
KV_KERNEL(reduce_sum);
/* The product of a row, starting from 1. SEQUENTIAL: each step rounded to binary32, in order. FLOATING_F64: binary64
 * in order, then rounded once. */
KV_KERNEL(reduce_prod);
/* The largest, the smallest of a row by maximum and minimum above; an empty row gives -inf, +inf, for Int32 the least,
 * the greatest value. */
KV_KERNEL(reduce_max);
KV_KERNEL(reduce_min);
/* The Int32 position of the first largest, first smallest; the first NaN wins over every number and +0 equals -0.
 * K = 0 is KV_EMPTY. */
KV_KERNEL(argmax);
KV_KERNEL(argmin);

/* out[r,i] = x[r,0] + ... + x[r,i]. SEQUENTIAL: from +0, each step rounded to binary32. FLOATING_F64: a binary64
 * running sum, each output rounded once from it. */
KV_KERNEL(cumsum);

/* The row in ascending (descending) order, or the Int32 positions that bring it there. Stable: ties keep their order,
 * +0 and -0 tie, all NaNs tie with each other and come last ascending, first descending. Words move whole. */
KV_KERNEL(sort_values);
KV_KERNEL(sort_indices);
/* The first k of the descending sort; k > K is KV_INVALID. */
KV_KERNEL(topk_values);
KV_KERNEL(topk_indices);

/* ---- contraction ------------------------------------------------------------------------------------------------ */

/* out[b...,m,n] = sum over k of lhs[b...,m,k] * rhs[b...,k,n], from +0. FLOATING_F32: each product rounded to
 * binary32, each sum rounded, never fused. FLOATING_F64: products exact, sums in binary64, rounded once. EXACT: Int32
 * pairs, the exact value or KV_OVERFLOW. K < 2^31. */
KV_KERNEL(matmul);
/* out[n,o,l...] = sum over c, r... of input[n, g*C/G + c, l*stride + r*dilation - padding, ...] * weight[o,c,r...],
 * from +0, in the order channel, then window row-major; positions outside the input add no term. One to three spatial
 * modes. SEQUENTIAL: product rounded, then sum rounded, to binary32. FLOATING_F64: binary64, rounded once. */
KV_KERNEL(conv);

/* ---- indexing: an index outside [0, N) is KV_INDEX -------------------------------------------------------------- */

/* out[m,d] = source[index[m],d]. Words. */
KV_KERNEL(gather);
/* out = base, then out[index[m],d] = updates[m,d] for each m in order: the last one stays. Words. */
KV_KERNEL(scatter);
/* out = base, then out[index[m],d] += updates[m,d] for each m in order. SEQUENTIAL: each step rounded to binary32.
 * FLOATING_F64: a binary64 sum per element, rounded once. */
KV_KERNEL(scatter_add);

/* ---- movement --------------------------------------------------------------------------------------------------- */

/* out's i-th element is x's i-th, word for word; extents may differ where the number of elements does not. */
KV_KERNEL(copy);

/* ---- self-description ------------------------------------------------------------------------------------------- */

typedef struct kv_source {
    const char *name;
    const char *digest; /* SHA-256 of the file that was compiled, lower-case hex */
} kv_source;

typedef struct kv_kernel {
    const char *kernel_id;
    const char *variant;
    const char *operation;
    const char *binding_name;
    const kv_source *source;
    const char *const *plans; /* canonical texts */
    size_t plan_count;
} kv_kernel;

typedef struct kv_library {
    const char *compiler; /* identity and version */
    const char *options;  /* separated by spaces */
    const kv_kernel *kernels;
    size_t kernel_count;
    const kv_source *const *shared; /* what every kernel is compiled with besides its own source */
    size_t shared_count;
} kv_library;

const kv_library *kv_describe(void);
/* "ok", "overflow", "domain", "index", "empty", "invalid". */
const char *kv_status_name(kv_status status);

/* ---- the thread's floating-point state -------------------------------------------------------------------------- */

typedef enum kv_rounding { KV_NEAREST, KV_DOWNWARD, KV_UPWARD, KV_TOWARD_ZERO, KV_INCONSISTENT } kv_rounding;

/* `flush_results`: subnormal results become zero; `flush_operands`: subnormal operands are read as zero. Where the
 * processor has one switch for both, both report it. */
typedef struct kv_float_state {
    kv_rounding rounding;
    int flush_results;
    int flush_operands;
} kv_float_state;

kv_float_state kv_get_float_state(void);
/* 0, or -1 where the processor's state cannot be set as asked. */
int kv_set_float_state(kv_float_state state);

#endif
