//! Causes of other formats: of operands, of D before it was stored, of sums.

use rug::Float;

use super::{
    Cause, Explanation,
    elements::{Elements, Expected, Fit},
    first,
    given::each,
};
use crate::{
    Error, Result,
    base::interrupt,
    device::ModelDevice,
    format::{FORMATS, Format, Overflow, Rounding},
    isa,
    product::{Factors, Product, Schedule},
};

/// The operands that a cause changes.
const SIDES: [(&str, [bool; 2]); 3] = [("A and B", [true, true]), ("A", [true, false]), ("B", [false, true])];

/// Bits of evidence of the choice of formats and operands.
const CHOSEN_BITS: f64 = 6.0;

/// Operands that are read as another format of as many bits, or rounded to a narrower one.
pub(super) fn operands(elements: &Elements) -> Result<Option<Explanation>> {
    let both = SIDES.iter().flat_map(|side| FORMATS.iter().map(move |other| (side, other)));
    let read = first(both.clone(), |((sides, is_changed), other)| {
        let fit = elements.changed(|schedule, factors| {
            let i = &mut schedule.instruction;
            let operands = [(&mut factors.a, &mut i.a), (&mut factors.b, &mut i.b)];
            operands.into_iter().zip(is_changed).filter(|(_, is_changed)| **is_changed).all(|((matrix, read_as), _)| {
                let is_other = other.bits == matrix.format.bits && other.name != matrix.format.name;
                (matrix.format, *read_as) = (other, other);
                is_other
            })
        })?;
        let words = format!("the codes of {sides} are read as {other}");
        Ok(elements.named(Cause::ReadAs, CHOSEN_BITS, words, fit))
    })?;
    if read.is_some() {
        return Ok(read);
    }
    let roundings = both.flat_map(|both| [Rounding::Rne, Rounding::Rz].map(|rounding| (both, rounding)));
    first(roundings, |(((sides, is_changed), other), rounding)| {
        interrupt::check()?;
        let fit = elements.changed(|_, factors| rounded(factors, *is_changed, other, rounding))?;
        let words = if sides.len() == 1 { "is" } else { "are" };
        let words = format!("{sides} {words} rounded to {other} ({})", rounding.name());
        Ok(elements.named(Cause::OperandsRounded, CHOSEN_BITS, words, fit))
    })
}

/// Rounds operands to a narrower format; false where a format is not narrower, or cannot hold a value.
fn rounded(factors: &mut Factors, is_changed: [bool; 2], other: &Format, rounding: Rounding) -> bool {
    let round = |x: f64| other.encode_f64(x, rounding, Overflow::Standard).map(|code| other.to_f64(code));
    let operands = [&mut factors.a, &mut factors.b].into_iter().zip(is_changed).filter(|(_, is_changed)| *is_changed);
    operands.into_iter().all(|(matrix, _)| is_narrower(other, matrix.format) && each(Some(matrix), round))
}

/// True if a floating-point format has fewer bits of precision than another.
fn is_narrower(narrow: &Format, wide: &Format) -> bool {
    narrow
        .float()
        .zip(wide.float())
        .is_some_and(|(narrow, wide)| narrow.signed && narrow.precision() < wide.precision())
}

/// A D that holds numbers of a narrower format, near the exact ones.
pub(super) fn output(elements: &Elements) -> Result<Option<Explanation>> {
    let wide = elements.d.format;
    for other in FORMATS.iter().filter(|other| is_narrower(other, wide)) {
        let is_held = |x: f64| {
            let code = other.encode_f64(x, Rounding::Rz, Overflow::Standard);
            code.is_some_and(|code| other.to_f64(code) == x) || !x.is_finite()
        };
        if !elements.values.iter().all(|x| is_held(*x)) {
            continue;
        }
        let fit = elements.fit(|at| elements.claimed[at].clone().rounded(other))?;
        // Each error of a D in the wide format has bits that the narrow one lacks, but for one in so many.
        let missing = wide.float().zip(other.float()).map_or(0, |(wide, narrow)| wide.precision() - narrow.precision());
        let evidence = f64::from(missing) * elements.errors.len() as f64;
        let fit = fit.map(|fit| Fit { evidence, ..fit });
        let words = format!("D was rounded to {other} before it was stored in {wide}");
        if let Some(explanation) = elements.named(Cause::OutputRounded, CHOSEN_BITS, words, fit) {
            return Ok(Some(explanation));
        }
    }
    Ok(None)
}

/// A D with the bits of an instruction that sums in another format.
pub(super) fn sums(elements: &Elements) -> Result<Option<Explanation>> {
    let claimed = elements.schedule();
    let i = &claimed.instruction;
    let model = &elements.claim.model;
    let others = isa::all().iter().filter(|other| {
        let same = other.a == i.a && other.b == i.b && other.scale == i.scale && !other.xor;
        same && other.d != i.d && other.d.is_integer() == i.d.is_integer() && model.rule(other).is_some()
    });
    for other in others {
        let Ok(schedule) = Schedule::new(other.clone()) else { continue };
        let Schedule { alpha, beta, scales, output, .. } = claimed.clone();
        let schedule = Schedule { alpha, beta, scales, output, ..schedule };
        if schedule.check().is_err() {
            continue;
        }
        let product = match Product::of(&mut ModelDevice::of(model.clone()), &schedule, &elements.factors) {
            Ok(product) => product.d.values(),
            Err(error @ Error::Interrupted { .. }) => return Err(error),
            Err(_) => continue,
        };
        let fit = elements.fit(|at| Expected { value: Float::with_val(64, product[at]), bound: 0.0 })?;
        let words = format!("sums are in {}: D has the bits of {other}", other.d);
        if let Some(explanation) = elements.named(Cause::OtherSums, CHOSEN_BITS, words, fit) {
            return Ok(Some(explanation));
        }
    }
    Ok(None)
}
