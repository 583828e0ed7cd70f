//! Slices in blocks with a scale each.

use std::hint::black_box;

use super::{Code, constants::INFINITY, parallel::PIECE};
use crate::base::vectors::vectorised;

/// Blocks of `length` elements (the last one may be short), with one value for each.
#[derive(Debug, Clone, Copy)]
pub struct BlockedSlice<'a, T> {
    /// Number of elements of a block.
    pub length: usize,
    /// Value of each block, such as a factor.
    pub each: &'a [T],
}

/// Step of one block. A trait, not a closure: it must be inlined at each call (see [`vectorised`]).
pub(super) trait PerBlock<T, A, B> {
    fn block(&self, value: T, inputs: &[A], outputs: &mut [B]);
}

impl<T: Copy> BlockedSlice<'_, T> {
    /// Runs `step` on each block. Common lengths are constants, so that the compiler unrolls.
    #[inline(always)]
    pub(super) fn run<A, B>(&self, inputs: &[A], outputs: &mut [B], step: &impl PerBlock<T, A, B>) {
        let full_blocks = match self.length {
            16 => self.run_whole::<16, A, B>(inputs, outputs, step),
            32 => self.run_whole::<32, A, B>(inputs, outputs, step),
            _ => 0,
        };
        let (inputs, outputs) = (&inputs[full_blocks * self.length..], &mut outputs[full_blocks * self.length..]);
        let rest = self.each[full_blocks..].iter().zip(inputs.chunks(self.length)).zip(outputs.chunks_mut(self.length));
        for ((value, inputs), outputs) in rest {
            step.block(*value, inputs, outputs);
        }
    }

    /// Runs `step` on the blocks of full length and returns their number.
    #[inline(always)]
    fn run_whole<const LENGTH: usize, A, B>(
        &self,
        inputs: &[A],
        outputs: &mut [B],
        step: &impl PerBlock<T, A, B>,
    ) -> usize {
        let (inputs, outputs) = (inputs.as_chunks::<LENGTH>().0, outputs.as_chunks_mut::<LENGTH>().0);
        let count = self.each.len().min(inputs.len()).min(outputs.len());
        let (each, inputs, outputs) = (&self.each[..count], &inputs[..count], &mut outputs[..count]);
        for (block, outputs) in outputs.iter_mut().enumerate() {
            // Opaque to the compiler, so that it vectorises over elements, not over blocks.
            step.block(black_box(each[block]), &inputs[block], outputs);
        }
        count
    }
}

/// Largest magnitude as bits of an `f32`; a NaN is above infinity.
#[inline(always)]
fn largest_magnitude(values: &[f32]) -> u32 {
    let mut most = 0;
    for value in values {
        most = (value.to_bits() & u32::MAX >> 1).max(most);
    }
    most
}

#[inline(always)]
fn largest_of_whole<const LENGTH: usize>(values: &[f32], largest: &mut [u32]) -> usize {
    let blocks = values.as_chunks::<LENGTH>().0;
    let largest = &mut largest[..blocks.len()];
    for (at, largest) in largest.iter_mut().enumerate() {
        // Opaque as above; lanes are combined at the end.
        let block = black_box(&blocks[at]);
        let mut lanes = [0; 16];
        for values in block.as_chunks::<16>().0 {
            for (at, lane) in lanes.iter_mut().enumerate() {
                *lane = (values[at].to_bits() & u32::MAX >> 1).max(*lane);
            }
        }
        let mut most = 0;
        for lane in &lanes {
            most = most.max(*lane);
        }
        *largest = most;
    }
    blocks.len()
}

vectorised! {
    /// Largest magnitude of each block of `length` values, as bits of an `f32`; above infinity's for a NaN.
    pub fn largest_magnitudes(values: &[f32], length: usize, largest: &mut [u32]) {
        let full_blocks = match length {
            16 => largest_of_whole::<16>(values, largest),
            32 => largest_of_whole::<32>(values, largest),
            _ => 0,
        };
        for (largest, block) in largest[full_blocks..].iter_mut().zip(values[full_blocks * length..].chunks(length)) {
            *largest = largest_magnitude(block);
        }
    }
}

vectorised! {
    /// Largest finite magnitude, as bits of an `f32`.
    pub fn largest_finite(values: &[f32]) -> u32 {
        let mut most = 0;
        for value in values {
            let magnitude = value.to_bits() & u32::MAX >> 1;
            let finite = if magnitude < INFINITY { magnitude } else { 0 };
            most = finite.max(most);
        }
        most
    }
}

/// Most non-zero codes in [`Steps`].
pub(crate) const STEPS: usize = 7;

/// Smallest magnitudes with a code of at least 1, 2, ..., as bits, by sign; [`NEVER`] fills up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Steps(pub(crate) [[i32; STEPS]; 2]);

/// Above the bits of every magnitude.
pub(crate) const NEVER: i32 = i32::MAX;

/// Counts steps; `SIGNED` if negative numbers have other steps.
struct StepCounter<const SIGNED: bool> {
    sign_bit: u32,
}

impl<C: Code, const SIGNED: bool> PerBlock<&Steps, f32, C> for StepCounter<SIGNED> {
    #[inline(always)]
    fn block(&self, Steps([positive, negative]): &Steps, values: &[f32], codes: &mut [C]) {
        let values = &values[..codes.len()];
        for (at, code) in codes.iter_mut().enumerate() {
            let bits = values[at].to_bits();
            let magnitude = (bits & u32::MAX >> 1) as i32;
            let minus = bits as i32 >> 31;
            let mut reached = minus as u32 & self.sign_bit;
            for (at, above) in positive.iter().enumerate() {
                let step = if SIGNED { *above ^ minus & (*above ^ negative[at]) } else { *above };
                reached += u32::from(magnitude >= step);
            }
            *code = C::cut(reached);
        }
    }
}

vectorised! {
    /// Code of each value: the steps that its magnitude reaches, plus `sign_bit` if negative.
    /// Steps depend on block and sign. Unless `signed`, the steps of positive numbers hold for all.
    pub(crate) fn encode_steps<C: Code>(
        values: &[f32], blocks: BlockedSlice<&Steps>, signed: bool, sign_bit: u32, codes: &mut [C],
    ) {
        match signed {
            true => blocks.run(values, codes, &StepCounter::<true> { sign_bit }),
            false => blocks.run(values, codes, &StepCounter::<false> { sign_bit }),
        }
    }
}

/// Multiplies by a block's factor, then by this one.
struct MultiplyTwice(f32);

impl PerBlock<f32, f32, f32> for MultiplyTwice {
    #[inline(always)]
    fn block(&self, factor: f32, inputs: &[f32], outputs: &mut [f32]) {
        let canonical = f32::from_bits(0x7fc0_0000);
        let inputs = &inputs[..outputs.len()];
        for (at, output) in outputs.iter_mut().enumerate() {
            let product = inputs[at] * factor * self.0;
            *output = if product.is_nan() { canonical } else { product };
        }
    }
}

vectorised! {
    /// Each value times its block's factor, then times `common`; every NaN becomes the canonical one.
    pub fn scale(values: &[f32], factors: BlockedSlice<f32>, common: f32, products: &mut [f32]) {
        factors.run(values, products, &MultiplyTwice(common));
    }
}

/// Number of runs of this length in a thread's piece.
pub(crate) fn stretches(stretch: usize) -> usize {
    (PIECE / stretch).max(1)
}

/// Number of values, and of blocks, to convert at a time.
/// They are whole blocks, few enough that intermediate results stay in the nearest cache; or a row, where rows end in
/// short blocks.
pub(crate) fn stretch(length: usize, row: usize) -> (usize, usize) {
    if row.is_multiple_of(length) {
        let blocks = (PIECE / 16 / length).max(1);
        return (blocks * length, blocks);
    }
    (row, row.div_ceil(length))
}
