// The part of a kit for NVIDIA GPUs that is the same for every instruction; `tcnum kit` puts the kernels and the operands behind it.
//
// It executes each tile of operands once, and prints operands and results, byte by byte as they lie in memory.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

namespace kit {

typedef std::vector<unsigned char> Bytes;

static void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(error));
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
    check(cudaMalloc(&memory, whole.size()), "cudaMalloc");
    check(cudaMemcpy(memory, whole.data(), whole.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
    return memory;
}

// The rows and columns of D that the kit has.
static Bytes from_gpu(const unsigned char* memory, size_t count, Shape s) {
    check(cudaGetLastError(), "the kernel");
    check(cudaDeviceSynchronize(), "the kernel");
    Bytes whole(count * s.whole()), part;
    check(cudaMemcpy(whole.data(), memory, whole.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (size_t tile = 0; tile < count; tile++)
        for (size_t row = 0; row < s.rows; row++) {
            const unsigned char* first = &whole[tile * s.whole() + row * s.all_columns * s.bytes];
            part.insert(part.end(), first, first + s.columns * s.bytes);
        }
    return part;
}

static void print(const char* name, const unsigned char* bytes, size_t count) {
    printf(" %s=", name);
    for (size_t at = 0; at < count; at++) printf("%02x", bytes[at]);
}

static void begin(const char* instruction, size_t rows, size_t columns) {
    cudaDeviceProp gpu;
    int driver = 0;
    check(cudaGetDeviceProperties(&gpu, 0), "cudaGetDeviceProperties");
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    printf("tcnum-kit 1 %s %zux%zu\n", instruction, rows, columns);
    printf("device: %s, sm_%d%d, driver for CUDA %d.%d\n", gpu.name, gpu.major, gpu.minor, driver / 1000, driver % 1000 / 10);
}

}  // namespace kit
