"use strict";
// Exact numbers, their rounding and their texts. Sets `tcnum.number`.
//
// A value is { kind: "nan" }, { kind: "infinite", negative } or { kind: "finite", negative, significand, exponent }: the
// last is (-1)^negative * significand * 2^exponent with a BigInt significand, so that sums and products are exact. A zero
// has a sign.

globalThis.tcnum = {};

tcnum.number = (() => {
  const NAN = { kind: "nan" };
  const infinite = (negative) => ({ kind: "infinite", negative });
  const finite = (negative, significand, exponent) => ({ kind: "finite", negative, significand, exponent });
  const isZero = (value) => value.kind === "finite" && value.significand === 0n;

  /** Number of bits of a BigInt that is not negative. */
  function bitLength(integer) {
    if (integer < 0x100000000n) return 32 - Math.clz32(Number(integer));
    const digits = integer.toString(16);
    return 4 * digits.length - Math.clz32(parseInt(digits[0], 16)) + 28;
  }

  /** Exponent of the leading bit of a finite value; null for zero. */
  function leadingExponent(value) {
    return value.significand === 0n ? null : value.exponent + bitLength(value.significand) - 1;
  }

  /** Product: zero times infinity is NaN; a zero has the product of the signs. */
  function product(x, y) {
    if (x.kind === "nan" || y.kind === "nan") return NAN;
    const negative = x.negative !== y.negative;
    if (x.kind === "infinite" || y.kind === "infinite") return isZero(x) || isZero(y) ? NAN : infinite(negative);
    return finite(negative, x.significand * y.significand, x.exponent + y.exponent);
  }

  /** Exact sum of finite values; a zero sum is +0. */
  function total(values) {
    let lowest = Infinity;
    for (const value of values) {
      if (value.significand !== 0n && value.exponent < lowest) lowest = value.exponent;
    }
    if (lowest === Infinity) return finite(false, 0n, 0);
    let units = 0n;
    for (const value of values) {
      if (value.significand === 0n) continue;
      const own = value.significand << BigInt(value.exponent - lowest);
      units += value.negative ? -own : own;
    }
    return units < 0n ? finite(true, -units, lowest) : finite(false, units, lowest);
  }

  /** NaN or the infinity that a sum with such terms is; null if all terms are finite. */
  function special(values) {
    let found = null;
    for (const value of values) {
      if (value.kind === "nan") return NAN;
      if (value.kind === "finite") continue;
      if (found && found.negative !== value.negative) return NAN;
      found = value;
    }
    return found;
  }

  /** Sum of two values as IEEE 754 adds them; operands that cancel give -0 if `toMinus`, else +0. */
  function sum(x, y, toMinus) {
    const beyond = special([x, y]);
    if (beyond) return beyond;
    const exact = total([x, y]);
    return isZero(exact) ? finite(x.negative === y.negative ? x.negative : toMinus, 0n, 0) : exact;
  }

  const minus = (x, y) => total([x, { ...y, negative: !y.negative }]);

  /** Magnitude of a finite value in units of 2^quantum, rounded to an integer. */
  function units(value, quantum, rounding) {
    const shift = quantum - value.exponent;
    if (shift <= 0) return value.significand << BigInt(-shift);
    const places = BigInt(shift);
    const whole = value.significand >> places;
    const rest = value.significand - (whole << places);
    return rest !== 0n && goesUp(rounding, value.negative, (whole & 1n) === 1n, rest, 1n << (places - 1n))
      ? whole + 1n
      : whole;
  }

  /** True if a magnitude with a non-zero rest below its last bit, which is `odd`, becomes the next one. */
  function goesUp(rounding, negative, odd, rest, half) {
    switch (rounding) {
      case "RNE": return rest > half || (rest === half && odd);
      case "RNA": return rest >= half;
      case "RZ": return false;
      case "RU": return !negative;
      case "RD": return negative;
      case "RO": return !odd;
      default: throw new Error(`'${rounding}' is not a rounding; there are RNE, RNA, RZ, RU, RD and RO`);
    }
  }

  /** A finite value rounded to a multiple of 2^quantum; a zero result is +0. */
  function toQuantum(value, quantum, rounding) {
    const count = units(value, quantum, rounding);
    return finite(value.negative && count !== 0n, count, quantum);
  }

  /** The same number with an odd significand. */
  function odd(value) {
    if (value.significand === 0n) return finite(value.negative, 0n, 0);
    const zeros = bitLength(value.significand & -value.significand) - 1;
    return finite(value.negative, value.significand >> BigInt(zeros), value.exponent + zeros);
  }

  // Texts, as `tcnum explain` writes them.

  const EXACT_DIGITS = 21;
  const ROUNDED_DIGITS = 17;
  const sign = (value) => (value.negative ? "-" : "");

  /** Name of a value that is not a non-zero number; null for one. */
  function named(value) {
    if (value.kind === "nan") return "NaN";
    if (value.kind === "infinite") return `${sign(value)}inf`;
    return isZero(value) ? `${sign(value)}0` : null;
  }

  /** Decimal: exact within 21 significant digits, else the nearest double, rounded to 17 digits after a `~`. */
  function decimal(value) {
    const name = named(value);
    if (name) return name;
    const [digits, power] = decimalDigits(value);
    if (digits.length <= EXACT_DIGITS) return sign(value) + placed(digits, power);
    const double = toDouble(value);
    const leading = leadingExponent(double);
    const nearest = leading !== null && leading >= -1022 && leading < 1024 ? double : value;
    return `~${sign(value)}${placed(...shortened(...decimalDigits(nearest)))}`;
  }

  /** The nearest double, of any magnitude: rounded to 53 bits, then to multiples of the least double. */
  function toDouble(value) {
    const rounded = toQuantum(value, leadingExponent(value) - 52, "RNE");
    return leadingExponent(rounded) < -1022 ? toQuantum(rounded, -1074, "RNE") : rounded;
  }

  /** Significant digits, and the power of ten of the first. */
  function decimalDigits({ significand, exponent }) {
    const integer = exponent >= 0 ? significand << BigInt(exponent) : significand * 5n ** BigInt(-exponent);
    const all = integer.toString();
    return [all.replace(/0+$/, ""), all.length - 1 + Math.min(exponent, 0)];
  }

  /** Digits rounded to 17, ties to even, and the power of ten of the first. */
  function shortened(digits, power) {
    const kept = BigInt(digits.slice(0, ROUNDED_DIGITS));
    const rest = digits.slice(ROUNDED_DIGITS);
    const up = rest > "5" || (rest === "5" && (kept & 1n) === 1n);
    const rounded = (up ? kept + 1n : kept).toString().padEnd(ROUNDED_DIGITS, "0");
    return [rounded.replace(/0+$/, ""), power + rounded.length - ROUNDED_DIGITS];
  }

  /** Significant digits, the first of which weighs 10^power, as a decimal. */
  function placed(digits, power) {
    if (power < -5 || power > 15) {
      const rest = digits.length > 1 ? `.${digits.slice(1)}` : "";
      return `${digits[0]}${rest}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
    }
    if (power < 0) return `0.${"0".repeat(-power - 1)}${digits}`;
    if (digits.length <= power + 1) return digits.padEnd(power + 1, "0");
    return `${digits.slice(0, power + 1)}.${digits.slice(power + 1)}`;
  }

  /** Exact form `M*2^E` with an odd M. */
  function scaled(value) {
    const name = named(value);
    if (name) return name;
    const { significand, exponent } = odd(value);
    if (exponent === 0) return `${sign(value)}${significand}`;
    return `${sign(value)}${significand === 1n ? "" : `${significand}*`}2^${exponent}`;
  }

  /** Decimal and exact form: `1.5 = 3*2^-1`. */
  function text(value) {
    const name = named(value);
    if (name) return name;
    const reduced = odd(value);
    const excess = Math.max(0, bitLength(reduced.significand) - 64);
    // A longer number has the digits of its leading 64 bits, with one bit for the rest.
    const leading = finite(value.negative, reduced.significand >> BigInt(excess), reduced.exponent + excess);
    if (excess > 0) leading.significand |= 1n;
    const digits = decimal(leading);
    const own = excess > 0 && !digits.startsWith("~") ? `~${digits}` : digits;
    return reduced.exponent === 0 ? own : `${own} = ${scaled(reduced)}`;
  }

  const LARGEST_EXPONENT = 10000;
  const FORMS = "write 1.5, 2^-24, 3*2^-5, 0x1.8p-3, inf or nan, or a code like 0x3c00";

  /** Value of a text; a decimal fraction is exact, or has one bit far below every format's for its rest. */
  function read(text) {
    const unreadable = () => new Error(`'${text}' is not a number; ${FORMS}`);
    const [, minusSign, magnitude] = /^([+-]?)(.*)$/.exec(text.trim().toLowerCase());
    const negative = minusSign === "-";
    if (/^inf(inity)?$/.test(magnitude)) return infinite(negative);
    if (magnitude === "nan") return NAN;
    const power = (digits) => {
      const exponent = Number(digits ?? 0);
      if (Math.abs(exponent) > LARGEST_EXPONENT) throw new Error(`'${text}': exponents go to ${LARGEST_EXPONENT}`);
      return exponent;
    };
    const hexadecimal = /^0x([\da-f]*)\.?([\da-f]*)p([+-]?\d+)$/.exec(magnitude);
    if (hexadecimal) {
      const [, whole, fraction, exponent] = hexadecimal;
      if (!(whole + fraction)) throw unreadable();
      return finite(negative, BigInt(`0x${whole}${fraction}`), power(exponent) - 4 * fraction.length);
    }
    const number = /^(?:(\d*)\.?(\d*)(?:e([+-]?\d+))?)(?:\*2\^([+-]?\d+))?$/.exec(magnitude.replace(/^2\^/, "1*2^"));
    if (!number || !(number[1] + number[2]) || magnitude.length > LARGEST_EXPONENT) throw unreadable();
    const [, whole, fraction, ten, two] = number;
    const digits = BigInt(whole + fraction);
    const tens = power(ten) - fraction.length;
    if (tens >= 0) return finite(negative, digits * 5n ** BigInt(tens), tens + power(two));
    const divisor = 5n ** BigInt(-tens);
    const room = BigInt(Math.max(0, 256 + bitLength(divisor) - bitLength(digits)));
    const quotient = (digits << room) / divisor;
    const rest = quotient * divisor === digits << room ? 0n : 1n;
    return finite(negative, (quotient << 1n) | rest, tens + power(two) - Number(room) - 1);
  }

  return {
    NAN, infinite, finite, isZero, leadingExponent, product, total, special, sum, minus, units, toQuantum,
    bitLength, odd, decimal, scaled, text, read,
  };
})();
