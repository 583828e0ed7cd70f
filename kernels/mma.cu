// mma.sync of the shapes m16n8kK and m8n8kK: one tile to a warp.
//
// Specialised by M, N, K, A_BITS .. D_BITS, A_REGISTERS .. D_REGISTERS and EXECUTE(d, a, b, c).
// Register layouts: PTX ISA, "Matrix Fragments for mma". With g = lane / 4 and t = lane % 4, one formula for each
// operand covers every shape and width: eight rows (columns of B) are spread over g, codes along k over t.

__device__ constexpr int a_place(int lane, int r, int i) {
    const int row = lane / 4 + 8 * (r % (M / 8));
    const int k = A::CODES * (lane % 4) + i + 4 * A::CODES * (r / (M / 8));
    return row * K + k;
}

__device__ constexpr int b_place(int lane, int r, int i) {
    const int k = B::CODES * (lane % 4) + i + 4 * B::CODES * r;
    const int column = lane / 4;
    return k * N + column;
}

// `e` counts the elements of C or D that a lane holds.
__device__ constexpr int cd_place(int lane, int e) {
    const int row = lane / 4 + 8 * (e / 2);
    const int column = 2 * (lane % 4) + e % 2;
    return row * N + column;
}

// D[t] = A[t] * B[t] + C[t] for `tiles` tiles, row-major, one after the other.
extern "C" __global__ void execute(const A::Code* a, const B::Code* b, const C::Code* c, D::Code* d,
                                   unsigned long long tiles) {
    const int lane = threadIdx.x % 32;
    const unsigned warps = blockDim.x / 32;
#pragma unroll 1
    for (unsigned long long tile = (unsigned long long)blockIdx.x * warps + threadIdx.x / 32; tile < tiles;
         tile += (unsigned long long)gridDim.x * warps) {
        A::Register fa[A_REGISTERS];
        B::Register fb[B_REGISTERS];
        C::Register fc[C_REGISTERS];
        D::Register fd[D_REGISTERS];
        gather<A_BITS>(fa, a + tile * (M * K), [=](int r, int i) { return a_place(lane, r, i); });
        gather<B_BITS>(fb, b + tile * (K * N), [=](int r, int i) { return b_place(lane, r, i); });
        gather<C_BITS>(fc, c + tile * (M * N), [=](int r, int i) { return cd_place(lane, r * C::CODES + i); });
        EXECUTE(fd, fa, fb, fc);
        scatter<D_BITS>(fd, d + tile * (M * N), [=](int r, int i) { return cd_place(lane, r * D::CODES + i); });
    }
}
