// Matrix products by the model: every element is a chain of the instruction's steps.
//
// Follows the definitions of an instruction of M rows and N columns, the width of its codes, and the arithmetic.
// `pack_a` and `pack_b` lay out the operands in the order of the steps, padded with zeros; `chains` sums them.

// A step's range of k; zeros fill it up to K.
struct Step {
    int from;
    int count;
};

// Codes by tile, row and place along the steps; factors by tile, place and row.
extern "C" __global__ void pack_a(const A::Code* a, const Step* steps, Word count, Word rows, Word k, A::Code* codes, Factor* factors) {
    const Word places = count * K, total = (rows + M - 1) / M * M * places;
    for (Word at = (Word)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (Word)gridDim.x * blockDim.x) {
        const Word place = at % places, row = at / places;
        const Step step = steps[place / K];
        const int within = (int)(place % K);
        const A::Code code = row < rows && within < step.count ? a[row * k + step.from + within] : 0;
        codes[at] = code;
        if (!BITS_ALONE) factors[(row / M * places + place) * M + row % M] = factor<FormatA, FactorA, true>(code);
    }
}

// Codes and factors by tile, place and column.
extern "C" __global__ void pack_b(const B::Code* b, const Step* steps, Word count, Word columns, B::Code* codes, Factor* factors) {
    const Word places = count * K, total = (columns + N - 1) / N * N * places;
    for (Word at = (Word)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (Word)gridDim.x * blockDim.x) {
        const Word column = at / (places * N) * N + at % N, place = at / N % places;
        const Step step = steps[place / K];
        const int within = (int)(place % K);
        const B::Code code = column < columns && within < step.count ? b[(step.from + within) * columns + column] : 0;
        codes[at] = code;
        if (!BITS_ALONE) factors[at] = factor<FormatB, FactorB, false>(code);
    }
}

#if FACTOR != FACTOR_INTEGER
// The value of a code of D in f32.
MODEL float single_of(Word code) {
    return __uint_as_float((unsigned)convert<FormatD, KEEP, TargetF32>(code));
}
#endif

// The steps of run r end before `ends[r]`. A block has the elements of one tile. With `promoted`, results are f32, else
// codes of D.
extern "C" __global__ void __launch_bounds__(M * N)
    chains(const A::Code* a_codes, const Factor* a_factors, const B::Code* b_codes, const Factor* b_factors, const Word* ends, Word runs,
           Word rows, Word columns, Word promoted, D::Code* d, unsigned* sums) {
    const Word across = (columns + N - 1) / N, down = blockIdx.x / across, right = blockIdx.x % across;
    const Word places = ends[runs - 1] * K;
    const int row = threadIdx.x / N, column = threadIdx.x % N;
    const A::Code* const own_a = a_codes + (down * M + row) * places;
    const Factor* const own_a_factors = a_factors + down * places * M + row;
    const B::Code* const own_b = b_codes + right * places * N + column;
    const Factor* const own_b_factors = b_factors + right * places * N + column;
    Word code = 0, step = 0;
#if FACTOR != FACTOR_INTEGER
    float sum = 0.0f;
#endif
#pragma unroll 1
    for (Word run = 0; run < runs; ++run) {
        code = 0;
#pragma unroll 1
        for (; step < ends[run]; ++step) {
            const Word place = step * K;
            const Operands x = {own_a_factors + place * M, own_b_factors + place * N, own_a + place, own_b + place * N, nullptr};
            code = model(x, code);
        }
#if FACTOR != FACTOR_INTEGER
        if (promoted) sum = __fadd_rn(sum, single_of(code));
#endif
    }
    if (down * M + row >= rows || right * N + column >= columns) return;
    const Word at = (down * M + row) * columns + right * N + column;
#if FACTOR != FACTOR_INTEGER
    if (promoted) {
        sums[at] = __float_as_uint(sum);
        return;
    }
#endif
    d[at] = (D::Code)code;
}
