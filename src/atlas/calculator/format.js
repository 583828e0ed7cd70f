"use strict";
// Formats: codes to values, and values rounded to codes. Sets `tcnum.format`.
//
// A format is its record in the JSON of a program (`program.formats.f16`). Codes are BigInts.

tcnum.format = (() => {
  const { leadingExponent, units } = tcnum.number;
  const layouts = new WeakMap();

  /** Constants of a record, computed once. */
  function layout(format) {
    let own = layouts.get(format);
    if (!own) layouts.set(format, (own = derived(format)));
    return own;
  }

  function derived(format) {
    const mask = (1n << BigInt(format.bits)) - 1n;
    // Data of narrow formats, by code, as far as they were asked for.
    const decoded = format.bits <= 16 ? [] : null;
    if (format.integer) return { integer: true, signed: format.signed, mask, top: BigInt(format.bits - 1), decoded };
    const { exponent_bits: e, trailing_bits: t, padding_bits: padding, bias, specials } = format;
    const trailingMask = (1n << BigInt(t)) - 1n;
    const hasZero = format.zeros !== "none";
    const lowestBiased = hasZero || format.subnormals ? 1 : 0;
    // Magnitudes, the biased exponent and the trailing significand, ascend by one from each number to the next.
    const allOnes = (1n << BigInt(e + t)) - 1n;
    const below = { ieee: trailingMask + 1n, "all-ones-nan": 1n, "all-ones-nan-infinity": 2n, "negative-zero-nan-infinity": 1n };
    const largest = allOnes - (below[specials] ?? 0n);
    const hasInfinity = specials === "ieee" || specials.endsWith("-infinity");
    return {
      ...format, mask, decoded, t, hasZero, trailingMask, lowestBiased, allOnes, largest, hasInfinity,
      places: { trailing: BigInt(t), sign: BigInt(e + t), padding: BigInt(padding) },
      emin: lowestBiased - bias,
      emax: Number(largest >> BigInt(t)) - bias,
    };
  }

  /**
   * Datum of a code: a value with its `class` (nan, infinite, zero, subnormal or normal), its `trailing` significand, and
   * the exponent `unit` of its units digit. The significand has the hidden bit, and its last bit is the quantum.
   */
  function decode(format, code) {
    const f = layout(format);
    const bits = BigInt(code) & f.mask;
    if (!f.decoded) return decoded(f, bits);
    return (f.decoded[Number(bits)] ??= decoded(f, bits));
  }

  function decoded(f, bits) {
    if (f.integer) {
      const negative = f.signed && bits >> f.top === 1n;
      const significand = negative ? f.mask + 1n - bits : bits;
      return datum("finite", bits === 0n ? "zero" : "normal", negative, significand, 0, 0n, 0);
    }
    const magnitude = (bits >> f.places.padding) & f.allOnes;
    const trailing = magnitude & f.trailingMask;
    const biased = Number(magnitude >> f.places.trailing);
    const negative = f.signed && bits >> (f.places.padding + f.places.sign) === 1n;
    if (isNan(f, negative, magnitude)) return datum("nan", "nan", negative, 0n, 0, trailing, 0);
    if (f.hasInfinity && magnitude > f.largest) return datum("infinite", "infinite", negative, 0n, 0, trailing, 0);
    const unit = Math.max(biased, f.lowestBiased) - f.bias;
    const below = biased < f.lowestBiased;
    const significand = below ? trailing : trailing | (1n << f.places.trailing);
    const name = significand === 0n ? "zero" : below ? "subnormal" : "normal";
    return datum("finite", name, negative, significand, unit - f.t, trailing, unit);
  }

  const datum = (kind, name, negative, significand, exponent, trailing, unit) =>
    ({ kind, class: name, negative, significand, exponent, trailing, unit });

  function isNan(f, negative, magnitude) {
    switch (f.specials) {
      case "ieee": return magnitude > f.largest + 1n;
      case "all-ones-nan":
      case "all-ones-nan-infinity": return magnitude === f.allOnes;
      case "negative-zero-nan":
      case "negative-zero-nan-infinity": return negative && magnitude === 0n;
      default: return false;
    }
  }

  const assembled = (f, negative, magnitude) =>
    ((negative && f.signed ? 1n << f.places.sign : 0n) | magnitude) << f.places.padding;

  /** Canonical NaN; null without one. */
  function nan(format) {
    const f = layout(format);
    switch (f.specials) {
      case "ieee": return assembled(f, false, f.largest + 1n + (1n << (f.places.trailing - 1n)));
      case "all-ones-nan":
      case "all-ones-nan-infinity": return assembled(f, false, f.allOnes);
      case "negative-zero-nan":
      case "negative-zero-nan-infinity": return assembled(f, true, 0n);
      default: return null;
    }
  }

  /** Quiet NaN with a sign and a trailing significand; the only NaN of a format with one; null without any. */
  function quietNan(format, negative, trailing) {
    const f = layout(format);
    if (f.integer) return null;
    if (f.specials !== "ieee") return nan(format);
    return assembled(f, negative, (f.largest + 1n) | (1n << (f.places.trailing - 1n)) | trailing);
  }

  /** Zero with a sign, or +0 where there is no -0; null in a format without zero. */
  function zero(format, negative) {
    const f = layout(format);
    if (f.integer) return 0n;
    return f.hasZero ? assembled(f, negative && f.zeros === "both", 0n) : null;
  }

  /** Code of a value, rounded once; null for NaN in a format without NaN. */
  function encode(format, value, rounding, overflow = "standard") {
    const f = layout(format);
    if (f.integer) return encodeInteger(f, value, rounding);
    if (value.kind === "nan") return nan(format);
    const { negative } = value;
    const leading = value.kind === "finite" ? leadingExponent(value) : Infinity;
    if (leading === null) return zero(format, negative) ?? assembled(f, negative, 0n);
    if (negative && !f.signed) return nan(format) ?? zero(format, false);
    if (value.kind === "infinite" && overflow === "saturate-finite" && f.hasInfinity) return beyond(format, negative, "infinity");
    if (value.kind === "infinite") return beyond(format, negative, overflow);
    if (leading <= f.emax) {
      const normal = Math.max(leading, f.emin);
      const count = units(value, normal - f.t, rounding);
      // The hidden bit adds one to the biased exponent, and so does a carry out of the significand.
      const below = BigInt(normal - f.emin + f.lowestBiased - 1) << f.places.trailing;
      const magnitude = below + count < 0n ? 0n : below + count;
      if (magnitude === 0n) return zero(format, negative) ?? assembled(f, negative, 0n);
      if (magnitude <= f.largest) return assembled(f, negative, magnitude);
    }
    const inward = { RZ: true, RO: true, RU: negative, RD: !negative }[rounding] ?? false;
    return overflow === "standard" && inward ? assembled(f, negative, f.largest) : beyond(format, negative, overflow);
  }

  /** Code of a magnitude beyond the largest number: infinity, NaN or the largest number, the first that there is. */
  function beyond(format, negative, overflow) {
    const f = layout(format);
    const largest = assembled(f, negative, f.largest);
    switch (overflow === "standard" ? f.overflow : overflow) {
      case "saturate":
      case "saturate-finite": return largest;
      case "nan": return nan(format) ?? largest;
      default: return f.hasInfinity ? assembled(f, negative, f.largest + 1n) : nan(format) ?? largest;
    }
  }

  /** Integers saturate. */
  function encodeInteger(f, value, rounding) {
    if (value.kind === "nan") return null;
    const lowest = f.signed ? -(1n << f.top) : 0n;
    const highest = lowest + f.mask;
    let integer = value.negative ? lowest : highest;
    if (value.kind === "finite") {
      const magnitude = units(value, 0, rounding);
      const own = value.negative ? -magnitude : magnitude;
      integer = own < lowest ? lowest : own > highest ? highest : own;
    }
    return integer & f.mask;
  }

  /** Code in hexadecimal, with the leading zeros of its width. */
  const hexadecimal = (format, code) => `0x${code.toString(16).padStart(Math.ceil(format.bits / 4), "0")}`;

  /** Code of a text: a code (`0x3c00`), or a number that is rounded. */
  function read(format, text, rounding = "RNE") {
    const written = text.trim().toLowerCase();
    if (/^0x[\da-f]+$/.test(written)) {
      const code = BigInt(written);
      if (code > layout(format).mask) throw new Error(`'${text}' has more than ${format.bits} bits`);
      return code;
    }
    const code = encode(format, tcnum.number.read(written), rounding);
    if (code === null) throw new Error("this format has no NaN");
    return code;
  }

  return { decode, encode, quietNan, zero, hexadecimal, read, layout };
})();
