"use strict";
// Evaluator of programs: D of one dot-product-add, and every step on the way. Sets `tcnum.evaluate` and its relatives.
//
// The meaning of each operation is written here once more, after the other interpreters: models/README.md defines the
// words. Every value is exact until an operation aligns or rounds it.
//
// What an operation holds between two steps is { value, counts, agrees, payload }:
// - `counts` is the exponent that takes part in alignments, null if the value takes no part;
// - `agrees` is true if a zero has the sign of all its terms;
// - `payload` is sign, trailing significand and width of a NaN that may be passed on, else null.

(() => {
  const { NAN, infinite, finite, isZero, leadingExponent, product, total, special, sum, minus } = tcnum.number;
  const { bitLength, units, toQuantum, scaled, text } = tcnum.number;
  const { decode, encode, quietNan, zero, hexadecimal, layout, read } = tcnum.format;

  /** Distance of a sticky bit below the leading bit of its sum: below every rounding. */
  const STICKY_DISTANCE = 110;
  /** Bits of the widest dropped part that is told. */
  const TOLD_BITS = 128;

  const hold = (value, exponent) => ({
    value,
    counts: value.kind === "finite" && !isZero(value) ? exponent : null,
    agrees: true,
    payload: null,
  });
  /** A term with an exponent, which counts for a zero only if `zeros` count. */
  const holdTerm = (value, exponent, zeros) =>
    zeros && isZero(value) ? { ...hold(value, 0), counts: exponent } : hold(value, exponent ?? 0);
  const PLUS_ZERO = hold(finite(false, 0n, 0), null);
  const isNan = (held) => held.value.kind === "nan";
  const withoutPayload = (held) => (held.payload ? { ...held, payload: null } : held);

  /** Datum of a format as an operation holds it. */
  function holdDatum(datum, format) {
    const held = hold(datum, datum.unit);
    if (datum.class !== "nan") return held;
    return { ...held, payload: { negative: datum.negative, trailing: datum.trailing, width: layout(format).t } };
  }

  // Operands.

  /** Program with its formats in place of their names; computed once. */
  const prepared = new WeakMap();
  function prepare(program) {
    let own = prepared.get(program);
    if (own) return own;
    const format = (name) => program.formats[name];
    const destination = (to) => to && { ...to, name: to.format, format: format(to.format), nan: BigInt(to.nan) };
    const { instruction } = program;
    const factors = (own) =>
      typeof own === "number"
        ? { k: own, a: null, b: null, name: `a[${own}]*b[${own}]` }
        : { k: own[0], ...masks(own) };
    const steps = program.steps.map((step) => ({
      ...step,
      to: destination(step.to),
      rounded: destination(step.rounded),
      factors: step.operation === "fma" ? factors(step.factors) : step.factors?.map(factors),
    }));
    const summed = new Set(steps.flatMap((step) => step.products ?? []));
    own = {
      instruction,
      a: format(instruction.a),
      b: format(instruction.b),
      c: format(instruction.c),
      d: format(instruction.d),
      scale: instruction.scale && { block: instruction.scale.block, format: format(instruction.scale.format) },
      unpack: program.unpack.map((side) => ({ ...side, wider: side.wider && format(side.wider) })),
      specials: program.specials,
      factor_nan: program.factor_nan === undefined ? null : BigInt(program.factor_nan),
      invalid: program.invalid ?? {},
      steps,
      summed,
      output: { ...program.output, to: destination(program.output.to) },
    };
    prepared.set(program, own);
    return own;
  }

  function masks([k, a, b]) {
    const bits = (mask) => (BigInt(mask) === 0xffffffffffffffffn ? null : BigInt(mask));
    const name = (mask) => (bits(mask) === null ? "" : `&${mask}`);
    return { a: bits(a), b: bits(b), name: `a[${k}]${name(a)}*b[${k}]${name(b)}` };
  }

  /** Operands with every code: absent ones are 0, absent scales 1, absent positions the first of their chunk. */
  function complete(own, { a = [], b = [], c = 0n, positions = [], scale_a = [], scale_b = [] }) {
    const { k, stored, chunk } = own.instruction;
    const filled = (codes, length, absent) => {
      if (codes.length > length) throw new Error(`there are ${codes.length} codes, and room for ${length}`);
      return Array.from({ length }, (_, at) => (at < codes.length ? BigInt(codes[at]) : absent));
    };
    const blocks = own.scale ? k / own.scale.block : 0;
    const one = own.scale && encode(own.scale.format, finite(false, 1n, 0), "RNE");
    return {
      a: filled(a, stored, 0n),
      b: filled(b, k, 0n),
      c: BigInt(c),
      positions: chunk && Array.from({ length: stored }, (_, at) => Number(positions[at] ?? at % chunk.kept)),
      scale_a: filled(scale_a, blocks, one),
      scale_b: filled(scale_b, blocks, one),
    };
  }

  /** Index along k of the element of B that the stored element `at` of A meets. */
  function logical({ chunk }, positions, at) {
    return chunk ? Math.floor(at / chunk.kept) * chunk.length + positions[at] : at;
  }

  /** A held value; a zero of the format counts, with the exponent of the smallest normal number. */
  function counted(held, format) {
    const { emin } = layout(format);
    return isZero(held.value) && emin !== undefined ? { ...held, counts: emin } : held;
  }

  /** An operand's code as the operations take it. */
  function unpacked(format, code, own) {
    const held = widened(format, code, own);
    return own.zeros ? counted(held, own.wider ?? format) : held;
  }

  function widened(format, code, { subnormals, wider, specials }) {
    let datum = decode(specials === "finite" ? asNumbers(format) : format, code);
    if (specials === "nan" && datum.class === "infinite") datum = { ...datum, kind: "nan", class: "nan", significand: 0n };
    if (datum.class === "subnormal" && subnormals !== "keep") {
      datum = { ...datum, class: "zero", significand: 0n, negative: datum.negative && subnormals === "signed-zero" };
    }
    const held = holdDatum(datum, format);
    if (!wider || datum.kind !== "finite") return held;
    return holdDatum(decode(wider, encode(wider, datum, "RNE")), wider);
  }

  /** Operands of the operations, by stored k. */
  function unpack(own, operands) {
    const { instruction, scale } = own;
    const index = (at) => logical(instruction, operands.positions, at);
    const scaleOf = (at) => {
      const block = Math.floor(index(at) / scale.block);
      const [x, y] = [operands.scale_a[block], operands.scale_b[block]].map((code) => decode(scale.format, code));
      return { value: product(x, y), exponent: x.unit + y.unit };
    };
    const factor = (format, code, side) => {
      const held = unpacked(format, code, side);
      if (own.factor_nan === null || !isNan(held)) return held;
      return { ...held, payload: holdDatum(decode(own.d, own.factor_nan), own.d).payload };
    };
    return {
      a: operands.a.map((code) => factor(own.a, code, own.unpack[0])),
      b: operands.a.map((_, at) => factor(own.b, operands.b[index(at)], own.unpack[1])),
      c: unpacked(own.c, operands.c, own.unpack[2]),
      scales: scale ? operands.a.map((_, at) => scaleOf(at)) : null,
    };
  }

  /** A format whose codes of infinities and NaNs are numbers. */
  const numbered = new WeakMap();
  function asNumbers(format) {
    if (!numbered.has(format)) numbered.set(format, { ...format, specials: "none" });
    return numbered.get(format);
  }

  /** Product of two factors; that of an infinity and a zero follows the rule. */
  function factorsProduct(x, y, { zero_times_infinity: rule }) {
    const value = product(x, y);
    if (!rule || value.kind !== "nan" || x.kind === "nan" || y.kind === "nan") return value;
    const negative = x.negative !== y.negative;
    return rule === "zero" ? finite(negative, 0n, 0) : infinite(negative);
  }

  /** Infinity or NaN of a sum, null if it is finite; that of opposite infinities follows the rule. */
  function specialSum(values, { opposite_infinities: rule }) {
    const beyond = special(values);
    if (!rule || beyond?.kind !== "nan" || values.some((value) => value.kind === "nan")) return beyond;
    return infinite(rule === "negative");
  }

  // Rounding to a destination.

  /** Code of a held value at its destination. */
  function deliver(held, to) {
    const { value, payload } = held;
    if (value.kind === "nan") return (payload && quiet(payload, to.format)) ?? to.nan;
    const beyond = to["overflow-test"] === "exact" && value.kind === "finite" && isBeyond(value, to.format);
    const code = encode(to.format, beyond ? finite(value.negative, 1n, 1 << 20) : value, to.rounding, to.overflow) ?? to.nan;
    if (value.kind !== "finite" || beyond) return code;
    if (isFlushed(value, code, to)) return zero(to.format, value.negative && to.subnormals === "signed-zero") ?? code;
    if (decode(to.format, code).class !== "zero") return code;
    return zero(to.format, zeroSign(value, held.agrees, to)) ?? code;
  }

  /** True if the magnitude of a finite value exceeds the largest number of a format. */
  function isBeyond(value, format) {
    const rest = minus({ ...value, negative: false }, decode(format, encode(format, finite(false, 1n, 1 << 20), "RZ", "saturate")));
    return !isZero(rest) && !rest.negative;
  }

  /** True if a value that rounds to zero becomes -0. */
  function zeroSign(value, agrees, to) {
    switch (to.zero) {
      case "positive": return false;
      case "negative": return true;
      case "exact-positive": return !isZero(value) && value.negative;
      case "common": return value.negative;
      default: return !isZero(value) || agrees ? value.negative : to.rounding === "RD";
    }
  }

  /** True if a result with this code counts as subnormal and is replaced by a zero. */
  function isFlushed(value, code, to) {
    const f = layout(to.format);
    if (to.subnormals === "keep" || f.integer) return false;
    if (to.tininess === "after") return decode(to.format, code).class === "subnormal";
    const leading = leadingExponent(value);
    if (leading === null || leading >= f.emin) return false;
    if (to.tininess === "before") return true;
    const carries = bitLength(units(value, leading - f.t, to.rounding)) > f.t + 1;
    return leading + (carries ? 1 : 0) < f.emin;
  }

  /** Quiet NaN with the leading bits of a payload; null in a format without NaN. */
  function quiet({ negative, trailing, width }, format) {
    const shift = (layout(format).t ?? 0) - width;
    return quietNan(format, negative, shift >= 0 ? trailing << BigInt(shift) : trailing >> BigInt(-shift));
  }

  /** First NaN among the operands of an operation, in the order of its rule. */
  function firstNan(order, operands, invalid = {}) {
    const { a, b } = operands;
    for (const which of order) {
      if (operands[which] && isNan(operands[which])) return operands[which];
      const isProduct = which === "invalid" && a && b && !isNan(a) && !isNan(b);
      if (isProduct && factorsProduct(a.value, b.value, invalid).kind === "nan") return hold(NAN, null);
    }
    return null;
  }

  // Operations. Each gives the list of its values, and tells `observe` its lines if there is an observer.

  class Machine {
    constructor(own, operands, observe) {
      this.own = own;
      this.inputs = unpack(own, operands);
      this.lists = [];
      this.observe = observe;
    }

    source(source) {
      if (source === "c") return this.inputs.c;
      if (source === "zero") return PLUS_ZERO;
      return Array.isArray(source) ? this.lists[source[0]][source[1]] : this.lists[source][0];
    }

    run() {
      const beyond = this.own.specials ? this.decided(this.own.specials) : null;
      if (beyond) {
        this.observe?.({ name: "products and c", value: beyond.value });
        return this.output(beyond);
      }
      this.own.steps.forEach((step, number) => this.lists.push(this[step.operation](step, number)));
      return this.output(this.source(this.own.output.value));
    }

    /** Infinity or NaN that all products and c give before anything is added; null if they give none. */
    decided(order) {
      const { a, b, c, scales } = this.inputs;
      const terms = a.map((own, k) => {
        const whole = factorsProduct(own.value, b[k].value, this.own.invalid);
        const value = scales ? product(whole, scales[k].value) : whole;
        return { held: hold(value, 0), factors: { a: own, b: b[k] } };
      });
      return beyondFinite(order, [...terms, { held: c }], this.own.invalid);
    }

    output(last) {
      const { to, passes_nan } = this.own.output;
      const passed = passes_nan && isNan(last) && last.payload ? quiet(last.payload, to.format) : null;
      const nan = isNan(last) ? passed ?? to.nan : null;
      const code = nan ?? encode(to.format, last.value, to.rounding, to.overflow) ?? to.nan;
      this.observe?.(rounding(undefined, "D", to, code));
      return code;
    }

    /** Exact product of two factors, or of the masked bits of their significands. */
    factorProduct({ k, a, b }) {
      const [x, y] = [this.inputs.a[k].value, this.inputs.b[k].value];
      // Every piece of a product that is not finite is that product.
      if (x.kind !== "finite" || y.kind !== "finite") return factorsProduct(x, y, this.own.invalid);
      const bits = (value, mask) => (mask === null ? value : { ...value, significand: value.significand & mask });
      return product(bits(x, a), bits(y, b));
    }

    /** A product of the factors at `k` without the bits that the multiplier loses. */
    kept(product, k, bits) {
      const exponents = [this.inputs.a[k].counts, this.inputs.b[k].counts];
      if (bits === undefined || product.kind !== "finite" || exponents.includes(null)) return product;
      return { ...toQuantum(product, exponents[0] + exponents[1] - bits, "RZ"), negative: product.negative };
    }

    multiply(step, number) {
      const limited = (product, { k }) => {
        const value = this.kept(product, k, step.bits);
        return step.limit !== undefined && value.kind === "finite" && (leadingExponent(value) ?? -Infinity) >= step.limit
          ? infinite(value.negative)
          : value;
      };
      if (typeof step.scaling === "number") return this.scaledSums(step, limited);
      const list = step.factors.map((factors) => this.term(step, factors, limited));
      if (this.observe && !this.own.summed.has(number)) {
        list.forEach((held, at) => this.observe({ group: step.group, name: step.factors[at].name, value: held.value }));
      }
      return list;
    }

    /** One product, with its scales. */
    term(step, factors, limited) {
      const [a, b] = [this.inputs.a[factors.k], this.inputs.b[factors.k]];
      const nan = firstNan(step.nans, { a, b });
      if (nan) return nan;
      const { zeros } = this.own.unpack[0];
      const exponent = a.counts === null || b.counts === null ? null : a.counts + b.counts;
      let held = holdTerm(limited(this.factorProduct(factors), factors), exponent, zeros);
      if (step.rounded) held = withoutPayload(this.rounded(held, step.rounded).held);
      if (step.scaling) {
        const scale = this.inputs.scales[factors.k];
        const scaled = held.counts === null ? null : held.counts + scale.exponent;
        held = holdTerm(product(held.value, scale.value), scaled, zeros);
      }
      if (step.normalised && held.value.kind === "finite") held = { ...held, counts: leadingExponent(held.value) };
      return held;
    }

    /** Exact sums of consecutive products, each times the scales that its products share. */
    scaledSums(step, limited) {
      const sums = [];
      for (let first = 0; first < step.factors.length; first += step.scaling) {
        const values = step.factors.slice(first, first + step.scaling).map((own) => limited(this.factorProduct(own), own));
        const { value, exponent } = this.inputs.scales[step.factors[first].k];
        sums.push(hold(product(specialSum(values, this.own.invalid) ?? total(values), value), exponent));
      }
      return sums;
    }

    rounded(held, to) {
      const code = deliver(held, to);
      return { code, held: holdDatum(decode(to.format, code), to.format) };
    }

    /** Rounds the value of a step for the next one. */
    settle(step, name, held) {
      const { code, held: next } = this.rounded(held, step.to);
      this.observe?.(rounding(step.group, name, step.to, code));
      return [this.own.unpack[2].zeros ? counted(next, step.to.format) : next];
    }

    round(step) {
      const held = this.source(step.value);
      return this.settle(step, step.name, step.passes_nan ? held : withoutPayload(held));
    }

    add(step) {
      const [a, b] = step.terms.map((term) => this.source(term));
      return this.settle(step, step.name, firstNan(step.nans, { a, b }) ?? this.added(a.value, b.value, step.to));
    }

    fma(step) {
      const c = this.source(step.addend);
      const operands = { a: this.inputs.a[step.factors.k], b: this.inputs.b[step.factors.k], c };
      const nan = firstNan(step.nans, operands, this.own.invalid);
      const held = nan ?? this.added(this.factorProduct(step.factors), c.value, step.to);
      return this.settle(step, `+ ${step.factors.name}`, held);
    }

    /** Unrounded sum of two values for an ordinary addition or a fused multiply-add. */
    added(x, y, to) {
      return hold(specialSum([x, y], this.own.invalid) ?? sum(x, y, to.rounding === "RD"), 0);
    }

    /** Products and addends of a sum, in order. */
    terms(step) {
      const products = step.products.flatMap((list) => {
        const { scaling, factors } = this.own.steps[list];
        return this.lists[list].map((held, at) => {
          if (typeof scaling !== "number") {
            const { k, name } = factors[at];
            return { held, name, factors: { a: this.inputs.a[k], b: this.inputs.b[k] } };
          }
          const [first, last] = [factors[at * scaling].k, factors[(at + 1) * scaling - 1].k];
          return { held, name: `products ${first} to ${last}`, factors: {} };
        });
      });
      const addends = step.addends.map(({ value, bits, drop }) => ({
        held: this.source(value), name: this.addendName(value), bits, drop,
      }));
      return [...products, ...addends];
    }

    /** Name of an addend: a sum that the next group continues from is its c. */
    addendName(source) {
      if (source === "c") return "c";
      if (source === "zero") return "+0";
      const { name } = this.own.steps[Array.isArray(source) ? source[0] : source];
      return typeof source === "number" && name === "sum" ? "c" : name;
    }

    sum(step) {
      const { alignment, group } = step;
      const terms = this.terms(step);
      const line = ({ name, held }, kept) =>
        this.observe?.({ group, name, value: held.value, exponent: held.counts, kept: held.counts === null ? null : kept });
      const beyond = beyondFinite(step.nans, terms, this.own.invalid);
      if (beyond) {
        terms.forEach((term) => line(term, null));
        return [beyond];
      }
      const offset = step.addends.length ? (alignment?.["c-bits"] ?? alignment?.bits) - alignment?.bits : 0;
      const exponents = terms
        .map(({ held }, at) => held.counts === null ? null : held.counts - (at === terms.length - 1 && offset ? offset : 0))
        .filter((exponent) => exponent !== null);
      const largest = exponents.length ? Math.max(...exponents, alignment?.floor ?? -Infinity) : null;
      const last = step.addends.length ? terms[terms.length - 1].held : null;
      // An unrounded zero has no sign of its own.
      const isNegative = ({ value, agrees }) => value.negative && (!isZero(value) || agrees);
      const frame = last !== null && isNegative(last);
      const flipsZeros = alignment?.["complement-zeros"] && !terms.every(({ held }) => isZero(held.value));
      let lost = false;
      const parts = terms.map((term) => {
        const { value } = term.held;
        if (!alignment || largest === null) {
          line(term, null);
          return value;
        }
        const kept = aligned(term, largest, alignment);
        lost ||= alignment.sticky && !kept.dropped && loses(value, kept.value.exponent, alignment.reach);
        const counts = alignment.complement && !kept.dropped && (!isZero(value) || flipsZeros);
        const flips = counts && isNegative(term.held) !== frame;
        const part = flips ? total([kept.value, finite(!frame, 1n, kept.quantum)]) : kept.value;
        line(term, part);
        return part;
      });
      let exact = total(parts);
      const most = alignment && Math.max(alignment.bits, ...step.addends.map((addend) => addend.bits ?? alignment.bits));
      if (alignment?.carry !== undefined && largest !== null) {
        const held = inRegister(exact, largest - most, largest + 1 + alignment.carry, alignment.saturates);
        if (!isZero(minus(held, exact))) this.observe?.({ group, name: "sum beyond the register", value: exact, exponent: null });
        exact = held;
      }
      const leading = leadingExponent(exact);
      const atPlace = alignment?.["sticky-place"] !== undefined;
      if (alignment?.sticky && lost && (atPlace || leading !== null)) {
        const below = { RD: false, RU: true }[alignment.rounding] ?? exact.negative;
        const place = atPlace ? largest - most - alignment["sticky-place"] : leading - STICKY_DISTANCE;
        exact = total([exact, finite(below, 1n, place)]);
      }
      const exponent = step.normalised ? leadingExponent(exact) : largest;
      this.observe?.({ group, name: "aligned sum", value: exact, exponent });
      if (!isZero(exact)) return [{ ...hold(exact, 0), counts: exponent }];
      const negative = terms.every(({ held }) => held.value.negative);
      return [{ value: finite(negative, 0n, 0), counts: exponent, agrees: agreeInSign(terms), payload: null }];
    }
  }

  /**
   * A multiple of 2^quantum in a register whose numbers go from -2^top to 2^top - 2^quantum: modulo their count, or the nearest.
   */
  function inRegister(sum, quantum, top, saturates) {
    const lowest = finite(true, 1n, top);
    const turns = toQuantum(minus(sum, lowest), top + 1, "RD");
    if (isZero(turns)) return sum;
    if (!saturates) return minus(sum, turns);
    return sum.negative ? lowest : minus(finite(false, 1n, top), finite(false, 1n, quantum));
  }

  /** Part of a term that an alignment to the exponent `largest` keeps. */
  function aligned({ held, bits, drop }, largest, alignment) {
    if (drop !== undefined && held.counts !== null && held.counts < largest - drop) {
      return { value: finite(false, 0n, 0), dropped: true };
    }
    const quantum = largest - (bits ?? alignment.bits);
    return { value: toQuantum(held.value, quantum, alignment.rounding), quantum, dropped: false };
  }

  /** True if bits of a value below the quantum set the sticky bit: all of them, or the first `reach`. */
  function loses(value, quantum, reach) {
    const seen = reach === undefined ? value : toQuantum(value, quantum - reach, "RZ");
    return !isZero(minus(toQuantum(seen, quantum, "RZ"), seen));
  }

  /** True if all terms are zeros with one sign, which all of their own terms have. */
  function agreeInSign(terms) {
    const signs = terms.map(({ held }) =>
      isZero(held.value) && held.agrees ? held.value.negative : null,
    );
    return signs.length > 0 && signs[0] !== null && signs.every((sign) => sign === signs[0]);
  }

  /** Infinity or NaN of a sum of terms; null if it is finite. */
  function beyondFinite(order, terms, invalid) {
    const beyond = specialSum(terms.map((term) => term.held.value), invalid);
    if (!beyond) return null;
    return beyond.kind === "nan" ? passedOn(order, terms, invalid) : hold(beyond, null);
  }

  /** NaN of a sum: the first of its operands in the order of the rule, else one without payload. */
  function passedOn(order, terms, invalid) {
    const ofFactors = order.filter((which) => which === "a" || which === "b");
    const ofProducts = () => {
      for (const { factors } of terms) {
        const nan = factors && firstNan(ofFactors, factors);
        if (nan) return nan;
      }
      return null;
    };
    // With "invalid" in the order, the NaN of an unrounded sum counts as what it was made of.
    const byOrigin = order.includes("invalid");
    const isOf = (held, origin) => !byOrigin || (held.origin ?? "addend") === origin;
    const ofAddends = (origin) =>
      terms.find(({ factors, held }) => !factors && isNan(held) && isOf(held, origin))?.held ?? null;
    const invalidNan = { ...hold(NAN, null), origin: "invalid" };
    for (const which of order) {
      if (which === "invalid") {
        if (ofAddends("invalid") || isInvalid(terms, invalid)) return invalidNan;
        continue;
      }
      const ofProduct = which === "c" ? null : ofProducts();
      if (ofProduct) return { ...ofProduct, origin: "factor" };
      const ofAddend = which === "c" ? ofAddends("addend") : byOrigin ? ofAddends("factor") : null;
      if (ofAddend) return ofAddend;
    }
    return invalidNan;
  }

  /** True if terms without a NaN among their operands make a NaN. */
  function isInvalid(terms, invalid) {
    const own = terms.filter(({ factors, held }) =>
      factors ? ![factors.a, factors.b].some((factor) => factor && isNan(factor)) : !isNan(held),
    );
    return specialSum(own.map(({ held }) => held.value), invalid)?.kind === "nan";
  }

  /** D of a program of integers. */
  function integer(own, operands, observe) {
    const { instruction, steps: [step] } = own;
    const signed = (format, code) => {
      const { negative, significand } = decode(format, code);
      return negative ? -significand : significand;
    };
    const tell = (name, value) => observe?.({ name, value: finite(value < 0n, value < 0n ? -value : value, 0) });
    const range = 1n << BigInt(step.bits);
    const lowest = own.d.signed ? -range / 2n : 0n;
    const within = (value) => {
      if (step.saturates) return value < lowest ? lowest : value >= lowest + range ? lowest + range - 1n : value;
      return lowest + ((((value - lowest) % range) + range) % range);
    };
    const groupEnd = step.group_bits ? 1n << BigInt(step.group_bits - 1) : null;
    const ofGroup = (value) => {
      if (groupEnd === null) return value;
      return value < -groupEnd ? -groupEnd : value >= groupEnd ? groupEnd - 1n : value;
    };
    const c = signed(own.c, operands.c);
    let [held, group] = [step.c_bits ? BigInt.asIntN(step.c_bits, c) : c, 0n];
    tell("c", held);
    operands.a.forEach((a, at) => {
      const b = operands.b[logical(instruction, operands.positions, at)];
      const term = instruction.xor ? signed(own.a, a ^ b) : signed(own.a, a) * signed(own.b, b);
      tell(`a[${at}]${instruction.xor ? "^" : "*"}b[${at}]`, term);
      group += term;
      if ((at + 1) % step.every === 0 || at + 1 === operands.a.length) {
        held += ofGroup(group);
        group = 0n;
        tell("sum", held);
        held = within(held);
      }
    });
    const code = held & layout(own.d).mask;
    observe?.(rounding(undefined, "D", own.output.to, code));
    return code;
  }

  /** Line of a rounding. */
  function rounding(group, name, to, code) {
    const full = to.format.integer ? name : `${name} to ${to.name} ${to.rounding}`;
    const written = `${hexadecimal(to.format, code)} ${to.name}`;
    return { group, name: full, value: decode(to.format, code), code: written };
  }

  function run(program, operands, observe) {
    const own = prepare(program);
    const all = complete(own, operands);
    if (own.steps[0]?.operation === "integer") return integer(own, all, observe);
    return new Machine(own, all, observe).run();
  }

  // The interface.

  /** Code of D. */
  const dot = (program, operands) => run(program, operands, null);

  /** Code of D, the steps without products that are +0, and the regimes that decided D. */
  function evaluate(program, operands) {
    const lines = [];
    const d = run(program, operands, (line) => lines.push(line));
    return { d, steps: lines.filter((line) => !isNothing(line)).map(told), regimes: regimes(program, operands, d, lines) };
  }

  /** The regimes whose features decided D: `always`, and those of rare operands, steps and results. */
  function regimes(program, operands, code, lines) {
    const own = prepare(program);
    const { a, b, c, scale_a, scale_b } = complete(own, operands);
    const classes = (format, codes) => codes.map((own) => decode(format, own).class);
    const operandClasses = [...classes(own.a, a), ...classes(own.b, b)];
    const [ofC] = classes(own.c, [c]);
    const d = decode(own.d, code);
    const all = [...operandClasses, ofC, ...(own.scale ? classes(own.scale.format, [...scale_a, ...scale_b]) : [])];
    const beyond = all.some((name) => name === "nan" || name === "infinite");
    const large = ({ value }) => value.kind === "finite" && (leadingExponent(value) ?? -Infinity) > layout(own.d).emax;
    const found = {
      always: true,
      floor: atFloor(own.steps, lines),
      "subnormal A, B": operandClasses.includes("subnormal"),
      "subnormal C": ofC === "subnormal",
      "subnormal D": d.class === "subnormal" || (isZero(d) && !isZero(exact(program, operands).value)),
      overflow: !beyond && (d.kind !== "finite" || lines.some(large)),
      "infinity or NaN": beyond || d.kind === "nan",
      zero: isZero(d),
    };
    return Object.keys(found).filter((name) => found[name]);
  }

  /** True if no term of an aligned sum lies above a floor of the alignment, so that the floor may decide. */
  function atFloor(steps, lines) {
    const floors = steps.map((step) => step.alignment?.floor).filter((floor) => floor !== undefined);
    let largest = null;
    for (const { name, exponent } of lines) {
      if (name === "aligned sum") {
        if (largest !== null && floors.some((floor) => largest <= floor)) return true;
        largest = null;
      } else if (exponent !== undefined && exponent !== null) {
        largest = Math.max(largest ?? exponent, exponent);
      }
    }
    return false;
  }

  /** The weakest evidence for these regimes; `kinds` has the evidence for each, `order` the kinds from the strongest. */
  function evidence(kinds, order, regimes) {
    const known = regimes.filter((name) => kinds[name] !== undefined);
    const weakest = order[Math.max(...known.map((name) => order.indexOf(kinds[name])))];
    if (weakest === undefined || kinds.always === weakest) return weakest ?? "";
    return `${weakest} (${known.filter((name) => kinds[name] === weakest).join(", ")})`;
  }

  function isNothing({ name, value, code }) {
    return code === undefined && isZero(value) && !value.negative && /\][*^]b\[/.test(name);
  }

  /** Step as texts: group from 1, value, exponent in the alignment, kept and dropped part, code; null for absent ones. */
  function told({ group, name, value, exponent, kept, code }) {
    const rest = kept && value.kind === "finite" ? minus(value, kept) : null;
    const isTold = rest && bitLength(tcnum.number.odd(rest).significand) <= TOLD_BITS;
    return {
      group: group === undefined ? null : group + 1,
      name,
      value: text(value),
      exponent: exponent ?? null,
      kept: kept ? scaled(kept) : null,
      dropped: isTold ? scaled(rest) : null,
      code: code ?? null,
    };
  }

  /** Correctly rounded exact result: its code (null for NaN in a format without NaN) and the exact value. */
  function exact(program, operands, direction = "RNE") {
    const own = prepare(program);
    const { instruction, scale } = own;
    const all = complete(own, operands);
    const terms = all.a.map((a, at) => {
      const index = logical(instruction, all.positions, at);
      const b = all.b[index];
      if (instruction.xor) return decode(own.a, a ^ b);
      let term = product(decode(own.a, a), decode(own.b, b));
      for (const side of scale ? [all.scale_a, all.scale_b] : []) {
        term = product(term, decode(scale.format, side[Math.floor(index / scale.block)]));
      }
      return term;
    });
    const values = [decode(own.c, all.c), ...terms];
    let value = special(values) ?? total(values);
    if (isZero(value)) value = finite(values.every((term) => isZero(term) && term.negative), 0n, 0);
    if (!own.d.integer || instruction.saturate) return { code: encode(own.d, value, direction), value };
    const whole = total([value]).significand << BigInt(value.exponent);
    return { code: (value.negative ? -whole : whole) & layout(own.d).mask, value };
  }

  /** Steps of two evaluations, as many as possible with the same group and name side by side: pairs [one, other]. */
  function sideBySide(one, other) {
    const same = (x, y) => x.name === y.name && x.group === y.group;
    const longest = Array.from({ length: one.length + 1 }, () => new Array(other.length + 1).fill(0));
    for (let x = one.length - 1; x >= 0; x -= 1) {
      for (let y = other.length - 1; y >= 0; y -= 1) {
        const without = Math.max(longest[x + 1][y], longest[x][y + 1]);
        longest[x][y] = same(one[x], other[y]) ? longest[x + 1][y + 1] + 1 : without;
      }
    }
    const pairs = [];
    let [x, y] = [0, 0];
    while (x < one.length || y < other.length) {
      if (x < one.length && y < other.length && same(one[x], other[y])) pairs.push([one[x++], other[y++]]);
      else if (y === other.length || (x < one.length && longest[x + 1][y] >= longest[x][y + 1])) pairs.push([one[x++], null]);
      else pairs.push([null, other[y++]]);
    }
    return pairs;
  }

  Object.assign(tcnum, { dot, evaluate, evidence, exact, sideBySide, decode, encode: read, text });
})();
