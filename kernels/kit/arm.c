
// 64-bit Arm processors; forms of Advanced SIMD on registers of 128 bits. Instructions are machine code, here with Vd = V0, Vn = V1 and
// Vm = V2 (element 0), so that this file builds with assemblers that lack them.

#if !defined(__aarch64__)
#error "this kit has instructions of 64-bit Arm processors: compile it for one"
#endif
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

// FPCR.EBF: 1 (cc -DEBF=1) is the other arithmetic of BFDOT and BFMMLA on processors with FEAT_EBF16.
#if !defined(EBF)
#define EBF 0
#endif

enum { REGISTER = 16 };

// A feature: its name, and its bits of AT_HWCAP and AT_HWCAP2 of Linux.
typedef struct {
    const char *name;
    unsigned long long hwcap, hwcap2;
} Feature;

// An instruction. A matrix form has A in Vn, and B by columns in Vm. A form by element has A in Vm; in Vn the columns of B begin at
// element `first`, `stride` elements apart.
struct Unit {
    Feature feature;
    int is_matrix;
    size_t first, stride;
    int is_fp8;
    // The formats of A and B: 1 is E4M3, 0 is E5M2.
    unsigned long a_format, b_format;
    void (*execute)(unsigned char *d, const unsigned char *n, const unsigned char *m);
    // Executes a tile: on registers of Advanced SIMD, or on the tile of SME.
    int is_streaming;
    void (*tile)(const Instruction *i, const Unit *unit, const unsigned char *a, const unsigned char *b,
                 const unsigned char *c, unsigned char *d);
};

// Bytes of a vector in streaming mode (rdsvl x0, #1), on a processor with SME.
static unsigned long streaming_bytes(void) {
    register unsigned long bytes __asm__("x0");
    __asm__ volatile(".inst 0x04bf5820" : "=r"(bytes));
    return bytes;
}

static int has(const Feature *f) {
#if defined(__linux__)
    return (getauxval(AT_HWCAP) & f->hwcap) == f->hwcap && (getauxval(AT_HWCAP2) & f->hwcap2) == f->hwcap2;
#elif defined(__APPLE__)
    char name[64];
    int value = 0;
    size_t size = sizeof value;
    snprintf(name, sizeof name, "hw.optional.arm.%s", f->name);
    return sysctlbyname(name, &value, &size, NULL, 0) == 0 && value != 0;
#else
    (void)f;
    return 1;
#endif
}

static int prepare(const Instruction *i, const Unit *unit) {
    const Feature ebf16 = {"FEAT_EBF16", 0, 1ull << 32}, fpmr = {"FEAT_FPMR", 0, 1ull << 48};
    if (!has(&unit->feature))
        return lacks(i, "this processor, or its operating system, does not have %s", unit->feature.name);
    if (unit->is_fp8 && !has(&fpmr)) return lacks(i, "the operating system does not know %s", fpmr.name);
    if (unit->is_streaming && streaming_bytes() < i->d.columns * i->d.bytes)
        return lacks(i, "%lu bytes of a vector in streaming mode are too few", streaming_bytes());
    if (EBF && !has(&ebf16)) return lacks(i, "EBF is 1, and this processor does not have %s", ebf16.name);
    return 1;
}

static void print_device(void) {
#if defined(__APPLE__)
    char brand[128] = "an Arm processor of Apple";
    size_t size = sizeof brand;
    sysctlbyname("machdep.cpu.brand_string", brand, &size, NULL, 0);
    printf("%s", brand);
#else
    printf("an Arm processor");
#if defined(__linux__)
    // Linux answers reads of MIDR_EL1 where HWCAP_CPUID is set.
    if (getauxval(AT_HWCAP) & 1 << 11) {
        unsigned long midr;
        __asm__ volatile("mrs %0, midr_el1" : "=r"(midr));
        printf(", implementer 0x%02lx, part 0x%03lx, r%lup%lu", midr >> 24 & 0xff, midr >> 4 & 0xfff, midr >> 20 & 0xf,
               midr & 0xf);
    }
#endif
#endif
    printf(", FPCR.EBF = %d\n", EBF);
}

static void execute_tile(const Instruction *i, const Unit *unit, const unsigned char *a, const unsigned char *b,
                         const unsigned char *c, unsigned char *d) {
    unit->tile(i, unit, a, b, c, d);
}

static void on_registers(const Instruction *i, const Unit *unit, const unsigned char *a, const unsigned char *b,
                         const unsigned char *c, unsigned char *d) {
    unsigned char vn[REGISTER] = {0}, vm[REGISTER] = {0}, vd[REGISTER] = {0};
    const size_t k = i->a.all_columns, n = i->c.all_columns;
    const size_t stride = unit->is_matrix ? k : unit->stride;
    unsigned char *of_a = unit->is_matrix ? vn : vm, *of_b = unit->is_matrix ? vm : vn;
    memcpy(of_a, a, i->a.all_rows * k * i->a.bytes);
    for (size_t column = 0; column < n; column++)
        for (size_t at = 0; at < k; at++)
            memcpy(of_b + (unit->first + column * stride + at) * i->b.bytes, b + (at * n + column) * i->b.bytes, i->b.bytes);
    memcpy(vd, c, i->c.all_rows * n * i->c.bytes);
    if (unit->is_fp8) {
        // FPMR: the format of Vn in bits 0 to 2, that of Vm in bits 3 to 5; no scale, overflow to infinity.
        const unsigned long format_n = unit->is_matrix ? unit->a_format : unit->b_format;
        const unsigned long format_m = unit->is_matrix ? unit->b_format : unit->a_format;
        __asm__ volatile("msr s3_3_c4_c4_2, %0" : : "r"(format_n | format_m << 3));
    }
    unit->execute(vd, vn, vm);
    memcpy(d, vd, i->d.all_rows * n * i->d.bytes);
}

// FPCR while the instruction runs: default NaNs (bit 25), to nearest, subnormals kept, EBF (bit 13).
#define EXECUTE(NAME, CODE)                                                                 \
    static void NAME(unsigned char *d, const unsigned char *n, const unsigned char *m) {    \
        const unsigned long state = 1ul << 25 | (unsigned long)EBF << 13;                   \
        unsigned long before;                                                               \
        __asm__ volatile("mrs %0, fpcr\n\t"                                                 \
                         "msr fpcr, %4\n\t"                                                 \
                         "ldr q0, [%1]\n\t"                                                 \
                         "ldr q1, [%2]\n\t"                                                 \
                         "ldr q2, [%3]\n\t"                                                 \
                         ".inst " CODE "\n\t"                                               \
                         "str q0, [%1]\n\t"                                                 \
                         "msr fpcr, %0"                                                     \
                         : "=&r"(before)                                                    \
                         : "r"(d), "r"(n), "r"(m), "r"(state)                               \
                         : "memory", "v0", "v1", "v2");                                     \
    }
