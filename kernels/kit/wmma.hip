
// AMD GPUs with WMMA, by HIP. A wave of 32 lanes executes one tile of 16 x 16. Generations 11 and 12 have other registers.

namespace kit {

// The compiler reads kernels for the host, too, which is of no generation.
#if defined(__HIP_DEVICE_COMPILE__)
static constexpr bool IS_HOST = false;
#else
static constexpr bool IS_HOST = true;
#endif

template <int K, int RESULT_BYTES>
struct WavePlaces {
#if defined(__GFX12__)
    // A lane has half of a row of A and of a column of B, and 8 neighbours of a column of D.
    static constexpr int EACH = K / 2, APART = 1;
    static __device__ int first(int lane) { return lane / 16 * EACH; }
    static __device__ int row(int lane, int item) { return item + lane / 16 * 8; }
#else
    // A lane has a row of A and a column of B, in two lanes each, and every other row of a column of D. Narrow results lie in the
    // lower halves of registers.
    static constexpr int EACH = K, APART = 4 / RESULT_BYTES;
    static __device__ int first(int) { return 0; }
    static __device__ int row(int lane, int item) { return 2 * item + lane / 16; }
#endif
};

// The elements along k of a row of A, or with the strides of B of a column; codes of 4 bits are packed.
template <class P, int BITS, int BYTES, class Register>
static __device__ void load_wave(Register& to, const unsigned char* tile, int lane, int stride, int k_stride) {
    unsigned char bytes[sizeof(Register)] = {};
    for (int item = 0; item < P::EACH; item++)
        for (int at = 0; at < BYTES; at++) {
            const unsigned char byte = tile[(lane % 16 * stride + (P::first(lane) + item) * k_stride) * BYTES + at];
            if (BITS < 8) bytes[item / 2] |= (byte & 15) << item % 2 * 4;
            else bytes[item * BYTES + at] = byte;
        }
    __builtin_memcpy(&to, bytes, sizeof to);
}

// Places of the elements of C and D of a lane: the byte in its register, and the one in the tile.
template <class P, int BYTES, class Copy>
static __device__ void each_of_wave(int lane, Copy copy) {
    for (int item = 0; item < 8; item++)
        for (int at = 0; at < BYTES; at++)
            copy(item * P::APART * BYTES + at, (P::row(lane, item) * 16 + lane % 16) * BYTES + at);
}

}  // namespace kit

// D = A * B + C for the tile of this block, by the function `multiply` on Operand, Operand and Result.
#define EXECUTE_WAVE(K, BITS, BYTES, RESULT_BYTES)                                                                              \
    static __global__ void __launch_bounds__(32)                                                                                \
        execute(const unsigned char* a, const unsigned char* b, const unsigned char* c, unsigned char* d) {                     \
        typedef kit::WavePlaces<K, RESULT_BYTES> P;                                                                             \
        static_assert(kit::IS_HOST || sizeof(Operand) * 8 == P::EACH * BITS, "a lane has its elements of A");                   \
        const size_t tile = blockIdx.x;                                                                                         \
        const int lane = threadIdx.x;                                                                                           \
        c += tile * (256 * RESULT_BYTES);                                                                                       \
        d += tile * (256 * RESULT_BYTES);                                                                                       \
        Operand of_a, of_b;                                                                                                     \
        Result of_c;                                                                                                            \
        unsigned char bytes[sizeof(Result)] = {};                                                                               \
        kit::load_wave<P, BITS, BYTES>(of_a, a + tile * (16 * K * BYTES), lane, K, 1);                                          \
        kit::load_wave<P, BITS, BYTES>(of_b, b + tile * (16 * K * BYTES), lane, 1, 16);                                         \
        kit::each_of_wave<P, RESULT_BYTES>(lane, [&](int held, int place) { bytes[held] = c[place]; });                         \
        __builtin_memcpy(&of_c, bytes, sizeof of_c);                                                                            \
        of_c = multiply(of_a, of_b, of_c);                                                                                      \
        __builtin_memcpy(bytes, &of_c, sizeof of_c);                                                                            \
        kit::each_of_wave<P, RESULT_BYTES>(lane, [&](int held, int place) { d[place] = bytes[held]; });                         \
    }
