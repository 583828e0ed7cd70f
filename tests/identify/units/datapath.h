// The data paths: one element of D from a row of A, a column of B and an element of C.
#pragma once
#include <cstdint>

#include "design.h"

const int LARGEST_K = 32;

// Multiplier: the exact product, or the special value that it is.
inline Term multiply(const Operand &a, const Operand &b, InfTimesZero rule) {
    Term t{FINITE, a.negative != b.negative, a.exponent + b.exponent, a.lsb + b.lsb, uint64_t(a.significand) * b.significand};
    if (a.is_nan || b.is_nan) {
        t.kind = NOT_A_NUMBER;
    } else if (a.is_inf || b.is_inf) {
        bool with_zero = (!a.is_inf && a.is_zero) || (!b.is_inf && b.is_zero);
        t.kind = !with_zero || rule == IZ_INFINITE ? INFINITE : rule == IZ_NAN ? NOT_A_NUMBER : FINITE;
        t.significand = 0;
    }
    return t;
}

inline Term term_of(const Operand &c) {
    return {c.is_nan ? NOT_A_NUMBER : c.is_inf ? INFINITE : FINITE, c.negative, c.exponent, c.lsb, c.significand};
}

// The flags that an adder collects of its inputs.
struct Flags {
    bool nan = false, plus = false, minus = false;
    void see(const Term &t) {
        nan |= t.kind == NOT_A_NUMBER;
        plus |= t.kind == INFINITE && !t.negative;
        minus |= t.kind == INFINITE && t.negative;
    }
    bool any() const { return nan || plus || minus; }
    Term result(bool opposite_is_positive) const {
        bool invalid = nan || (plus && minus && !opposite_is_positive);
        return {invalid ? NOT_A_NUMBER : INFINITE, !plus, 0, 0, 0};
    }
};

// One term shifted into the window whose last bit is 2^lsb, as a two's complement number.
inline int64_t align(const Term &t, int lsb, const Window &w, bool &sticky) {
    int shift = lsb - t.lsb;
    if (shift <= 0) {
        int64_t whole = int64_t(t.significand << -shift) << (w.sticky == STICKY_IN_TERM);
        return t.negative ? -whole : whole;
    }
    uint64_t kept = shift > 63 ? 0 : t.significand >> shift;
    uint64_t dropped = shift > 63 ? t.significand : t.significand & ((1ull << shift) - 1);
    int unseen = shift - w.sticky_reach;
    bool seen = unseen > 63 ? false : (dropped >> (unseen > 0 ? unseen : 0)) != 0;
    bool half = shift <= 64 && (t.significand >> (shift - 1) & 1);
    if (w.align == ROUND_TERM_AWAY) kept += half;
    if (w.align == ROUND_TERM_EVEN) kept += half && ((kept & 1) || (dropped & ~(1ull << (shift - 1))));
    int64_t value = t.negative ? -int64_t(kept) : int64_t(kept);
    bool floor = w.align == CUT_COMPLEMENT && t.negative && dropped;
    value -= floor;
    if (w.sticky == STICKY_OF_SUM) sticky |= seen;
    if (w.sticky == STICKY_IN_TERM) value = value * 2 + (floor || !t.negative ? seen : -int64_t(seen));
    return value;
}

// Aligns all terms to the largest exponent and adds them. All terms are finite.
inline Sum add_in_window(const Term *terms, int count, const Window &w, ZeroSign zero_sign) {
    int largest = w.floor;
    bool negative = true;
    for (int i = 0; i < count; i++) {
        negative = negative && terms[i].negative;
        if ((terms[i].significand || !w.mask_zeros) && terms[i].exponent > largest) largest = terms[i].exponent;
    }
    int lsb = largest + 2 - w.width;
    int64_t total = 0;
    bool sticky = false;
    for (int i = 0; i < count; i++)
        if (terms[i].significand) total += align(terms[i], lsb, w, sticky);
    if (w.sticky == STICKY_IN_TERM) lsb--;
    if (w.sticky == STICKY_OF_SUM && w.align == CUT_COMPLEMENT) total = total * 2 + sticky, lsb--, sticky = false;
    return {total < 0, uint64_t(total < 0 ? -total : total), lsb, sticky, largest, negative && zero_sign == ZERO_IEEE};
}

class Unit {
  public:
    explicit Unit(const Design &design) : u(design), from_a(format_named(u.a)), from_b(format_named(u.b)), from_c(format_named(u.c)), to(*format_named(u.d)) {
        fixed_takes_c = u.style == FIXED_POINT && u.c == "f16" && u.c_place == C_WITH_PRODUCTS;
        fixed_lsb = smallest(*from_a) + smallest(*from_b);
        if (fixed_takes_c && smallest(*from_c) < fixed_lsb) fixed_lsb = smallest(*from_c);
    }

    // Elements of b are `stride` apart.
    uint32_t element(const Operand *a, const Operand *b, int stride, const Operand &c) const {
        Term p[LARGEST_K];
        for (int i = 0; i < u.k; i++) p[i] = multiply(a[i], b[i * stride], u.inf_times_zero);
        Term addend = term_of(c);
        if (u.front) {
            Flags flags;
            for (int i = 0; i < u.k; i++) flags.see(p[i]);
            flags.see(addend);
            if (flags.any()) {
                Term t = flags.result(u.opposite_is_positive);
                if (t.kind == NOT_A_NUMBER && u.first_nan) return first_nan(a, b, stride, c);
                return pack(t);
            }
        }
        return pack(sum(p, addend));
    }

  private:
    const Design u;
    const Format *from_a, *from_b, *from_c;
    const Format &to;
    int fixed_lsb;   // of the exact accumulator
    bool fixed_takes_c;

    // Exponent of the smallest subnormal number.
    static int smallest(const Format &f) { return 1 - f.bias - f.fraction_bits; }

    Term rounded(const Sum &s, bool last) const {
        if (last && u.skips_inner_last) return round_to(u.result, s, u.result_rounding, u.tiny, u.huge);
        Term t = round_to(u.inner, s, u.inner_rounding, u.tiny, u.huge);
        if (!last || t.kind != FINITE) return t;
        return round_to(u.result, {t.negative, t.significand, t.lsb, false, t.exponent, t.negative}, u.result_rounding, u.tiny, u.huge);
    }

    // One rounded step in a window.
    Term step(const Term *terms, int count, bool last) const {
        Flags flags;
        for (int i = 0; i < count; i++) flags.see(terms[i]);
        if (flags.any()) return flags.result(u.opposite_is_positive);
        return rounded(add_in_window(terms, count, u.window, u.zero_sign), last);
    }

    // An ordinary floating-point adder; with an exact product as x a fused multiply-add.
    Term adder(const Term &x, const Term &y, bool last) const {
        Flags flags;
        flags.see(x), flags.see(y);
        if (flags.any()) return flags.result(u.opposite_is_positive);
        return rounded(add_exactly(x, y), last);
    }

    Term sum(Term *p, const Term &c) const {
        switch (u.style) {
        case TREE: return tree(p, c);
        case GROUPS: return groups(p, c);
        case GROUP_ADDERS: return group_adders(p, c);
        case HALVES: return halves(p, c);
        case PAIRWISE: return pairwise(p, c);
        case FMA_CHAIN: return chain(p, c);
        default: return fixed_point(p, c);
        }
    }

    Term tree(const Term *p, const Term &c) const {
        Term all[LARGEST_K + 1];
        for (int i = 0; i < u.k; i++) all[i] = p[i];
        if (u.c_place == C_BY_ADDER) return adder(step(p, u.k, false), c, true);
        all[u.k] = c;
        if (u.c_place == C_WITH_PRODUCTS) return step(all, u.k + 1, true);
        Flags flags;
        for (int i = 0; i <= u.k; i++) flags.see(all[i]);
        if (flags.any()) return flags.result(u.opposite_is_positive);
        Sum s = add_in_window(p, u.k, u.window, u.zero_sign);
        // The sum of the products enters the second alignment unchanged, with the exponent of its window; a sticky bit becomes its last one.
        bool negative = s.magnitude ? s.negative : s.negative_zero;
        Term both[2] = {{FINITE, negative, s.exponent, s.lsb - 1, s.magnitude << 1 | s.sticky}, c};
        return rounded(add_in_window(both, 2, u.late, u.zero_sign), true);
    }

    Term groups(const Term *p, const Term &c) const {
        bool late = u.c_place == C_BY_ADDER;
        Term register_ = late ? zero(false, u.inner) : c, terms[LARGEST_K + 1];
        for (int at = 0; at < u.k; at += u.group) {
            int count = 0;
            for (int i = 0; i < u.group; i++) terms[count++] = p[at + i];
            if (at > 0 || !late) terms[count++] = register_;
            register_ = step(terms, count, !late && at + u.group == u.k);
        }
        return late ? adder(register_, c, true) : register_;
    }

    Term group_adders(const Term *p, const Term &c) const {
        bool late = u.c_place == C_BY_ADDER;
        int count = u.k / u.group;
        Term total = c, terms[LARGEST_K];
        for (int g = 0; g < count; g++) {
            for (int i = 0; i < u.group; i++) terms[i] = p[u.strided ? i * count + g : g * u.group + i];
            Term part = step(terms, u.group, false);
            total = late && g == 0 ? part : adder(total, part, !late && g + 1 == count);
        }
        return late ? adder(total, c, true) : total;
    }

    Term halves(const Term *p, const Term &c) const {
        bool late = u.c_place == C_BY_ADDER;
        Term even[LARGEST_K / 2 + 1], odd[LARGEST_K / 2];
        int count = u.k / 2;
        for (int i = 0; i < count; i++) even[i] = p[2 * i], odd[i] = p[2 * i + 1];
        even[count] = c;
        Term x = step(even, count + !late, false), y = step(odd, count, false);
        Term both = adder(x, y, !late);
        return late ? adder(both, c, true) : both;
    }

    Term pairwise(Term *p, const Term &c) const {
        if (u.round_products)
            for (int i = 0; i < u.k; i++) p[i] = adder(p[i], zero(p[i].negative, u.inner), false);
        bool late = u.c_place == C_BY_ADDER;
        if (!late) p[0] = adder(p[0], c, false);
        for (int count = u.k; count > 1; count /= 2)
            for (int i = 0; i < count / 2; i++)
                p[i] = u.strided ? adder(p[i], p[i + count / 2], !late && count == 2) : adder(p[2 * i], p[2 * i + 1], !late && count == 2);
        return late ? adder(p[0], c, true) : p[0];
    }

    Term chain(const Term *p, const Term &c) const {
        bool late = u.c_place == C_BY_ADDER;
        Term lane[2] = {late ? zero(false, u.inner) : c, zero(false, u.inner)};
        for (int i = 0; i < u.k; i++) {
            Term &total = lane[i % u.lanes];
            total = adder(p[i], total, !late && u.lanes == 1 && i + 1 == u.k);
        }
        if (u.lanes == 2) lane[0] = adder(lane[0], lane[1], !late);
        return late ? adder(lane[0], c, true) : lane[0];
    }

    // An accumulator wide enough for every product, as fixed-point numbers.
    Term fixed_point(const Term *p, const Term &c) const {
        Flags flags;
        __int128 total = 0;
        bool negative = true;
        auto take = [&](const Term &t) {
            flags.see(t);
            negative = negative && t.negative;
            if (!t.significand) return;
            __int128 value = __int128(t.significand) << (t.lsb - fixed_lsb);
            total += t.negative ? -value : value;
        };
        for (int i = 0; i < u.k; i++) take(p[i]);
        if (fixed_takes_c) take(c);
        if (flags.any()) {
            Term t = flags.result(u.opposite_is_positive);
            return fixed_takes_c ? t : adder(t, c, true);
        }
        Sum s{total < 0, 0, fixed_lsb, false, 0, negative && u.zero_sign == ZERO_IEEE};
        unsigned __int128 magnitude = (unsigned __int128)(total < 0 ? -total : total);
        for (; magnitude >> 62; magnitude >>= 1, s.lsb++) s.sticky |= magnitude & 1;
        s.magnitude = uint64_t(magnitude);
        Term products = rounded(s, fixed_takes_c);
        return fixed_takes_c ? products : adder(products, c, true);
    }

    uint32_t first_nan(const Operand *a, const Operand *b, int stride, const Operand &c) const {
        for (int i = 0; i < u.k; i++) {
            if (a[i].is_nan) return quieted(*from_a, a[i]);
            if (b[i * stride].is_nan) return quieted(*from_b, b[i * stride]);
        }
        return c.is_nan ? quieted(*from_c, c) : u.nan;
    }

    // The sign and the fraction of a NaN, moved to the top of D's fraction, with the quiet bit.
    uint32_t quieted(const Format &from, const Operand &o) const {
        uint32_t fraction = o.code >> from.padding & ((1u << from.fraction_bits) - 1);
        int up = to.fraction_bits - from.fraction_bits;
        fraction = up >= 0 ? fraction << up : fraction >> -up;
        uint32_t exponent = (1u << to.exponent_bits) - 1;
        return uint32_t(o.negative) << (to.exponent_bits + to.fraction_bits) | exponent << to.fraction_bits | 1u << (to.fraction_bits - 1) | fraction;
    }

    uint32_t pack(const Term &t) const {
        uint32_t top = (1u << to.exponent_bits) - 1, hidden = 1u << to.fraction_bits;
        if (t.kind == NOT_A_NUMBER) return u.nan;
        bool negative = t.negative && !(t.kind == FINITE && !t.significand && u.zero_sign == ALWAYS_PLUS);
        uint32_t sign = uint32_t(negative) << (to.exponent_bits + to.fraction_bits);
        if (t.kind == INFINITE) return sign | top << to.fraction_bits;
        uint32_t field = t.significand & hidden ? uint32_t(t.exponent + to.bias) : 0;
        return sign | field << to.fraction_bits | (uint32_t(t.significand) & (hidden - 1));
    }
};

// Integer units. Codes arrive sign-extended.
inline int64_t wrapped(int64_t x, int width) { return int64_t(uint64_t(x) << (64 - width)) >> (64 - width); }

inline int64_t saturated(int64_t x, int width) {
    int64_t most = (int64_t(1) << (width - 1)) - 1;
    return x > most ? most : x < -most - 1 ? -most - 1 : x;
}

inline int32_t integer_element(const Design &u, const int32_t *a, const int32_t *b, int stride, int32_t c) {
    auto settle = [&](int64_t x, bool last) {
        if (u.integer_end == SATURATE_EACH_GROUP || (u.integer_end == SATURATE_LAST && last)) return saturated(x, u.integer_width);
        return u.integer_end == SATURATE_LAST ? x : wrapped(x, u.integer_width);
    };
    bool late = u.c_place == C_BY_ADDER;
    int64_t total = late ? 0 : wrapped(c, u.integer_width);
    for (int at = 0; at < u.k; at += u.group) {
        for (int i = at; i < at + u.group; i += 2) {
            int64_t pair = int64_t(a[i]) * b[i * stride] + int64_t(a[i + 1]) * b[(i + 1) * stride];
            total += u.pair_saturates ? saturated(pair, 16) : pair;
        }
        total = settle(total, !late && at + u.group == u.k);
    }
    return int32_t(late ? settle(total + wrapped(c, u.integer_width), true) : total);
}
