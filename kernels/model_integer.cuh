// Exact integers.

// The exact sum of products (or exclusive ors) and c, brought into the range of D.
MODEL Word integer(const Operands& x, Word c) {
    long long sum = (int)(unsigned)c;
#pragma unroll
    for (int k = 0; k < STORED_K; ++k) sum += XOR ? x.a(k).number ^ x.b(k).number : x.a(k).number * x.b(k).number;
    if (SATURATES) {
        sum = sum > 0x7fffffffll ? 0x7fffffffll : sum < -0x80000000ll ? -0x80000000ll : sum;
    }
    return (Word)(unsigned)sum;
}
