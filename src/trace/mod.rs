//! Traces: recorded tiles of one instruction with the outputs that a device returned.

mod file;
mod header;

use std::collections::BTreeMap;

use crate::{
    Error, Result,
    isa::{Codes, Instruction, Tiles},
};

/// Metadata keys that a trace file derives from the other fields, so no caller may set them.
const RESERVED: [&str; 9] = ["tcnum.trace", "instruction", "a", "b", "c", "d", "m", "n", "k"];

/// The metadata key of the arithmetic machine instructions that ran, in order, separated by `; `.
pub const OPCODES: &str = "sass";

/// Recorded tiles and outputs of one instruction.
///
/// m, n and k may be smaller than the instruction's: the rest of A and B (and of C, whose outputs are not
/// recorded) was zero, and only the first m rows and n columns of D were recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The instruction that was executed.
    pub instruction: Instruction,
    /// Recorded rows of A, C and D.
    pub m: usize,
    /// Recorded columns of B, C and D.
    pub n: usize,
    /// Recorded columns of A and rows of B.
    pub k: usize,
    /// Number of tiles, at least 1.
    pub count: usize,
    /// A codes, `[count][m][k]`.
    pub a: Codes,
    /// B codes, `[count][k][n]`.
    pub b: Codes,
    /// C codes, `[count][m][n]`.
    pub c: Codes,
    /// D codes as the device returned them, `[count][m][n]`.
    pub d: Codes,
    /// What else is known: `device`, `source`, driver, seed, date.
    pub metadata: BTreeMap<String, String>,
}

impl Trace {
    /// The trace of one run: `tiles` of `instruction` and the device's D codes `[count][m][n]`.
    ///
    /// # Errors
    /// No tiles; arrays whose length is not that of the tiles (a device that answered short); an instruction
    /// with sparse operands or block scales; a metadata key that the file derives itself (`m`, `instruction`).
    pub fn from_run(
        instruction: &Instruction,
        tiles: &Tiles,
        d: Codes,
        metadata: BTreeMap<String, String>,
    ) -> Result<Trace> {
        dense(instruction)?;
        let i = instruction;
        if tiles.count == 0 {
            return Err(Error::request("a trace needs at least one tile"));
        }
        let arrays = [
            ("a", &tiles.a, i.a, i.m * i.k),
            ("b", &tiles.b, i.b, i.k * i.n),
            ("c", &tiles.c, i.c, i.m * i.n),
            ("d", &d, i.d, i.m * i.n),
        ];
        for (name, codes, format, each) in arrays {
            if codes.width() != format.bytes() || codes.len() != tiles.count * each {
                return Err(Error::request(format!(
                    "{name} has {} codes of {} bytes, but {} tiles of {i} have {} of {}",
                    codes.len(),
                    codes.width(),
                    tiles.count,
                    tiles.count * each,
                    format.bytes()
                )));
            }
        }
        if let Some(key) = metadata.keys().find(|key| RESERVED.contains(&key.as_str())) {
            return Err(Error::request(format!("the note '{key}' is a field of the trace itself; choose another key")));
        }
        Ok(Trace {
            instruction: i.clone(),
            m: i.m,
            n: i.n,
            k: i.k,
            count: tiles.count,
            a: tiles.a.clone(),
            b: tiles.b.clone(),
            c: tiles.c.clone(),
            d,
            metadata,
        })
    }

    /// Whether every output of the instruction was recorded.
    pub fn is_whole(&self) -> bool {
        (self.m, self.n) == (self.instruction.m, self.instruction.n)
    }

    /// The recorded tiles `from..to` with A and B at the instruction's full k: what was not recorded is zero,
    /// which is what was executed. Panics if the range is not within the trace.
    pub fn tiles(&self, from: usize, to: usize) -> Tiles {
        let k = self.instruction.k;
        let part = |codes: &Codes, rows, columns| codes.slice(from * rows * columns, to * rows * columns);
        let a = part(&self.a, self.m, self.k).resized((self.m, self.k), (self.m, k));
        let b = part(&self.b, self.k, self.n).resized((self.k, self.n), (k, self.n));
        let c = part(&self.c, self.m, self.n);
        Tiles::from_arrays(to - from, [("a", a), ("b", b), ("c", c)]).expect("A, B and C")
    }

    /// The recorded tiles `from..to` at the instruction's full shape, zero where nothing was recorded.
    /// Panics if the range is not within the trace.
    pub fn padded(&self, from: usize, to: usize) -> Tiles {
        self.tiles(from, to).padded(&self.instruction, self.m, self.n)
    }
}

/// Refuses an instruction whose tiles have more operands than A, B and C.
pub(crate) fn dense(instruction: &Instruction) -> Result<()> {
    let what = match (instruction.is_sparse(), instruction.scale) {
        (true, _) => "sparse operands (metadata)",
        (_, Some(_)) => "block scales",
        _ => return Ok(()),
    };
    Err(Error::request(format!("{instruction}: {what} are not supported yet in traces and exec: devices")))
}
