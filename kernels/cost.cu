// Cost of a matrix instruction of whole warps: rounds of runs on independent sums.
//
// Follows mma.cu, mma884.cu or wmma.cu, and cost_loop.cuh. If C and D have one format (CHAINED), a sum is C of the next
// run; else C is made of the sum's bits. If the instruction includes conversions of its operands (FRESH), every run
// gets new words of A and B, by adding `step`, which is 0: the compiler cannot convert them once for several runs.
// Operands are registers: word r of lane l at r * 32 + l.

// Stored elements of A: the first two of every four.
const unsigned METADATA = 0x44444444;

template <int REGISTERS, class Register>
__device__ __forceinline__ void load(Register (&fragment)[REGISTERS], const void* words) {
#pragma unroll
    for (int r = 0; r < REGISTERS; ++r) fragment[r] = ((const Register*)words)[r * 32 + threadIdx.x % 32];
}

template <int INDEPENDENT>
__device__ __forceinline__ void rounds(const void* a, const void* b, const void* c, Word count, unsigned step, Word* times, void* sink) {
    A::Register fa[A_REGISTERS];
    B::Register fb[B_REGISTERS];
    C::Register fc[C_REGISTERS];
    D::Register sums[INDEPENDENT][D_REGISTERS] = {};
    load(fa, a);
    load(fb, b);
    load(fc, c);
    const auto round = [&] {
#pragma unroll
        for (int turn = 0; turn < BODY / INDEPENDENT; ++turn) {
#pragma unroll
            for (int i = 0; i < INDEPENDENT; ++i) {
#if FRESH
#pragma unroll
                for (int r = 0; r < A_REGISTERS; ++r) fa[r] += step;
#pragma unroll
                for (int r = 0; r < B_REGISTERS; ++r) fb[r] += step;
#endif
#if SPARSE
                EXECUTE(sums[i], fa, fb, sums[i], METADATA);
#elif CHAINED
                EXECUTE(sums[i], fa, fb, sums[i]);
#else
                // The bits of the sums as C, in any format: runs wait for each other, and none is optimised away.
                C::Register own[C_REGISTERS];
#pragma unroll
                for (int r = 0; r < C_REGISTERS; ++r) own[r] = fc[r];
#pragma unroll
                for (int r = 0; r < (C_REGISTERS > D_REGISTERS ? C_REGISTERS : D_REGISTERS); ++r) {
                    own[r % C_REGISTERS] ^= sums[i][r % D_REGISTERS];
                }
                EXECUTE(sums[i], fa, fb, own);
#endif
            }
        }
    };
    timed(count, times, round, [] {});
    keep(sums, (D::Register*)sink);
}

COSTS
