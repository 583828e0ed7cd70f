// Fused steps whose terms fit into 64 bits (the fast case). Terms of at most 31 bits take 32.

// The code of a sum with infinite or NaN terms.
template <class GROUP, class FROM, int SUBNORMALS, class TARGET> __device__ __noinline__ Word special_sum(const Operands& x, Word from) {
    bool nan = false, infinite[2] = {false, false};
    const Value c = decode<FROM, SUBNORMALS>(from);
    nan = c.kind == NOT_A_NUMBER;
    if (c.kind == INFINITE) infinite[c.negative] = true;
#pragma unroll 1
    for (int i = 0; i < GROUP::COUNT; ++i) {
        const int k = GROUP::k(i);
        const Value p = product(decode<FormatA, OPERAND_SUBNORMALS>(x.a_code(k)), decode<FormatB, OPERAND_SUBNORMALS>(x.b_code(k)));
        nan |= p.kind == NOT_A_NUMBER;
        if (p.kind == INFINITE) infinite[p.negative] = true;
    }
    if (nan || (infinite[0] && infinite[1])) return not_a_number<TARGET>();
    return TARGET::infinite(infinite[1]);
}

// A product, or a sum of aligned terms, in 32 or 64 bits.
template <bool WIDE> struct Sized { typedef int Signed; typedef unsigned Magnitude; static const int BITS = 32; };
template <> struct Sized<true> { typedef long long Signed; typedef Word Magnitude; static const int BITS = 64; };

MODEL unsigned magnitude_of(int x) { return (unsigned)(x < 0 ? -x : x); }
MODEL Word magnitude_of(long long x) { return (Word)(x < 0 ? -x : x); }

// x / 2^shift (shift >= 0) in the direction of the alignment.
template <bool WIDE> MODEL typename Sized<WIDE>::Signed cut(typename Sized<WIDE>::Signed x, int shift) {
    typedef Sized<WIDE> S;
    const int most = S::BITS - 1;
    if (NORMALISED && shift < 0) return x << -shift;
    const int down = shift < most ? shift : most;
    if (ALIGNMENT_ROUNDING == RD) return x >> down;
    if (ALIGNMENT_ROUNDING == RU) return -(-x >> down);
    const typename S::Magnitude magnitude = magnitude_of(x);
    typename S::Magnitude kept = magnitude >> down;
    if (ALIGNMENT_ROUNDING != RZ && magnitude != 0) {
        // The dropped bits, in units of 2^-64 of the last kept bit.
        const Word wide = magnitude;
        const Word rest = shift == 0 ? 0 : shift < 64 ? wide << (64 - shift) : shift == 64 ? wide : 1;
        if (rounds_up<ALIGNMENT_ROUNDING>(x < 0, kept & 1, rest, false)) ++kept;
    }
    return x < 0 ? -(typename S::Signed)kept : (typename S::Signed)kept;
}

// One fused step: terms are aligned to the largest exponent, truncated or rounded, and added exactly; the sum is
// rounded once.
template <class GROUP, class FROM, int SUBNORMALS, class TARGET> MODEL Word fused(const Operands& x, Word from) {
    constexpr int COUNT = GROUP::COUNT;
    constexpr bool WIDE = TERM_BITS > 31;
    typedef typename Sized<WIDE>::Signed Signed;
    const Value c = decode<FROM, SUBNORMALS>(from);
    // Exponents of units digits, minus the fraction bits of a product.
    Signed terms[COUNT > 0 ? COUNT : 1];
    int exponents[COUNT > 0 ? COUNT : 1];
    int largest = c.kind != FINITE ? SPECIAL_TERM
                  : c.significand == 0 ? 4 * NOWHERE : c.exponent + FROM::TRAILING_BITS - PRODUCT_FRACTION;
    largest = largest > FLOOR - PRODUCT_FRACTION ? largest : FLOOR - PRODUCT_FRACTION;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
        const Factor a = x.a(GROUP::k(i)), b = x.b(GROUP::k(i));
        terms[i] = (Signed)a.significand * b.significand * ((Signed)1 << PRODUCT_LIFT);
        exponents[i] = a.exponent + b.exponent;
        if (NORMALISED && terms[i] != 0 && exponents[i] < SPECIAL_TERM) {
            // The exponent of the leading bit; the term is lifted by what it gained.
            const int leading = 63 - __clzll((long long)magnitude_of(terms[i])) - FACTOR_LIFT - PRODUCT_LIFT;
            largest = largest > exponents[i] + leading - PRODUCT_FRACTION ? largest : exponents[i] + leading - PRODUCT_FRACTION;
        } else {
            largest = largest > exponents[i] ? largest : exponents[i];
        }
    }
    if (largest >= SPECIAL_TERM) return special_sum<GROUP, FROM, SUBNORMALS, TARGET>(x, from);
    long long sum = 0;
    constexpr int FITTING = WIDE ? 1 : 1 << (31 - TERM_BITS);
#pragma unroll
    for (int first = 0; first < COUNT; first += FITTING) {
        Signed partial = 0;
#pragma unroll
        for (int i = first; i < COUNT && i < first + FITTING; ++i) {
            partial += cut<WIDE>(terms[i], largest - exponents[i] + TERM_DROP);
        }
        sum += partial;
    }
    const int quantum = largest + PRODUCT_FRACTION - ALIGNMENT_BITS;
    if (c.kind == FINITE && c.significand != 0) {
        const int shift = quantum - c.exponent;
        const long long units = c.negative ? -(long long)c.significand : (long long)c.significand;
        sum += shift <= 0 ? units << -shift : cut<true>(units, shift);
    }
    const Word code = encode<TARGET>(sum < 0, (Word)(sum < 0 ? -sum : sum), quantum, false);
    typedef typename TARGET::Format F;
    const bool zero = (code & ~(F::NEGATIVE_ZERO ? 1ull << (F::BITS - 1) : 0)) == 0;
    return zero ? zero_code<TARGET>(TARGET::ZERO == ZERO_NEGATIVE) : code;
}
