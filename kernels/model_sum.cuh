// Fused and exact steps of any rule: lanes, a late c, block scales, rounded products, any widths and signs of zero. Behind
// model_terms.cuh and model_accumulator.cuh. Terms are made again in every pass, for there is no room to keep them.

// Terms of a group besides c.
MODEL int term_count(int group) { return group_length(group) / (SCALE_SUMS > 0 ? SCALE_SUMS : 1); }

#ifdef SCALE_BLOCK
// The product of the scales of a stored k.
MODEL Held scale_at(const Operands& x, int k) {
    const int block = x.logical(k) / SCALE_BLOCK;
    return times(widened(decode<FormatScale, KEEP>(x.row_scales[block]), FormatScale::TRAILING_BITS),
                 widened(decode<FormatScale, KEEP>(x.column_scales[block * N]), FormatScale::TRAILING_BITS));
}

// The exact sum of products from position `first` of a group on, times their scales; the exponent is that of the scales.
__device__ __noinline__ Held scaled_sum(const Operands& x, int group, int first) {
    SignedWide total = 0;
    bool nan = false, infinite[2] = {false, false};
#pragma unroll 1
    for (int i = 0; i < SCALE_SUMS; ++i) {
        const Held p = limited(exact_product(x, group_index(group, first + i)));
        nan |= p.kind == NOT_A_NUMBER;
        if (p.kind == INFINITE) infinite[p.negative] = true;
        else total += cut_wide<RZ>(p, PRODUCT_QUANTUM);
    }
    Held sum = finite(total, PRODUCT_QUANTUM);
    if (nan || (infinite[0] && infinite[1])) {
        sum.kind = NOT_A_NUMBER;
    } else if (infinite[0] || infinite[1]) {
        sum.kind = INFINITE;
        sum.negative = infinite[1];
    }
    sum.units = 0;
    return times(sum, scale_at(x, group_index(group, first)));
}
#endif

// Term `at` of a group.
__device__ __noinline__ Held term(const Operands& x, int group, int at) {
#ifdef SCALE_BLOCK
    if (SCALE_SUMS > 0) return scaled_sum(x, group, at * SCALE_SUMS);
#endif
    const int k = group_index(group, at);
    Held p = exact_product(x, k);
#if PRODUCT_ROUNDED
    typedef TargetProduct::Format F;
    p = widened(decode<F, KEEP>(round_held<TargetProduct>(p)), F::TRAILING_BITS);
#endif
    p = limited(p);
#ifdef SCALE_BLOCK
    p = times(p, scale_at(x, k));
#endif
    if (NORMALISED && p.significand != 0) p.units = p.exponent + 127 - leading_zeros(p.significand);
    return p;
}

// A sum in units of 2^(exponent - bits) that was aligned to 2^exponent; not there where all its terms are zero.
struct Part {
    SignedWide sum;
    int exponent, bits;
    bool there;
};

MODEL Held value_of(const Part& part) { return finite(part.sum, part.exponent - part.bits); }

MODEL int larger(int x, int y) { return x > y ? x : y; }

// The terms of one lane (and c, if it is one of them), aligned to the largest of their exponents and cut.
__device__ __noinline__ Part lane_sum(const Operands& x, int group, int lane, const Held& c) {
    const bool with_c = !HAS_LANES && !HAS_LATE && !is_zero(c);
    Part part = {0, with_c ? c.units : 0, ALIGNMENT_BITS, with_c};
#pragma unroll 1
    for (int at = lane; at < term_count(group); at += LANES) {
        const Held t = term(x, group, at);
        if (is_zero(t)) continue;
        part.exponent = part.there ? larger(part.exponent, t.units) : t.units;
        part.there = true;
    }
    if (!part.there) return part;
    part.exponent = larger(part.exponent, FLOOR);
    const int quantum = part.exponent - ALIGNMENT_BITS;
    if (with_c) part.sum = cut_wide<ALIGNMENT_ROUNDING>(c, quantum);
#pragma unroll 1
    for (int at = lane; at < term_count(group); at += LANES) {
        part.sum += cut_wide<ALIGNMENT_ROUNDING>(term(x, group, at), quantum);
    }
    return part;
}

// The sums of all lanes (and c, unless it is late), aligned to the largest of their exponents and cut.
MODEL Part joined_lanes(const Operands& x, int group, const Held& c) {
    const bool with_c = !HAS_LATE && !is_zero(c);
    Part lanes[LANES];
    Part sum = {0, with_c ? c.units : 0, LANE_BITS, with_c};
#pragma unroll 1
    for (int lane = 0; lane < LANES; ++lane) {
        lanes[lane] = lane_sum(x, group, lane, c);
        if (!lanes[lane].there) continue;
        sum.exponent = sum.there ? larger(sum.exponent, lanes[lane].exponent) : lanes[lane].exponent;
        sum.there = true;
    }
    if (!sum.there) return sum;
    if (with_c) sum.sum = cut_wide<LANE_ROUNDING>(c, sum.exponent - LANE_BITS);
#pragma unroll 1
    for (int lane = 0; lane < LANES; ++lane) {
        if (lanes[lane].there) sum.sum += cut_wide<LANE_ROUNDING>(value_of(lanes[lane]), sum.exponent - LANE_BITS);
    }
    return sum;
}

// The sum of the products and a late c, each cut to its own width below the larger exponent.
MODEL Part with_late_c(const Part& products, const Held& c) {
    const bool c_there = !is_zero(c);
    Part sum = {0, 0, larger(LATE_SUM_BITS, LATE_C_BITS), products.there || c_there};
    if (!sum.there) return sum;
    sum.exponent = !products.there ? c.units : !c_there ? products.exponent : larger(products.exponent, c.units);
    sum.exponent = larger(sum.exponent, LATE_FLOOR);
    if (products.there) {
        const SignedWide units = cut_wide<LATE_ROUNDING>(value_of(products), sum.exponent - LATE_SUM_BITS);
        sum.sum += units * ((SignedWide)1 << (sum.bits - LATE_SUM_BITS));
    }
    if (c_there && c.units >= sum.exponent - LATE_DROP) {
        const SignedWide units = cut_wide<LATE_ROUNDING>(c, sum.exponent - LATE_C_BITS);
        sum.sum += units * ((SignedWide)1 << (sum.bits - LATE_C_BITS));
    }
    return sum;
}

// The sum of finite terms, before it is rounded.
MODEL Held finite_sum(const Operands& x, int group, const Held& c) {
#if EXACT
    Accumulator total;
    total.clear();
    total.add(c);
#pragma unroll 1
    for (int at = 0; at < term_count(group); ++at) total.add(term(x, group, at));
    return total.sum();
#else
    Part sum = HAS_LANES ? joined_lanes(x, group, c) : lane_sum(x, group, 0, c);
    if (HAS_LATE) sum = with_late_c(sum, c);
    return sum.there ? value_of(sum) : finite(0, 0);
#endif
}

// One fused or exact step.
template <int GROUP, class TARGET> __device__ __noinline__ Held sum_step(const Operands& x, const Held& from) {
    // What is not finite; whether every term is a zero, and with which signs.
    bool nan = from.kind == NOT_A_NUMBER, infinite[2] = {false, false};
    bool zeros = is_zero(from), signs[2] = {false, false};
    if (from.kind == INFINITE) infinite[from.negative] = true;
    signs[from.negative] = true;
#pragma unroll 1
    for (int at = 0; at < term_count(GROUP); ++at) {
        const Held t = term(x, GROUP, at);
        nan |= t.kind == NOT_A_NUMBER;
        if (t.kind == INFINITE) infinite[t.negative] = true;
        zeros &= is_zero(t);
        signs[t.negative] = true;
    }
    if (nan || (infinite[0] && infinite[1])) return hold<TARGET>(not_a_number<TARGET>());
    if (infinite[0] || infinite[1]) return hold<TARGET>(TARGET::infinite(infinite[1]));
    const Held sum = finite_sum(x, GROUP, from);
    const Word code = round_held<TARGET>(sum);
    const Value value = decode<typename TARGET::Format, KEEP>(code);
    if (value.kind != FINITE || value.significand != 0) return hold<TARGET>(code);
    bool negative = ZERO_SIGN == ZERO_NEGATIVE;
    if (ZERO_SIGN == ZERO_IEEE) {
        negative = sum.significand != 0 ? sum.negative
                   : zeros && signs[0] != signs[1] ? signs[1] : TARGET::ROUNDING == RD;
    }
    return hold<TARGET>(zero_code<TARGET>(negative));
}
