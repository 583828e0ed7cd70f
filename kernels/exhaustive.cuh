// Operands of `verify`: all pairs of codes of A and B in one position (crates/core/src/inputs/exhaustive.rs has the formula).
//
// Specialised by POSITION, A_CODES and B_CODES (the significant bits of a code), A_PADDING and B_PADDING, and for
// block-scaled forms by SCALE_ONE, the code of 1.

struct MadeTile {
    unsigned long long a, b;  // numbers of the first row's and the first column's code
};

__device__ __forceinline__ MadeTile make_tile(unsigned long long, unsigned long long number) {
    const unsigned long long columns = ((1ull << B_CODES) + N - 1) / N;
    return MadeTile{number / columns * M, number % columns * N};
}

__device__ __forceinline__ int regime_of(const MadeTile&) { return 0; }

__device__ __forceinline__ A::Code make_a(const MadeTile& tile, int row, int stored) {
    const unsigned long long code = ((tile.a + row) & ((1ull << A_CODES) - 1)) << A_PADDING;
    return stored == POSITION ? (A::Code)code : (A::Code)0;
}

__device__ __forceinline__ B::Code make_b(const MadeTile& tile, int k, int column) {
    const unsigned long long code = ((tile.b + column) & ((1ull << B_CODES) - 1)) << B_PADDING;
    return k == POSITION / CHUNK_KEPT * CHUNK_LENGTH + POSITION % CHUNK_KEPT ? (B::Code)code : (B::Code)0;
}

__device__ __forceinline__ C::Code make_c(const MadeTile&, int, int) { return 0; }

__device__ __forceinline__ unsigned char make_position(const MadeTile&, int, int stored) {
    return (unsigned char)(stored % CHUNK_KEPT);
}

#ifdef SCALE_BLOCK
__device__ __forceinline__ unsigned char make_scale_a(const MadeTile&, int, int) { return SCALE_ONE; }

__device__ __forceinline__ unsigned char make_scale_b(const MadeTile&, int, int) { return SCALE_ONE; }
#endif
