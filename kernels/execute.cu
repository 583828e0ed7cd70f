// The entry `execute`: one instruction on tiles in memory.
//
// Follows a family (mma.cu, mma884.cu, wmma.cu, wgmma.cu), which defines
//   THREADS_PER_RUN   consecutive threads of a block that issue the instruction together: a run;
//   TILES_PER_RUN     tiles of a run;
//   tile_of(lane)     the tile among them of the run's thread `lane`;
//   run_tile(a, b, c, positions, d, lane)
//                     D = A * B + C, row-major, from and to memory of any kind. Every thread of the run calls it with
//                     the pointers of its tile; only sparse forms read `positions`. A, B, C and positions are visible
//                     to all threads of the run before, D to its thread after. C is written only if it is D's memory.
// BLOCK_THREADS, the threads of a block, is a multiple of THREADS_PER_RUN.

// D[t] = A[t] * B[t] + C[t] for `tiles` tiles, one after the other.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    execute(const A::Code* a, const B::Code* b, const C::Code* c, const unsigned char* positions, D::Code* d,
            unsigned long long tiles) {
    const int runs = BLOCK_THREADS / THREADS_PER_RUN;
    const int lane = threadIdx.x % THREADS_PER_RUN;
#pragma unroll 1
    for (unsigned long long run = (unsigned long long)blockIdx.x * runs + threadIdx.x / THREADS_PER_RUN;
         run * TILES_PER_RUN < tiles; run += (unsigned long long)gridDim.x * runs) {
        const unsigned long long own = run * TILES_PER_RUN + tile_of(lane);
        // Every thread takes part: without a tile, it repeats the last one, with the same result.
        const unsigned long long tile = own < tiles ? own : tiles - 1;
        run_tile(a + tile * (M * STORED_K), b + tile * (K * N), c + tile * (M * N),
                 positions + tile * (SPARSE ? M * STORED_K : 0), d + tile * (M * N), lane);
    }
}
