// What a scalar instruction takes of whole warps, each of whose threads executes it: rounds of so many independent chains of it, where a
// result is the first operand of the next run.
//
// Behind cost_loop.cuh, and Source, Result and `repeat`, which executes the instruction on a result and SOURCES - 1 operands. The chains
// begin with results of their own, and turns alternate between SETS of operands: else the compiler executes once what is alike. Operands are registers: word r of lane l at r * 32 + l; INDEPENDENT + SOURCES * SETS of them.

const int SETS = 2;

template <int INDEPENDENT>
__device__ __forceinline__ void rounds(const void* a, const void*, const void*, Word count, unsigned, Word* times, void* sink) {
    const Source* const words = (const Source*)a + threadIdx.x % 32;
    Result results[INDEPENDENT][1];
#pragma unroll
    for (int i = 0; i < INDEPENDENT; ++i) results[i][0] = (Result)words[i * 32];
    Source operands[SETS][SOURCES];
#pragma unroll
    for (int set = 0; set < SETS; ++set) {
#pragma unroll
        for (int r = 0; r < SOURCES; ++r) operands[set][r] = words[(INDEPENDENT + set * SOURCES + r) * 32];
    }
    const auto round = [&] {
#pragma unroll
        for (int turn = 0; turn < BODY / INDEPENDENT; ++turn) {
#pragma unroll
            for (int i = 0; i < INDEPENDENT; ++i) results[i][0] = repeat(results[i][0], operands[turn % SETS]);
        }
    };
    timed(count, times, round, [] {});
    keep(results, (Result*)sink);
}

COSTS
