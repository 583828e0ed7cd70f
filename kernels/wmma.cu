// wmma.mma of every shape: one tile per warp, through shared memory.
//
// Specialised by M, N, K, A_BITS .. D_BITS, A_REGISTERS .. D_REGISTERS, and the statements LOAD_A(fragment, memory),
// LOAD_B, LOAD_C, STORE_D(memory, fragment) and EXECUTE(d, a, b, c). Only wmma.load and wmma.store know which lane
// holds which element. In scratch memory, A, C and D are row-major and B is column-major.

const int THREADS_PER_RUN = 32;
const int TILES_PER_RUN = 1;

__device__ constexpr int tile_of(int) { return 0; }

const int A_BYTES = M * K * A_BITS / 8;
const int B_BYTES = K * N * B_BITS / 8;
const int CD_BYTES = M * N * (C_BITS > D_BITS ? C_BITS : D_BITS) / 8;

// Copies a row-major tile of ROWS by COLUMNS codes to packed memory, column by column if COLUMN_MAJOR.
template <int BITS, int ROWS, int COLUMNS, bool COLUMN_MAJOR>
__device__ __forceinline__ void stage(unsigned char* memory, const typename Width<BITS>::Code* tile, int lane) {
    typedef typename Width<BITS>::Code Word;
    const int CODES = 8 * sizeof(Word) / BITS;
#pragma unroll
    for (int word = lane; word < ROWS * COLUMNS / CODES; word += THREADS_PER_RUN) {
        Word packed = 0;
#pragma unroll
        for (int i = 0; i < CODES; ++i) {
            const int e = word * CODES + i;
            packed |= tile[COLUMN_MAJOR ? e % ROWS * COLUMNS + e / ROWS : e] << (i * BITS);
        }
        ((Word*)memory)[word] = packed;
    }
}

// D = A * B + C for one tile.
__device__ __forceinline__ void run_tile(const A::Code* a, const B::Code* b, const C::Code* c,
                                         const unsigned char* positions, D::Code* d, int lane) {
    __shared__ __align__(128) unsigned char scratch[BLOCK_THREADS / THREADS_PER_RUN][A_BYTES + B_BYTES + CD_BYTES];
    unsigned char* const memory_a = scratch[threadIdx.x / THREADS_PER_RUN];
    unsigned char* const memory_b = memory_a + A_BYTES;
    unsigned char* const memory_cd = memory_b + B_BYTES;
    stage<A_BITS, M, K, false>(memory_a, a, lane);
    stage<B_BITS, K, N, true>(memory_b, b, lane);
    stage<C_BITS, M, N, false>(memory_cd, c, lane);
    __syncwarp();
    A::Register fa[A_REGISTERS];
    B::Register fb[B_REGISTERS];
    C::Register fc[C_REGISTERS];
    D::Register fd[D_REGISTERS];
    LOAD_A(fa, memory_a);
    LOAD_B(fb, memory_b);
    LOAD_C(fc, memory_cd);
    EXECUTE(fd, fa, fb, fc);
    __syncwarp();
    STORE_D(memory_cd, fd);
    __syncwarp();
#pragma unroll
    for (int e = lane; e < M * N; e += THREADS_PER_RUN) d[e] = ((const D::Code*)memory_cd)[e];
    // The next tile would overwrite what other lanes still read.
    __syncwarp();
}
