// The arithmetic of one instruction: what `src/arithmetic` evaluates, written a second time for a GPU.
//
// Put behind definitions that specialise it (src/device/cuda/arithmetic.rs): the format records FormatA .. FormatD, FactorA
// and FactorB (A and B after unpacking), the targets of the rule (records with Format, ROUNDING and the codes of what lies
// beyond the largest number), and constants of its steps. Plain C++17 where __device__ and the intrinsics are defined.
//
// A value between two steps is a code of the format that holds it. Everything is done in integers, except that chains
// of fused multiply-adds in f32 and f64 use the instructions for them.

#define MODEL __device__ __forceinline__

typedef unsigned long long Word;

enum Kind { FINITE, INFINITE, NOT_A_NUMBER };

// Directions, as `Rounding` has them.
enum Direction { RNE, RNA, RZ, RU, RD, RO };

// What becomes of subnormal numbers.
enum Subnormals { KEEP, SIGNED_ZERO, POSITIVE_ZERO };

// (-1)^negative * significand * 2^exponent; a zero has the exponent of the smallest normal number's last bit.
struct Value {
    Word significand;
    int exponent;
    bool negative;
    int kind;
};

template <class F> MODEL constexpr Word magnitude_mask() { return (1ull << (F::EXPONENT_BITS + F::TRAILING_BITS)) - 1; }

template <class F> MODEL constexpr int smallest_quantum() {
    return (F::SUBNORMALS ? 1 : 0) - F::BIAS - F::TRAILING_BITS;
}

template <class F, int SUBNORMALS> MODEL Value decode(Word code) {
    constexpr int T = F::TRAILING_BITS;
    const Word magnitude = code >> F::PADDING_BITS & magnitude_mask<F>();
    const int biased = (int)(magnitude >> T);
    const Word trailing = magnitude & ((1ull << T) - 1);
    Value value;
    value.negative = F::SIGNED && (code >> (F::BITS - 1) & 1);
    value.kind = FINITE;
    if (F::SPECIALS == 1 && biased == (1 << F::EXPONENT_BITS) - 1) value.kind = trailing == 0 ? INFINITE : NOT_A_NUMBER;
    if (F::SPECIALS == 2 && magnitude == magnitude_mask<F>()) value.kind = NOT_A_NUMBER;
    if (F::SPECIALS == 3 && value.negative && magnitude == 0) value.kind = NOT_A_NUMBER;
    const bool below = F::SUBNORMALS && biased == 0;
    value.significand = below ? trailing : trailing | 1ull << T;
    value.exponent = below ? smallest_quantum<F>() : biased - F::BIAS - T;
    if (SUBNORMALS != KEEP && below && trailing != 0) {
        value.significand = 0;
        if (SUBNORMALS == POSITIVE_ZERO) value.negative = false;
    }
    return value;
}

// Whether a magnitude whose last bit is `odd`, and of which `rest` / 2^64 (and a little where `sticky`) was cut off, goes up.
template <int DIRECTION> MODEL bool rounds_up(bool negative, bool odd, Word rest, bool sticky) {
    const Word half = 1ull << 63;
    const bool inexact = rest != 0 || sticky;
    switch (DIRECTION) {
    case RNE: return rest > half || (rest == half && (sticky || odd));
    case RNA: return rest >= half;
    case RU: return inexact && !negative;
    case RD: return inexact && negative;
    case RO: return inexact && !odd;
    default: return false;
    }
}

template <class TARGET> MODEL Word zero_code(bool negative) {
    typedef typename TARGET::Format F;
    return negative && F::NEGATIVE_ZERO ? 1ull << (F::BITS - 1) : 0;
}

// (significand + something where `sticky`) * 2^exponent, rounded. A sticky significand has 2 bits more than the result.
template <class TARGET> MODEL Word encode(bool negative, Word significand, int exponent, bool sticky) {
    typedef typename TARGET::Format F;
    constexpr int T = F::TRAILING_BITS;
    constexpr int SMALLEST = smallest_quantum<F>();
    if (significand == 0) return zero_code<TARGET>(negative);
    const int leading = exponent + 63 - __clzll((long long)significand);
    const int quantum = leading - T > SMALLEST ? leading - T : SMALLEST;
    const int shift = quantum - exponent;
    Word kept, rest;
    if (shift <= 0) {
        kept = significand << -shift;
        rest = 0;
    } else {
        kept = shift < 64 ? significand >> shift : 0;
        rest = shift < 64 ? significand << (64 - shift) : shift == 64 ? significand : 1;
    }
    if (rounds_up<TARGET::ROUNDING>(negative, kept & 1, rest, sticky)) ++kept;
    // A hidden bit counts as one in the field of the exponent.
    const Word field = (Word)(quantum - SMALLEST);
    const Word magnitude = F::SUBNORMALS || kept == 0 ? (field << T) + kept : ((field - 1) << T) + kept;
    if (magnitude > F::LARGEST_CODE >> F::PADDING_BITS) return TARGET::beyond(negative);
    if (magnitude == 0) return zero_code<TARGET>(negative);
    return (magnitude | (Word)(negative && F::SIGNED) << (F::EXPONENT_BITS + T)) << F::PADDING_BITS;
}

template <class TARGET> MODEL Word not_a_number() { return TARGET::NAN_CODE; }

// A value as a code of the target.
template <class TARGET> MODEL Word round_value(const Value& value) {
    if (value.kind == NOT_A_NUMBER) return not_a_number<TARGET>();
    if (value.kind == INFINITE) return TARGET::infinite(value.negative);
    return encode<TARGET>(value.negative, value.significand, value.exponent, false);
}

// The code of another format's value, rounded once.
template <class F, int SUBNORMALS, class TARGET> MODEL Word convert(Word code) {
    return round_value<TARGET>(decode<F, SUBNORMALS>(code));
}

// The product of two values whose significands have at most 64 bits together.
MODEL Value product(const Value& x, const Value& y) {
    Value p;
    p.negative = x.negative != y.negative;
    p.significand = x.significand * y.significand;
    p.exponent = x.exponent + y.exponent;
    const bool x_zero = x.kind == FINITE && x.significand == 0, y_zero = y.kind == FINITE && y.significand == 0;
    if (x.kind == NOT_A_NUMBER || y.kind == NOT_A_NUMBER) p.kind = NOT_A_NUMBER;
    else if (x.kind == INFINITE || y.kind == INFINITE) p.kind = x_zero || y_zero ? NOT_A_NUMBER : INFINITE;
    else p.kind = FINITE;
    return p;
}

// x + y rounded once, for significands of at most 31 bits.
template <class TARGET> MODEL Word sum_of(Value x, Value y) {
    if (x.kind == NOT_A_NUMBER || y.kind == NOT_A_NUMBER) return not_a_number<TARGET>();
    if (x.kind == INFINITE || y.kind == INFINITE) {
        if (x.kind == y.kind && x.negative != y.negative) return not_a_number<TARGET>();
        return TARGET::infinite(x.kind == INFINITE ? x.negative : y.negative);
    }
    const bool disagree = TARGET::ROUNDING == RD;
    if (x.significand == 0 && y.significand == 0) {
        return zero_code<TARGET>(x.negative == y.negative ? x.negative : disagree);
    }
    if (x.significand == 0) return encode<TARGET>(y.negative, y.significand, y.exponent, false);
    if (y.significand == 0) return encode<TARGET>(x.negative, x.significand, x.exponent, false);
    // Both with their leading bit at 61: the smaller in magnitude is cut, and what is lost is remembered.
    const int x_up = __clzll((long long)x.significand) - 2, y_up = __clzll((long long)y.significand) - 2;
    x.significand <<= x_up; x.exponent -= x_up;
    y.significand <<= y_up; y.exponent -= y_up;
    if (x.exponent < y.exponent || (x.exponent == y.exponent && x.significand < y.significand)) {
        const Value swap = x;
        x = y;
        y = swap;
    }
    const int down = x.exponent - y.exponent;
    const Word cut = down < 64 ? y.significand >> down : 0;
    const bool sticky = down < 64 ? cut << down != y.significand : true;
    if (x.negative == y.negative) return encode<TARGET>(x.negative, x.significand + cut, x.exponent, sticky);
    // Below an exact difference by less than one: one less, and something more.
    const Word difference = x.significand - cut - (sticky ? 1 : 0);
    if (difference == 0 && !sticky) return zero_code<TARGET>(disagree);
    return encode<TARGET>(x.negative, difference, x.exponent, sticky);
}

// An ordinary addition of codes.
template <class X, int X_SUBNORMALS, class Y, int Y_SUBNORMALS, class TARGET> MODEL Word add(Word x, Word y) {
    return sum_of<TARGET>(decode<X, X_SUBNORMALS>(x), decode<Y, Y_SUBNORMALS>(y));
}

// An operand of A or B, ready for the steps.
struct Factor {
#if FACTOR == FACTOR_F64
    double number;
#elif FACTOR == FACTOR_F32
    float number;
#else
    int significand;  // signed, and of A lifted by FACTOR_LIFT bits
    int exponent;     // of the last bit, before lifting; NOWHERE of a zero, SPECIAL of an infinity or NaN
#endif
};

const int NOWHERE = -8192, SPECIAL = 24576, SPECIAL_TERM = 8192;

// A value as TO holds it. Unpacking is exact; a subnormal number of FROM can become a normal one.
template <class FROM, class TO> MODEL Value unpacked(Word code) {
    Value value = decode<FROM, OPERAND_SUBNORMALS>(code);
    if (value.significand != 0) {
        const int up = TO::TRAILING_BITS - (63 - __clzll((long long)value.significand));
        const int room = value.exponent - smallest_quantum<TO>();
        value.significand <<= up < room ? up : room;
        value.exponent -= up < room ? up : room;
    }
    return value;
}

template <class FROM, class TO, bool LIFTED> MODEL Factor factor(Word code) {
    Factor f;
#if FACTOR == FACTOR_F64
    f.number = __longlong_as_double((long long)code);
#elif FACTOR == FACTOR_F32
    f.number = __uint_as_float((unsigned)convert<FROM, KEEP, TargetF32>(code));
#elif FACTOR == FACTOR_INTEGER
    f.significand = FROM::SIGNED ? (int)((unsigned)code << (32 - FROM::BITS)) >> (32 - FROM::BITS) : (int)code;
    f.exponent = 0;
#else
    const Value value = UNPACKED ? unpacked<FROM, TO>(code) : decode<FROM, OPERAND_SUBNORMALS>(code);
    const int magnitude = (int)value.significand << (LIFTED ? FACTOR_LIFT : 0);
    f.significand = value.negative ? -magnitude : magnitude;
    f.exponent = value.kind != FINITE ? SPECIAL : value.significand == 0 ? NOWHERE : value.exponent;
#endif
    return f;
}

// The operands of one element of D: factors and codes by stored k.
struct Operands {
    const Factor* row;            // of A: row[k * M]
    const Factor* column;         // of B: column[k * N]
    const A::Code* row_codes;     // row_codes[k]
    const B::Code* column_codes;  // column_codes[k * N]
    const unsigned char* positions;

    MODEL int logical(int k) const {
        return SPARSE ? k / CHUNK_KEPT * CHUNK_LENGTH + positions[k] : k;
    }
    MODEL Factor a(int k) const { return row[k * M]; }
    MODEL Factor b(int k) const { return column[logical(k) * N]; }
    MODEL Word a_code(int k) const { return row_codes[k]; }
    MODEL Word b_code(int k) const { return column_codes[logical(k) * N]; }
};

#if FACTOR == FACTOR_TERM

// The code of a sum with an infinity or a NaN among its terms.
template <int GROUP, class FROM, int SUBNORMALS, class TARGET> __device__ __noinline__ Word special_sum(const Operands& x, Word from) {
    bool nan = false, infinite[2] = {false, false};
    const Value c = decode<FROM, SUBNORMALS>(from);
    nan = c.kind == NOT_A_NUMBER;
    if (c.kind == INFINITE) infinite[c.negative] = true;
#pragma unroll 1
    for (int i = 0; i < group_length(GROUP); ++i) {
        const int k = group_index(GROUP, i);
        const Value p = product(decode<FormatA, OPERAND_SUBNORMALS>(x.a_code(k)), decode<FormatB, OPERAND_SUBNORMALS>(x.b_code(k)));
        nan |= p.kind == NOT_A_NUMBER;
        if (p.kind == INFINITE) infinite[p.negative] = true;
    }
    if (nan || (infinite[0] && infinite[1])) return not_a_number<TARGET>();
    return TARGET::infinite(infinite[1]);
}

// A product, or a sum of aligned terms, where it fits.
template <bool WIDE> struct Sized { typedef int Signed; typedef unsigned Magnitude; static const int BITS = 32; };
template <> struct Sized<true> { typedef long long Signed; typedef Word Magnitude; static const int BITS = 64; };

MODEL unsigned magnitude_of(int x) { return (unsigned)(x < 0 ? -x : x); }
MODEL Word magnitude_of(long long x) { return (Word)(x < 0 ? -x : x); }

// x / 2^shift (shift >= 0) in the direction of the alignment.
template <bool WIDE> MODEL typename Sized<WIDE>::Signed cut(typename Sized<WIDE>::Signed x, int shift) {
    typedef Sized<WIDE> S;
    const int most = S::BITS - 1;
    if (NORMALISED && shift < 0) return x << -shift;
    const int down = shift < most ? shift : most;
    if (ALIGNMENT_ROUNDING == RD) return x >> down;
    if (ALIGNMENT_ROUNDING == RU) return -(-x >> down);
    const typename S::Magnitude magnitude = magnitude_of(x);
    typename S::Magnitude kept = magnitude >> down;
    if (ALIGNMENT_ROUNDING != RZ && magnitude != 0) {
        // What is cut off, in units of 2^-64 of the last bit.
        const Word wide = magnitude;
        const Word rest = shift == 0 ? 0 : shift < 64 ? wide << (64 - shift) : shift == 64 ? wide : 1;
        if (rounds_up<ALIGNMENT_ROUNDING>(x < 0, kept & 1, rest, false)) ++kept;
    }
    return x < 0 ? -(typename S::Signed)kept : (typename S::Signed)kept;
}

// One fused step: the terms are aligned to the largest exponent, cut, added exactly, and the sum is rounded once.
template <int GROUP, class FROM, int SUBNORMALS, class TARGET> MODEL Word fused(const Operands& x, Word from) {
    constexpr int COUNT = group_length(GROUP);
    constexpr bool WIDE = TERM_BITS > 31;
    typedef typename Sized<WIDE>::Signed Signed;
    const Value c = decode<FROM, SUBNORMALS>(from);
    // Exponents of units digits, less the fraction bits of a product.
    Signed terms[COUNT > 0 ? COUNT : 1];
    int exponents[COUNT > 0 ? COUNT : 1];
    int largest = c.kind != FINITE ? SPECIAL_TERM
                  : c.significand == 0 ? 4 * NOWHERE : c.exponent + FROM::TRAILING_BITS - PRODUCT_FRACTION;
    largest = largest > FLOOR - PRODUCT_FRACTION ? largest : FLOOR - PRODUCT_FRACTION;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
        const Factor a = x.a(group_index(GROUP, i)), b = x.b(group_index(GROUP, i));
        terms[i] = (Signed)a.significand * b.significand * ((Signed)1 << PRODUCT_LIFT);
        exponents[i] = a.exponent + b.exponent;
        if (NORMALISED && terms[i] != 0 && exponents[i] < SPECIAL_TERM) {
            // The exponent of the leading bit; the term is lifted by what it gained.
            const int leading = 63 - __clzll((long long)magnitude_of(terms[i])) - FACTOR_LIFT - PRODUCT_LIFT;
            largest = largest > exponents[i] + leading - PRODUCT_FRACTION ? largest : exponents[i] + leading - PRODUCT_FRACTION;
        } else {
            largest = largest > exponents[i] ? largest : exponents[i];
        }
    }
    if (largest >= SPECIAL_TERM) return special_sum<GROUP, FROM, SUBNORMALS, TARGET>(x, from);
    long long sum = 0;
    constexpr int FITTING = WIDE ? 1 : 1 << (31 - TERM_BITS);
#pragma unroll
    for (int first = 0; first < COUNT; first += FITTING) {
        Signed partial = 0;
#pragma unroll
        for (int i = first; i < COUNT && i < first + FITTING; ++i) {
            partial += cut<WIDE>(terms[i], largest - exponents[i] + TERM_DROP);
        }
        sum += partial;
    }
    const int quantum = largest + PRODUCT_FRACTION - ALIGNMENT_BITS;
    if (c.kind == FINITE && c.significand != 0) {
        const int shift = quantum - c.exponent;
        const long long units = c.negative ? -(long long)c.significand : (long long)c.significand;
        sum += shift <= 0 ? units << -shift : cut<true>(units, shift);
    }
    const Word code = encode<TARGET>(sum < 0, (Word)(sum < 0 ? -sum : sum), quantum, false);
    const bool zero = (code & ~(1ull << (TARGET::Format::BITS - 1))) == 0;
    return zero ? zero_code<TARGET>(NEGATIVE_ZERO_RESULT) : code;
}

#endif

#if FACTOR == FACTOR_F32 || FACTOR == FACTOR_F64

#if FACTOR == FACTOR_F32
typedef float Number;
MODEL Word code_of(float x) { return __float_as_uint(x); }
template <class F> MODEL float number_of(Word code) { return __uint_as_float((unsigned)convert<F, KEEP, TargetF32>(code)); }
template <int DIRECTION> MODEL float multiply_add(float a, float b, float c) {
    return DIRECTION == RZ ? __fmaf_rz(a, b, c) : DIRECTION == RU ? __fmaf_ru(a, b, c)
           : DIRECTION == RD ? __fmaf_rd(a, b, c) : __fmaf_rn(a, b, c);
}
template <int DIRECTION> MODEL float multiply(float a, float b) {
    return DIRECTION == RZ ? __fmul_rz(a, b) : DIRECTION == RU ? __fmul_ru(a, b)
           : DIRECTION == RD ? __fmul_rd(a, b) : __fmul_rn(a, b);
}
#else
typedef double Number;
MODEL Word code_of(double x) { return (Word)__double_as_longlong(x); }
template <class F> MODEL double number_of(Word code) { return __longlong_as_double((long long)code); }
template <int DIRECTION> MODEL double multiply_add(double a, double b, double c) {
    return DIRECTION == RZ ? __fma_rz(a, b, c) : DIRECTION == RU ? __fma_ru(a, b, c)
           : DIRECTION == RD ? __fma_rd(a, b, c) : __fma_rn(a, b, c);
}
template <int DIRECTION> MODEL double multiply(double a, double b) {
    return DIRECTION == RZ ? __dmul_rz(a, b) : DIRECTION == RU ? __dmul_ru(a, b)
           : DIRECTION == RD ? __dmul_rd(a, b) : __dmul_rn(a, b);
}
#endif

// A chain of fused multiply-adds. NaN results have the target's code, or are the first NaN operand, made quiet.
template <int GROUP, class FROM, class TARGET> MODEL Word chain(const Operands& x, Word from) {
    typedef typename TARGET::Format F;
    Number sum = number_of<FROM>(from);
#pragma unroll
    for (int i = 0; i < group_length(GROUP); ++i) {
        const int k = group_index(GROUP, i);
        const Number a = x.a(k).number, b = x.b(k).number;
        Number next = START_PRODUCT && i == 0 ? multiply<TARGET::ROUNDING>(a, b)
                                              : multiply_add<TARGET::ROUNDING>(a, b, sum);
        if (next != next) {
            Word nan = TARGET::NAN_CODE;
            const Number operands[3] = {a, b, sum};
#pragma unroll
            for (int j = NAN_OPERANDS - 1; j >= 0; --j) {
                const Number operand = operands[nan_operand(j)];
                if (operand != operand) nan = code_of(operand) | 1ull << (F::TRAILING_BITS - 1);
            }
#if FACTOR == FACTOR_F32
            next = __uint_as_float((unsigned)nan);
#else
            next = __longlong_as_double((long long)nan);
#endif
        }
        sum = next;
    }
    return code_of(sum);
}

#endif

#if FACTOR == FACTOR_INTEGER

// The exact sum of products and c, brought into the range of D.
MODEL Word integer(const Operands& x, Word c) {
    long long sum = (int)(unsigned)c;
#pragma unroll
    for (int k = 0; k < STORED_K; ++k) sum += x.a(k).significand * x.b(k).significand;
    if (SATURATES) {
        sum = sum > 0x7fffffffll ? 0x7fffffffll : sum < -0x80000000ll ? -0x80000000ll : sum;
    }
    return (Word)(unsigned)sum;
}

#endif
