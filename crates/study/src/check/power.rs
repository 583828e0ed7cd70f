//! The power of tests: the faulty kernels that they miss.
//!
//! A fault changes an element of the exact product; the change is compared with what a test allows.
//! No faulty product is computed by a unit.

use super::{
    Basis, CheckRequest, CheckedProduct, Criterion, SampledElement,
    criterion::{Compared, Measured},
    judge::term_scales,
    sample::SampleCheck,
};
use crate::{
    Result,
    base::{
        named::{Named, named},
        work,
    },
    format::{self, Format, Overflow, Rounding},
    product::{ElementPlace, Factors, Schedule},
};

/// Terms of the tile of k that a fault leaves out.
const TILE: usize = 64;

named! {
    /// A fault of a kernel.
    pub enum Fault {
        Zeros = "zeros": "every element is 0";
        Sign = "sign": "every element has the opposite sign";
        LastTile = "last-tile": "the last tile of k is left out: 64 terms, or half of a shorter k";
        LastStep = "last-step": "the last step of the instruction along k is left out";
        HalfSums = "f16-sums": "sums are rounded to f16 after every 16 terms";
        Part = "lost-part": "one of four parts of a split k is left out";
        SwappedScales = "swapped-scales": "neighbouring blocks of A exchange their scales";
        WrongRow = "wrong-row": "each row of A is replaced by the next one";
        MissingC = "c-missing": "C is left out";
        MissingBias = "bias-missing": "the bias is left out";
    }
}

/// A test whose power is asked for.
#[derive(Debug, Clone)]
pub struct Test {
    /// Its name: `bound`, `running bound` (of the claimed order), or that of a tolerance.
    pub name: String,
    kind: TestKind,
}

#[derive(Debug, Clone)]
enum TestKind {
    OfBasis(Basis),
    Relative(f64),
    Written(Criterion),
}

impl Test {
    /// The bounds that judge a product, by the sample of its check.
    pub fn of_bounds(sample: &SampleCheck) -> Vec<Test> {
        let has =
            |bound: fn(&SampledElement) -> Option<f64>| sample.bounded.iter().any(|element| bound(element).is_some());
        let every_order = has(|element| element.every_order)
            .then(|| Test { name: "bound".into(), kind: TestKind::OfBasis(Basis::Magnitudes) });
        let running = has(|element| element.running)
            .then(|| Test { name: "running bound".into(), kind: TestKind::OfBasis(Basis::Running) });
        every_order.into_iter().chain(running).collect()
    }

    /// The tolerance of each element, of a basis.
    pub fn of_basis(basis: Basis) -> Test {
        Test { name: basis.name().into(), kind: TestKind::OfBasis(basis) }
    }

    /// A bound relative to the sum of |a b|.
    pub fn relative(bound: f64) -> Test {
        Test { name: "relative".into(), kind: TestKind::Relative(bound) }
    }

    /// A test as it is written.
    pub fn written(criterion: &Criterion) -> Test {
        Test { name: criterion.text.clone(), kind: TestKind::Written(criterion.clone()) }
    }

    /// The test as it is written; `None` for a bound.
    pub fn criterion(&self) -> Option<&Criterion> {
        match &self.kind {
            TestKind::Written(criterion) => Some(criterion),
            _ => None,
        }
    }

    /// The largest error that passes in an element; `None` for tests of all elements together.
    fn allowed(&self, element: &SampledElement) -> Option<f64> {
        match &self.kind {
            TestKind::OfBasis(basis) => element.bound(*basis),
            TestKind::Relative(bound) => Some(bound * element.magnitudes),
            TestKind::Written(criterion) => criterion.allowed(element.exact),
        }
    }
}

/// Number of elements of a faulty kernel that a test refuses.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultFound {
    /// The fault.
    pub fault: Fault,
    /// The name of the test.
    pub test: String,
    /// Elements that were tried.
    pub elements: usize,
    /// Elements that the test refuses: all or none of a test of all elements together.
    pub refused: usize,
    is_found: bool,
}

impl FaultFound {
    /// True if the test refuses the faulty kernel.
    pub fn is_found(&self) -> bool {
        self.is_found
    }
}

/// The faults that a test misses.
#[derive(Debug, Clone, PartialEq)]
pub struct Missed {
    /// The name of the test.
    pub test: String,
    /// Named faults that it passes.
    pub faults: Vec<Fault>,
    /// Terms at the end of k whose loss it passes, each number up to this one.
    ///
    /// `None` for tests of all elements together.
    pub last_k: Option<usize>,
    /// The largest relative error of all elements that it passes; `None` likewise, or if it passes any.
    ///
    /// The elements are exact but for D's rounding.
    pub factor: Option<f64>,
    /// The largest error in an element that it passes.
    pub error: Option<f64>,
}

/// The power of some tests on the sample of a check.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Power {
    /// Each fault against each test.
    pub trials: Vec<FaultFound>,
    /// For each test the faults that it misses.
    pub missed: Vec<Missed>,
}

/// A sampled element with its faulty values.
struct Faulty {
    element: SampledElement,
    values: [Option<f64>; Fault::ALL.len()],
    /// For each test the fewest terms at the end of k whose loss it refuses.
    refused_k: Vec<Option<usize>>,
}

/// Tries each fault on the samples of checks, of one product or of a batch, against each test.
///
/// # Errors
/// An interruption.
pub fn power(products: &[CheckedProduct], tests: &[Test]) -> Result<Power> {
    let mut tried = Vec::new();
    for CheckedProduct { request: CheckRequest { claim, factors, d, .. }, check } in products {
        let sample = &check.sample;
        let schedule = claim.schedules[0].narrowed();
        let chosen = factors.chosen(&sample.rows, &sample.columns, claim.schedules[0].scales.as_ref());
        let (a, b) = (chosen.a.values(), chosen.b.transposed().values());
        let kernel = Kernel { schedule: &schedule, a, b, factors: &chosen, d: d.format };
        tried.extend(work::map(&sample.bounded, |element| Ok::<_, crate::Error>(kernel.faulty(element, tests)))?);
    }
    let CheckRequest { factors, d, .. } = products[0].request;
    let mut trials = Vec::new();
    for (at, fault) in Fault::ALL.into_iter().enumerate() {
        let values: Vec<(f64, &SampledElement)> =
            tried.iter().filter_map(|tried| Some((tried.values[at]?, &tried.element))).collect();
        if !values.is_empty() {
            trials.extend(tests.iter().map(|test| refusals(test, fault, &values, d.format)));
        }
    }
    let missed = |(at, test): (usize, &Test)| missed(test, at, &tried, &trials, factors.k(), d.format);
    let missed = tests.iter().enumerate().map(missed).collect();
    Ok(Power { trials, missed })
}

/// The faults that a test misses, the one at this place of all tests.
fn missed(test: &Test, at: usize, tried: &[Faulty], trials: &[FaultFound], k: usize, d: &Format) -> Missed {
    let faults = trials.iter().filter(|trial| trial.test == test.name && !trial.is_found);
    let allowed: Option<Vec<(f64, f64)>> =
        tried.iter().map(|tried| Some((test.allowed(&tried.element)?, tried.element.exact.abs()))).collect();
    let allowed = allowed.filter(|all| !all.is_empty());
    let nonzero = allowed.iter().flatten().filter(|(_, exact)| *exact > 0.0);
    let factor = nonzero.map(|(allowed, exact)| largest_factor(d, *allowed, *exact)).fold(f64::INFINITY, f64::min);
    let first = tried.iter().filter_map(|tried| tried.refused_k[at]).min();
    Missed {
        test: test.name.clone(),
        faults: faults.map(|trial| trial.fault).collect(),
        last_k: allowed.as_ref().map(|_| first.map_or(k, |first| first - 1)),
        factor: allowed.as_ref().map(|_| factor).filter(|factor| factor.is_finite()),
        error: allowed.map(|all| all.iter().map(|(allowed, _)| *allowed).fold(0.0, f64::max)),
    }
}

/// The largest relative error f of an element that is allowed.
///
/// `exact` times 1 + f and 1 - f, rounded to D, are both at most `allowed` away from `exact`.
fn largest_factor(d: &Format, allowed: f64, exact: f64) -> f64 {
    if d.is_integer() || allowed.is_infinite() {
        return allowed / exact;
    }
    let code = |value: f64, rounding| d.encode_f64(value, rounding, Overflow::Standard);
    // The last number of D that passes, and halfway to the next one, where rounding takes over.
    let up = code(exact + allowed, Rounding::Rd).map(|last| {
        let (last, next) = (d.to_f64(last), d.to_f64(last + 1));
        if next.is_finite() { last / 2.0 + next / 2.0 } else { last }
    });
    let down = code((exact - allowed).max(0.0), Rounding::Ru).map(|last| {
        let (value, before) = (d.to_f64(last), last.checked_sub(1).map_or(0.0, |code| d.to_f64(code)));
        value / 2.0 + before / 2.0
    });
    let [up, down] = [up.map_or(0.0, |up| up - exact), down.map_or(0.0, |down| exact - down)];
    (up.min(down) / exact).max(0.0)
}

/// The elements of a faulty kernel that a test refuses.
fn refusals(test: &Test, fault: Fault, values: &[(f64, &SampledElement)], d: &Format) -> FaultFound {
    let name = test.name.clone();
    let elements = values.len();
    let Some(criterion) = test.criterion() else {
        // A NaN is outside every bound.
        let outside = |(value, element): &&(f64, &SampledElement)| {
            test.allowed(element).is_some_and(|bound| value.is_nan() || (value - element.exact).abs() > bound)
        };
        let refused = values.iter().filter(outside).count();
        return FaultFound { fault, test: name, elements, refused, is_found: refused > 0 };
    };
    let mut measured = Measured::default();
    for (value, element) in values {
        let compared = Compared { exact: element.exact, d: *value, error: (value - element.exact).abs() };
        criterion.note(&mut measured, compared, d);
    }
    let is_found = !criterion.passes(criterion.figure(&measured));
    let refused = match (criterion.is_by_element(), is_found) {
        (true, _) => measured.refused,
        (false, true) => elements,
        (false, false) => 0,
    };
    FaultFound { fault, test: name, elements, refused, is_found }
}

/// The operands of the sample, as numbers.
struct Kernel<'a> {
    schedule: &'a Schedule,
    factors: &'a Factors,
    /// Rows of A and columns of B, one after the other.
    a: Vec<f64>,
    b: Vec<f64>,
    d: &'static Format,
}

impl Kernel<'_> {
    /// The terms of a row of A and a column of B, with scales and without alpha.
    fn terms(&self, ElementPlace { row, column }: ElementPlace, exchange: usize) -> Vec<f64> {
        let k = self.factors.k();
        let pairs = self.a[row * k..][..k].iter().zip(&self.b[column * k..][..k]);
        let product = |(k, (x, y)): (usize, (&f64, &f64))| {
            let [of_a, of_b] = match self.factors.scale_a {
                Some(_) => term_scales(self.schedule, self.factors, ElementPlace { row, column }, k, exchange),
                None => [1.0; 2],
            };
            x * y * of_a * of_b
        };
        pairs.enumerate().map(product).collect()
    }

    fn faulty(&self, element: &SampledElement, tests: &[Test]) -> Faulty {
        let terms = self.terms(element.place, 0);
        let code = |value: f64| self.d.encode_f64(value, Rounding::Rne, Overflow::Standard);
        let value = |fault| Some(self.d.to_f64(code(self.value(fault, element, &terms)?)?));
        let allowed: Vec<Option<f64>> = tests.iter().map(|test| test.allowed(element)).collect();
        let mut refused_k = vec![None; tests.len()];
        let mut lost = 0.0;
        for (at, term) in terms.iter().rev().enumerate() {
            lost += self.schedule.alpha * term;
            for (first, allowed) in refused_k.iter_mut().zip(&allowed) {
                let Some(allowed) = allowed.filter(|_| first.is_none()) else { continue };
                // D's own rounding may take the loss to either side of what is allowed.
                let error = code(element.exact - lost).map_or(lost, |code| self.d.to_f64(code) - element.exact);
                *first = (error.abs() > allowed).then_some(at + 1);
            }
        }
        Faulty { element: *element, values: Fault::ALL.map(value), refused_k }
    }

    /// The exact value that a faulty kernel makes; `None` where the fault cannot be had.
    fn value(&self, fault: Fault, element: &SampledElement, terms: &[f64]) -> Option<f64> {
        let (k, step) = (terms.len(), self.schedule.instruction.k);
        let Schedule { alpha, beta, .. } = *self.schedule;
        let SampledElement { place, exact, .. } = *element;
        let Factors { c, bias, scale_a, .. } = self.factors;
        let c = c.as_ref().map_or(0.0, |c| if beta == 0.0 { 0.0 } else { beta * c.value(place.row, place.column) });
        let bias = bias.as_ref().map_or(0.0, |bias| bias.value(0, place.column));
        let without = |range: std::ops::Range<usize>| exact - alpha * terms[range].iter().sum::<f64>();
        match fault {
            Fault::Zeros => Some(0.0),
            Fault::Sign => Some(-exact),
            Fault::LastTile => Some(without(k - TILE.min(k.div_ceil(2))..k)),
            Fault::LastStep => (step < k).then(|| without(k - 1 - (k - 1) % step..k)),
            Fault::Part => (k >= 4).then(|| without(k / 4..k / 2)),
            Fault::HalfSums if !self.d.is_integer() => {
                let half = format::find("f16").ok()?;
                let rounded =
                    |x: f64| half.encode_f64(x, Rounding::Rne, Overflow::Standard).map(|code| half.to_f64(code));
                let sum = terms.chunks(16).try_fold(0.0, |sum, step| rounded(sum + step.iter().sum::<f64>()))?;
                Some(alpha * sum + c + bias)
            }
            Fault::SwappedScales => {
                scale_a.as_ref().filter(|scales| scales.columns > 1 && scales.columns % 2 == 0)?;
                Some(alpha * self.terms(place, 1).iter().sum::<f64>() + c + bias)
            }
            Fault::WrongRow if self.factors.a.rows > 1 => {
                let next = ElementPlace { row: (place.row + 1) % self.factors.a.rows, ..place };
                Some(alpha * self.terms(next, 0).iter().sum::<f64>() + c + bias)
            }
            Fault::MissingC => (c != 0.0).then_some(exact - c),
            Fault::MissingBias => (bias != 0.0).then_some(exact - bias),
            Fault::HalfSums | Fault::WrongRow => None,
        }
    }
}

/// A relative error in percent, rounded down to two digits.
fn percent(factor: f64) -> String {
    let percent = factor * 100.0;
    let unit = 10f64.powi(percent.log10().floor() as i32 - 1);
    let text = format!("{:.1e}", (percent / unit).floor() * unit);
    let rounded: f64 = text.parse().unwrap_or(percent);
    if (1e-3..1e6).contains(&rounded) { format!("{rounded} %") } else { format!("{text} %") }
}

impl Missed {
    /// The faults that all of some tests miss.
    pub fn by_all(missed: &[Missed], names: &[&str]) -> Option<Missed> {
        let mut tests = missed.iter().filter(|missed| names.contains(&missed.test.as_str()));
        let first = tests.next()?.clone();
        let least = |x: Option<f64>, y: Option<f64>| x.into_iter().chain(y).reduce(f64::min);
        Some(tests.fold(first, |all, other| Missed {
            test: all.test,
            faults: all.faults.into_iter().filter(|fault| other.faults.contains(fault)).collect(),
            last_k: all.last_k.into_iter().chain(other.last_k).min(),
            factor: least(all.factor, other.factor),
            error: least(all.error, other.error),
        }))
    }

    /// The faults in words.
    pub fn words(&self, k: usize) -> Vec<String> {
        let word = |fault: &Fault| match fault {
            Fault::Zeros => Some("a product of zeros".into()),
            Fault::LastTile | Fault::LastStep if self.last_k.is_some_and(|last| last >= TILE.min(k / 2)) => None,
            Fault::LastTile => Some(format!("the last {} of k missing", TILE.min(k.div_ceil(2)))),
            Fault::LastStep => Some("the last step along k missing".into()),
            fault => Some(fault.meaning().into()),
        };
        let mut words: Vec<String> = self.faults.iter().filter_map(word).collect();
        match self.last_k {
            None | Some(0) => (),
            Some(last) if last == k => words.push("any end of k missing".into()),
            Some(last) => words.push(format!("the last {last} of k missing")),
        }
        let factor = self.factor.filter(|factor| *factor > 0.0);
        words.extend(factor.map(|factor| format!("all elements off by {} of their values", percent(factor))));
        words
    }
}
