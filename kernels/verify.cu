// The entry `verify` makes operands, executes the instruction, evaluates its arithmetic, and compares every code of D.
// Only counts, and the places and codes of differences, leave the GPU.
//
// Follows a family, the arithmetic with its function `model`, and the operands (`random.cuh` or `exhaustive.cuh`):
// `make_tile(seed, number)`, `regime_of(tile)`, `make_a`, `make_b`, `make_c`, `make_position`, and for block-scaled
// forms `make_scale_a` and `make_scale_b`.

const int REGIMES = 16;

// A difference: tile * (M * N) + element, and the codes of the instruction and of the arithmetic.
struct Mismatch {
    Word place, device, model;
};

// The result of a launch. `mismatches` holds the first differences found; `listed` counts them.
struct Found {
    Word compared[REGIMES];
    Word differing[REGIMES];
    Word listed;
    Mismatch mismatches[PLACES];
};

// Shared memory of one run: codes for the instruction, factors for the model.
struct Workspace {
    A::Code a[TILES_PER_RUN][M * STORED_K];
    B::Code b[TILES_PER_RUN][K * N];
    C::Code c[TILES_PER_RUN][M * N];
    D::Code d[TILES_PER_RUN][M * N];
    Factor row[TILES_PER_RUN][BITS_ALONE ? 1 : STORED_K * M];
    Factor column[TILES_PER_RUN][BITS_ALONE ? 1 : K * N];
    unsigned char positions[TILES_PER_RUN][SPARSE ? M * STORED_K : 1];
#ifdef SCALE_BLOCK
    unsigned char scale_a[TILES_PER_RUN][M * (K / SCALE_BLOCK)];
    unsigned char scale_b[TILES_PER_RUN][K / SCALE_BLOCK * N];
#endif
};

__device__ __forceinline__ void run_barrier() {
    if (THREADS_PER_RUN == 32) __syncwarp();
    else __syncthreads();
}

// Makes the codes and factors of one tile. A thread keeps to few indices along k, so that values of an index are made
// once.
__device__ __forceinline__ void make_operands(Workspace& w, int t, const MadeTile& tile, int lane) {
    constexpr int A_LANES = STORED_K < THREADS_PER_RUN ? STORED_K : THREADS_PER_RUN;
#pragma unroll 1
    for (int k = lane % A_LANES; k < STORED_K; k += A_LANES) {
#pragma unroll 1
        for (int row = lane / A_LANES; row < M; row += THREADS_PER_RUN / A_LANES) {
            const A::Code code = make_a(tile, row, k);
            w.a[t][row * STORED_K + k] = code;
            if (!BITS_ALONE) w.row[t][k * M + row] = factor<FormatA, FactorA, true>(code);
            if (SPARSE) w.positions[t][row * STORED_K + k] = make_position(tile, row, k);
        }
    }
    constexpr int B_LANES = K < THREADS_PER_RUN ? K : THREADS_PER_RUN;
#pragma unroll 1
    for (int k = lane % B_LANES; k < K; k += B_LANES) {
#pragma unroll 1
        for (int column = lane / B_LANES; column < N; column += THREADS_PER_RUN / B_LANES) {
            const B::Code code = make_b(tile, k, column);
            w.b[t][k * N + column] = code;
            if (!BITS_ALONE) w.column[t][k * N + column] = factor<FormatB, FactorB, false>(code);
        }
    }
#pragma unroll 1
    for (int e = lane; e < M * N; e += THREADS_PER_RUN) w.c[t][e] = make_c(tile, e / N, e % N);
#ifdef SCALE_BLOCK
    constexpr int BLOCKS = K / SCALE_BLOCK;
#pragma unroll 1
    for (int e = lane; e < M * BLOCKS; e += THREADS_PER_RUN) w.scale_a[t][e] = make_scale_a(tile, e / BLOCKS, e % BLOCKS);
#pragma unroll 1
    for (int e = lane; e < BLOCKS * N; e += THREADS_PER_RUN) w.scale_b[t][e] = make_scale_b(tile, e / N, e % N);
#endif
}

// The operands of one element of D.
__device__ __forceinline__ Operands operands_of(const Workspace& w, int t, int row, int column) {
    return Operands{w.row[t] + row, w.column[t] + column, w.a[t] + row * STORED_K, w.b[t] + column,
                    w.positions[t] + (SPARSE ? row * STORED_K : 0),
#ifdef SCALE_BLOCK
                    w.scale_a[t] + row * (K / SCALE_BLOCK), w.scale_b[t] + column,
#endif
    };
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    verify(Word seed, Word first, Word tiles, Found* found) {
    const int runs = BLOCK_THREADS / THREADS_PER_RUN;
    __shared__ __align__(128) Workspace workspaces[runs];
    __shared__ Word compared[REGIMES], differing[REGIMES];
    for (int regime = threadIdx.x; regime < REGIMES; regime += BLOCK_THREADS) compared[regime] = differing[regime] = 0;
    __syncthreads();
    const int lane = threadIdx.x % THREADS_PER_RUN;
    Workspace& w = workspaces[threadIdx.x / THREADS_PER_RUN];
    // All runs of a block iterate equally often, because wide ones meet at barriers; tiles beyond the last are not
    // counted.
    const Word stride = (Word)gridDim.x * runs * TILES_PER_RUN;
#pragma unroll 1
    for (Word base = (Word)blockIdx.x * runs * TILES_PER_RUN; base < tiles; base += stride) {
        const Word own = base + threadIdx.x / THREADS_PER_RUN * TILES_PER_RUN;
        int regimes[TILES_PER_RUN];
#pragma unroll
        for (int t = 0; t < TILES_PER_RUN; ++t) {
            const MadeTile tile = make_tile(seed, first + own + t);
            regimes[t] = regime_of(tile);
            make_operands(w, t, tile, lane);
        }
        run_barrier();
        const int turn = tile_of(lane);
#ifdef SCALE_BLOCK
        run_tile(w.a[turn], w.b[turn], w.c[turn], w.scale_a[turn], w.scale_b[turn], w.positions[turn], w.d[turn], lane);
#else
        run_tile(w.a[turn], w.b[turn], w.c[turn], w.positions[turn], w.d[turn], lane);
#endif
        run_barrier();
#pragma unroll
        for (int t = 0; t < TILES_PER_RUN; ++t) {
            if (own + t >= tiles) continue;
            int differences = 0;
#pragma unroll 1
            for (int e = lane; e < M * N; e += THREADS_PER_RUN) {
                const Operands x = operands_of(w, t, e / N, e % N);
                const D::Code expected = (D::Code)model(x, w.c[t][e]);
                if (expected == w.d[t][e]) continue;
                ++differences;
                const Word at = atomicAdd(&found->listed, 1ull);
                if (at < PLACES) found->mismatches[at] = Mismatch{(first + own + t) * (M * N) + e, w.d[t][e], expected};
            }
            if (differences != 0) atomicAdd(&differing[regimes[t]], (Word)differences);
            if (lane == 0) atomicAdd(&compared[regimes[t]], (Word)(M * N));
        }
        // The next tiles would overwrite what slower threads still read.
        run_barrier();
    }
    __syncthreads();
    for (int regime = threadIdx.x; regime < REGIMES; regime += BLOCK_THREADS) {
        if (compared[regime] != 0) atomicAdd(&found->compared[regime], compared[regime]);
        if (differing[regime] != 0) atomicAdd(&found->differing[regime], differing[regime]);
    }
}
