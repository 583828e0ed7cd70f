// Operands of `tcnum verify`, second part, after stream_tile.cuh: the parameters of a tile in each regime.

// Properties of the formats for the regimes.
struct StreamShape {
    typedef StreamFormat<FormatA> A;
    typedef StreamFormat<FormatB> B;
    typedef StreamFormat<FormatC> C;
    typedef StreamFormat<FormatD> D;
    static constexpr int LOW = A::LOW + B::LOW, HIGH = A::HIGH + B::HIGH;  // exponents of products
    static constexpr int PRECISION = D::T + 1;
    // Exponents common to products and results; REACHES is true if they include the smallest results.
    static constexpr int BOTTOM = LOW > D::LOW ? LOW : D::LOW;
    static constexpr int TOP = HIGH < D::HIGH ? HIGH : D::HIGH;
    static constexpr bool REACHES = LOW <= D::LOW + 6;
    static constexpr bool NARROW = HIGH - LOW < 60;
    // True if scales of exponents alone can take products to both ends of the results' range, and products cannot reach
    // them otherwise.
#ifdef SCALE_BLOCK
    static constexpr bool SCALABLE = StreamFormat<FormatScale>::T == 0 && !REACHES;
#else
    static constexpr bool SCALABLE = false;
#endif
    static constexpr int SLOTS_BITS = STORED_K >= 256 ? 8 : STORED_K >= 128 ? 7 : STORED_K >= 64 ? 6 : STORED_K >= 32 ? 5 : STORED_K >= 16 ? 4
                                    : STORED_K >= 8 ? 3 : STORED_K / 2;
};

STREAM void stream_slot(StreamTile& t, int slot, int gap, unsigned flags) {
    const int cut = gap == STREAM_NO_TERM ? gap : stream_clamp(gap, 0, STREAM_NO_TERM - 1);
    t.gaps ^= (StreamWord)(STREAM_NO_TERM ^ cut) << 8 * slot;
    t.flags |= (StreamWord)flags << 8 * slot;
    t.leads = stream_max(t.leads, slot + 1);
}

// The exponent of a leading term: moderate or arbitrary; in a narrow range, at its upper end.
STREAM int stream_anchor(StreamDraw& d) {
    typedef StreamShape S;
    const unsigned moderate = d.below(2);
    if (S::NARROW) return S::TOP - (int)d.below(stream_min(8, S::TOP - S::BOTTOM + 1));
    if (moderate) return stream_clamp(d.from(-8, 16), S::BOTTOM, S::TOP);
    return d.from(S::BOTTOM, S::TOP - S::BOTTOM + 1);
}

// A distance about the width of an alignment.
STREAM int stream_window(StreamDraw& d) {
    const unsigned any = d.below(4);
    if (any == 0) return d.from(8, 32);
    const StreamWord widths = StreamShape::PRECISION > 30 ? 0x6b6a6968'37363534ull : 0x24231a19'18170e0dull;
    const unsigned width = (unsigned)(widths >> 8 * d.below(8)) & 255;
    return d.from((int)width - 2, 4);
}

STREAM void stream_spread(StreamTile& t, StreamDraw& d) {
    t.spread_rows = 0x7310u >> 4 * d.below(4) & 15;
    t.spread_columns = 0x7310u >> 4 * d.below(4) & 15;
}

// Splits `total` into the scales' exponents, and spreads the scales.
STREAM void stream_scales(StreamTile& t, int total, StreamDraw& d) {
    t.scale_a = total / 2;
    t.scale_b = total - t.scale_a;
    t.scale_spread = 0x7310u >> 4 * d.below(4) & 15;
}

STREAM void stream_c_number(StreamTile& t, int gap, unsigned kind) {
    t.c_mode = STREAM_C_NUMBER;
    t.c_gap = gap;
    t.c_kind = kind;
}

STREAM void stream_cancels(StreamTile& t, int slot) {
    t.c_mode = STREAM_C_CANCELS;
    t.c_slot = slot;
}

STREAM void stream_rest(StreamTile& t, unsigned flags, int gap, int span) {
    t.rest = flags;
    t.rest_gap = gap;
    t.rest_span = span;
}

STREAM void stream_all_exponents(StreamTile& t, StreamDraw& d) {
    typedef StreamShape S;
    t.any = d.below(2);
    t.base = S::TOP;
    const unsigned flags = d.kinds();
    stream_rest(t, flags, 0, S::TOP - S::BOTTOM + 9);
    t.c_mode = t.any ? STREAM_C_ANY : STREAM_C_NUMBER;
    t.c_kind = STREAM_RANDOM;
    t.c_gap = d.below(S::TOP - S::BOTTOM + 1);
    t.dropout = d.below(4);
}

STREAM void stream_cancellation(StreamTile& t, StreamDraw& d) {
    t.base = stream_anchor(d);
    t.flips = d.below(2);
    const unsigned kinds = d.kinds();
    const int gap = d.below(26);
    const int span = 1 << d.below(5);
    switch (d.below(4)) {
    case 0:  // only cancelling pairs
        stream_rest(t, kinds | STREAM_PAIR, 0, span);
        t.dropout = d.below(3);
        if (d.below(2)) stream_c_number(t, gap, STREAM_RANDOM);
        break;
    case 1:  // c against one product
        stream_slot(t, 0, 0, kinds);
        stream_cancels(t, 0);
        break;
    case 2:  // the same among smaller products
        stream_slot(t, 0, 0, kinds);
        stream_rest(t, STREAM_RANDOM | STREAM_RANDOM << 3, gap, span);
        stream_cancels(t, 0);
        break;
    default:  // a pair, and c against a third product
        stream_slot(t, 0, 0, kinds | STREAM_PAIR);
        stream_slot(t, 1, 0, kinds | STREAM_PAIR);
        stream_slot(t, 2, gap, kinds);
        stream_cancels(t, 2);
    }
}

STREAM void stream_alignment_gap(StreamTile& t, StreamDraw& d) {
    t.base = stream_anchor(d);
    const unsigned large = d.kinds(), small = d.kinds() | STREAM_SPREAD;
    stream_spread(t, d);
    int gap = stream_window(d);
    gap -= d.below(t.spread_rows + t.spread_columns + 1);
    gap = stream_max(gap, 1);
    const int span = d.below(4);
    t.flips = d.below(8) == 0;
    switch (d.below(6)) {
    case 0:  // a cancelling pair, and two smaller terms
        stream_slot(t, 0, 0, large | STREAM_PAIR);
        stream_slot(t, 1, 0, large | STREAM_PAIR);
        stream_slot(t, 2, gap, small);
        stream_slot(t, 3, d.below(2) ? STREAM_NO_TERM : gap + (int)d.below(4), small);
        break;
    case 1:  // a cancelling pair, and many smaller terms
        stream_slot(t, 0, 0, large | STREAM_PAIR);
        stream_slot(t, 1, 0, large | STREAM_PAIR);
        stream_rest(t, small, gap, span + 1);
        t.dropout = d.below(4);
        break;
    case 2:  // one large term
        stream_slot(t, 0, 0, large);
        stream_rest(t, small, gap, span + 1);
        t.dropout = d.below(4);
        if (d.below(2)) stream_c_number(t, gap + span, STREAM_RANDOM);
        break;
    case 3:  // c cancels the large term
        stream_slot(t, 0, 0, large);
        stream_slot(t, 1, gap, small);
        stream_slot(t, 2, span ? STREAM_NO_TERM : gap, small);
        stream_cancels(t, 0);
        break;
    case 4:  // c is the large term
        stream_c_number(t, 0, STREAM_RANDOM);
        t.base = stream_max(t.base, StreamShape::BOTTOM + 12);
        if (StreamShape::NARROW) t.base = stream_min(t.base + gap, StreamShape::D::HIGH);
        stream_slot(t, 0, gap, small);
        stream_rest(t, small, gap, span);
        break;
    default:  // c is the small term
        stream_slot(t, 0, 0, large | STREAM_PAIR);
        stream_slot(t, 1, 0, large | STREAM_PAIR);
        stream_c_number(t, gap, large & 7);
        t.c_spread = 1;
    }
}

STREAM void stream_tie(StreamTile& t, StreamDraw& d) {
    typedef StreamShape S;
    t.base = stream_anchor(d);
    const unsigned which = d.below(4);
    const int precision = which == 2 && S::PRECISION == 24 ? 14 : which == 3 && S::PRECISION < 24 ? 24 : S::PRECISION;
    const int above = d.below(3) ? 0 : d.from(1, 12);
    t.base = stream_min(t.base + above, S::HIGH);
    if (above) {
        stream_slot(t, 4, 0, STREAM_RANDOM | STREAM_PAIR);
        stream_slot(t, 5, 0, STREAM_RANDOM | STREAM_PAIR);
    }
    stream_spread(t, d);
    const unsigned fraction = d.below(2) ? STREAM_RANDOM : STREAM_POWER;
    const unsigned half_sign = d.below(4) ? 0 : STREAM_MINUS, last_sign = d.below(2) ? STREAM_MINUS : 0;
    const int half = above + precision, below = d.from(1, 24);
    const bool decided = d.below(4) != 0, odd = d.below(2) != 0;
    const unsigned c_takes = d.below(6);
    const int c_gap = c_takes == 0 ? above : c_takes == 1 ? half : half + below;
    stream_slot(t, 0, c_takes == 0 ? STREAM_NO_TERM : above, fraction);
    stream_slot(t, 1, c_takes == 1 ? STREAM_NO_TERM : half, half_sign);
    stream_slot(t, 2, c_takes == 2 || !decided ? STREAM_NO_TERM : half + below, STREAM_SPREAD | last_sign);
    stream_slot(t, 3, odd ? half - 1 : STREAM_NO_TERM, 0);
    t.signs = d.below(4) == 0;
    if (c_takes < 2 || (c_takes == 2 && decided)) {
        stream_c_number(t, c_gap, c_takes == 0 ? fraction : (unsigned)STREAM_POWER);
        t.c_sign = c_takes == 1 ? half_sign != 0 : c_takes == 2 ? last_sign != 0 : 0;
        t.c_spread = c_takes == 2;
    }
}

STREAM void stream_floor(StreamTile& t, StreamDraw& d) {
    typedef StreamShape S;
    const int low = S::REACHES ? S::D::LOW : S::LOW;
    t.base = low + 32;
    t.shift = 0;
    unsigned kinds = d.below(4);
    kinds = kinds < 2 ? STREAM_POWER : kinds == 2 ? STREAM_HALF : d.kinds();
    const int first = d.below(3) ? d.from(-3, 9) : -1;
    int second = d.from(-24, 45);
    const int pair = d.below(31);
    if (d.below(2)) {
        // The last bits kept with a floor 7 below D's smallest exponent.
        second = S::D::T - 32 + d.from(-2, 9);
        t.spread_rows = t.spread_columns = 3;
    } else {
        stream_spread(t, d);
    }
    const unsigned sign = d.below(2) ? STREAM_MINUS : 0;
    const unsigned c = d.below(8);
    const bool alone = c == 0 || (!S::REACHES && c < 4), c_first = c == 1;
    if (!alone) {
        const bool widened = d.below(4) == 0;
        stream_slot(t, 0, c_first ? STREAM_NO_TERM : 32 - first, kinds);
        stream_slot(t, 1, 32 - second, STREAM_SPREAD | sign);
        stream_slot(t, 4, widened ? 32 - pair : STREAM_NO_TERM, STREAM_PAIR);
        stream_slot(t, 5, widened ? 32 - pair : STREAM_NO_TERM, STREAM_PAIR);
    }
    if (alone || c_first) {
        const int above = d.below(alone ? 40 : 4);
        stream_c_number(t, t.base - S::C::LOW - above, d.below(2) ? STREAM_RANDOM : STREAM_POWER);
    }
    // The scales move products across the floor.
    if (S::SCALABLE && d.below(4)) stream_scales(t, S::D::LOW - S::LOW + d.from(-16, 40), d);
}

STREAM void stream_subnormal(StreamTile& t, StreamDraw& d) {
    typedef StreamShape S;
    unsigned kinds = d.kinds();
    kinds |= d.below(4) ? 0 : STREAM_PAIR;
    const int span = 1 + d.below(24);
    t.flips = d.below(2);
    switch (d.below(4)) {
    case 0:
        t.base = S::A::LOW + d.from(S::B::LOW, S::B::HIGH - S::B::LOW + 1);
        t.split = STREAM_A_LOW;
        break;
    case 1:
        t.base = S::B::LOW + d.from(S::A::LOW, S::A::HIGH - S::A::LOW + 1);
        t.split = STREAM_B_LOW;
        break;
    case 2:
        t.base = S::D::LOW + d.from(0, 30);
        t.split = d.below(4);
        break;
    default:
        t.base = S::LOW + d.from(0, S::A::T + S::B::T + 2);
    }
    stream_rest(t, kinds, 0, span);
    t.dropout = d.below(4);
    if (d.below(3)) stream_c_number(t, t.base - S::C::LOW - (int)d.below(S::C::T + 6), STREAM_RANDOM);
}

STREAM void stream_overflow(StreamTile& t, StreamDraw& d) {
    typedef StreamShape S;
    const unsigned kinds = d.kinds();
    const int little = d.below(4), span = 1 + d.below(3);
    t.c_sign = d.below(2);
    t.signs = d.below(4) == 0;
    switch (d.below(4)) {
    case 0:  // many terms with a sum near the end of the range
        t.base = S::TOP - (int)d.below(S::SLOTS_BITS + 3);
        stream_rest(t, kinds, 0, span);
        t.dropout = d.below(4);
        if (d.below(2)) stream_c_number(t, t.base - S::D::HIGH + little, STREAM_RANDOM);
        break;
    case 1:  // huge cancelling products
        t.base = S::HIGH - little;
        t.flips = d.below(4) == 0;
        stream_slot(t, 0, 0, kinds | STREAM_PAIR);
        stream_slot(t, 1, 0, kinds | STREAM_PAIR);
        stream_slot(t, 2, t.base - S::TOP + (int)d.below(30), kinds);
        if (d.below(2)) stream_c_number(t, t.base - S::D::HIGH + little, STREAM_RANDOM);
        break;
    case 2:  // c at the largest number, and terms near half its unit
        t.c_mode = STREAM_C_LARGEST;
        t.base = S::D::HIGH;
        stream_slot(t, 0, S::PRECISION + 2 - little, d.below(2) ? kinds : 0);
        stream_slot(t, 1, d.below(2) ? STREAM_NO_TERM : S::PRECISION + (int)d.below(16), STREAM_MINUS);
        break;
    default:  // out of the range and back
        t.base = S::TOP;
        stream_slot(t, 0, little >> 1, kinds);
        stream_slot(t, 1, little & 1, kinds);
        stream_slot(t, 2, little >> 1, kinds | STREAM_MINUS);
        stream_slot(t, 3, d.below(2) ? STREAM_NO_TERM : little, kinds | STREAM_MINUS);
        if (d.below(2)) stream_c_number(t, t.base - S::D::HIGH + little, STREAM_RANDOM);
    }
    // The scales move products to the end of the range.
    if (S::SCALABLE && d.below(4)) stream_scales(t, S::D::HIGH - S::HIGH + d.from(-3, 8), d);
}

STREAM void stream_sparse(StreamTile& t, StreamDraw& d) {
    t.base = stream_anchor(d);
    const unsigned a = d.below(2) ? STREAM_POWER : STREAM_FEW, b = d.below(2) ? STREAM_POWER : STREAM_FEW;
    stream_rest(t, a | b << 3, 0, 1 + d.below(40));
    t.dropout = d.below(4);
    if (d.below(2)) stream_c_number(t, d.below(40), STREAM_FEW);
}

STREAM void stream_zeros(StreamTile& t, StreamDraw& d) {
    typedef StreamShape S;
    const unsigned kinds = d.kinds();
    const int bottom = S::REACHES ? S::D::LOW : S::LOW;
    const int gap = stream_window(d);
    t.base = stream_anchor(d);
    t.c_sign = d.below(2);
    switch (d.below(5)) {
    case 0:  // only zeros
        break;
    case 1:  // c alone
        t.c_mode = STREAM_C_NUMBER;
        t.c_gap = d.below(40);
        t.c_kind = d.below(2) ? STREAM_RANDOM : STREAM_POWER;
        break;
    case 2:  // pairs with a zero sum
        stream_rest(t, kinds | STREAM_PAIR, 0, 1 + d.below(10));
        break;
    case 3:  // zeros with large factors, and terms that would lose bits if the zeros took part in the alignment
        t.base = d.from(S::BOTTOM, stream_max(-S::BOTTOM, 1));
        stream_slot(t, 0, 0, kinds);
        stream_slot(t, 1, gap, kinds);
        break;
    default:  // underflow to zero
        t.base = bottom + d.from(-4, 5);
        stream_slot(t, 0, 0, kinds);
        stream_slot(t, 1, d.below(2) ? STREAM_NO_TERM : 1, kinds);
    }
}

STREAM void stream_non_finite(StreamTile& t, StreamDraw& d) {
    t.base = stream_anchor(d);
    t.any = d.below(2);
    const unsigned kinds = d.kinds();
    stream_rest(t, kinds, 0, d.below(4));
    t.dropout = d.below(4);
    if (d.below(2)) t.c_mode = STREAM_C_ANY;
    const int most = stream_max(128 / STORED_K, 1);
    t.special_a = d.below(4) ? 1 + d.below(most) : 0;
    t.special_b = d.below(4) ? 1 + d.below(most) : 0;
    t.special_c = d.below(2) ? 1 + d.below(64) : 0;
}

// Each run of 10 tiles has every regime once.
STREAM int stream_regime(StreamWord tile) {
    const StreamWord block = tile / STREAM_REGIMES;
    const unsigned first = stream_scaled((unsigned)block * STREAM_GOLDEN, STREAM_REGIMES);
    const unsigned regime = first + (unsigned)(tile - block * STREAM_REGIMES);
    return (int)(regime < STREAM_REGIMES ? regime : regime - STREAM_REGIMES);
}

STREAM StreamTile stream_tile(StreamWord seed, StreamWord tile) {
    StreamTile t = {};
    const StreamWord key = stream_mix(stream_mix(seed + STREAM_GOLDEN_WORD) + tile * STREAM_GOLDEN_WORD);
    StreamDraw d = {stream_mix(key + STREAM_GOLDEN_WORD)};
    t.key = (unsigned)key;
    t.rows = (unsigned)(key >> 32) | 1;
    t.columns = (unsigned)d.state | 1;
    t.regime = stream_regime(tile);
    t.gaps = ~0ull;
    t.rotate = d.below(StreamShape::SLOTS_BITS);
    t.multiply = 2 * d.below(STORED_K / 2) + 1;
    t.add = d.below(STORED_K);
    t.signs = d.below(2);
    t.padding = d.below(2);
    t.patterns = d.below(4) ? 1 + d.below(2) : 0;
    t.shift = d.below(4) ? 0 : 3;
    t.integers = d.below(8);
    if (FormatA::INTEGER) {
        t.flips = 1;
        t.rest = d.below(2) ? STREAM_PAIR : 0;
        t.c_mode = d.below(5);
        return t;
    }
    switch (t.regime) {
    case STREAM_ALL_EXPONENTS: stream_all_exponents(t, d); break;
    case STREAM_CANCELLATION: stream_cancellation(t, d); break;
    case STREAM_ALIGNMENT_GAP: stream_alignment_gap(t, d); break;
    case STREAM_TIE: stream_tie(t, d); break;
    case STREAM_FLOOR: stream_floor(t, d); break;
    case STREAM_SUBNORMAL: stream_subnormal(t, d); break;
    case STREAM_OVERFLOW: stream_overflow(t, d); break;
    case STREAM_SPARSE: stream_sparse(t, d); break;
    case STREAM_ZEROS: stream_zeros(t, d); break;
    default: stream_non_finite(t, d);
    }
    return t;
}
