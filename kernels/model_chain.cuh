// Chains of fused multiply-adds in f32 and f64, by their own instructions.

#if FACTOR == FACTOR_F32
typedef float Number;
MODEL Word code_of(float x) { return __float_as_uint(x); }
template <class F> MODEL float number_of(Word code) { return __uint_as_float(f32_code<F>(code)); }
template <int DIRECTION> MODEL float multiply_add(float a, float b, float c) {
    return DIRECTION == RZ ? __fmaf_rz(a, b, c) : DIRECTION == RU ? __fmaf_ru(a, b, c)
           : DIRECTION == RD ? __fmaf_rd(a, b, c) : __fmaf_rn(a, b, c);
}
template <int DIRECTION> MODEL float multiply(float a, float b) {
    return DIRECTION == RZ ? __fmul_rz(a, b) : DIRECTION == RU ? __fmul_ru(a, b)
           : DIRECTION == RD ? __fmul_rd(a, b) : __fmul_rn(a, b);
}
#else
typedef double Number;
MODEL Word code_of(double x) { return (Word)__double_as_longlong(x); }
template <class F> MODEL double number_of(Word code) { return __longlong_as_double((long long)code); }
template <int DIRECTION> MODEL double multiply_add(double a, double b, double c) {
    return DIRECTION == RZ ? __fma_rz(a, b, c) : DIRECTION == RU ? __fma_ru(a, b, c)
           : DIRECTION == RD ? __fma_rd(a, b, c) : __fma_rn(a, b, c);
}
template <int DIRECTION> MODEL double multiply(double a, double b) {
    return DIRECTION == RZ ? __dmul_rz(a, b) : DIRECTION == RU ? __dmul_ru(a, b)
           : DIRECTION == RD ? __dmul_rd(a, b) : __dmul_rn(a, b);
}
#endif

// A number as a code; a NaN has the target's code.
template <class TARGET> MODEL Word canonical(Number x) { return x != x ? TARGET::NAN_CODE : code_of(x); }

// The product at a stored k, rounded once.
template <class TARGET> MODEL Word product_code(const Operands& x, int k) {
    return canonical<TARGET>(multiply<TARGET::ROUNDING>(x.a(k).number, x.b(k).number));
}

// A fused multiply-add. A NaN result has the target's code, or is the rule's first NaN operand, made quiet.
template <class NANS, class FROM, class TARGET> MODEL Word fma_code(const Operands& x, int k, Word from) {
    typedef typename TARGET::Format F;
    const Number operands[3] = {x.a(k).number, x.b(k).number, number_of<FROM>(from)};
    const Number sum = multiply_add<TARGET::ROUNDING>(operands[0], operands[1], operands[2]);
    if (sum == sum) return code_of(sum);
    Word nan = TARGET::NAN_CODE;
#pragma unroll
    for (int j = NANS::COUNT - 1; j >= 0; --j) {
        const Number operand = operands[NANS::operand(j)];
        if (operand != operand) nan = code_of(operand) | 1ull << (F::TRAILING_BITS - 1);
    }
    return nan;
}

// A code, with its NaN made quiet.
template <class F> MODEL Word quiet(Word code) {
    return decode<F, KEEP>(code).kind == NOT_A_NUMBER ? code | 1ull << (F::TRAILING_BITS - 1) : code;
}
