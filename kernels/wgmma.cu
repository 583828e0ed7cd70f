// wgmma.mma_async m64nNkK, dense and sparse: one tile per warpgroup, a block of 128 threads.
//
// Specialised by M, N, K, STORED_K, A_BITS .. D_BITS, A_REGISTERS, D_REGISTERS, A_IN_REGISTERS and EXECUTE(d, a, b),
// for sparse forms EXECUTE(d, a, b, metadata). d holds C before and D after, a is a fragment or a shared-memory
// descriptor, b is a descriptor. EXECUTE is one asm statement with its fence, commit and wait, so that nothing comes
// between them. Layouts: PTX ISA, "Asynchronous Warpgroup Level Matrix Register Fragment" and "Shared Memory Matrix
// Layout".

const int THREADS_PER_RUN = 128;
const int TILES_PER_RUN = 1;

__device__ constexpr int tile_of(int) { return 0; }

// A K-major operand consists of core matrices of 8 rows by 16 bytes, each 128 contiguous bytes; the core matrices of 8
// rows are adjacent. An instruction takes 32 bytes of K, and 64 of a sparse form's B.
const int CORE_BYTES = 128;
const int A_ROW_BYTES = STORED_K * A_BITS / 8;
const int B_ROW_BYTES = K * B_BITS / 8;
// Codes per word of memory: more than one if narrower than a byte.
const int A_CODES = 8 * sizeof(A::Code) / A_BITS;
const int B_CODES = 8 * sizeof(B::Code) / B_BITS;

template <int ROW_BYTES> __device__ constexpr int shared_byte(int row, int byte) {
    return row / 8 * (8 * ROW_BYTES) + byte / 16 * CORE_BYTES + row % 8 * 16 + byte % 16;
}

// Packs the codes at `tile`, `step` codes apart, into a word.
template <int BITS>
__device__ __forceinline__ typename Width<BITS>::Code packed(const typename Width<BITS>::Code* tile, int step) {
    typename Width<BITS>::Code word = tile[0];
#pragma unroll
    for (int i = 1; i < 8 * (int)sizeof(word) / BITS; ++i) word |= tile[i * step] << (i * BITS);
    return word;
}

// Address, step along K and step between groups of 8 rows, in units of 16 bytes, without swizzle.
template <int ROW_BYTES> __device__ __forceinline__ unsigned long long descriptor(const unsigned char* operand) {
    const unsigned long long address = __cvta_generic_to_shared(operand);
    return (address & 0x3ffff) >> 4 | (unsigned long long)(CORE_BYTES >> 4) << 16 |
           (unsigned long long)(8 * ROW_BYTES >> 4) << 32;
}

// A fragment in registers, as for m16n8kK, with 16 rows per warp.
__device__ constexpr int a_place(int thread, int r, int i) {
    const int row = thread / 32 * 16 + thread % 32 / 4 + 8 * (r % 2);
    const int k = A::CODES * (thread % 4) + i + 4 * A::CODES * (r / 2);
    return row * STORED_K + k;
}

// `e` counts a thread's elements of C or D.
__device__ constexpr int cd_place(int thread, int e) {
    const int row = thread / 32 * 16 + thread % 32 / 4 + 8 * (e / 2 % 2);
    const int column = 2 * (thread % 4) + e % 2 + 8 * (e / 4);
    return row * N + column;
}

// D = A * B + C for one tile, by a whole block.
__device__ __forceinline__ void run_tile(const A::Code* a, const B::Code* b, const C::Code* c,
                                         const unsigned char* positions, D::Code* d, int thread) {
    __shared__ __align__(128) unsigned char shared_b[N * B_ROW_BYTES];
#pragma unroll 1
    for (int e = thread; e < K / B_CODES * N; e += THREADS_PER_RUN) {
        const int word = e / N, column = e % N;
        *(B::Code*)(shared_b + shared_byte<B_ROW_BYTES>(column, word * sizeof(B::Code))) =
            packed<B_BITS>(b + word * B_CODES * N + column, N);
    }
#if A_IN_REGISTERS
    A::Register fa[A_REGISTERS];
    gather<A_BITS>(fa, a, [=](int r, int i) { return a_place(thread, r, i); });
#else
    __shared__ __align__(128) unsigned char shared_a[M * A_ROW_BYTES];
    const unsigned long long fa = descriptor<A_ROW_BYTES>(shared_a);
#pragma unroll 1
    for (int e = thread; e < M * STORED_K / A_CODES; e += THREADS_PER_RUN) {
        const int row = e / (STORED_K / A_CODES), word = e % (STORED_K / A_CODES);
        *(A::Code*)(shared_a + shared_byte<A_ROW_BYTES>(row, word * sizeof(A::Code))) = packed<A_BITS>(a + e * A_CODES, 1);
    }
#endif
    D::Register fd[D_REGISTERS];
    gather<D_BITS>(fd, c, [=](int r, int i) { return cd_place(thread, r * D::CODES + i); });
    // The matrix unit reads shared memory through the asynchronous proxy, which our stores must reach first.
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
#if SPARSE
    EXECUTE(fd, fa, descriptor<B_ROW_BYTES>(shared_b),
            metadata(positions + thread / 32 * 16 * STORED_K, thread % 32));
#else
    EXECUTE(fd, fa, descriptor<B_ROW_BYTES>(shared_b));
#endif
    scatter<D_BITS>(fd, d, [=](int r, int i) { return cd_place(thread, r * D::CODES + i); });
    // The next tile would overwrite operands that all four warps read.
    __syncthreads();
}
