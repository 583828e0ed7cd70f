// The metadata register of a structured sparse A: the stored elements of each chunk along k.
//
// Specialised by CHUNK_LENGTH, CHUNK_KEPT and CHUNK_TOGETHER: CHUNK_KEPT of every CHUNK_LENGTH elements are stored, in
// groups of CHUNK_TOGETHER neighbours. Layouts: PTX ISA, "Sparse matrix storage", with sparsity selector 0.

// Chunks in a row of A.
const int CHUNKS = K / CHUNK_LENGTH;

// The four bits of one chunk: the first kept group's place, then the second's. With tf32, one element is kept: a group
// of two halves.
__device__ __forceinline__ unsigned nibble(const unsigned char* kept) {
#if CHUNK_KEPT == 1
    return kept[0] == 0 ? 0x4 : 0xe;
#else
    return kept[0] / CHUNK_TOGETHER | kept[CHUNK_TOGETHER] / CHUNK_TOGETHER << 2;
#endif
}

// The chunk of nibble `j` of `lane`, among the 16 rows of a warp. If a row has fewer than 16 chunks, the unit reads
// only the lower lanes of four.
__device__ constexpr int chunk_place(int lane, int j) {
    const int g = lane / 4, t = lane % 4;
    const bool rows_in_register = A_BITS >= 16;
    const int row = rows_in_register ? g + 8 * (j / 4) : g + 8 * (t % 2);
    const int chunk = CHUNKS == 4    ? j % 4
                      : CHUNKS == 16 ? 8 * (t / 2) + j
                                     : rows_in_register ? 4 * (t % 2) + j % 4 : j;
    return row * CHUNKS + chunk;
}

// The metadata of `lane` for the 16 rows with these positions.
__device__ __forceinline__ unsigned metadata(const unsigned char* positions, int lane) {
    unsigned word = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j) word |= nibble(positions + chunk_place(lane, j) * CHUNK_KEPT) << 4 * j;
    return word;
}
