// The design in words, for reports of campaigns, and the instruction as tcnum reads it.
#pragma once
#include <string>

#include "design.h"

inline std::string number(long x) { return std::to_string(x); }

inline std::string instruction_name(const Design &u) {
    return "units.m" + number(u.m) + "n" + number(u.n) + "k" + number(u.k) + "." + u.d + "." + u.a + "." + u.b + "." + u.c;
}

inline std::string instruction_toml(const Design &u) {
    bool saturates = u.style == INTEGER && u.integer_end != WRAP;
    return "name = \"" + instruction_name(u) + "\"\nm = " + number(u.m) + "\nn = " + number(u.n) + "\nk = " + number(u.k) + "\na = \"" + u.a +
           "\"\nb = \"" + u.b + "\"\nc = \"" + u.c + "\"\nd = \"" + u.d + "\"\n" + (saturates ? "saturate = true\n" : "");
}

inline std::string register_words(const Register &r) {
    std::string name = r.precision == 24 && r.min_exponent == -126 ? "f32" : r.precision == 11 && r.min_exponent == -14 ? "f16" : "";
    if (!name.empty()) return name;
    return number(r.precision) + " bits" + (r.min_exponent < -126 ? " and a wide exponent" : "");
}

inline std::string window_words(const Window &w) {
    static const char *const ALIGN[] = {"cut", "cut in two's complement", "each term rounded to even", "each term rounded away on ties"};
    std::string text = "window of " + number(w.width) + " bits, " + ALIGN[w.align];
    if (w.sticky) text += w.sticky == STICKY_IN_TERM ? ", sticky bit in each term" : ", one sticky bit of the sum";
    if (w.sticky && w.sticky_reach < EVERY_BIT) text += " that sees " + number(w.sticky_reach) + " bits";
    if (!w.mask_zeros) text += ", zeros have a say in the largest exponent";
    if (w.floor > -1000) text += ", least exponent " + number(w.floor);
    return text;
}

inline std::string integer_words(const Design &u) {
    static const char *const END[] = {"wraps", "saturates at the end", "saturates after each group"};
    return "accumulator of " + number(u.integer_width) + " bits that " + END[u.integer_end] + "; groups of " + number(u.group) +
           (u.c_place == C_BY_ADDER ? "; c last" : "; c first") + (u.pair_saturates ? "; pairs saturate to 16 bits" : "");
}

inline std::string float_words(const Design &u) {
    static const char *const ROUND[] = {"RNE", "RNA", "RZ", "RD"};
    static const char *const FLUSH[] = {"", "; subnormals of A and B are zero", "; subnormals of C are zero", "; subnormal operands are zero"};
    static const char *const TINY[] = {"", "; tiny results flushed before rounding", "; tiny results flushed after rounding"};
    static const char *const HUGE_[] = {"", "; overflow to the largest", "; overflow to the largest, decided before rounding"};
    static const char *const ZERO[] = {"; zeros are +0", "; zeros IEEE", "; zeros of the adder"};
    static const char *const IZ[] = {"", "; inf*0 is 0", "; inf*0 is inf"};
    static const char *const PLACE[] = {"; c with the products", "; c in a second alignment", "; c by an adder at the end"};
    bool windows = u.style == TREE || u.style == GROUPS || u.style == GROUP_ADDERS || u.style == HALVES;
    std::string text = PLACE[u.c_place] + 2;
    if (windows) text += "; " + window_words(u.window);
    if (u.style == TREE && u.c_place == C_SECOND_ALIGNMENT) text += "; second " + window_words(u.late);
    if (u.style == GROUPS || u.style == GROUP_ADDERS) text += "; groups of " + number(u.group);
    if (u.style == FMA_CHAIN && u.lanes > 1) text += "; 2 lanes";
    if (u.strided) text += "; strided";
    if (u.style == PAIRWISE) text += u.round_products ? "; products rounded" : "; products exact";
    text += std::string("; register ") + register_words(u.inner) + " " + ROUND[u.inner_rounding];
    text += std::string("; D ") + ROUND[u.result_rounding] + (u.skips_inner_last ? " at once" : " after the register");
    text += FLUSH[u.flush];
    if (u.unpack_a.normalise) text += "; subnormal operands normalised";
    if (!u.unpack_a.specials) text += "; A and B have no specials";
    text += std::string(TINY[u.tiny]) + HUGE_[u.huge] + ZERO[u.zero_sign] + IZ[u.inf_times_zero];
    if (u.opposite_is_positive) text += "; +inf-inf is +inf";
    text += u.front ? "; specials up front" : "; specials in the adders";
    char nan[16];
    snprintf(nan, sizeof nan, "0x%x", u.nan);
    return text + (u.first_nan ? "; first NaN operand, else " : "; NaN ") + nan;
}

inline std::string description(const Design &u) {
    std::string words = u.style == INTEGER ? integer_words(u) : float_words(u);
    return "{\"seed\":" + std::to_string(u.seed) + ",\"style\":\"" + STYLES[u.style] + "\",\"instruction\":\"" + instruction_name(u) +
           "\",\"m\":" + number(u.m) + ",\"n\":" + number(u.n) + ",\"k\":" + number(u.k) + ",\"a\":\"" + u.a + "\",\"b\":\"" + u.b + "\",\"c\":\"" + u.c +
           "\",\"d\":\"" + u.d + "\",\"words\":\"" + words + "\"}";
}
