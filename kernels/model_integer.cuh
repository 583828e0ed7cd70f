// Exact integers.

// Wraps or saturates a sum.
MODEL long long within(long long sum) {
    const long long high = (1ll << (SUM_BITS - 1)) - 1, low = -high - 1;
    if (SATURATES) return sum > high ? high : sum < low ? low : sum;
    return (long long)((unsigned long long)sum << (64 - SUM_BITS)) >> (64 - SUM_BITS);
}

// The exact sum of c and products (or exclusive ors), wrapped or saturated after every group.
MODEL Word integer(const Operands& x, Word c) {
    long long sum = (int)(unsigned)c;
#pragma unroll
    for (int k = 0; k < STORED_K; ++k) {
        const int a = BITS_ALONE ? (int)x.a_code(k) : x.a(k).number, b = BITS_ALONE ? (int)x.b_code(k) : x.b(k).number;
        sum += XOR ? a ^ b : a * b;
        if ((k + 1) % SUM_GROUP == 0 || k + 1 == STORED_K) sum = within(sum);
    }
    return (Word)(unsigned)sum;
}
