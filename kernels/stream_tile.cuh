// Operands of `tcnum verify`, first part: the common parameters of a tile. Every code is an integer function of seed,
// tile number and position, and the same on a CPU (crates/core/src/inputs/stream documents the construction; tests compare the
// two code by code).
//
// Specialised by M, N, K, STORED_K (K / 2 for sparse forms), CHUNK_LENGTH, CHUNK_KEPT, CHUNK_TOGETHER, CHUNK_ANY_ORDER
// and the format records FormatA, FormatB, FormatC, FormatD; for block-scaled forms also FormatScale and SCALE_BLOCK.
// Plain C++17 where __device__ and __forceinline__ are defined away.

#define STREAM __device__ __forceinline__

typedef unsigned long long StreamWord;

enum StreamRegime {
    STREAM_ALL_EXPONENTS,
    STREAM_CANCELLATION,
    STREAM_ALIGNMENT_GAP,
    STREAM_TIE,
    STREAM_FLOOR,
    STREAM_SUBNORMAL,
    STREAM_OVERFLOW,
    STREAM_SPARSE,
    STREAM_ZEROS,
    STREAM_NON_FINITE,
    STREAM_REGIMES
};

// Kinds of c.
enum StreamC { STREAM_C_ZERO, STREAM_C_NUMBER, STREAM_C_CANCELS, STREAM_C_LARGEST, STREAM_C_ANY };

// Splits of a product's exponent between its factors.
enum StreamSplit { STREAM_ANYHOW, STREAM_A_LOW, STREAM_B_LOW, STREAM_EVENLY };

// Kinds of fractions of significands.
enum StreamKind { STREAM_POWER, STREAM_RANDOM, STREAM_FEW, STREAM_ONES, STREAM_LAST, STREAM_HALF };

// Properties of a slot: bits 0 to 2 are the kind of A, bits 3 and 4 the kind of B, and these.
const unsigned STREAM_SPREAD = 32, STREAM_PAIR = 64, STREAM_MINUS = 128;

// The gap of a slot whose products are zero.
const int STREAM_NO_TERM = 255;

// Domains of element numbers.
const unsigned STREAM_A = 0, STREAM_B = 0x10000, STREAM_CS = 0x40000, STREAM_LINES = 0x60000, STREAM_POSITIONS = 0x70000,
               STREAM_SCALES_A = 0x80000, STREAM_SCALES_B = 0x90000;

const unsigned STREAM_GOLDEN = 0x9e3779b9u;
const StreamWord STREAM_GOLDEN_WORD = 0x9e3779b97f4a7c15ull;

// Common parameters of a tile's elements.
struct StreamTile {
    unsigned key, rows, columns;  // hash keys of elements, rows and columns
    int regime;                   // index into Regime::ALL
    unsigned rotate, multiply, add;  // map from an index along k to a slot
    int base;                     // exponent from which gaps count down
    StreamWord gaps, flags;       // of the first slots, 8 bits each
    int leads;                    // number of those slots
    unsigned rest;                // properties of the other slots
    int rest_gap;                 // their smallest gap
    unsigned rest_span;           // number of their gaps; 0: their products are zero
    unsigned dropout;             // zeros among 4 of their elements of A
    unsigned split;
    unsigned shift, spread_rows, spread_columns;  // masks
    unsigned any, signs, flips, padding;          // 0 or 1
    unsigned special_a, special_b, special_c;     // special elements among 128
    unsigned c_mode, c_slot, c_kind, c_sign, c_spread;
    int c_gap;
    unsigned patterns;  // for sparse forms: 0 any, 1 those that keep each role, 2 one for all rows
    unsigned integers;
    int scale_a, scale_b;   // exponents of the scales (about)
    unsigned scale_spread;  // mask: spread of the scales
};

// Common parameters of the elements at one index along k: A's column and B's row.
struct StreamLine {
    int a, b;           // exponents
    unsigned kind_a, kind_b, source, spread, sign, odd, dropout;
    bool zero_a, zero_b, any_a, any_b;
};

template <class F> struct StreamFormat {
    static constexpr int T = F::TRAILING_BITS;
    static constexpr int EMIN = F::SUBNORMALS || F::HAS_ZERO ? 1 - F::BIAS : -F::BIAS;
    static constexpr int LOW = EMIN - (F::SUBNORMALS ? T : 0);
    static constexpr StreamWord LARGEST = F::LARGEST_CODE >> F::PADDING_BITS;
    static constexpr int HIGH = (int)(LARGEST >> T) - F::BIAS;
    static constexpr StreamWord FULL = (1ull << T) - 1, HALF = T ? 1ull << (T ? T - 1 : 0) : 0;
    static constexpr int MAGNITUDE = F::INTEGER ? F::BITS - 1 : F::EXPONENT_BITS + T;
    static constexpr StreamWord SIGN = 1ull << (F::BITS - 1);
};

STREAM StreamWord stream_mix(StreamWord x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

// The random bits of element `index` of a tile.
STREAM unsigned stream_hash(const StreamTile& t, unsigned index) {
    unsigned x = t.key + index * STREAM_GOLDEN;
    x = (x ^ x >> 16) * 0x7feb352du;
    x = ((x ^ x >> 15) + t.rows) * 0x846ca68bu;
    return x ^ x >> 16;
}

STREAM unsigned stream_scaled(unsigned x, unsigned n) { return (unsigned)((StreamWord)x * n >> 32); }

STREAM unsigned stream_turn(unsigned x, int by) { return x << by | x >> (32 - by); }

STREAM int stream_clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

STREAM int stream_min(int x, int y) { return x < y ? x : y; }

STREAM int stream_max(int x, int y) { return x > y ? x : y; }

// The random numbers behind the parameters of a tile, in order.
struct StreamDraw {
    StreamWord state;

    STREAM unsigned below(int n) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return stream_scaled((unsigned)(state >> 32), (unsigned)n);
    }

    STREAM int from(int low, int count) { return low + (int)below(count); }

    // Kinds of A and B, mostly random bits.
    STREAM unsigned kinds() {
        const unsigned a = 0x53241110u >> 4 * below(8) & 7;
        const unsigned b = 0x32101110u >> 4 * below(8) & 3;
        return a | b << 3;
    }
};
