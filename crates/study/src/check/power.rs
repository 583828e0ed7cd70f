//! The power of a tolerance: which faulty kernels it would find.

use super::{CheckRequest, Tolerance};
use crate::{
    Result,
    base::{interrupt, named::named},
    format::{self, Format, Overflow, Rounding},
    product::reference::Yardsticks,
    product::{
        ElementPlace, Factors,
        bound::{Claim, ElementBounds, ProductBounds},
    },
};

named! {
    /// A fault of a kernel.
    pub enum Fault {
        Zeros = "zeros": "every element is 0";
        LastTile = "last-tile": "the last tile of k is left out: 64 terms, or half of a shorter k";
        LastStep = "last-step": "the last step of the instruction along k is left out";
        HalfSums = "f16-sums": "sums are rounded to f16 after every 16 terms";
        Part = "lost-part": "one of four parts of a split k is left out";
        SwappedScales = "swapped-scales": "neighbouring blocks of A exchange their scales";
        WrongRow = "wrong-row": "each row of A is replaced by the next one";
    }
}

/// Number of elements of a faulty kernel that a test refuses.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultFound {
    /// The fault.
    pub fault: Fault,
    /// The name of the test: `bound`, `running bound` (of the claimed order), or that of a tolerance.
    pub test: String,
    /// Elements that were tried.
    pub elements: usize,
    /// Elements that the test refuses.
    pub refused: usize,
}

impl FaultFound {
    /// True if the test refuses the faulty kernel.
    pub fn is_found(&self) -> bool {
        self.refused > 0
    }
}

/// A sampled element of the exact product, and its faulty values.
struct Faulty {
    exact: f64,
    bound: f64,
    /// The bound of the claimed order.
    running: Option<f64>,
    values: Vec<Option<f64>>,
}

/// Tries each fault on these rows and columns, against the bounds of the claim and against tolerances.
///
/// # Errors
/// As [`super::check`].
pub fn power(
    request: &CheckRequest,
    rows: &[usize],
    columns: &[usize],
    tolerances: &[Tolerance],
) -> Result<Vec<FaultFound>> {
    let CheckRequest { claim, factors, d, .. } = request;
    let schedule = &claim.schedules[0];
    let chosen = factors.chosen(rows, columns, schedule.scales.as_ref());
    let narrowed =
        Claim { schedules: claim.schedules.iter().map(|schedule| schedule.narrowed()).collect(), ..(*claim).clone() };
    let bounds = ProductBounds::new(&narrowed, &chosen)?;
    let running = match &narrowed.schedules[..] {
        [schedule] if claim.is_exact => Some(ElementBounds::new(&claim.model, schedule, &chosen)?),
        _ => None,
    };
    let exact = Yardsticks::new(&narrowed.schedules[0], &chosen);
    let step = schedule.instruction.k;
    let tried = bounds.each(&|_| (), Vec::new, |batch: &mut Vec<Faulty>, row, column, element| {
        if element.value.is_finite() {
            let value = exact.exact(row, column).to_f64();
            let values = Fault::ALL
                .map(|fault| faulty(fault, &chosen, step, ElementPlace { row, column }, value, d.format))
                .to_vec();
            let running = running.as_ref().and_then(|bounds| bounds.of(row, column)).map(|bound| bound.worst());
            batch.push(Faulty { exact: value, bound: element.bound, running, values });
        }
    });
    interrupt::check()?;
    let tried: Vec<Faulty> = tried.into_iter().flatten().collect();
    let mut results = Vec::new();
    for (at, fault) in Fault::ALL.into_iter().enumerate() {
        let faulty_values: Vec<(f64, &Faulty)> =
            tried.iter().filter_map(|tried| Some((tried.values[at]?, tried))).collect();
        if faulty_values.is_empty() {
            continue;
        }
        let mut note = |test: &str, refused: usize| {
            results.push(FaultFound { fault, test: test.into(), elements: faulty_values.len(), refused });
        };
        // A NaN is outside every bound.
        let outside = |value: f64, exact: f64, bound: f64| (value - exact).abs() > bound || value.is_nan();
        note(
            "bound",
            faulty_values.iter().filter(|(value, element)| outside(*value, element.exact, element.bound)).count(),
        );
        if running.is_some() {
            let refused = |(value, element): &&(f64, &Faulty)| {
                element.running.is_some_and(|bound| outside(*value, element.exact, bound))
            };
            note("running bound", faulty_values.iter().filter(refused).count());
        }
        for tolerance in tolerances {
            note(
                &tolerance.name,
                faulty_values.iter().filter(|(value, element)| !tolerance.passes(*value, element.exact)).count(),
            );
        }
    }
    Ok(results)
}

/// The value that a faulty kernel gives in D's format; `None` where the fault cannot be had.
fn faulty(fault: Fault, factors: &Factors, step: usize, place: ElementPlace, exact: f64, d: &Format) -> Option<f64> {
    let ElementPlace { row, column } = place;
    let k = factors.k();
    let term = |row: usize, at: usize, block: usize| {
        let scale = |scales: &Option<crate::product::Matrix>, row: usize, column: usize| {
            scales.as_ref().map_or(1.0, |scales| {
                if scales.rows > row && scales.columns > column { scales.value(row, column) } else { 1.0 }
            })
        };
        let scale_block = factors.scale_a.as_ref().map_or(0, |scales| at * scales.columns / k.max(1));
        let scales = scale(&factors.scale_a, row, scale_block ^ block) * scale(&factors.scale_b, scale_block, column);
        factors.a.value(row, at) * factors.b.value(at, column) * scales
    };
    let sum = |range: std::ops::Range<usize>| range.map(|at| term(row, at, 0)).sum::<f64>();
    let value = match fault {
        Fault::Zeros => 0.0,
        Fault::LastTile => exact - sum(k - 64.min(k.div_ceil(2))..k),
        Fault::LastStep if step < k => exact - sum(k - 1 - (k - 1) % step..k),
        Fault::Part if k >= 4 => exact - sum(k / 4..k / 2),
        Fault::HalfSums if !d.is_integer() => {
            let half = format::find("f16").ok()?;
            let rounded = |x: f64| half.encode_f64(x, Rounding::Rne, Overflow::Standard).map(|code| half.to_f64(code));
            (0..k).step_by(16).try_fold(0.0, |total, from| rounded(total + sum(from..k.min(from + 16))))?
        }
        Fault::SwappedScales => {
            let scales = factors.scale_a.as_ref().filter(|scales| scales.columns > 1 && scales.columns % 2 == 0)?;
            (0..k).map(|at| term(row, at, usize::from(scales.columns > 1))).sum()
        }
        Fault::WrongRow if factors.a.rows > 1 => (0..k).map(|at| term((row + 1) % factors.a.rows, at, 0)).sum(),
        _ => return None,
    };
    let code = d.encode_f64(value, Rounding::Rne, Overflow::Standard)?;
    Some(d.to_f64(code))
}
