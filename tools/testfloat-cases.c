/* Generates the operands of Berkeley TestFloat 3e for a function of three operands at level 2, starting anywhere in its
 * sequence, and computes SoftFloat's mulAdd of them, without going through text. Compiled by tools/testfloat-library, once
 * for each format: -DWIDTH=16, 32 or 64.
 *
 * TestFloat draws its random operands with the C library's rand, here that of glibc, seed 1 (TestFloat's default): outputs
 * are z >> 1 of the sequence z[i] = z[i - 3] + z[i - 31] modulo 2^32. Its state is the next 31 z. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static uint32_t window[31];
static unsigned place;
static uint64_t drawn;

static inline int draw(void)
{
    uint32_t z = window[place];
    window[place] = z + window[place < 3 ? place + 28 : place - 3];
    place = place == 30 ? 0 : place + 1;
    ++drawn;
    return z >> 1;
}

#define rand draw
#include "random.c"
#include "genCases_common.c"
#define join_(a, b, c) a##b##c
#define join(a, b, c) join_(a, b, c)
#define of(prefix, suffix) join(prefix, WIDTH, suffix)
/* SoftFloat's function that reads the tininess rule, compiled here so that its use can be observed. */
#include "internals.h"
static bool asked_for_tininess;
#define softfloat_detectTininess (asked_for_tininess = true, softfloat_detectTininess)
#if WIDTH == 16
#include "s_roundPackToF16.c"
#elif WIDTH == 32
#include "s_roundPackToF32.c"
#else
#include "s_roundPackToF64.c"
#endif
#undef softfloat_detectTininess

/* Both packages define unions with these names. */
#define ui16_f16 testfloat_ui16_f16
#define ui32_f32 testfloat_ui32_f32
#define ui64_f64 testfloat_ui64_f64
#if WIDTH == 16
#include "genCases_f16.c"
#elif WIDTH == 32
#include "genCases_f32.c"
#else
#include "genCases_f64.c"
#endif

#define exported __attribute__((visibility("default")))
typedef of(float, _t) number;

/* The number of structured values of an operand. Every second case has three structured operands, going through all triples
 * with the last operand fastest. All other cases have random operands. */
enum { values = of(f, NumQIn) * of(f, NumP2) };

/* Sets the sequence to the place after structured value `index`, and returns that value. */
static number take(struct sequence *sequence, uint64_t index)
{
    sequence->expNum = index / of(f, NumP2);
    sequence->term1Num = index % of(f, NumP2);
    sequence->done = false;
    return of(f, NextQInP2)(sequence);
}

/* Returns the total number of cases. */
exported uint64_t cases_total(void)
{
    genCases_setLevel(2);
    of(genCases_f, _abc_init)();
    return genCases_total;
}

/* Goes to case 2 * pair, where rand has the state `state` after `before` draws. */
exported void cases_seek(uint64_t pair, uint64_t before, const uint32_t state[31])
{
    cases_total();
    if (pair) {
        uint64_t last = pair - 1;
        currentA = take(&sequenceA, last / values / values);
        currentB = take(&sequenceB, last / values % values);
        take(&sequenceC, last % values);
    }
    for (place = 31; place--;) window[place] = state[place];
    place = 0;
    drawn = before;
}

/* Generates the next `count` cases. */
exported void cases_next(uint64_t count, uint64_t *x, uint64_t *y, uint64_t *z)
{
    for (uint64_t i = 0; i < count; ++i) {
        of(genCases_f, _abc_next)();
        x[i] = of(genCases_f, _a).v;
        y[i] = of(genCases_f, _b).v;
        z[i] = of(genCases_f, _c).v;
    }
}

/* Returns how often rand was called before the next case. */
exported uint64_t cases_drawn(void)
{
    return drawn;
}

/* Computes SoftFloat's x * y + z and its flags for `count` cases, for each rounding, with tininess detected before rounding and
 * then after it. Results of one such pair of options are contiguous. SoftFloat runs with the second tininess rule only if the
 * first run read the rule; otherwise the first result holds for both. */
exported void cases_mul_add(uint64_t roundings, const uint8_t *rounding, uint64_t count, const uint64_t *x, const uint64_t *y,
                            const uint64_t *z, uint64_t *results, uint8_t *flags)
{
    for (uint64_t i = 0; i < count; ++i) {
        for (uint64_t set = 0; set < roundings; ++set) {
            uint64_t before = 2 * set * count + i, after = before + count;
            softfloat_roundingMode = rounding[set];
            softfloat_detectTininess = softfloat_tininess_beforeRounding;
            softfloat_exceptionFlags = 0;
            asked_for_tininess = false;
            results[before] = results[after] = of(f, _mulAdd)((number){x[i]}, (number){y[i]}, (number){z[i]}).v;
            flags[before] = flags[after] = softfloat_exceptionFlags;
            if (asked_for_tininess) {
                softfloat_detectTininess = softfloat_tininess_afterRounding;
                softfloat_exceptionFlags = 0;
                results[after] = of(f, _mulAdd)((number){x[i]}, (number){y[i]}, (number){z[i]}).v;
                flags[after] = softfloat_exceptionFlags;
            }
        }
    }
}
