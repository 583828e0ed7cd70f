// The part of a kit that is the same for every GPU and every instruction; `tcnum kit` puts the kernels and the operands behind it.
//
// It executes each tile of operands once, and prints operands and results, byte by byte as they lie in memory. GPU(Malloc) is cudaMalloc
// or hipMalloc.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace kit {

typedef std::vector<unsigned char> Bytes;

static void check(GPU(Error_t) error, const char* what) {
    if (error == GPU(Success)) return;
    fprintf(stderr, "%s failed: %s\n", what, GPU(GetErrorString)(error));
    exit(1);
}

// A matrix of a tile: the rows and columns that the kit has, within those of the instruction.
struct Shape {
    size_t rows, columns, all_rows, all_columns, bytes;
    size_t part() const { return rows * columns * bytes; }
    size_t whole() const { return all_rows * all_columns * bytes; }
};

// Tiles in GPU memory, zero outside the rows and columns that the kit has.
static unsigned char* on_gpu(const unsigned char* tiles, size_t count, Shape s) {
    Bytes whole(count * s.whole(), 0);
    for (size_t tile = 0; tile < count; tile++)
        for (size_t row = 0; row < s.rows; row++)
            memcpy(&whole[tile * s.whole() + row * s.all_columns * s.bytes],
                   tiles + tile * s.part() + row * s.columns * s.bytes, s.columns * s.bytes);
    unsigned char* memory;
    check(GPU(Malloc)(&memory, whole.size()), "Malloc");
    check(GPU(Memcpy)(memory, whole.data(), whole.size(), GPU(MemcpyHostToDevice)), "Memcpy");
    return memory;
}

// The rows and columns of D that the kit has.
static Bytes from_gpu(const unsigned char* memory, size_t count, Shape s) {
    check(GPU(GetLastError)(), "the kernel");
    check(GPU(DeviceSynchronize)(), "the kernel");
    Bytes whole(count * s.whole()), part;
    check(GPU(Memcpy)(whole.data(), memory, whole.size(), GPU(MemcpyDeviceToHost)), "Memcpy");
    for (size_t tile = 0; tile < count; tile++)
        for (size_t row = 0; row < s.rows; row++) {
            const unsigned char* first = &whole[tile * s.whole() + row * s.all_columns * s.bytes];
            part.insert(part.end(), first, first + s.columns * s.bytes);
        }
    return part;
}

// FNV-1a of the bytes that are printed, so that a reader notices altered lines.
static unsigned long long digest;

static void print(const char* name, const unsigned char* bytes, size_t count) {
    printf(" %s=", name);
    for (size_t at = 0; at < count; at++) {
        digest = (digest ^ bytes[at]) * 0x100000001b3;
        printf("%02x", bytes[at]);
    }
}

static void end(size_t tiles) { printf("end %zu %016llx\n", tiles, digest); }

// Memory for results. What a kernel leaves unwritten must not look like a result.
static unsigned char* for_results(size_t count, Shape s) {
    unsigned char* memory;
    check(GPU(Malloc)(&memory, count * s.whole()), "Malloc");
    check(GPU(Memset)(memory, 0xa5, count * s.whole()), "Memset");
    return memory;
}

}  // namespace kit
