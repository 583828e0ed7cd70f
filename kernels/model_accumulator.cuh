// Exact sums of any terms of a rule, as wide as its formats need. Follows model_wide.cuh.

// An exact sum of any terms of the rule, in two's complement with units of 2^ACCUMULATOR_LOW.
struct Accumulator {
    Word limbs[ACCUMULATOR_LIMBS];

    MODEL void clear() {
#pragma unroll 1
        for (int i = 0; i < ACCUMULATOR_LIMBS; ++i) limbs[i] = 0;
    }

    MODEL void add(const Held& x) {
        if (x.significand == 0) return;
        const int place = x.exponent - ACCUMULATOR_LOW, first = place / 64, offset = place % 64;
        const Word low = (Word)x.significand, high = (Word)(x.significand >> 64);
        const Word words[3] = {low << offset, offset == 0 ? high : high << offset | low >> (64 - offset),
                               offset == 0 ? 0 : high >> (64 - offset)};
        Word carry = 0;
#pragma unroll 1
        for (int i = first; i < ACCUMULATOR_LIMBS; ++i) {
            const Word word = i - first < 3 ? words[i - first] : 0;
            const Word before = limbs[i];
            if (x.negative) {
                limbs[i] = before - word - carry;
                carry = before < word || (before == word && carry) ? 1 : 0;
            } else {
                limbs[i] = before + word + carry;
                carry = limbs[i] < before || (limbs[i] == before && carry) ? 1 : 0;
            }
        }
    }

    // The sum; beyond 128 bits, its leading 65 or more bits and the sticky bit.
    MODEL Held sum() {
        const bool negative = limbs[ACCUMULATOR_LIMBS - 1] >> 63;
        Word carry = 1;
        int top = 0;
#pragma unroll 1
        for (int i = 0; i < ACCUMULATOR_LIMBS; ++i) {
            if (negative) {
                limbs[i] = ~limbs[i] + carry;
                carry = carry && limbs[i] == 0;
            }
            if (limbs[i] != 0) top = i;
        }
        const int low = top > 0 ? top - 1 : 0;
        Held x = finite(0, ACCUMULATOR_LOW + 64 * low);
        x.significand = top > 0 ? (Wide)limbs[top] << 64 | limbs[low] : limbs[0];
        x.negative = negative;
#pragma unroll 1
        for (int i = 0; i < low; ++i) x.sticky |= limbs[i] != 0;
        return x;
    }
};
