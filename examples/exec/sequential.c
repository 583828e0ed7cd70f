/* A program for `tcnum ... --device exec:./sequential`: dense mma.sync on f16, bf16 and f32, in plain C.
 *
 * A template. Replace `dot` by a call of your simulator, your GPU or your model; docs/exec.md describes the protocol.
 *
 *     cc -O2 -ffp-contract=off -o sequential sequential.c -lm
 *     tcnum exec-check ./sequential
 *
 * Its arithmetic: a chain of fused multiply-adds in f32, from c on, in the order of k; then rounding to the
 * format of D, ties to even.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    size_t bytes;
    float (*decode)(uint32_t);
    uint32_t (*encode)(float);
} format;

static float from_bits(uint32_t code) {
    float value;
    memcpy(&value, &code, sizeof value);
    return value;
}

static uint32_t to_bits(float value) {
    uint32_t code;
    memcpy(&code, &value, sizeof code);
    return code;
}

static float bf16_decode(uint32_t code) { return from_bits(code << 16); }

static uint32_t bf16_encode(float value) {
    uint32_t code = to_bits(value);
    return isnan(value) ? 0x7fff : (code + 0x7fff + (code >> 16 & 1)) >> 16;
}

static float f16_decode(uint32_t code) {
    int exponent = code >> 10 & 31;
    float significand = (float)(code & 1023), value;
    if (exponent == 31) value = significand != 0 ? NAN : INFINITY;
    else if (exponent == 0) value = ldexpf(significand, -24);
    else value = ldexpf(significand + 1024, exponent - 25);
    return code >> 15 ? -value : value;
}

static uint32_t f16_encode(float value) {
    uint32_t sign = to_bits(value) >> 31 << 15;
    float magnitude = fabsf(value);
    if (isnan(value)) return 0x7fff;
    if (magnitude >= 65520) return sign | 0x7c00;
    if (magnitude == 0) return sign;
    int exponent;
    frexpf(magnitude, &exponent);
    /* The quantum is 2^(exponent - 11), and no less than 2^-24; rintf rounds ties to even. */
    int quantum = exponent - 11 < -24 ? -24 : exponent - 11;
    uint32_t significand = (uint32_t)rintf(ldexpf(magnitude, -quantum));
    /* A significand of 2^11 carries into the exponent; below 2^10 the number is subnormal. */
    return sign | (quantum + 24 == 0 ? significand : ((uint32_t)(quantum + 24) << 10) + significand);
}

static const format FORMATS[] = {
    {"f32", 4, from_bits, to_bits},
    {"f16", 2, f16_decode, f16_encode},
    {"bf16", 2, bf16_decode, bf16_encode},
};

/* One element of D. The elements of b are `stride` apart. */
static float dot(const float *a, const float *b, size_t stride, float c, size_t k) {
    for (size_t j = 0; j < k; j++) c = fmaf(a[j], b[j * stride], c);
    return c;
}

/* Text after "key": in the line of JSON from tcnum (one line, without blanks). */
static const char *value_of(const char *line, const char *key) {
    char pattern[32];
    snprintf(pattern, sizeof pattern, "\"%s\":", key);
    const char *found = strstr(line, pattern);
    return found ? found + strlen(pattern) : "";
}

static const format *format_of(const char *line, const char *key) {
    const char *value = value_of(line, key);
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++) {
        size_t length = strlen(FORMATS[i].name);
        if (value[0] == '"' && !strncmp(value + 1, FORMATS[i].name, length) && value[length + 1] == '"') return &FORMATS[i];
    }
    return NULL;
}

static void decline(const char *why) {
    printf("{\"protocol\":2,\"ok\":false,\"error\":\"%s\"}\n", why);
    exit(0);
}

/* Reads `count` codes as numbers. */
static float *numbers(const format *f, size_t count) {
    unsigned char *codes = malloc(count * f->bytes + 1);
    float *values = malloc(count * sizeof *values + 1);
    if (!codes || !values || fread(codes, f->bytes, count, stdin) != count) {
        fputs("the input ended within a batch\n", stderr);
        exit(1);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t code = 0;
        for (size_t byte = f->bytes; byte-- > 0;) code = code << 8 | codes[i * f->bytes + byte];
        values[i] = f->decode(code);
    }
    free(codes);
    return values;
}

int main(void) {
    char line[4096];
    if (!fgets(line, sizeof line, stdin)) return 0;
    if (strncmp(value_of(line, "instruction"), "\"mma.sync.", 10)) decline("this is not mma.sync");
    if (strncmp(value_of(line, "scale"), "null", 4) || strncmp(value_of(line, "sparse"), "null", 4))
        decline("neither block scales nor sparse operands are implemented");
    const format *fa = format_of(line, "a"), *fb = format_of(line, "b");
    const format *fc = format_of(line, "c"), *fd = format_of(line, "d");
    if (!fa || !fb || !fc || !fd) decline("a format of the instruction is not implemented");
    size_t m = strtoul(value_of(line, "m"), NULL, 10);
    size_t n = strtoul(value_of(line, "n"), NULL, 10);
    size_t k = strtoul(value_of(line, "k"), NULL, 10);
    puts("{\"protocol\":2,\"ok\":true,\"name\":\"a chain of fused multiply-adds in C\"}");
    fflush(stdout);

    unsigned char head[4];
    while (fread(head, 1, 4, stdin) == 4) {
        size_t tiles = head[0] | head[1] << 8 | head[2] << 16 | (size_t)head[3] << 24;
        if (tiles == 0) break;
        float *a = numbers(fa, tiles * m * k), *b = numbers(fb, tiles * k * n), *c = numbers(fc, tiles * m * n);
        for (size_t at = 0; at < tiles * m * n; at++) {
            size_t tile = at / (m * n), row = at / n % m, column = at % n;
            uint32_t code = fd->encode(dot(a + (tile * m + row) * k, b + tile * k * n + column, n, c[at], k));
            for (size_t byte = 0; byte < fd->bytes; byte++) putchar(code >> 8 * byte & 255);
        }
        fflush(stdout);
        free(a), free(b), free(c);
    }
    return 0;
}
