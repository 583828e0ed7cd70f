//! Vectorised quantisation of `f32` values.
//!
//! The scale of a block is looked up by its largest magnitude, or searched for. Where scales are powers of two, elements
//! are rounded with the exponents of block and format added, so that nothing is lost. The code of an element of few
//! magnitudes is the number of steps that its magnitude reaches. Other elements are quotients in f64, which round to
//! f32 by their last bit. The exact computation handles the rest: blocks of numbers so small that the element format
//! reaches below `f32`.

use std::sync::OnceLock;

use super::{
    BlockFormat, Blocks, Element, Quantizer,
    choice::rank,
    extreme::Extreme,
    quantize::places,
    rule::{Choice, NEAREST},
    scales::ScaleCodes,
    search::{Search, SearchScratch},
    steps::{asks_for_sign, doubled, element_steps, number},
};
use crate::{
    base::{parallel, vectors::vectorised},
    format::slices::{self, Encoder, NEVER, STEPS, Steps, encode_steps, largest_finite, largest_magnitudes},
    format::{Class, Encoding, Finite, Overflow, Real, Rounding, Zeros},
};

const INFINITY: u32 = 0x7f80_0000;
/// Magnitudes from 2^117 on, whose results may be beyond `f32`.
const NEAR_END: u32 = (127 + 117) << 23;
/// Largest quotient: every element format saturates before, if not with its largest number.
const HUGE: f64 = f32::MAX as f64;

/// Vectorised quantizer for one tensor.
#[derive(Debug)]
pub struct VectorQuantizer<'a> {
    quantizer: &'a Quantizer,
    tensor_scale: Option<u64>,
    /// Value of the tensor's scale; 1 without one.
    factor: Finite,
    scales: ScaleChoice,
    elements: ElementRounding,
    /// Scale code and element codes of blocks with infinities or NaN.
    special: (u32, u8),
}

/// How the scale of a block is found.
#[derive(Debug)]
enum ScaleChoice {
    /// By its largest magnitude.
    Largest(ScaleCodes),
    /// By the magnitude that this percentage of its values does not exceed.
    Percentile(f64, ScaleCodes),
    /// By the errors under several scales.
    Search(Box<Search>),
    /// By the value of largest magnitude.
    Extreme(Extreme),
    /// By the exact computation.
    Exactly,
}

#[derive(Debug)]
enum ElementRounding {
    /// Scales that are powers of two: exponents by scale code, and the smallest one that the encoder takes.
    Shifted { encoder: Encoder<u8>, exponents: Vec<i32>, smallest: i32 },
    /// Elements of few magnitudes: their steps by scale code, each computed at its first use.
    Counted { steps: Vec<OnceLock<Steps>>, sign_bit: u32 },
    /// Quotients, rounded by the encoder.
    Divided { encoder: Encoder<u8> },
    /// Products with a number that comes with the scale.
    Multiplied(Extreme),
}

impl<'a> VectorQuantizer<'a> {
    /// Quantizer for a tensor of these values; `None` if only the exact computation can convert it.
    pub(super) fn of(quantizer: &'a Quantizer, values: &[f32]) -> Option<VectorQuantizer<'a>> {
        // Every value is within the largest magnitude.
        let largest = match quantizer.format.tensor_scale {
            Some(_) => parallel::map(values.chunks(1 << 16), largest_finite).into_iter().max().unwrap_or(0),
            None => 0,
        };
        VectorQuantizer::new(quantizer, largest)
    }

    /// Quantizer for a tensor with this largest finite magnitude, as bits of an `f32`.
    /// The magnitude matters only if the format has a tensor scale.
    pub fn new(quantizer: &'a Quantizer, largest: u32) -> Option<VectorQuantizer<'a>> {
        let BlockFormat { scale, element, .. } = quantizer.format;
        let largest = Real::Finite(number(largest));
        let (tensor_scale, factor) = quantizer.tensor_scale(1, &|_| largest);
        if factor.negative || factor.is_zero() || quantizer.format.offset.is_some() {
            return None;
        }
        Some(VectorQuantizer {
            elements: ElementRounding::new(quantizer, tensor_scale.is_some())?,
            scales: ScaleChoice::new(quantizer, &factor),
            special: (scale.nan()? as u32, element.encode(&Finite::zero(false), Rounding::Rne) as u8),
            quantizer,
            tensor_scale,
            factor,
        })
    }

    /// Code of the tensor's scale, if the format has one.
    pub fn tensor_scale(&self) -> Option<u64> {
        self.tensor_scale
    }

    /// Quantises rows of `row` values.
    pub fn quantize(&self, values: &[f32], row: usize) -> Blocks {
        let format = self.quantizer.format;
        let mut elements = vec![0; values.len()];
        let mut scales = vec![0; format.blocks(values.len(), row)];
        if format.rows > 1 {
            let band = format.rows.saturating_mul(row).max(1);
            let bands = values.chunks(band).zip(elements.chunks_mut(band));
            let per_row = row.div_ceil(format.length).max(1);
            parallel::each(bands.zip(scales.chunks_mut(per_row)), |((values, elements), scales)| {
                self.band(values, row, scales, elements);
            });
        } else {
            let (stretch, per_stretch) = slices::stretch(format.length, row);
            let count = slices::stretches(stretch);
            let pieces = values.chunks(count * stretch).zip(elements.chunks_mut(count * stretch));
            parallel::each(pieces.zip(scales.chunks_mut(count * per_stretch)), |((values, elements), scales)| {
                let stretches = values.chunks(stretch).zip(elements.chunks_mut(stretch));
                for ((values, elements), scales) in stretches.zip(scales.chunks_mut(per_stretch)) {
                    self.stretch(values, scales, elements);
                }
            });
        }
        Blocks { format, row, tensor_scale: self.tensor_scale, scales, offsets: Vec::new(), elements }
    }

    /// Converts consecutive blocks of one row each; the last one may be short.
    fn stretch(&self, values: &[f32], scales: &mut [u32], elements: &mut [u8]) {
        let length = self.quantizer.format.length;
        let mut amax = vec![0; scales.len()];
        largest_magnitudes(values, length, &mut amax);
        let mut scratch = SearchScratch::default();
        for ((scale, amax), values) in scales.iter_mut().zip(&amax).zip(values.chunks(length)) {
            *scale = self.scale(values, *amax, &mut scratch);
        }
        self.round(values, scales, &scratch.reciprocals, elements);
    }

    /// Converts a band of blocks of several rows.
    fn band(&self, values: &[f32], row: usize, scales: &mut [u32], elements: &mut [u8]) {
        let length = self.quantizer.format.length;
        let mut amax = vec![0u32; scales.len()];
        let mut row_amax = vec![0; scales.len()];
        for values in values.chunks(row.max(1)) {
            largest_magnitudes(values, length, &mut row_amax);
            amax.iter_mut().zip(&row_amax).for_each(|(most, magnitude)| *most = (*most).max(*magnitude));
        }
        let (mut block, mut scratch) = (Vec::new(), SearchScratch::default());
        for (column, (scale, amax)) in scales.iter_mut().zip(&amax).enumerate() {
            block.clear();
            if self.scales.reads_values() {
                places(values.len(), row, length, column).for_each(|place| block.extend_from_slice(&values[place]));
            }
            *scale = self.scale(&block, *amax, &mut scratch);
        }
        for (values, elements) in values.chunks(row.max(1)).zip(elements.chunks_mut(row.max(1))) {
            self.round(values, scales, &scratch.reciprocals, elements);
        }
    }

    /// Scale code of a block, whose largest magnitude has these bits.
    #[inline]
    fn scale(&self, values: &[f32], amax: u32, scratch: &mut SearchScratch) -> u32 {
        if let Some(code) = self.quantizer.block_scale {
            return code;
        }
        if amax >= INFINITY {
            scratch.reciprocals.push(0.0);
            return self.special.0;
        }
        let may_overflow = || self.quantizer.may_overflow(&number(amax), &self.factor);
        if amax >= NEAR_END && !matches!(self.scales, ScaleChoice::Extreme(_)) && may_overflow() {
            // The largest magnitude stands for values that are not gathered.
            let largest = [f32::from_bits(amax)];
            return self.exact_scale(if self.scales.reads_values() { values } else { &largest });
        }
        match &self.scales {
            ScaleChoice::Largest(codes) => codes.code(self.quantizer, amax),
            ScaleChoice::Percentile(percent, codes) => {
                let magnitudes = &mut scratch.values;
                magnitudes.clear();
                magnitudes.extend(values.iter().map(|value| value.abs()));
                let at = rank(*percent, magnitudes.len());
                let (_, magnitude, _) = magnitudes.select_nth_unstable_by(at, f32::total_cmp);
                codes.code(self.quantizer, magnitude.to_bits())
            }
            ScaleChoice::Extreme(extreme) => {
                let unrounded = extreme.unrounded(values, amax);
                scratch.reciprocals.push(Extreme::reciprocal(unrounded));
                extreme.code(unrounded)
            }
            ScaleChoice::Search(search) => search.code(self.quantizer, &self.factor, values, amax, scratch),
            ScaleChoice::Exactly => self.exact_scale(values),
        }
    }

    /// Scale code of a block by the exact computation.
    fn exact_scale(&self, values: &[f32]) -> u32 {
        let exact = |value: &f32| Finite { negative: value.is_sign_negative(), ..number(value.abs().to_bits()) };
        self.quantizer.scale_of_block(&values.iter().map(exact).collect::<Vec<_>>(), &self.factor)
    }

    /// Rounds the elements of consecutive parts of a row under their scales.
    fn round(&self, values: &[f32], scales: &[u32], reciprocals: &[f32], elements: &mut [u8]) {
        let length = self.quantizer.format.length;
        match &self.elements {
            ElementRounding::Shifted { encoder, exponents, smallest } => {
                let each: Vec<i32> = scales.iter().map(|code| exponents[*code as usize]).collect();
                encoder.encode_blocks(values, slices::BlockedSlice { length, each: &each }, elements);
                self.amend(values, scales, elements, |block| each[block] < *smallest);
            }
            ElementRounding::Counted { steps, sign_bit } => {
                let of = |code: &u32| match *code == self.special.0 {
                    // Blocks that are amended have no steps.
                    true => &Steps([[NEVER; STEPS]; 2]),
                    false => self.steps(steps, *code),
                };
                let each: Vec<&Steps> = scales.iter().map(of).collect();
                let signed = asks_for_sign(self.quantizer.rounding);
                encode_steps(values, slices::BlockedSlice { length, each: &each }, signed, *sign_bit, elements);
                self.amend(values, scales, elements, |_| false);
            }
            ElementRounding::Divided { encoder } => {
                let format = self.quantizer.format;
                let common = self.factor.to_f64() * f64::from(format.element.exponent).exp2();
                let divisor = |code: &u32| format.scale.to_f64((*code).into()) * common;
                let divisors: Vec<f64> = scales.iter().map(divisor).collect();
                let mut quotients = vec![0.0; values.len()];
                divide(values, length, &divisors, &mut quotients);
                encoder.encode(&quotients, elements);
                self.amend(values, scales, elements, |_| false);
            }
            ElementRounding::Multiplied(extreme) => {
                extreme.encode(values, length, reciprocals, elements);
                self.amend(values, scales, elements, |_| false);
            }
        }
    }

    /// Steps of elements under a scale.
    #[inline]
    fn steps<'s>(&self, all: &'s [OnceLock<Steps>], code: u32) -> &'s Steps {
        all[code as usize].get().unwrap_or_else(|| self.find_steps(all, code))
    }

    /// Computes the steps under a scale. Under twice the scale they are the same, an octave higher.
    #[cold]
    fn find_steps<'s>(&self, all: &'s [OnceLock<Steps>], code: u32) -> &'s Steps {
        all[code as usize].get_or_init(|| {
            let scale = self.quantizer.format.scale;
            let octave = scale.float().map_or(1, |float| 1u64 << (float.precision() - 1));
            let half = u64::from(code).checked_sub(octave).filter(|half| *half >= scale.smallest_normal());
            half.and_then(|half| doubled(self.steps(all, half as u32)))
                .unwrap_or_else(|| element_steps(self.quantizer, &self.quantizer.scale_value(code, &self.factor)))
        })
    }

    /// Replaces the elements of non-finite blocks and of blocks that need the exact computation.
    fn amend(&self, values: &[f32], scales: &[u32], elements: &mut [u8], exactly: impl Fn(usize) -> bool) {
        let length = self.quantizer.format.length;
        for (block, code) in scales.iter().enumerate() {
            let range = block * length..values.len().min((block + 1) * length);
            if *code == self.special.0 {
                elements[range].fill(self.special.1);
            } else if exactly(block) {
                let scale = self.quantizer.scale_value(*code, &self.factor);
                for (value, element) in values[range.clone()].iter().zip(&mut elements[range]) {
                    let value = Finite { negative: value.is_sign_negative(), ..number(value.abs().to_bits()) };
                    *element = self.quantizer.element_code(&value, &scale);
                }
            }
        }
    }
}

impl ScaleChoice {
    fn new(quantizer: &Quantizer, tensor_scale: &Finite) -> ScaleChoice {
        match quantizer.rule.choice {
            Choice::Largest(quotient) => ScaleChoice::Largest(ScaleCodes::new(quantizer, &quotient, tensor_scale)),
            Choice::Percentile(percent) => {
                ScaleChoice::Percentile(percent, ScaleCodes::new(quantizer, &NEAREST, tensor_scale))
            }
            Choice::Extreme => match Extreme::new(quantizer.format) {
                Some(extreme) => ScaleChoice::Extreme(extreme),
                None => ScaleChoice::Largest(ScaleCodes::new(quantizer, &NEAREST, tensor_scale)),
            },
            Choice::TwoTops(_) | Choice::Least(_) => match Search::new(quantizer, tensor_scale) {
                Some(search) => ScaleChoice::Search(Box::new(search)),
                None => ScaleChoice::Exactly,
            },
        }
    }

    /// True if a scale follows from more than the largest magnitude.
    fn reads_values(&self) -> bool {
        !matches!(self, ScaleChoice::Largest(_))
    }
}

impl ElementRounding {
    fn new(quantizer: &Quantizer, scaled_tensor: bool) -> Option<ElementRounding> {
        if let Some(extreme) = quantizer.extreme() {
            return Some(ElementRounding::Multiplied(extreme));
        }
        let BlockFormat { scale, element, .. } = quantizer.format;
        // Boundaries of a table may have more bits than quotients are sure of.
        if matches!(element.format.encoding, Encoding::Table(_)) {
            return None;
        }
        let encoder = Encoder::new(element.format, quantizer.rounding, Overflow::Saturate).ok()?;
        let encoder = if element.symmetric { encoder.symmetric() } else { encoder };
        if scale.bits > 8 {
            return Some(ElementRounding::Divided { encoder });
        }
        let codes = 0..=scale.code_mask();
        let finite = |code: &u64| scale.decode(*code).class != Class::Nan;
        if !scaled_tensor
            && codes.clone().filter(finite).all(|code| scale.decode(code).significand == 1)
            && let Some(smallest) = encoder.smallest_exponent()
        {
            let exponent = |code| scale.decode(code).exponent + element.exponent;
            return Some(ElementRounding::Shifted { encoder, exponents: codes.map(exponent).collect(), smallest });
        }
        Some(match few(element) {
            Some(sign_bit) => ElementRounding::Counted { steps: codes.map(|_| OnceLock::new()).collect(), sign_bit },
            None => ElementRounding::Divided { encoder },
        })
    }
}

/// Sign bit of an element format of few magnitudes, all of them numbers; `None` for another format.
fn few(element: &Element) -> Option<u32> {
    let float = element.format.float()?;
    let plain = float.zeros == Zeros::Both && float.signed && float.padding_bits == 0;
    let magnitudes = element.format.largest(false);
    (plain && magnitudes <= STEPS as u64).then(|| 1 << (element.format.bits - 1))
}

vectorised! {
    /// Quotients by the divisor of each run of `length` values, rounded to odd.
    ///
    /// A quotient rounds to fewer bits as the exact quotient does. A divisor of zero gives zeros.
    fn divide(values: &[f32], length: usize, divisors: &[f64], quotients: &mut [f32]) {
        for ((values, quotients), divisor) in values.chunks(length).zip(quotients.chunks_mut(length)).zip(divisors) {
            if *divisor == 0.0 {
                values.iter().zip(quotients).for_each(|(value, quotient)| *quotient = value * 0.0);
                continue;
            }
            for (value, quotient) in values.iter().zip(quotients) {
                // f64 is not nearer to a boundary of an element than the exact quotient, of 24 bits by at most 36.
                let exact = (f64::from(*value) / divisor).clamp(-HUGE, HUGE);
                let near = exact as f32;
                let (wide, bits) = (f64::from(near), near.to_bits());
                let truncated = bits - u32::from(wide.abs() > exact.abs());
                *quotient = f32::from_bits(if wide == exact { bits } else { truncated | 1 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::{
        base::vectors::{FORCED, Vectors},
        format::block::{SCALE_RULES, formats},
    };

    /// Blocks of every kind: exponent ranges, few bits, thresholds, zeros, subnormals, NaN and infinities.
    fn tensor(random: &mut ChaCha8Rng, count: usize, length: usize) -> Vec<f32> {
        let mut values = Vec::new();
        while values.len() < count {
            let top = random.random_range(0..255u32);
            let spread = [0, 1, 3, 8, 30, 254][random.random_range(0..6)];
            let kept = [23, 23, 3, 1][random.random_range(0..4)];
            let special = random.random_range(0..12) == 0;
            for _ in 0..length {
                let exponent = top.saturating_sub(random.random_range(0..=spread));
                let trailing = random.random::<u32>() >> 9 & (u32::MAX << (23 - kept));
                // Sometimes one unit off: both sides of a tie or of a step of the scale.
                let off = [0, 0, 0, 1, u32::MAX][random.random_range(0..5)];
                let bits = (exponent << 23 | trailing).wrapping_add(off) & 0x7fff_ffff | random.random::<u32>() << 31;
                let value = f32::from_bits(bits);
                let value = if special || value.is_finite() { value } else { 1.0 };
                values.push(if random.random_range(0..16) == 0 { 0.0 * value.signum() } else { value });
            }
            if special {
                let at = values.len() - 1 - random.random_range(0..length);
                values[at] = [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY][random.random_range(0..4)];
            }
        }
        values.truncate(count);
        values
    }

    fn check(quantizer: &Quantizer, values: &[f32], row: usize) {
        let exactly = quantizer.quantize_with(values.len(), row, |at| Real::from(f64::from(values[at])));
        let fast = VectorQuantizer::of(quantizer, values).expect("a format that the fast path has");
        let fast = fast.quantize(values, row);
        let name = format!("{} {} {:?} {row}", quantizer.format, quantizer.rule, quantizer.rounding);
        assert_eq!((fast.tensor_scale, &fast.scales), (exactly.tensor_scale, &exactly.scales), "{name}");
        for (at, (code, expected)) in fast.elements.iter().zip(&exactly.elements).enumerate() {
            let scale = fast.scales[fast.block_of(at)];
            assert_eq!(code, expected, "{name}: element {at}, {:e} by scale {scale:#x}", values[at]);
        }
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
        assert_eq!(bits(fast.dequantize()), bits(exactly.dequantize_exactly()), "{name}");
    }

    /// The formats without tables, which the exact computation alone converts.
    fn vectorised() -> impl Iterator<Item = &'static BlockFormat> {
        let vectorised = |format: &&BlockFormat| {
            format.offset.is_none() && !matches!(format.element.format.encoding, Encoding::Table(_))
        };
        formats().iter().filter(vectorised)
    }

    fn quantizers() -> impl Iterator<Item = Quantizer> {
        let all = vectorised().flat_map(|format| SCALE_RULES.iter().map(move |rule| (format, rule)));
        all.flat_map(|(format, rule)| {
            Rounding::DETERMINISTIC.map(|rounding| Quantizer { rule, rounding, ..Quantizer::new(format) })
        })
    }

    #[test]
    fn blocks_of_every_kind_are_those_of_the_exact_computation() {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        for quantizer in quantizers() {
            let length = quantizer.format.length;
            for row in [length * 6, length + 7, 1, 5 * length - 1] {
                check(&quantizer, &tensor(&mut random, row * 2 * (length * 16).div_ceil(row), length), row);
            }
        }
    }

    #[test]
    fn elements_that_reach_as_far_as_f32_too() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        for element in ["binary8p1uf", "binary8p1ue", "binary8p1sf", "binary8p2uf", "e5m2"] {
            let format = BlockFormat::with_f32_scales(crate::format::find(element).unwrap(), 1, 32).unwrap();
            for rounding in Rounding::DETERMINISTIC {
                let quantizer = Quantizer { rounding, ..Quantizer::new(format) };
                check(&quantizer, &tensor(&mut random, 96 * 20, 32), 96);
            }
        }
    }

    #[test]
    fn tensors_with_scales_of_their_own_too() {
        let nvfp4 = crate::format::block::find("nvfp4").unwrap();
        let mut random = ChaCha8Rng::seed_from_u64(5);
        for scale in [1.0, 0.75, f32::from_bits(1), f32::MAX, 1e-6, 3.3e-4, 2f32.powi(-126), 1e30] {
            for rounding in Rounding::DETERMINISTIC {
                let quantizer = Quantizer { tensor_scale: Some(scale), rounding, ..Quantizer::new(nvfp4) };
                let mut values = tensor(&mut random, 16 * 40, 16);
                // Most blocks of one height near that of the scale.
                let near =
                    tensor(&mut random, 16 * 80, 16).into_iter().map(|x| f32::from_bits(x.to_bits() & 0x81ff_ffff));
                values.extend(
                    near.map(|x| x * 2f32.powi(62) * 2f32.powi(58) * scale)
                        .map(|x| if x.is_finite() { x } else { scale }),
                );
                check(&quantizer, &values, 16);
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_blocks() {
        let mut random = ChaCha8Rng::seed_from_u64(6);
        for vectors in Vectors::all() {
            for format in vectorised() {
                let values = tensor(&mut random, format.length * 40, format.length);
                // Only a pool of one thread is sure to take the serial path.
                let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
                pool.install(|| {
                    FORCED.set(Some(vectors));
                    check(&Quantizer::new(format), &values, format.length * 2);
                    FORCED.set(None);
                });
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_block_is_that_of_the_exact_computation(
            bits in prop::collection::vec(any::<u32>(), 96), format in 0..vectorised().count(), rule in 0..SCALE_RULES.len()
        ) {
            let values: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
            let format = vectorised().nth(format).unwrap();
            let quantizer = Quantizer { rule: &SCALE_RULES[rule], ..Quantizer::new(format) };
            check(&quantizer, &values, 48);
        }
    }
}
