//! Verdict about a D that nothing gives: within the bound of a product of its matrices, or not.

use crate::{
    Error, Result,
    arithmetic::Model,
    base::interrupt,
    format::{self, Format, Rounding},
    isa::MatrixShape,
    product::{
        Factors, Matrix, OperandRounding, Sample, Schedule,
        bound::{Claim, ProductBounds},
    },
};

/// Most rows and columns of D that are judged.
const JUDGED: MatrixShape = MatrixShape { rows: 256, columns: 256 };
/// Formats that elements of f32 may be rounded to before they are multiplied.
const ROUNDED_TO: [&str; 3] = ["tf32", "bf16", "f16"];

/// Elements of D against the bound of every order of their sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductVerdict {
    /// The claimed arithmetic, in words.
    pub claim: String,
    /// Elements that were judged.
    pub elements: usize,
    /// Elements outside the bound.
    pub outside: usize,
    /// Instructions that the claim leaves out, in a sentence.
    pub left_out: Option<String>,
}

impl ProductVerdict {
    /// The verdict in sentences, with the command that goes on.
    pub fn sentence(&self) -> String {
        let ProductVerdict { claim, elements, outside, left_out } = self;
        match outside {
            0 => format!(
                "All {elements} judged elements are within the bound of {claim}: D is a product of A and B in an order or arithmetic \
                 that was not tried. `tcnum tree` finds the order in which a program adds."
            ),
            _ => format!(
                "{outside} of {elements} judged elements are outside the bound of {claim}: D is another product. `tcnum check` looks for \
                 the cause.{}",
                left_out.as_ref().map_or_else(String::new, |left_out| format!(" {left_out}"))
            ),
        }
    }
}

/// Judges D by the first model that takes A and B; `None` where no bound of all orders is known.
///
/// Operands of f32 are also judged as rounded ones.
///
/// # Errors
/// A model that cannot be read, a signal.
pub(super) fn verdict<'m>(
    models: impl IntoIterator<Item = &'m str>,
    factors: &Factors,
    d: &Matrix,
) -> Result<Option<ProductVerdict>> {
    let Sample { factors, d, .. } = Sample::new(factors, d, JUDGED, 0, None);
    for model in models {
        let model = Model::load(model)?;
        let mut first = None;
        for format in std::iter::once(None).chain(ROUNDED_TO.map(Some)) {
            let judged = match format.map(format::find).transpose()? {
                Some(format) if factors.a.format.name == "f32" && factors.b.format.name == "f32" => {
                    of_rounded(&model, format, &factors, &d)
                }
                Some(_) => continue,
                None => {
                    let formats = [factors.a.format, factors.b.format, d.format];
                    Claim::of_generation(model.clone(), formats, None).and_then(|claim| judged(&claim, &factors, &d))
                }
            };
            match judged {
                Ok(verdict) if verdict.outside == 0 => return Ok(Some(verdict)),
                Ok(verdict) => first = first.or(Some(verdict)),
                Err(error @ Error::Interrupted { .. }) => return Err(error),
                // No instruction for these formats, or C, a bias or scales.
                Err(_) => (),
            }
        }
        if first.is_some() {
            return Ok(first);
        }
    }
    Ok(None)
}

/// The verdict about operands of f32 that are rounded to a format before they are multiplied.
fn of_rounded(model: &Model, format: &'static Format, factors: &Factors, d: &Matrix) -> Result<ProductVerdict> {
    let claim = Claim::of_generation(model.clone(), [format, format, d.format], None)?;
    let operands = Some(OperandRounding { format: factors.a.format, rounding: Rounding::Rne });
    let schedule = Schedule { operands, ..claim.schedules[0].clone() };
    let rounded = factors.rounded(&schedule)?;
    judged(&claim, rounded.as_ref(), d)
}

fn judged(claim: &Claim, factors: &Factors, d: &Matrix) -> Result<ProductVerdict> {
    let bounds = ProductBounds::new(claim, factors)?;
    let values = d.values();
    let counts = bounds.each(
        &|_| (),
        || 0usize,
        |count, row, column, element| {
            let distance = (values[row * d.columns + column] - element.value).abs();
            // Infinite and NaN results are left to `tcnum check`.
            *count += usize::from(distance.is_finite() && distance > element.bound + element.off);
        },
    );
    interrupt::check()?;
    let outside = counts.into_iter().sum();
    Ok(ProductVerdict { claim: claim.words.clone(), elements: values.len(), outside, left_out: claim.left_out() })
}
