//! The operands of one dot-product-add, as text.

use std::cmp::Ordering;

use crate::{
    Error, Result,
    format::{Format, Overflow, Rounding},
    isa::{Case, Instruction},
    tensor::ValueConversion,
};

/// Operands as hexadecimal codes (`0x3c00`) or numbers (`1.5`, `-0x1p-24`).
/// Missing operands are zero, missing scales 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct OperandTexts<'a> {
    /// The row of A, from its first (stored) element.
    pub a: &'a [String],
    /// The column of B, from its first element.
    pub b: &'a [String],
    /// The element of C.
    pub c: Option<&'a str>,
    /// Positions of stored elements in their chunks, of sparse instructions.
    pub positions: &'a [u64],
    /// Scales of the row of A.
    pub scale_a: &'a [String],
    /// Scales of the column of B.
    pub scale_b: &'a [String],
}

impl OperandTexts<'_> {
    /// The case of `i` that these describe.
    ///
    /// # Errors
    /// Text that is no number, too many operands, operands that the instruction does not have.
    pub fn case(&self, i: &Instruction) -> Result<Case> {
        let mut case = Case::zeros(i);
        fill("‹a›", i.a, self.a, &mut case.a)?;
        fill("‹b›", i.b, self.b, &mut case.b)?;
        if let Some(text) = self.c {
            case.c = code(i.c, text)?;
        }
        if let Some(scale) = i.scale {
            let one = code(scale.format, "1")?;
            case.scale_a.fill(one);
            case.scale_b.fill(one);
            fill("‹scale_a›", scale.format, self.scale_a, &mut case.scale_a)?;
            fill("‹scale_b›", scale.format, self.scale_b, &mut case.scale_b)?;
        } else if !self.scale_a.is_empty() || !self.scale_b.is_empty() {
            return Err(Error::request(format!("{i} has no block scales")));
        }
        self.place(i, &mut case)?;
        Ok(case)
    }

    /// Sets the positions of stored elements.
    fn place(&self, i: &Instruction, case: &mut Case) -> Result<()> {
        let given = self.positions;
        let Some(chunk) = i.chunk() else {
            return match given.is_empty() {
                true => Ok(()),
                false => Err(Error::request(format!("{i} is not sparse, so ‹positions› does not apply"))),
            };
        };
        if given.len() > case.positions.len() || !given.len().is_multiple_of(chunk.kept) {
            return Err(Error::request(format!(
                "‹positions› takes {} for each chunk of {} elements, up to {} in all",
                chunk.kept,
                chunk.length,
                case.positions.len()
            )));
        }
        for (number, positions) in given.chunks(chunk.kept).enumerate() {
            if !chunk.allows(positions.iter().copied()) {
                let rule = chunk.rule();
                return Err(Error::request(format!("‹positions›: chunk {number} has {positions:?}; each has {rule}")));
            }
        }
        case.positions[..given.len()].copy_from_slice(given);
        Ok(())
    }

    /// A note for each operand of A, B and C that is not a number of its format and was rounded.
    ///
    /// # Errors
    /// Text that is no number.
    pub fn rounded(&self, i: &Instruction) -> Result<Vec<String>> {
        let texts = |format, texts: &[String]| texts.iter().map(|text| (format, text.trim().to_string())).collect();
        let given: [Vec<(&'static Format, String)>; 3] =
            [texts(i.a, self.a), texts(i.b, self.b), self.c.map(|c| (i.c, c.trim().into())).into_iter().collect()];
        let mut notes = Vec::new();
        for (format, text) in given.concat() {
            let is_code = text.to_ascii_lowercase().strip_prefix("0x").is_some_and(|digits| !digits.contains('p'));
            if !is_code && reading(format).convert(&text.parse()?).direction.is_some_and(Ordering::is_ne) {
                let used = format.decode(code(format, &text)?).decimal();
                notes.push(format!("{text} is not a number of {format}; {used} is used."));
            }
        }
        Ok(notes)
    }
}

/// Puts the codes of `texts` first in `codes`.
fn fill(option: &str, format: &'static Format, texts: &[String], codes: &mut [u64]) -> Result<()> {
    if texts.len() > codes.len() {
        return Err(Error::request(format!(
            "{option} has {} values, and there is room for {}",
            texts.len(),
            codes.len()
        )));
    }
    for (slot, text) in codes.iter_mut().zip(texts) {
        *slot = code(format, text).map_err(|error| error.within(option))?;
    }
    Ok(())
}

/// The code of a hexadecimal code or a number.
fn code(format: &'static Format, text: &str) -> Result<u64> {
    Ok(reading(format).source(text.trim())?.code.expect("a source of a format has a code"))
}

fn reading(format: &'static Format) -> ValueConversion {
    ValueConversion { from: Some(format), to: format, rounding: Rounding::Rne, overflow: Overflow::Standard }
}
