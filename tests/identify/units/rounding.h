// Registers, the normalise-and-round stage and the two-input floating-point adder.
#pragma once
#include <cstdint>
#include <utility>

enum Kind { FINITE, INFINITE, NOT_A_NUMBER };

// What an adder takes in. Finite: (-1)^negative * significand * 2^lsb; `exponent` is what the hardware compares.
struct Term {
    Kind kind;
    bool negative;
    int exponent, lsb;
    uint64_t significand;
};

// What an adder gives out, before it is normalised. `sticky`: bits below lsb were dropped, and one of them was set.
struct Sum {
    bool negative;
    uint64_t magnitude;   // below 2^63
    int lsb;
    bool sticky;
    int exponent;   // largest exponent of the terms
    bool negative_zero;
};

enum Rounding { NEAREST_EVEN, NEAREST_AWAY, TOWARD_ZERO, DOWN };
enum Tiny { KEEP_TINY, FLUSH_BEFORE, FLUSH_AFTER };
enum Huge { HUGE_INFINITE, HUGE_LARGEST, HUGE_LARGEST_BEFORE };

struct Register {
    int precision, min_exponent, max_exponent;
};

inline int length(uint64_t x) { return x ? 64 - __builtin_clzll(x) : 0; }

inline Term zero(bool negative, const Register &r) { return {FINITE, negative, r.min_exponent, r.min_exponent - r.precision + 1, 0}; }

inline Term round_to(const Register &r, const Sum &s, Rounding mode, Tiny tiny, Huge huge) {
    if (s.magnitude == 0) return zero(s.negative_zero, r);
    int exponent = s.lsb + length(s.magnitude) - 1;
    if (tiny == FLUSH_BEFORE && exponent < r.min_exponent) return zero(s.negative, r);
    if (huge == HUGE_LARGEST_BEFORE && exponent > r.max_exponent)
        return {FINITE, s.negative, r.max_exponent, r.max_exponent - r.precision + 1, (1ull << r.precision) - 1};
    if (tiny == KEEP_TINY && exponent < r.min_exponent) exponent = r.min_exponent;
    int lsb = exponent - r.precision + 1, shift = lsb - s.lsb;
    uint64_t kept;
    bool half = false, rest = s.sticky;
    if (shift <= 0) {
        kept = s.magnitude << -shift;
    } else if (shift > 63) {
        kept = 0;
        rest = true;
    } else {
        kept = s.magnitude >> shift;
        half = s.magnitude >> (shift - 1) & 1;
        rest = rest || (s.magnitude & ((1ull << (shift - 1)) - 1)) != 0;
    }
    bool up = mode == NEAREST_EVEN   ? half && (rest || (kept & 1))
              : mode == NEAREST_AWAY ? half
              : mode == DOWN         ? s.negative && (half || rest)
                                     : false;
    uint64_t significand = kept + up;
    if (significand >> r.precision) significand >>= 1, exponent++, lsb++;
    if (tiny == FLUSH_AFTER && exponent < r.min_exponent) return zero(s.negative, r);
    if (exponent > r.max_exponent) {
        if (huge == HUGE_LARGEST)
            return {FINITE, s.negative, r.max_exponent, r.max_exponent - r.precision + 1, (1ull << r.precision) - 1};
        return {INFINITE, s.negative, exponent, lsb, 0};
    }
    return {FINITE, s.negative, exponent, lsb, significand};
}

// The sum of two finite terms of at most 32 bits each, exact but for the bits that the last one stands for as a sticky bit.
inline Sum add_exactly(const Term &x, const Term &y) {
    if (!x.significand || !y.significand) {
        const Term &t = x.significand ? x : y;
        return {t.negative, t.significand, t.lsb, false, t.exponent, x.negative && y.negative};
    }
    const int TOP = 61;
    int x_length = length(x.significand), y_length = length(y.significand);
    int x_top = x.lsb + x_length, y_top = y.lsb + y_length;
    uint64_t large = x.significand << (TOP - x_length), small = y.significand << (TOP - y_length);
    int top = x_top, distance = x_top - y_top;
    bool large_negative = x.negative;
    if (distance < 0) {
        std::swap(large, small);
        top = y_top, distance = -distance, large_negative = y.negative;
    }
    if (distance >= TOP) {
        small = 1;
    } else {
        bool lost = (small & ((1ull << distance) - 1)) != 0;
        small = small >> distance | lost;
    }
    if (x.negative == y.negative) return {large_negative, large + small, top - TOP, false, top, false};
    if (large >= small) return {large_negative, large - small, top - TOP, false, top, false};
    return {!large_negative, small - large, top - TOP, false, top, false};
}
