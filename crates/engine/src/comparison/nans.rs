//! Equality of NaN codes in D.

use crate::{
    Result,
    device::{Device, Execution, Identity, LocalExecution, LocalThreads, Preparation},
    format::{Format, Real},
    isa::{Codes, Instruction, Tiles},
};

/// The equality of NaN codes in D.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nans {
    /// Every bit counts: two NaN codes are two results.
    #[default]
    ByCode,
    /// Any two NaN codes are equal.
    Alike,
}

impl Nans {
    /// The note for readers of results, if NaN codes are alike.
    pub fn note(self) -> Option<String> {
        let used = "Any NaN code counted as equal to any other NaN code (‹any_nan›).";
        (self == Nans::Alike).then(|| used.into())
    }

    /// The note on a device that was asked as [`OneNan`], if NaN codes are alike.
    pub fn note_on_device(self) -> Option<String> {
        let canonical = "The canonical NaN of D's format stands for every NaN; the rule's NaN was not measured.";
        Some(format!("{} {canonical}", self.note()?))
    }

    /// Returns true if two codes of `format` are equal.
    pub fn agree(self, format: &Format, x: u64, y: u64) -> bool {
        x == y || self == Nans::Alike && is_nan(format, x) && is_nan(format, y)
    }
}

impl From<bool> for Nans {
    /// Converts a flag that asks for NaN codes to be alike.
    fn from(alike: bool) -> Nans {
        if alike { Nans::Alike } else { Nans::ByCode }
    }
}

fn is_nan(format: &Format, code: u64) -> bool {
    matches!(format.value(code), Real::Nan)
}

/// A device that replaces every NaN code in D by the format's canonical NaN.
pub struct OneNan(pub Box<dyn Device>);

/// Replaces every NaN code in D by the canonical NaN.
pub fn with_one_nan(format: &Format, mut d: Codes) -> Codes {
    if let Some(canonical) = format.nan() {
        let others: Vec<usize> =
            (0..d.len()).filter(|at| d.get(*at) != canonical && is_nan(format, d.get(*at))).collect();
        others.into_iter().for_each(|at| d.set(at, canonical));
    }
    d
}

impl Device for OneNan {
    fn identity(&self) -> &Identity {
        self.0.identity()
    }

    fn prepare(&mut self, instruction: &Instruction) -> Result<Execution> {
        self.0.prepare(instruction)
    }

    fn has(&mut self, instruction: &Instruction) -> Result<()> {
        self.0.has(instruction)
    }

    fn execute(&mut self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes> {
        Ok(with_one_nan(instruction.d, self.0.execute(instruction, tiles)?))
    }

    fn execute_part(&mut self, instruction: &Instruction, m: usize, n: usize, tiles: &Tiles) -> Result<Codes> {
        Ok(with_one_nan(instruction.d, self.0.execute_part(instruction, m, n, tiles)?))
    }

    fn share(&mut self, sessions: usize) {
        self.0.share(sessions);
    }

    fn local(&mut self) -> Option<&mut dyn LocalThreads> {
        self.0.local()?;
        Some(self)
    }

    fn preparation(&mut self) -> Option<&mut dyn Preparation> {
        self.0.preparation()
    }
}

impl LocalThreads for OneNan {
    fn execution(&mut self, instruction: &Instruction) -> Result<LocalExecution> {
        let format = instruction.d;
        let execution = self.0.local().expect("only a device with local execution gives it").execution(instruction)?;
        Ok(Box::new(move |tiles| with_one_nan(format, execution(tiles))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::find;

    #[test]
    fn nan_codes_are_alike_where_that_is_asked_and_no_other_codes_are() {
        let f16 = find("f16").unwrap();
        for (x, y, by_code, alike) in [
            (0x7e00, 0x7e00, true, true),
            (0x7e00, 0xffff, false, true),
            (0x7c00, 0x7e00, false, false),
            (0x0000, 0x8000, false, false),
        ] {
            assert_eq!(
                (Nans::ByCode.agree(f16, x, y), Nans::Alike.agree(f16, x, y)),
                (by_code, alike),
                "{x:#x} {y:#x}"
            );
        }
        // Integers have no NaN.
        assert!(!Nans::Alike.agree(find("s32").unwrap(), 0x7fffffff, 0x7ffffffe));
    }

    #[test]
    fn the_canonical_nan_stands_for_every_nan_code() {
        let f16 = find("f16").unwrap();
        let codes = Codes::from_bytes(f16, [0x7c01u16, 0xffff, 0x7c00, 0x3c00].map(u16::to_le_bytes).concat()).unwrap();
        let nan = f16.nan().unwrap();
        assert_eq!(with_one_nan(f16, codes).iter().collect::<Vec<_>>(), [nan, nan, 0x7c00, 0x3c00]);
    }
}
