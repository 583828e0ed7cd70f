// What an instruction takes of whole warps: rounds of so many independent runs of it, each on its own sums, back to back.
//
// Put behind mma.cu, mma884.cu and wmma.cu. Sums are C of the next run where C and D have one format (CHAINED); else C is made of
// their bits. Where conversions of operands belong to the instruction (FRESH), every run has an A and a B of its own, so that the compiler cannot
// convert them once for several runs: `step`, which is 0, is added to their words. Operands are registers: word r of lane l at r * 32 + l.

typedef unsigned long long Word;

// Runs in the body of the loop, about.
const int BODY = 16;
// What of A is stored: the first two of every four elements.
const unsigned METADATA = 0x44444444;

__device__ __forceinline__ Word nanoseconds() {
    Word now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

template <int REGISTERS, class Register>
__device__ __forceinline__ void load(Register (&fragment)[REGISTERS], const Register* words) {
#pragma unroll
    for (int r = 0; r < REGISTERS; ++r) fragment[r] = words[r * 32 + threadIdx.x % 32];
}

// `times` of a warp: clocks at the beginning and at the end, nanoseconds at the beginning and at the end.
template <int INDEPENDENT>
__device__ __forceinline__ void rounds(const A::Register* a, const B::Register* b, const C::Register* c, Word count,
                                       unsigned step, Word* times, D::Register* sink) {
    A::Register fa[A_REGISTERS];
    B::Register fb[B_REGISTERS];
    C::Register fc[C_REGISTERS];
    D::Register sums[INDEPENDENT][D_REGISTERS] = {};
    load(fa, a);
    load(fb, b);
    load(fc, c);
    Word* const own = times + ((Word)blockIdx.x * blockDim.x + threadIdx.x) / 32 * 4;
    // The first time, one round brings the code near.
#pragma unroll 1
    for (int time = 0; time < 2; ++time) {
        const Word last = time == 0 ? 1 : count;
        __syncthreads();
        const Word began = nanoseconds();
        const Word begin = clock64();
#pragma unroll 1
        for (Word round = 0; round < last; ++round) {
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
                    // Whatever the bits of the sums are in the format of C: the runs wait for one another, and none is left out.
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
        }
        const Word end = clock64();
        const Word ended = nanoseconds();
        if (threadIdx.x % 32 == 0) {
            own[0] = begin;
            own[1] = end;
            own[2] = began;
            own[3] = ended;
        }
    }
    D::Register all = 0;
#pragma unroll
    for (int i = 0; i < INDEPENDENT; ++i) {
#pragma unroll
        for (int r = 0; r < D_REGISTERS; ++r) all ^= sums[i][r];
    }
    sink[(Word)blockIdx.x * blockDim.x + threadIdx.x] = all;
}

#define COST(INDEPENDENT)                                                                                                     \
    extern "C" __global__ void cost_##INDEPENDENT(const A::Register* a, const B::Register* b, const C::Register* c, Word count, \
                                                  unsigned step, Word* times, D::Register* sink) {                                           \
        rounds<INDEPENDENT>(a, b, c, count, step, times, sink);                                                                     \
    }

COST(1)
COST(2)
COST(3)
COST(4)
COST(5)
COST(6)
COST(7)
COST(8)
