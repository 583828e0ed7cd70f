//! Traces: recorded tiles of one instruction with the outputs that a device returned.

mod file;
mod header;

use std::collections::BTreeMap;

use crate::{
    Error, Result,
    isa::{Codes, Instruction, Tiles, operands},
};

/// Metadata keys that a trace file derives from the other fields, so no caller may set them.
const RESERVED: [&str; 12] =
    ["tcnum.trace", "instruction", "a", "b", "c", "d", "m", "n", "k", DESCRIPTION, INPUTS, INPUTS_DIGEST];

/// The metadata key of the description of an instruction that is not of the tables, which a trace file derives, too.
const DESCRIPTION: &str = "tcnum.instruction";

/// The metadata key that names the recording whose operands this file has too and does not repeat.
const INPUTS: &str = "tcnum.inputs";

/// The metadata key of the digest of these operands ([`Tiles::digest`]), 16 hexadecimal digits.
const INPUTS_DIGEST: &str = "tcnum.inputs.digest";

/// The metadata key of the arithmetic machine instructions that ran, in order, separated by `; `.
pub const OPCODES: &str = "sass";

/// The metadata key that says what kind of trace it is, if not a recording: `counterexamples`.
pub(crate) const CONTENTS: &str = "contents";

/// The metadata key of a recording that ended before its last tile, with what ended it.
pub(crate) const INCOMPLETE: &str = "incomplete";

/// What a trace file is to whoever would replace it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TraceKind {
    /// What a device answered to operands that `tcnum record`, or another program, chose.
    Recording,
    /// Outputs that differ from a model's, found by `tcnum verify`.
    Counterexamples,
}

/// Recorded tiles and outputs of one instruction.
///
/// m, n and k may be smaller than the instruction's: the rest of A and B (and of C, whose outputs are not
/// recorded) was zero, and only the first m rows and n columns of D were recorded. In sparse forms k is a whole number
/// of chunks, and the rest had the first positions of each chunk; in block-scaled forms it is one of blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The instruction that was executed.
    pub instruction: Instruction,
    /// Recorded rows of A, C and D.
    pub m: usize,
    /// Recorded columns of B, C and D.
    pub n: usize,
    /// Recorded columns of A (logical ones, for sparse forms) and rows of B.
    pub k: usize,
    /// The recorded operands: tiles, at least one, of the recorded m, n and k.
    pub inputs: Tiles,
    /// D codes as the device returned them, `[count][m][n]`.
    pub d: Codes,
    /// What else is known: `device`, `source`, driver, seed, date.
    pub metadata: BTreeMap<String, String>,
}

impl Trace {
    /// The trace of one run: `tiles` of `instruction` and the device's D codes `[count][m][n]`.
    ///
    /// # Errors
    /// No tiles; arrays whose length is not that of the tiles (a device that answered short); a metadata key that the
    /// file derives itself (`m`, `instruction`).
    pub fn from_run(
        instruction: &Instruction,
        tiles: &Tiles,
        d: Codes,
        metadata: BTreeMap<String, String>,
    ) -> Result<Trace> {
        let i = instruction;
        if tiles.count == 0 {
            return Err(Error::request("a trace needs at least one tile"));
        }
        let expected = operands(i).into_iter().map(|o| (o.name, o.format, o.len()));
        for (name, format, each) in expected.chain([("d", i.d, i.m * i.n)]) {
            let codes = tiles.arrays().chain([("d", &d)]).find(|(n, _)| *n == name).map(|(_, codes)| codes);
            let (len, width) = codes.map_or((0, format.bytes()), |codes| (codes.len(), codes.width()));
            if width != format.bytes() || len != tiles.count * each {
                return Err(Error::request(format!(
                    "{name} has {len} codes of {width} bytes, but {} tiles of {i} have {} of {}",
                    tiles.count,
                    tiles.count * each,
                    format.bytes()
                )));
            }
        }
        if let Some(key) = metadata.keys().find(|key| RESERVED.contains(&key.as_str())) {
            return Err(Error::request(format!("the note '{key}' is a field of the trace itself; choose another key")));
        }
        Ok(Trace { instruction: i.clone(), m: i.m, n: i.n, k: i.k, inputs: tiles.clone(), d, metadata })
    }

    /// Number of tiles, at least 1.
    pub fn count(&self) -> usize {
        self.inputs.count
    }

    /// Whether every output of the instruction was recorded.
    pub fn is_whole(&self) -> bool {
        (self.m, self.n) == (self.instruction.m, self.instruction.n)
    }

    /// The instruction with the recorded m, n and k.
    pub fn part(&self) -> Instruction {
        part(&self.instruction, [self.m, self.n, self.k])
    }

    /// The recorded tiles `from..to` at the instruction's full k: what was not recorded is as it was executed.
    /// Panics if the range is not within the trace.
    pub fn tiles(&self, from: usize, to: usize) -> Tiles {
        let whole = part(&self.instruction, [self.m, self.n, self.instruction.k]);
        self.inputs.slice(from, to).resized(&self.part(), &whole)
    }

    /// The recorded tiles `from..to` at the instruction's full shape, zero where nothing was recorded.
    /// Panics if the range is not within the trace.
    pub fn padded(&self, from: usize, to: usize) -> Tiles {
        self.inputs.slice(from, to).resized(&self.part(), &self.instruction)
    }
}

/// An instruction with these m, n and k in place of its own.
fn part(instruction: &Instruction, [m, n, k]: [usize; 3]) -> Instruction {
    Instruction { m, n, k, ..instruction.clone() }
}
