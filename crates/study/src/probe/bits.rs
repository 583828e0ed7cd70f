//! Agreement of sums bit by bit with half precision, single precision, the exact sum and a model.
//!
//! Source of the experiment: Feng et al., EGEMM-TC (PPoPP 2021), section 3.2 and figure 3: does a matrix unit sum in half or in single
//! precision?

use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{SAMPLES, bit_table::Compared};
use crate::{
    Error, Result,
    arithmetic::{Evaluator, Model},
    base::{interrupt, named::named, work::UNASKED},
    device::{Batches, Device, Execution, ExecutionKind},
    exact::Dot,
    format::{self, Class, Format, Overflow, Real, Rounding},
    inputs::{Draw, Op},
    isa::{Codes, Instruction, MatrixShape, Tiles},
};

/// Bits of f32, in which results are compared.
pub const BITS: usize = 32;
/// Fraction bits of f32.
pub const FRACTION: usize = 23;
/// Samples that are executed at a time.
const CHUNK: usize = 1 << 13;

named! {
    /// A reference of a sum.
    pub enum BitReference {
        Half = "half": "Every product and every sum rounded to f16, in ascending k";
        Single = "single": "Every product and every sum rounded to f32, in ascending k";
        Exact = "exact": "The exact sum, rounded to the format of D once";
        Model = "model": "The arithmetic model";
    }
}

named! {
    /// A property of the operands that may affect agreement.
    pub enum OperandProperty {
        Terms = "k": "Number of products";
        Gap = "exponent gap": "The exponent of the largest product minus the smallest one's";
        Range = "dynamic range": "The exponent of the largest operand minus the smallest one's";
        Cancelled = "cancelled bits": "The exponent of the largest product minus the exact sum's";
    }
}

/// Sums of one instruction to compare.
#[derive(Debug, Clone, Copy)]
pub struct BitRequest<'a> {
    /// The instruction, with floating-point results of at most 32 bits.
    pub instruction: &'a Instruction,
    /// The operation whose products are summed, without c.
    pub op: Op,
    /// Distribution of the operands.
    pub values: Draw,
    /// The seed.
    pub seed: u64,
    /// Number of samples.
    pub samples: u64,
}

/// Agreement of the results of a device with one reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitAgreement {
    /// The reference.
    pub reference: BitReference,
    /// Samples with a finite reference and a finite result.
    pub samples: u64,
    /// Samples equal to the reference.
    pub equal: u64,
    /// Samples with the reference's bit, at each bit of f32 from the lowest.
    pub bits: [u64; BITS],
    /// Samples with the reference's sign, exponent and first n fraction bits, for each n.
    pub leading: [u64; FRACTION + 1],
    /// Samples within one unit of the n-th fraction bit of the reference, for each n.
    pub near: [u64; FRACTION + 1],
}

/// Agreement of the samples with a property in a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PropertyBin {
    /// The property.
    pub factor: OperandProperty,
    /// The smallest value.
    pub from: i32,
    /// The largest value.
    pub to: i32,
    /// Samples.
    pub samples: u64,
    /// Samples equal to each reference, in the order of [`BitReference::ALL`].
    pub equal: [u64; BitReference::ALL.len()],
    /// Sum of the fraction bits to which samples agree with the exact sum.
    pub bits: u64,
}

/// Agreement of the sums of one instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct BitResult {
    /// How the device executed the instruction.
    pub execution: Execution,
    /// Agreement with each reference; with the model only if there is one.
    pub agreements: Vec<BitAgreement>,
    /// Agreement by properties of the operands, in ranges with samples.
    pub factors: Vec<PropertyBin>,
}

/// Values of the operands of a sample.
struct BitSample {
    a: Vec<f64>,
    b: Vec<f64>,
}

/// Compares sums of `request` on a device with each reference, within the time `most`.
///
/// Sums of 1, 2, 4, ... products show the dependence on k. `results` has the samples so far, also after an error.
///
/// # Errors
/// An instruction without such bits, the device's errors, an interruption.
pub fn run_until(
    device: &mut dyn Device,
    model: Option<&Evaluator>,
    request: &BitRequest<'_>,
    most: Option<Duration>,
    results: &mut Vec<BitResult>,
) -> Result<()> {
    let i = request.instruction;
    check(i)?;
    let execution = device.prepare(i)?;
    let op_terms = request.op.terms(i);
    let doubled = std::iter::successors(Some(1), |k| Some(2 * k)).take_while(|k| *k < i.k);
    let mut ks: Vec<usize> = doubled.chain([i.k]).filter(|k| *k != op_terms).collect();
    // The operation's own sum comes first; the rest shows the dependence on k.
    ks.insert(0, op_terms);
    let mut result = BitResult { execution, agreements: Vec::new(), factors: Vec::new() };
    let (mut batches, mut outcome) = (Batches::default(), Ok(()));
    for &terms in &ks {
        let mut tally = BitTally::new(model.is_some());
        let until = most.map(|most| Instant::now() + most / ks.len() as u32);
        outcome = sample(device, model, request, terms, &mut batches, until, &mut tally);
        result.factors.push(tally.bin_of(OperandProperty::Terms, terms as i32));
        if terms == op_terms {
            result.agreements = tally.agreements;
            result.factors.extend(tally.bins);
        }
        if outcome.is_err() {
            break;
        }
    }
    result.factors.retain(|bin| bin.samples > 0);
    result.factors.sort_by_key(|bin| (bin.factor as usize, bin.from));
    if outcome.is_ok() || !result.factors.is_empty() {
        results.push(result);
    }
    outcome
}

/// Adds the samples of sums of `terms` products.
fn sample(
    device: &mut dyn Device,
    model: Option<&Evaluator>,
    request: &BitRequest<'_>,
    terms: usize,
    batches: &mut Batches,
    until: Option<Instant>,
    tally: &mut BitTally,
) -> Result<()> {
    let i = request.instruction;
    let per_tile = i.m.min(i.n);
    let place = |at: usize| (at / per_tile * i.m + at % per_tile) * i.n + at % per_tile;
    for (chunk, start) in (0..request.samples).step_by(CHUNK).enumerate() {
        if start > 0 && until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
        let samples = (request.samples - start).min(CHUNK as u64) as usize;
        let mut random = ChaCha8Rng::seed_from_u64(request.seed);
        random.set_stream(((terms as u64) << 40) + chunk as u64);
        let (tiles, drawn) = operands(request, terms, samples, &mut random);
        let mut d = Codes::zeros(i.d, 0);
        let outcome = batches.extend(device, i, MatrixShape { rows: i.m, columns: i.n }, &tiles, until, &mut d);
        let executed = d.len() / (i.m * i.n);
        let expected = model.map(|model| model.execute(&tiles.slice(0, executed)));
        let mut references = BitReferences::new(i);
        for (at, sample) in drawn.iter().take(executed * per_tile).enumerate() {
            let codes = references.of(sample, expected.as_ref().map(|expected: &Codes| expected.get(place(at))));
            tally.add(i, d.get(place(at)), codes, properties(sample));
        }
        if outcome.is_err() || executed < tiles.count {
            return outcome;
        }
    }
    Ok(())
}

/// Sums of several instructions to compare.
#[derive(Debug, Clone, Copy)]
pub struct BitPlan<'a> {
    /// The instructions.
    pub instructions: &'a [Instruction],
    /// The operation whose products are summed, without c.
    pub op: Op,
    /// Distributions of the operands.
    pub distributions: &'a [Draw],
    /// The seed.
    pub seed: u64,
    /// Samples of each sum; `None`: [`SAMPLES`], or as many as a program answers in a minute.
    pub samples: Option<u64>,
}

impl BitPlan<'_> {
    /// Compares the sums of each instruction; `all` has the results so far, also after an error.
    ///
    /// # Errors
    /// An operation that adds c, an instruction without such bits, the device's errors, an interruption.
    pub fn run(
        &self,
        device: &mut dyn Device,
        model: &Model,
        all: &mut Vec<Compared>,
        step: &dyn Fn(&str),
    ) -> Result<()> {
        if self.op == Op::Accumulate {
            return Err(Error::request(
                "‹op=accumulate›: sums are compared without c; give multiply, inner-product or dot",
            ));
        }
        for instruction in self.instructions {
            check(instruction)?;
            device.has(instruction)?;
        }
        let name = device.identity().name.to_string();
        let comparisons = (self.instructions.len() * self.distributions.len()).max(1) as u32;
        for instruction in self.instructions {
            let evaluator = model.evaluator(instruction)?;
            let external = device.prepare(instruction)?.kind == ExecutionKind::External;
            for &values in self.distributions {
                interrupt::check()?;
                step(&format!("comparing the bits of {instruction} on {name}: {values}"));
                let samples = self.samples.unwrap_or(SAMPLES);
                let request = BitRequest { instruction, op: self.op, values, seed: self.seed, samples };
                let most = (external && self.samples.is_none()).then(|| UNASKED / comparisons);
                let mut results = Vec::new();
                let outcome = run_until(device, Some(&evaluator), &request, most, &mut results);
                all.extend(results.into_iter().map(|result| Compared {
                    instruction: instruction.name.clone(),
                    device: name.clone(),
                    values: values.to_string(),
                    result,
                }));
                outcome?;
            }
        }
        Ok(())
    }
}

/// Refuses an instruction whose results are no floating-point numbers of at most 32 bits.
pub fn check(i: &Instruction) -> Result<()> {
    let wrong = match (i.d.float(), i.is_sparse() || i.scale.is_some()) {
        (None, _) => "its results are integers",
        (Some(float), _) if i.d.bits > 32 || float.precision() > 24 => "its results have more bits than f32",
        (_, true) => "its operands are sparse or have scales",
        _ => return Ok(()),
    };
    Err(Error::request(format!("{i}: {wrong}; bits are compared for dense instructions with results up to f32")))
}

/// Tiles with a sample at each element of their diagonals, and the rounded operands of each sample.
fn operands(
    request: &BitRequest<'_>,
    terms: usize,
    samples: usize,
    random: &mut ChaCha8Rng,
) -> (Tiles, Vec<BitSample>) {
    let i = request.instruction;
    let per_tile = i.m.min(i.n);
    let mut tiles = Tiles::zeros(i, samples.div_ceil(per_tile));
    let mut next = |format: &'static Format| {
        let value = request.values.next(random);
        let code = format.encode(&Real::from(value), Rounding::Rne, Overflow::Saturate).unwrap_or(0);
        (code, format.to_f64(code))
    };
    let mut drawn = Vec::with_capacity(samples);
    for at in 0..samples {
        let (tile, place) = (at / per_tile, at % per_tile);
        let mut sample = BitSample { a: Vec::with_capacity(terms), b: Vec::with_capacity(terms) };
        for k in 0..terms {
            let ((a, x), (b, y)) = (next(i.a), next(i.b));
            tiles.a.set((tile * i.m + place) * i.k + k, a);
            tiles.b.set((tile * i.k + k) * i.n + place, b);
            sample.a.push(x);
            sample.b.push(y);
        }
        drawn.push(sample);
    }
    (tiles, drawn)
}

/// Buffers for the references of samples.
struct BitReferences<'a> {
    instruction: &'a Instruction,
    wide: &'static Format,
    exact: Dot,
}

impl<'a> BitReferences<'a> {
    fn new(instruction: &'a Instruction) -> BitReferences<'a> {
        // Every operand is an f64 number.
        let wide = format::find("f64").expect("a format of the table");
        let exact = Dot::new(wide, wide, wide, instruction.d, instruction.k);
        BitReferences { instruction, wide, exact }
    }

    /// The references of a sample as codes of f32; `None` for a missing or non-finite one.
    fn of(&mut self, sample: &BitSample, model: Option<u64>) -> [Option<u32>; BitReference::ALL.len()] {
        let half = format::find("f16").expect("a format of the table");
        let rounded = |x: f64| half.to_f64(half.encode_f64(x, Rounding::Rne, Overflow::Standard).unwrap_or(0));
        let products = || sample.a.iter().zip(&sample.b);
        // The product of two numbers of 24 bits is exact in f64.
        let in_half = products().map(|(x, y)| rounded(x * y)).reduce(|sum, product| rounded(sum + product));
        let in_single = products().map(|(x, y)| (x * y) as f32).reduce(|sum, product| sum + product);
        let wide = self.wide;
        let code = |x: &f64| wide.encode_f64(*x, Rounding::Rne, Overflow::Standard).unwrap_or(0);
        let d = self.instruction.d;
        let exact =
            self.exact.sum(products().map(|(x, y)| (code(x), code(y))), 0).round(d, Rounding::Rne, Overflow::Standard);
        let finite = |x: f32| x.is_finite().then(|| x.to_bits());
        [
            in_half.and_then(|x| finite(x as f32)),
            in_single.and_then(finite),
            exact.and_then(|code| bits(d, code)),
            model.and_then(|code| bits(d, code)),
        ]
    }
}

/// The bits of f32 of a finite result.
fn bits(format: &Format, code: u64) -> Option<u32> {
    let finite = !matches!(format.decode(code).class, Class::Nan | Class::Infinite);
    finite.then(|| (format.to_f64(code) as f32).to_bits())
}

/// Exponent gap, dynamic range and cancelled bits of a sample; `None` if everything is zero.
fn properties(sample: &BitSample) -> [Option<i32>; 3] {
    let exponent = |x: f64| (x != 0.0).then(|| ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023);
    let spread = |exponents: Vec<i32>| Some(exponents.iter().max()? - exponents.iter().min()?);
    let products: Vec<f64> = sample.a.iter().zip(&sample.b).map(|(x, y)| x * y).collect();
    let of_products: Vec<i32> = products.iter().filter_map(|x| exponent(*x)).collect();
    let operands: Vec<i32> = sample.a.iter().chain(&sample.b).filter_map(|x| exponent(*x)).collect();
    let sum = exponent(products.iter().sum());
    let cancelled = of_products.iter().max().zip(sum).map(|(largest, sum)| (largest - sum).max(0));
    [spread(of_products), spread(operands), cancelled]
}

/// Counts over samples.
struct BitTally {
    agreements: Vec<BitAgreement>,
    bins: Vec<PropertyBin>,
    all: PropertyBin,
}

/// Ranges in which properties are counted.
const RANGES: [(i32, i32); 9] = [(0, 0), (1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 64), (65, 4096)];

impl BitTally {
    fn new(with_model: bool) -> BitTally {
        let agreement = |reference: BitReference| BitAgreement {
            reference,
            samples: 0,
            equal: 0,
            bits: [0; BITS],
            leading: [0; FRACTION + 1],
            near: [0; FRACTION + 1],
        };
        let references =
            BitReference::ALL.into_iter().filter(|reference| with_model || *reference != BitReference::Model);
        let bin = |factor: OperandProperty, (from, to): (i32, i32)| PropertyBin {
            factor,
            from,
            to,
            samples: 0,
            equal: [0; BitReference::ALL.len()],
            bits: 0,
        };
        let factors = [OperandProperty::Gap, OperandProperty::Range, OperandProperty::Cancelled];
        BitTally {
            agreements: references.map(agreement).collect(),
            bins: factors.iter().flat_map(|factor| RANGES.map(|range| bin(*factor, range))).collect(),
            all: bin(OperandProperty::Terms, (0, 0)),
        }
    }

    fn add(
        &mut self,
        i: &Instruction,
        d: u64,
        references: [Option<u32>; BitReference::ALL.len()],
        properties: [Option<i32>; 3],
    ) {
        let Some(result) = bits(i.d, d) else { return };
        for agreement in &mut self.agreements {
            if let Some(reference) = references[agreement.reference as usize] {
                agreement.add(result, reference);
            }
        }
        let equal = references.map(|reference| u64::from(reference == Some(result)));
        let near = references[BitReference::Exact as usize].map_or(0, |exact| near(result, exact));
        let mut count = |bin: &mut PropertyBin| {
            bin.samples += 1;
            bin.bits += near as u64;
            bin.equal.iter_mut().zip(equal).for_each(|(count, equal)| *count += equal);
        };
        count(&mut self.all);
        for (factor, value) in
            [OperandProperty::Gap, OperandProperty::Range, OperandProperty::Cancelled].into_iter().zip(properties)
        {
            let within = |bin: &&mut PropertyBin| {
                bin.factor == factor && value.is_some_and(|value| (bin.from..=bin.to).contains(&value))
            };
            self.bins.iter_mut().find(within).map(&mut count);
        }
    }

    /// All samples as a bin of one value of a property.
    fn bin_of(&self, factor: OperandProperty, value: i32) -> PropertyBin {
        PropertyBin { factor, from: value, to: value, ..self.all }
    }
}

impl BitAgreement {
    fn add(&mut self, result: u32, reference: u32) {
        self.samples += 1;
        self.equal += u64::from(result == reference);
        let differing = result ^ reference;
        for (bit, count) in self.bits.iter_mut().enumerate() {
            *count += u64::from(differing >> bit & 1 == 0);
        }
        let same = (differing.leading_zeros() as usize).checked_sub(BITS - FRACTION);
        for count in self.leading.iter_mut().take(same.map_or(0, |same| same.min(FRACTION) + 1)) {
            *count += 1;
        }
        if result == reference || result >> 31 == reference >> 31 {
            for count in self.near.iter_mut().take(near(result, reference) + 1) {
                *count += 1;
            }
        }
    }
}

/// Number of fraction bits to which two codes of f32 agree within one unit.
fn near(result: u32, reference: u32) -> usize {
    if result >> 31 != reference >> 31 {
        return 0;
    }
    let apart = result.abs_diff(reference);
    (0..=FRACTION).rev().find(|bits| apart <= 1 << (FRACTION - bits)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::ModelDevice, isa};

    fn result(op: Op, values: Draw) -> BitResult {
        let i = isa::find("mma.m16n8k8.f32.f16.f16.f32").unwrap();
        let mut device = ModelDevice::open("turing").unwrap();
        let model = device.model().unwrap().evaluator(&i).unwrap();
        let request = BitRequest { instruction: &i, op, values, seed: 1, samples: 3000 };
        let mut results = Vec::new();
        run_until(&mut device, Some(&model), &request, None, &mut results).unwrap();
        results.remove(0)
    }

    #[test]
    fn a_product_is_that_of_single_precision_and_a_simulated_device_is_its_model() {
        let result = result(Op::Multiply, Draw::Uniform(-1.0, 1.0));
        for agreement in &result.agreements {
            let all = agreement.reference != BitReference::Half;
            assert_eq!(agreement.equal == 3000, all, "{agreement:?}");
            assert_eq!(agreement.bits.iter().all(|count| *count == 3000), all);
        }
    }

    #[test]
    fn a_truncated_sum_is_near_that_of_single_precision_and_not_always_it() {
        let result = result(Op::InnerProduct, Draw::Normal(0.0, 1.0));
        let single = result.agreements.iter().find(|agreement| agreement.reference == BitReference::Single).unwrap();
        assert!(single.equal < single.samples && single.equal > single.samples / 2, "{single:?}");
        assert!(single.near[21] > single.leading[21] && single.leading.is_sorted_by(|x, y| x >= y));
        assert!(single.near.is_sorted_by(|x, y| x >= y));
        let half = result.agreements[BitReference::Half as usize];
        assert!(half.equal < single.equal / 10);
        let ks: Vec<i32> =
            result.factors.iter().filter(|bin| bin.factor == OperandProperty::Terms).map(|bin| bin.from).collect();
        assert_eq!(ks, [1, 2, 4, 8]);
        let gaps: u64 =
            result.factors.iter().filter(|bin| bin.factor == OperandProperty::Gap).map(|bin| bin.samples).sum();
        assert_eq!(gaps, 3000);
    }

    #[test]
    fn near_counts_units_of_the_fraction_across_carries() {
        let (x, y) = (1.0f32, 1.0f32 - f32::EPSILON / 2.0);
        assert_eq!(near(x.to_bits(), y.to_bits()), 23);
        assert_eq!(near(x.to_bits(), x.to_bits() + 4), 21);
        assert_eq!(near(x.to_bits(), (-x).to_bits()), 0);
    }
}
