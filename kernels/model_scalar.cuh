// Ordinary additions and fused multiply-adds in any formats. Follows model_terms.cuh.

// x + y, rounded.
template <class NANS, class TO> __device__ __noinline__ Held add_held(const Held& x, const Held& y) {
    Held sum = plus(x, y, TO::ROUNDING == RD);
    if (sum.kind == NOT_A_NUMBER) {
        const Held terms[2] = {x, y};
        sum.payload = false;
        sum = first_nan<NANS>(terms, 2, sum);
    }
    return deliver<TO, true>(sum);
}

// A product and an addend, rounded once.
template <class P, class NANS, class TO> __device__ __noinline__ Held fma_held(const Operands& x, const Held& addend) {
    Held sum = plus(exact_product<P>(x, 0), addend, TO::ROUNDING == RD);
    if (sum.kind == NOT_A_NUMBER) {
        const Held operands[3] = {factor_held<CodesA, FactorA>(x.a_code(P::k(0)), ~0ull),
                                  factor_held<CodesB, FactorB>(x.b_code(P::k(0)), ~0ull), addend};
        sum.payload = false;
        sum = first_nan<NANS>(operands, 3, sum);
    }
    return deliver<TO, true>(sum);
}
