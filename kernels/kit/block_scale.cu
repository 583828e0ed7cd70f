// mma.sync of m16n8k32 and m16n8k64 on codes of 4 to 8 bits, with or without block scales: one tile to a warp, a block for each.
//
// Specialised by N, K, A_SHIFT, B_SHIFT, BITS of a code in its register, D_BYTES, REGISTERS of C and D, SCALES of a row, and
// EXECUTE(d, a, b, c, scale_a, scale_b). Layouts: PTX ISA, "Matrix Fragments for mma" and "Block Scaling". With g = lane / 4 and
// t = lane % 4, g counts eight rows (columns of B) and t counts codes along k. The scales are those of the selectors {0, 0}: the
// lanes with t = 0 give the scales of rows g, those with t = 1 of rows g + 8, and those with t = 0 of columns g.

static __global__ void __launch_bounds__(32)
    execute(const unsigned char* a, const unsigned char* b, const unsigned char* c, const unsigned char* scale_a,
            const unsigned char* scale_b, unsigned char* d) {
    const size_t tile = blockIdx.x;
    const int g = threadIdx.x / 4, t = threadIdx.x % 4, codes = 32 / BITS;
    a += tile * (16 * K);
    b += tile * (K * N);
    c += tile * (16 * N * D_BYTES);
    d += tile * (16 * N * D_BYTES);
    unsigned of_a[4] = {}, of_b[2] = {}, of_c[REGISTERS] = {}, of_d[REGISTERS];
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < codes; i++)
            of_a[r] |= (unsigned)a[(g + 8 * (r % 2)) * K + codes * t + i + 4 * codes * (r / 2)] << (i * BITS + A_SHIFT);
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < codes; i++)
            of_b[r] |= (unsigned)b[(codes * t + i + 4 * codes * r) * N + g] << (i * BITS + B_SHIFT);
    unsigned of_scale_a = 0, of_scale_b = 0;
    for (int block = 0; block < SCALES; block++) {
        of_scale_a |= (unsigned)scale_a[tile * (16 * SCALES) + (g + 8 * (t % 2)) * SCALES + block] << 8 * block;
        of_scale_b |= (unsigned)scale_b[tile * (SCALES * N) + block * N + g] << 8 * block;
    }
    // Element e of a lane: its place in C and D.
    const auto place = [=](int e) { return ((g + 8 * (e / 2)) * N + 2 * t + e % 2) * D_BYTES; };
    for (int e = 0; e < 4; e++) memcpy((unsigned char*)of_c + e * D_BYTES, c + place(e), D_BYTES);
    EXECUTE(of_d, of_a, of_b, of_c, of_scale_a, of_scale_b);
    for (int e = 0; e < 4; e++) memcpy(d + place(e), (unsigned char*)of_d + e * D_BYTES, D_BYTES);
}
