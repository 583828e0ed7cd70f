//! Adversarial regimes: families of operands, each aimed at one decision of an arithmetic.

use rand::{Rng, RngExt};

use super::{
    draft::{Draft, negated},
    values::{Bits, code_at, exponents, nearest_code},
};
use crate::{
    format::Format,
    isa::{Case, Instruction},
};

/// A family of operands aimed at one decision of an arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Regime {
    /// Every operand's exponent uniform over its format's whole range.
    AllExponents,
    /// Products of like exponents that cancel, with a c that cancels what is left to a few units in the last place.
    Cancellation,
    /// One large term, the others smaller by about the width of an alignment.
    AlignmentGap,
    /// Half a unit in the last place of the result, and a term far below that decides the tie.
    Tie,
    /// One or two powers of two and c = 0, near and below the smallest results: where an alignment has its floor.
    Floor,
    /// Subnormal operands, products and results.
    Subnormal,
    /// Sums about the largest finite result, and huge products that cancel.
    Overflow,
    /// Powers of two and single bits over a window of exponents.
    Sparse,
    /// Zero operands of both signs beside large ones, with tiny products or nothing else.
    Zeros,
    /// Infinities, NaN and extremes in random positions of another regime's operands.
    NonFinite,
}

impl Regime {
    /// Every regime.
    pub const ALL: [Regime; 10] = [
        Regime::AllExponents,
        Regime::Cancellation,
        Regime::AlignmentGap,
        Regime::Tie,
        Regime::Floor,
        Regime::Subnormal,
        Regime::Overflow,
        Regime::Sparse,
        Regime::Zeros,
        Regime::NonFinite,
    ];

    /// The name, as in reports.
    pub fn name(self) -> &'static str {
        match self {
            Regime::AllExponents => "all-exponents",
            Regime::Cancellation => "cancellation",
            Regime::AlignmentGap => "alignment-gap",
            Regime::Tie => "tie",
            Regime::Floor => "floor",
            Regime::Subnormal => "subnormal",
            Regime::Overflow => "overflow",
            Regime::Sparse => "sparse",
            Regime::Zeros => "zeros",
            Regime::NonFinite => "non-finite",
        }
    }

    /// One case with at most `terms` non-zero products, and c = 0 unless `has_c`.
    pub(super) fn draw<R: Rng>(self, rng: &mut R, instruction: &Instruction, terms: usize, has_c: bool) -> Case {
        let mut draft = Draft { case: Case::zeros(instruction), instruction, terms, has_c, rng };
        if instruction.d.is_integer() {
            draft.integers();
        } else {
            draft.fill(self);
        }
        draft.scatter();
        draft.case
    }
}

impl<R: Rng> Draft<'_, R> {
    fn fill(&mut self, regime: Regime) {
        match regime {
            Regime::AllExponents => self.all_exponents(),
            Regime::Cancellation => self.cancellation(),
            Regime::AlignmentGap => self.alignment_gap(),
            Regime::Tie => self.tie(),
            Regime::Floor => self.floor(),
            Regime::Subnormal => self.subnormal(),
            Regime::Overflow => self.overflow(),
            Regime::Sparse => self.sparse(),
            Regime::Zeros => self.zeros(),
            Regime::NonFinite => self.non_finite(),
        }
    }

    fn all_exponents(&mut self) {
        let (a, b, c) = (self.instruction.a, self.instruction.b, self.instruction.c);
        for k in 0..self.terms {
            self.case.a[k] = self.anywhere(a);
            self.case.b[k] = self.anywhere(b);
        }
        self.c(|draft| draft.anywhere(c));
    }

    fn cancellation(&mut self) {
        let e = self.product_exponent();
        let spread = self.rng.random_range(0..4);
        for k in 0..self.terms {
            if k % 2 == 1 && self.rng.random_bool(0.6) {
                // The negative of the product before, perhaps with another last bit.
                let flip = u64::from(self.rng.random_bool(0.3)) << self.padding(self.instruction.a);
                self.case.a[k] = negated(self.instruction.a, self.case.a[k - 1]) ^ flip;
                self.case.b[k] = self.case.b[k - 1];
            } else {
                let e = e - self.rng.random_range(0..=spread);
                self.product(k, e, Bits::Random);
            }
        }
        let sum = self.sum();
        let steps = self.rng.random_range(-4i64..=4);
        self.c(|draft| {
            let c = draft.instruction.c;
            let code = nearest_code(c, -sum);
            let moved = code.wrapping_add_signed(steps) & c.code_mask();
            if c.decode(moved).is_finite() { moved } else { code }
        });
    }

    fn alignment_gap(&mut self) {
        let e = self.product_exponent();
        let large = self.rng.random_range(0..=self.terms as u32) as usize;
        for k in 0..self.terms {
            let gap = if k == large { 0 } else { self.rng.random_range(8..40) };
            let bits = Bits::draw(self.rng);
            self.product(k, e - gap, bits);
        }
        let gap = if large == self.terms { 0 } else { self.rng.random_range(8..40) };
        let bits = Bits::draw(self.rng);
        self.c(|draft| code_at(draft.rng, draft.instruction.c, e - gap, bits));
    }

    fn tie(&mut self) {
        let precision = [self.precision(), self.precision(), 14, 24][self.rng.random_range(0..4)];
        let e = self.result_exponent();
        // The leading term, half a unit in the last place below it, and what decides.
        let mut parts = vec![e, e - precision, e - precision - self.rng.random_range(1..24)];
        if self.terms > 3 && self.rng.random_bool(0.3) {
            // A pair above that cancels, and widens the alignment.
            let top = e + self.rng.random_range(1..12);
            parts.extend([top, top]);
        }
        let c_takes = self.has_c.then(|| self.rng.random_range(0..parts.len().min(3) as u32) as usize);
        let mut k = 0;
        for (index, &part) in parts.iter().enumerate() {
            let bits = if index == 0 && self.rng.random_bool(0.5) { Bits::Random } else { Bits::Zeros };
            if c_takes == Some(index) {
                self.c(|draft| code_at(draft.rng, draft.instruction.c, part, bits));
            } else if k < self.terms {
                self.product(k, part, bits);
                if index == 4 && k > 0 {
                    self.case.a[k] = negated(self.instruction.a, self.case.a[k - 1]);
                    self.case.b[k] = self.case.b[k - 1];
                }
                k += 1;
            }
        }
    }

    fn floor(&mut self) {
        let (smallest, _) = exponents(self.instruction.d);
        if self.has_c && self.rng.random_bool(0.2) {
            // c alone.
            let e = smallest + self.rng.random_range(0..40);
            return self.c(|draft| code_at(draft.rng, draft.instruction.c, e, Bits::Random));
        }
        let first = smallest + self.rng.random_range(-3..6);
        let bits = Bits::draw(self.rng);
        self.product(0, first, bits);
        if self.terms > 1 {
            let second = smallest - self.rng.random_range(-20..24);
            self.product(1, second, Bits::Zeros);
        }
        if self.terms > 3 && self.rng.random_bool(0.3) {
            let top = smallest + self.rng.random_range(0..30);
            self.product(2, top, Bits::Zeros);
            self.case.a[3] = negated(self.instruction.a, self.case.a[2]);
            self.case.b[3] = self.case.b[2];
        }
        if self.rng.random_bool(0.3) {
            let e = smallest + self.rng.random_range(0..4);
            self.c(|draft| code_at(draft.rng, draft.instruction.c, e, Bits::Random));
        }
    }

    fn subnormal(&mut self) {
        let (a, b, c) = (self.instruction.a, self.instruction.b, self.instruction.c);
        let (smallest, _) = exponents(self.instruction.d);
        for k in 0..self.terms {
            if self.rng.random_bool(0.5) {
                // A subnormal or barely normal operand against any other.
                let tiny = |f: &Format| exponents(f).0 + f.fraction_bits() as i32;
                let low = tiny(a) - self.rng.random_range(-1..=a.fraction_bits() as i32);
                self.case.a[k] = code_at(self.rng, a, low, Bits::Random);
                self.case.b[k] = self.anywhere(b);
                if self.rng.random_bool(0.5) {
                    let low = tiny(b) - self.rng.random_range(-1..=b.fraction_bits() as i32);
                    self.case.b[k] = code_at(self.rng, b, low, Bits::Random);
                    self.case.a[k] = self.anywhere(a);
                }
            } else {
                let e = smallest + self.rng.random_range(-30..30);
                let bits = Bits::draw(self.rng);
                self.product(k, e, bits);
            }
        }
        let e = exponents(c).0 + self.rng.random_range(0..28);
        self.c(|draft| code_at(draft.rng, c, e, Bits::Random));
    }

    fn overflow(&mut self) {
        let (_, largest) = exponents(self.instruction.d);
        let e = largest + self.rng.random_range(-2..3);
        for k in 0..self.terms {
            let below = if self.rng.random_bool(0.5) { 0 } else { self.rng.random_range(0..30) };
            let bits = Bits::draw(self.rng);
            self.product(k, e - below, bits);
            if k % 2 == 1 && self.rng.random_bool(0.3) {
                self.case.a[k] = negated(self.instruction.a, self.case.a[k - 1]);
                self.case.b[k] = self.case.b[k - 1];
            }
        }
        let bits = Bits::draw(self.rng);
        self.c(|draft| code_at(draft.rng, draft.instruction.c, largest, bits));
    }

    fn sparse(&mut self) {
        let e = self.product_exponent();
        for k in 0..self.terms {
            let below = self.rng.random_range(0..40);
            let bits = if self.rng.random_bool(0.5) { Bits::Zeros } else { Bits::Sparse };
            self.product(k, e - below, bits);
        }
        let below = self.rng.random_range(0..40);
        self.c(|draft| code_at(draft.rng, draft.instruction.c, e - below, Bits::Sparse));
    }

    fn zeros(&mut self) {
        let (a, b) = (self.instruction.a, self.instruction.b);
        let (smallest, _) = exponents(self.instruction.d);
        for k in 0..self.terms {
            let sign = self.rng.random_bool(0.5);
            match self.rng.random_range(0..4) {
                0 => {
                    self.case.a[k] = a.zero(sign).unwrap_or(0);
                    self.case.b[k] = self.anywhere(b);
                }
                1 => {
                    self.case.a[k] = self.anywhere(a);
                    self.case.b[k] = b.zero(sign).unwrap_or(0);
                }
                2 => {
                    self.case.a[k] = a.zero(sign).unwrap_or(0);
                    self.case.b[k] = b.zero(!sign).unwrap_or(0);
                }
                _ => {
                    let e = smallest + self.rng.random_range(-12..24);
                    self.product(k, e, Bits::Random);
                }
            }
        }
        if self.rng.random_bool(0.5) {
            // Nothing but zeros.
            for k in 0..self.terms {
                let zero = |f: &Format, negative| f.zero(negative).unwrap_or(0);
                if a.decode(self.case.a[k]).significand != 0 && b.decode(self.case.b[k]).significand != 0 {
                    self.case.a[k] = zero(a, self.rng.random_bool(0.5));
                }
            }
        }
        let sign = self.rng.random_bool(0.7);
        self.c(|draft| draft.instruction.c.zero(sign).unwrap_or(0));
    }

    fn non_finite(&mut self) {
        match self.rng.random_range(0..3) {
            0 => self.all_exponents(),
            1 => self.overflow(),
            _ => {}
        }
        for _ in 0..self.rng.random_range(1..=3) {
            let k = self.rng.random_range(0..self.terms as u32) as usize;
            match self.rng.random_range(0..3) {
                0 => self.case.a[k] = self.special(self.instruction.a),
                1 => self.case.b[k] = self.special(self.instruction.b),
                _ => {
                    let code = self.special(self.instruction.c);
                    self.c(|_| code);
                }
            }
        }
    }

    fn integers(&mut self) {
        let (a, b, c) = (self.instruction.a, self.instruction.b, self.instruction.c);
        for k in 0..self.terms {
            for (format, slot) in [(a, 0), (b, 1)] {
                let code = if self.rng.random_bool(0.5) {
                    self.special(format)
                } else {
                    self.rng.random::<u64>() & format.code_mask()
                };
                [&mut self.case.a, &mut self.case.b][slot][k] = code;
            }
        }
        let near = self.rng.random_range(0..1u64 << 20);
        let code = match self.rng.random_range(0..4) {
            0 => self.rng.random::<u64>() & c.code_mask(),
            1 => c.largest(false).wrapping_sub(near) & c.code_mask(),
            2 => c.largest(true).wrapping_add(near) & c.code_mask(),
            _ => self.special(c),
        };
        self.c(|_| code);
    }
}
