// Chains of fused multiply-adds in f32 and f64, by the instructions for them.

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

// A chain of fused multiply-adds. NaN results have the target's code, or are the first NaN operand, made quiet.
template <int GROUP, class FROM, class TARGET> MODEL Word chain(const Operands& x, Word from) {
    typedef typename TARGET::Format F;
    Number sum = number_of<FROM>(from);
#pragma unroll
    for (int i = 0; i < group_length(GROUP); ++i) {
        const int k = group_index(GROUP, i);
        const Number a = x.a(k).number, b = x.b(k).number;
        Number next = START_PRODUCT && i == 0 ? multiply<TARGET::ROUNDING>(a, b)
                                              : multiply_add<TARGET::ROUNDING>(a, b, sum);
        if (next != next) {
            Word nan = TARGET::NAN_CODE;
            const Number operands[3] = {a, b, sum};
#pragma unroll
            for (int j = NAN_OPERANDS - 1; j >= 0; --j) {
                const Number operand = operands[nan_operand(j)];
                if (operand != operand) nan = code_of(operand) | 1ull << (F::TRAILING_BITS - 1);
            }
#if FACTOR == FACTOR_F32
            next = __uint_as_float((unsigned)nan);
#else
            next = __longlong_as_double((long long)nan);
#endif
        }
        sum = next;
    }
    return code_of(sum);
}

// A code whose NaN is quiet.
template <class F> MODEL Word quiet(Word code) {
    return decode<F, KEEP>(code).kind == NOT_A_NUMBER ? code | 1ull << (F::TRAILING_BITS - 1) : code;
}
