//! Digests of chunks of sweeps, recorded on hardware; a processor can confirm any of them.
//!
//! A recording is a CSV file with a row for each instruction: its spelling, the seed, the numbers of compared and differing results,
//! the recorded chunks (first and step) and their digests in hexadecimal.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::sweep::{SweepRequest, SweepResult};
use crate::{
    Error, Result,
    base::{atomic, text},
    device::Chunks,
};

/// Most recorded chunks of one instruction.
const MOST: usize = 16;

/// The digests of one instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedDigests {
    /// Spelling of the instruction.
    pub ptx: String,
    /// Seed of sampled inputs.
    pub seed: u64,
    /// Results that were compared with the rule.
    pub compared: u64,
    /// Results that differed.
    pub mismatches: u64,
    /// The number of the first recorded chunk.
    pub first: u64,
    /// Distance between recorded chunks.
    pub step: u64,
    /// The digests, separated by spaces.
    digests: String,
}

impl RecordedDigests {
    /// Evenly spread chunks of a sweep, with their digests.
    pub fn of(request: &SweepRequest, outcome: &SweepResult) -> RecordedDigests {
        let every = outcome.swept.digests.len().div_ceil(MOST).max(1);
        let digests: Vec<String> =
            outcome.swept.digests.iter().step_by(every).map(|digest| format!("{digest:016x}")).collect();
        RecordedDigests {
            ptx: request.form.ptx.clone(),
            seed: request.seed,
            compared: outcome.swept.compared.iter().sum(),
            mismatches: outcome.swept.differing(),
            first: outcome.chunks.first,
            step: outcome.chunks.step * every as u64,
            digests: digests.join(" "),
        }
    }

    /// The recorded digests.
    pub fn digests(&self) -> Vec<u64> {
        self.numbers().expect("digests are checked when they are read")
    }

    fn numbers(&self) -> Option<Vec<u64>> {
        self.digests.split(' ').map(|digest| u64::from_str_radix(digest, 16).ok()).collect()
    }

    /// The recorded chunks.
    pub fn chunks(&self) -> Chunks {
        Chunks { first: self.first, step: self.step, count: self.digests().len() as u64 }
    }
}

/// Writes a recording.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, rows: &[RecordedDigests]) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).expect("rows of texts and numbers can be written to memory");
    }
    atomic::write(path, &writer.into_inner().expect("memory can be written"))
}

/// Reads a recording.
///
/// # Errors
/// The file cannot be read, or has a malformed row.
pub fn read(path: &Path) -> Result<Vec<RecordedDigests>> {
    let malformed = |error: csv::Error| Error::request(format!("{}: {error}", path.display()));
    let text = text::read(path, "the recording")?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<RecordedDigests> = reader.deserialize().collect::<std::result::Result<_, _>>().map_err(malformed)?;
    match rows.iter().find(|row| row.numbers().is_none()) {
        Some(row) => {
            Err(Error::request(format!("{}: the digests of {} are no hexadecimal numbers", path.display(), row.ptx)))
        }
        None => Ok(rows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_digest_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (digests, good) in [("0123456789abcdef 1", true), ("0123456789abcdef x", false), ("", false)] {
            let text = format!("ptx,seed,compared,mismatches,first,step,digests\nneg.f16,0,1,0,0,1,{digests}\n");
            std::fs::write(file.path(), text).unwrap();
            assert_eq!(read(file.path()).is_ok(), good, "{digests}");
        }
    }
}
