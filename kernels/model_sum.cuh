// Sums of any program, aligned or exact, of products and other values. Follows model_terms.cuh and
// model_accumulator.cuh. Each pass makes the terms again, because registers cannot hold them.

MODEL int larger(int x, int y) { return x > y ? x : y; }

// Value `at` of a sum: products first, then addends.
template <class P, class S> MODEL Held summand(const Operands& x, const Held* addends, int at) {
    if constexpr (P::COUNT > 0) {
        if (at < P::COUNT) return term<P>(x, at);
    }
    return addends[at - P::COUNT];
}

// The factors of the product at a place.
template <class P> struct FactorPair {
    Held factors[2];
    __device__ FactorPair(const Operands& x, int at)
        : factors{factor_held<CodesA, FactorA>(x.a_code(P::k(at)), ~0ull),
                  factor_held<CodesB, FactorB>(x.b_code(P::k(at)), ~0ull)} {}
    __device__ bool has_nan() const { return factors[0].kind == NOT_A_NUMBER || factors[1].kind == NOT_A_NUMBER; }
};

// True if terms without a NaN among their operands make a NaN: an infinity times a zero, or opposite infinities.
template <class P, class S> __device__ __noinline__ bool is_invalid(const Operands& x, const Held* addends) {
    bool infinite[2] = {false, false};
#pragma unroll 1
    for (int at = 0; at < P::COUNT + S::ADDENDS; ++at) {
        const Held t = summand<P, S>(x, addends, at);
        if (t.kind == INFINITE) infinite[t.negative] = true;
        if constexpr (P::COUNT > 0) {
            if (t.kind != NOT_A_NUMBER || at >= P::COUNT) continue;
            if constexpr (P::SCALE_SUMS == 0) {
                if (FactorPair<P>(x, at).has_nan()) continue;
            }
            return true;
        }
    }
    return infinite[0] && infinite[1] && OPPOSITE_INFINITIES == NO_INFINITY;
}

// The NaN of a sum: its first operand in the rule's order, if that keeps payloads.
template <class P, class S> __device__ __noinline__ Held nan_of(const Operands& x, const Held* addends) {
    typedef typename S::Nans Nans;
    Held nan = nothing(false);
    nan.kind = NOT_A_NUMBER;
    nan.origin = OF_INVALID;
    // With the NaN of invalid operations in the order, that of an unrounded sum counts as what it was made of.
    bool by_origin = false;
#pragma unroll 1
    for (int j = 0; j < Nans::COUNT; ++j) by_origin |= Nans::operand(j) == 3;
#pragma unroll 1
    for (int j = 0; j < Nans::COUNT; ++j) {
        const int which = Nans::operand(j);
        if constexpr (P::COUNT > 0 && P::SCALE_SUMS == 0 && Nans::COUNT > 0) {
#pragma unroll 1
            for (int at = 0; which < 2 && at < P::COUNT; ++at) {
                Held found = first_nan<Nans>(FactorPair<P>(x, at).factors, 2, nan);
                found.origin = OF_FACTOR;
                if (found.payload) return found;
            }
        }
        const Origin origin = which == 2 ? OF_ADDEND : which == 3 ? OF_INVALID : OF_FACTOR;
        if (which == 2 || by_origin) {
#pragma unroll 1
            for (int at = 0; at < S::ADDENDS; ++at) {
                if (addends[at].kind == NOT_A_NUMBER && (!by_origin || addends[at].origin == origin)) return addends[at];
            }
        }
        if (which == 3 && is_invalid<P, S>(x, addends)) return nan;
    }
    return nan;
}

// A sum as a register of this many bits in two's complement holds it.
template <int BITS, bool SATURATES> MODEL SignedWide in_register(SignedWide sum) {
    if constexpr (BITS >= 128) {
        return sum;
    } else if constexpr (SATURATES) {
        constexpr SignedWide END = (SignedWide)1 << (BITS - 1);
        return sum < -END ? -END : sum >= END ? END - 1 : sum;
    } else {
        return (SignedWide)((Wide)sum << (128 - BITS)) >> (128 - BITS);
    }
}

// An unrounded sum; with SPECIALS_ONLY its infinity or NaN, or any finite value.
template <class P, class S> __device__ __noinline__ Held sum(const Operands& x, const Held* addends) {
    constexpr int COUNT = P::COUNT + S::ADDENDS;
    // Infinities and NaN; the largest exponent; zeros and their signs.
    bool nan = false, infinite[2] = {false, false}, zeros = true, signs[2] = {false, false}, there = false;
    bool all_zeros = true;
    int largest = 0;
#pragma unroll 1
    for (int at = 0; at < COUNT; ++at) {
        const Held t = summand<P, S>(x, addends, at);
        nan |= t.kind == NOT_A_NUMBER;
        if (t.kind == INFINITE) infinite[t.negative] = true;
        const bool counts = t.kind == FINITE && (t.significand != 0 || t.counts);
        all_zeros &= is_zero(t);
        zeros &= is_zero(t) && t.agreed;
        signs[t.negative] = true;
        if (!counts) continue;
        const int units = t.units - (S::ADDENDS > 0 && at == COUNT - 1 ? S::LAST_OFFSET : 0);
        largest = there ? larger(largest, units) : units;
        there = true;
    }
    const bool opposite = infinite[0] && infinite[1];
    if (nan || (opposite && OPPOSITE_INFINITIES == NO_INFINITY)) return nan_of<P, S>(x, addends);
    Held total = nothing(false);
    if (infinite[0] || infinite[1]) {
        total.kind = INFINITE;
        total.negative = opposite ? OPPOSITE_INFINITIES == NEGATIVE_INFINITY : infinite[1];
        return total;
    }
    if (S::SPECIALS_ONLY) return total;
    if (there && !S::EXACT) largest = larger(largest, S::FLOOR);
    if constexpr (S::EXACT) {
        Accumulator accumulator;
        accumulator.clear();
#pragma unroll 1
        for (int at = 0; at < COUNT; ++at) accumulator.add(summand<P, S>(x, addends, at));
        total = accumulator.sum();
    } else if (there) {
        SignedWide units = 0;
        bool lost = false, frame = false;
        if constexpr (S::COMPLEMENT && S::ADDENDS > 0) {
            // An unrounded zero has no sign of its own.
            const Held& last = addends[S::ADDENDS - 1];
            frame = last.negative && (last.agreed || !is_zero(last));
        }
#pragma unroll 1
        for (int at = 0; at < COUNT; ++at) {
            const Held t = summand<P, S>(x, addends, at);
            int bits = S::BITS;
            if (at >= P::COUNT) {
                bits = S::addend_bits(at - P::COUNT);
                if (t.significand != 0 && t.units < largest - S::addend_drop(at - P::COUNT)) continue;
                if (t.counts && t.units < largest - S::addend_drop(at - P::COUNT)) continue;
            }
            if (S::STICKY) lost |= loses(t, largest - bits, S::REACH);
            SignedWide kept = cut_wide<S::ROUNDING>(t, largest - bits);
            if (S::COMPLEMENT && (t.significand != 0 || (S::COMPLEMENT_ZEROS && !all_zeros))) {
                // An unrounded zero is positive.
                const bool negative = t.negative && (t.significand != 0 || t.agreed);
                if (negative != frame) kept += frame ? 1 : -1;
            }
            units += kept * ((SignedWide)1 << (S::MOST_BITS - bits));
        }
        units = in_register<S::REGISTER_BITS, S::SATURATES>(units);
        total = finite(units, largest - S::MOST_BITS);
        if (S::STICKY_PLACE < (1 << 20) && lost) {
            constexpr int PLACE = S::STICKY_PLACE < (1 << 20) ? S::STICKY_PLACE : 0;
            const bool down = S::ROUNDING == RU || (S::ROUNDING != RD && units < 0);
            total = finite(units * ((SignedWide)1 << PLACE) + (down ? -1 : 1), largest - S::MOST_BITS - PLACE);
        } else if (lost && units != 0) {
            // One unit of 2^-110 stands for all dropped bits: it lies far below the last bit of any rounding.
            const int left = larger(leading_zeros(total.significand) - 18, 0);
            const bool down = S::ROUNDING == RU || (S::ROUNDING != RD && units < 0);
            total = finite(units * ((SignedWide)1 << left) + (down ? -1 : 1), largest - S::MOST_BITS - left);
        }
    }
    total.units = largest;
    total.counts = there;
    if (S::NORMALISED) {
        total.counts = total.significand != 0;
        if (total.counts) total.units = total.exponent + 127 - leading_zeros(total.significand);
    }
    if (total.significand == 0 && !total.sticky) {
        total.agreed = zeros && !(signs[0] && signs[1]);
        total.negative = !signs[0];
    }
    return total;
}
