/* Movement: words arrive as they were. */
#include "pointwise.h"

KV_SOURCE(movement);

KV_KERNEL(copy)
{
    if (!kv_takes(call, "f->f i->i b->b"))
        return kv_unsupported(call, error, "copy");
    const kv_view *x = &call->operands[0], *out = &call->output;
    const kv_status status = kv_check_views(call, error, "copy");
    if (status != KV_OK)
        return status;
    const size_t count = kv_count(out, 0, out->rank);
    if (kv_count(x, 0, x->rank) != count)
        return kv_misfit(error, "copy", "as many elements in the output as in the operand");
    if (count == 0)
        return KV_OK;
    kv_walk walk;
    kv_walk_start(&walk, call);
    for (size_t i = 0; i < count; i++) {
        const size_t from = kv_next(&walk.operands[0]), to = kv_next(&walk.output);
        if (x->dtype == KV_BOOL)
            ((unsigned char *)out->data)[to] = ((const unsigned char *)x->data)[from];
        else
            kv_put_word(out, to, kv_word(x, from));
    }
    return KV_OK;
}
