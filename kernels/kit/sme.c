
// Outer products of SME on the tile ZA0, in streaming mode. Instructions are machine code with Zn = Z0, Zm = Z1 and P0, all true.

// Bytes of the longest vector that the architecture allows.
enum { LONGEST = 256 };

static struct {
    // Bytes of a vector, and vectors of ZA from one row of the tile to the next.
    unsigned long bytes, step;
    // FPMR, for instructions that read it.
    unsigned long is_fp8, fpmr;
} streaming;

static void on_za(const Instruction *i, const Unit *unit, const unsigned char *a, const unsigned char *b,
                  const unsigned char *c, unsigned char *d) {
    static unsigned char zn[LONGEST], zm[LONGEST], za[LONGEST * LONGEST];
    const size_t k = i->a.all_columns, n = i->c.all_columns, bytes = i->c.bytes;
    const size_t length = streaming_bytes(), fit = length / bytes;
    const size_t rows = i->c.all_rows < fit ? i->c.all_rows : fit, columns = n < fit ? n : fit;
    memset(zn, 0, sizeof zn);
    memset(zm, 0, sizeof zm);
    memset(za, 0, sizeof za);
    memcpy(zn, a, rows * k * i->a.bytes);
    for (size_t column = 0; column < columns; column++)
        for (size_t at = 0; at < k; at++)
            memcpy(zm + (column * k + at) * i->b.bytes, b + (at * n + column) * i->b.bytes, i->b.bytes);
    for (size_t row = 0; row < rows; row++) memcpy(za + row * length, c + row * n * bytes, columns * bytes);
    streaming.bytes = length;
    streaming.step = bytes;
    streaming.is_fp8 = (unsigned long)unit->is_fp8;
    streaming.fpmr = unit->a_format | unit->b_format << 3;
    unit->execute(za, zn, zm);
    for (size_t row = 0; row < rows; row++) memcpy(d + row * n * bytes, za + row * length, columns * bytes);
}

// A row of the tile is a vector of ZA, `step` vectors apart. FPMR is written in streaming mode, which clears it.
#define STREAMING(NAME, CODE)                                                                              \
    static void NAME(unsigned char *d, const unsigned char *n, const unsigned char *m) {                   \
        register const unsigned char *zn __asm__("x9") = n;                                                \
        register const unsigned char *zm __asm__("x10") = m;                                               \
        register unsigned char *za __asm__("x11") = d;                                                     \
        register unsigned long bytes __asm__("x13") = streaming.bytes;                                     \
        register unsigned long step __asm__("x15") = streaming.step;                                       \
        register unsigned long state __asm__("x16") = 1ul << 25 | (unsigned long)EBF << 13;                \
        register unsigned long fpmr __asm__("x17") = streaming.fpmr;                                       \
        register unsigned long is_fp8 __asm__("x7") = streaming.is_fp8;                                    \
        __asm__ volatile("mrs x6, fpcr\n\t"                                                                \
                         "msr fpcr, x16\n\t"                                                               \
                         ".inst 0xd503477f\n\t" /* smstart */                                              \
                         "cbz x7, 1f\n\t"                                                                  \
                         "msr s3_3_c4_c4_2, x17\n"                                                         \
                         "1:\t.inst 0x2518e3e0\n\t" /* ptrue p0.b */                                       \
                         ".inst 0xc00800ff\n\t"     /* zero {za} */                                        \
                         "mov x14, x11\n\t"                                                                \
                         "mov w12, #0\n"                                                                   \
                         "2:\t.inst 0xe10001c0\n\t" /* ldr za[w12, 0], [x14] */                            \
                         "add x14, x14, x13\n\t"                                                           \
                         "add w12, w12, w15\n\t"                                                           \
                         "cmp w12, w13\n\t"                                                                \
                         "b.lo 2b\n\t"                                                                     \
                         ".inst 0x85804120\n\t" /* ldr z0, [x9] */                                         \
                         ".inst 0x85804141\n\t" /* ldr z1, [x10] */                                        \
                         ".inst " CODE "\n\t"                                                              \
                         "mov x14, x11\n\t"                                                                \
                         "mov w12, #0\n"                                                                   \
                         "3:\t.inst 0xe12001c0\n\t" /* str za[w12, 0], [x14] */                            \
                         "add x14, x14, x13\n\t"                                                           \
                         "add w12, w12, w15\n\t"                                                           \
                         "cmp w12, w13\n\t"                                                                \
                         "b.lo 3b\n\t"                                                                     \
                         ".inst 0xd503467f\n\t" /* smstop */                                               \
                         "msr fpcr, x6"                                                                    \
                         :                                                                                 \
                         : "r"(zn), "r"(zm), "r"(za), "r"(bytes), "r"(step), "r"(state), "r"(fpmr), "r"(is_fp8)       \
                         : "memory", "cc", "x6", "x12", "x14", "v0", "v1", "v2", "v3", "v4", "v5", "v6",   \
                           "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17",       \
                           "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28",    \
                           "v29", "v30", "v31");                                                           \
    }
