//! The bench: cases made of terms, and what a device answers to them.

use crate::{
    Result,
    base::interrupt,
    format::{Finite, Format, Overflow, Real, Rounding},
    isa::{Case, Instruction},
    tree::Leaf,
};

/// The largest exponent of a term: more would show nothing else.
const HIGHEST: i32 = 40;
/// What is left above a term in D and C, so that sums of many do not overflow.
const ROOM: i32 = 8;

/// The exponents of a format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exponents {
    /// Of the smallest number.
    pub low: i32,
    /// Of the smallest normal number.
    pub normal: i32,
    /// Of the largest number.
    pub high: i32,
}

impl Exponents {
    pub(super) fn of(format: &Format) -> Exponents {
        let Some(float) = format.float() else { return Exponents { low: 0, normal: 0, high: 0 } };
        let below = if float.subnormals { float.trailing_bits as i32 } else { 0 };
        Exponents { low: float.emin() - below, normal: float.emin(), high: float.emax() }
    }

    /// Those of sums of both: of products.
    fn plus(self, other: Exponents) -> Exponents {
        Exponents { low: self.low + other.low, normal: self.normal + other.normal, high: self.high + other.high }
    }
}

/// A term of a sum: plus or minus x * y * 2^exponent, x and y being the significands of the factors (of c, x * y is its own).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Term {
    leaf: Leaf,
    negative: bool,
    factors: (u128, u128),
    exponent: i32,
}

/// A power of two, plus or minus.
pub(super) fn power(leaf: Leaf, negative: bool, exponent: i32) -> Term {
    term(leaf, negative, (1, 1), exponent)
}

/// A term; common powers of two of the factors go to the exponent.
pub(super) fn term(leaf: Leaf, negative: bool, (x, y): (u128, u128), exponent: i32) -> Term {
    let zeros = |x: u128| if x == 0 { 0 } else { x.trailing_zeros() };
    let (of_x, of_y) = (zeros(x), zeros(y));
    Term { leaf, negative, factors: (x >> of_x, y >> of_y), exponent: exponent + (of_x + of_y) as i32 }
}

impl Term {
    /// Its value.
    pub(super) fn value(&self) -> Finite {
        Finite::exact(self.negative, self.factors.0 * self.factors.1, self.exponent)
    }
}

/// What a device answered to a case.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub case: Case,
    pub code: u64,
    pub value: Real,
}

impl Answer {
    /// Whether it is this number, which is not zero.
    pub(super) fn is(&self, value: Finite) -> bool {
        matches!(self.value, Real::Finite(own) if own.odd() == value.odd())
    }

    /// Whether it is a zero.
    pub(super) fn is_zero(&self) -> bool {
        matches!(self.value, Real::Finite(own) if own.is_zero())
    }

    /// The number; `None` of infinities and NaN.
    pub(super) fn finite(&self) -> Option<Finite> {
        match self.value {
            Real::Finite(own) => Some(own),
            _ => None,
        }
    }
}

/// Gives the codes of D of cases.
pub(super) type Ask<'a> = dyn FnMut(&[Case]) -> Result<Vec<u64>> + 'a;

/// What answers cases of one instruction.
pub(super) struct Bench<'a> {
    pub i: &'a Instruction,
    ask: &'a mut Ask<'a>,
    /// How many cases were asked.
    pub asked: usize,
    /// Whether subnormal operands of A and B count as what they are.
    pub subnormals: bool,
    /// The smallest exponent of a number that comes out.
    pub visible: i32,
}

impl<'a> Bench<'a> {
    /// The bench whose cases `ask` answers.
    pub(super) fn new(i: &'a Instruction, ask: &'a mut Ask<'a>) -> Bench<'a> {
        Bench { i, ask, asked: 0, subnormals: false, visible: Exponents::of(i.d).low }
    }

    /// The codes of D of cases.
    ///
    /// # Errors
    /// Those of what answers; a signal.
    pub(super) fn codes(&mut self, cases: &[Case]) -> Result<Vec<u64>> {
        interrupt::check()?;
        self.asked += cases.len();
        (self.ask)(cases)
    }

    /// The answers to cases, of those that there are.
    ///
    /// # Errors
    /// As [`Bench::codes`].
    pub(super) fn cases(&mut self, cases: Vec<Option<Case>>) -> Result<Vec<Option<Answer>>> {
        let there: Vec<Case> = cases.iter().flatten().cloned().collect();
        let mut codes = self.codes(&there)?.into_iter();
        let d = self.i.d;
        let answer = |case: Option<Case>| {
            let case = case?;
            let code = codes.next()?;
            Some(Answer { case, code, value: d.value(code) })
        };
        Ok(cases.into_iter().map(answer).collect())
    }

    /// The answers to sums of these terms; `None` where the formats do not hold them.
    ///
    /// # Errors
    /// As [`Bench::codes`].
    pub(super) fn sums(&mut self, sums: &[Vec<Term>]) -> Result<Vec<Option<Answer>>> {
        let cases = sums.iter().map(|terms| self.case(terms)).collect();
        self.cases(cases)
    }

    /// The answer to a sum of these terms.
    ///
    /// # Errors
    /// As [`Bench::codes`].
    pub(super) fn sum(&mut self, terms: Vec<Term>) -> Result<Option<Answer>> {
        Ok(self.sums(&[terms])?.pop().flatten())
    }

    /// The exponents of products, scales being 1.
    pub(super) fn products(&self) -> Exponents {
        Exponents::of(self.i.a).plus(Exponents::of(self.i.b))
    }

    /// The exponents of both scales of a product together.
    fn scales(&self) -> Option<Exponents> {
        self.i.scale.map(|scale| Exponents::of(scale.format).plus(Exponents::of(scale.format)))
    }

    /// The exponent of large terms: there is room above it, and as much below as can be.
    pub(super) fn top(&self) -> i32 {
        let high = |format| Exponents::of(format).high;
        let products = self.scales().map_or(self.products().high, |scales| scales.high);
        products.min(high(self.i.d) - ROOM).min(high(self.i.c) - ROOM).min(HIGHEST)
    }

    /// The case with these terms, all else being zero; `None` where a format does not hold one.
    pub(super) fn case(&self, terms: &[Term]) -> Option<Case> {
        let i = self.i;
        let mut case = Case::zeros(i);
        if let Some(scale) = i.scale {
            let one = code(scale.format, false, 1, 0)?;
            case.scale_a.fill(one);
            case.scale_b.fill(one);
        }
        let (a, b) = (Exponents::of(i.a), Exponents::of(i.b));
        for own in terms {
            let Leaf::Product(at) = own.leaf else {
                case.c = code(i.c, own.negative, own.factors.0 * own.factors.1, own.exponent)?;
                continue;
            };
            let mut exponent = own.exponent;
            if let (Some(scale), Some(range), Some(block)) = (i.scale, self.scales(), self.block(own.leaf)) {
                // The scale takes the exponent of the block's first term, if the others can then be products.
                let same: Vec<&Term> = terms.iter().filter(|other| self.block(other.leaf) == Some(block)).collect();
                let least = same.iter().map(|other| other.exponent - a.high - b.high).max()?;
                let most = same.iter().map(|other| other.exponent - a.normal - b.normal).min()?;
                let both = same[0].exponent.min(most).max(least).clamp(range.normal, range.high);
                let each = Exponents::of(scale.format);
                let first = (both / 2).clamp(each.normal, each.high);
                case.scale_a[block] = code(scale.format, false, 1, first)?;
                case.scale_b[block] = code(scale.format, false, 1, both - first)?;
                exponent -= both;
            }
            let (x, y) = self.factors(own.factors, exponent)?;
            case.a[at] = code(i.a, own.negative, own.factors.0, x)?;
            let logical = case.logical(i, at);
            case.b[logical] = code(i.b, false, own.factors.1, y)?;
        }
        Some(case)
    }

    /// The exponents of factors with these significands: normal numbers where that is possible, subnormal ones only where they count.
    fn factors(&self, (x, y): (u128, u128), exponent: i32) -> Option<(i32, i32)> {
        let (a, b) = (Exponents::of(self.i.a), Exponents::of(self.i.b));
        let leading = |x: u128| x.checked_ilog2().unwrap_or(0) as i32;
        let between = |low_a: i32, low_b: i32| {
            let low = low_a.max(exponent - (b.high - leading(y)));
            let high = (a.high - leading(x)).min(exponent - low_b);
            (low <= high).then_some((low, high))
        };
        let (normal_a, normal_b) = (a.normal - leading(x), b.normal - leading(y));
        if let Some((low, high)) = between(normal_a, normal_b) {
            let first = exponent.div_euclid(2).clamp(low, high);
            return Some((first, exponent - first));
        }
        if !self.subnormals {
            return None;
        }
        let (low, high) = between(a.low, b.low)?;
        let first = normal_a.clamp(low, high);
        Some((first, exponent - first))
    }

    /// The block that scales a term.
    fn block(&self, leaf: Leaf) -> Option<usize> {
        match (self.i.scale, leaf) {
            (Some(scale), Leaf::Product(at)) => Some(Case::zeros(self.i).logical(self.i, at) / scale.block),
            _ => None,
        }
    }
}

/// The code of plus or minus significand * 2^exponent, if the format has it.
pub(super) fn code(format: &Format, negative: bool, significand: u128, exponent: i32) -> Option<u64> {
    let value = Finite::exact(negative, significand, exponent);
    let code = format.encode(&Real::Finite(value), Rounding::Rz, Overflow::Saturate)?;
    match format.value(code) {
        Real::Finite(own) if own.odd() == value.odd() => Some(code),
        _ => None,
    }
}
