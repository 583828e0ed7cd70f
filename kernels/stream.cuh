// Operands of `tcnum verify`, third part, after stream_regimes.cuh: the codes.
//
// stream_tile is computed once per tile; stream_a, stream_b, stream_c, stream_position, stream_scale_a and
// stream_scale_b give its elements. Elements of A and B with one index along k share a StreamLine, which a loop over
// rows or columns can keep (stream_a_of, stream_b_of).

// A slot whose product is zero: the hash `choice` decides which factors are zero.
STREAM void stream_no_term(StreamLine& line, unsigned choice) {
    line.zero_a = choice >> 30 != 1;
    line.zero_b = choice >> 30 == 1 || choice >> 30 == 2;
    line.any_a = true;
    line.any_b = true;
}

// The line of a role: an index along k for dense forms, a stored index for sparse ones.
STREAM StreamLine stream_line(const StreamTile& t, unsigned role) {
    typedef StreamShape S;
    StreamLine line = {};
    const unsigned turned = role << t.rotate | role >> (S::SLOTS_BITS - t.rotate);
    const unsigned slot = (turned * t.multiply + t.add) & (STORED_K - 1);
    const bool lead = slot < (unsigned)t.leads;
    const unsigned flags = lead ? (unsigned)(t.flags >> 8 * slot) & 255 : t.rest;
    const unsigned pair = flags / STREAM_PAIR & 1;
    line.source = slot & ~pair;
    line.odd = slot & pair;
    const unsigned hash = stream_hash(t, STREAM_LINES + line.source), choice = hash * STREAM_GOLDEN;
    const int gap = lead ? (int)(t.gaps >> 8 * slot) & 255 : t.rest_gap + (int)stream_scaled(hash, t.rest_span);
    line.kind_a = flags & 7;
    line.kind_b = flags >> 3 & 3;
    line.spread = flags & STREAM_SPREAD ? 15 : 0;
    line.sign = (flags / STREAM_MINUS & 1) ^ line.odd;
    line.dropout = lead ? 0 : t.dropout;
    line.any_a = line.any_b = t.any;
    if (lead ? gap == STREAM_NO_TERM : t.rest_span == 0) stream_no_term(line, choice);
    const int product = t.base - gap;
    const int low = stream_clamp(product - S::B::HIGH, S::A::LOW, S::A::HIGH);
    const int width = stream_clamp(product - S::B::LOW, low, S::A::HIGH) - low;
    const int few = stream_min(width, choice >> 28);
    line.a = low + (t.split == STREAM_A_LOW   ? few
                    : t.split == STREAM_B_LOW ? width - few
                    : t.split == STREAM_EVENLY ? width / 2
                                               : (int)stream_scaled(choice, width + 1));
    line.b = product - line.a;
    return line;
}

template <class F> STREAM StreamWord stream_bits(unsigned hash) {
    if (F::BITS <= 32) return hash;
    return (StreamWord)(stream_turn(hash, 16) * STREAM_GOLDEN) << 32 | hash;
}

template <class F> STREAM StreamWord stream_fraction(unsigned kind, unsigned hash) {
    typedef StreamFormat<F> Format;
    const unsigned thin = stream_turn(hash, 9) & stream_turn(hash, 18);
    const StreamWord bits = stream_bits<F>(hash);
    const StreamWord random = kind == STREAM_RANDOM ? bits
                            : kind == STREAM_FEW    ? bits & stream_bits<F>(thin)
                            : kind == STREAM_ONES   ? ~0ull
                            : kind == STREAM_LAST   ? 1
                            : kind == STREAM_HALF   ? Format::HALF
                                                    : 0;
    return random & Format::FULL;
}

// The magnitude of 1.fraction * 2^exponent, limited to the range.
template <class F> STREAM StreamWord stream_number(int exponent, StreamWord fraction) {
    typedef StreamFormat<F> Format;
    const int e = stream_clamp(exponent, Format::LOW, Format::HIGH);
    const int normal = stream_max(e, Format::EMIN);
    const StreamWord field = (StreamWord)(normal + F::BIAS - 1) << Format::T;
    const StreamWord magnitude = field + (((Format::FULL + 1) | fraction) >> (normal - e));
    return magnitude < Format::LARGEST ? magnitude : Format::LARGEST;
}

// Any finite magnitude.
template <class F> STREAM StreamWord stream_any(unsigned hash) {
    typedef StreamFormat<F> Format;
    const StreamWord magnitude = stream_bits<F>(hash) & ((1ull << Format::MAGNITUDE) - 1);
    return magnitude <= Format::LARGEST ? magnitude : magnitude ^ 1ull << (Format::MAGNITUDE - 1);
}

// A special magnitude of the format; NaN for the values 0 and 1 of the top bits.
template <class F> STREAM StreamWord stream_special(unsigned hash) {
    typedef StreamFormat<F> Format;
    const StreamWord infinity = F::INFINITY_CODE >> F::PADDING_BITS, nan = F::NAN_CODE >> F::PADDING_BITS;
    switch (hash >> 29) {
    case 0:
    case 1: return F::SPECIALS == 1 ? infinity | (stream_bits<F>(stream_turn(hash, 3)) & Format::FULL) : nan;
    case 2: return nan;
    case 3:
    case 4: return infinity != 0 ? infinity : Format::LARGEST;
    case 5: return Format::LARGEST;
    case 6: return hash >> 28 & 1;
    default: return stream_any<F>(hash);
    }
}

// The code of a magnitude and a sign, with random padding or none.
template <class F> STREAM StreamWord stream_code(const StreamTile& t, StreamWord magnitude, unsigned negative, unsigned hash) {
    StreamWord code = magnitude << F::PADDING_BITS;
    if (F::SPECIALS == 3 || F::SPECIALS == 5 ? magnitude != 0 && !(magnitude & StreamFormat<F>::SIGN) : F::SIGNED) {
        code |= negative & 1 ? StreamFormat<F>::SIGN : 0;
    }
    if (F::PADDING_BITS) code |= t.padding ? stream_turn(hash, 16) & ((1u << F::PADDING_BITS) - 1) : 0;
    return code;
}

// An integer: an end of the range, a small number, or any; with `minus`, its negative if there is one.
template <class F> STREAM StreamWord stream_integer(const StreamTile& t, unsigned hash, unsigned minus) {
    const unsigned mask = (unsigned)(~0ull >> (64 - F::BITS)), most = F::SIGNED ? mask >> 1 : mask;
    const unsigned random = hash & mask, pick = t.integers < 4 ? hash >> 29 : t.integers < 6 ? hash >> 31 : 7;
    const unsigned code = pick == 0 ? most : pick == 1 ? mask ^ most : pick == 2 ? mask : pick == 3 ? 0
                        : pick == 4 ? 1 : random;
    return (minus & F::SIGNED ? 0 - code : code) & mask;
}

template <class F>
STREAM StreamWord stream_element(const StreamTile& t, unsigned hash, bool zero, bool any, int exponent, unsigned kind,
                                 unsigned negative, unsigned flip, unsigned special) {
    negative ^= hash >> 31 & t.signs;
    if (F::INTEGER) return stream_integer<F>(t, hash, flip);
    StreamWord magnitude = zero  ? 0
                         : any ? stream_any<F>(hash)
                               : stream_number<F>(exponent, stream_fraction<F>(kind, hash) ^ flip);
    if ((hash >> 24 & 127) < special) magnitude = stream_special<F>(hash * STREAM_GOLDEN);
    return stream_code<F>(t, magnitude, negative, hash);
}

// A row's or column's changes to its elements: sign, shift of all exponents, shift of the spread slots' exponents.
struct StreamSide {
    unsigned sign, spread;
    int shift;
};

STREAM StreamSide stream_row(const StreamTile& t, int row) {
    const unsigned hash = (2 * row + 1) * t.rows;
    return {hash >> 31, hash >> 24 & t.spread_rows, (int)(hash >> 28 & t.shift)};
}

STREAM StreamSide stream_column(const StreamTile& t, int column) {
    const unsigned hash = (2 * column + 1) * t.columns;
    return {hash >> 31, hash >> 24 & t.spread_columns, (int)(hash >> 28 & t.shift)};
}

// Structured sparsity: KEPT of each CHUNK indices are stored, in units of TOGETHER.
const int STREAM_CHUNK = CHUNK_LENGTH;
const int STREAM_KEPT = CHUNK_KEPT;
const int STREAM_TOGETHER = CHUNK_TOGETHER;

// The positions of a chunk's two units: bits 0 to 1 and 2 to 3; of one unit: bit 0.
STREAM unsigned stream_pattern(const StreamTile& t, int row, int chunk) {
    const unsigned hash = stream_hash(t, STREAM_POSITIONS + (t.patterns == 2 ? 0 : row) * 256 + chunk);
    if (STREAM_KEPT == 1) return hash >> 31;
    // {0,1} {0,3} {1,2} {2,3}, which keep each role once, {0,2} {1,3}.
    const unsigned pattern = 0xd8e9c4u >> 4 * stream_scaled(hash, t.patterns ? 4 : 6) & 15;
    // If any order is allowed, half the chunks have the larger position first.
    return CHUNK_ANY_ORDER && hash & 1 ? pattern >> 2 | (pattern & 3) << 2 : pattern;
}

// The position of a stored element of A in its chunk.
STREAM int stream_position(const StreamTile& t, int row, int stored) {
    if (STORED_K == K) return 0;
    const unsigned pattern = stream_pattern(t, row, stored / STREAM_KEPT);
    if (STREAM_KEPT == 1) return (int)pattern;
    const int within = stored % STREAM_KEPT;
    const int unit = within / STREAM_TOGETHER ? pattern >> 2 : pattern & 3;
    return unit * STREAM_TOGETHER + within % STREAM_TOGETHER;
}

STREAM int stream_logical(const StreamTile& t, int row, int stored) {
    return STORED_K == K ? stored : stored / STREAM_KEPT * STREAM_CHUNK + stream_position(t, row, stored);
}

// The role of an index along k; two indices of a chunk share each role.
STREAM unsigned stream_role(int k) { return k / STREAM_CHUNK * STREAM_KEPT + (k % STREAM_CHUNK & (STREAM_KEPT - 1)); }

STREAM StreamWord stream_a_of(const StreamTile& t, const StreamLine& line, const StreamSide& row, int index) {
    const unsigned hash = stream_hash(t, STREAM_A + index * 256 + line.source);
    const bool zero = line.zero_a || (hash >> 26 & 3) < line.dropout;
    const unsigned flip = FormatA::INTEGER ? line.odd & t.flips : line.odd & t.flips & hash >> 30;
    return stream_element<FormatA>(t, hash, zero, line.any_a, line.a + row.shift - (int)(row.spread & line.spread),
                                   line.kind_a, row.sign ^ line.sign, flip, t.special_a);
}

STREAM StreamWord stream_b_of(const StreamTile& t, const StreamLine& line, const StreamSide& column, int index) {
    const unsigned hash = stream_hash(t, STREAM_B + index * 256 + line.source);
    return stream_element<FormatB>(t, hash, line.zero_b, line.any_b,
                                   line.b + column.shift - (int)(column.spread & line.spread), line.kind_b, column.sign, 0,
                                   t.special_b);
}

// The code of A at a row and a stored index.
STREAM StreamWord stream_a(const StreamTile& t, int row, int stored) {
    const StreamLine line = stream_line(t, stream_role(stream_logical(t, row, stored)));
    return stream_a_of(t, line, stream_row(t, row), row);
}

// True if no row of A stores the index, in tiles whose rows share one pattern.
STREAM bool stream_unused(const StreamTile& t, int k) {
    if (STORED_K == K || t.patterns != 2) return false;
    const unsigned pattern = stream_pattern(t, 0, k / STREAM_CHUNK), unit = k % STREAM_CHUNK / STREAM_TOGETHER;
    return STREAM_KEPT == 1 ? unit != pattern : unit != (pattern & 3) && unit != pattern >> 2;
}

// The code of B at an index along k and a column. An element that no row multiplies is often infinite or NaN.
STREAM StreamWord stream_b(const StreamTile& t, int k, int column) {
    const StreamLine line = stream_line(t, stream_role(k));
    if (!FormatB::INTEGER && stream_unused(t, k)) {
        const unsigned hash = stream_hash(t, STREAM_B + column * 256 + 128 + k % 128) * STREAM_GOLDEN;
        return stream_code<FormatB>(t, stream_special<FormatB>(hash), hash, hash);
    }
    return stream_b_of(t, line, stream_column(t, column), column);
}

// The integer significand of a code and the weight of its last bit.
template <class F> STREAM StreamWord stream_significand(StreamWord code, int& exponent) {
    typedef StreamFormat<F> Format;
    const StreamWord magnitude = code >> F::PADDING_BITS & ((1ull << Format::MAGNITUDE) - 1);
    const int field = (int)(magnitude >> Format::T);
    exponent = stream_max(field, 1) - F::BIAS - Format::T;
    return field ? (magnitude & Format::FULL) + Format::FULL + 1 : magnitude;
}

STREAM StreamWord stream_high_word(StreamWord x, StreamWord y) {
    const StreamWord x0 = (unsigned)x, x1 = x >> 32, y0 = (unsigned)y, y1 = y >> 32;
    const StreamWord middle = x1 * y0 + (x0 * y0 >> 32);
    return x1 * y1 + (middle >> 32) + ((x0 * y1 + (unsigned)middle) >> 32);
}

STREAM int stream_leading(StreamWord x) {
#ifdef __CUDACC__
    return 63 - __clzll((long long)x);
#else
    return 63 - __builtin_clzll(x);
#endif
}

// The magnitude of C next below sum * 2^exponent.
STREAM StreamWord stream_c_below(StreamWord sum, int exponent) {
    typedef StreamShape::C C;
    if (sum == 0) return 0;
    const int leading = stream_leading(sum);
    const StreamWord significand = leading > C::T ? sum >> (leading - C::T) : sum << (C::T - leading);
    return leading + exponent < C::LOW ? 0 : stream_number<FormatC>(leading + exponent, significand & C::FULL);
}

// Minus the product of the slot that c cancels, within a few units.
STREAM StreamWord stream_c_cancels(const StreamTile& t, int row, int column, unsigned hash) {
    typedef StreamShape S;
    const unsigned m = t.multiply, inverse = m * (2 - m * m), finer = inverse * (2 - m * inverse);
    const unsigned turned = (t.c_slot - t.add) * finer & (STORED_K - 1);
    const unsigned role = (turned >> t.rotate | turned << (S::SLOTS_BITS - t.rotate)) & (STORED_K - 1);
    int stored = (int)role, k = stream_logical(t, row, stored);
    if (STREAM_KEPT > 1 && stream_role(k) != role) {
        stored ^= STREAM_TOGETHER;
        k = stream_logical(t, row, stored);
    }
    const StreamWord a = stream_a(t, row, stored), b = stream_b(t, k, column);
    int a_exponent, b_exponent;
    const StreamWord x = stream_significand<FormatA>(a, a_exponent), y = stream_significand<FormatB>(b, b_exponent);
    const bool wide = S::A::T + S::B::T > 60;
    const StreamWord product = wide ? stream_high_word(x << 11, y << 11) : x * y;
    const StreamWord c = stream_c_below(product, a_exponent + b_exponent + (wide ? 42 : 0));
    const int units = hash & 1 ? 0 : (int)(hash >> 1 & 7) - 4;
    const StreamWord moved = units < 0 && c < (StreamWord)-units ? 0 : c + (StreamWord)(long long)units;
    const unsigned same = (a & S::A::SIGN ? 1 : 0) ^ (b & S::B::SIGN ? 1 : 0);
    return stream_code<FormatC>(t, moved < S::C::LARGEST ? moved : S::C::LARGEST, ~same, hash);
}

STREAM StreamWord stream_c_integer(const StreamTile& t, unsigned hash) {
    const unsigned most = (unsigned)FormatC::LARGEST_CODE, near = hash >> 12 >> (hash & 15);
    return t.c_mode == STREAM_C_ZERO      ? 0
         : t.c_mode == STREAM_C_NUMBER    ? near
         : t.c_mode == STREAM_C_CANCELS   ? most - near
         : t.c_mode == STREAM_C_LARGEST   ? most + 1 + near
                                          : hash;
}

// The code of C at a row and a column.
STREAM StreamWord stream_c(const StreamTile& t, int row, int column) {
    typedef StreamShape S;
    const unsigned hash = stream_hash(t, STREAM_CS + row * 256 + column);
    if (FormatC::INTEGER) return stream_c_integer(t, hash);
    if ((hash >> 24 & 127) < t.special_c) {
        return stream_code<FormatC>(t, stream_special<FormatC>(hash * STREAM_GOLDEN), hash >> 23, hash);
    }
    if (t.c_mode == STREAM_C_CANCELS) return stream_c_cancels(t, row, column, hash);
    const StreamSide of_row = stream_row(t, row), of_column = stream_column(t, column);
    const int spread = t.c_spread ? of_row.spread + of_column.spread : 0;
    const int exponent = t.base - t.c_gap + of_row.shift + of_column.shift - spread;
    const StreamWord magnitude = t.c_mode == STREAM_C_NUMBER
                                     ? stream_number<FormatC>(exponent, stream_fraction<FormatC>(t.c_kind, hash))
                               : t.c_mode == STREAM_C_LARGEST ? S::C::LARGEST - (hash & hash >> 3 & 7)
                               : t.c_mode == STREAM_C_ANY     ? stream_any<FormatC>(hash)
                                                              : 0;
    return stream_code<FormatC>(t, magnitude, of_row.sign ^ of_column.sign ^ t.c_sign ^ (hash >> 31 & t.signs), hash);
}

#ifdef SCALE_BLOCK
// Scales are about 2^exponent. They are arbitrary where exponents are, and sometimes NaN among non-finite operands.
STREAM StreamWord stream_scale(const StreamTile& t, int exponent, unsigned hash) {
    typedef StreamFormat<FormatScale> Format;
    if (t.regime == STREAM_NON_FINITE && hash >> 27 == 0) return FormatScale::NAN_CODE;
    if (t.any || t.regime == STREAM_SUBNORMAL && hash >> 30 == 0) return stream_any<FormatScale>(stream_turn(hash, 16));
    const unsigned mask = t.shift | t.scale_spread;
    const int magnitude = (FormatScale::BIAS + exponent) * (1 << Format::T) + (int)(hash >> 8 & mask) - (int)(hash >> 12 & mask);
    return stream_clamp(magnitude, 0, (int)Format::LARGEST);
}

// The code of the scale of a row of A and a block along k.
STREAM StreamWord stream_scale_a(const StreamTile& t, int row, int block) {
    return stream_scale(t, t.scale_a, stream_hash(t, STREAM_SCALES_A + row * 256 + block));
}

// The code of the scale of a block along k and a column of B.
STREAM StreamWord stream_scale_b(const StreamTile& t, int block, int column) {
    return stream_scale(t, t.scale_b, stream_hash(t, STREAM_SCALES_B + column * 256 + block));
}
#endif
