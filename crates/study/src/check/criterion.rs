//! Tests of a product as test suites write them: tolerances, cosines, norms, shares, codes.

use crate::{
    Error, Result,
    exact::distance,
    format::{Format, Overflow, Rounding},
};

/// Forms of a test, with an example each.
const FORMS: &str = "ATOL,RTOL such as 1e-2,1e-3; cos:0.97; calc-diff:1e-3; norm:1e-2; share:0.05,ATOL,RTOL; codes:1";

/// A test of D against the exact product.
#[derive(Debug, Clone, PartialEq)]
pub struct Criterion {
    /// The test as it is written.
    pub text: String,
    /// Its rule.
    pub rule: Rule,
}

/// The rule of a test, for D and the exact product x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// |D - x| <= atol + rtol |x|, in every element but this share.
    Close {
        /// The absolute tolerance.
        atol: f64,
        /// The relative tolerance.
        rtol: f64,
        /// Share of the elements that may be outside.
        share: f64,
    },
    /// The cosine of D and x is at least this.
    Cosine(f64),
    /// 1 - 2 <D, x> / (<D, D> + <x, x>) is at most this, as DeepGEMM computes it.
    CalcDiff(f64),
    /// The norm of D - x over the norm of x (Frobenius) is at most this.
    Norm(f64),
    /// D is at most this number of codes of its format away from x, rounded to nearest.
    Codes(u64),
}

/// An element as a test sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compared {
    /// The exact value.
    pub(super) exact: f64,
    /// The value of D.
    pub(super) d: f64,
    /// |D - exact|.
    pub(super) error: f64,
}

/// The elements that a test has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Measured {
    /// Elements.
    pub(super) elements: usize,
    /// Elements that an element-wise rule refuses.
    pub(super) refused: usize,
    /// Largest error over the tolerance of the element.
    largest_ratio: f64,
    /// Largest distance in codes.
    codes: u64,
    /// Sums of x x, x D, D D and of the squares of the errors.
    exact_squares: f64,
    products: f64,
    squares: f64,
    error_squares: f64,
}

impl Measured {
    pub(super) fn add(&mut self, other: &Measured) {
        self.elements += other.elements;
        self.refused += other.refused;
        self.largest_ratio = larger(self.largest_ratio, other.largest_ratio);
        self.codes = self.codes.max(other.codes);
        self.exact_squares += other.exact_squares;
        self.products += other.products;
        self.squares += other.squares;
        self.error_squares += other.error_squares;
    }

    /// The norm of the errors over the norm of the exact elements.
    fn norm(&self) -> f64 {
        if self.error_squares == 0.0 { 0.0 } else { (self.error_squares / self.exact_squares).sqrt() }
    }
}

/// The larger number; a NaN is larger than all.
fn larger(x: f64, y: f64) -> f64 {
    if x.is_nan() || x > y { x } else { y }
}

impl Criterion {
    /// The test of a text.
    ///
    /// # Errors
    /// A request error that names the forms.
    pub fn parse(text: &str) -> Result<Criterion> {
        let unknown = |what: &str| Error::request(format!("'{text}' {what}; the forms are {FORMS}"));
        let (word, numbers) = text.split_once(':').map_or(("", text), |(word, numbers)| (word.trim(), numbers));
        let numbers: Option<Vec<f64>> = numbers.split(',').map(|number| number.trim().parse().ok()).collect();
        let numbers = numbers.ok_or_else(|| unknown("has no numbers where a test has some"))?;
        if numbers.iter().any(|number| !(*number >= 0.0 && number.is_finite())) {
            return Err(unknown("has a number that is negative or not finite"));
        }
        let rule = match (word, &numbers[..]) {
            ("", [atol, rtol]) => Rule::Close { atol: *atol, rtol: *rtol, share: 0.0 },
            ("cos", [least]) if *least <= 1.0 => Rule::Cosine(*least),
            ("calc-diff", [most]) => Rule::CalcDiff(*most),
            ("norm", [most]) => Rule::Norm(*most),
            ("share", [share, atol, rtol]) if *share <= 1.0 => Rule::Close { atol: *atol, rtol: *rtol, share: *share },
            ("codes", [most]) if most.fract() == 0.0 && *most < 9e15 => Rule::Codes(*most as u64),
            ("cos" | "share", [..]) if numbers.first().is_some_and(|first| *first > 1.0) => {
                return Err(unknown("has a number above 1 where a cosine or a share is"));
            }
            _ => return Err(unknown("is no test")),
        };
        Ok(Criterion { text: text.into(), rule })
    }

    /// The test of an absolute and a relative tolerance.
    pub(super) fn close(text: &str, atol: f64, rtol: f64) -> Criterion {
        Criterion { text: text.into(), rule: Rule::Close { atol, rtol, share: 0.0 } }
    }

    /// True if the test judges single elements.
    pub(super) fn is_by_element(&self) -> bool {
        matches!(self.rule, Rule::Close { .. } | Rule::Codes(_))
    }

    /// The tolerance of an element, of tests that have one.
    pub(super) fn allowed(&self, exact: f64) -> Option<f64> {
        match self.rule {
            Rule::Close { atol, rtol, share: 0.0 } => Some(atol + rtol * exact.abs()),
            _ => None,
        }
    }

    /// Adds an element of D.
    pub(super) fn note(&self, measured: &mut Measured, compared: Compared, d: &Format) {
        let Compared { exact, d: value, error } = compared;
        measured.elements += 1;
        match self.rule {
            Rule::Close { atol, rtol, .. } => {
                let ratio = if error == 0.0 { 0.0 } else { error / (atol + rtol * exact.abs()) };
                measured.refused += usize::from(ratio > 1.0 || ratio.is_nan());
                measured.largest_ratio = larger(ratio, measured.largest_ratio);
            }
            Rule::Codes(most) => {
                let codes = codes_between(d, exact, value);
                measured.refused += usize::from(codes > most);
                measured.codes = measured.codes.max(codes);
            }
            Rule::Cosine(_) | Rule::CalcDiff(_) | Rule::Norm(_) => {
                measured.exact_squares += exact * exact;
                measured.products += exact * value;
                measured.squares += value * value;
                measured.error_squares += error * error;
            }
        }
    }

    /// Adds an element that may be anywhere within its bound.
    pub(super) fn note_bound(&self, measured: &mut Measured, exact: f64, bound: f64, d: &Format) {
        match self.rule {
            Rule::Codes(_) => {
                let farther = [exact - bound, exact + bound];
                let farther = farther.into_iter().max_by_key(|value| codes_between(d, exact, *value));
                self.note(measured, Compared { exact, d: farther.unwrap_or(exact), error: bound }, d);
            }
            _ => self.note(measured, Compared { exact, d: exact, error: bound }, d),
        }
    }

    /// The number that the test compares with its limit.
    pub(super) fn figure(&self, measured: &Measured) -> f64 {
        let Measured { exact_squares, products, squares, .. } = *measured;
        match self.rule {
            Rule::Close { share: 0.0, .. } => measured.largest_ratio,
            Rule::Close { .. } => measured.refused as f64 / measured.elements.max(1) as f64,
            Rule::Codes(_) => measured.codes as f64,
            Rule::Norm(_) => measured.norm(),
            // Equal zeros are alike.
            _ if exact_squares == 0.0 && squares == 0.0 => f64::from(matches!(self.rule, Rule::Cosine(_))),
            Rule::Cosine(_) if squares == 0.0 || exact_squares == 0.0 => 0.0,
            Rule::Cosine(_) => products / (exact_squares.sqrt() * squares.sqrt()),
            Rule::CalcDiff(_) => 1.0 - 2.0 * products / (exact_squares + squares),
        }
    }

    /// The worst figure of products whose elements have these bounds; `None` where they have none.
    ///
    /// Let r be the norm of the bounds over the norm of the exact product x.
    /// D lies in a ball of radius r |x| around x: its cosine is at least
    /// sqrt(1 - r^2), and |D - x|^2 / (|D|^2 + |x|^2) is largest where D = (1 - r) x.
    pub(super) fn proven(&self, bounds: &Measured) -> Option<f64> {
        let r = bounds.norm();
        let figure = match self.rule {
            Rule::Cosine(_) if r < 1.0 => (1.0 - r * r).sqrt(),
            Rule::Cosine(_) => -1.0,
            Rule::CalcDiff(_) => {
                let r = r.min(2.0);
                r * r / (1.0 + (1.0 - r) * (1.0 - r))
            }
            _ => self.figure(bounds),
        };
        (figure.is_finite() && bounds.error_squares.is_finite() && bounds.codes != u64::MAX).then_some(figure)
    }

    /// The limit of the figure.
    pub(super) fn limit(&self) -> f64 {
        match self.rule {
            Rule::Close { share: 0.0, .. } => 1.0,
            Rule::Close { share, .. } => share,
            Rule::Cosine(limit) | Rule::CalcDiff(limit) | Rule::Norm(limit) => limit,
            Rule::Codes(most) => most as f64,
        }
    }

    /// True if a figure passes; a NaN never does.
    pub(super) fn passes(&self, figure: f64) -> bool {
        match self.rule {
            Rule::Cosine(least) => figure >= least,
            _ => figure <= self.limit(),
        }
    }

    /// Name of the figure.
    pub(super) fn figure_name(&self) -> &'static str {
        match self.rule {
            Rule::Close { share: 0.0, .. } => "largest error over the tolerance",
            Rule::Close { .. } => "share outside",
            Rule::Cosine(_) => "cosine",
            Rule::CalcDiff(_) => "1 - 2 <D, x> / (<D, D> + <x, x>)",
            Rule::Norm(_) => "norm of D - x over the norm of x",
            Rule::Codes(_) => "largest distance in codes",
        }
    }
}

/// Codes between a value and the exact one, both rounded to nearest.
///
/// The largest number if one of them has no code.
fn codes_between(format: &Format, exact: f64, value: f64) -> u64 {
    let code = |x: f64| format.encode_f64(x, Rounding::Rne, Overflow::Standard);
    let codes = code(exact).zip(code(value)).and_then(|(x, y)| {
        // Two infinities of one sign are the same.
        if x == y { Some(0) } else { distance(format, x, y) }
    });
    codes.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format;

    fn figure(text: &str, pairs: &[(f64, f64)]) -> (f64, bool) {
        let criterion = Criterion::parse(text).unwrap();
        let mut measured = Measured::default();
        for (exact, d) in pairs {
            let compared = Compared { exact: *exact, d: *d, error: (d - exact).abs() };
            criterion.note(&mut measured, compared, format::find("f16").unwrap());
        }
        let figure = criterion.figure(&measured);
        (figure, criterion.passes(figure))
    }

    #[test]
    fn tests_have_their_figures() {
        let pairs = [(3.0, 3.0), (4.0, 5.0)];
        assert_eq!(figure("1,0", &pairs), (1.0, true));
        assert_eq!(figure("0.5,0.1", &pairs), (1.0 / 0.9, false));
        assert_eq!(figure("share:0.5,0,0", &pairs), (0.5, true));
        assert_eq!(figure("norm:0.1", &pairs), (0.2, false));
        assert_eq!(figure("codes:256", &pairs), (256.0, true));
        assert_eq!(figure("cos:0.9", &pairs), (29.0 / (5.0 * 34f64.sqrt()), true));
        assert_eq!(figure("calc-diff:0.02", &pairs), (1.0 - 58.0 / 59.0, true));
    }

    #[test]
    fn a_nan_passes_no_test() {
        for text in ["1e9,0", "share:0.5,1e9,0", "norm:1e9", "codes:100", "cos:0", "calc-diff:2"] {
            assert!(!figure(text, &[(1.0, f64::NAN), (1.0, f64::NAN)]).1, "{text}");
        }
    }

    #[test]
    fn wrong_words_name_the_forms() {
        for text in [
            "",
            "1",
            "1,2,3",
            "cos:1.5",
            "cos:",
            "cosine:0.9",
            "codes:0.5",
            "share:0.1",
            "-1,0",
            "norm:inf",
            "share:2,0,0",
        ] {
            let message = Criterion::parse(text).unwrap_err().to_string();
            assert!(message.contains("calc-diff:1e-3") && message.contains("codes:1"), "{text}: {message}");
        }
    }

    #[test]
    fn no_product_within_its_bounds_has_a_worse_figure_than_the_proven_one() {
        let d = format::find("f32").unwrap();
        for seed in 0..200u64 {
            let draw = |at: u64| (crate::inputs::random(seed, at) >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0;
            for text in ["cos:0.9", "calc-diff:0.1", "norm:0.1", "codes:3", "1e-2,1e-2", "share:0.1,1e-3,0"] {
                let criterion = Criterion::parse(text).unwrap();
                let (mut measured, mut bounds) = (Measured::default(), Measured::default());
                for at in 0..8 {
                    let (exact, bound) = (draw(3 * at), draw(3 * at + 1).abs() * if seed % 2 == 0 { 1.0 } else { 0.1 });
                    let value = exact + bound * draw(3 * at + 2);
                    let compared = Compared { exact, d: value, error: (value - exact).abs() };
                    criterion.note(&mut measured, compared, d);
                    criterion.note_bound(&mut bounds, exact, bound, d);
                }
                let (figure, proven) = (criterion.figure(&measured), criterion.proven(&bounds).unwrap());
                match criterion.rule {
                    Rule::Cosine(_) => assert!(figure >= proven - 1e-12, "{text} {figure} {proven}"),
                    _ => assert!(figure <= proven + 1e-12, "{text} {figure} {proven}"),
                }
            }
        }
    }
}
