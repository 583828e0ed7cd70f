// A kit of tcnum, which tells arithmetics of matrix instructions apart. Compile it for your GPU's architecture, run it, and send back
// what it prints:
//
//     nvcc -std=c++17 -gencode arch=compute_100a,code=sm_100a kit.cu -o kit && ./kit > answers.txt
//     nvcc -std=c++17 -gencode arch=compute_103a,code=sm_103a kit.cu -o kit && ./kit > answers.txt
//     nvcc -std=c++17 -gencode arch=compute_107a,code=sm_107a kit.cu -o kit && ./kit > answers.txt
//     nvcc -std=c++17 -gencode arch=compute_120a,code=sm_120a kit.cu -o kit && ./kit > answers.txt
//     nvcc -std=c++17 -gencode arch=compute_121a,code=sm_121a kit.cu -o kit && ./kit > answers.txt
//     nvcc -std=c++17 -gencode arch=compute_89,code=sm_89 kit.cu -o kit && ./kit > answers.txt
//     nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a kit.cu -o kit && ./kit > answers.txt
//
// Whoever has tcnum reads the answers with `tcnum identify --answers answers.txt`.
//
// mma.m16n8k32.f32.e4m3.e4m3.f32: 7 tiles
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

// mma.m16n8k32.f32.e4m3.e4m3.f32

#define execute execute_0
namespace instruction_0 {

#define M 16
#define N 8
#define K 32
#define STORED_K 32
#define BLOCK_THREADS 128
#define SPARSE 0
#define CHUNK_LENGTH 1
#define CHUNK_KEPT 1
#define CHUNK_TOGETHER 1
#define CHUNK_ANY_ORDER 0
#define A_BITS 8
#define A_REGISTERS 4
#define B_BITS 8
#define B_REGISTERS 2
#define C_BITS 32
#define C_REGISTERS 4
#define D_BITS 32
#define D_REGISTERS 4
struct FormatA {
    static constexpr int BITS = 8;
    static constexpr int EXPONENT_BITS = 4;
    static constexpr int TRAILING_BITS = 3;
    static constexpr int PADDING_BITS = 0;
    static constexpr int BIAS = 7;
    static constexpr int SPECIALS = 2;
    static constexpr bool INTEGER = false;
    static constexpr bool SIGNED = true;
    static constexpr bool SUBNORMALS = true;
    static constexpr bool HAS_ZERO = true;
    static constexpr bool NEGATIVE_ZERO = true;
    static constexpr unsigned long long LARGEST_CODE = 0x7eull;
    static constexpr unsigned long long INFINITY_CODE = 0x0ull;
    static constexpr unsigned long long NAN_CODE = 0x7full;
};
struct FormatB {
    static constexpr int BITS = 8;
    static constexpr int EXPONENT_BITS = 4;
    static constexpr int TRAILING_BITS = 3;
    static constexpr int PADDING_BITS = 0;
    static constexpr int BIAS = 7;
    static constexpr int SPECIALS = 2;
    static constexpr bool INTEGER = false;
    static constexpr bool SIGNED = true;
    static constexpr bool SUBNORMALS = true;
    static constexpr bool HAS_ZERO = true;
    static constexpr bool NEGATIVE_ZERO = true;
    static constexpr unsigned long long LARGEST_CODE = 0x7eull;
    static constexpr unsigned long long INFINITY_CODE = 0x0ull;
    static constexpr unsigned long long NAN_CODE = 0x7full;
};
struct FormatC {
    static constexpr int BITS = 32;
    static constexpr int EXPONENT_BITS = 8;
    static constexpr int TRAILING_BITS = 23;
    static constexpr int PADDING_BITS = 0;
    static constexpr int BIAS = 127;
    static constexpr int SPECIALS = 1;
    static constexpr bool INTEGER = false;
    static constexpr bool SIGNED = true;
    static constexpr bool SUBNORMALS = true;
    static constexpr bool HAS_ZERO = true;
    static constexpr bool NEGATIVE_ZERO = true;
    static constexpr unsigned long long LARGEST_CODE = 0x7f7fffffull;
    static constexpr unsigned long long INFINITY_CODE = 0x7f800000ull;
    static constexpr unsigned long long NAN_CODE = 0x7fc00000ull;
};
struct FormatD {
    static constexpr int BITS = 32;
    static constexpr int EXPONENT_BITS = 8;
    static constexpr int TRAILING_BITS = 23;
    static constexpr int PADDING_BITS = 0;
    static constexpr int BIAS = 127;
    static constexpr int SPECIALS = 1;
    static constexpr bool INTEGER = false;
    static constexpr bool SIGNED = true;
    static constexpr bool SUBNORMALS = true;
    static constexpr bool HAS_ZERO = true;
    static constexpr bool NEGATIVE_ZERO = true;
    static constexpr unsigned long long LARGEST_CODE = 0x7f7fffffull;
    static constexpr unsigned long long INFINITY_CODE = 0x7f800000ull;
    static constexpr unsigned long long NAN_CODE = 0x7fc00000ull;
};
#define EXECUTE(d, a, b, c) asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" : "=r"((d)[0]), "=r"((d)[1]), "=r"((d)[2]), "=r"((d)[3]) : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]), "r"((c)[0]), "r"((c)[1]), "r"((c)[2]), "r"((c)[3]))

// Codes, the registers that hold them, and copies of codes between a tile in memory and a fragment.
//
// Precedes every kernel source, after the definitions that specialise it. A code has 1, 4, 8, 16, 32 or 64 bits; in
// memory, a code of 1 or 4 bits takes a byte. A register has 32 bits and holds 32 / BITS codes, the first in its lowest
// bits; a 64-bit code has a 64-bit register. Codes are copied as unsigned integers, so tf32 containers, NaN payloads
// and negative zeros arrive unchanged.

template <int BITS> struct Width;
template <> struct Width<1> { typedef unsigned char Code; typedef unsigned Register; static const int CODES = 32; };
template <> struct Width<4> { typedef unsigned char Code; typedef unsigned Register; static const int CODES = 8; };
template <> struct Width<8> { typedef unsigned char Code; typedef unsigned Register; static const int CODES = 4; };
template <> struct Width<16> { typedef unsigned short Code; typedef unsigned Register; static const int CODES = 2; };
template <> struct Width<32> { typedef unsigned Code; typedef unsigned Register; static const int CODES = 1; };
template <> struct Width<64> {
    typedef unsigned long long Code;
    typedef unsigned long long Register;
    static const int CODES = 1;
};

typedef Width<A_BITS> A;
typedef Width<B_BITS> B;
typedef Width<C_BITS> C;
typedef Width<D_BITS> D;

// Fills a fragment: code `i` of register `r` is tile[place(r, i)].
template <int BITS, int REGISTERS, class Place>
__device__ __forceinline__ void gather(typename Width<BITS>::Register (&fragment)[REGISTERS],
                                       const typename Width<BITS>::Code* tile, Place place) {
#pragma unroll
    for (int r = 0; r < REGISTERS; ++r) {
        fragment[r] = 0;
#pragma unroll
        for (int i = 0; i < Width<BITS>::CODES; ++i) {
            fragment[r] |= (typename Width<BITS>::Register)tile[place(r, i)] << (i * BITS);
        }
    }
}

// Empties a fragment: tile[place(r, i)] becomes code `i` of register `r`.
template <int BITS, int REGISTERS, class Place>
__device__ __forceinline__ void scatter(const typename Width<BITS>::Register (&fragment)[REGISTERS],
                                        typename Width<BITS>::Code* tile, Place place) {
#pragma unroll
    for (int r = 0; r < REGISTERS; ++r) {
#pragma unroll
        for (int i = 0; i < Width<BITS>::CODES; ++i) {
            tile[place(r, i)] = (typename Width<BITS>::Code)(fragment[r] >> (i * BITS));
        }
    }
}


// mma.sync and mma.sp of the shapes m16n8kK and m8n8kK: one tile to a warp.
//
// Specialised by M, N, K, STORED_K, A_BITS .. D_BITS, A_REGISTERS .. D_REGISTERS and EXECUTE(d, a, b, c), for sparse
// forms EXECUTE(d, a, b, c, metadata). The stored elements of a sparse A lie like a dense A with STORED_K columns.
// Register layouts: PTX ISA, "Matrix Fragments for mma". With g = lane / 4 and t = lane % 4, one formula for each
// operand covers every shape and width: g counts eight rows (columns of B), t counts codes along k.

const int THREADS_PER_RUN = 32;
const int TILES_PER_RUN = 1;

__device__ constexpr int tile_of(int) { return 0; }

__device__ constexpr int a_place(int lane, int r, int i) {
    const int row = lane / 4 + 8 * (r % (M / 8));
    const int k = A::CODES * (lane % 4) + i + 4 * A::CODES * (r / (M / 8));
    return row * STORED_K + k;
}

__device__ constexpr int b_place(int lane, int r, int i) {
    const int k = B::CODES * (lane % 4) + i + 4 * B::CODES * r;
    const int column = lane / 4;
    return k * N + column;
}

// `e` counts a lane's elements of C or D.
__device__ constexpr int cd_place(int lane, int e) {
    const int row = lane / 4 + 8 * (e / 2);
    const int column = 2 * (lane % 4) + e % 2;
    return row * N + column;
}

// D = A * B + C for one tile.
__device__ __forceinline__ void run_tile(const A::Code* a, const B::Code* b, const C::Code* c,
                                         const unsigned char* positions, D::Code* d, int lane) {
    A::Register fa[A_REGISTERS];
    B::Register fb[B_REGISTERS];
    C::Register fc[C_REGISTERS];
    D::Register fd[D_REGISTERS];
    gather<A_BITS>(fa, a, [=](int r, int i) { return a_place(lane, r, i); });
    gather<B_BITS>(fb, b, [=](int r, int i) { return b_place(lane, r, i); });
    gather<C_BITS>(fc, c, [=](int r, int i) { return cd_place(lane, r * C::CODES + i); });
#if SPARSE
    EXECUTE(fd, fa, fb, fc, metadata(positions, lane));
#else
    EXECUTE(fd, fa, fb, fc);
#endif
    scatter<D_BITS>(fd, d, [=](int r, int i) { return cd_place(lane, r * D::CODES + i); });
}

// The entry `execute`: one instruction on tiles in memory.
//
// Follows a family (mma.cu, mma884.cu, wmma.cu, wgmma.cu), which defines
//   THREADS_PER_RUN   consecutive threads of a block that issue the instruction together: a run;
//   TILES_PER_RUN     tiles of a run;
//   tile_of(lane)     the tile among them of the run's thread `lane`;
//   run_tile(a, b, c, positions, d, lane)
//                     D = A * B + C, row-major, from and to memory of any kind. Every thread of the run calls it with
//                     the pointers of its tile; only sparse forms read `positions`. A, B, C and positions are visible
//                     to all threads of the run before, D to its thread after. C is written only if it is D's memory.
// BLOCK_THREADS, the threads of a block, is a multiple of THREADS_PER_RUN.

// D[t] = A[t] * B[t] + C[t] for `tiles` tiles, one after the other.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    execute(const A::Code* a, const B::Code* b, const C::Code* c, const unsigned char* positions, D::Code* d,
            unsigned long long tiles) {
    const int runs = BLOCK_THREADS / THREADS_PER_RUN;
    const int lane = threadIdx.x % THREADS_PER_RUN;
#pragma unroll 1
    for (unsigned long long run = (unsigned long long)blockIdx.x * runs + threadIdx.x / THREADS_PER_RUN;
         run * TILES_PER_RUN < tiles; run += (unsigned long long)gridDim.x * runs) {
        const unsigned long long own = run * TILES_PER_RUN + tile_of(lane);
        // Every thread takes part: without a tile, it repeats the last one, with the same result.
        const unsigned long long tile = own < tiles ? own : tiles - 1;
        run_tile(a + tile * (M * STORED_K), b + tile * (K * N), c + tile * (M * N),
                 positions + tile * (SPARSE ? M * STORED_K : 0), d + tile * (M * N), lane);
    }
}

static const size_t TILES = 7;
static const unsigned char A_TILES[] = {
    0, 255, 24, 199, 194, 128, 253, 253, 200, 202, 31, 83, 32, 119, 0, 128, 43, 243, 177, 195, 230, 157, 58, 212, 128, 0, 128, 181, 125, 81, 216, 175,
    159, 128, 111, 213, 35, 6, 0, 7, 92, 149, 121, 57, 167, 113, 116, 96, 181, 0, 163, 205, 152, 86, 125, 10, 0, 0, 22, 79, 153, 168, 128, 117,
    230, 152, 121, 244, 244, 19, 129, 63, 29, 0, 145, 56, 174, 66, 79, 234, 219, 197, 149, 0, 93, 169, 95, 60, 198, 142, 0, 128, 229, 70, 252, 105,
    15, 4, 173, 219, 198, 17, 63, 134, 232, 128, 48, 155, 113, 51, 75, 34, 65, 97, 92, 231, 31, 57, 115, 77, 128, 62, 128, 128, 170, 221, 133, 147,
    0, 86, 224, 244, 86, 166, 221, 158, 11, 128, 128, 139, 128, 65, 0, 0, 128, 4, 31, 66, 84, 207, 30, 128, 101, 111, 21, 51, 0, 191, 63, 0,
    111, 135, 208, 0, 161, 217, 76, 253, 14, 245, 188, 206, 79, 146, 247, 39, 166, 0, 0, 121, 202, 198, 190, 247, 152, 165, 192, 85, 252, 41, 253, 141,
    191, 234, 172, 179, 213, 195, 0, 142, 226, 137, 188, 69, 74, 137, 23, 115, 104, 189, 23, 128, 0, 128, 82, 21, 178, 27, 122, 22, 240, 109, 195, 84,
    149, 159, 234, 128, 181, 78, 164, 18, 48, 177, 116, 251, 100, 152, 251, 9, 128, 157, 37, 98, 111, 128, 186, 115, 15, 165, 0, 236, 128, 38, 191, 128,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    62, 79, 10, 9, 103, 10, 12, 0, 80, 84, 0, 70, 0, 117, 58, 14, 26, 13, 0, 0, 65, 26, 56, 105, 0, 0, 24, 115, 25, 87, 0, 123,
    0, 68, 69, 70, 50, 90, 59, 0, 0, 28, 63, 0, 4, 1, 0, 0, 0, 0, 30, 72, 13, 52, 98, 82, 113, 0, 33, 54, 28, 11, 104, 0,
    128, 174, 173, 182, 185, 237, 128, 128, 230, 195, 213, 134, 226, 191, 173, 195, 245, 128, 128, 128, 212, 227, 157, 128, 128, 128, 128, 213, 199, 191, 128, 183,
    232, 247, 128, 200, 140, 233, 164, 217, 138, 131, 174, 128, 231, 205, 140, 159, 207, 235, 227, 187, 208, 190, 248, 138, 253, 242, 177, 176, 199, 163, 215, 181,
    115, 0, 97, 120, 4, 0, 51, 81, 63, 32, 55, 117, 0, 126, 6, 18, 42, 112, 21, 15, 52, 68, 123, 0, 8, 101, 48, 106, 83, 20, 119, 122,
    5, 0, 66, 21, 53, 0, 0, 116, 0, 26, 120, 5, 0, 74, 0, 22, 88, 106, 117, 11, 8, 113, 121, 45, 121, 22, 0, 58, 0, 20, 20, 44,
    205, 243, 246, 177, 128, 234, 185, 141, 146, 142, 191, 128, 238, 177, 148, 133, 181, 221, 139, 134, 153, 183, 168, 150, 238, 152, 219, 213, 204, 187, 143, 206,
    116, 71, 84, 120, 126, 0, 68, 0, 47, 0, 55, 60, 105, 58, 40, 26, 0, 0, 78, 27, 58, 84, 70, 14, 103, 109, 0, 9, 47, 0, 93, 118,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
    127, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56,
    255, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56,
    56, 127, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56,
    56, 255, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56,
    56, 56, 127, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56,
    56, 56, 255, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56,
    1, 129, 0, 0, 56, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    1, 129, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    1, 129, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    104, 232, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80, 80,
    104, 232, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    104, 232, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8,
    231, 222, 146, 228, 67, 240, 129, 73, 184, 22, 89, 10, 42, 128, 4, 199, 102, 246, 118, 148, 166, 139, 42, 191, 122, 226, 182, 167, 41, 80, 156, 185,
    217, 39, 17, 249, 39, 103, 230, 86, 77, 20, 63, 206, 21, 131, 108, 59, 158, 226, 142, 98, 171, 38, 151, 148, 220, 140, 18, 3, 171, 39, 238, 113,
    124, 139, 255, 130, 205, 150, 33, 25, 182, 187, 133, 196, 96, 242, 32, 166, 124, 151, 249, 94, 209, 60, 196, 236, 206, 182, 244, 97, 28, 64, 111, 185,
    105, 90, 132, 218, 166, 250, 78, 136, 164, 157, 204, 216, 224, 105, 36, 132, 118, 129, 233, 231, 73, 115, 20, 45, 241, 94, 231, 18, 21, 148, 174, 72,
    149, 92, 59, 253, 196, 126, 56, 59, 219, 27, 8, 55, 174, 219, 216, 219, 254, 160, 58, 122, 94, 67, 114, 178, 111, 220, 80, 51, 105, 25, 160, 112,
    227, 195, 52, 24, 49, 0, 10, 145, 30, 232, 47, 53, 213, 31, 117, 146, 34, 196, 202, 180, 240, 250, 57, 114, 220, 120, 190, 131, 183, 253, 219, 95,
    136, 131, 78, 217, 89, 26, 143, 134, 66, 60, 63, 66, 242, 78, 204, 156, 216, 94, 20, 59, 157, 255, 62, 147, 161, 123, 53, 164, 170, 2, 240, 222,
    148, 42, 178, 115, 96, 120, 221, 108, 233, 68, 238, 208, 254, 24, 50, 179, 212, 152, 78, 228, 163, 74, 25, 62, 24, 234, 164, 157, 131, 125, 115, 140,
    128, 128, 248, 128, 128, 128, 149, 128, 206, 128, 128, 164, 128, 128, 249, 128, 140, 128, 128, 128, 128, 204, 128, 128, 150, 128, 252, 128, 128, 128, 128, 128,
    0, 0, 1, 0, 0, 0, 107, 0, 63, 0, 0, 25, 0, 0, 37, 0, 86, 0, 0, 0, 0, 90, 0, 0, 16, 0, 15, 0, 0, 0, 0, 0,
    0, 0, 70, 0, 0, 0, 35, 0, 69, 0, 0, 59, 0, 0, 100, 0, 39, 0, 0, 0, 0, 65, 0, 0, 36, 0, 105, 0, 0, 0, 0, 0,
    128, 128, 249, 128, 128, 128, 244, 128, 151, 128, 128, 190, 128, 128, 189, 128, 155, 128, 128, 128, 128, 201, 128, 128, 244, 128, 151, 128, 128, 128, 128, 128,
    0, 0, 41, 0, 0, 0, 0, 0, 40, 0, 0, 31, 0, 0, 85, 0, 99, 0, 0, 0, 0, 52, 0, 0, 46, 0, 70, 0, 0, 0, 0, 0,
    128, 128, 254, 128, 128, 128, 218, 128, 202, 128, 128, 172, 128, 128, 213, 128, 132, 128, 128, 128, 128, 186, 128, 128, 250, 128, 207, 128, 128, 128, 128, 128,
    0, 0, 103, 0, 0, 0, 57, 0, 53, 0, 0, 53, 0, 0, 89, 0, 67, 0, 0, 0, 0, 55, 0, 0, 45, 0, 97, 0, 0, 0, 0, 0,
    0, 0, 122, 0, 0, 0, 111, 0, 24, 0, 0, 122, 0, 0, 85, 0, 101, 0, 0, 0, 0, 28, 0, 0, 109, 0, 62, 0, 0, 0, 0, 0,
};
static const unsigned char B_TILES[] = {
    17, 42, 199, 122, 220, 155, 38, 60, 214, 254, 69, 233, 163, 63, 133, 74, 64, 252, 249, 116, 206, 57, 234, 238, 202, 159, 18, 234, 47, 121, 116, 117,
    86, 190, 212, 72, 180, 135, 93, 183, 165, 147, 13, 63, 187, 56, 241, 241, 20, 81, 174, 159, 168, 61, 147, 58, 65, 75, 175, 42, 251, 27, 115, 11,
    134, 194, 43, 199, 141, 193, 15, 237, 9, 106, 79, 30, 216, 237, 232, 39, 18, 78, 39, 116, 204, 209, 63, 200, 80, 175, 81, 129, 243, 102, 247, 147,
    169, 54, 108, 103, 151, 93, 145, 152, 201, 133, 39, 214, 136, 51, 50, 133, 91, 253, 64, 165, 110, 225, 248, 228, 166, 161, 217, 18, 0, 130, 75, 178,
    72, 73, 16, 239, 57, 13, 54, 77, 195, 79, 35, 232, 122, 197, 118, 185, 72, 72, 242, 90, 8, 206, 87, 90, 76, 226, 254, 225, 216, 237, 115, 186,
    201, 75, 55, 197, 149, 204, 49, 207, 109, 231, 84, 116, 240, 184, 218, 10, 21, 164, 224, 13, 175, 56, 35, 233, 154, 170, 196, 233, 127, 20, 92, 143,
    179, 13, 81, 48, 236, 77, 37, 20, 254, 166, 115, 172, 63, 123, 158, 216, 233, 39, 123, 25, 219, 32, 162, 229, 245, 233, 2, 17, 69, 125, 170, 139,
    68, 151, 201, 166, 14, 28, 240, 112, 125, 176, 17, 118, 73, 151, 164, 114, 128, 208, 237, 34, 190, 107, 167, 37, 217, 113, 120, 140, 84, 182, 16, 222,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    185, 208, 66, 13, 164, 63, 1, 197, 214, 202, 99, 59, 250, 37, 54, 229, 202, 237, 89, 80, 141, 108, 19, 170, 226, 144, 57, 97, 150, 59, 34, 168,
    165, 193, 104, 104, 249, 41, 84, 156, 138, 173, 109, 7, 237, 74, 94, 218, 187, 179, 57, 34, 219, 7, 122, 238, 137, 128, 108, 14, 133, 90, 63, 211,
    152, 243, 109, 65, 206, 6, 104, 134, 227, 168, 50, 7, 135, 46, 118, 147, 180, 230, 48, 91, 214, 38, 82, 140, 217, 140, 100, 115, 205, 111, 29, 161,
    202, 165, 54, 24, 193, 1, 21, 136, 244, 246, 83, 37, 180, 76, 71, 225, 232, 161, 83, 29, 152, 61, 20, 198, 236, 134, 123, 27, 252, 103, 44, 141,
    181, 148, 88, 121, 241, 20, 13, 196, 184, 223, 63, 100, 218, 96, 50, 139, 186, 215, 112, 51, 254, 5, 12, 208, 223, 244, 50, 89, 155, 71, 63, 196,
    215, 201, 64, 30, 173, 116, 109, 223, 247, 146, 46, 121, 204, 6, 21, 223, 239, 224, 31, 27, 183, 64, 0, 239, 252, 182, 72, 44, 200, 29, 97, 129,
    199, 226, 90, 6, 179, 104, 83, 186, 158, 176, 104, 101, 136, 58, 87, 252, 130, 195, 15, 34, 240, 91, 62, 229, 176, 210, 12, 96, 140, 59, 68, 245,
    228, 191, 49, 114, 197, 31, 12, 248, 142, 179, 52, 69, 215, 50, 5, 156, 242, 238, 65, 82, 182, 47, 12, 235, 183, 222, 42, 85, 224, 45, 14, 165,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    120, 120, 120, 120, 120, 120, 120, 120, 120, 120, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120,
    1, 1, 8, 40, 32, 24, 16, 4, 120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120,
    120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120,
    120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120,
    120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120,
    120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120,
    120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120,
    120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120, 120, 1, 120, 120, 120, 120, 120, 120,
    239, 220, 95, 105, 124, 2, 208, 150, 222, 223, 18, 2, 1, 98, 180, 118, 147, 7, 234, 13, 79, 167, 171, 70, 100, 0, 176, 3, 230, 225, 156, 239,
    4, 197, 49, 40, 17, 21, 151, 30, 64, 160, 39, 5, 177, 63, 240, 145, 226, 182, 251, 221, 241, 128, 252, 215, 22, 19, 172, 196, 188, 213, 33, 183,
    156, 35, 27, 195, 98, 225, 245, 62, 92, 176, 246, 221, 148, 73, 98, 65, 191, 47, 56, 116, 101, 5, 83, 182, 108, 212, 40, 65, 254, 227, 123, 48,
    208, 184, 111, 180, 252, 52, 208, 51, 76, 117, 51, 109, 52, 179, 171, 149, 132, 255, 180, 26, 63, 214, 68, 0, 97, 222, 217, 233, 204, 191, 190, 132,
    108, 248, 95, 252, 90, 202, 43, 186, 124, 57, 152, 111, 2, 98, 225, 132, 245, 196, 96, 235, 87, 35, 174, 133, 248, 122, 75, 151, 25, 241, 130, 34,
    167, 145, 11, 85, 210, 233, 101, 154, 41, 231, 178, 90, 157, 137, 118, 55, 69, 177, 36, 171, 85, 199, 223, 52, 216, 94, 128, 230, 167, 187, 207, 103,
    13, 253, 145, 80, 74, 211, 185, 77, 219, 137, 132, 242, 56, 243, 81, 18, 75, 110, 60, 112, 62, 80, 69, 146, 152, 27, 167, 215, 115, 0, 64, 68,
    114, 255, 146, 196, 238, 46, 173, 207, 254, 217, 93, 174, 126, 114, 102, 74, 228, 15, 74, 98, 127, 163, 255, 154, 236, 246, 8, 235, 129, 108, 159, 26,
    128, 128, 0, 0, 0, 128, 128, 0, 128, 128, 0, 0, 0, 128, 128, 0, 128, 128, 0, 0, 0, 128, 128, 0, 226, 214, 28, 111, 0, 166, 161, 9,
    172, 188, 122, 123, 18, 146, 157, 14, 179, 132, 84, 17, 112, 180, 223, 29, 128, 128, 0, 0, 0, 128, 128, 0, 171, 171, 91, 34, 104, 213, 141, 59,
    128, 128, 0, 0, 0, 128, 128, 0, 196, 134, 65, 40, 120, 183, 208, 11, 194, 199, 45, 3, 26, 161, 171, 38, 128, 128, 0, 0, 0, 128, 128, 0,
    128, 128, 0, 0, 0, 128, 128, 0, 250, 237, 115, 9, 51, 148, 243, 14, 128, 128, 0, 0, 0, 128, 128, 0, 160, 159, 11, 100, 40, 181, 166, 113,
    128, 128, 0, 0, 0, 128, 128, 0, 232, 177, 34, 41, 126, 222, 149, 9, 137, 253, 13, 77, 88, 156, 243, 97, 128, 128, 0, 0, 0, 128, 128, 0,
    206, 201, 69, 24, 30, 136, 204, 56, 128, 128, 0, 0, 0, 128, 128, 0, 128, 128, 0, 0, 0, 128, 128, 0, 237, 240, 45, 55, 57, 207, 149, 75,
    128, 128, 0, 0, 0, 128, 128, 0, 137, 204, 10, 88, 51, 244, 222, 100, 128, 128, 0, 0, 0, 128, 128, 0, 169, 191, 44, 84, 126, 211, 197, 60,
    212, 136, 97, 23, 91, 166, 146, 29, 192, 181, 62, 118, 22, 250, 254, 64, 171, 243, 24, 44, 56, 226, 230, 47, 128, 128, 0, 0, 0, 128, 128, 0,
};
static const unsigned char C_TILES[] = {
    192, 32, 53, 181, 117, 138, 252, 49, 92, 180, 23, 112, 247, 162, 71, 116, 96, 228, 198, 238, 196, 118, 38, 187, 234, 92, 212, 117, 179, 182, 93, 244,
    12, 171, 14, 111, 0, 0, 0, 0, 117, 130, 113, 175, 206, 202, 66, 40, 33, 190, 9, 52, 40, 12, 132, 77, 233, 183, 239, 22, 37, 61, 115, 38,
    194, 2, 147, 174, 0, 208, 244, 81, 133, 237, 125, 252, 232, 113, 186, 81, 85, 249, 25, 76, 237, 87, 73, 152, 99, 197, 198, 176, 145, 247, 111, 242,
    75, 207, 20, 21, 163, 2, 67, 181, 108, 220, 188, 176, 201, 160, 99, 124, 138, 53, 59, 187, 18, 137, 86, 87, 0, 38, 246, 116, 255, 255, 127, 127,
    40, 117, 137, 55, 175, 148, 57, 104, 202, 99, 56, 59, 112, 31, 246, 49, 113, 8, 0, 210, 169, 208, 6, 225, 10, 145, 9, 39, 195, 244, 135, 209,
    0, 0, 128, 255, 224, 186, 227, 127, 62, 37, 233, 20, 0, 0, 192, 255, 173, 63, 131, 169, 112, 205, 40, 169, 40, 229, 235, 64, 88, 244, 29, 24,
    0, 0, 128, 255, 251, 220, 11, 220, 0, 0, 192, 255, 160, 248, 49, 91, 211, 220, 223, 98, 230, 51, 125, 73, 126, 67, 91, 160, 204, 54, 19, 46,
    246, 189, 201, 32, 57, 69, 24, 172, 33, 52, 47, 68, 22, 189, 41, 193, 75, 62, 62, 57, 109, 82, 192, 56, 184, 42, 61, 43, 93, 94, 191, 31,
    1, 0, 0, 0, 0, 0, 64, 0, 0, 0, 128, 0, 0, 0, 0, 1, 0, 0, 128, 63, 0, 0, 0, 127, 255, 255, 127, 0, 1, 0, 0, 128,
    0, 0, 64, 128, 0, 0, 128, 128, 0, 0, 0, 129, 0, 0, 128, 191, 0, 0, 0, 255, 255, 255, 127, 128, 255, 255, 127, 128, 255, 255, 127, 128,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    198, 175, 157, 191, 91, 31, 63, 141, 241, 110, 29, 103, 159, 241, 44, 27, 73, 56, 29, 226, 43, 148, 208, 60, 198, 226, 251, 0, 33, 83, 164, 184,
    206, 127, 158, 158, 227, 41, 136, 149, 200, 78, 201, 97, 156, 140, 205, 78, 105, 127, 35, 206, 245, 124, 114, 110, 26, 25, 35, 89, 131, 125, 12, 145,
    134, 46, 126, 52, 247, 105, 155, 61, 148, 201, 43, 229, 144, 63, 18, 130, 94, 243, 40, 83, 116, 197, 172, 253, 162, 205, 81, 158, 242, 242, 157, 46,
    90, 124, 45, 72, 150, 180, 64, 49, 49, 81, 146, 129, 181, 158, 72, 182, 122, 18, 122, 34, 55, 151, 252, 140, 2, 116, 7, 203, 171, 206, 71, 104,
    145, 160, 17, 153, 182, 143, 67, 155, 40, 21, 154, 8, 41, 214, 139, 41, 227, 81, 72, 216, 64, 226, 196, 6, 168, 143, 109, 37, 161, 54, 32, 128,
    23, 186, 206, 207, 149, 213, 78, 206, 180, 249, 173, 93, 229, 198, 116, 96, 8, 222, 218, 245, 62, 82, 118, 26, 139, 52, 74, 91, 35, 17, 206, 146,
    65, 64, 107, 84, 159, 137, 50, 9, 134, 241, 130, 236, 44, 102, 110, 196, 41, 71, 251, 103, 30, 177, 170, 155, 88, 143, 137, 170, 163, 31, 247, 76,
    187, 240, 226, 196, 8, 233, 55, 254, 134, 175, 5, 27, 201, 204, 12, 10, 123, 125, 26, 247, 234, 239, 159, 85, 72, 72, 21, 65, 57, 58, 34, 238,
    255, 255, 127, 127, 255, 255, 127, 255, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 128, 127, 0, 0, 128, 255, 5, 0, 192, 127, 5, 0, 128, 255,
    0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 128, 0, 0, 0, 128, 0, 0, 0, 128, 0, 0, 0, 128, 0, 0, 0, 128, 0, 0, 0, 128,
    0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63,
    0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63,
    0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63,
    0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63,
    0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63,
    0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    177, 228, 128, 255, 0, 0, 0, 128, 0, 0, 128, 255, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 192, 127, 0, 0, 0, 128, 1, 0, 0, 128,
    3, 90, 205, 241, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0, 73, 20, 172, 127, 0, 0, 192, 127, 0, 0, 0, 0, 255, 255, 127, 255,
    0, 0, 192, 127, 0, 0, 128, 255, 0, 0, 0, 128, 0, 0, 128, 127, 0, 0, 0, 128, 0, 0, 128, 127, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 128, 255, 0, 0, 0, 128, 0, 0, 192, 255, 0, 0, 0, 0, 255, 255, 127, 127, 0, 0, 0, 0,
    255, 255, 127, 255, 0, 0, 0, 128, 49, 165, 140, 127, 0, 0, 0, 128, 89, 177, 0, 102, 80, 195, 180, 127, 0, 0, 192, 127, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 128, 8, 99, 250, 127, 0, 0, 0, 0, 121, 26, 224, 127, 0, 0, 0, 0,
    58, 30, 129, 231, 0, 0, 0, 0, 0, 0, 0, 128, 216, 205, 143, 255, 237, 5, 109, 127, 0, 0, 192, 127, 0, 0, 0, 128, 0, 0, 0, 128,
    0, 0, 0, 128, 0, 0, 192, 127, 0, 0, 0, 128, 0, 0, 0, 128, 0, 0, 0, 0, 255, 255, 127, 127, 0, 0, 0, 128, 0, 0, 0, 0,
    167, 3, 0, 0, 208, 3, 0, 0, 123, 2, 0, 128, 63, 2, 0, 128, 114, 2, 0, 128, 23, 3, 0, 0, 89, 2, 0, 0, 254, 3, 0, 128,
    216, 3, 0, 128, 205, 3, 0, 128, 126, 3, 0, 0, 102, 2, 0, 0, 133, 2, 0, 0, 12, 3, 0, 128, 157, 3, 0, 128, 183, 2, 0, 0,
    57, 3, 0, 128, 62, 2, 0, 128, 200, 2, 0, 0, 16, 3, 0, 0, 233, 2, 0, 0, 26, 2, 0, 128, 20, 3, 0, 128, 29, 2, 0, 0,
    197, 3, 0, 0, 141, 2, 0, 0, 226, 3, 0, 128, 248, 3, 0, 128, 161, 3, 0, 128, 91, 2, 0, 0, 62, 3, 0, 0, 250, 3, 0, 128,
    115, 2, 0, 128, 33, 2, 0, 128, 226, 2, 0, 0, 218, 3, 0, 0, 72, 2, 0, 0, 91, 2, 0, 128, 111, 3, 0, 128, 135, 2, 0, 0,
    217, 2, 0, 0, 0, 3, 0, 0, 95, 2, 0, 128, 169, 2, 0, 128, 94, 2, 0, 128, 189, 3, 0, 0, 179, 2, 0, 0, 29, 2, 0, 128,
    101, 3, 0, 128, 227, 2, 0, 128, 3, 2, 0, 0, 166, 2, 0, 0, 165, 3, 0, 0, 178, 2, 0, 128, 186, 3, 0, 128, 32, 2, 0, 0,
    166, 2, 0, 128, 192, 3, 0, 128, 149, 2, 0, 0, 25, 2, 0, 0, 82, 3, 0, 0, 246, 2, 0, 128, 125, 2, 0, 128, 72, 2, 0, 0,
};

static void answer() {
    kit::Shape a_shape = {8, 32, 16, 32, sizeof(A::Code)};
    kit::Shape b_shape = {32, 8, 32, 8, sizeof(B::Code)};
    kit::Shape c_shape = {8, 8, 16, 8, sizeof(C::Code)};
    kit::Shape d_shape = {8, 8, 16, 8, sizeof(D::Code)};
    unsigned char* a = kit::on_gpu(A_TILES, TILES, a_shape);
    unsigned char* b = kit::on_gpu(B_TILES, TILES, b_shape);
    unsigned char* c = kit::on_gpu(C_TILES, TILES, c_shape);
    unsigned char* positions = nullptr;
    unsigned char* d;
    // What a kernel leaves unwritten must not look like a result.
    kit::check(cudaMalloc(&d, TILES * d_shape.whole()), "cudaMalloc");
    kit::check(cudaMemset(d, 0xa5, TILES * d_shape.whole()), "cudaMemset");
    execute<<<(unsigned)TILES, BLOCK_THREADS>>>((const A::Code*)a, (const B::Code*)b, (const C::Code*)c,
                                                positions, (D::Code*)d, TILES);
    kit::Bytes answers = kit::from_gpu(d, TILES, d_shape);
    kit::begin("mma.m16n8k32.f32.e4m3.e4m3.f32", 8, 8);
    for (size_t tile = 0; tile < TILES; tile++) {
        printf("tile %zu", tile);
        kit::print("A", A_TILES + tile * a_shape.part(), a_shape.part());
        kit::print("B", B_TILES + tile * b_shape.part(), b_shape.part());
        kit::print("C", C_TILES + tile * c_shape.part(), c_shape.part());
        kit::print("D", &answers[tile * d_shape.part()], d_shape.part());
        printf("\n");
    }
    printf("end %zu\n", TILES);
}

}

#undef A_BITS
#undef A_REGISTERS
#undef BLOCK_THREADS
#undef B_BITS
#undef B_REGISTERS
#undef CHUNK_ANY_ORDER
#undef CHUNK_KEPT
#undef CHUNK_LENGTH
#undef CHUNK_TOGETHER
#undef C_BITS
#undef C_REGISTERS
#undef D_BITS
#undef D_REGISTERS
#undef EXECUTE
#undef K
#undef M
#undef N
#undef SPARSE
#undef STORED_K
#undef execute

int main() {
    instruction_0::answer();
    return 0;
}
