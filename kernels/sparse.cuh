// The metadata register of structured sparse A: which elements of each chunk along k are stored.
//
// Specialised by CHUNK_LENGTH, CHUNK_KEPT and CHUNK_TOGETHER (of every CHUNK_LENGTH elements CHUNK_KEPT are stored, in
// groups of CHUNK_TOGETHER neighbours). Layouts: PTX ISA, "Sparse matrix storage", with sparsity selector 0.

// Chunks in a row of A.
const int CHUNKS = K / CHUNK_LENGTH;

// The four bits of one chunk: the place of the first group that is kept, and that of the second above it. Of tf32 one
// element is kept, which is a group of two halves.
__device__ __forceinline__ unsigned nibble(const unsigned char* kept) {
#if CHUNK_KEPT == 1
    return kept[0] == 0 ? 0x4 : 0xe;
#else
    return kept[0] / CHUNK_TOGETHER | kept[CHUNK_TOGETHER] / CHUNK_TOGETHER << 2;
#endif
}

// Nibble `j` of `lane`, as the index of a chunk in the 16 rows of a warp. Where a row has fewer than 16 chunks, only
// the lower lanes of four are read by the unit.
__device__ constexpr int chunk_place(int lane, int j) {
    const int g = lane / 4, t = lane % 4;
    const bool rows_in_register = A_BITS >= 16;
    const int row = rows_in_register ? g + 8 * (j / 4) : g + 8 * (t % 2);
    const int chunk = CHUNKS == 4    ? j % 4
                      : CHUNKS == 16 ? 8 * (t / 2) + j
                                     : rows_in_register ? 4 * (t % 2) + j % 4 : j;
    return row * CHUNKS + chunk;
}

// The metadata that `lane` gives, for the 16 rows whose positions these are.
__device__ __forceinline__ unsigned metadata(const unsigned char* positions, int lane) {
    unsigned word = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j) word |= nibble(positions + chunk_place(lane, j) * CHUNK_KEPT) << 4 * j;
    return word;
}
