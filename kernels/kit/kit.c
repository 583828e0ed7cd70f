// The part of a kit for processors that is the same for every processor; `tcnum kit` puts the units and the operands behind it.
//
// It executes each tile of operands once, and prints operands and results, byte by byte as they lie in memory.
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// A matrix of a tile: the rows and columns that the kit has, within those of the instruction.
typedef struct {
    size_t rows, columns, all_rows, all_columns, bytes;
} Shape;

typedef struct {
    const char *name;
    size_t tiles;
    Shape a, b, c, d;
    // The codes of all tiles.
    const unsigned char *a_tiles, *b_tiles, *c_tiles;
} Instruction;

// What executes an instruction; the parts below define it for their processors.
typedef struct Unit Unit;
// Returns 0 and says why on stderr if this processor cannot execute the instruction.
static int prepare(const Instruction *i, const Unit *unit);
// Executes a tile that has all rows and columns.
static void execute_tile(const Instruction *i, const Unit *unit, const unsigned char *a, const unsigned char *b,
                         const unsigned char *c, unsigned char *d);
static void print_device(void);

// Bytes of the largest matrix.
enum { LARGEST = 2048 };

static size_t part_bytes(Shape s) { return s.rows * s.columns * s.bytes; }

// A tile with all rows and columns, zero outside those that the kit has.
static void widen(const unsigned char *part, Shape s, unsigned char *all) {
    memset(all, 0, LARGEST);
    for (size_t row = 0; row < s.rows; row++)
        memcpy(all + row * s.all_columns * s.bytes, part + row * s.columns * s.bytes, s.columns * s.bytes);
}

// FNV-1a of the bytes that are printed, so that a reader notices altered lines.
static unsigned long long digest;

static void print_bytes(const unsigned char *bytes, size_t count) {
    for (size_t at = 0; at < count; at++) {
        digest = (digest ^ bytes[at]) * 0x100000001b3;
        printf("%02x", bytes[at]);
    }
}

static void print_codes(const char *name, const unsigned char *bytes, size_t count) {
    printf(" %s=", name);
    print_bytes(bytes, count);
}

static int lacks(const Instruction *i, const char *format, ...) {
    va_list words;
    va_start(words, format);
    fprintf(stderr, "%s is not answered: ", i->name);
    vfprintf(stderr, format, words);
    fprintf(stderr, "\n");
    va_end(words);
    return 0;
}

// Prints the answers to an instruction; returns 1 if the processor has none.
static int answer(const Instruction *i, const Unit *unit) {
    static unsigned char a[LARGEST], b[LARGEST], c[LARGEST], d[LARGEST];
    if (!prepare(i, unit)) return 1;
    digest = 0xcbf29ce484222325;
    printf("tcnum-kit 1 %s %zux%zu\ndevice: ", i->name, i->d.rows, i->d.columns);
    print_device();
    for (size_t tile = 0; tile < i->tiles; tile++) {
        const unsigned char *a_part = i->a_tiles + tile * part_bytes(i->a);
        const unsigned char *b_part = i->b_tiles + tile * part_bytes(i->b);
        const unsigned char *c_part = i->c_tiles + tile * part_bytes(i->c);
        widen(a_part, i->a, a);
        widen(b_part, i->b, b);
        widen(c_part, i->c, c);
        // What an instruction leaves unwritten must not look like a result.
        memset(d, 0xa5, LARGEST);
        execute_tile(i, unit, a, b, c, d);
        printf("tile %zu", tile);
        print_codes("A", a_part, part_bytes(i->a));
        print_codes("B", b_part, part_bytes(i->b));
        print_codes("C", c_part, part_bytes(i->c));
        printf(" D=");
        for (size_t row = 0; row < i->d.rows; row++)
            print_bytes(d + row * i->d.all_columns * i->d.bytes, i->d.columns * i->d.bytes);
        printf("\n");
    }
    printf("end %zu %016llx\n", i->tiles, digest);
    return 0;
}
