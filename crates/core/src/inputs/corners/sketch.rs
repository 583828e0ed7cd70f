//! Construction of cases from powers of two; a case without codes in a format is omitted.

use std::collections::HashSet;

use crate::{
    format::{Finite, Format, Overflow, Real, Rounding},
    inputs::values::exponents,
    isa::{Case, Instruction},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedCase {
    pub(super) name: String,
    pub(super) case: Case,
}

/// Codes of the two factors at one position of k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FactorCodes {
    pub(super) k: usize,
    pub(super) a: u64,
    pub(super) b: u64,
}

/// Odd significands of the two factors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Significands {
    pub(super) a: u128,
    pub(super) b: u128,
}

impl Significands {
    /// Both 1.
    pub(super) const ONE: Significands = Significands { a: 1, b: 1 };
}

/// Exponents that one sweep of a product covers: four blocks of eight in A, eight steps in B.
pub(super) const SWEEP: i32 = 32;

/// Cases of one instruction under construction.
pub(super) struct Sketch<'a> {
    pub(super) i: &'a Instruction,
    names: HashSet<String>,
    cases: Vec<NamedCase>,
}

impl<'a> Sketch<'a> {
    pub(super) fn new(i: &'a Instruction) -> Sketch<'a> {
        Sketch { i, names: HashSet::new(), cases: Vec::new() }
    }

    pub(super) fn into_cases(self) -> Vec<NamedCase> {
        self.cases
    }

    /// Adds a case of these products and c, unless one of them has no code or lies beyond k.
    /// Elsewhere A is +0 and B has the first product's factor, so that cases share columns.
    pub(super) fn add(&mut self, name: impl Into<String>, products: &[Option<FactorCodes>], c: Option<u64>) {
        let there = |product: &Option<FactorCodes>| product.is_some_and(|product| product.k < self.i.k);
        let (Some(c), true) = (c, products.iter().all(there)) else { return };
        let mut case = Case { c, ..Case::zeros(self.i) };
        if let Some(Some(first)) = products.first() {
            case.b.fill(first.b);
        }
        for product in products.iter().flatten() {
            (case.a[product.k], case.b[product.k]) = (product.a, product.b);
        }
        self.push(name, case);
    }

    /// Adds a case of whole rows and columns.
    pub(super) fn push(&mut self, name: impl Into<String>, case: Case) {
        let name = name.into();
        assert!(self.names.insert(name.clone()), "two corners are named {name}");
        self.cases.push(NamedCase { name, case });
    }

    /// Four positions that one group holds wherever groups have at least four elements.
    /// They are 0, 1, 4, 5, which the halves of 32-bit words of four 8-bit elements do not separate; 0 to 3 where k is
    /// 4.
    pub(super) fn slots(&self) -> [usize; 4] {
        if self.i.k >= 8 { [0, 1, 4, 5] } else { [0, 1, 2, 3] }
    }

    /// Exponent with room for a sweep below it.
    /// The smallest exponents of products and of D lie at least 32 and 38 below.
    pub(super) fn top(&self) -> i32 {
        let products = exponents(self.i.a).0 + exponents(self.i.b).0;
        0.max(products + SWEEP).max(exponents(self.i.d).0 + SWEEP + 6)
    }

    /// Largest distance of a sweep below a leading term: beyond D's precision and all known alignments.
    pub(super) fn reach(&self) -> i32 {
        36.max(self.precision() + 8)
    }

    /// Significant bits of D.
    pub(super) fn precision(&self) -> i32 {
        self.i.d.fraction_bits() as i32 + 1
    }

    /// Product (-1)^negative * 2^e at position k, of normal operands if possible.
    pub(super) fn power(&self, k: usize, negative: bool, e: i32) -> Option<FactorCodes> {
        self.product(k, negative, e, Significands::ONE)
    }

    /// Product (-1)^negative * (x/2)*(y/2) * 2^e for significands (3, 3) or (3, 1), or 2^e for (1, 1).
    pub(super) fn product(&self, k: usize, negative: bool, e: i32, significands: Significands) -> Option<FactorCodes> {
        let (a, b) = (self.i.a.float()?, self.i.b.float()?);
        let b_low = exponents(self.i.b).0;
        let normal = [0, b.emin(), b.emax(), b_low].into_iter().find(|eb| (a.emin()..=a.emax()).contains(&(e - eb)));
        let eb = normal.unwrap_or(b_low);
        self.factors(k, negative, e - eb, eb, significands)
    }

    /// Product (-1)^negative * 2^e at position k, where e sweeps the 32 exponents from `from`.
    /// Eight cases share a row of A, and four a column of B.
    pub(super) fn swept(&self, k: usize, negative: bool, e: i32, from: i32) -> Option<FactorCodes> {
        self.swept_scaled(k, negative, e, from, 1)
    }

    /// [`Sketch::swept`] times 3/2 for the factor 3.
    pub(super) fn swept_scaled(
        &self,
        k: usize,
        negative: bool,
        e: i32,
        from: i32,
        factor: u128,
    ) -> Option<FactorCodes> {
        let (b_low, b_high) = exponents(self.i.b);
        let base = (from / 2).min(from - exponents(self.i.a).0).clamp(b_low, b_low.max(b_high - 7));
        let eb = base + (e - from).rem_euclid(8);
        let significands = Significands { a: factor, b: 1 };
        let swept = self.factors(k, negative, e - eb, eb, significands);
        swept.or_else(|| self.product(k, negative, e, significands))
    }

    /// Product of factors with the exponents `ea` and `eb`.
    pub(super) fn factors(
        &self,
        k: usize,
        negative: bool,
        ea: i32,
        eb: i32,
        Significands { a: x, b: y }: Significands,
    ) -> Option<FactorCodes> {
        if k >= self.i.k {
            return None;
        }
        let a = code(self.i.a, negative, x, ea - i32::from(x > 1))?;
        let b = code(self.i.b, false, y, eb - i32::from(y > 1))?;
        Some(FactorCodes { k, a, b })
    }

    /// c = (-1)^negative * 2^e.
    pub(super) fn c(&self, negative: bool, e: i32) -> Option<u64> {
        code(self.i.c, negative, 1, e)
    }

    /// c = 0 of the given sign.
    pub(super) fn c_zero(&self, negative: bool) -> Option<u64> {
        self.i.c.zero(negative)
    }
}

/// Code of exactly (-1)^negative * significand * 2^exponent; `None` without one.
pub(super) fn code(format: &Format, negative: bool, significand: u128, exponent: i32) -> Option<u64> {
    let value = Finite::exact(negative, significand, exponent);
    let code = format.encode(&Real::Finite(value), Rounding::Rz, Overflow::Saturate)?;
    let back = format.decode(code);
    let difference = back.exponent - exponent;
    let same = match difference {
        0..=63 => u128::from(back.significand) << difference == significand,
        -63..=-1 => u128::from(back.significand) == significand << -difference,
        _ => false,
    };
    (same && back.negative == negative).then_some(code)
}
