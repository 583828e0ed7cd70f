// Cost of loads from shared memory: rounds of independent chains. Each load returns the address of its chain's next
// load, which is its own.
//
// Follows cost_loop.cuh. Specialised by WAYS (threads served together that want the same bank), MATRICES (of ldmatrix;
// 0: ld.shared) and WORDS per ld.shared.

// Loads from `at`, and returns the thread's first word.
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
__device__ __forceinline__ void rounds(const void*, const void*, const void*, Word count, unsigned, Word* times, void* sink) {
    __shared__ __align__(128) unsigned memory[1024];
    const unsigned lane = threadIdx.x % 32;
    const unsigned base = (unsigned)__cvta_generic_to_shared(memory);
#if MATRICES
    // Thread t gives the address of row t and gets word t.
    const unsigned own = base + 16 * lane;
    if (threadIdx.x < 32) memory[lane] = own;
#else
    const unsigned own = base + 4 * WAYS * lane;
    if (threadIdx.x < 32) memory[WAYS * lane] = own;
#endif
    unsigned at[INDEPENDENT][1];
#pragma unroll
    for (int i = 0; i < INDEPENDENT; ++i) at[i][0] = own;
    const auto round = [&] {
#pragma unroll
        for (int turn = 0; turn < BODY / INDEPENDENT; ++turn) {
#pragma unroll
            for (int i = 0; i < INDEPENDENT; ++i) at[i][0] = load(at[i][0]);
        }
    };
    timed(count, times, round, [] {});
    keep(at, (unsigned*)sink);
}

COSTS
