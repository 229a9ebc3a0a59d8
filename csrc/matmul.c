/* matmul: blocks of the output are summed over packed tiles of both operands, k ascending. */
#include "views.h"

KV_SOURCE(matmul);

enum { TILE = 64 };

/* Tiles of lhs and rhs, converted to binary32 and without gaps. */
typedef struct tiles {
    float lhs[TILE][TILE];
    float rhs[TILE][TILE];
} tiles;

/* One product of two matrices of a batch: where they begin and their modes. */
typedef struct product {
    kv_view lhs; /* data at the current batch */
    kv_view rhs;
    kv_view out;
    const kv_mode *m[2]; /* of lhs and out */
    const kv_mode *n[2]; /* of rhs and out */
    const kv_mode *k[2]; /* of lhs and rhs */
    size_t rows;
    size_t columns;
    size_t length;
} product;

static size_t part(size_t whole, size_t first)
{
    return whole - first < TILE ? whole - first : TILE;
}

static void pack(float tile[TILE][TILE], const kv_view *view, const kv_mode *down, size_t top, size_t rows,
                 const kv_mode *across, size_t left, size_t columns)
{
    size_t steps[TILE];
    for (size_t j = 0; j < columns; j++)
        steps[j] = kv_offset(across, left + j);
    for (size_t i = 0; i < rows; i++) {
        const size_t start = kv_offset(down, top + i);
        for (size_t j = 0; j < columns; j++)
            tile[i][j] = kv_real(view, start + steps[j]);
    }
}

static void pack_both(tiles *packed, const product *p, size_t m, size_t rows, size_t n, size_t columns, size_t k,
                      size_t depth)
{
    pack(packed->lhs, &p->lhs, p->m[0], m, rows, p->k[0], k, depth);
    pack(packed->rhs, &p->rhs, p->k[1], k, depth, p->n[0], n, columns);
}

/* Four steps of k at a time, so that a sum stays in a register for four terms; their order is that of k. */
static void multiply_f32(float sums[restrict TILE][TILE], const tiles *restrict packed, size_t rows, size_t depth,
                         size_t columns)
{
    for (size_t i = 0; i < rows; i++) {
        const float *a = packed->lhs[i];
        size_t k = 0;
        for (; k + 4 <= depth; k += 4) {
            const float *b0 = packed->rhs[k], *b1 = packed->rhs[k + 1], *b2 = packed->rhs[k + 2], *b3 = packed->rhs[k + 3];
            for (size_t j = 0; j < columns; j++)
                sums[i][j] = (((sums[i][j] + a[k] * b0[j]) + a[k + 1] * b1[j]) + a[k + 2] * b2[j]) + a[k + 3] * b3[j];
        }
        for (; k < depth; k++)
            for (size_t j = 0; j < columns; j++)
                sums[i][j] += a[k] * packed->rhs[k][j];
    }
}

static void multiply_f64(double sums[restrict TILE][TILE], const tiles *restrict packed, size_t rows, size_t depth,
                         size_t columns)
{
    double rhs[TILE][TILE];
    for (size_t k = 0; k < depth; k++)
        for (size_t j = 0; j < columns; j++)
            rhs[k][j] = (double)packed->rhs[k][j];
    for (size_t i = 0; i < rows; i++) {
        const float *a = packed->lhs[i];
        size_t k = 0;
        for (; k + 4 <= depth; k += 4) {
            const double a0 = (double)a[k], a1 = (double)a[k + 1], a2 = (double)a[k + 2], a3 = (double)a[k + 3];
            for (size_t j = 0; j < columns; j++)
                sums[i][j] = (((sums[i][j] + a0 * rhs[k][j]) + a1 * rhs[k + 1][j]) + a2 * rhs[k + 2][j]) +
                             a3 * rhs[k + 3][j];
        }
        for (; k < depth; k++)
            for (size_t j = 0; j < columns; j++)
                sums[i][j] += (double)a[k] * rhs[k][j];
    }
}

static void block_f32(const product *p, size_t m, size_t n)
{
    const size_t rows = part(p->rows, m), columns = part(p->columns, n);
    float sums[TILE][TILE] = {{0.0f}};
    tiles packed;
    for (size_t k = 0; k < p->length; k += TILE) {
        const size_t depth = part(p->length, k);
        pack_both(&packed, p, m, rows, n, columns, k, depth);
        multiply_f32(sums, &packed, rows, depth, columns);
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            kv_put_real(&p->out, kv_offset(p->m[1], m + i) + kv_offset(p->n[1], n + j), sums[i][j]);
}

static void block_f64(const product *p, size_t m, size_t n)
{
    const size_t rows = part(p->rows, m), columns = part(p->columns, n);
    double sums[TILE][TILE] = {{0.0}};
    tiles packed;
    for (size_t k = 0; k < p->length; k += TILE) {
        const size_t depth = part(p->length, k);
        pack_both(&packed, p, m, rows, n, columns, k, depth);
        multiply_f64(sums, &packed, rows, depth, columns);
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            kv_put_real(&p->out, kv_offset(p->m[1], m + i) + kv_offset(p->n[1], n + j), (float)sums[i][j]);
}

/* The exact sum of fewer than 2^31 products of two Int32, as 2^32 * high + low: 64 bits would not hold it. */
static int exact_element(const product *p, size_t m, size_t n, int32_t *result)
{
    const size_t row = kv_offset(p->m[0], m), column = kv_offset(p->n[0], n);
    int64_t high = 0;
    uint64_t low = 0;
    for (size_t k = 0; k < p->length; k++) {
        const int64_t lhs = kv_int(&p->lhs, row + kv_offset(p->k[0], k));
        const int64_t term = lhs * kv_int(&p->rhs, column + kv_offset(p->k[1], k));
        const int64_t rest = (int64_t)((uint64_t)term & UINT32_MAX);
        low += (uint64_t)rest;
        high += (term - rest) / (INT64_C(1) << 32);
    }
    high += (int64_t)(low >> 32);
    low &= UINT32_MAX;
    if (!(high == 0 && low <= INT32_MAX) && !(high == -1 && low > INT32_MAX))
        return 0;
    *result = (int32_t)((int64_t)low + high * (INT64_C(1) << 32));
    return 1;
}

/* Whether every element fits; with `write`, the elements are stored. */
static int exact_matrix(const product *p, int write)
{
    for (size_t m = 0; m < p->rows; m++)
        for (size_t n = 0; n < p->columns; n++) {
            int32_t result;
            if (!exact_element(p, m, n, &result))
                return 0;
            if (write)
                kv_put_int(&p->out, kv_offset(p->m[1], m) + kv_offset(p->n[1], n), result);
        }
    return 1;
}

static void real_matrix(const product *p, int wide)
{
    for (size_t m = 0; m < p->rows; m += TILE)
        for (size_t n = 0; n < p->columns; n += TILE) {
            if (wide)
                block_f64(p, m, n);
            else
                block_f32(p, m, n);
        }
}

static kv_status check(const kv_call *call, kv_error *error)
{
    const kv_view *lhs = &call->operands[0], *rhs = &call->operands[1], *out = &call->output;
    kv_status status = kv_check_views(call, error, "matmul");
    if (status != KV_OK)
        return status;
    const char *expected = "lhs[B...,M,K], rhs[B...,K,N] and an output [B...,M,N], K below 2^31";
    if (lhs->rank < 2 || rhs->rank != lhs->rank || out->rank != lhs->rank)
        return kv_misfit(error, "matmul", expected);
    const size_t m = lhs->rank - 2, n = lhs->rank - 1;
    for (size_t operand = 0; operand < 2 && status == KV_OK; operand++)
        status = kv_check_leading(call, error, "matmul", operand, m);
    if (status != KV_OK)
        return status;
    if (kv_extent(&lhs->modes[m]) != kv_extent(&out->modes[m]) || kv_extent(&lhs->modes[n]) > INT32_MAX ||
        kv_extent(&lhs->modes[n]) != kv_extent(&rhs->modes[m]) ||
        kv_extent(&rhs->modes[n]) != kv_extent(&out->modes[n]))
        return kv_misfit(error, "matmul", expected);
    return KV_OK;
}

KV_KERNEL(matmul)
{
    const int exact = kv_takes(call, "ii->i:int");
    if (!exact && !kv_takes(call, "ff->f:f32 ff->f:f64 fi->f:f32 fi->f:f64 if->f:f32 if->f:f64"))
        return kv_unsupported(call, error, "matmul");
    const kv_view *lhs = &call->operands[0], *rhs = &call->operands[1], *out = &call->output;
    const kv_status status = check(call, error);
    if (status != KV_OK || kv_count(out, 0, out->rank) == 0)
        return status;

    const size_t m = lhs->rank - 2, n = lhs->rank - 1, batches = kv_count(out, 0, m);
    product p = {*lhs,
                 *rhs,
                 *out,
                 {&lhs->modes[m], &out->modes[m]},
                 {&rhs->modes[n], &out->modes[n]},
                 {&lhs->modes[n], &rhs->modes[m]},
                 kv_extent(&out->modes[m]),
                 kv_extent(&out->modes[n]),
                 kv_extent(&lhs->modes[n])};
    kv_cursor lefts, rights, outs;
    kv_start(&lefts, lhs, 0, m);
    kv_start(&rights, rhs, 0, m);
    kv_start(&outs, out, 0, m);
    for (int write = !exact; write < 2; write++)
        for (size_t batch = 0; batch < batches; batch++) {
            p.lhs.data = (uint32_t *)lhs->data + kv_next(&lefts);
            p.rhs.data = (uint32_t *)rhs->data + kv_next(&rights);
            p.out.data = (uint32_t *)out->data + kv_next(&outs);
            if (!exact)
                real_matrix(&p, call->parameters.accumulation == KV_FLOATING_F64);
            else if (!exact_matrix(&p, write))
                return kv_fail(error, KV_OVERFLOW, "matmul: batch %zu: an exact result does not fit Int32", batch);
        }
    return KV_OK;
}
