// The design of a unit: every decision that its engineer took. A seed draws one.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

#include "formats.h"
#include "rounding.h"

// splitmix64: the same numbers on every machine.
struct Dice {
    uint64_t state;
    uint64_t next() {
        uint64_t z = state += 0x9e3779b97f4a7c15ull;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        return z ^ z >> 31;
    }
    int below(int n) { return int(next() % uint64_t(n)); }
    bool percent(int p) { return below(100) < p; }
    int between(int low, int high) { return low + below(high - low + 1); }
    // The number of an alternative, each as likely as its weight.
    int weighed(std::initializer_list<int> weights) {
        int total = 0, at = 0;
        for (int w : weights) total += w;
        int drawn = below(total);
        for (int w : weights) {
            if (drawn < w) return at;
            drawn -= w, at++;
        }
        return 0;
    }
    template <class T> T of(std::initializer_list<T> all) { return *(all.begin() + below(int(all.size()))); }
};

enum Style { TREE, GROUPS, GROUP_ADDERS, HALVES, PAIRWISE, FMA_CHAIN, FIXED_POINT, INTEGER };
inline const char *const STYLES[] = {"one tree", "groups in a chain", "groups and adders", "even and odd halves", "pairwise adders", "chain of FMAs",
                                     "exact fixed point", "integers"};
enum Flush { FLUSH_NONE, FLUSH_AB, FLUSH_C, FLUSH_ALL };
enum Align { CUT_MAGNITUDE, CUT_COMPLEMENT, ROUND_TERM_EVEN, ROUND_TERM_AWAY };
enum Sticky { NO_STICKY, STICKY_IN_TERM, STICKY_OF_SUM };
enum ZeroSign { ALWAYS_PLUS, ZERO_IEEE, SIGN_OF_ADDER };
enum InfTimesZero { IZ_NAN, IZ_ZERO, IZ_INFINITE };
enum CPlace { C_WITH_PRODUCTS, C_SECOND_ALIGNMENT, C_BY_ADDER };
enum IntegerEnd { WRAP, SATURATE_LAST, SATURATE_EACH_GROUP };

// A reach beyond every shift.
const int EVERY_BIT = 100000;

struct Window {
    int width;              // bits, two of them before the binary point
    Align align;
    Sticky sticky;
    int sticky_reach;       // bits below the window that the sticky bit sees
    bool mask_zeros;        // zero terms have no say in the largest exponent
    int floor;              // least exponent to align to
};

struct Design {
    uint64_t seed;
    int m, n, k;
    std::string a, b, c, d;
    Style style;
    Flush flush;
    Unpack unpack_a, unpack_b, unpack_c;
    bool front;                        // specials are decided from all operands, before the adders
    InfTimesZero inf_times_zero;
    bool opposite_is_positive;         // +inf and -inf give +inf: one is tested before the other
    bool first_nan;                    // the first NaN operand in order a0 b0 a1 b1 .. c, made quiet
    uint32_t nan;
    Window window, late;               // late: the second alignment, of the products' sum and c
    CPlace c_place;
    int group, lanes;
    bool strided;                      // groups or pairs take operands that are far apart
    bool round_products;
    Register inner, result;            // between steps, and of D
    bool skips_inner_last;             // the last step is rounded to the result at once
    Rounding inner_rounding, result_rounding;
    Tiny tiny;
    Huge huge;
    ZeroSign zero_sign;
    int integer_width;
    IntegerEnd integer_end;
    bool pair_saturates;               // sums of two products go through 16 bits that saturate
};

inline Register register_of(const Format &f) {
    int max = (1 << f.exponent_bits) - 2 - f.bias;
    return {f.fraction_bits + 1, 1 - f.bias, max};
}

inline Window draw_window(Dice &dice, bool wide) {
    Window w;
    w.width = wide ? dice.between(26, 48) : dice.weighed({2, 5}) ? dice.of({24, 25, 26, 27, 28, 30, 32, 36, 40, 48}) : dice.between(10, 40);
    w.align = Align(dice.weighed({60, 22, 10, 8}));
    w.sticky = w.align <= CUT_COMPLEMENT ? Sticky(dice.weighed({60, 20, 20})) : NO_STICKY;
    w.sticky_reach = dice.weighed({3, 1}) ? dice.between(1, 12) : EVERY_BIT;
    w.mask_zeros = dice.percent(70);
    w.floor = dice.percent(20) ? -126 : -100000;
    return w;
}

inline void draw_integer(Dice &dice, Design &u) {
    static const char *const PAIRS[][2] = {{"s8", "s8"}, {"u8", "s8"}, {"u8", "u8"}, {"s4", "s4"}, {"s8", "u8"}, {"u4", "u4"}};
    int pair = dice.weighed({8, 4, 3, 4, 1, 1});
    u.a = PAIRS[pair][0], u.b = PAIRS[pair][1];
    u.c = u.d = "s32";
    u.group = 1 << dice.between(1, __builtin_ctz(unsigned(u.k)));
    u.integer_width = dice.weighed({7, 3}) ? 24 : 32;
    u.integer_end = IntegerEnd(dice.weighed({4, 4, 3}));
    u.pair_saturates = pair < 3 && dice.percent(12);
    u.c_place = dice.percent(75) ? C_WITH_PRODUCTS : C_BY_ADDER;
}

inline Design draw(uint64_t seed) {
    Dice dice{seed * 0x2545f4914f6cdd1dull + 0x1234567};
    Design u{};
    u.seed = seed;
    u.m = dice.of({2, 4, 4, 8, 8}), u.n = dice.of({4, 4, 8, 8});
    u.k = 1 << dice.weighed({0, 2, 5, 8, 6, 3});
    u.style = Style(dice.weighed({26, 24, 8, 8, 10, 10, 5, 9}));
    if (u.style == INTEGER) {
        draw_integer(dice, u);
        return u;
    }

    // Formats. Exact fixed point needs a short range.
    bool fixed = u.style == FIXED_POINT;
    static const char *const PAIRS[][2] = {{"f16", "f16"}, {"bf16", "bf16"}, {"tf32", "tf32"}, {"e4m3", "e4m3"}, {"e5m2", "e5m2"},
                                           {"e4m3", "e5m2"}, {"e5m2", "e4m3"}, {"e4m3fnuz", "e4m3fnuz"}, {"e5m2fnuz", "e5m2fnuz"}, {"e2m1", "e2m1"}};
    int pair = fixed ? dice.weighed({3, 0, 0, 4, 3, 1, 0, 2, 1, 2}) : dice.weighed({24, 24, 8, 12, 8, 3, 2, 5, 3, 5});
    u.a = PAIRS[pair][0], u.b = PAIRS[pair][1];
    bool half = pair != 1 && pair != 2 && dice.percent(22);
    u.d = half ? "f16" : "f32";
    u.c = half && dice.percent(85) ? "f16" : "f32";

    // Unpack.
    u.flush = Flush(dice.weighed({72, 8, 5, 15}));
    u.unpack_a.subnormals = u.unpack_b.subnormals = u.flush == FLUSH_NONE || u.flush == FLUSH_C;
    u.unpack_c.subnormals = u.flush == FLUSH_NONE || u.flush == FLUSH_AB;
    u.unpack_a.normalise = u.unpack_b.normalise = dice.percent(15);
    u.unpack_a.specials = u.unpack_b.specials = u.a == "e2m1" || !dice.percent(4);

    // Specials.
    u.front = dice.percent(60);
    u.inf_times_zero = InfTimesZero(dice.weighed({90, 5, 5}));
    u.opposite_is_positive = dice.percent(5);
    u.first_nan = u.front && dice.percent(12);
    int code = dice.weighed({40, 40, 12, 8});
    u.nan = u.d == "f32" ? (uint32_t[]){0x7fffffff, 0x7fc00000, 0xffc00000, 0x7f800001}[code] : (uint32_t[]){0x7fff, 0x7e00, 0xfe00, 0x7c01}[code];

    // Adders.
    u.window = draw_window(dice, false);
    u.late = draw_window(dice, true);
    u.late.sticky = NO_STICKY;
    u.c_place = u.style == TREE ? CPlace(dice.weighed({65, 15, 20})) : dice.percent(65) ? C_WITH_PRODUCTS : C_BY_ADDER;
    if (u.style == HALVES || fixed) u.c_place = dice.percent(30) ? C_WITH_PRODUCTS : C_BY_ADDER;
    u.group = u.k == 2 ? 1 : 1 << dice.between(1, __builtin_ctz(unsigned(u.k)) - 1);
    if (u.group > 16) u.group = 16;
    u.lanes = u.style == FMA_CHAIN && dice.percent(25) ? 2 : 1;
    u.strided = (u.style == PAIRWISE || u.style == GROUP_ADDERS) && dice.percent(25);
    u.round_products = dice.percent(60);

    // Registers and rounding.
    u.result = register_of(*format_named(u.d));
    u.inner = half && dice.percent(40) ? u.result : register_of(*format_named("f32"));
    bool odd = u.style != FMA_CHAIN && u.style != PAIRWISE && dice.percent(22);
    if (odd) u.inner.precision = dice.of({14, 18, 20, 22, 25, 26, 28, 31});
    if (odd && dice.percent(30)) u.inner.min_exponent = -500, u.inner.max_exponent = 500;
    u.skips_inner_last = dice.percent(50);
    u.result_rounding = Rounding(dice.weighed({55, 5, 32, 8}));
    u.inner_rounding = dice.percent(75) ? u.result_rounding : dice.of({NEAREST_EVEN, TOWARD_ZERO, TOWARD_ZERO, DOWN});
    u.tiny = Tiny(dice.weighed({75, 12, 13}));
    u.huge = Huge(dice.weighed({82, 10, 8}));
    u.zero_sign = ZeroSign(dice.weighed({30, 35, 35}));
    return u;
}
