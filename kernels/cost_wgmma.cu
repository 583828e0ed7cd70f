// What an instruction takes of warpgroups: rounds of so many independent runs of it, each on its own sums, issued back to back; and
// runs each of which is waited for.
//
// Put behind wgmma.cu, with ISSUE, which is EXECUTE without fence, commit and wait. MOST_INDEPENDENT: 1, 2 or 4. All warpgroups of a
// block read the same A (unless it is in registers) and the same B. Operands: A in registers as word r of thread t at r * 128 + t, in
// shared memory as its bytes; B as its bytes.

typedef unsigned long long Word;

// Runs in the body of the loop.
const int BODY = 16;
// What of A is stored: the first two of every four elements.
const unsigned METADATA = 0x44444444;
const int THREADS = 128;

__device__ __forceinline__ Word nanoseconds() {
    Word now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

#if A_IN_REGISTERS
typedef A::Register (&FactorA)[A_REGISTERS];
#else
typedef Word FactorA;
#endif

__device__ __forceinline__ void issue(D::Register (&sums)[D_REGISTERS], FactorA fa, Word fb) {
#if SPARSE
    ISSUE(sums, fa, fb, METADATA);
#else
    ISSUE(sums, fa, fb);
#endif
}

// INDEPENDENT 0: one sum, and each run is waited for.
template <int INDEPENDENT>
__device__ __forceinline__ void rounds(const unsigned char* a, const unsigned char* b, Word count, Word* times, D::Register* sink) {
    const int SUMS = INDEPENDENT > 0 ? INDEPENDENT : 1;
    __shared__ __align__(128) unsigned char shared_b[N * B_ROW_BYTES];
    for (int at = threadIdx.x; at < N * B_ROW_BYTES; at += blockDim.x) shared_b[at] = b[at];
#if A_IN_REGISTERS
    A::Register fa[A_REGISTERS];
#pragma unroll
    for (int r = 0; r < A_REGISTERS; ++r) fa[r] = ((const A::Register*)a)[r * THREADS + threadIdx.x % THREADS];
#else
    __shared__ __align__(128) unsigned char shared_a[M * A_ROW_BYTES];
    for (int at = threadIdx.x; at < M * A_ROW_BYTES; at += blockDim.x) shared_a[at] = a[at];
    const Word fa = descriptor<A_ROW_BYTES>(shared_a);
#endif
    const Word fb = descriptor<B_ROW_BYTES>(shared_b);
    D::Register sums[SUMS][D_REGISTERS] = {};
    Word* const own = times + ((Word)blockIdx.x * blockDim.x + threadIdx.x) / 32 * 4;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    // The first time, one round, brings the code near.
#pragma unroll 1
    for (int time = 0; time < 2; ++time) {
        const Word last = time == 0 ? 1 : count;
        __syncthreads();
        const Word began = nanoseconds();
        const Word begin = clock64();
#pragma unroll 1
        for (Word round = 0; round < last; ++round) {
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            if (INDEPENDENT == 0) {
                issue(sums[0], fa, fb);
                asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
                continue;
            }
#pragma unroll
            for (int step = 0; step < BODY / SUMS; ++step) {
#pragma unroll
                for (int i = 0; i < SUMS; ++i) issue(sums[i], fa, fb);
            }
            asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;" ::: "memory");
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
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
    for (int i = 0; i < SUMS; ++i) {
#pragma unroll
        for (int r = 0; r < D_REGISTERS; ++r) all ^= sums[i][r];
    }
    sink[(Word)blockIdx.x * blockDim.x + threadIdx.x] = all;
}

#define COST(INDEPENDENT)                                                                                                     \
    extern "C" __global__ void cost_##INDEPENDENT(const unsigned char* a, const unsigned char* b, const unsigned char*, Word count, \
                                                  unsigned, Word* times, D::Register* sink) {                                           \
        rounds<INDEPENDENT>(a, b, count, times, sink);                                                                        \
    }

COST(0)
COST(1)
#if MOST_INDEPENDENT >= 2
COST(2)
#endif
#if MOST_INDEPENDENT >= 4
COST(4)
#endif
