// What loads from shared memory take: rounds of so many independent chains of them, back to back. What is loaded is the address of the
// next load of the chain, which is the same one.
//
// Specialised by WAYS (threads of a warp, or of those that are served together, that want the same bank), MATRICES (of ldmatrix; 0: ld.shared)
// and WORDS that ld.shared loads.

typedef unsigned long long Word;

// Loads in the body of the loop, about.
const int BODY = 16;

__device__ __forceinline__ Word nanoseconds() {
    Word now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// The first word that a thread loads from `at`.
__device__ __forceinline__ unsigned load(unsigned at) {
    unsigned first;
#if MATRICES == 1
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(first) : "r"(at));
#elif MATRICES == 2
    unsigned second;
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(first), "=r"(second) : "r"(at));
#elif MATRICES == 4
    unsigned second, third, fourth;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(first), "=r"(second), "=r"(third), "=r"(fourth)
                 : "r"(at));
#elif WORDS == 1
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(first) : "r"(at));
#else
    unsigned second;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(first), "=r"(second) : "r"(at));
#endif
    return first;
}

template <int INDEPENDENT>
__device__ __forceinline__ void rounds(Word count, Word* times, unsigned* sink) {
    __shared__ __align__(128) unsigned memory[1024];
    const unsigned lane = threadIdx.x % 32;
    const unsigned base = (unsigned)__cvta_generic_to_shared(memory);
#if MATRICES
    // Thread t gives the address of row t, and gets word t.
    const unsigned own = base + 16 * lane;
    if (threadIdx.x < 32) memory[lane] = own;
#else
    const unsigned own = base + 4 * WAYS * lane;
    if (threadIdx.x < 32) memory[WAYS * lane] = own;
#endif
    unsigned at[INDEPENDENT];
#pragma unroll
    for (int i = 0; i < INDEPENDENT; ++i) at[i] = own;
    Word* const written = times + ((Word)blockIdx.x * blockDim.x + threadIdx.x) / 32 * 4;
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
                for (int i = 0; i < INDEPENDENT; ++i) at[i] = load(at[i]);
            }
        }
        const Word end = clock64();
        const Word ended = nanoseconds();
        if (lane == 0) {
            written[0] = begin;
            written[1] = end;
            written[2] = began;
            written[3] = ended;
        }
    }
    unsigned all = 0;
#pragma unroll
    for (int i = 0; i < INDEPENDENT; ++i) all ^= at[i];
    sink[(Word)blockIdx.x * blockDim.x + threadIdx.x] = all;
}

#define COST(INDEPENDENT)                                                                                           \
    extern "C" __global__ void cost_##INDEPENDENT(const void*, const void*, const void*, Word count, unsigned, Word* times, \
                                                  unsigned* sink) {                                                 \
        rounds<INDEPENDENT>(count, times, sink);                                                                    \
    }

COST(1)
COST(2)
COST(3)
COST(4)
COST(5)
COST(6)
COST(7)
COST(8)
