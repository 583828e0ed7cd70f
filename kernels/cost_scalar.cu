// Cost of a scalar instruction of whole warps, executed by every thread: rounds of independent chains, whose results
// are the first operands of the next runs.
//
// Follows cost_loop.cuh, Source, Result and `repeat`, which executes the instruction on a result and SOURCES - 1
// operands. Chains begin with different results, and turns alternate between SETS of operands; else the compiler would
// merge equal work. Operands are registers: word r of lane l at r * 32 + l; INDEPENDENT + SOURCES * SETS of them.

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
