/* The calling thread's rounding mode and flush bits. */
#include "kernelverify.h"
#include "views.h"

#include <fenv.h>

#if defined(__x86_64__) || defined(__SSE2__)
#include <xmmintrin.h>
#endif

KV_SOURCE(float_state);

static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};

static kv_rounding library_rounding(void)
{
    const int mode = fegetround();
    for (unsigned i = 0; i < 4; i++)
        if (modes[i] == mode)
            return (kv_rounding)i;
    return KV_INCONSISTENT;
}

#if defined(__x86_64__) || defined(__SSE2__)

/* MXCSR: bit 15 flushes results, bit 6 reads subnormal operands as zero, bits 13-14 round as the x87 does. */
enum { FLUSH_RESULTS = 0x8000, FLUSH_OPERANDS = 0x0040, ROUNDING_SHIFT = 13 };

kv_float_state kv_get_float_state(void)
{
    const unsigned control = _mm_getcsr();
    const kv_rounding vector = (kv_rounding)(control >> ROUNDING_SHIFT & 3), scalar = library_rounding();
    return (kv_float_state){vector == scalar ? vector : KV_INCONSISTENT, (control & FLUSH_RESULTS) != 0,
                            (control & FLUSH_OPERANDS) != 0};
}

int kv_set_float_state(kv_float_state state)
{
    if ((unsigned)state.rounding > KV_TOWARD_ZERO || fesetround(modes[state.rounding]) != 0)
        return -1;
    unsigned control = _mm_getcsr() & ~(unsigned)(FLUSH_RESULTS | FLUSH_OPERANDS | 3 << ROUNDING_SHIFT);
    control |= (unsigned)state.rounding << ROUNDING_SHIFT;
    control |= (state.flush_results ? FLUSH_RESULTS : 0u) | (state.flush_operands ? FLUSH_OPERANDS : 0u);
    _mm_setcsr(control);
    return 0;
}

#elif defined(__aarch64__)

/* FPCR: bit 24 flushes subnormal operands and results alike; fenv covers the rounding mode. */
static const uint64_t flush_both = UINT64_C(1) << 24;

static uint64_t read_control(void)
{
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

kv_float_state kv_get_float_state(void)
{
    const int flush = (read_control() & flush_both) != 0;
    return (kv_float_state){library_rounding(), flush, flush};
}

int kv_set_float_state(kv_float_state state)
{
    if ((unsigned)state.rounding > KV_TOWARD_ZERO || fesetround(modes[state.rounding]) != 0)
        return -1;
    const uint64_t kept = read_control() & ~flush_both;
    const uint64_t control = kept | (state.flush_results || state.flush_operands ? flush_both : 0);
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
    return 0;
}

#else

/* No known control register: what arithmetic does to a subnormal tells the state, and flushing cannot be set. */
kv_float_state kv_get_float_state(void)
{
    volatile float least_normal = 0x1p-126f, subnormal = 0x1p-149f;
    volatile float half = least_normal * 0.5f;
    return (kv_float_state){library_rounding(), half == 0.0f, subnormal == 0.0f};
}

int kv_set_float_state(kv_float_state state)
{
    if ((unsigned)state.rounding > KV_TOWARD_ZERO || fesetround(modes[state.rounding]) != 0)
        return -1;
    const kv_float_state now = kv_get_float_state();
    return now.flush_results == state.flush_results && now.flush_operands == state.flush_operands ? 0 : -1;
}

#endif
