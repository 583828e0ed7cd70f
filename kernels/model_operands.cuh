// Operands of the model: codes and factors of one element of D, by stored k.

// An operand of A or B, prepared for the steps.
struct Factor {
#if FACTOR == FACTOR_F64
    double number;
#elif FACTOR == FACTOR_F32
    float number;
#elif FACTOR == FACTOR_NONE
    unsigned char none;  // the steps work from codes
#elif FACTOR == FACTOR_INTEGER
    short number;
#else
    int significand;  // signed; A's lifted by FACTOR_LIFT bits
    int exponent;     // of the last bit, before lifting; NOWHERE for a zero, SPECIAL for an infinity or NaN
#endif
};

const int NOWHERE = -8192, SPECIAL = 24576, SPECIAL_TERM = 8192;

// Single bits are their own integers and need no factors.
const bool BITS_ALONE = FormatA::BITS == 1 && FormatB::BITS == 1;

// A value in the format TO. Unpacking is exact; a subnormal number of FROM may become normal.
template <class FROM, class TO, int SUBNORMALS> MODEL Value unpacked(Word code) {
    Value value = decode<FROM, SUBNORMALS>(code);
    if (value.significand != 0) {
        const int up = TO::TRAILING_BITS - (63 - __clzll((long long)value.significand));
        const int room = value.exponent - smallest_quantum<TO>();
        value.significand <<= up < room ? up : room;
        value.exponent -= up < room ? up : room;
    }
    return value;
}

#if FACTOR == FACTOR_F32
// The code in f32, which holds every number of F; NaNs of f32 keep their payloads.
template <class F> MODEL unsigned f32_code(Word code) {
    return F::TRAILING_BITS == 23 ? (unsigned)code : (unsigned)convert<F, KEEP, TargetF32>(code);
}
#endif

template <class FROM, class TO, bool LIFTED> MODEL Factor factor(Word code) {
    Factor f;
#if FACTOR == FACTOR_F64
    f.number = __longlong_as_double((long long)code);
#elif FACTOR == FACTOR_F32
    f.number = __uint_as_float(f32_code<FROM>(code));
#elif FACTOR == FACTOR_NONE
    f.none = 0;
#elif FACTOR == FACTOR_INTEGER
    f.number = (short)(FROM::SIGNED ? (int)((unsigned)code << (32 - FROM::BITS)) >> (32 - FROM::BITS) : (int)code);
#else
    const Value value = UNPACKED ? unpacked<FROM, TO, OPERAND_SUBNORMALS>(code) : decode<FROM, OPERAND_SUBNORMALS>(code);
    const int magnitude = (int)value.significand << (LIFTED ? FACTOR_LIFT : 0);
    f.significand = value.negative ? -magnitude : magnitude;
    f.exponent = value.kind != FINITE ? SPECIAL : value.significand == 0 ? NOWHERE : value.exponent;
#endif
    return f;
}

// The operands of one element of D: factors and codes by stored k.
struct Operands {
    const Factor* row;            // A: row[k * M]
    const Factor* column;         // B: column[k * N]
    const A::Code* row_codes;     // row_codes[k]
    const B::Code* column_codes;  // column_codes[k * N]
    const unsigned char* positions;
#ifdef SCALE_BLOCK
    const unsigned char* row_scales;     // per block: row_scales[block]
    const unsigned char* column_scales;  // column_scales[block * N]
#endif

    MODEL int logical(int k) const {
        return SPARSE ? k / CHUNK_KEPT * CHUNK_LENGTH + positions[k] : k;
    }
    MODEL Factor a(int k) const { return row[k * M]; }
    MODEL Factor b(int k) const { return column[logical(k) * N]; }
    MODEL Word a_code(int k) const { return row_codes[k]; }
    MODEL Word b_code(int k) const { return column_codes[logical(k) * N]; }
};
