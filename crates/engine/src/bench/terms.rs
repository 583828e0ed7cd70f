//! Cases made of chosen terms, and the answers to them.

use crate::{
    Error, Result,
    base::interrupt,
    format::{Finite, Format, Overflow, Real, Rounding},
    isa::{Case, Instruction},
};

/// Largest exponent of a term.
const HIGHEST: i32 = 40;
/// Distance of the largest term to the top of D and C, so that sums do not overflow.
const ROOM: i32 = 8;

/// A term of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Leaf {
    /// The element of C.
    C,
    /// The product with this stored k.
    Product(usize),
}

impl Leaf {
    /// All leaves of an instruction: c, then the products by their stored k.
    pub fn all(i: &Instruction) -> Vec<Leaf> {
        std::iter::once(Leaf::C).chain((0..i.stored_k()).map(Leaf::Product)).collect()
    }

    /// Its name in drawings: `c`, or the stored k.
    pub fn name(self) -> String {
        match self {
            Leaf::C => "c".into(),
            Leaf::Product(k) => k.to_string(),
        }
    }
}

/// Exponents of a format.
#[derive(Debug, Clone, Copy)]
pub struct Exponents {
    /// Exponent of the smallest number.
    pub low: i32,
    /// Exponent of the smallest normal number.
    pub normal: i32,
    /// Exponent of the largest number.
    pub high: i32,
}

impl Exponents {
    /// Exponents of the numbers of a format.
    pub fn of(format: &Format) -> Exponents {
        let Some(float) = format.float() else { return Exponents { low: 0, normal: 0, high: 0 } };
        let below = if float.subnormals { float.trailing_bits as i32 } else { 0 };
        Exponents { low: float.emin() - below, normal: float.emin(), high: float.emax() }
    }

    /// Exponents of products of two formats.
    fn plus(self, other: Exponents) -> Exponents {
        Exponents { low: self.low + other.low, normal: self.normal + other.normal, high: self.high + other.high }
    }
}

/// A term, plus or minus x * y * 2^exponent; x and y are the significands of its factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    leaf: Leaf,
    negative: bool,
    x: u128,
    y: u128,
    exponent: i32,
}

/// A term that is plus or minus a power of two.
pub fn power(leaf: Leaf, negative: bool, exponent: i32) -> Term {
    term(leaf, negative, 1, 1, exponent)
}

/// A term; powers of two in the factors move to the exponent.
pub fn term(leaf: Leaf, negative: bool, x: u128, y: u128, exponent: i32) -> Term {
    let zeros = |x: u128| if x == 0 { 0 } else { x.trailing_zeros() };
    let (of_x, of_y) = (zeros(x), zeros(y));
    Term { leaf, negative, x: x >> of_x, y: y >> of_y, exponent: exponent + (of_x + of_y) as i32 }
}

impl Term {
    /// Its value.
    pub fn value(&self) -> Finite {
        Finite::exact(self.negative, self.x * self.y, self.exponent)
    }
}

/// The answer to a case.
#[derive(Debug, Clone)]
pub struct TermAnswer {
    /// The operands.
    pub case: Case,
    /// The code of D.
    pub code: u64,
    /// The value of D.
    pub value: Real,
}

impl TermAnswer {
    /// True if the answer is this nonzero number.
    pub fn is(&self, value: Finite) -> bool {
        matches!(self.value, Real::Finite(finite) if finite.odd() == value.odd())
    }

    /// True if the answer is a zero.
    pub fn is_zero(&self) -> bool {
        matches!(self.value, Real::Finite(finite) if finite.is_zero())
    }

    /// The answer as a number; `None` for infinities and NaN.
    pub fn finite(&self) -> Option<Finite> {
        match self.value {
            Real::Finite(finite) => Some(finite),
            _ => None,
        }
    }
}

/// Source of the codes of D.
pub type Ask<'a> = dyn FnMut(&[Case]) -> Result<Vec<u64>> + 'a;

/// The operands that may be subnormal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subnormal {
    /// None.
    Nowhere,
    /// A and B.
    Factors,
    /// A, B and their scales.
    FactorsAndScales,
}

/// Asks sums of chosen terms of one instruction.
pub struct TermBench<'a> {
    /// The instruction.
    pub i: &'a Instruction,
    ask: &'a mut Ask<'a>,
    /// Number of cases asked.
    pub asked: usize,
    /// The cases asked by their terms.
    pub questions: Vec<Case>,
    /// The operands that keep their values where they are subnormal.
    pub subnormal: Subnormal,
    /// Exponent of the smallest number that the instruction gives.
    pub visible: i32,
}

impl<'a> TermBench<'a> {
    /// The bench whose cases `ask` answers.
    pub fn new(i: &'a Instruction, ask: &'a mut Ask<'a>) -> TermBench<'a> {
        TermBench {
            i,
            ask,
            asked: 0,
            questions: Vec::new(),
            subnormal: Subnormal::Nowhere,
            visible: Exponents::of(i.d).low,
        }
    }

    /// The codes of D of cases.
    ///
    /// # Errors
    /// The errors of `ask`; a device error if it answers short; an interruption.
    pub fn codes(&mut self, cases: &[Case]) -> Result<Vec<u64>> {
        interrupt::check()?;
        let codes = (self.ask)(cases)?;
        if codes.len() != cases.len() {
            let (asked, answered) = (cases.len(), codes.len());
            return Err(Error::device(format!("{answered} of {asked} cases were answered")));
        }
        self.asked += cases.len();
        Ok(codes)
    }

    /// The answers to those cases that are `Some`.
    pub fn cases(&mut self, cases: Vec<Option<Case>>) -> Result<Vec<Option<TermAnswer>>> {
        let there: Vec<Case> = cases.iter().flatten().cloned().collect();
        let mut codes = self.codes(&there)?.into_iter();
        self.questions.extend(there);
        let d = self.i.d;
        let answer = |case: Option<Case>| {
            let case = case?;
            let code = codes.next()?;
            Some(TermAnswer { case, code, value: d.value(code) })
        };
        Ok(cases.into_iter().map(answer).collect())
    }

    /// The answers to sums of these terms; `None` where the formats do not hold them.
    pub fn sums(&mut self, sums: &[Vec<Term>]) -> Result<Vec<Option<TermAnswer>>> {
        let cases = sums.iter().map(|terms| self.case(terms)).collect();
        self.cases(cases)
    }

    /// The answer to a sum of these terms.
    pub fn sum(&mut self, terms: Vec<Term>) -> Result<Option<TermAnswer>> {
        Ok(self.sums(&[terms])?.pop().flatten())
    }

    /// Exponents of products with scales of 1.
    pub fn products(&self) -> Exponents {
        Exponents::of(self.i.a).plus(Exponents::of(self.i.b))
    }

    /// Exponents of a term.
    pub fn exponents(&self, leaf: Leaf) -> Exponents {
        match (leaf, self.scales()) {
            (Leaf::C, _) => Exponents::of(self.i.c),
            (_, None) => self.products(),
            (_, Some(scales)) => self.products().plus(scales),
        }
    }

    /// Exponents of the product of both scales.
    fn scales(&self) -> Option<Exponents> {
        self.i.scale.map(|scale| Exponents::of(scale.format).plus(Exponents::of(scale.format)))
    }

    /// Exponent of large terms: as high as the room above them allows.
    pub fn top(&self) -> i32 {
        let high = |format| Exponents::of(format).high;
        let products = self.scales().map_or(self.products().high, |scales| scales.high);
        products.min(high(self.i.d) - ROOM).min(high(self.i.c) - ROOM).min(HIGHEST)
    }

    /// The case with these terms and zeros elsewhere; `None` where a format lacks a value.
    pub fn case(&self, terms: &[Term]) -> Option<Case> {
        let i = self.i;
        let mut case = Case::zeros(i);
        if let Some(scale) = i.scale {
            let one = code(scale.format, false, 1, 0)?;
            case.scale_a.fill(one);
            case.scale_b.fill(one);
        }
        let (a, b) = (Exponents::of(i.a), Exponents::of(i.b));
        for term in terms {
            let Leaf::Product(at) = term.leaf else {
                case.c = code(i.c, term.negative, term.x * term.y, term.exponent)?;
                continue;
            };
            let mut exponent = term.exponent;
            if let (Some(scale), Some(range), Some(block)) = (i.scale, self.scales(), self.block(term.leaf)) {
                // The scale takes the exponent of the block's first term, as far as the other terms allow.
                let same: Vec<&Term> = terms.iter().filter(|other| self.block(other.leaf) == Some(block)).collect();
                let least = same.iter().map(|other| other.exponent - a.high - b.high).max()?;
                let most = same.iter().map(|other| other.exponent - a.normal - b.normal).min()?;
                let each = Exponents::of(scale.format);
                let (low, lowest) = match self.subnormal {
                    Subnormal::FactorsAndScales => (each.low, range.low),
                    _ => (each.normal, range.normal),
                };
                let both = same[0].exponent.min(most).max(least).clamp(lowest, range.high);
                let first = (both / 2).clamp(low, each.high);
                case.scale_a[block] = code(scale.format, false, 1, first)?;
                case.scale_b[block] = code(scale.format, false, 1, both - first)?;
                exponent -= both;
            }
            let (of_a, of_b) = self.factors(term.x, term.y, exponent)?;
            case.a[at] = code(i.a, term.negative, term.x, of_a)?;
            let logical = case.logical(i, at);
            case.b[logical] = code(i.b, false, term.y, of_b)?;
        }
        Some(case)
    }

    /// Exponents of factors with these significands; subnormal factors only if they keep their values.
    fn factors(&self, x: u128, y: u128, exponent: i32) -> Option<(i32, i32)> {
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
        if self.subnormal == Subnormal::Nowhere {
            return None;
        }
        let (low, high) = between(a.low, b.low)?;
        let first = normal_a.clamp(low, high);
        Some((first, exponent - first))
    }

    /// Index of the block whose scale a term has.
    pub(crate) fn block(&self, leaf: Leaf) -> Option<usize> {
        match (self.i.scale, leaf) {
            (Some(scale), Leaf::Product(at)) => Some(Case::zeros(self.i).logical(self.i, at) / scale.block),
            _ => None,
        }
    }
}

/// Code of plus or minus significand * 2^exponent, if the format has it.
pub fn code(format: &Format, negative: bool, significand: u128, exponent: i32) -> Option<u64> {
    let value = Finite::exact(negative, significand, exponent);
    let code = format.encode(&Real::Finite(value), Rounding::Rz, Overflow::Saturate)?;
    stands_for(format, code, value).then_some(code)
}

/// True if a code stands for this nonzero number.
pub fn stands_for(format: &Format, code: u64, value: Finite) -> bool {
    matches!(format.value(code), Real::Finite(finite) if finite.odd() == value.odd())
}
