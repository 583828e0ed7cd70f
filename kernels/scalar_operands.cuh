// The operands of a scalar instruction by input number, as in crates/core/src/inputs/space.rs. Follows model_value.cuh and
// definitions of LANES, OPERANDS, SWEPT_BITS, SPREAD, LOW_EXPONENT, HIGH_EXPONENT and SPECIAL_CODES.

MODEL Word permuted(unsigned word) {
    word = (word ^ word >> 16) * 0x85ebca6bu;
    word = (word ^ word >> 13) * 0xc2b2ae35u;
    return word ^ word >> 16;
}

MODEL Word hashed(Word seed, Word number) {
    Word word = seed + (number + 1) * 0x9e3779b97f4a7c15ull;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
    word = (word ^ word >> 27) * 0x94d049bb133111ebull;
    return word ^ word >> 31;
}

__constant__ const Word special_codes[16] = {SPECIAL_CODES};

MODEL Word special_code(int at) { return special_codes[at]; }

// The contribution of one input to its chunk's digest.
MODEL Word digest_term(Word index, Word code) {
    Word word = index * 0x9e3779b97f4a7c15ull ^ code;
    word = (word ^ word >> 32) * 0xd6e8feb86659fd93ull;
    word = (word ^ word >> 32) * 0xd6e8feb86659fd93ull;
    return word ^ word >> 32;
}

// The positive code with this biased exponent and significand (with its leading bit), limited to finite numbers.
template <class F> MODEL Word assembled(int biased, Word significand) {
    constexpr int T = F::TRAILING_BITS, MOST = (1 << F::EXPONENT_BITS) - 2;
    if (biased <= 0) return significand >> (1 - biased < 63 ? 1 - biased : 63);
    return (Word)(biased < MOST ? biased : MOST) << T | (significand & ((1ull << T) - 1));
}

template <class F> MODEL Word factor_fields(Word code, int& biased) {
    constexpr int T = F::TRAILING_BITS;
    const int field = (int)(code >> T & ((1 << F::EXPONENT_BITS) - 1));
    const Word trailing = code & ((1ull << T) - 1);
    biased = field == 0 ? 1 : field;
    return field == 0 ? trailing : trailing | 1ull << T;
}

// An addend near the product of a and b.
template <class F> MODEL Word addend_of(Word a, Word b, Word hash) {
    constexpr int T = F::TRAILING_BITS;
    constexpr Word SIGN = 1ull << (F::BITS - 1);
    const int kind = (int)(hash & 7);
    const Word h = hash >> 3;
    int x, y;
    const Word x_significand = factor_fields<F>(a, x);
    const Word product = x_significand * factor_fields<F>(b, y);
    if (kind == 0 || (kind > 1 && product == 0)) return h & (SIGN | (SIGN - 1));
    if (kind == 1) return special_code((int)(h & 15));
    const int leading = 63 - __clzll((long long)product);
    const int biased = x + y - F::BIAS - 2 * T + leading;
    const Word aligned = leading >= T ? product >> (leading - T) : product << (T - leading);
    const Word random = h >> 40 & ((1ull << T) - 1);
    if (kind <= 4) return ((assembled<F>(biased, aligned) + (h & 7) - 3) & (SIGN - 1)) | ((a ^ b ^ SIGN) & SIGN);
    if (kind <= 6) {
        const int choice = (int)(h >> 24 & 3);
        const Word trailing = choice == 0 ? random : choice == 1 ? 0 : choice == 2 ? (1ull << T) - 1 : 1;
        return assembled<F>(biased + (int)(h & 31) - 16, 1ull << T | trailing) | (h << 10 & SIGN);
    }
    return assembled<F>(biased + T + 1, 1ull << T | random) | (h << 10 & SIGN);
}

// A sample of a 64-bit source.
MODEL Word wide_sample(Word seed, Word number) {
    const Word h = hashed(seed, 2 * number), g = hashed(seed, 2 * number + 1);
    if ((h & 7) == 0) return g;
    if ((h & 7) == 1) return special_code((int)(h >> 3 & 15));
    const int exponent = LOW_EXPONENT + (int)((h >> 32) * (Word)(HIGH_EXPONENT - LOW_EXPONENT + 1) >> 32);
    const int cut = (int)((h >> 8 & 0xff) * 53 >> 8);
    const Word mask = (1ull << cut) - 1, half = (mask + 1) >> 1;
    const int choice = (int)(h >> 16 & 7);
    const Word tail = choice == 0 ? 0 : choice == 1 ? half : choice == 2 ? half + 1 : choice == 3 ? half - 1
                      : choice == 4 ? mask : choice == 5 ? 1 : g;
    const Word trailing = (g & ~mask) | (tail & mask);
    return (h >> 20 & 1) << 63 | (Word)(exponent + 1023) << 52 | (trailing & ((1ull << 52) - 1));
}

struct Operands {
    Word code[3];
};

// The operands of one lane. `permuted_index` is the number after one permutation per preceding lane.
MODEL Operands operands_of(Word seed, Word index, int lane, Word permuted_index) {
    Operands x = {{0, 0, 0}};
    if (SPREAD == 2) {
        x.code[0] = wide_sample(seed, index * LANES + (Word)lane);
        return x;
    }
    const Word word = SPREAD == 0 ? index >> (SWEPT_BITS * lane) & ((1ull << (SWEPT_BITS & 63)) - 1) : permuted_index;
    if (OPERANDS == 1) {
        x.code[0] = word;
        return x;
    }
    constexpr int BITS = SWEPT_BITS / 2 & 63;
    x.code[0] = word & ((1ull << BITS) - 1);
    x.code[1] = word >> BITS;
    if (OPERANDS == 3) x.code[2] = addend_of<FormatA>(x.code[0], x.code[1], hashed(seed, index * LANES + (Word)lane));
    return x;
}
