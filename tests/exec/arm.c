/* The matrix and dot-product instructions of Arm as an exec: device: each output is computed by the instruction itself.
 *
 *     aarch64-linux-gnu-gcc -O2 -static -o arm arm.c
 *     tcnum verify --instr bfmmla.m2n2k4.f32.bf16.bf16.f32 --device 'exec:qemu-aarch64 -cpu max ./arm'
 *
 * On an Arm processor it runs as it is. An instruction that the processor lacks is declined, by its identification registers.
 *
 *     --ebf    with FPCR.EBF = 1: the extended BFloat16 behaviours; not for FP8
 *
 * FPCR.DN is 1 (every NaN result is the default NaN), its other bits are 0 (to nearest, nothing is flushed, AH = 0). FPMR names the
 * formats of FP8 operands; its other bits are 0 (no scale, overflow to infinity).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For the assembler alone; the compiler keeps to the base architecture. */
__asm__(".arch armv8.6-a+fp16fml\n");

/* The registers of one execution: the sum Vd, the first source Vn, the second source Vm. */
typedef struct {
    uint8_t d[16], n[16], m[16];
} registers;

#define OPERATION(function, text)                                                                        \
    static void function(registers *r) {                                                                 \
        __asm__ volatile("ldr q0, [%0]\n ldr q1, [%0, #16]\n ldr q2, [%0, #32]\n" text "\n str q0, [%0]" \
                         :                                                                               \
                         : "r"(r)                                                                        \
                         : "v0", "v1", "v2", "memory");                                                  \
    }

OPERATION(bfmmla, "bfmmla v0.4s, v1.8h, v2.8h")
OPERATION(bfdot, "bfdot v0.4s, v1.8h, v2.2h[0]")
OPERATION(bfmlalb, "bfmlalb v0.4s, v1.8h, v2.h[0]")
OPERATION(bfmlalt, "bfmlalt v0.4s, v1.8h, v2.h[0]")
OPERATION(fmlal, "fmlal v0.4s, v1.4h, v2.h[0]")
OPERATION(fmlal2, "fmlal2 v0.4s, v1.4h, v2.h[0]")
OPERATION(smmla, "smmla v0.4s, v1.16b, v2.16b")
OPERATION(ummla, "ummla v0.4s, v1.16b, v2.16b")
OPERATION(usmmla, "usmmla v0.4s, v1.16b, v2.16b")
/* Assemblers of 2023 do not know these: the code of the comment, with Vd, Vn, Vm = v0, v1, v2. */
#define SOURCES " | 2 << 16 | 1 << 5"
OPERATION(fdot4, ".inst 0x4f000000" SOURCES)  /* fdot v0.4s, v1.16b, v2.4b[0] */
OPERATION(fdot2, ".inst 0x4f400000" SOURCES)  /* fdot v0.8h, v1.16b, v2.2b[0] */
OPERATION(fmmla4s, ".inst 0x6e80ec00" SOURCES) /* fmmla v0.4s, v1.16b, v2.16b */
OPERATION(fmmla8h, ".inst 0x6e00ec00" SOURCES) /* fmmla v0.8h, v1.16b, v2.16b */
OPERATION(fmlalb, ".inst 0x0fc00000" SOURCES)  /* fmlalb v0.8h, v1.16b, v2.b[0] */
OPERATION(fmlalt, ".inst 0x4fc00000" SOURCES)  /* fmlalt v0.8h, v1.16b, v2.b[0] */
OPERATION(fmlallbb, ".inst 0x2f008000" SOURCES) /* fmlallbb v0.4s, v1.16b, v2.b[0] */
OPERATION(fmlallbt, ".inst 0x2f408000" SOURCES) /* fmlallbt v0.4s, v1.16b, v2.b[0] */
OPERATION(fmlalltb, ".inst 0x6f008000" SOURCES) /* fmlalltb v0.4s, v1.16b, v2.b[0] */
OPERATION(fmlalltt, ".inst 0x6f408000" SOURCES) /* fmlalltt v0.4s, v1.16b, v2.b[0] */

/* A field of four bits of an identification register, which Linux lets programs read. */
#define FIELD(function, name, shift)                         \
    static unsigned function(void) {                         \
        uint64_t value;                                      \
        __asm__("mrs %0, " name : "=r"(value));              \
        return (unsigned)(value >> shift) & 15;              \
    }
#define BIT(function, name, shift) \
    FIELD(function##_field, name, shift) static unsigned function(void) { return function##_field() & 1; }
#define ID_AA64FPFR0 "s3_0_c0_c4_7"

FIELD(bf16, "id_aa64isar1_el1", 44)
FIELD(i8mm, "id_aa64isar1_el1", 52)
FIELD(fhm, "id_aa64isar0_el1", 48)
BIT(f8mm4, ID_AA64FPFR0, 26)
BIT(f8mm8, ID_AA64FPFR0, 27)
BIT(f8dp2, ID_AA64FPFR0, 28)
BIT(f8dp4, ID_AA64FPFR0, 29)
BIT(f8fma, ID_AA64FPFR0, 30)

/* Where the operands stand. The formats of a program for FP8 are those of the greeting. */
typedef struct {
    const char *family;
    const char *c;            /* the format of C and D */
    void (*run)(registers *);
    unsigned (*has)(void);    /* whether the processor has it */
    const char *feature;
    unsigned m, n, k;
    unsigned stride, first;   /* by element: column j of B is the k elements of Vn from stride * j + first */
    unsigned bytes;           /* of an element of A and B */
} operation;

static const operation OPERATIONS[] = {
    /* Vn holds the rows of A, Vm the columns of B. */
    {"bfmmla", "f32", bfmmla, bf16, "FEAT_BF16", 2, 2, 4, 0, 0, 2},
    {"smmla", "s32", smmla, i8mm, "FEAT_I8MM", 2, 2, 8, 0, 0, 1},
    {"ummla", "s32", ummla, i8mm, "FEAT_I8MM", 2, 2, 8, 0, 0, 1},
    {"usmmla", "s32", usmmla, i8mm, "FEAT_I8MM", 2, 2, 8, 0, 0, 1},
    {"fmmla", "f32", fmmla4s, f8mm8, "FEAT_F8F32MM", 2, 2, 8, 0, 0, 1},
    {"fmmla", "f16", fmmla8h, f8mm4, "FEAT_F8F16MM", 2, 2, 4, 0, 0, 1},
    /* The element of Vm that multiplies every lane is A, Vn the columns of B. */
    {"bfdot", "f32", bfdot, bf16, "FEAT_BF16", 1, 4, 2, 2, 0, 2},
    {"bfmlalb", "f32", bfmlalb, bf16, "FEAT_BF16", 1, 4, 1, 2, 0, 2},
    {"bfmlalt", "f32", bfmlalt, bf16, "FEAT_BF16", 1, 4, 1, 2, 1, 2},
    {"fmlal", "f32", fmlal, fhm, "FEAT_FHM", 1, 4, 1, 1, 0, 2},
    {"fmlal2", "f32", fmlal2, fhm, "FEAT_FHM", 1, 4, 1, 1, 4, 2},
    {"fdot", "f32", fdot4, f8dp4, "FEAT_FP8DOT4", 1, 4, 4, 4, 0, 1},
    {"fdot", "f16", fdot2, f8dp2, "FEAT_FP8DOT2", 1, 8, 2, 2, 0, 1},
    {"fmlalb", "f16", fmlalb, f8fma, "FEAT_FP8FMA", 1, 8, 1, 2, 0, 1},
    {"fmlalt", "f16", fmlalt, f8fma, "FEAT_FP8FMA", 1, 8, 1, 2, 1, 1},
    {"fmlallbb", "f32", fmlallbb, f8fma, "FEAT_FP8FMA", 1, 4, 1, 4, 0, 1},
    {"fmlallbt", "f32", fmlallbt, f8fma, "FEAT_FP8FMA", 1, 4, 1, 4, 1, 1},
    {"fmlalltb", "f32", fmlalltb, f8fma, "FEAT_FP8FMA", 1, 4, 1, 4, 2, 1},
    {"fmlalltt", "f32", fmlalltt, f8fma, "FEAT_FP8FMA", 1, 4, 1, 4, 3, 1},
};

static void decline(const char *what, const char *of) {
    printf("{\"protocol\":2,\"ok\":false,\"error\":\"%s%s\"}\n", what, of);
    exit(0);
}

/* The text of a member of the greeting, which tcnum writes on one line without blanks. */
static void text_of(const char *line, const char *key, char *text, size_t size) {
    char pattern[32];
    snprintf(pattern, sizeof pattern, "\"%s\":\"", key);
    const char *found = strstr(line, pattern);
    size_t length = found ? strcspn(found += strlen(pattern), "\"") : 0;
    if (length >= size) length = 0;
    memcpy(text, found ? found : "", length);
    text[length] = 0;
}

/* FPMR's number of an FP8 format; 7 for another format. */
static uint64_t fp8(const char *format) {
    return !strcmp(format, "e5m2") ? 0 : !strcmp(format, "e4m3") ? 1 : 7;
}

/* The registers of one tile, and back. Elements that the instruction does not read are all ones. */
static void execute(const operation *o, const uint8_t *a, const uint8_t *b, const uint8_t *c, uint8_t *d) {
    registers r;
    size_t bytes = o->bytes, outputs = o->m * o->n, wide = !strcmp(o->c, "f16") ? 2 : 4;
    uint8_t *columns = o->m == 2 ? r.m : r.n;
    memset(&r, 0xff, sizeof r);
    memcpy(o->m == 2 ? r.n : r.m, a, o->m * o->k * bytes);
    for (size_t column = 0; column < o->n; column++)
        for (size_t k = 0; k < o->k; k++) {
            size_t at = o->m == 2 ? column * o->k + k : column * o->stride + o->first + k;
            memcpy(columns + at * bytes, b + (k * o->n + column) * bytes, bytes);
        }
    memcpy(r.d, c, outputs * wide);
    o->run(&r);
    memcpy(d, r.d, outputs * wide);
}

static void *memory(size_t size) {
    void *found = malloc(size + 1);
    if (!found) {
        fputs("there is not enough memory\n", stderr);
        exit(1);
    }
    return found;
}

static uint8_t *operand(size_t size) {
    uint8_t *codes = memory(size);
    if (fread(codes, 1, size, stdin) != size) {
        fputs("the input ended within a batch\n", stderr);
        exit(1);
    }
    return codes;
}

int main(int arguments, char **argument) {
    int extended = arguments == 2 && !strcmp(argument[1], "--ebf");
    if (arguments > 1 && !extended) {
        fputs("usage: arm [--ebf]\n", stderr);
        return 2;
    }
    static char line[1 << 16];
    if (!fgets(line, sizeof line, stdin)) return 0;
    char name[128], family[128], a[16], b[16], c[16];
    text_of(line, "name", name, sizeof name);
    text_of(line, "a", a, sizeof a);
    text_of(line, "b", b, sizeof b);
    text_of(line, "c", c, sizeof c);
    strcpy(family, name);
    family[strcspn(family, ".")] = 0;
    const operation *o = NULL;
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof *OPERATIONS; i++)
        if (!strcmp(OPERATIONS[i].family, family) && !strcmp(OPERATIONS[i].c, c)) o = &OPERATIONS[i];
    if (!o) decline("no instruction of Arm that this program knows: ", name);
    if (!o->has()) decline("this processor lacks ", o->feature);
    if (extended && bf16() < 2) decline("this processor lacks ", "FEAT_EBF16");
    if (extended && fp8(a) != 7) decline("FP8 is offered without --ebf, which changes nothing of ", name);

    uint64_t fpcr = (uint64_t)1 << 25 | (uint64_t)extended << 13;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
    if (fp8(a) != 7) {
        /* Field 0 is of Vn, field 1 of Vm. */
        uint64_t fpmr = o->m == 2 ? fp8(a) | fp8(b) << 3 : fp8(b) | fp8(a) << 3;
        __asm__ volatile("msr s3_3_c4_c4_2, %0" : : "r"(fpmr));
    }
    printf("{\"protocol\":2,\"ok\":true,\"name\":\"%s on aarch64, FPCR.EBF = %d, FPCR.DN = 1\",\"model\":\"%s\"}\n", family,
           extended, extended ? "arm-ebf" : "arm");
    fflush(stdout);

    uint8_t head[4];
    size_t sizes[3] = {o->m * o->k * o->bytes, o->k * o->n * o->bytes, o->m * o->n * (!strcmp(c, "f16") ? 2 : 4)};
    while (fread(head, 1, 4, stdin) == 4) {
        size_t tiles = head[0] | head[1] << 8 | head[2] << 16 | (size_t)head[3] << 24;
        if (tiles == 0) break;
        uint8_t *of_a = operand(tiles * sizes[0]), *of_b = operand(tiles * sizes[1]), *of_c = operand(tiles * sizes[2]);
        uint8_t *of_d = memory(tiles * sizes[2]);
        for (size_t tile = 0; tile < tiles; tile++)
            execute(o, of_a + tile * sizes[0], of_b + tile * sizes[1], of_c + tile * sizes[2], of_d + tile * sizes[2]);
        fwrite(of_d, 1, tiles * sizes[2], stdout);
        fflush(stdout);
        free(of_a), free(of_b), free(of_c), free(of_d);
    }
    return 0;
}
