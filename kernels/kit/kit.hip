
// AMD GPUs with matrix cores, by HIP. A wave of 64 lanes executes one tile.

namespace kit {

// Begins the answers to an instruction if this GPU is one of `architectures`, words such as "gfx90a gfx942".
static bool begin(const char* instruction, size_t rows, size_t columns, const char* architectures) {
    hipDeviceProp_t gpu;
    check(hipGetDeviceProperties(&gpu, 0), "hipGetDeviceProperties");
    // gfx942:sramecc+:xnack- is gfx942 with settings.
    const size_t length = strcspn(gpu.gcnArchName, ":");
    const std::vector<char> name(gpu.gcnArchName, gpu.gcnArchName + length);
    bool is_listed = false;
    for (const char* word = architectures; *word != 0;) {
        const size_t end = strcspn(word, " ");
        is_listed = is_listed || (end == length && memcmp(word, name.data(), length) == 0);
        word += end + (word[end] == ' ');
    }
    if (!is_listed) {
        fprintf(stderr, "%s is not answered: this GPU is %.*s, and the instruction is one of %s\n", instruction, (int)length,
                gpu.gcnArchName, architectures);
        return false;
    }
    int driver = 0;
    check(hipDriverGetVersion(&driver), "hipDriverGetVersion");
    digest = 0xcbf29ce484222325;
    printf("tcnum-kit 1 %s %zux%zu\n", instruction, rows, columns);
    printf("device: %s, %.*s, HIP driver %d\n", gpu.name, (int)length, gpu.gcnArchName, driver);
    return true;
}

// Places of the elements of a block of M x N x K among the lanes and their registers, of the first of `BLOCKS` blocks; the other blocks
// stay zero. The formulas are those of the CDNA 3 instruction set reference, "Matrix Arithmetic Instructions": H elements of a column of
// D are neighbours in a lane, 4 or for f64 1.
template <int M, int N, int K, int BLOCKS, int H>
struct Places {
    // Elements along k of a lane.
    static constexpr int EACH = K * M * BLOCKS / 64;
    // Blocks of D in one register of all lanes, and the groups of H rows of a block there.
    static constexpr int TOGETHER = 64 / (N * M / H) > 1 ? 64 / (N * M / H) : 1;
    static constexpr int GROUPS = 64 / TOGETHER / N;

    // Places of A[row][k]; of B[k][column] with the column in place of the row.
    static __device__ __host__ constexpr int lane_of_operand(int row, int k) { return row + M * BLOCKS * (k / EACH); }
    static __device__ __host__ constexpr int item_of_operand(int, int k) { return k % EACH; }
    // Places of D[row][column].
    static __device__ __host__ constexpr int lane_of_result(int row, int column) {
        return column + N * TOGETHER * (row / H % GROUPS);
    }
    static __device__ __host__ constexpr int item_of_result(int row, int) { return row % H + H * (row / (H * GROUPS)); }
};

// The elements of A of a lane, or with the strides of B those of B; elements of `BYTES` bytes.
template <class P, int BYTES, class Register>
static __device__ void load_operand(Register& to, const unsigned char* tile, int lane, int rows, int depth, int row_stride,
                                    int k_stride) {
    unsigned char bytes[sizeof(Register)] = {};
    for (int row = 0; row < rows; row++)
        for (int k = 0; k < depth; k++)
            if (P::lane_of_operand(row, k) == lane)
                for (int at = 0; at < BYTES; at++)
                    bytes[P::item_of_operand(row, k) * BYTES + at] = tile[(row * row_stride + k * k_stride) * BYTES + at];
    __builtin_memcpy(&to, bytes, sizeof to);
}

template <class P, int BYTES, class Register>
static __device__ void load_addend(Register& to, const unsigned char* tile, int lane, int rows, int columns) {
    unsigned char bytes[sizeof(Register)] = {};
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++)
            if (P::lane_of_result(row, column) == lane)
                for (int at = 0; at < BYTES; at++)
                    bytes[P::item_of_result(row, column) * BYTES + at] = tile[(row * columns + column) * BYTES + at];
    __builtin_memcpy(&to, bytes, sizeof to);
}

template <class P, int BYTES, class Register>
static __device__ void store_result(const Register& from, unsigned char* tile, int lane, int rows, int columns) {
    unsigned char bytes[sizeof(Register)];
    __builtin_memcpy(bytes, &from, sizeof from);
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++)
            if (P::lane_of_result(row, column) == lane)
                for (int at = 0; at < BYTES; at++)
                    tile[(row * columns + column) * BYTES + at] = bytes[P::item_of_result(row, column) * BYTES + at];
}

}  // namespace kit

// D = A * B + C for the tile of this block. BUILTIN is the instruction; OPERAND and RESULT are the registers of a lane.
#define EXECUTE(BUILTIN, M, N, K, BLOCKS, H, OPERAND, RESULT, BYTES, RESULT_BYTES)                                              \
    static __global__ void __launch_bounds__(64)                                                                                \
        execute(const unsigned char* a, const unsigned char* b, const unsigned char* c, unsigned char* d) {                     \
        typedef kit::Places<M, N, K, BLOCKS, H> P;                                                                              \
        static_assert(sizeof(OPERAND) == P::EACH * BYTES, "a lane has its elements of A");                                      \
        const size_t tile = blockIdx.x;                                                                                         \
        const int lane = threadIdx.x;                                                                                           \
        OPERAND of_a, of_b;                                                                                                     \
        RESULT of_c;                                                                                                            \
        kit::load_operand<P, BYTES>(of_a, a + tile * (M * K * BYTES), lane, M, K, K, 1);                                        \
        kit::load_operand<P, BYTES>(of_b, b + tile * (K * N * BYTES), lane, N, K, 1, N);                                        \
        kit::load_addend<P, RESULT_BYTES>(of_c, c + tile * (M * N * RESULT_BYTES), lane, M, N);                                 \
        of_c = BUILTIN(of_a, of_b, of_c, 0, 0, 0);                                                                              \
        kit::store_result<P, RESULT_BYTES>(of_c, d + tile * (M * N * RESULT_BYTES), lane, M, N);                                \
    }
