//! Sweeps of a scalar instruction over its numbered inputs.

use std::{collections::BTreeMap, ops::Range};

use super::Execution;
use crate::{
    Error, Result,
    format::{Class, Format},
    inputs::space::{CHUNK, digest_term},
    isa::scalar::Form,
};

/// Classes of data by which results are counted.
pub const CLASSES: [Class; 5] = [Class::Zero, Class::Subnormal, Class::Normal, Class::Infinite, Class::Nan];

/// The chunks `first`, `first + step`, ... of a sweep, each of [`CHUNK`] inputs.
/// The last one of the space may have fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks {
    /// Number of the first chunk.
    pub first: u64,
    /// Distance between chunks, at least 1.
    pub step: u64,
    /// Number of chunks.
    pub count: u64,
}

impl Chunks {
    /// Spreads `count` chunks evenly, or takes all if there are fewer.
    pub fn spread(size: u64, count: u64) -> Chunks {
        let all = size.div_ceil(CHUNK);
        let count = count.clamp(1, all);
        Chunks { first: 0, step: all / count, count }
    }

    /// Numbers of the chunks.
    pub fn numbers(&self) -> impl ExactSizeIterator<Item = u64> + use<> {
        let Chunks { first, step, count } = *self;
        (0..count as usize).map(move |at| first + at as u64 * step)
    }

    /// Inputs in the chunks, of `size` inputs in all.
    pub fn inputs(&self, size: u64) -> u64 {
        self.numbers().map(|number| CHUNK.min(size.saturating_sub(number * CHUNK))).sum()
    }
}

/// Results that differ from the rule with the same classes of operands and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DifferenceGroup {
    /// Number of the combination of classes; the same in every part of a sweep.
    pub kind: usize,
    /// Results in the group.
    pub count: u64,
    /// Number of the first input.
    pub index: u64,
    /// First differing lane of that input.
    pub lane: usize,
}

/// The result of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Swept {
    /// Results compared, by the class of the first operand, in the order of [`CLASSES`].
    pub compared: [u64; 5],
    /// Differing results, grouped by classes, in the order of their first inputs.
    pub differences: Vec<DifferenceGroup>,
    /// Digest of each chunk: the sum of [`crate::inputs::space::digest_term`] over inputs and results.
    pub digests: Vec<u64>,
    /// Duration in seconds, without compilation.
    pub seconds: f64,
}

impl Swept {
    /// An empty result.
    pub fn nothing() -> Swept {
        Swept { compared: [0; 5], differences: Vec::new(), digests: Vec::new(), seconds: 0.0 }
    }

    /// Adds the result of later chunks.
    pub fn add(&mut self, later: Swept) {
        self.compared.iter_mut().zip(later.compared).for_each(|(count, more)| *count += more);
        self.digests.extend(later.digests);
        self.seconds += later.seconds;
        for difference in later.differences {
            match self.differences.iter_mut().find(|known| known.kind == difference.kind) {
                Some(known) => known.count += difference.count,
                None => self.differences.push(difference),
            }
        }
    }

    /// Results that differ.
    pub fn differing(&self) -> u64 {
        self.differences.iter().map(|difference| difference.count).sum()
    }
}

/// The result of one chunk.
#[derive(Debug)]
pub struct ChunkTally {
    form: &'static Form,
    compared: [u64; 5],
    /// Differing results, by the classes of operands and results.
    kinds: BTreeMap<usize, DifferenceGroup>,
    digest: u64,
    /// Sign bit, and magnitudes of normal numbers, for formats with infinities and without padding.
    sign: u64,
    normal: Range<u64>,
}

/// Place of normal numbers in [`CLASSES`].
const NORMAL: usize = 2;

impl ChunkTally {
    /// An empty result for a form.
    pub fn new(form: &'static Form) -> ChunkTally {
        let (sign, normal) = match (form.source.float(), form.source.infinity(false)) {
            (Some(float), Some(infinity)) if float.signed && float.padding_bits == 0 => {
                (1 << (form.source.bits - 1), form.source.smallest_normal()..infinity)
            }
            _ => (0, 0..0),
        };
        ChunkTally { form, compared: [0; 5], kinds: BTreeMap::new(), digest: 0, sign, normal }
    }

    /// Counts the result in one lane of an input.
    pub fn add(&mut self, index: u64, lane: usize, operands: [u64; 3], expected: u64, result: u64) {
        let class = |format: &Format, code: u64| {
            let class = format.decode(code).class;
            CLASSES.iter().position(|other| *other == class).expect("every class is listed")
        };
        let (source, target) = (self.form.source, self.form.result);
        // Most operands are normal, and decoding one costs more than everything else.
        let magnitude = operands[0] & !self.sign;
        let normal = self.normal.contains(&magnitude);
        self.compared[if normal { NORMAL } else { class(source, operands[0]) }] += 1;
        if result != expected {
            let [a, b, c] = operands.map(|code| class(source, code));
            let classes = [a, b, c, class(target, expected), class(target, result)];
            let kind = classes.into_iter().fold(0, |number, class| number * CLASSES.len() + class);
            self.kinds.entry(kind).or_insert(DifferenceGroup { kind, count: 0, index, lane }).count += 1;
        }
    }

    /// Adds an input and its result register to the digest.
    pub fn digest(&mut self, index: u64, register: u64) {
        self.digest = self.digest.wrapping_add(digest_term(index, register));
    }

    /// Joins the results of chunks, in their order.
    pub fn swept(parts: impl IntoIterator<Item = ChunkTally>, seconds: f64) -> Swept {
        let mut swept = Swept { seconds, ..Swept::nothing() };
        for part in parts {
            let (compared, digests) = (part.compared, vec![part.digest]);
            swept.add(Swept { compared, differences: part.kinds.into_values().collect(), digests, seconds: 0.0 });
        }
        swept.differences.sort_by_key(|difference| (difference.index, difference.lane));
        swept
    }
}

/// Sweeps as a capability of a device. Other devices execute matrix instructions only.
pub trait Sweeps {
    /// Prepares the sweeps of `forms` together.
    /// Returns the forms that the device should have but cannot prepare, each with the error.
    fn prepare(&mut self, _forms: &[&'static Form]) -> Vec<(&'static Form, Error)> {
        Vec::new()
    }

    /// Prepares the sweep of `form`; `seed` varies sampled inputs.
    ///
    /// # Errors
    /// As [`super::Device::prepare`].
    fn sweeper(&mut self, form: &'static Form, seed: u64) -> Result<Box<dyn Sweeper>>;
}

/// A device's sweep of one scalar instruction.
pub trait Sweeper {
    /// The execution that reports show.
    fn execution(&self) -> &Execution;

    /// Executes the inputs of `chunks`, and compares each result with the rule.
    ///
    /// # Errors
    /// A device error.
    fn sweep(&mut self, chunks: Chunks) -> Result<Swept>;

    /// Result registers of one chunk's inputs, in order.
    ///
    /// # Errors
    /// A device error.
    fn results(&mut self, chunk: u64) -> Result<Vec<u64>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_a_space_once() {
        let size = 3 * CHUNK + 5;
        assert_eq!(Chunks::spread(size, u64::MAX).numbers().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(Chunks::spread(size, u64::MAX).inputs(size), size);
        assert_eq!(Chunks::spread(16, u64::MAX).inputs(16), 16);
        assert_eq!(Chunks::spread(1 << 32, 4).numbers().collect::<Vec<_>>(), [0, 1 << 14, 2 << 14, 3 << 14]);
        assert_eq!(Chunks::spread(size, 100), Chunks::spread(size, 4));
    }
}
