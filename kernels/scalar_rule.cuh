// The rule of a scalar instruction in one lane. Follows model_value.cuh and definitions that specialise it
// (crates/engine/src/device/cuda/sweeper.rs): FormatA, TargetResult, TargetUnbounded, OPERATION, FLUSH_INPUTS, FLUSH_RESULTS, CLAMP,
// NAN_RULE...

enum Operation { CONVERT, ROUND, ADD, SUB, MUL, FMA, MIN, MAX, NEG, ABS };
enum Clamp { UNCLAMPED, RELU, UNIT };
enum NanRule { NAN_CODE_RULE, NAN_COPY, NAN_QUIET, NAN_CUT, NAN_BELOW };

// Classes of data, in the order of the counts.
enum Class { ZERO_CLASS, SUBNORMAL_CLASS, NORMAL_CLASS, INFINITE_CLASS, NAN_CLASS };

template <class F> MODEL Value integer_value(Word code) {
    const bool negative = F::SIGNED && (code >> (F::BITS - 1) & 1);
    Value value;
    const Word mask = F::BITS == 64 ? ~0ull : (1ull << (F::BITS & 63)) - 1;
    value.significand = (negative ? 0 - code : code) & mask;
    value.exponent = 0;
    value.negative = negative;
    value.kind = FINITE;
    return value;
}

template <class F, int SUBNORMALS, bool INTEGER = F::INTEGER> struct Datum {
    static MODEL Value of(Word code) { return decode<F, SUBNORMALS>(code); }
};
template <class F, int SUBNORMALS> struct Datum<F, SUBNORMALS, true> {
    static MODEL Value of(Word code) { return integer_value<F>(code); }
};

template <class F> MODEL int class_of(Word code) {
    const Value value = Datum<F, KEEP>::of(code);
    if (value.kind != FINITE) return value.kind == INFINITE ? INFINITE_CLASS : NAN_CLASS;
    if (value.significand == 0) return ZERO_CLASS;
    return !F::INTEGER && value.significand >> F::TRAILING_BITS == 0 ? SUBNORMAL_CLASS : NORMAL_CLASS;
}

// The value rounded to an integer.
template <int DIRECTION> MODEL Value integral(Value value) {
    const int shift = -value.exponent;
    if (value.kind != FINITE || shift <= 0) return value;
    const Word significand = value.significand;
    const Word rest = shift < 64 ? significand << (64 - shift) : shift == 64 ? significand : significand != 0;
    value.significand = shift < 64 ? significand >> shift : 0;
    if (rounds_up<DIRECTION>(value.negative, value.significand & 1, rest, false)) ++value.significand;
    value.exponent = 0;
    return value;
}

// An integral value as a code of an integer format; values beyond it saturate.
template <class TARGET> MODEL Word encode_integer(const Value& value) {
    typedef typename TARGET::Format F;
    if (value.kind == NOT_A_NUMBER) return not_a_number<TARGET>();
    if (value.kind == INFINITE) return TARGET::infinite(value.negative);
    if (value.significand == 0) return 0;
    if (value.exponent + 63 - __clzll((long long)value.significand) >= F::BITS) return TARGET::beyond(value.negative);
    const Word magnitude = value.significand << value.exponent;
    const Word mask = F::BITS == 64 ? ~0ull : (1ull << (F::BITS & 63)) - 1;
    const Word limit = F::SIGNED ? (mask >> 1) + (value.negative ? 1 : 0) : value.negative ? 0 : mask;
    if (magnitude > limit) return TARGET::beyond(value.negative);
    return (value.negative ? 0 - magnitude : magnitude) & mask;
}

template <class TARGET, bool INTEGER = TARGET::Format::INTEGER> struct Result {
    static MODEL Word of(const Value& value) {
        // In an unsigned format, only NaN can stand for a negative number.
        if (!TARGET::Format::SIGNED && value.negative && value.kind == FINITE && value.significand != 0) {
            return TARGET::beyond(true);
        }
        return round_value<TARGET>(value);
    }
    static MODEL Word sum(const Value& x, const Value& y) { return sum_of<TARGET>(x, y); }
};
template <class TARGET> struct Result<TARGET, true> {
    static MODEL Word of(const Value& value) { return encode_integer<TARGET>(integral<TARGET::ROUNDING>(value)); }
    static MODEL Word sum(const Value&, const Value&) { return 0; }
};

// The rounded result of operations that round.
template <class TARGET> MODEL Word rounded(const Value& a, Value b, const Value& c) {
    if (OPERATION == CONVERT) return Result<TARGET>::of(a);
    if (OPERATION == ROUND) return Result<TARGET>::of(integral<TARGET::ROUNDING>(a));
    if (OPERATION == MUL) return Result<TARGET>::of(product(a, b));
    if (OPERATION == FMA) return Result<TARGET>::sum(product(a, b), c);
    if (OPERATION == SUB) b.negative = !b.negative;
    return Result<TARGET>::sum(a, b);
}

// True if a nonzero magnitude, rounded with unbounded exponent, is below every normal number.
template <class F> MODEL bool is_tiny(Word code) {
    const Word magnitude = code & ~(1ull << (F::BITS - 1));
    return magnitude != 0 && magnitude < UNBOUNDED_SMALLEST_NORMAL;
}

// The smaller or larger of two codes, or of their magnitudes.
MODEL Word selected(const Value& a, const Value& b, Word a_code, Word b_code) {
    typedef TargetResult::Format F;
    constexpr Word SIGN = 1ull << (F::BITS - 1);
    const bool a_nan = a.kind == NOT_A_NUMBER, b_nan = b.kind == NOT_A_NUMBER;
    if ((a_nan && b_nan) || (NAN_OPERANDS && (a_nan || b_nan))) return TargetResult::NAN_CODE;
    const Word sign = XOR_SIGN ? (a_code ^ b_code) & SIGN : 0;
    if (XOR_SIGN) {
        a_code &= ~SIGN;
        b_code &= ~SIGN;
    }
    // Keys in the order of values.
    const Word a_key = a_code & SIGN ? ~a_code & (SIGN | (SIGN - 1)) : a_code | SIGN;
    const Word b_key = b_code & SIGN ? ~b_code & (SIGN | (SIGN - 1)) : b_code | SIGN;
    const bool first = b_nan || (!a_nan && (OPERATION == MIN ? a_key < b_key : a_key > b_key));
    return (first ? a_code : b_code) | sign;
}

MODEL Word clamped(Word code) {
    typedef TargetResult::Format F;
    if (CLAMP == UNCLAMPED) return code;
    const bool nan = class_of<F>(code) == NAN_CLASS;
    const bool negative = F::SIGNED && (code >> (F::BITS - 1) & 1);
    if (CLAMP == RELU) return negative && !nan ? 0 : code;
    return nan || negative ? 0 : code > ONE_CODE ? ONE_CODE : code;
}

// The signed zero that replaces a subnormal number, if inputs are flushed.
template <class F> MODEL Word flushed(Word code) {
    return FLUSH_INPUTS && class_of<F>(code) == SUBNORMAL_CLASS ? code & 1ull << (F::BITS - 1) : code;
}

MODEL Word passed_on(Word code) {
    typedef TargetResult::Format F;
    constexpr int FROM = FormatA::TRAILING_BITS, TO = F::TRAILING_BITS;
    Word trailing = code >> FormatA::PADDING_BITS & ((1ull << FROM) - 1);
    trailing = TO >= FROM ? trailing << (TO >= FROM ? TO - FROM : 0) : trailing >> (FROM > TO ? FROM - TO : 0);
    if (NAN_RULE == NAN_QUIET || (NAN_RULE == NAN_COPY && trailing == 0)) trailing |= 1ull << (TO > 0 ? TO - 1 : 0);
    const Word sign = code >> (FormatA::BITS - 1) & 1;
    const Word passed = F::INFINITY_CODE | sign << (F::BITS - 1) | trailing << F::PADDING_BITS;
    return NAN_RULE == NAN_BELOW ? passed - (1ull << F::PADDING_BITS) : passed;
}

// The code of the result.
MODEL Word model(Word a_code, Word b_code, Word c_code) {
    typedef TargetResult::Format F;
    constexpr Word MAGNITUDE = (1ull << (FormatA::BITS - 1)) - 1;
    if (OUT_OF_BOUNDS && ((a_code & MAGNITUDE) == OUT_OF_BOUNDS_CODE || (b_code & MAGNITUDE) == OUT_OF_BOUNDS_CODE)) return 0;
    a_code = flushed<FormatA>(a_code);
    b_code = flushed<FormatA>(b_code);
    const Value a = Datum<FormatA, KEEP>::of(a_code), b = Datum<FormatA, KEEP>::of(b_code);
    if (NAN_RULE != NAN_CODE_RULE && a.kind == NOT_A_NUMBER) return clamped(passed_on(a_code));
    if (OPERATION == MIN || OPERATION == MAX) return selected(a, b, a_code, b_code);
    if (OPERATION == NEG || OPERATION == ABS) {
        if (a.kind == NOT_A_NUMBER) return TargetResult::NAN_CODE;
        const Word sign = 1ull << (F::BITS - 1);
        return OPERATION == NEG ? a_code ^ sign : a_code & ~sign;
    }
    const Value c = Datum<FormatA, KEEP>::of(flushed<FormatA>(c_code));
    if (FLUSH_RESULTS) {
        const Word unbounded = rounded<TargetUnbounded>(a, b, c);
        typedef TargetUnbounded::Format U;
        if (is_tiny<U>(unbounded)) return clamped(zero_code<TargetResult>(unbounded >> (U::BITS - 1) & 1));
    }
    return clamped(rounded<TargetResult>(a, b, c));
}
