// Matrix products by the instruction itself: every element is a chain of its steps.
//
// Follows mma.cu for a dense instruction whose C and D have one format. `pack_a` and `pack_b` lay out the operands as
// the registers of the steps, padded with zeros; `products` sums them. A warp has DOWN x ACROSS tiles of D, a block
// WARPS_DOWN x WARPS_ACROSS warps.

typedef unsigned long long Word;

// A step's range of k; zeros fill it up to K.
struct Step {
    int from;
    int count;
};

// Registers by tile, step, lane and place. `total` is the number of registers of all tiles, padded to whole blocks.
extern "C" __global__ void pack_a(const A::Code* a, const Step* steps, Word count, Word rows, Word k, A::Register* packed, Word total) {
    for (Word at = (Word)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (Word)gridDim.x * blockDim.x) {
        const int r = (int)(at % A_REGISTERS), lane = (int)(at / A_REGISTERS % 32);
        const Word tile = at / (A_REGISTERS * 32) / count;
        const Step step = steps[at / (A_REGISTERS * 32) % count];
        A::Register packed_codes = 0;
        for (int i = 0; i < A::CODES; ++i) {
            const int place = a_place(lane, r, i), within = place % K;
            const Word row = tile * M + place / K;
            const A::Code code = row < rows && within < step.count ? a[row * k + step.from + within] : 0;
            packed_codes |= (A::Register)code << (i * A_BITS);
        }
        packed[at] = packed_codes;
    }
}

extern "C" __global__ void pack_b(const B::Code* b, const Step* steps, Word count, Word columns, B::Register* packed, Word total) {
    for (Word at = (Word)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (Word)gridDim.x * blockDim.x) {
        const int r = (int)(at % B_REGISTERS), lane = (int)(at / B_REGISTERS % 32);
        const Word tile = at / (B_REGISTERS * 32) / count;
        const Step step = steps[at / (B_REGISTERS * 32) % count];
        B::Register packed_codes = 0;
        for (int i = 0; i < B::CODES; ++i) {
            const int place = b_place(lane, r, i), within = place / N;
            const Word column = tile * N + place % N;
            const B::Code code = column < columns && within < step.count ? b[(step.from + within) * columns + column] : 0;
            packed_codes |= (B::Register)code << (i * B_BITS);
        }
        packed[at] = packed_codes;
    }
}

// Loads the registers of a warp's tiles for a step.
template <int TILES, int REGISTERS, class Register>
__device__ __forceinline__ void load(Register (&fragments)[TILES][REGISTERS], const Register* own, Word tile_stride) {
#pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
#pragma unroll
        for (int r = 0; r < REGISTERS; ++r) fragments[tile][r] = own[tile * tile_stride + r];
    }
}

// The steps of run r end before `ends[r]`. With PROMOTED, each run's sum is added to an f32 register; else results are
// codes of D.
extern "C" __global__ void __launch_bounds__(WARPS_DOWN * WARPS_ACROSS * 32)
    products(const A::Register* a, const B::Register* b, const Word* ends, Word runs, Word rows, Word columns, D::Code* d) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const Word wide = (columns + WARPS_ACROSS * ACROSS * N - 1) / (WARPS_ACROSS * ACROSS * N);
    const Word down = (blockIdx.x / wide * WARPS_DOWN + warp / WARPS_ACROSS) * DOWN;
    const Word right = (blockIdx.x % wide * WARPS_ACROSS + warp % WARPS_ACROSS) * ACROSS;
    const Word steps = ends[runs - 1];
    const Word of_a = 32 * A_REGISTERS, of_b = 32 * B_REGISTERS;
    const A::Register* const own_a = a + down * steps * of_a + lane * A_REGISTERS;
    const B::Register* const own_b = b + right * steps * of_b + lane * B_REGISTERS;
    A::Register next_a[DOWN][A_REGISTERS];
    B::Register next_b[ACROSS][B_REGISTERS];
    D::Register sums[DOWN][ACROSS][D_REGISTERS] = {};
#if PROMOTED
    float promoted[DOWN][ACROSS][D_REGISTERS] = {};
#endif
    load(next_a, own_a, steps * of_a);
    load(next_b, own_b, steps * of_b);
    Word step = 0;
#pragma unroll 1
    for (Word run = 0; run < runs; ++run) {
        const Word end = ends[run];
#pragma unroll 2
        for (; step < end; ++step) {
            A::Register fa[DOWN][A_REGISTERS];
            B::Register fb[ACROSS][B_REGISTERS];
#pragma unroll
            for (int i = 0; i < DOWN; ++i) {
#pragma unroll
                for (int r = 0; r < A_REGISTERS; ++r) fa[i][r] = next_a[i][r];
            }
#pragma unroll
            for (int j = 0; j < ACROSS; ++j) {
#pragma unroll
                for (int r = 0; r < B_REGISTERS; ++r) fb[j][r] = next_b[j][r];
            }
            // The last step is read twice: nothing follows it.
            const Word following = step + 1 < steps ? step + 1 : step;
            load(next_a, own_a + following * of_a, steps * of_a);
            load(next_b, own_b + following * of_b, steps * of_b);
#pragma unroll
            for (int i = 0; i < DOWN; ++i) {
#pragma unroll
                for (int j = 0; j < ACROSS; ++j) {
                    D::Register fd[D_REGISTERS];
                    EXECUTE(fd, fa[i], fb[j], sums[i][j]);
#pragma unroll
                    for (int r = 0; r < D_REGISTERS; ++r) sums[i][j][r] = fd[r];
                }
            }
        }
#if PROMOTED
#pragma unroll
        for (int i = 0; i < DOWN; ++i) {
#pragma unroll
            for (int j = 0; j < ACROSS; ++j) {
#pragma unroll
                for (int r = 0; r < D_REGISTERS; ++r) {
                    promoted[i][j][r] = __fadd_rn(promoted[i][j][r], __uint_as_float(sums[i][j][r]));
                    sums[i][j][r] = 0;
                }
            }
        }
#endif
    }
#pragma unroll
    for (int i = 0; i < DOWN; ++i) {
#pragma unroll
        for (int j = 0; j < ACROSS; ++j) {
#pragma unroll
            for (int e = 0; e < D_REGISTERS * D::CODES; ++e) {
                const int place = cd_place(lane, e);
                const Word row = (down + i) * M + place / N, column = (right + j) * N + place % N;
                if (row >= rows || column >= columns) continue;
#if PROMOTED
                d[row * columns + column] = __float_as_uint(promoted[i][j][e]);
#else
                d[row * columns + column] = (D::Code)(sums[i][j][e / D::CODES] >> (e % D::CODES * D_BITS % (8 * sizeof(D::Register))));
#endif
            }
        }
    }
}
