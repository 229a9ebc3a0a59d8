/* The library's description of itself: which kernel was compiled from which file and which plans it executes. */
#include "views.h"

KV_SOURCE(registry);

extern const kv_source kv_source_arithmetic, kv_source_conv, kv_source_conversion, kv_source_float_state,
    kv_source_indexing, kv_source_matmul, kv_source_movement, kv_source_ordering, kv_source_predicate,
    kv_source_reduction, kv_source_scan, kv_source_selection, kv_source_transcendental, kv_source_unary,
    kv_source_views;

static const char *const add_plans[] = {
    "add(f32,f32)->f32 compute=f32",
    "add(f32,i32>f32)->f32 compute=f32",
    "add(i32>f32,f32)->f32 compute=f32",
    "add(i32,i32)->i32 compute=i32_checked",
};
static const char *const sub_plans[] = {
    "sub(f32,f32)->f32 compute=f32",
    "sub(f32,i32>f32)->f32 compute=f32",
    "sub(i32>f32,f32)->f32 compute=f32",
    "sub(i32,i32)->i32 compute=i32_checked",
};
static const char *const mul_plans[] = {
    "mul(f32,f32)->f32 compute=f32",
    "mul(f32,i32>f32)->f32 compute=f32",
    "mul(i32>f32,f32)->f32 compute=f32",
    "mul(i32,i32)->i32 compute=i32_checked",
    "mul(f32,f32:scalar)->f32 compute=f32",
    "mul(i32>f32,f32:scalar)->f32 compute=f32",
    "mul(i32,i32:scalar)->i32 compute=i32_checked",
};
static const char *const div_plans[] = {
    "div(f32,f32)->f32 compute=f32",
    "div(f32,i32>f32)->f32 compute=f32",
    "div(i32>f32,f32)->f32 compute=f32",
    "div(i32>f32,i32>f32)->f32 compute=f32",
};
static const char *const rem_plans[] = {"rem(f32,f32)->f32 compute=f32"};
static const char *const maximum_plans[] = {"maximum(f32,f32)->f32 compute=f32", "maximum(i32,i32)->i32 compute=i32"};
static const char *const minimum_plans[] = {"minimum(f32,f32)->f32 compute=f32", "minimum(i32,i32)->i32 compute=i32"};
static const char *const pow_plans[] = {
    "pow(i32,i32)->i32 compute=i32_checked",
    "pow(i32,i32:scalar)->i32 compute=i32_checked",
    "pow(f32,f32)->f32 compute=f32",
    "pow(f32,i32>f32)->f32 compute=f32",
    "pow(i32>f32,f32)->f32 compute=f32",
    "pow(i32>f32,i32>f32)->f32 compute=f32",
    "pow(f32,f32:scalar)->f32 compute=f32",
    "pow(i32>f32,f32:scalar)->f32 compute=f32",
    "pow(f32:scalar,f32)->f32 compute=f32",
    "pow(f32:scalar,i32>f32)->f32 compute=f32",
};
static const char *const neg_plans[] = {"neg(f32)->f32 compute=f32", "neg(i32)->i32 compute=i32_checked"};
static const char *const abs_plans[] = {"abs(f32)->f32 compute=f32", "abs(i32)->i32 compute=i32_checked"};
static const char *const sign_plans[] = {"sign(f32)->f32 compute=f32", "sign(i32)->i32 compute=i32"};
static const char *const ceil_plans[] = {"ceil(f32)->f32 compute=f32"};
static const char *const floor_plans[] = {"floor(f32)->f32 compute=f32"};
static const char *const round_plans[] = {"round(f32)->f32 compute=f32"};
static const char *const recip_plans[] = {"recip(f32)->f32 compute=f32"};
static const char *const sqrt_plans[] = {"sqrt(f32)->f32 compute=f32"};
static const char *const rsqrt_plans[] = {"rsqrt(f32)->f32 compute=f32"};
static const char *const relu_plans[] = {"relu(f32)->f32 compute=f32", "relu(i32)->i32 compute=i32"};
static const char *const leaky_relu_plans[] = {
    "leaky_relu(f32)->f32 compute=f32",
    "leaky_relu(i32>f32)->f32 compute=f32",
};
static const char *const clamp_plans[] = {
    "clamp(f32,f32,f32)->f32 compute=f32",
    "clamp(f32,f32,f32:scalar)->f32 compute=f32",
    "clamp(f32,f32:scalar,f32)->f32 compute=f32",
    "clamp(f32,f32:scalar,f32:scalar)->f32 compute=f32",
    "clamp(i32,i32,i32)->i32 compute=i32",
};
static const char *const logical_not_plans[] = {
    "logical_not(f32)->bool compute=f32",
    "logical_not(bool)->bool compute=word",
};
static const char *const cast_plans[] = {
    "cast(f32)->i32 compute=f32",
    "cast(i32)->f32 compute=f32",
    "cast(f32)->bool compute=f32",
    "cast(i32)->bool compute=i32",
    "cast(bool)->f32 compute=word",
    "cast(bool)->i32 compute=word",
};
static const char *const select_plans[] = {
    "select(bool,f32,f32)->f32 compute=word",
    "select(bool,i32,i32)->i32 compute=word",
};
static const char *const eq_plans[] = {"eq(f32,f32)->bool compute=f32", "eq(i32,i32)->bool compute=i32"};
static const char *const ne_plans[] = {"ne(f32,f32)->bool compute=f32", "ne(i32,i32)->bool compute=i32"};
static const char *const lt_plans[] = {"lt(f32,f32)->bool compute=f32", "lt(i32,i32)->bool compute=i32"};
static const char *const le_plans[] = {"le(f32,f32)->bool compute=f32", "le(i32,i32)->bool compute=i32"};
static const char *const exp_plans[] = {"exp(f32)->f32 compute=f32", "exp(i32>f32)->f32 compute=f32"};
static const char *const exp2_plans[] = {"exp2(f32)->f32 compute=f32"};
static const char *const log_plans[] = {"log(f32)->f32 compute=f32"};
static const char *const log2_plans[] = {"log2(f32)->f32 compute=f32"};
static const char *const sin_plans[] = {"sin(f32)->f32 compute=f32"};
static const char *const cos_plans[] = {"cos(f32)->f32 compute=f32"};
static const char *const erf_plans[] = {"erf(f32)->f32 compute=f32"};
static const char *const tanh_plans[] = {"tanh(f32)->f32 compute=f32", "tanh(i32>f32)->f32 compute=f32"};
static const char *const sigmoid_plans[] = {"sigmoid(f32)->f32 compute=f32", "sigmoid(i32>f32)->f32 compute=f32"};
static const char *const silu_plans[] = {"silu(f32)->f32 compute=f32", "silu(i32>f32)->f32 compute=f32"};
static const char *const gelu_plans[] = {"gelu(f32)->f32 compute=f32", "gelu(i32>f32)->f32 compute=f32"};
static const char *const softplus_plans[] = {"softplus(f32)->f32 compute=f32", "softplus(i32>f32)->f32 compute=f32"};
static const char *const elu_plans[] = {"elu(f32)->f32 compute=f32", "elu(i32>f32)->f32 compute=f32"};
static const char *const reduce_sum_plans[] = {
    "reduce_sum(f32)->f32 compute=f32 acc=floating:f32",
    "reduce_sum(f32)->f32 compute=f32 acc=floating:f64",
    "reduce_sum(i32)->i32 compute=i32_checked acc=exact_integer",
};
static const char *const reduce_prod_plans[] = {
    "reduce_prod(f32)->f32 compute=f32 acc=sequential_binary32",
    "reduce_prod(f32)->f32 compute=f32 acc=floating:f64",
};
static const char *const reduce_max_plans[] = {
    "reduce_max(f32)->f32 compute=f32",
    "reduce_max(i32)->i32 compute=i32",
};
static const char *const reduce_min_plans[] = {
    "reduce_min(f32)->f32 compute=f32",
    "reduce_min(i32)->i32 compute=i32",
};
static const char *const argmax_plans[] = {"argmax(f32)->i32 compute=f32", "argmax(i32)->i32 compute=i32"};
static const char *const argmin_plans[] = {"argmin(f32)->i32 compute=f32", "argmin(i32)->i32 compute=i32"};
static const char *const cumsum_plans[] = {
    "cumsum(f32)->f32 compute=f32 acc=sequential_binary32",
    "cumsum(f32)->f32 compute=f32 acc=floating:f64",
};
static const char *const matmul_plans[] = {
    "matmul(f32,f32)->f32 compute=f32 acc=floating:f32",
    "matmul(f32,f32)->f32 compute=f32 acc=floating:f64",
    "matmul(f32,i32>f32)->f32 compute=f32 acc=floating:f32",
    "matmul(f32,i32>f32)->f32 compute=f32 acc=floating:f64",
    "matmul(i32>f32,f32)->f32 compute=f32 acc=floating:f32",
    "matmul(i32>f32,f32)->f32 compute=f32 acc=floating:f64",
    "matmul(i32,i32)->i32 compute=i32_checked acc=exact_integer",
};
static const char *const conv_plans[] = {
    "conv(f32,f32)->f32 compute=f32 acc=sequential_binary32",
    "conv(f32,f32)->f32 compute=f32 acc=floating:f64",
};
static const char *const gather_plans[] = {"gather(f32,i32)->f32 compute=word", "gather(i32,i32)->i32 compute=word"};
static const char *const scatter_plans[] = {
    "scatter(f32,i32,f32)->f32 compute=word",
    "scatter(i32,i32,i32)->i32 compute=word",
};
static const char *const scatter_add_plans[] = {
    "scatter_add(f32,i32,f32)->f32 compute=f32 acc=sequential_binary32",
    "scatter_add(f32,i32,f32)->f32 compute=f32 acc=floating:f64",
};
static const char *const sort_values_plans[] = {
    "sort_values(f32)->f32 compute=f32",
    "sort_values(i32)->i32 compute=i32",
};
static const char *const sort_indices_plans[] = {
    "sort_indices(f32)->i32 compute=f32",
    "sort_indices(i32)->i32 compute=i32",
};
static const char *const topk_values_plans[] = {
    "topk_values(f32)->f32 compute=f32",
    "topk_values(i32)->i32 compute=i32",
};
static const char *const topk_indices_plans[] = {
    "topk_indices(f32)->i32 compute=f32",
    "topk_indices(i32)->i32 compute=i32",
};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define KERNEL(operation, stem)                                                                                        \
    {                                                                                                                  \
        "cpu." #operation, "scalar", #operation, "kv_" #operation, &kv_source_##stem, operation##_plans,               \
            COUNT(operation##_plans)                                                                                   \
    }

static const kv_kernel kernels[] = {
    {"cpu.copy", "scalar", "copy", "kv_copy", &kv_source_movement, NULL, 0},
    KERNEL(add, arithmetic),
    KERNEL(sub, arithmetic),
    KERNEL(mul, arithmetic),
    KERNEL(div, arithmetic),
    KERNEL(rem, arithmetic),
    KERNEL(maximum, arithmetic),
    KERNEL(minimum, arithmetic),
    KERNEL(pow, arithmetic),
    KERNEL(neg, unary),
    KERNEL(abs, unary),
    KERNEL(sign, unary),
    KERNEL(ceil, unary),
    KERNEL(floor, unary),
    KERNEL(round, unary),
    KERNEL(recip, unary),
    KERNEL(sqrt, unary),
    KERNEL(rsqrt, unary),
    KERNEL(relu, unary),
    KERNEL(leaky_relu, unary),
    KERNEL(clamp, selection),
    KERNEL(logical_not, conversion),
    KERNEL(cast, conversion),
    KERNEL(select, selection),
    KERNEL(eq, predicate),
    KERNEL(ne, predicate),
    KERNEL(lt, predicate),
    KERNEL(le, predicate),
    KERNEL(exp, transcendental),
    KERNEL(exp2, transcendental),
    KERNEL(log, transcendental),
    KERNEL(log2, transcendental),
    KERNEL(sin, transcendental),
    KERNEL(cos, transcendental),
    KERNEL(erf, transcendental),
    KERNEL(tanh, transcendental),
    KERNEL(sigmoid, transcendental),
    KERNEL(silu, transcendental),
    KERNEL(gelu, transcendental),
    KERNEL(softplus, transcendental),
    KERNEL(elu, transcendental),
    KERNEL(reduce_sum, reduction),
    KERNEL(reduce_prod, reduction),
    KERNEL(reduce_max, reduction),
    KERNEL(reduce_min, reduction),
    KERNEL(argmax, reduction),
    KERNEL(argmin, reduction),
    KERNEL(cumsum, scan),
    KERNEL(matmul, matmul),
    KERNEL(conv, conv),
    KERNEL(gather, indexing),
    KERNEL(scatter, indexing),
    KERNEL(scatter_add, indexing),
    KERNEL(sort_values, ordering),
    KERNEL(sort_indices, ordering),
    KERNEL(topk_values, ordering),
    KERNEL(topk_indices, ordering),
};

static const kv_source contract = {"kernelverify.h", KV_DIGEST_KERNELVERIFY};
static const kv_source walking = {"views.h", KV_DIGEST_VIEWS};
static const kv_source loops = {"pointwise.h", KV_DIGEST_POINTWISE};
static const kv_source *const shared[] = {&kv_source_float_state, &contract,        &loops,
                                          &kv_source_registry,    &kv_source_views, &walking};

static const kv_library library = {KV_COMPILER, KV_OPTIONS, kernels, COUNT(kernels), shared, COUNT(shared)};

const kv_library *kv_describe(void)
{
    return &library;
}

const char *kv_status_name(kv_status status)
{
    static const char *const names[] = {"ok", "overflow", "domain", "index", "empty", "invalid"};
    return (unsigned)status < COUNT(names) ? names[status] : "unknown";
}
