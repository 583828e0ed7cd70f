
// Units of x86-64 processors. The instructions are assembly: a compiler may swap the factors of an intrinsic, and their order decides
// which NaN results. No -m option is needed, nor does this file use one.

#if !defined(__x86_64__)
#error "this kit has instructions of x86-64 processors: compile it for one"
#endif
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { REGISTER = 64, ROWS = 16 };

// A feature: its name, its place in the answers of CPUID (register 0 to 3 for EAX to EDX), and the bits of XCR0 for its registers.
typedef struct {
    const char *name;
    unsigned leaf, subleaf, in, bit, state;
} Feature;

// A unit, and the instruction on registers of 64 bytes: rows of A, packed rows of B, rows of C, which become D.
typedef struct {
    const char *name, *processors;
    const Feature *features;
    size_t count;
    void (*execute)(const unsigned char *a, const unsigned char *b, unsigned char *c);
} Way;

struct Unit {
    const Way *ways;
    size_t count;
};

// The way that `prepare` has chosen.
static const Way *chosen;

static int has(const Feature *f) {
    unsigned r[4];
    if (!__get_cpuid_count(f->leaf, 0, &r[0], &r[1], &r[2], &r[3])) return 0;
    // EAX of leaf 7 is its last subleaf.
    if (f->subleaf > 0 && f->subleaf > r[0]) return 0;
    __get_cpuid_count(f->leaf, f->subleaf, &r[0], &r[1], &r[2], &r[3]);
    return r[f->in] >> f->bit & 1;
}

// True if the operating system saves these registers.
static int keeps(unsigned state) {
    const Feature osxsave = {"OSXSAVE", 1, 0, 2, 27, 0};
    if (!has(&osxsave)) return 0;
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    return (low & state) == state;
}

// Linux gives tile registers only to a process that asks: ARCH_REQ_XCOMP_PERM for state component 18.
static int tiles_are_granted(void) {
#if defined(__linux__)
    return syscall(SYS_arch_prctl, 0x1023, 18) == 0;
#else
    return 1;
#endif
}

static int prepare(const Instruction *i, const Unit *unit) {
    // Rounding to nearest with subnormals, whatever the compiler's start-up code has set.
    const unsigned mxcsr = 0x1f80;
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    for (size_t at = 0; at < unit->count; at++) {
        const Way *way = &unit->ways[at];
        size_t present = 0;
        while (present < way->count && has(&way->features[present]) && keeps(way->features[present].state)) present++;
        const int has_tiles = way->features[0].state >> 18 & 1;
        if (present == way->count && (!has_tiles || tiles_are_granted())) {
            chosen = way;
            return 1;
        }
    }
    // The reason is that of the widest registers, as the first way has them.
    const Way *way = &unit->ways[0];
    for (size_t at = 0; at < way->count; at++) {
        const Feature *f = &way->features[at];
        if (!has(f))
            return lacks(i, "this processor does not have %s (its CPUID lacks %s); %s have it", way->name, f->name,
                         way->processors);
        if (!keeps(f->state)) return lacks(i, "the operating system does not save the registers of %s", f->name);
    }
    return lacks(i, "the kernel refuses %s (arch_prctl, ARCH_REQ_XCOMP_PERM); Linux 5.16 or later grants it", way->name);
}

static void print_device(void) {
    unsigned text[13] = {0}, vendor[4] = {0}, version = 0, more, r[4];
    for (unsigned part = 0; part < 3; part++)
        __get_cpuid(0x80000002 + part, &text[4 * part], &text[4 * part + 1], &text[4 * part + 2], &text[4 * part + 3]);
    __get_cpuid(0, &more, &vendor[0], &vendor[2], &vendor[1]);
    __get_cpuid(1, &version, &r[1], &r[2], &r[3]);
    unsigned family = version >> 8 & 15, model = version >> 4 & 15;
    if (family == 6 || family == 15) model |= (version >> 16 & 15) << 4;
    if (family == 15) family += version >> 20 & 255;
    printf("%s (%s %u.%u.%u)\n", (const char *)text, (const char *)vendor, family, model, version & 15);
}

static void execute_tile(const Instruction *i, const Unit *unit, const unsigned char *a, const unsigned char *b,
                         const unsigned char *c, unsigned char *d) {
    unsigned char rows[LARGEST], packed[LARGEST];
    const size_t k = i->a.all_columns, n = i->c.all_columns, row = k * i->a.bytes;
    // An instruction that works lane by lane has the row of A in every lane.
    if (row == REGISTER) memcpy(rows, a, i->a.all_rows * REGISTER);
    else
        for (size_t lane = 0; lane < n; lane++) memcpy(rows + lane * row, a, row);
    // The elements of a column of B that one lane multiplies are adjacent, as many as fit in an element of C.
    const size_t together = i->c.bytes / i->b.bytes;
    for (size_t at = 0; at < k; at++)
        for (size_t column = 0; column < n; column++)
            memcpy(packed + at / together * REGISTER + (column * together + at % together) * i->b.bytes,
                   b + (at * n + column) * i->b.bytes, i->b.bytes);
    memcpy(d, c, i->c.all_rows * n * i->c.bytes);
    chosen->execute(rows, packed, d);
    (void)unit;
}

// An instruction on registers of 512 bits.
#define ON_512_BITS(NAME, TEXT)                                                             \
    static void NAME(const unsigned char *a, const unsigned char *b, unsigned char *c) {    \
        __asm__ volatile("vmovdqu64 (%0), %%zmm0\n\t"                                       \
                         "vmovdqu64 (%1), %%zmm1\n\t"                                       \
                         "vmovdqu64 (%2), %%zmm2\n\t" TEXT "\n\t"                           \
                         "vmovdqu64 %%zmm0, (%0)"                                           \
                         :                                                                  \
                         : "r"(c), "r"(a), "r"(b)                                           \
                         : "memory", "xmm0", "xmm1", "xmm2");                               \
    }

// An instruction on registers of 256 bits, twice.
#define ON_256_BITS(NAME, TEXT)                                                             \
    static void NAME(const unsigned char *a, const unsigned char *b, unsigned char *c) {    \
        for (int half = 0; half < REGISTER; half += 32)                                     \
            __asm__ volatile("vmovdqu (%0), %%ymm0\n\t"                                     \
                             "vmovdqu (%1), %%ymm1\n\t"                                     \
                             "vmovdqu (%2), %%ymm2\n\t" TEXT "\n\t"                         \
                             "vmovdqu %%ymm0, (%0)"                                         \
                             :                                                              \
                             : "r"(c + half), "r"(a + half), "r"(b + half)                  \
                             : "memory", "xmm0", "xmm1", "xmm2");                           \
    }

// An instruction on tile registers of 16 rows of 64 bytes. The configuration: palette 1; from byte 16 the bytes of a row of each tile
// register, from byte 48 their rows.
#define ON_TILES(NAME, TEXT)                                                                \
    static void NAME(const unsigned char *a, const unsigned char *b, unsigned char *c) {    \
        unsigned char configuration[64] = {1};                                              \
        for (int tile = 0; tile < 3; tile++) {                                              \
            configuration[16 + 2 * tile] = REGISTER;                                        \
            configuration[48 + tile] = ROWS;                                                \
        }                                                                                   \
        __asm__ volatile("ldtilecfg (%0)\n\t"                                               \
                         "tileloadd (%1,%4,1), %%tmm0\n\t"                                  \
                         "tileloadd (%2,%4,1), %%tmm1\n\t"                                  \
                         "tileloadd (%3,%4,1), %%tmm2\n\t" TEXT "\n\t"                      \
                         "tilestored %%tmm0, (%1,%4,1)\n\t"                                 \
                         "tilerelease"                                                      \
                         :                                                                  \
                         : "r"(configuration), "r"(c), "r"(a), "r"(b), "r"((long)REGISTER)  \
                         : "memory");                                                       \
    }

// The instructions, on register 0 for C and D, 1 for A and 2 for B. Those that older assemblers lack are machine code. {vex} selects the
// encoding of AVX-VNNI; without it assemblers take that of AVX-512.
#define TDPBF16PS_TILES "tdpbf16ps %%tmm2, %%tmm1, %%tmm0"
#define TDPFP16PS_TILES ".byte 0xc4, 0xe2, 0x6b, 0x5c, 0xc1"
#define TDPBF8PS_TILES ".byte 0xc4, 0xe5, 0x68, 0xfd, 0xc1"
#define TDPBHF8PS_TILES ".byte 0xc4, 0xe5, 0x6b, 0xfd, 0xc1"
#define TDPHBF8PS_TILES ".byte 0xc4, 0xe5, 0x6a, 0xfd, 0xc1"
#define TDPHF8PS_TILES ".byte 0xc4, 0xe5, 0x69, 0xfd, 0xc1"
#define TDPBSSD_TILES "tdpbssd %%tmm2, %%tmm1, %%tmm0"
#define TDPBSUD_TILES "tdpbsud %%tmm2, %%tmm1, %%tmm0"
#define TDPBUSD_TILES "tdpbusd %%tmm2, %%tmm1, %%tmm0"
#define TDPBUUD_TILES "tdpbuud %%tmm2, %%tmm1, %%tmm0"
#define VDPBF16PS_512 "vdpbf16ps %%zmm2, %%zmm1, %%zmm0"
#define VDPPHPS_512 ".byte 0x62, 0xf2, 0x74, 0x48, 0x52, 0xc2"
#define VPDPBUSD_512 "vpdpbusd %%zmm2, %%zmm1, %%zmm0"
#define VPDPBUSDS_512 "vpdpbusds %%zmm2, %%zmm1, %%zmm0"
#define VPDPWSSD_512 "vpdpwssd %%zmm2, %%zmm1, %%zmm0"
#define VPDPWSSDS_512 "vpdpwssds %%zmm2, %%zmm1, %%zmm0"
#define VFMADD231PS_512 "vfmadd231ps %%zmm2, %%zmm1, %%zmm0"
#define VFMADD231PD_512 "vfmadd231pd %%zmm2, %%zmm1, %%zmm0"
#define VFMADD231PH_512 ".byte 0x62, 0xf6, 0x75, 0x48, 0xb8, 0xc2"
#define VPDPBUSD_256 "%{vex%} vpdpbusd %%ymm2, %%ymm1, %%ymm0"
#define VPDPBUSDS_256 "%{vex%} vpdpbusds %%ymm2, %%ymm1, %%ymm0"
#define VPDPWSSD_256 "%{vex%} vpdpwssd %%ymm2, %%ymm1, %%ymm0"
#define VPDPWSSDS_256 "%{vex%} vpdpwssds %%ymm2, %%ymm1, %%ymm0"
#define VFMADD231PS_256 "vfmadd231ps %%ymm2, %%ymm1, %%ymm0"
#define VFMADD231PD_256 "vfmadd231pd %%ymm2, %%ymm1, %%ymm0"
