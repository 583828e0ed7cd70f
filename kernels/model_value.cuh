// Values of the model in 64-bit integers: decoding, rounding, products and ordinary additions.
//
// Follows definitions that specialise it (crates/engine/src/device/cuda/arithmetic): the format records FormatA .. FormatD, FactorA
// and FactorB (A and B after unpacking), the targets of the rule (Format, ROUNDING and the codes beyond the largest
// number), and constants of its steps. Plain C++17 where __device__ and the intrinsics are defined.


#define MODEL __device__ __forceinline__

typedef unsigned long long Word;

enum Kind { FINITE, INFINITE, NOT_A_NUMBER };

// Rounding directions, numbered as in `Rounding`.
enum Direction { RNE, RNA, RZ, RU, RD, RO };

// Treatments of subnormal numbers.
enum Subnormals { KEEP, SIGNED_ZERO, POSITIVE_ZERO };

// Rules for signs of zero results, and for which results a destination treats as subnormal.
enum Zero { ZERO_POSITIVE, ZERO_NEGATIVE, ZERO_IEEE, ZERO_EXACT_POSITIVE, ZERO_COMMON };
enum Tiny { TINY_BEFORE, TINY_AFTER, TINY_AFTER_UNBOUNDED };

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
    if (F::SPECIALS == 4 && magnitude + 1 == magnitude_mask<F>()) value.kind = INFINITE;
    if (F::SPECIALS == 5 && magnitude == magnitude_mask<F>()) value.kind = INFINITE;
    if ((F::SPECIALS == 2 || F::SPECIALS == 4) && magnitude == magnitude_mask<F>()) value.kind = NOT_A_NUMBER;
    if ((F::SPECIALS == 3 || F::SPECIALS == 5) && value.negative && magnitude == 0) value.kind = NOT_A_NUMBER;
    const bool below = F::SUBNORMALS && biased == 0;
    value.significand = below ? trailing : trailing | 1ull << T;
    value.exponent = below ? smallest_quantum<F>() : biased - F::BIAS - T;
    if (SUBNORMALS != KEEP && below && trailing != 0) {
        value.significand = 0;
        if (SUBNORMALS == POSITIVE_ZERO) value.negative = false;
    }
    return value;
}

// Returns whether a magnitude is rounded up. Its last kept bit is `odd`; the removed part is `rest` / 2^64, plus a
// little if `sticky`.
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

// Rounds (significand + something less than its last bit if `sticky`) * 2^exponent. A sticky significand has 2 bits
// more than the result.
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
    // 64-bit formats have no bits for exponents far beyond their range.
    if (F::EXPONENT_BITS + T > 40 && quantum > SMALLEST + (1 << F::EXPONENT_BITS)) return TARGET::beyond(negative);
    // The hidden bit adds one to the exponent field.
    const Word field = (Word)(quantum - SMALLEST);
    const Word magnitude = F::SUBNORMALS || kept == 0 ? (field << T) + kept : ((field - 1) << T) + kept;
    if (magnitude > F::LARGEST_CODE >> F::PADDING_BITS) return TARGET::beyond(negative);
    if (magnitude == 0) return zero_code<TARGET>(negative);
    return (magnitude | (Word)(negative && F::SIGNED) << (F::EXPONENT_BITS + T)) << F::PADDING_BITS;
}

template <class TARGET> MODEL Word not_a_number() { return TARGET::NAN_CODE; }

// Encodes a value as a code of the target.
template <class TARGET> MODEL Word round_value(const Value& value) {
    if (value.kind == NOT_A_NUMBER) return not_a_number<TARGET>();
    if (value.kind == INFINITE) return TARGET::infinite(value.negative);
    return encode<TARGET>(value.negative, value.significand, value.exponent, false);
}

// Converts the code of another format's value, rounding once.
template <class F, int SUBNORMALS, class TARGET> MODEL Word convert(Word code) {
    return round_value<TARGET>(decode<F, SUBNORMALS>(code));
}

// Multiplies two values whose significands have at most 64 bits together.
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

// Returns x + y rounded once, for significands of at most 31 bits.
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
    // Both have their leading bit at 61. The smaller magnitude is truncated, with a sticky bit.
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
    // The exact difference is smaller by less than one: subtract one and set the sticky bit.
    const Word difference = x.significand - cut - (sticky ? 1 : 0);
    if (difference == 0 && !sticky) return zero_code<TARGET>(disagree);
    return encode<TARGET>(x.negative, difference, x.exponent, sticky);
}

// Adds codes as an ordinary addition does.
template <class X, int X_SUBNORMALS, class Y, int Y_SUBNORMALS, class TARGET> MODEL Word add(Word x, Word y) {
    return sum_of<TARGET>(decode<X, X_SUBNORMALS>(x), decode<Y, Y_SUBNORMALS>(y));
}
