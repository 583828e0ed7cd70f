// Exact integers.

// Wraps or saturates a sum.
MODEL long long within(long long sum) {
    const long long high = (1ll << (SUM_BITS - 1)) - 1, low = -high - 1;
    if (SATURATES) return sum > high ? high : sum < low ? low : sum;
    return (long long)((unsigned long long)sum << (64 - SUM_BITS)) >> (64 - SUM_BITS);
}

// The sum of a group's products as it is added: in a range of GROUP_BITS bits, if there are any.
MODEL long long of_group(long long sum) {
    if (GROUP_BITS == 0) return sum;
    const long long high = (long long)((1ull << ((GROUP_BITS - 1) & 63)) - 1), low = -high - 1;
    return sum > high ? high : sum < low ? low : sum;
}

// The exact sum of c, wrapped into C_BITS bits, and products (or exclusive ors), wrapped or saturated after every group.
MODEL Word integer(const Operands& x, Word c) {
    long long sum = (long long)((unsigned long long)(int)(unsigned)c << (64 - C_BITS)) >> (64 - C_BITS), group = 0;
#pragma unroll
    for (int k = 0; k < STORED_K; ++k) {
        const int a = BITS_ALONE ? (int)x.a_code(k) : x.a(k).number, b = BITS_ALONE ? (int)x.b_code(k) : x.b(k).number;
        group += XOR ? a ^ b : a * b;
        if ((k + 1) % SUM_GROUP == 0 || k + 1 == STORED_K) {
            sum = within(sum + of_group(group));
            group = 0;
        }
    }
    return (Word)(unsigned)sum;
}
