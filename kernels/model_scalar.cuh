// Steps of ordinary operations in any formats: sequential and pairwise sums, chains of fused multiply-adds. Behind
// model_terms.cuh.

// A product as a term of ordinary additions.
__device__ __noinline__ Held product_at(const Operands& x, int k) {
    const Held p = limited(exact_product(x, k));
#if PRODUCT_ROUNDED
    return hold<TargetProduct>(round_held<TargetProduct>(p));
#else
    return p;
#endif
}

// Products are added one after the other.
template <int GROUP, class TARGET> __device__ __noinline__ Held sequential(const Operands& x, const Held& from) {
    Held sum = START_PRODUCT ? product_at(x, group_index(GROUP, 0)) : from;
#pragma unroll 1
    for (int i = START_PRODUCT ? 1 : 0; i < group_length(GROUP); ++i) {
        sum = add_held<TARGET>(sum, product_at(x, group_index(GROUP, i)));
    }
    return sum;
}

// The sum of the first half of COUNT products plus that of the second half.
template <int GROUP, class TARGET, int FIRST, int COUNT> MODEL Held tree(const Operands& x) {
    if constexpr (COUNT == 1) {
        return product_at(x, group_index(GROUP, FIRST));
    } else {
        const Held left = tree<GROUP, TARGET, FIRST, COUNT / 2>(x);
        return add_held<TARGET>(left, tree<GROUP, TARGET, FIRST + COUNT / 2, COUNT - COUNT / 2>(x));
    }
}

template <int GROUP, class TARGET> __device__ __noinline__ Held pairwise(const Operands& x, const Held& from) {
    const Held sum = tree<GROUP, TARGET, 0, group_length(GROUP)>(x);
    return START_PRODUCT ? sum : add_held<TARGET>(from, sum);
}

// A NaN as a code of F, made quiet.
template <class F> MODEL Word quiet_nan(const Held& nan) {
    constexpr int T = F::TRAILING_BITS;
    if (F::SPECIALS != 1) return F::NAN_CODE;
    const Word trailing = ((Word)nan.significand & ((1ull << T) - 1)) | 1ull << (T - 1);
    const Word biased = (1ull << F::EXPONENT_BITS) - 1;
    return (((Word)nan.negative << F::EXPONENT_BITS | biased) << T | trailing) << F::PADDING_BITS;
}

// A chain of fused multiply-adds. NaN results have the target's code, or are the first NaN operand, made quiet.
template <int GROUP, class TARGET> __device__ __noinline__ Held fma_chain(const Operands& x, const Held& from) {
    Held sum = from;
#pragma unroll 1
    for (int i = 0; i < group_length(GROUP); ++i) {
        const int k = group_index(GROUP, i);
        const Held operands[3] = {a_held(x, k), b_held(x, k), sum};
        const Held product = times(operands[0], operands[1]);
        Word code = round_held<TARGET>(START_PRODUCT && i == 0 ? product : plus(product, sum, TARGET::ROUNDING == RD));
#pragma unroll 1
        for (int j = NAN_OPERANDS - 1; j >= 0; --j) {
            const Held& operand = operands[nan_operand(j)];
            if (operand.kind == NOT_A_NUMBER) code = quiet_nan<typename TARGET::Format>(operand);
        }
        sum = hold<TARGET>(code);
    }
    return sum;
}
