// Cost of a warpgroup instruction: rounds of runs on independent sums, issued back to back, and runs that are waited
// for one by one.
//
// Follows wgmma.cu, with ISSUE (EXECUTE without fence, commit and wait), and cost_loop.cuh. MOST_INDEPENDENT is 1, 2 or
// 4. All warpgroups of a block read the same A (unless it is in registers) and the same B. Operands: A in registers as
// word r of thread t at r * 128 + t, in shared memory as bytes; B as bytes.

// Stored elements of A: the first two of every four.
const unsigned METADATA = 0x44444444;
const int THREADS = 128;

#if A_IN_REGISTERS
typedef A::Register (&FactorA)[A_REGISTERS];
#else
typedef const Word& FactorA;
#endif

__device__ __forceinline__ void issue(D::Register (&sums)[D_REGISTERS], FactorA fa, Word fb) {
#if SPARSE
    ISSUE(sums, fa, fb, METADATA);
#else
    ISSUE(sums, fa, fb);
#endif
}

// INDEPENDENT 0 is one sum whose runs are waited for one by one.
template <int INDEPENDENT>
__device__ __forceinline__ void rounds(const void* a, const void* b, const void*, Word count, unsigned, Word* times, void* sink) {
    const int SUMS = INDEPENDENT > 0 ? INDEPENDENT : 1;
    __shared__ __align__(128) unsigned char shared_b[N * B_ROW_BYTES];
    for (int at = threadIdx.x; at < N * B_ROW_BYTES; at += blockDim.x) shared_b[at] = ((const unsigned char*)b)[at];
#if A_IN_REGISTERS
    A::Register fa[A_REGISTERS];
#pragma unroll
    for (int r = 0; r < A_REGISTERS; ++r) fa[r] = ((const A::Register*)a)[r * THREADS + threadIdx.x % THREADS];
#else
    __shared__ __align__(128) unsigned char shared_a[M * A_ROW_BYTES];
    for (int at = threadIdx.x; at < M * A_ROW_BYTES; at += blockDim.x) shared_a[at] = ((const unsigned char*)a)[at];
    const Word fa = descriptor<A_ROW_BYTES>(shared_a);
#endif
    const Word fb = descriptor<B_ROW_BYTES>(shared_b);
    D::Register sums[SUMS][D_REGISTERS] = {};
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    const auto round = [&] {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        if (INDEPENDENT == 0) {
            issue(sums[0], fa, fb);
            asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
            return;
        }
#pragma unroll
        for (int step = 0; step < BODY / SUMS; ++step) {
#pragma unroll
            for (int i = 0; i < SUMS; ++i) issue(sums[i], fa, fb);
        }
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;" ::: "memory");
    };
    timed(count, times, round, [] { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); });
    keep(sums, (D::Register*)sink);
}

COST(0)
COST(1)
#if MOST_INDEPENDENT >= 2
COST(2)
#endif
#if MOST_INDEPENDENT >= 4
COST(4)
#endif
