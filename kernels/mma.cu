// mma.sync and mma.sp of the shapes m16n8kK and m8n8kK: one tile to a warp.
//
// Specialised by M, N, K, STORED_K, A_BITS .. D_BITS, A_REGISTERS .. D_REGISTERS and EXECUTE(d, a, b, c), for sparse
// forms EXECUTE(d, a, b, c, metadata). The stored elements of a sparse A lie like a dense A with STORED_K columns.
// Register layouts: PTX ISA, "Matrix Fragments for mma". With g = lane / 4 and t = lane % 4, one formula for each
// operand covers every shape and width: g counts eight rows (columns of B), t counts codes along k.

const int THREADS_PER_RUN = 32;
const int TILES_PER_RUN = 1;

__device__ constexpr int tile_of(int) { return 0; }

__device__ constexpr int a_place(int lane, int r, int i) {
    const int row = lane / 4 + 8 * (r % (M / 8));
    const int k = A::CODES * (lane % 4) + i + 4 * A::CODES * (r / (M / 8));
    return row * STORED_K + k;
}

__device__ constexpr int b_place(int lane, int r, int i) {
    const int k = B::CODES * (lane % 4) + i + 4 * B::CODES * r;
    const int column = lane / 4;
    return k * N + column;
}

// `e` counts a lane's elements of C or D.
__device__ constexpr int cd_place(int lane, int e) {
    const int row = lane / 4 + 8 * (e / 2);
    const int column = 2 * (lane % 4) + e % 2;
    return row * N + column;
}

// D = A * B + C for one tile.
__device__ __forceinline__ void run_tile(const A::Code* a, const B::Code* b, const C::Code* c,
                                         const unsigned char* positions, D::Code* d, int lane) {
    A::Register fa[A_REGISTERS];
    B::Register fb[B_REGISTERS];
    C::Register fc[C_REGISTERS];
    D::Register fd[D_REGISTERS];
    gather<A_BITS>(fa, a, [=](int r, int i) { return a_place(lane, r, i); });
    gather<B_BITS>(fb, b, [=](int r, int i) { return b_place(lane, r, i); });
    gather<C_BITS>(fc, c, [=](int r, int i) { return cd_place(lane, r * C::CODES + i); });
#if SPARSE
    EXECUTE(fd, fa, fb, fc, metadata(positions, lane));
#else
    EXECUTE(fd, fa, fb, fc);
#endif
    scatter<D_BITS>(fd, d, [=](int r, int i) { return cd_place(lane, r * D::CODES + i); });
}
