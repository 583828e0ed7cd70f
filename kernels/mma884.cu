// mma.sync.m8n8k4 on f16: four independent tiles per warp, one per quadpair of lanes.
//
// Specialised by M, N, K, A_BITS .. D_BITS, A_REGISTERS .. D_REGISTERS, A_COLUMN_MAJOR, B_COLUMN_MAJOR and EXECUTE(d,
// a, b, c). Tiles in memory are always row-major; the layouts only say which lane holds which element. Register
// layouts: PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16".

const int THREADS_PER_RUN = 32;
const int TILES_PER_RUN = 4;

// Quadpair q holds lanes 4q .. 4q + 3 and 4q + 16 .. 4q + 19; the upper four have the upper half of the tile.
__device__ constexpr int tile_of(int lane) { return lane % 16 / 4; }
__device__ constexpr int upper(int lane) { return lane >= 16 ? 4 : 0; }

__device__ constexpr int a_place(int lane, int j) {
    return A_COLUMN_MAJOR ? (j + upper(lane)) * K + lane % 4 : (lane % 4 + upper(lane)) * K + j;
}

__device__ constexpr int b_place(int lane, int j) {
    return B_COLUMN_MAJOR ? j * N + lane % 4 + upper(lane) : lane % 4 * N + j + upper(lane);
}

// Element `j` of 16 or 32 bits, which have different layouts.
__device__ constexpr int cd_place(int bits, int lane, int j) {
    const int row = bits == 16 ? lane % 4 : (lane & 1) + (j & 2);
    const int column = bits == 16 ? j : (j & 4) + (lane & 2) + (j & 1);
    return (row + upper(lane)) * N + column;
}

// D = A * B + C for four tiles; each lane gives the pointers of its quadpair's tile.
__device__ __forceinline__ void run_tile(const A::Code* a, const B::Code* b, const C::Code* c,
                                         const unsigned char* positions, D::Code* d, int lane) {
    A::Register fa[A_REGISTERS];
    B::Register fb[B_REGISTERS];
    C::Register fc[C_REGISTERS];
    D::Register fd[D_REGISTERS];
    gather<A_BITS>(fa, a, [=](int r, int i) { return a_place(lane, r * A::CODES + i); });
    gather<B_BITS>(fb, b, [=](int r, int i) { return b_place(lane, r * B::CODES + i); });
    gather<C_BITS>(fc, c, [=](int r, int i) { return cd_place(C_BITS, lane, r * C::CODES + i); });
    EXECUTE(fd, fa, fb, fc);
    scatter<D_BITS>(fd, d, [=](int r, int i) { return cd_place(D_BITS, lane, r * D::CODES + i); });
}
