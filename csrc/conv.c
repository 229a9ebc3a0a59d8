/* conv: cross-correlation over one to three spatial modes, each output element by itself. */
#include "views.h"

KV_SOURCE(conv);

enum { SPATIAL = 3 };

/* One spatial axis; an absent one has extent 1 everywhere and one window position. */
typedef struct axis {
    const kv_mode *input;
    const kv_mode *weight;
    const kv_mode *out;
    size_t input_extent;
    size_t weight_extent;
    size_t out_extent;
    size_t stride;
    size_t padding;
    size_t dilation;
} axis;

typedef struct geometry {
    const kv_view *input;
    const kv_view *weight;
    const kv_view *out;
    size_t channels; /* of one group */
    size_t group_outputs; /* output channels of one group */
    axis axes[SPATIAL];
} geometry;

static const kv_mode absent = {0, {{0, 0}}};

/* The largest parameter accepted, so that no position leaves 64 bits. */
static const size_t largest = INT32_MAX;

/* floor((L + 2p - d(R-1) - 1) / s) + 1, or 0 where the window does not fit. */
static size_t positions(const axis *a)
{
    const size_t room = a->input_extent + 2 * a->padding + a->dilation;
    const size_t needed = a->dilation * a->weight_extent + 1;
    return room < needed ? 0 : (room - needed) / a->stride + 1;
}

static kv_status misfit(kv_error *error)
{
    return kv_misfit(error, "conv", "input[N,C,L...], weight[O,C/g,R...] and an output [N,O,L...] of one to three L");
}

static kv_status prepare(geometry *g, const kv_call *call, kv_error *error)
{
    const kv_view *input = &call->operands[0], *weight = &call->operands[1], *out = &call->output;
    const kv_parameters *given = &call->parameters;
    const kv_status status = kv_check_views(call, error, "conv");
    if (status != KV_OK)
        return status;
    if (input->rank < 3 || input->rank > 2 + SPATIAL || weight->rank != input->rank || out->rank != input->rank)
        return misfit(error);
    if (given->stride - 1 >= largest || given->dilation - 1 >= largest || given->groups - 1 >= largest ||
        given->padding > largest)
        return kv_fail(error, KV_INVALID, "conv: stride, dilation and groups are 1 or more, padding is 0 or more");
    g->input = input;
    g->weight = weight;
    g->out = out;
    g->channels = kv_extent(&weight->modes[1]);
    g->group_outputs = kv_extent(&weight->modes[0]) / given->groups;
    if (g->group_outputs * given->groups != kv_extent(&weight->modes[0]) ||
        g->channels * given->groups != kv_extent(&input->modes[1]))
        return kv_fail(error, KV_INVALID, "conv: %zu input and %zu output channels do not make %zu groups of %zu inputs",
                       kv_extent(&input->modes[1]), kv_extent(&weight->modes[0]), given->groups, g->channels);
    if (kv_extent(&out->modes[0]) != kv_extent(&input->modes[0]) ||
        kv_extent(&out->modes[1]) != kv_extent(&weight->modes[0]))
        return misfit(error);
    for (size_t i = 0; i < SPATIAL; i++) {
        axis *a = &g->axes[i];
        const int present = i + 2 < input->rank;
        const kv_mode *modes[] = {present ? &input->modes[i + 2] : &absent, present ? &weight->modes[i + 2] : &absent,
                                  present ? &out->modes[i + 2] : &absent};
        *a = (axis){modes[0], modes[1], modes[2], kv_extent(modes[0]), kv_extent(modes[1]), kv_extent(modes[2]), 1, 0, 1};
        if (present) {
            a->stride = given->stride;
            a->padding = given->padding;
            a->dilation = given->dilation;
        }
        if (a->input_extent > largest || a->weight_extent > largest || a->out_extent != positions(a))
            return misfit(error);
    }
    return KV_OK;
}

/* Where along the input the window position r of output l reads; 0 for padding. */
static int reads(const axis *a, size_t l, size_t r, size_t *offset)
{
    const size_t at = l * a->stride + r * a->dilation;
    if (at < a->padding || at - a->padding >= a->input_extent)
        return 0;
    *offset = kv_offset(a->input, at - a->padding);
    return 1;
}

/* The terms of one output element in order, rounded by the accumulation. */
static float element(const geometry *g, size_t n, size_t o, const size_t l[SPATIAL], int wide)
{
    const axis *a = g->axes;
    const size_t image = kv_offset(&g->input->modes[0], n), filter = kv_offset(&g->weight->modes[0], o);
    const size_t first = o / g->group_outputs * g->channels;
    float sum = 0.0f;
    double wide_sum = 0.0;
    for (size_t c = 0; c < g->channels; c++) {
        const size_t plane = image + kv_offset(&g->input->modes[1], first + c);
        const size_t taps = filter + kv_offset(&g->weight->modes[1], c);
        for (size_t r0 = 0; r0 < a[0].weight_extent; r0++)
            for (size_t r1 = 0; r1 < a[1].weight_extent; r1++)
                for (size_t r2 = 0; r2 < a[2].weight_extent; r2++) {
                    size_t at[SPATIAL];
                    if (!reads(&a[0], l[0], r0, &at[0]) || !reads(&a[1], l[1], r1, &at[1]) ||
                        !reads(&a[2], l[2], r2, &at[2]))
                        continue;
                    const float x = kv_real(g->input, plane + at[0] + at[1] + at[2]);
                    const float w = kv_real(g->weight, taps + kv_offset(a[0].weight, r0) + kv_offset(a[1].weight, r1) +
                                                           kv_offset(a[2].weight, r2));
                    const float term = x * w;
                    sum += term;
                    wide_sum += (double)x * (double)w;
                }
    }
    return wide ? (float)wide_sum : sum;
}

KV_KERNEL(conv)
{
    if (!kv_takes(call, "ff->f:seq ff->f:f64"))
        return kv_unsupported(call, error, "conv");
    geometry g = {0};
    const kv_status status = prepare(&g, call, error);
    if (status != KV_OK || kv_count(&call->output, 0, call->output.rank) == 0)
        return status;
    const int wide = call->parameters.accumulation == KV_FLOATING_F64;
    const size_t images = kv_extent(&g.out->modes[0]), outputs = kv_extent(&g.out->modes[1]);
    kv_cursor to;
    kv_start(&to, g.out, 0, g.out->rank);
    size_t l[SPATIAL];
    for (size_t n = 0; n < images; n++)
        for (size_t o = 0; o < outputs; o++)
            for (l[0] = 0; l[0] < g.axes[0].out_extent; l[0]++)
                for (l[1] = 0; l[1] < g.axes[1].out_extent; l[1]++)
                    for (l[2] = 0; l[2] < g.axes[2].out_extent; l[2]++)
                        kv_put_real(g.out, kv_next(&to), element(&g, n, o, l, wide));
    return KV_OK;
}
