// Element formats of the units, and the unpack stage that every unit begins with.
#pragma once
#include <cstdint>
#include <string>

struct Format {
    const char *name;
    int exponent_bits, fraction_bits, bias;
    int padding;      // low bits of the code that carry nothing (tf32)
    int bytes;        // of a code in the exec protocol
    bool infinities;
    int nan_codes;    // 0: none; 1: the code of negative zero; 2: all ones; 3: the top exponent with a fraction
};

inline constexpr Format FORMATS[] = {
    {"f32", 8, 23, 127, 0, 4, true, 3},      {"tf32", 8, 10, 127, 13, 4, true, 3},   {"bf16", 8, 7, 127, 0, 2, true, 3},
    {"f16", 5, 10, 15, 0, 2, true, 3},       {"e5m2", 5, 2, 15, 0, 1, true, 3},      {"e4m3", 4, 3, 7, 0, 1, false, 2},
    {"e5m2fnuz", 5, 2, 16, 0, 1, false, 1},  {"e4m3fnuz", 4, 3, 8, 0, 1, false, 1},  {"e2m1", 2, 1, 1, 0, 1, false, 0},
};

inline const Format *format_named(const std::string &name) {
    for (const Format &f : FORMATS)
        if (name == f.name) return &f;
    return nullptr;
}

// An unpacked operand: its value is (-1)^negative * significand * 2^(exponent - fraction bits).
struct Operand {
    bool negative, is_nan, is_inf, is_zero;
    int exponent;          // of the hidden bit; the smallest normal number's where the field is 0
    int lsb;               // exponent of the last bit of the significand
    uint32_t significand;
    uint32_t code;
};

struct Unpack {
    bool subnormals = true;     // false: an exponent field of 0 means zero
    bool specials = true;       // false: every code is an ordinary number
    bool normalise = false;     // subnormals are shifted up to a leading one, their exponent follows
};

inline Operand unpack(const Format &f, uint32_t code, const Unpack &how) {
    uint32_t bits = code >> f.padding;
    uint32_t fraction = bits & ((1u << f.fraction_bits) - 1);
    uint32_t top = (1u << f.exponent_bits) - 1;
    uint32_t field = bits >> f.fraction_bits & top;
    Operand o{};
    o.code = code;
    o.negative = bits >> (f.exponent_bits + f.fraction_bits) & 1;
    if (how.specials && f.nan_codes == 1 && o.negative && !field && !fraction) o.is_nan = true;
    if (how.specials && f.nan_codes == 2 && field == top && fraction == (1u << f.fraction_bits) - 1) o.is_nan = true;
    if (how.specials && f.nan_codes == 3 && field == top) {
        o.is_nan = fraction != 0;
        o.is_inf = fraction == 0;
    }
    o.exponent = int(field ? field : 1) - f.bias;
    o.significand = field ? fraction | 1u << f.fraction_bits : how.subnormals ? fraction : 0;
    o.is_zero = o.significand == 0;
    o.lsb = o.exponent - f.fraction_bits;
    if (how.normalise && !o.is_zero)
        while (!(o.significand >> f.fraction_bits)) o.significand <<= 1, o.exponent--, o.lsb--;
    return o;
}
