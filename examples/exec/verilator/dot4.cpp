// A program for `tcnum ... --device exec:./dot4/dot4`: the unit dot4.sv, simulated by Verilator.
//
// A template for a unit of your own: replace `Unit`. docs/exec.md describes the protocol.
//
//     verilator --cc --exe --build -Mdir dot4 -o dot4 dot4.sv dot4.cpp
//     tcnum exec-check --instr instruction.toml ./dot4/dot4
//
// With an argument the program waits that many microseconds before each tile, as a simulation of a large design would.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

#include "Vdot4.h"
#include "verilated.h"

namespace {

// The unit and its clock.
class Unit {
    VerilatedContext context;
    Vdot4 top{&context};

    void cycle() {
        top.clk = 0;
        top.eval();
        top.clk = 1;
        top.eval();
    }

public:
    // Operands of one element of D: a[i] in bits 16 i to 16 i + 15.
    struct Case {
        uint64_t a, b;
        uint32_t c;
    };

    // The unit takes a case in every cycle; `done` marks the cycles in which it gives a result.
    std::vector<uint32_t> run(const std::vector<Case> &cases) {
        std::vector<uint32_t> results;
        for (size_t at = 0; results.size() < cases.size(); at++) {
            top.valid = at < cases.size();
            if (top.valid) top.a = cases[at].a, top.b = cases[at].b, top.c = cases[at].c;
            cycle();
            if (top.done) results.push_back(top.d);
        }
        return results;
    }
};

// Text after "key": in the line of JSON from tcnum (one line, without blanks), up to the next comma.
std::string value_of(const std::string &line, const std::string &key) {
    const std::string pattern = "\"" + key + "\":";
    const size_t at = line.find(pattern);
    if (at == std::string::npos) return "";
    const size_t from = at + pattern.size();
    return line.substr(from, line.find_first_of(",}", from) - from);
}

// Reads `count` codes of `bytes` bytes.
std::vector<uint32_t> codes(size_t count, size_t bytes) {
    std::vector<unsigned char> input(count * bytes);
    if (fread(input.data(), 1, input.size(), stdin) != input.size()) {
        fputs("the input ended within a batch\n", stderr);
        exit(1);
    }
    std::vector<uint32_t> numbers(count);
    for (size_t at = 0; at < input.size(); at++) numbers[at / bytes] |= uint32_t(input[at]) << 8 * (at % bytes);
    return numbers;
}

void write(uint32_t code) {
    for (int byte = 0; byte < 4; byte++) putchar(code >> 8 * byte & 255);
}

}  // namespace

int main(int count, char **arguments) {
    const useconds_t wait = count > 1 ? strtoul(arguments[1], nullptr, 10) : 0;
    std::string line;
    for (int next = getchar(); next != EOF && next != '\n'; next = getchar()) line += char(next);
    const bool formats = value_of(line, "a") == "\"bf16\"" && value_of(line, "b") == "\"bf16\"" &&
                         value_of(line, "c") == "\"f32\"" && value_of(line, "d") == "\"f32\"";
    const bool plain = value_of(line, "scale") == "null" && value_of(line, "sparse") == "null";
    if (!formats || !plain || value_of(line, "k") != "4") {
        puts("{\"protocol\":2,\"ok\":false,\"error\":\"the unit multiplies bf16 with k = 4, and adds f32\"}");
        return 0;
    }
    const size_t m = strtoul(value_of(line, "m").c_str(), nullptr, 10);
    const size_t n = strtoul(value_of(line, "n").c_str(), nullptr, 10), k = 4;
    puts("{\"protocol\":2,\"ok\":true,\"name\":\"dot4.sv in Verilator\"}");
    fflush(stdout);

    Unit unit;
    unsigned char head[4];
    while (fread(head, 1, 4, stdin) == 4) {
        const size_t tiles = head[0] | head[1] << 8 | head[2] << 16 | size_t(head[3]) << 24;
        if (tiles == 0) break;
        const auto a = codes(tiles * m * k, 2), b = codes(tiles * k * n, 2), c = codes(tiles * m * n, 4);
        for (size_t tile = 0; tile < tiles; tile++) {
            if (wait > 0) usleep(wait);
            std::vector<Unit::Case> cases(m * n);
            for (size_t at = 0; at < m * n; at++) {
                for (size_t j = 0; j < k; j++) {
                    cases[at].a |= uint64_t(a[(tile * m + at / n) * k + j]) << 16 * j;
                    cases[at].b |= uint64_t(b[(tile * k + j) * n + at % n]) << 16 * j;
                }
                cases[at].c = c[tile * m * n + at];
            }
            for (const uint32_t code : unit.run(cases)) write(code);
        }
        fflush(stdout);
    }
    return 0;
}
