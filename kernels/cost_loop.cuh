// Measurement of costs: rounds of runs, back to back, between two readings of the clocks. Precedes cost.cu,
// cost_wgmma.cu, cost_loads.cu and cost_scalar.cu.

typedef unsigned long long Word;

// Runs in the body of the loop (about).
const int BODY = 16;

__device__ __forceinline__ Word nanoseconds() {
    Word now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// Does `round` `count` times, then `finish`. Writes this warp's `times`: start and end in clocks, start and end in
// nanoseconds.
template <class Round, class Finish>
__device__ __forceinline__ void timed(Word count, Word* times, Round round, Finish finish) {
    Word* const own = times + ((Word)blockIdx.x * blockDim.x + threadIdx.x) / 32 * 4;
    // A first round warms the instruction cache.
#pragma unroll 1
    for (int time = 0; time < 2; ++time) {
        const Word last = time == 0 ? 1 : count;
        __syncthreads();
        const Word began = nanoseconds();
        const Word begin = clock64();
#pragma unroll 1
        for (Word at = 0; at < last; ++at) round();
        finish();
        const Word end = clock64();
        const Word ended = nanoseconds();
        if (threadIdx.x % 32 == 0) {
            own[0] = begin;
            own[1] = end;
            own[2] = began;
            own[3] = ended;
        }
    }
}

// Combines the results of all runs, so that none is optimised away.
template <int COUNT, int REGISTERS, class Register>
__device__ __forceinline__ void keep(const Register (&sums)[COUNT][REGISTERS], Register* sink) {
    Register all = 0;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
#pragma unroll
        for (int r = 0; r < REGISTERS; ++r) all ^= sums[i][r];
    }
    sink[(Word)blockIdx.x * blockDim.x + threadIdx.x] = all;
}

// The entry cost_N calls rounds<N> with its arguments.
#define COST(INDEPENDENT)                                                                                                       \
    extern "C" __global__ void cost_##INDEPENDENT(const void* a, const void* b, const void* c, Word count, unsigned step, Word* times, \
                                                  void* sink) {                                                                 \
        rounds<INDEPENDENT>(a, b, c, count, step, times, sink);                                                                 \
    }
#define COSTS COST(1) COST(2) COST(3) COST(4) COST(5) COST(6) COST(7) COST(8)
