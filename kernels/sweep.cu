// Sweeps the inputs of a scalar instruction: operands by number, instruction, rule, comparison and digest. Follows
// scalar_rule.cuh, scalar_operands.cuh and the function `issue`, which executes the instruction on the operands of all
// lanes.

#define CLASSES 5
#define BUCKETS (CLASSES * CLASSES * CLASSES * CLASSES * CLASSES)

// Layout of `found`: compared results by the class of the first operand; differing results by the classes of operands,
// device's result and expected result; for each of these, the complement of its smallest number of input and lane.
__device__ __noinline__ void differs(Word* found, Word a, Word b, Word c, Word key, Word device, Word expected) {
    typedef TargetResult::Format F;
    int bucket = class_of<FormatA>(a);
    bucket = bucket * CLASSES + (OPERANDS > 1 ? class_of<FormatA>(b) : 0);
    bucket = bucket * CLASSES + (OPERANDS > 2 ? class_of<FormatA>(c) : 0);
    bucket = (bucket * CLASSES + class_of<F>(device)) * CLASSES + class_of<F>(expected);
    atomicAdd(&found[CLASSES + bucket], 1ull);
    atomicMax(&found[CLASSES + BUCKETS + bucket], ~key);
}

MODEL Word sum_of_warp(Word x) {
    for (int offset = 16; offset > 0; offset /= 2) x += __shfl_down_sync(0xffffffffu, x, offset);
    return x;
}

// Sweeps chunks of 2^16 inputs: numbers `first`, `first + step`, ... If `codes` is not null, it gets the results of all
// inputs.
extern "C" __global__ void __launch_bounds__(256)
sweep(Word seed, Word first, Word step, Word chunks, Word size, Word* found, Word* digests, Word* codes) {
    constexpr Word MASK = RESULT_BITS == 64 ? ~0ull : (1ull << (RESULT_BITS & 63)) - 1;
    Word compared[CLASSES] = {0, 0, 0, 0, 0};
    for (Word at = blockIdx.x; at < chunks; at += gridDim.x) {
        const Word base = (first + at * step) << 16;
        // Twelve bits per class: at most 256 inputs of four lanes.
        Word counts = 0, digest = 0;
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < 1u << 16; i += 256) {
            const Word index = base + i;
            if (index >= size) break;
            Operands x[LANES];
            Word number = index;
#pragma unroll
            for (int lane = 0; lane < LANES; ++lane) {
                x[lane] = operands_of(seed, index, lane, number);
                if (SPREAD == 1) number = permuted((unsigned)number);
            }
            const Word device = issue(x);
            digest += digest_term(index, device);
            if (codes != nullptr) codes[(at << 16) + i] = device;
#pragma unroll
            for (int lane = 0; lane < LANES; ++lane) {
                const Word result = device >> (RESULT_BITS * lane & 63) & MASK;
                const Word a = x[lane].code[0], b = x[lane].code[1], c = x[lane].code[2];
                const Word expected = model(a, b, c);
                counts += 1ull << (12 * class_of<FormatA>(a));
                if (result != expected) differs(found, a, b, c, index * LANES + (Word)lane, result, expected);
            }
        }
#pragma unroll
        for (int i = 0; i < CLASSES; ++i) compared[i] += counts >> (12 * i) & 0xfff;
        digest = sum_of_warp(digest);
        if (threadIdx.x % 32 == 0) atomicAdd(&digests[at], digest);
    }
#pragma unroll
    for (int i = 0; i < CLASSES; ++i) {
        const Word sum = sum_of_warp(compared[i]);
        if (threadIdx.x % 32 == 0 && sum != 0) atomicAdd(&found[i], sum);
    }
}
