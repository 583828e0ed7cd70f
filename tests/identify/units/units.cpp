// Dot-product units as an engineer would write them, each drawn from a seed, as exec: devices for campaigns of `tcnum identify`.
//
//     c++ -O2 -std=c++17 -o units units.cpp
//     units --seed N --describe       one line of JSON: the design
//     units --seed N --instruction    the instruction, for --instr FILE.toml
//     units --seed N                  the unit itself, by the protocol of docs/exec.md
//
// It shares nothing with tcnum's model language: no code, no keys, no structure.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "datapath.h"
#include "describe.h"

// An integer format: its width and signedness. Codes of 4 bits take a byte.
struct IntegerFormat {
    int width;
    bool has_sign;
};

static IntegerFormat integer_format(const std::string &name) { return {atoi(name.c_str() + 1), name[0] == 's'}; }

static int bytes_of(const std::string &name) {
    if (const Format *f = format_named(name)) return f->bytes;
    return integer_format(name).width > 8 ? 4 : 1;
}

static void fail(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

// Reads `count` codes.
static void read_codes(std::vector<uint32_t> &codes, const std::string &format, size_t count) {
    static std::vector<unsigned char> raw;
    size_t bytes = size_t(bytes_of(format));
    raw.resize(count * bytes);
    codes.resize(count);
    if (fread(raw.data(), 1, raw.size(), stdin) != raw.size()) fail("the input ended within a batch");
    for (size_t i = 0; i < count; i++) {
        uint32_t code = 0;
        for (size_t byte = bytes; byte-- > 0;) code = code << 8 | raw[i * bytes + byte];
        codes[i] = code;
    }
}

static std::vector<Operand> operands(const std::vector<uint32_t> &codes, const std::string &format, const Unpack &how) {
    std::vector<Operand> all(codes.size());
    const Format &f = *format_named(format);
    for (size_t i = 0; i < codes.size(); i++) all[i] = unpack(f, codes[i], how);
    return all;
}

static std::vector<int32_t> integers(const std::vector<uint32_t> &codes, const std::string &format) {
    std::vector<int32_t> all(codes.size());
    IntegerFormat f = integer_format(format);
    for (size_t i = 0; i < codes.size(); i++) {
        uint32_t high = codes[i] << (32 - f.width);
        all[i] = f.has_sign ? int32_t(high) >> (32 - f.width) : int32_t(high >> (32 - f.width));
    }
    return all;
}

// D of all tiles of a batch.
static void answer(const Design &u, size_t tiles, std::vector<uint32_t> &d) {
    static std::vector<uint32_t> a, b, c;
    size_t m = size_t(u.m), n = size_t(u.n), k = size_t(u.k);
    read_codes(a, u.a, tiles * m * k);
    read_codes(b, u.b, tiles * k * n);
    read_codes(c, u.c, tiles * m * n);
    d.resize(tiles * m * n);
    auto each = [&](auto compute) {
        for (size_t at = 0; at < d.size(); at++) {
            size_t tile = at / (m * n), row = at / n % m, column = at % n;
            d[at] = uint32_t(compute((tile * m + row) * k, tile * k * n + column, at));
        }
    };
    if (u.style == INTEGER) {
        std::vector<int32_t> x = integers(a, u.a), y = integers(b, u.b), z = integers(c, u.c);
        each([&](size_t i, size_t j, size_t at) { return integer_element(u, &x[i], &y[j], u.n, z[at]); });
    } else {
        Unit unit(u);
        std::vector<Operand> x = operands(a, u.a, u.unpack_a), y = operands(b, u.b, u.unpack_b), z = operands(c, u.c, u.unpack_c);
        each([&](size_t i, size_t j, size_t at) { return unit.element(&x[i], &y[j], u.n, z[at]); });
    }
}

static void serve(const Design &u) {
    static char line[1 << 16];
    if (!fgets(line, sizeof line, stdin)) return;
    std::string name = "\"name\":\"" + instruction_name(u) + "\"";
    if (!strstr(line, "\"protocol\":2") || !strstr(line, name.c_str())) {
        printf("{\"protocol\":2,\"ok\":false,\"error\":\"this unit has only %s, by protocol 2\"}\n", instruction_name(u).c_str());
        return;
    }
    printf("{\"protocol\":2,\"ok\":true,\"name\":\"unit %llu\"}\n", (unsigned long long)u.seed);
    fflush(stdout);

    std::vector<uint32_t> d;
    std::vector<unsigned char> raw;
    size_t bytes = size_t(bytes_of(u.d));
    unsigned char head[4];
    while (fread(head, 1, 4, stdin) == 4) {
        size_t tiles = head[0] | head[1] << 8 | head[2] << 16 | size_t(head[3]) << 24;
        if (tiles == 0) break;
        answer(u, tiles, d);
        raw.resize(d.size() * bytes);
        for (size_t i = 0; i < d.size(); i++)
            for (size_t byte = 0; byte < bytes; byte++) raw[i * bytes + byte] = (unsigned char)(d[i] >> 8 * byte);
        fwrite(raw.data(), 1, raw.size(), stdout);
        fflush(stdout);
    }
}

int main(int count, char **argument) {
    bool seeded = count >= 3 && !strcmp(argument[1], "--seed");
    std::string verb = count == 4 ? argument[3] : "";
    if (!seeded || count > 4 || (count == 4 && verb != "--describe" && verb != "--instruction")) {
        fputs("usage: units --seed N [--describe|--instruction]\n", stderr);
        return 2;
    }
    Design u = draw(strtoull(argument[2], nullptr, 10));
    if (verb == "--describe") {
        puts(description(u).c_str());
    } else if (verb == "--instruction") {
        fputs(instruction_toml(u).c_str(), stdout);
    } else {
        serve(u);
    }
    return 0;
}
