// Terms of general steps, made from codes on demand. Follows model_wide.cuh and model_operands.cuh.

// The same value; a NaN is decoded from the code itself, whose payload may be passed on.
template <class F> MODEL Held with_payload(const Held& held, Word code) {
    if (held.kind != NOT_A_NUMBER) return held;
    Held nan = widened(decode<F, KEEP>(code), F::TRAILING_BITS);
    nan.kind = NOT_A_NUMBER;
    nan.payload = true;
    return nan;
}

// A factor of a product, as the rule unpacks it, with only `bits` of its significand.
template <class FROM, class TO> MODEL Held factor_held(Word code, Word bits) {
    Held held = UNPACKED ? widened(unpacked<FROM, TO, OPERAND_SUBNORMALS>(code), TO::TRAILING_BITS)
                         : widened(decode<FROM, OPERAND_SUBNORMALS>(code), FROM::TRAILING_BITS);
    // The exponent of a zero counts in the format that it is unpacked to.
    if (is_zero(held)) held.units = smallest_quantum<TO>() + TO::TRAILING_BITS;
    if (held.kind == FINITE) held.significand &= bits;
    if (INFINITE_OPERAND_IS_NAN && held.kind == INFINITE) held.kind = NOT_A_NUMBER;
#ifdef FACTOR_NAN
    return with_payload<FormatD>(held, FACTOR_NAN);
#else
    return with_payload<FROM>(held, code);
#endif
}

// c, as the rule unpacks it.
MODEL Held c_held(Word code) {
    Held held = C_UNPACKED ? widened(unpacked<CodesC, FormatAddend, C_SUBNORMALS>(code), FormatAddend::TRAILING_BITS)
                           : widened(decode<CodesC, C_SUBNORMALS>(code), FormatC::TRAILING_BITS);
    if (is_zero(held)) held.units = smallest_quantum<FormatAddend>() + FormatAddend::TRAILING_BITS;
    held.counts = ZEROS_COUNT && is_zero(held);
    if (INFINITE_C_IS_NAN && held.kind == INFINITE) held.kind = NOT_A_NUMBER;
    return with_payload<CodesC>(held, code);
}

// The products of a sum without products.
struct NoProducts {
    static constexpr int COUNT = 0;
    static constexpr bool SCALED = false;
    static constexpr int SCALE_SUMS = 0;
};

// The first NaN operand in the rule's order, or `otherwise`, which also is the NaN of an invalid product.
template <class NANS> MODEL Held first_nan(const Held* operands, int count, const Held& otherwise) {
    Held found = otherwise;
    const bool infinite[2] = {operands[0].kind == INFINITE, operands[1].kind == INFINITE};
    const bool invalid = ZERO_TIMES_INFINITY == NO_PRODUCT &&
                         ((infinite[0] && is_zero(operands[1])) || (infinite[1] && is_zero(operands[0])));
#pragma unroll 1
    for (int j = NANS::COUNT - 1; j >= 0; --j) {
        const int which = NANS::operand(j);
        if (which == 3 && invalid) found = otherwise;
        if (which < count && operands[which].kind == NOT_A_NUMBER) found = operands[which];
    }
    return found;
}

// A product at or above the limit is infinite.
template <int LIMIT> MODEL Held limited(Held p) {
    if (p.kind == FINITE && p.significand != 0 && p.exponent + 127 - leading_zeros(p.significand) >= LIMIT) {
        p.kind = INFINITE;
    }
    return p;
}

// A product without the bits that the multiplier loses, which are counted from the sum of its factors' exponents.
template <int KEPT_BITS> MODEL Held kept(Held p) {
    if (KEPT_BITS < (1 << 20) && p.kind == FINITE) {
        Held cut = finite(cut_wide<RZ>(p, p.units - KEPT_BITS), p.units - KEPT_BITS);
        p.significand = cut.significand;
        p.exponent = cut.exponent;
    }
    return p;
}

// The exact product at a place of a list, without scales. Infinities and NaNs are not split into bits.
template <class P> MODEL Held exact_product(const Operands& x, int at) {
    const int k = P::k(at);
    Held a = factor_held<CodesA, FactorA>(x.a_code(k), P::a_bits(at));
    Held b = factor_held<CodesB, FactorB>(x.b_code(k), P::b_bits(at));
    if (a.kind != FINITE) b = factor_held<CodesB, FactorB>(x.b_code(k), ~0ull);
    if (b.kind != FINITE) a = factor_held<CodesA, FactorA>(x.a_code(k), ~0ull);
    Held p = times(a, b);
    const bool invalid = p.kind == NOT_A_NUMBER && a.kind != NOT_A_NUMBER && b.kind != NOT_A_NUMBER;
    if (invalid && ZERO_TIMES_INFINITY == ZERO_PRODUCT) p = nothing(p.negative);
    if (invalid && ZERO_TIMES_INFINITY == INFINITE_PRODUCT) p.kind = INFINITE;
    return p;
}

#ifdef SCALE_BLOCK
// The product of the scales at a stored k.
MODEL Held scale_at(const Operands& x, int k) {
    const int block = x.logical(k) / SCALE_BLOCK;
    return times(widened(decode<FormatScale, KEEP>(x.row_scales[block]), FormatScale::TRAILING_BITS),
                 widened(decode<FormatScale, KEEP>(x.column_scales[block * N]), FormatScale::TRAILING_BITS));
}

// The exact sum of a run of products, times their scales; its exponent is the scales'.
template <class P> __device__ __noinline__ Held scaled_sum(const Operands& x, int run) {
    SignedWide total = 0;
    bool nan = false, infinite[2] = {false, false};
#pragma unroll 1
    for (int i = 0; i < P::SCALE_SUMS; ++i) {
        const Held p = limited<P::LIMIT>(kept<P::KEPT_BITS>(exact_product<P>(x, run * P::SCALE_SUMS + i)));
        nan |= p.kind == NOT_A_NUMBER;
        if (p.kind == INFINITE) infinite[p.negative] = true;
        else total += cut_wide<RZ>(p, PRODUCT_QUANTUM);
    }
    Held sum = finite(total, PRODUCT_QUANTUM);
    const bool opposite = infinite[0] && infinite[1];
    if (nan || (opposite && OPPOSITE_INFINITIES == NO_INFINITY)) {
        sum.kind = NOT_A_NUMBER;
    } else if (infinite[0] || infinite[1]) {
        sum.kind = INFINITE;
        sum.negative = opposite ? OPPOSITE_INFINITIES == NEGATIVE_INFINITY : infinite[1];
    }
    sum.units = 0;
    return times(sum, scale_at(x, P::k(run * P::SCALE_SUMS)));
}
#endif

// Value `at` of a list of products.
template <class P> __device__ __noinline__ Held term(const Operands& x, int at) {
#ifdef SCALE_BLOCK
    if constexpr (P::SCALE_SUMS > 0) return scaled_sum<P>(x, at);
#endif
    const int k = P::k(at);
    Held p = exact_product<P>(x, at);
    if (P::Nans::COUNT > 0 && p.kind == NOT_A_NUMBER) {
        const Held factors[2] = {factor_held<CodesA, FactorA>(x.a_code(k), ~0ull),
                                 factor_held<CodesB, FactorB>(x.b_code(k), ~0ull)};
        p = first_nan<typename P::Nans>(factors, 2, p);
        if (p.payload) return p;
    }
    p = limited<P::LIMIT>(kept<P::KEPT_BITS>(p));
    if constexpr (P::ROUNDED) p = deliver<typename P::To, false>(p);
#ifdef SCALE_BLOCK
    if (P::SCALED) p = times(p, scale_at(x, k));
#endif
    if (P::NORMALISED && p.significand != 0) p.units = p.exponent + 127 - leading_zeros(p.significand);
    p.counts = ZERO_PRODUCTS_COUNT && !P::ROUNDED && !P::NORMALISED && is_zero(p);
    return p;
}
