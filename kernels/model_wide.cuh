// Values of the general steps: 128-bit significands, exact or with a sticky bit. Follows model_value.cuh.

// Products of an infinity and a zero, and sums of opposite infinities, numbered as in the rule's keys.
enum ZeroTimesInfinity { NO_PRODUCT, ZERO_PRODUCT, INFINITE_PRODUCT };
enum OppositeInfinities { NO_INFINITY, POSITIVE_INFINITY, NEGATIVE_INFINITY };

// What the NaN of an unrounded sum was made of: c or a rounded value, a NaN of A or B, or an invalid operation.
enum Origin { OF_ADDEND, OF_FACTOR, OF_INVALID };

typedef unsigned __int128 Wide;
typedef __int128 SignedWide;

// (-1)^negative * (significand + something below 1 if `sticky`) * 2^exponent. Alignment uses `units`, the exponent of
// the significand's units digit. For a NaN, the significand is the payload, of `units` - `exponent` bits.
struct Held {
    Wide significand;
    int exponent, units;
    bool negative, sticky;
    bool counts;   // for a zero, true if its exponent counts in an alignment
    bool agreed;   // for a zero, true if all its terms have its sign
    bool payload;  // for a NaN, true if its payload is passed on
    int kind;
    Origin origin;  // of the NaN of an unrounded sum
};

MODEL int leading_zeros(Wide x) {
    return (Word)(x >> 64) != 0 ? __clzll((long long)(x >> 64)) : (Word)x != 0 ? 64 + __clzll((long long)x) : 128;
}

MODEL bool is_zero(const Held& x) { return x.kind == FINITE && x.significand == 0; }

MODEL Held finite(SignedWide units, int exponent) {
    const Wide magnitude = units < 0 ? -(Wide)units : (Wide)units;
    return Held{magnitude, exponent, exponent, units < 0, false, false, true, false, FINITE};
}

MODEL Held nothing(bool negative) { return Held{0, 0, 0, negative, false, false, true, false, FINITE}; }

// A value of a format with `fraction` fraction bits.
MODEL Held widened(const Value& value, int fraction) {
    return Held{value.significand, value.exponent, value.exponent + fraction, value.negative, false, false, true, false,
                value.kind};
}

// A value as a code of the target, rounded once. A sticky significand has at least 65 bits.
template <class TARGET> __device__ __noinline__ Word round_held(const Held& x) {
    if (x.kind == NOT_A_NUMBER) return not_a_number<TARGET>();
    if (x.kind == INFINITE) return TARGET::infinite(x.negative);
    const int beyond = 64 - leading_zeros(x.significand);
    const int cut = beyond > 0 ? beyond : 0;
    const Word kept = (Word)(x.significand >> cut);
    const bool sticky = x.sticky || ((Wide)kept << cut) != x.significand;
    return encode<TARGET>(x.negative, kept, x.exponent + cut, sticky);
}

// x in units of 2^quantum, rounded. A value of 2^127 units or more has no use.
template <int DIRECTION> __device__ __noinline__ SignedWide cut_wide(const Held& x, int quantum) {
    const int shift = quantum - x.exponent;
    Wide kept;
    if (shift <= 0) {
        kept = shift > -128 ? x.significand << -shift : 0;
    } else {
        kept = shift < 128 ? x.significand >> shift : 0;
        // The dropped bits, in units of 2^-128 of the last kept bit; below half of it if x is far smaller.
        const Wide rest = shift < 128 ? x.significand << (128 - shift) : shift == 128 ? x.significand : x.significand != 0;
        if (rounds_up<DIRECTION>(x.negative, kept & 1, (Word)(rest >> 64), (Word)rest != 0)) ++kept;
    }
    return x.negative ? -(SignedWide)kept : (SignedWide)kept;
}

// True if x has bits below 2^quantum, among the `reach` bits there.
MODEL bool loses(const Held& x, int quantum, int reach) {
    const int shift = quantum - x.exponent, unseen = shift - reach;
    if (shift <= 0 || unseen > 127) return false;
    const Wide seen = unseen > 0 ? x.significand >> unseen << unseen : x.significand;
    return seen != 0 && (shift > 127 || seen << (128 - shift) != 0);
}

// True if the magnitude of a finite value exceeds the largest number.
template <class F> __device__ __noinline__ bool is_beyond(const Held& x) {
    if (x.kind != FINITE || x.significand == 0) return false;
    const Held largest = widened(decode<F, KEEP>(F::LARGEST_CODE), F::TRAILING_BITS);
    const int leading = x.exponent - leading_zeros(x.significand);
    const int most = largest.exponent - leading_zeros(largest.significand);
    if (leading != most) return leading > most;
    const SignedWide units = cut_wide<RZ>(Held{x.significand, x.exponent, x.units, false, x.sticky, false, true, false, FINITE},
                                          largest.exponent);
    return (Wide)units > largest.significand ||
           ((Wide)units == largest.significand && (x.sticky || loses(x, largest.exponent, 128)));
}

// A NaN as a code of the target's format, made quiet, with the leading bits of its payload.
template <class TARGET> MODEL Word quiet_nan(const Held& nan) {
    typedef typename TARGET::Format F;
    constexpr int T = F::TRAILING_BITS;
    if (F::SPECIALS != 1) return F::SPECIALS == 0 ? TARGET::NAN_CODE : F::NAN_CODE;
    const int bits = nan.units - nan.exponent;
    const Word payload = T >= bits ? (Word)nan.significand << (T - bits) : (Word)nan.significand >> (bits - T);
    const Word trailing = (payload & ((1ull << T) - 1)) | 1ull << (T - 1);
    const Word biased = (1ull << F::EXPONENT_BITS) - 1;
    return (((Word)nan.negative << F::EXPONENT_BITS | biased) << T | trailing) << F::PADDING_BITS;
}

// True if a finite result with this code is subnormal, by the rule of the destination.
template <class TO> MODEL bool is_tiny(const Held& x, Word code) {
    typedef typename TO::Format F;
    constexpr int T = F::TRAILING_BITS;
    if (TO::TININESS == TINY_AFTER) {
        const Word magnitude = code >> F::PADDING_BITS & magnitude_mask<F>();
        return magnitude != 0 && magnitude >> T == 0;
    }
    if (x.significand == 0) return x.sticky;
    const int leading = x.exponent + 127 - leading_zeros(x.significand);
    if (leading >= smallest_quantum<F>() + T) return false;
    if (TO::TININESS == TINY_BEFORE || leading < smallest_quantum<F>() + T - 1) return true;
    // At least half of the smallest normal number: does it round up to that number with an unbounded exponent?
    Held same = x;
    const SignedWide units = cut_wide<TO::ROUNDING>(same, leading - T);
    const Wide magnitude = units < 0 ? -(Wide)units : (Wide)units;
    return magnitude >> (T + 1) == 0;
}

// A value rounded to its destination, as the next operation reads it.
template <class TO, bool PASSES_NAN> __device__ __noinline__ Held deliver(const Held& x) {
    typedef typename TO::Format F;
    Word code;
    if (x.kind == NOT_A_NUMBER && PASSES_NAN && x.payload) {
        code = quiet_nan<TO>(x);
    } else {
        code = TO::EXACT_OVERFLOW && is_beyond<F>(x) ? TO::beyond(x.negative) : round_held<TO>(x);
        const bool flushed = TO::SUBNORMALS != KEEP && x.kind == FINITE && is_tiny<TO>(x, code);
        const bool zero = (code & ~(F::NEGATIVE_ZERO ? 1ull << (F::BITS - 1) : 0)) == 0;
        if (flushed) {
            code = zero_code<TO>(x.negative && TO::SUBNORMALS == SIGNED_ZERO);
        } else if (x.kind == FINITE && zero) {
            const bool nothing = x.significand == 0 && !x.sticky;
            const bool exact = nothing && !x.agreed;
            code = zero_code<TO>(TO::ZERO == ZERO_NEGATIVE ||
                                 (TO::ZERO == ZERO_EXACT_POSITIVE && !nothing && x.negative) ||
                                 (TO::ZERO == ZERO_COMMON && x.negative) ||
                                 (TO::ZERO == ZERO_IEEE && (exact ? TO::ROUNDING == RD : x.negative)));
        }
    }
    Held held = widened(decode<F, KEEP>(code), F::TRAILING_BITS);
    held.payload = held.kind == NOT_A_NUMBER;
    held.counts = ZEROS_COUNT && is_zero(held);
    return held;
}

// x * y, exactly, for significands of at most 128 bits together. Its units digit is the product of theirs.
MODEL Held times(const Held& x, const Held& y) {
    Held p = {x.significand * y.significand, x.exponent + y.exponent, x.units + y.units, x.negative != y.negative,
              false, false, true, false, FINITE};
    if (x.kind == NOT_A_NUMBER || y.kind == NOT_A_NUMBER) p.kind = NOT_A_NUMBER;
    else if (x.kind == INFINITE || y.kind == INFINITE) p.kind = is_zero(x) || is_zero(y) ? NOT_A_NUMBER : INFINITE;
    return p;
}

// x + y, exact or sticky with more than 120 bits, for exact x and y of at most 110. A zero sum has the common sign,
// else `disagree`.
__device__ __noinline__ Held plus(Held x, Held y, bool disagree) {
    if (x.kind == NOT_A_NUMBER || y.kind == INFINITE || y.kind == NOT_A_NUMBER) {
        const Held swap = x;
        x = y;
        y = swap;
    }
    // Any infinity or NaN is x now.
    if (y.kind == NOT_A_NUMBER) return y;
    if (x.kind == NOT_A_NUMBER) return x;
    if (y.kind == INFINITE) {
        const Held swap = x;
        x = y;
        y = swap;
    }
    if (x.kind == INFINITE) {
        if (y.kind == INFINITE && x.negative != y.negative) {
            if (OPPOSITE_INFINITIES == NO_INFINITY) x.kind = NOT_A_NUMBER;
            x.negative = OPPOSITE_INFINITIES == NEGATIVE_INFINITY;
        }
        return x;
    }
    if (x.significand == 0 && y.significand == 0) {
        x.negative = x.negative == y.negative ? x.negative : disagree;
        return x;
    }
    if (x.significand == 0) return y;
    if (y.significand == 0) return x;
    // Both have their leading bit at 125; the smaller magnitude is truncated, with a sticky bit.
    const int x_up = leading_zeros(x.significand) - 2, y_up = leading_zeros(y.significand) - 2;
    x.significand <<= x_up; x.exponent -= x_up;
    y.significand <<= y_up; y.exponent -= y_up;
    if (x.exponent < y.exponent || (x.exponent == y.exponent && x.significand < y.significand)) {
        const Held swap = x;
        x = y;
        y = swap;
    }
    const int down = x.exponent - y.exponent;
    const Wide cut = down < 128 ? y.significand >> down : 0;
    x.sticky = down < 128 ? cut << down != y.significand : true;
    if (x.negative == y.negative) {
        x.significand += cut;
    } else {
        // The exact difference is smaller by less than one: subtract one and set the sticky bit.
        x.significand -= cut + (x.sticky ? 1 : 0);
        if (x.significand == 0) x.negative = disagree;
    }
    return x;
}
