//! Numbered inputs of a scalar instruction: all if there are at most 2^32, else adversarial samples.
//!
//! The same numbers give the same operands here and in `kernels/scalar_operands.cuh`: the CPU replays a sweep of a GPU
//! from its numbers.

use std::fmt::Write;

use super::mix;
use crate::{
    format::{Float, Format, Overflow, Rounding},
    isa::scalar::{Form, ScalarOperation},
};

/// Number of inputs that are counted and digested together.
pub const CHUNK: u64 = 1 << 16;

/// Numbered inputs of one instruction.
#[derive(Debug, Clone)]
pub struct Space<'a> {
    form: &'a Form,
    seed: u64,
    special: [u64; 16],
    exponents: (i32, i32),
}

/// Mapping from the number of an input to operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spread {
    /// Bits of the number are the operands of every lane: each combination of lanes.
    Lanes,
    /// Bits of the number are the operands of lane 0, permuted for the other lanes: each sees every input.
    Permuted,
    /// A hash of the number decides.
    Sampled,
}

impl<'a> Space<'a> {
    /// Inputs of `form`; `seed` varies the samples.
    pub fn new(form: &'a Form, seed: u64) -> Space<'a> {
        Space { form, seed, special: specials(form.source), exponents: exponents(form) }
    }

    /// Total bits of the swept operands of a lane: all but the addend of a fused multiply-add.
    fn bits(&self) -> u32 {
        self.form.source.bits * self.form.operation.operands().min(2) as u32
    }

    fn spread(&self) -> Spread {
        match self.bits() {
            bits if bits * self.form.lanes as u32 <= 32 => Spread::Lanes,
            32 => Spread::Permuted,
            _ => Spread::Sampled,
        }
    }

    /// Number of inputs; 2^32 for samples.
    pub fn size(&self) -> u64 {
        match self.spread() {
            Spread::Lanes => 1 << (self.bits() * self.form.lanes as u32),
            _ => 1 << 32,
        }
    }

    /// Description of the inputs, for reports.
    pub fn description(&self) -> &'static str {
        match (self.spread(), self.form.operation.operands()) {
            (Spread::Sampled, _) => "samples",
            (Spread::Lanes, 1) if self.form.lanes > 1 => "all combinations of lanes",
            (_, 1) => "all codes in each lane",
            (_, 2) => "all pairs in each lane",
            _ => "all pairs, sampled addend",
        }
    }

    /// Codes of the operands of one lane; unused operands are 0.
    pub fn operands(&self, index: u64, lane: usize) -> [u64; 3] {
        let bits = self.bits();
        let word = match self.spread() {
            Spread::Sampled if self.form.operation.operands() > 1 => return self.sampled(index),
            Spread::Sampled => return [self.wide(index * self.form.lanes as u64 + lane as u64), 0, 0],
            Spread::Lanes => index >> (bits * lane as u32) & ((1 << bits) - 1),
            Spread::Permuted => (0..lane).fold(index as u32, |word, _| permuted(word)).into(),
        };
        let mask = self.form.source.code_mask();
        let [a, b] = [word & mask, word.checked_shr(self.form.source.bits).unwrap_or(0) & mask];
        match self.form.operation.operands() {
            1 => [word, 0, 0],
            2 => [a, b, 0],
            _ => [a, b, self.addend(a, b, mix::output(self.seed, index * self.form.lanes as u64 + lane as u64))],
        }
    }

    /// Addend for the product of `a` and `b`: near its negative, a tie, of another magnitude, special, any.
    fn addend(&self, a: u64, b: u64, hash: u64) -> u64 {
        let format = self.form.source;
        let float = format.float().expect("scalar arithmetic is on floating-point formats");
        let (t, sign) = (float.trailing_bits, 1u64 << (format.bits - 1));
        let (kind, h) = (hash & 7, hash >> 3);
        let (x, y) = (fields(float, a), fields(float, b));
        let product = x.1 * y.1;
        if kind == 0 || kind > 1 && product == 0 {
            return h & format.code_mask();
        }
        if kind == 1 {
            return self.special[(h & 15) as usize];
        }
        let leading = 63 - product.leading_zeros();
        let biased = x.0 + y.0 - float.bias - 2 * t as i32 + leading as i32;
        let aligned = if leading >= t { product >> (leading - t) } else { product << (t - leading) };
        let random = h >> 40 & ((1 << t) - 1);
        match kind {
            2..=4 => {
                let near = assembled(float, biased, aligned).wrapping_add((h & 7).wrapping_sub(3)) & (sign - 1);
                near | (a ^ b ^ sign) & sign
            }
            5 | 6 => {
                let trailing = [random, 0, (1 << t) - 1, 1][(h >> 24 & 3) as usize];
                assembled(float, biased + (h & 31) as i32 - 16, 1 << t | trailing) | h << 10 & sign
            }
            _ => assembled(float, biased + t as i32 + 1, 1 << t | random) | h << 10 & sign,
        }
    }

    /// Sampled operands of an operation on two or three.
    /// They are any codes, or codes of exponents that meet, with few bits, or special. (A GPU sweeps operands of 16
    /// bits, all pairs of which are inputs.)
    fn sampled(&self, index: u64) -> [u64; 3] {
        let format = self.form.source;
        let float = format.float().expect("scalar arithmetic is on floating-point formats");
        let (t, sign) = (float.trailing_bits, 1u64 << (format.bits - 1));
        let (h, g) = (mix::output(self.seed, 2 * index), mix::output(self.seed, 2 * index + 1));
        let a = h & format.code_mask();
        let any = g & format.code_mask();
        let trailing = any & ((1 << t) - 1);
        let biased = fields(float, a).0;
        let (kind, near) = (h >> 61, (g >> 40 & 63) as i32 - 32);
        let with_exponent =
            |biased: i32, code: u64| assembled(float, biased, 1 << t | code & ((1 << t) - 1)) | any & sign;
        let few = |code: u64| code & !((1 << (code >> 50 & 15).min(u64::from(t))) - 1);
        let top = (1 << float.exponent_bits) - 1;
        let (a, b) = match kind {
            0 | 1 => (a, any),
            2 => (a, self.special[(g >> 40 & 15) as usize]),
            3 => (self.special[(g >> 44 & 15) as usize], any),
            // Sums that cancel or lose bits, quotients near one.
            4 | 5 => (a, with_exponent(biased + near, trailing)),
            // Products at both ends of the range.
            6 => (a, with_exponent(if g >> 47 & 1 == 0 { 1 } else { top } + float.bias - biased + near / 4, trailing)),
            _ => (few(h) & format.code_mask(), few(g) & format.code_mask()),
        };
        match self.form.operation.operands() {
            2 => [a, b, 0],
            _ => [a, b, self.addend(a, b, mix::output(self.seed ^ g, index))],
        }
    }

    /// Sample of a 64-bit source: a significand cut anywhere near the target's exponents, special, or any.
    fn wide(&self, number: u64) -> u64 {
        let (h, g) = (mix::output(self.seed, 2 * number), mix::output(self.seed, 2 * number + 1));
        match h & 7 {
            0 => return g,
            1 => return self.special[(h >> 3 & 15) as usize],
            _ => {}
        }
        let (low, high) = self.exponents;
        let exponent = low + (((h >> 32) * (high - low + 1) as u64) >> 32) as i32;
        let cut = ((h >> 8 & 0xff) * 53) >> 8;
        let mask = (1u64 << cut) - 1;
        let half = (mask + 1) >> 1;
        let tails = [0, half, half + 1, half.wrapping_sub(1), mask, 1, g, g];
        let trailing = g & !mask | tails[(h >> 16 & 7) as usize] & mask;
        (h >> 20 & 1) << 63 | ((exponent + 1023) as u64) << 52 | trailing & ((1 << 52) - 1)
    }

    /// Definitions that specialise `kernels/scalar_operands.cuh`.
    pub fn definitions(&self) -> String {
        let mut text = String::new();
        let spread = match self.spread() {
            Spread::Lanes => 0,
            Spread::Permuted => 1,
            Spread::Sampled => 2,
        };
        let numbers = [
            ("LANES", self.form.lanes as i64),
            ("OPERANDS", self.form.operation.operands() as i64),
            ("SWEPT_BITS", self.bits().into()),
            ("SPREAD", spread),
            ("LOW_EXPONENT", self.exponents.0.into()),
            ("HIGH_EXPONENT", self.exponents.1.into()),
        ];
        for (name, value) in numbers {
            let _ = writeln!(text, "#define {name} ({value})");
        }
        let list: Vec<String> = self.special.iter().map(|code| format!("{code:#x}ull")).collect();
        let _ = writeln!(text, "#define SPECIAL_CODES {}", list.join(", "));
        text
    }
}

/// Biased exponent of the value, and significand; infinities and NaNs are taken as numbers.
fn fields(float: &Float, code: u64) -> (i32, u64) {
    let t = float.trailing_bits;
    let biased = (code >> t & ((1 << float.exponent_bits) - 1)) as i32;
    let trailing = code & ((1 << t) - 1);
    (biased.max(1), if biased == 0 { trailing } else { trailing | 1 << t })
}

/// Positive code with this biased exponent and full significand, confined to finite numbers.
fn assembled(float: &Float, biased: i32, significand: u64) -> u64 {
    let t = float.trailing_bits;
    if biased <= 0 {
        return significand >> (1 - biased).min(63);
    }
    (biased.min((1 << float.exponent_bits) - 2) as u64) << t | significand & ((1 << t) - 1)
}

/// Permutation of the 32-bit words.
fn permuted(word: u32) -> u32 {
    let word = (word ^ word >> 16).wrapping_mul(0x85eb_ca6b);
    let word = (word ^ word >> 13).wrapping_mul(0xc2b2_ae35);
    word ^ word >> 16
}

/// Contribution of one input to the digest of its chunk; the order of inputs does not matter.
pub fn digest_term(index: u64, register: u64) -> u64 {
    let word = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ register;
    let word = (word ^ word >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let word = (word ^ word >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    word ^ word >> 32
}

/// Codes at the ends of every class.
fn specials(format: &Format) -> [u64; 16] {
    let one = |sign| format.encode_f64(sign, Rounding::Rne, Overflow::Saturate).unwrap_or(0);
    let (smallest, largest_subnormal) = format.subnormals().unwrap_or((0, 0));
    let sign = format.code_mask() ^ format.code_mask() >> 1;
    [
        0,
        format.zero(true).unwrap_or(0),
        format.infinity(false).unwrap_or(0),
        format.infinity(true).unwrap_or(0),
        format.nan().unwrap_or(0),
        format.code_mask(),
        format.infinity(false).map_or(0, |code| code + 1),
        smallest,
        smallest | sign,
        largest_subnormal,
        format.smallest_normal(),
        format.smallest_normal() | sign,
        format.largest(false),
        format.largest(true),
        one(1.0),
        one(-1.0),
    ]
}

/// Exponents around which the target of a 64-bit source rounds.
fn exponents(form: &Form) -> (i32, i32) {
    match form.result.float() {
        Some(_) if form.operation == ScalarOperation::Round => (-2, 54),
        Some(float) => ((float.emin() - float.trailing_bits as i32 - 3).max(-1022), (float.emax() + 2).min(1023)),
        None => (-2, form.result.bits as i32 + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::scalar::all;

    #[test]
    fn the_permutation_has_an_inverse() {
        // Each step is invertible: a shift of at least half a word by itself, one of 13 by shifts of 13 and 26, a
        // product by the inverse of its odd factor.
        let inverse =
            |factor: u32| (0..5).fold(factor, |x, _| x.wrapping_mul(2u32.wrapping_sub(factor.wrapping_mul(x))));
        let undone = |word: u32| {
            let word = (word ^ word >> 16).wrapping_mul(inverse(0xc2b2_ae35));
            let word = (word ^ word >> 13 ^ word >> 26).wrapping_mul(inverse(0x85eb_ca6b));
            word ^ word >> 16
        };
        for word in (0..=u32::MAX).step_by(997) {
            assert_eq!(undone(permuted(word)), word);
        }
    }

    #[test]
    fn operands_are_codes_of_the_source() {
        for form in all() {
            let space = Space::new(form, 7);
            for index in (0..space.size()).step_by((space.size() / 999).max(1) as usize) {
                for lane in 0..form.lanes {
                    let operands = space.operands(index, lane);
                    assert!(operands.iter().all(|code| code & !form.source.code_mask() == 0), "{form} {operands:x?}");
                    assert!(operands[form.operation.operands()..].iter().all(|code| *code == 0), "{form}");
                }
            }
        }
    }

    #[test]
    fn a_small_space_has_every_combination_of_lanes() {
        let form = crate::isa::scalar::find("cvt.rn.f16x2.e4m3x2").unwrap();
        let space = Space::new(form, 0);
        assert_eq!(space.size(), 1 << 16);
        assert_eq!([0, 1].map(|lane| space.operands(0xab12, lane)[0]), [0x12, 0xab]);
    }
}
