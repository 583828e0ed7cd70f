// Exact integers.

// The exact sum of products (or exclusive ors) and c, brought into the range of D.
MODEL Word integer(const Operands& x, Word c) {
    long long sum = (int)(unsigned)c;
#pragma unroll
    for (int k = 0; k < STORED_K; ++k) {
        const int a = BITS_ALONE ? (int)x.a_code(k) : x.a(k).number, b = BITS_ALONE ? (int)x.b_code(k) : x.b(k).number;
        sum += XOR ? a ^ b : a * b;
    }
    if (SATURATES) {
        sum = sum > 0x7fffffffll ? 0x7fffffffll : sum < -0x80000000ll ? -0x80000000ll : sum;
    }
    return (Word)(unsigned)sum;
}
