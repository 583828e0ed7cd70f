// Operands of `verify`: the endless adversarial sequence. Follows `stream.cuh`.

typedef StreamTile MadeTile;

__device__ __forceinline__ MadeTile make_tile(unsigned long long seed, unsigned long long number) {
    return stream_tile(seed, number);
}

__device__ __forceinline__ int regime_of(const MadeTile& tile) { return tile.regime; }

__device__ __forceinline__ A::Code make_a(const MadeTile& tile, int row, int stored) {
    return (A::Code)stream_a(tile, row, stored);
}

__device__ __forceinline__ B::Code make_b(const MadeTile& tile, int k, int column) {
    return (B::Code)stream_b(tile, k, column);
}

__device__ __forceinline__ C::Code make_c(const MadeTile& tile, int row, int column) {
    return (C::Code)stream_c(tile, row, column);
}

__device__ __forceinline__ unsigned char make_position(const MadeTile& tile, int row, int stored) {
    return (unsigned char)stream_position(tile, row, stored);
}

#ifdef SCALE_BLOCK
__device__ __forceinline__ unsigned char make_scale_a(const MadeTile& tile, int row, int block) {
    return (unsigned char)stream_scale_a(tile, row, block);
}

__device__ __forceinline__ unsigned char make_scale_b(const MadeTile& tile, int block, int column) {
    return (unsigned char)stream_scale_b(tile, block, column);
}
#endif
