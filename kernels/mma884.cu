// mma.sync.m8n8k4 on f16: four independent tiles to a warp, one for each quadpair of lanes.
//
// Specialised by M, N, K, A_BITS .. D_BITS, A_REGISTERS .. D_REGISTERS, A_COLUMN_MAJOR, B_COLUMN_MAJOR and
// EXECUTE(d, a, b, c). Tiles in memory are row-major whatever the layouts: those only say which lane holds which element.
// Register layouts: PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16".

// Quadpair q holds lanes 4q .. 4q + 3 and 4q + 16 .. 4q + 19; the upper four have the upper half of the tile.
__device__ constexpr int upper(int lane) { return lane >= 16 ? 4 : 0; }

__device__ constexpr int a_place(int lane, int j) {
    return A_COLUMN_MAJOR ? (j + upper(lane)) * K + lane % 4 : (lane % 4 + upper(lane)) * K + j;
}

__device__ constexpr int b_place(int lane, int j) {
    return B_COLUMN_MAJOR ? j * N + lane % 4 + upper(lane) : lane % 4 * N + j + upper(lane);
}

// Element `j` of 16 or of 32 bits: the two widths have different layouts.
__device__ constexpr int cd_place(int bits, int lane, int j) {
    const int row = bits == 16 ? lane % 4 : (lane & 1) + (j & 2);
    const int column = bits == 16 ? j : (j & 4) + (lane & 2) + (j & 1);
    return (row + upper(lane)) * N + column;
}

// D[t] = A[t] * B[t] + C[t] for `tiles` tiles, row-major, one after the other.
extern "C" __global__ void execute(const A::Code* a, const B::Code* b, const C::Code* c, D::Code* d,
                                   unsigned long long tiles) {
    const int lane = threadIdx.x % 32;
    const unsigned warps = blockDim.x / 32;
#pragma unroll 1
    for (unsigned long long first = ((unsigned long long)blockIdx.x * warps + threadIdx.x / 32) * 4; first < tiles;
         first += (unsigned long long)gridDim.x * warps * 4) {
        const unsigned long long own = first + lane % 16 / 4;
        // A quadpair without a tile repeats the last one, for every lane has to take part.
        const unsigned long long tile = own < tiles ? own : tiles - 1;
        A::Register fa[A_REGISTERS];
        B::Register fb[B_REGISTERS];
        C::Register fc[C_REGISTERS];
        D::Register fd[D_REGISTERS];
        gather<A_BITS>(fa, a + tile * (M * K), [=](int r, int i) { return a_place(lane, r * A::CODES + i); });
        gather<B_BITS>(fb, b + tile * (K * N), [=](int r, int i) { return b_place(lane, r * B::CODES + i); });
        gather<C_BITS>(fc, c + tile * (M * N), [=](int r, int i) { return cd_place(C_BITS, lane, r * C::CODES + i); });
        EXECUTE(fd, fa, fb, fc);
        if (own < tiles) {
            scatter<D_BITS>(fd, d + tile * (M * N),
                            [=](int r, int i) { return cd_place(D_BITS, lane, r * D::CODES + i); });
        }
    }
}
