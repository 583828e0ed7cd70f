//! The smallest product on which two sides differ.

use std::time::Instant;

use super::{ElementPlace, Factors, Matrix, schedule::ScaleBlocks};
use crate::{
    Result,
    base::interrupt,
    comparison::{Subject, operands, shrink::shrink},
    format::{Format, Overflow, Rounding},
    isa::{self, Case, Instruction},
};

/// A product that shows a difference at one element.
#[derive(Debug, Clone, PartialEq)]
pub struct Smallest {
    /// The operands.
    pub factors: Factors,
    /// The element.
    pub place: ElementPlace,
    /// Its codes by both sides.
    pub d: [u64; 2],
    /// Its nonzero operands, in words.
    pub operands: String,
}

/// Gives the codes of both sides at a place of a product, where they differ.
///
/// The last argument says that one row and column stand for many, with scales of their own.
pub(crate) type Differ<'a> = dyn FnMut(&Factors, ElementPlace, bool) -> Result<Option<[u64; 2]>> + 'a;

/// The smallest product that shows the difference at `place` of `factors`, if there is one.
///
/// It has one row and column if they suffice, else zeros elsewhere, and the fewest k and terms with the simplest values that the
/// budget of products and time finds.
///
/// # Errors
/// The errors of `differ`; a signal.
pub fn smallest(
    factors: &Factors,
    blocks: Option<&ScaleBlocks>,
    place: ElementPlace,
    d: &'static Format,
    tries: usize,
    until: Option<Instant>,
    differ: &mut Differ,
) -> Result<Option<Smallest>> {
    let alone = factors.chosen(&[place.row], &[place.column], blocks);
    let one = Frame { base: alone, place: ElementPlace { row: 0, column: 0 }, alone: true };
    let case = one.case();
    let frame = match differ(&one.factors(&case), one.place, true)? {
        Some(_) => one,
        None => Frame { base: factors.clone(), place, alone: false },
    };
    let mut search = SmallestSearch { left: tries, until, frame, d, differ };
    if !search.differs(&case)? {
        // The other rows and columns take part.
        let Some(codes) = (search.differ)(factors, place, false)? else { return Ok(None) };
        let operands = "every element takes part".into();
        return Ok(Some(Smallest { factors: factors.clone(), place, d: codes, operands }));
    }
    let mut case = case;
    loop {
        let before = case.b.len();
        case = search.shorter(case)?;
        case = search.simpler(case)?;
        if case.b.len() == before || search.left == 0 {
            break;
        }
    }
    let factors = search.frame.factors(&case);
    let Some(codes) = (search.differ)(&factors, search.frame.place, search.frame.alone)? else { return Ok(None) };
    let words = search.instruction(&case).map_or_else(String::new, |i| operands(&Subject::Matrix(&i), &case));
    // The last is c, which there may be none of.
    let operands = match (&search.frame.base.c, words.rsplit_once(", ")) {
        (None, Some((operands, _))) => operands.to_string(),
        _ => words,
    };
    Ok(Some(Smallest { factors, place: search.frame.place, d: codes, operands }))
}

/// Terms that cancel a sum, at most.
const CANCELLING: usize = 8;

impl Smallest {
    /// Products of one element whose later terms cancel a sum of these first terms.
    ///
    /// The difference of the sums is then their result, which a narrow D shows, too. `d` is the format of the sums. None where other rows
    /// and columns, or scales, take part.
    pub fn cancelled(&self, d: &Format, lengths: &[usize]) -> Vec<Factors> {
        let Factors { a, b, scale_a, .. } = &self.factors;
        if (a.rows, b.columns) != (1, 1) || scale_a.is_some() {
            return Vec::new();
        }
        let mut all = Vec::new();
        for length in lengths.iter().copied().filter(|length| *length >= a.columns) {
            for sum in self.d {
                let Some(terms) = cancelling(-d.to_f64(sum), a.format, b.format) else { continue };
                let line = |matrix: &Matrix, terms: Vec<u64>| {
                    let zeros = vec![0; length - matrix.codes.len()];
                    [matrix.codes.iter().collect(), zeros, terms].concat()
                };
                let (x, y) = terms.into_iter().unzip();
                let (x, y) = (line(a, x), line(b, y));
                let k = x.len();
                let (a, b) = (Matrix::of_values(1, k, a.format, &x), Matrix::of_values(k, 1, b.format, &y));
                all.push(Factors { a, b, ..self.factors.clone() });
            }
        }
        all
    }
}

/// Codes of A and B whose products sum to `value` exactly, if few do.
fn cancelling(value: f64, a: &Format, b: &Format) -> Option<Vec<(u64, u64)>> {
    let code = |format: &Format, x: f64| format.encode_f64(x, Rounding::Rz, Overflow::Saturate);
    let mut rest = value;
    let mut terms = Vec::new();
    while rest != 0.0 {
        if !rest.is_finite() || terms.len() == CANCELLING {
            return None;
        }
        let exponent = rest.abs().log2().floor() as i32;
        // A power of two in B takes a part of the exponent, where A alone lacks the number.
        let term = [0, exponent / 2].into_iter().find_map(|power| {
            let factor = 2f64.powi(power);
            let (y, x) = (code(b, factor)?, code(a, rest / factor)?);
            let product = a.to_f64(x) * b.to_f64(y);
            (product != 0.0 && (rest - product).abs() < rest.abs() / 2.0).then_some((x, y, product))
        });
        let (x, y, product) = term?;
        rest -= product;
        terms.push((x, y));
    }
    Some(terms)
}

/// The product that a case of one element belongs to.
struct Frame {
    /// The product that everything but the element's A, B and C comes from.
    base: Factors,
    /// The element.
    place: ElementPlace,
    /// True if it is the only element.
    alone: bool,
}

impl Frame {
    /// The element's own operands.
    fn case(&self) -> Case {
        let Factors { a, b, c, .. } = &self.base;
        let ElementPlace { row, column } = self.place;
        let k = self.base.k();
        let addend = c.as_ref().map_or(0, |c| c.get(row, column));
        Case::dense((0..k).map(|at| a.get(row, at)).collect(), (0..k).map(|at| b.get(at, column)).collect(), addend)
    }

    /// The product of a case: all elements of other rows of A and other columns of B are zero.
    fn factors(&self, case: &Case) -> Factors {
        let ElementPlace { row, column } = self.place;
        let k = case.b.len();
        let zeros = |rows: usize, columns: usize, format| {
            Matrix::new(rows, columns, format, isa::Codes::zeros(format, rows * columns))
        };
        let mut a = zeros(self.base.a.rows, k, self.base.a.format);
        let mut b = zeros(k, self.base.b.columns, self.base.b.format);
        for at in 0..k {
            a.codes.set(row * k + at, case.a[at]);
            b.codes.set(at * b.columns + column, case.b[at]);
        }
        let c = self.base.c.as_ref().map(|matrix| {
            let mut c = zeros(matrix.rows, matrix.columns, matrix.format);
            c.codes.set(row * matrix.columns + column, case.c);
            c
        });
        Factors { a, b, c, ..self.base.clone() }
    }
}

struct SmallestSearch<'a, 'd> {
    frame: Frame,
    d: &'static Format,
    differ: &'a mut Differ<'d>,
    /// Products that may still be computed, and the end of the search.
    left: usize,
    until: Option<Instant>,
}

impl SmallestSearch<'_, '_> {
    fn differs(&mut self, case: &Case) -> Result<bool> {
        interrupt::check()?;
        if case.c != 0 && self.frame.base.c.is_none() {
            return Ok(false);
        }
        let late = self.until.is_some_and(|until| Instant::now() >= until);
        self.left = if late { 0 } else { self.left.saturating_sub(1) };
        Ok((self.differ)(&self.frame.factors(case), self.frame.place, self.frame.alone)?.is_some())
    }

    /// A product of one element as an instruction.
    fn instruction(&self, case: &Case) -> Option<Instruction> {
        let Factors { a, b, c, .. } = &self.frame.base;
        let c = c.as_ref().map_or(self.d, |c| c.format);
        isa::gemm(&format!("gemm.m1n1k{}.{}.{}.{}.{c}", case.b.len(), self.d, a.format, b.format))?.ok()
    }

    /// The case without unneeded stretches of k (all stay where blocks of k have scales).
    fn shorter(&mut self, mut case: Case) -> Result<Case> {
        if self.frame.base.scale_a.is_some() {
            return Ok(case);
        }
        let mut stretch = case.b.len().div_ceil(2);
        loop {
            let mut from = 0;
            while from < case.b.len() && case.b.len() > 1 && self.left > 0 {
                let to = case.b.len().min(from + stretch);
                let mut less = case.clone();
                (less.a, less.b) =
                    ([&case.a[..from], &case.a[to..]].concat(), [&case.b[..from], &case.b[to..]].concat());
                if !less.b.is_empty() && self.differs(&less)? {
                    case = less;
                } else {
                    from = to;
                }
            }
            if stretch == 1 || self.left == 0 {
                return Ok(case);
            }
            stretch = stretch.min(case.b.len()).div_ceil(2);
        }
    }

    /// The case with the fewest terms and the simplest values.
    fn simpler(&mut self, case: Case) -> Result<Case> {
        let Some(i) = self.instruction(&case) else { return Ok(case) };
        let budget = self.left;
        let shrunk = shrink(&i, &case, budget, &mut |cases| {
            for (at, case) in cases.iter().enumerate() {
                if self.left > 0 && self.differs(case)? {
                    return Ok(Some(at));
                }
            }
            Ok(None)
        })?;
        Ok(shrunk.unwrap_or(case))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::find;

    #[test]
    fn terms_that_cancel_a_sum_add_up_to_it() {
        for (a, b, value) in
            [("bf16", "bf16", -0.999_999_940_395_355_2), ("f16", "f16", f64::from(3e-5f32)), ("e4m3", "e5m2", 1536.0)]
        {
            let (a, b) = (find(a).unwrap(), find(b).unwrap());
            let terms = cancelling(value, a, b).unwrap();
            let sum: f64 = terms.iter().map(|(x, y)| a.to_f64(*x) * b.to_f64(*y)).sum();
            assert_eq!(sum, value, "{a} {terms:?}");
        }
        // Numbers with bits below every product.
        let (f16, e4m3) = (find("f16").unwrap(), find("e4m3").unwrap());
        assert_eq!(cancelling(3e-5, f16, f16), None);
        assert_eq!(cancelling(2f64.powi(-100), e4m3, e4m3), None);
    }
}
