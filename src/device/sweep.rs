//! Sweeps of a scalar instruction over its numbered inputs.

use std::{collections::BTreeMap, ops::Range};

use super::Execution;
use crate::{
    Error, Result,
    format::{Class, Format},
    inputs::space::{CHUNK, digest_term},
    isa::scalar::Form,
};

/// The classes of data by which results are counted, in this order.
pub const CLASSES: [Class; 5] = [Class::Zero, Class::Subnormal, Class::Normal, Class::Infinite, Class::Nan];

/// The chunks of a sweep: `first`, `first + step`, ..., each of [`CHUNK`] inputs (the last one of the space may have fewer).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks {
    /// Number of the first.
    pub first: u64,
    /// From one to the next, at least 1.
    pub step: u64,
    /// How many.
    pub count: u64,
}

impl Chunks {
    /// `count` chunks at equal distances, or all if there are not as many.
    pub fn spread(size: u64, count: u64) -> Chunks {
        let all = size.div_ceil(CHUNK);
        let count = count.clamp(1, all);
        Chunks { first: 0, step: all / count, count }
    }

    /// The numbers of the chunks.
    pub fn numbers(&self) -> impl ExactSizeIterator<Item = u64> + use<> {
        let Chunks { first, step, count } = *self;
        (0..count as usize).map(move |at| first + at as u64 * step)
    }

    /// How many of `size` inputs they have.
    pub fn inputs(&self, size: u64) -> u64 {
        self.numbers().map(|number| CHUNK.min(size.saturating_sub(number * CHUNK))).sum()
    }
}

/// Results that differ from the rule alike: operands and both results are of the same classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DifferenceGroup {
    /// The number of the classes: what differs alike in two parts of a sweep has the same.
    pub kind: usize,
    /// How many.
    pub count: u64,
    /// The number of the first input.
    pub index: u64,
    /// The first lane of it.
    pub lane: usize,
}

/// What a sweep found.
#[derive(Debug, Clone, PartialEq)]
pub struct Swept {
    /// Results that were compared, by the class of the first operand, in the order of [`CLASSES`].
    pub compared: [u64; 5],
    /// Those that differ, by the classes of the operands and of both results, the first input first.
    pub differences: Vec<DifferenceGroup>,
    /// For each chunk the sum of [`crate::inputs::space::digest_term`] over its inputs and the registers they give.
    pub digests: Vec<u64>,
    /// How long the work took, without compilation, in seconds.
    pub seconds: f64,
}

impl Swept {
    /// Nothing yet.
    pub fn nothing() -> Swept {
        Swept { compared: [0; 5], differences: Vec::new(), digests: Vec::new(), seconds: 0.0 }
    }

    /// Adds what was found in later chunks.
    pub fn add(&mut self, later: Swept) {
        self.compared.iter_mut().zip(later.compared).for_each(|(own, more)| *own += more);
        self.digests.extend(later.digests);
        self.seconds += later.seconds;
        for difference in later.differences {
            match self.differences.iter_mut().find(|own| own.kind == difference.kind) {
                Some(own) => own.count += difference.count,
                None => self.differences.push(difference),
            }
        }
    }

    /// How many results differ.
    pub fn differing(&self) -> u64 {
        self.differences.iter().map(|difference| difference.count).sum()
    }
}

/// What is found in one chunk.
#[derive(Debug)]
pub struct ChunkTally {
    form: &'static Form,
    compared: [u64; 5],
    /// Results that differ, by the classes of the operands and of both results.
    kinds: BTreeMap<usize, DifferenceGroup>,
    digest: u64,
    /// Of formats with infinities and without padding, the bit of the sign, and the magnitudes of normal numbers.
    sign: u64,
    normal: Range<u64>,
}

/// The place of normal numbers among [`CLASSES`].
const NORMAL: usize = 2;

impl ChunkTally {
    /// Nothing yet of a form.
    pub fn new(form: &'static Form) -> ChunkTally {
        let (sign, normal) = match (form.source.float(), form.source.infinity(false)) {
            (Some(float), Some(infinity)) if float.signed && float.padding_bits == 0 => {
                (1 << (form.source.bits - 1), form.source.smallest_normal()..infinity)
            }
            _ => (0, 0..0),
        };
        ChunkTally { form, compared: [0; 5], kinds: BTreeMap::new(), digest: 0, sign, normal }
    }

    /// Counts a result in a lane of an input, and what it should be.
    pub fn add(&mut self, index: u64, lane: usize, operands: [u64; 3], expected: u64, result: u64) {
        let class = |format: &Format, code: u64| {
            let class = format.decode(code).class;
            CLASSES.iter().position(|other| *other == class).expect("every class is listed")
        };
        let (source, target) = (self.form.source, self.form.result);
        // Most are normal, and to decode one costs more than the rest.
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

    /// Adds an input and its register to the digest.
    pub fn digest(&mut self, index: u64, register: u64) {
        self.digest = self.digest.wrapping_add(digest_term(index, register));
    }

    /// What several chunks, in their order, have together.
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

/// Sweeps of scalar instructions. A device without it executes matrix instructions only.
pub trait Sweeps {
    /// Prepares the sweeps of the `forms` that the device has, all at once where that is faster. Returns the forms that it
    /// should have and cannot get ready, each with the reason.
    fn prepare(&mut self, _forms: &[&'static Form]) -> Vec<(&'static Form, Error)> {
        Vec::new()
    }

    /// What executes `form` on inputs by their numbers. `seed` varies inputs that are sampled.
    ///
    /// # Errors
    /// As [`super::Device::prepare`].
    fn sweeper(&mut self, form: &'static Form, seed: u64) -> Result<Box<dyn Sweeper>>;
}

/// A device's own way to sweep one scalar instruction.
pub trait Sweeper {
    /// How the device executes the instruction.
    fn execution(&self) -> &Execution;

    /// Executes the instruction on the inputs of `chunks`, and compares each result with the rule.
    ///
    /// # Errors
    /// A device error.
    fn sweep(&mut self, chunks: Chunks) -> Result<Swept>;

    /// The registers that one chunk's inputs give, in their order.
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
