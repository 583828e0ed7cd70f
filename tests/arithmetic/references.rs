//! The two exact references against each other, and against the host's own fused multiply-add.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rug::{Assign, Float};
use tcnum::{
    exact::{Dot, mpfr},
    format::{Format, Overflow, Real, Rounding, find},
};

const OVERFLOWS: [Overflow; 4] = [Overflow::Standard, Overflow::Infinity, Overflow::Nan, Overflow::Saturate];

fn format(name: &str) -> &'static Format {
    find(name).unwrap()
}

/// How the codes of one dot-product-add are chosen.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// All codes alike: every exponent, NaN and infinity.
    AnyCode,
    /// Numbers of nearly equal exponent, whose sums round in the middle.
    Near,
    /// Zeros, the smallest, subnormal and largest numbers, infinities, NaN.
    Special,
    /// Every product is there with both signs, in any order, but for one or two; c is small.
    Cancelling,
    /// c plus products that are powers of two near half an ulp of it in the output, sometimes with another far below.
    Tie,
    /// Products that c, a rounded sum of them, nearly cancels; sometimes one of them differs in a bit.
    Residual,
}

const KINDS: [Kind; 6] = [Kind::AnyCode, Kind::Near, Kind::Special, Kind::Cancelling, Kind::Tie, Kind::Residual];

struct Inputs {
    pairs: Vec<(u64, u64)>,
    c: u64,
}

struct Generator {
    random: ChaCha8Rng,
    a: &'static Format,
    b: &'static Format,
    c: &'static Format,
    /// The output that ties are made for.
    d: &'static Format,
    dot: Dot,
}

/// `floor(log2 |value|)` of a finite code; 0 for zero.
fn leading_exponent(format: &Format, code: u64) -> i32 {
    let datum = format.decode(code);
    datum.significand.checked_ilog2().map_or(0, |bits| bits as i32 + datum.exponent)
}

impl Generator {
    fn new(seed: u64, [a, b, c, d]: [&'static Format; 4]) -> Self {
        Generator { random: ChaCha8Rng::seed_from_u64(seed), a, b, c, d, dot: Dot::new(a, b, c, c, 64) }
    }

    fn any(&mut self, format: &Format) -> u64 {
        self.random.random::<u64>() & format.code_mask()
    }

    /// A finite number within a few binades of the middle of the range; any number of an integer format.
    fn near(&mut self, format: &Format) -> u64 {
        let Some(float) = format.float() else { return self.any(format) };
        let biased = ((1 << float.exponent_bits) / 2u64).saturating_add_signed(self.random.random_range(-2..=1));
        let sign = u64::from(float.signed && self.random.random::<bool>()) << float.exponent_bits;
        let trailing = self.random.random::<u64>() & ((1 << float.trailing_bits) - 1);
        ((sign | biased) << float.trailing_bits | trailing) << float.padding_bits
    }

    fn special(&mut self, format: &Format) -> u64 {
        let negative = self.random.random::<bool>();
        let step = format.float().map_or(1, |float| 1 << float.padding_bits);
        let first_normal = format.float().map_or(1, |float| step << float.trailing_bits);
        let sign = format.largest(negative) & !format.largest(false) & format.code_mask();
        match self.random.random_range(0..12) {
            0..3 => format.zero(negative).unwrap_or(0),
            3 => sign | step,
            4 => sign | (first_normal - step),
            5 => sign | first_normal,
            6 | 7 => format.largest(negative),
            8 => format.infinity(negative).unwrap_or(sign),
            9 if self.random.random_range(0..4) == 0 => format.nan().unwrap_or(0),
            _ => self.near(format),
        }
    }

    /// The power of two with this exponent, or with the nearest one that the format has, and any sign.
    fn power_of(&mut self, format: &Format, exponent: i32) -> u64 {
        let Some(float) = format.float() else { return 1 << exponent.clamp(0, format.bits as i32 - 2) };
        let exponent = exponent.clamp(float.emin(), float.emax());
        let sign = u64::from(float.signed && self.random.random::<bool>()) << float.exponent_bits;
        ((sign | (exponent + float.bias) as u64) << float.trailing_bits) << float.padding_bits
    }

    /// A power of two with any exponent that the format has.
    fn power(&mut self, format: &Format) -> u64 {
        let (low, high) = format.float().map_or((0, format.bits as i32), |float| (float.emin(), float.emax()));
        let exponent = self.random.random_range(low..=high);
        self.power_of(format, exponent)
    }

    /// The code of the number of opposite sign (the same code in a format without it).
    fn opposite(format: &Format, code: u64) -> u64 {
        match format.float() {
            Some(float) if float.signed => code ^ 1 << (format.bits - 1),
            Some(_) => code,
            None => code.wrapping_neg() & format.code_mask(),
        }
    }

    fn inputs(&mut self, kind: Kind, terms: usize) -> Inputs {
        let (a, b, c) = (self.a, self.b, self.c);
        let mut all = |pick: fn(&mut Self, &Format) -> u64| Inputs {
            pairs: (0..terms).map(|_| (pick(self, a), pick(self, b))).collect(),
            c: pick(self, c),
        };
        match kind {
            Kind::AnyCode => all(Self::any),
            Kind::Near => all(Self::near),
            Kind::Special => all(Self::special),
            Kind::Tie => {
                let c_code = self.near(c);
                let half_ulp = leading_exponent(c, c_code) - self.d.fraction_bits() as i32 - 1;
                let mut pairs = vec![];
                for _ in 0..self.random.random_range(1..=3) {
                    let exponent = half_ulp + self.random.random_range(-1..=1);
                    let part = self.random.random_range(-3..=3) + exponent / 2;
                    pairs.push((self.power_of(a, part), self.power_of(b, exponent - part)));
                }
                if self.random.random() {
                    pairs.push((self.power(a), self.power(b)));
                }
                Inputs { pairs, c: c_code }
            }
            Kind::Cancelling => {
                let pick = if self.random.random() { Self::near } else { Self::power };
                let half: Vec<(u64, u64)> = (0..terms.div_ceil(2)).map(|_| (pick(self, a), pick(self, b))).collect();
                let mut pairs: Vec<_> =
                    half.iter().map(|(x, y)| (Self::opposite(a, *x), *y)).chain(half.clone()).collect();
                pairs.truncate(terms);
                for index in (1..pairs.len()).rev() {
                    pairs.swap(index, self.random.random_range(0..=index));
                }
                if self.random.random() {
                    pairs[0] = (self.special(a), self.special(b));
                }
                Inputs { pairs, c: self.special(c) }
            }
            Kind::Residual => {
                let mut pairs: Vec<_> = (0..terms).map(|_| (self.near(a), self.near(b))).collect();
                let zero = c.zero(false).unwrap_or(0);
                let sum = self.dot.sum(pairs.iter().copied(), zero).round(c, Rounding::Rne, Overflow::Saturate);
                if self.random.random() {
                    pairs[0].0 ^= 1 << a.float().map_or(0, |float| float.padding_bits);
                }
                Inputs { c: Self::opposite(c, sum.unwrap_or(zero)), pairs }
            }
        }
    }

    fn rounding(&mut self) -> Rounding {
        match self.random.random_range(0..8) {
            index @ 0..6 => Rounding::DETERMINISTIC[index],
            _ => Rounding::Sr { random: self.random.random(), bits: self.random.random_range(1..=64) },
        }
    }
}

/// Formats of A, B and C, and of the results that the sum is rounded to.
const CASES: [(&str, &str, &str, &[&str]); 18] = [
    ("f16", "f16", "f32", &["f32", "f16", "e8m13"]),
    ("f16", "f16", "f16", &["f16", "f32"]),
    ("bf16", "bf16", "f32", &["f32", "bf16"]),
    ("bf16", "bf16", "bf16", &["bf16", "f16", "e5m2"]),
    ("bf16", "f16", "f32", &["f32", "f64"]),
    ("tf32", "tf32", "f32", &["f32", "tf32"]),
    ("e4m3", "e4m3", "f32", &["f32", "e8m13", "e4m3"]),
    ("e4m3", "e5m2", "f16", &["f16", "e5m2"]),
    ("e5m2", "e5m2", "f32", &["f32", "e8m13", "e5m2"]),
    ("e4m3fnuz", "e5m2fnuz", "f32", &["f32", "e4m3fnuz", "e5m2fnuz"]),
    ("e5m2fnuz", "e5m2fnuz", "e5m2fnuz", &["e5m2fnuz", "ue4m3"]),
    ("e2m3", "e3m2", "f32", &["f32", "e2m1", "e2m3", "e3m2"]),
    ("e2m1", "e2m1", "e8m0", &["f32", "e8m0", "s8"]),
    ("f64", "f64", "f64", &["f64", "f32"]),
    ("f32", "f32", "f32", &["f32", "f64", "bf16"]),
    ("f64", "e4m3", "f16", &["f64", "e4m3"]),
    ("s8", "s8", "s32", &["s32", "s8", "f16"]),
    ("u8", "s8", "s32", &["s32", "u8", "s4"]),
];

/// One dot-product-add by both references: the special values, and the roundings to each output.
fn compare(
    exact: &mut Dot,
    reference: &mut mpfr::MpfrDot,
    inputs: &Inputs,
    outputs: &[&Format],
    generator: &mut Generator,
) {
    let sum = exact.sum(inputs.pairs.iter().copied(), inputs.c);
    let value = reference.sum(inputs.pairs.iter().copied(), inputs.c);
    let agrees = match sum.real() {
        Real::Nan => value.is_nan(),
        Real::Infinity { negative } => value.is_infinite() && value.is_sign_negative() == negative,
        Real::Finite(finite) => {
            value.is_finite() && finite.is_zero() == value.is_zero() && finite.negative == value.is_sign_negative()
        }
    };
    assert!(agrees, "{sum:?} {value} {:x?} {:#x}", inputs.pairs, inputs.c);
    for output in outputs {
        let rounding = generator.rounding();
        let overflow = OVERFLOWS[generator.random.random_range(0..4)];
        let ours = sum.round(output, rounding, overflow);
        let theirs = reference.round(output, rounding, overflow);
        assert_eq!(ours, theirs, "{output} {rounding:?} {overflow:?} {:x?} {:#x}", inputs.pairs, inputs.c);
    }
}

#[test]
fn a_million_dot_product_adds_agree_with_mpfr() {
    const EACH: usize = 1 << 16;
    const CHUNKS: usize = 8;
    let work: Vec<(usize, usize)> = (0..CASES.len()).flat_map(|case| (0..CHUNKS).map(move |i| (case, i))).collect();
    let count: usize = work
        .par_iter()
        .map(|(case, chunk)| {
            let (a, b, c, outputs) = CASES[*case];
            let (a, b, c) = (format(a), format(b), format(c));
            let outputs: Vec<&'static Format> = outputs.iter().map(|name| format(name)).collect();
            let mut generator = Generator::new((case * CHUNKS + chunk) as u64, [a, b, c, outputs[0]]);
            let mut exact = Dot::new(a, b, c, outputs[0], 32);
            let mut reference = mpfr::MpfrDot::new(a, b, c, 32);
            for index in 0..EACH / CHUNKS {
                let terms = [1, 2, 4, 8, 16, 32][generator.random.random_range(0..6)];
                let inputs = generator.inputs(KINDS[index % KINDS.len()], terms);
                compare(&mut exact, &mut reference, &inputs, &outputs, &mut generator);
            }
            EACH / CHUNKS
        })
        .sum();
    assert!(count >= 1_000_000, "{count} comparisons");
}

#[test]
fn every_product_of_two_fp8_codes_agrees_with_mpfr() {
    let f32 = format("f32");
    for (a, b) in [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")] {
        let (a, b) = (format(a), format(b));
        let outputs = ["f32", "f16", "e4m3", "e5m2"].map(format);
        let (mut exact, mut reference) = (Dot::new(a, b, f32, f32, 1), mpfr::MpfrDot::new(a, b, f32, 1));
        let mut generator = Generator::new(8, [a, b, f32, f32]);
        for (x, y) in (0..=255).flat_map(|x| (0..=255).map(move |y| (x, y))) {
            // c = -0 leaves the product alone, its zero included.
            let inputs = Inputs { pairs: vec![(x, y)], c: 0x8000_0000 };
            compare(&mut exact, &mut reference, &inputs, &outputs, &mut generator);
            let product = a.to_f64(x) * b.to_f64(y);
            let code = exact.sum(inputs.pairs, inputs.c).round(f32, Rounding::Rne, Overflow::Standard).unwrap();
            let rounded = f64::from(f32::from_bits(code as u32));
            assert!(
                rounded.to_bits() == product.to_bits() || rounded.is_nan() && product.is_nan(),
                "{a} {x:#x} {b} {y:#x}"
            );
        }
    }
}

#[test]
fn one_product_and_c_is_the_fused_multiply_add_of_the_host() {
    let (single, double) = (format("f32"), format("f64"));
    let mut singles = (Generator::new(1, [single; 4]), Dot::new(single, single, single, single, 1));
    let mut doubles = (Generator::new(2, [double; 4]), Dot::new(double, double, double, double, 1));
    for index in 0..200_000 {
        let kind = KINDS[index % KINDS.len()];
        let Inputs { pairs, c } = singles.0.inputs(kind, 1);
        let [x, y, z] = [pairs[0].0, pairs[0].1, c].map(|code| f32::from_bits(code as u32));
        let code = singles.1.sum([pairs[0]], c).round(single, Rounding::Rne, Overflow::Standard).unwrap();
        let (ours, host) = (f32::from_bits(code as u32), x.mul_add(y, z));
        assert!(ours.to_bits() == host.to_bits() || ours.is_nan() && host.is_nan(), "{x:e} {y:e} {z:e}");

        let Inputs { pairs, c } = doubles.0.inputs(kind, 1);
        let [x, y, z] = [pairs[0].0, pairs[0].1, c].map(f64::from_bits);
        let code = doubles.1.sum([pairs[0]], c).round(double, Rounding::Rne, Overflow::Standard).unwrap();
        let (ours, host) = (f64::from_bits(code), x.mul_add(y, z));
        assert!(ours.to_bits() == host.to_bits() || ours.is_nan() && host.is_nan(), "{x:e} {y:e} {z:e}");
    }
}

#[test]
fn errors_agree_with_mpfr() {
    let close = |ours: f64, theirs: &Float| {
        let theirs = theirs.to_f64();
        ours == theirs || (ours - theirs).abs() <= 4.0 * f64::EPSILON * theirs.abs() + f64::from_bits(1)
    };
    for (case, (a, b, c, outputs)) in CASES.into_iter().enumerate() {
        let (a, b, c, d) = (format(a), format(b), format(c), format(outputs[0]));
        let mut generator = Generator::new(100 + case as u64, [a, b, c, d]);
        let (mut exact, mut reference) = (Dot::new(a, b, c, d, 16), mpfr::MpfrDot::new(a, b, c, 16));
        let (mut difference, mut relative) = (Float::new(6000), Float::new(100));
        for index in 0..3000 {
            let inputs = generator.inputs(KINDS[index % KINDS.len()], 16);
            let mut sum = exact.sum(inputs.pairs.iter().copied(), inputs.c);
            let code = match index % 4 {
                0 => generator.any(d),
                1 => 0,
                _ => sum.round(d, generator.rounding(), Overflow::Standard).unwrap_or(0),
            };
            let deviation = sum.deviation(d, code);
            let (value, result) =
                (reference.sum(inputs.pairs.iter().copied(), inputs.c), tcnum::format::mpfr::decode(d, code));
            difference.assign(value - &result);
            difference.abs_mut();
            let Some(deviation) = deviation else {
                assert!(!value.is_finite() || !result.is_finite());
                continue;
            };
            assert!(value.is_finite() && result.is_finite());
            assert!(close(deviation.absolute, &difference), "{deviation:?} {difference}");
            relative.assign(&difference / value);
            relative.abs_mut();
            match deviation.relative {
                None => assert!(value.is_zero() && !result.is_zero()),
                Some(0.0) if difference.is_zero() => {}
                Some(ours) => assert!(close(ours, &relative), "{deviation:?} {relative}"),
            }
            // In ulp: shifted by the exponent of ulp(x).
            let exponent = d.float().map_or(0, |float| {
                value.get_exp().map_or(float.emin(), |e| (e - 1).max(float.emin())) - float.trailing_bits as i32
            });
            difference >>= exponent;
            assert!(close(deviation.ulps.unwrap(), &difference), "{deviation:?} {difference}");
        }
    }
}

#[test]
fn correct_rounding_to_nearest_is_never_further_than_half_an_ulp() {
    for (case, (a, b, c, outputs)) in CASES.into_iter().enumerate() {
        let (a, b, c, d) = (format(a), format(b), format(c), format(outputs[0]));
        let mut generator = Generator::new(200 + case as u64, [a, b, c, d]);
        let mut exact = Dot::new(a, b, c, d, 16);
        for index in 0..5000 {
            let inputs = generator.inputs(KINDS[index % KINDS.len()], 16);
            let mut sum = exact.sum(inputs.pairs.iter().copied(), inputs.c);
            let Some(nearest) = sum.round(d, Rounding::Rne, Overflow::Standard) else { continue };
            let Some(deviation) = sum.deviation(d, nearest) else { continue };
            if nearest == d.largest(false) || nearest == d.largest(true) {
                continue;
            }
            assert!(deviation.ulps.unwrap() <= 0.5, "{deviation:?} {d} {:x?}", inputs.pairs);
            let truncated = sum.round(d, Rounding::Rz, Overflow::Standard).unwrap();
            assert!(sum.deviation(d, truncated).unwrap().ulps.unwrap() < 1.0 + f64::EPSILON);
            assert!(tcnum::exact::distance(d, nearest, truncated).unwrap() <= 1);
        }
    }
}
