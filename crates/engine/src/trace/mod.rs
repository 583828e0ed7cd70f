//! Traces: recorded tiles of one instruction, with a device's outputs.

mod file;
mod header;
mod printed;

use std::collections::BTreeMap;

pub use printed::read_printed;

use crate::{
    Error, Result,
    isa::{Case, Codes, Instruction, MatrixShape, Tiles, operands},
};

/// Metadata keys that a trace file derives from other fields; callers may not set them.
const RESERVED: [&str; 12] =
    ["tcnum.trace", "instruction", "a", "b", "c", "d", "m", "n", "k", DESCRIPTION, INPUTS, INPUTS_DIGEST];

/// Metadata key of the description of an instruction outside the tables; derived, too.
const DESCRIPTION: &str = "tcnum.instruction";

/// Metadata key that names the recording with the operands, which this file does not repeat.
const INPUTS: &str = "tcnum.inputs";

/// Metadata key of the operands' digest ([`Tiles::digest`]), 16 hexadecimal digits.
const INPUTS_DIGEST: &str = "tcnum.inputs.digest";

/// Metadata key of the arithmetic machine instructions that ran, in order, separated by `; `.
pub const OPCODES: &str = "sass";

/// Metadata key of the kind of trace, if it is not a recording: `counterexamples` or [`QUESTIONS`].
pub const CONTENTS: &str = "contents";

/// The kind of a trace without outputs: inputs that a device is to answer.
pub const QUESTIONS: &str = "questions";

/// Metadata key of a recording that ended before its last tile; its value says why.
pub const INCOMPLETE: &str = "incomplete";

/// The kind of a trace file, for those who would replace it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceKind {
    /// A device's answers to operands that `tcnum record` or another program chose.
    Recording,
    /// Outputs that differ from a model's, from `tcnum verify`.
    Counterexamples,
}

/// Recorded tiles and outputs of one instruction.
///
/// m, n and k may be smaller than the instruction's. The rest of A and B was then zero, and only the first m rows and n
/// columns of C and D were recorded. Sparse forms have whole chunks along k, the rest with first positions;
/// block-scaled forms have whole blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Executed instruction.
    pub instruction: Instruction,
    /// Recorded rows of A, C and D.
    pub m: usize,
    /// Recorded columns of B, C and D.
    pub n: usize,
    /// Recorded columns of A (logical ones, for sparse forms) and rows of B.
    pub k: usize,
    /// Recorded operands: at least one tile of the recorded m, n and k.
    pub inputs: Tiles,
    /// D codes as the device returned them, `[count][m][n]`; none in a trace of questions.
    pub d: Codes,
    /// Further metadata: `device`, `source`, driver, seed, date.
    pub metadata: BTreeMap<String, String>,
}

impl Trace {
    /// Makes the trace of one run: `tiles` of `instruction` and the device's D codes `[count][m][n]`.
    ///
    /// # Errors
    /// No tiles; arrays of the wrong length (a device that answered short); a metadata key that the file derives (`m`,
    /// `instruction`).
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

    /// Makes the trace of single cases: tiles of one element, with its result.
    ///
    /// # Errors
    /// As [`Trace::from_run`].
    pub fn of_cases(
        instruction: &Instruction,
        cases: &[Case],
        dot: &dyn Fn(&Case) -> u64,
        metadata: BTreeMap<String, String>,
    ) -> Result<Trace> {
        let one = part(instruction, [1, 1, instruction.k]);
        let mut tiles = Tiles::zeros(&one, cases.len());
        cases.iter().enumerate().for_each(|(tile, case)| tiles.place(&one, tile, 0, 0, case));
        let results: Vec<u64> = cases.iter().map(dot).collect();
        let trace = Trace::from_run(&one, &tiles, Codes::from_values(instruction.d, &results), metadata)?;
        Ok(Trace { instruction: instruction.clone(), ..trace })
    }

    /// The tiles of two traces of one instruction, in the rows and columns that both have.
    ///
    /// # Errors
    /// The traces have different instructions.
    pub fn joined(&self, other: &Trace) -> Result<Trace> {
        if self.instruction != other.instruction {
            return Err(Error::request(format!(
                "the recordings are of {} and {}; join recordings of one instruction",
                self.instruction, other.instruction
            )));
        }
        let (m, n, k) = (self.m.min(other.m), self.n.min(other.n), self.k.max(other.k));
        let common = part(&self.instruction, [m, n, k]);
        let shape = |trace: &Trace| MatrixShape { rows: trace.m, columns: trace.n };
        let to = MatrixShape { rows: m, columns: n };
        let mut inputs = self.inputs.resized(&self.part(), &common);
        inputs.extend(&other.inputs.resized(&other.part(), &common));
        let mut d = self.d.resized(shape(self), to);
        d.extend(&other.d.resized(shape(other), to));
        Ok(Trace { m, n, k, inputs, d, ..self.clone() })
    }

    /// Number of tiles, at least 1.
    pub fn count(&self) -> usize {
        self.inputs.count
    }

    /// True if the outputs were recorded; false for inputs that a device is to answer.
    pub fn has_outputs(&self) -> bool {
        self.metadata.get(CONTENTS).is_none_or(|contents| contents != QUESTIONS)
    }

    /// Returns true if every output of the instruction was recorded.
    pub fn is_whole(&self) -> bool {
        (self.m, self.n) == (self.instruction.m, self.instruction.n)
    }

    /// The instruction with the recorded m, n and k.
    pub fn part(&self) -> Instruction {
        part(&self.instruction, [self.m, self.n, self.k])
    }

    /// The recorded tiles `from..to` at the instruction's full k, as they were executed.
    /// Panics if the range is not within the trace.
    pub fn tiles(&self, from: usize, to: usize) -> Tiles {
        let full_k = part(&self.instruction, [self.m, self.n, self.instruction.k]);
        self.inputs.slice(from, to).resized(&self.part(), &full_k)
    }

    /// The recorded tiles `from..to` at the instruction's full shape, zero outside the recorded part.
    /// Panics if the range is not within the trace.
    pub fn padded(&self, from: usize, to: usize) -> Tiles {
        self.inputs.slice(from, to).resized(&self.part(), &self.instruction)
    }
}

/// The instruction with other m, n and k.
fn part(instruction: &Instruction, [m, n, k]: [usize; 3]) -> Instruction {
    Instruction { m, n, k, ..instruction.clone() }
}
