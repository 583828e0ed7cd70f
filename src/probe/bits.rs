//! Agreement bit by bit: which bits of a sum are those of the same sum in half precision, in single precision, exact, and by a model.
//!
//! Source of the experiment: Feng et al., EGEMM-TC (PPoPP 2021), section 3.2 and figure 3: is the sum of a matrix unit one of half or one
//! of single precision?

use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{
    Error, Result,
    arithmetic::Evaluator,
    base::{named::named, pace::Pace},
    device::{Device, Execution, execute_paced},
    exact::Dot,
    format::{self, Class, Format, Overflow, Real, Rounding},
    inputs::{Draw, Op},
    isa::{Codes, Instruction, Tiles},
};

/// Bits of f32, the format that results are compared in.
pub const BITS: usize = 32;
/// Bits of f32 behind the leading one.
pub const FRACTION: usize = 23;
/// Samples that are executed at a time.
const CHUNK: usize = 1 << 13;

named! {
    /// What a sum is compared with.
    pub enum BitReference {
        Half = "half": "Every product and every sum rounded to f16, in ascending k";
        Single = "single": "Every product and every sum rounded to f32, in ascending k";
        Exact = "exact": "The exact sum, rounded to the format of D once";
        Model = "model": "The arithmetic model";
    }
}

named! {
    /// A property of the operands that agreement may depend on.
    pub enum Factor {
        Terms = "k": "How many products are summed";
        Gap = "exponent gap": "The exponent of the largest product minus that of the smallest";
        Range = "dynamic range": "The exponent of the largest operand minus that of the smallest";
        Cancelled = "cancelled bits": "The exponent of the largest product minus that of the exact sum";
    }
}

/// Where operands come from.
#[derive(Debug, Clone, PartialEq)]
pub enum OperandValues {
    /// A distribution.
    Drawn(Draw),
    /// Numbers of a user's own, of which each operand is one at random.
    Given(Vec<f64>),
}

/// What to compare.
#[derive(Debug, Clone)]
pub struct BitRequest<'a> {
    /// The instruction: its results are floating-point numbers of 32 bits at most.
    pub instruction: &'a Instruction,
    /// How many products are summed: those of the operation, without c.
    pub op: Op,
    /// Where operands come from.
    pub values: &'a OperandValues,
    /// The seed.
    pub seed: u64,
    /// How many samples.
    pub samples: u64,
}

/// How the results of a device agree with one reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreement {
    /// The reference.
    pub reference: BitReference,
    /// Samples with a finite reference and a finite result.
    pub samples: u64,
    /// Those that are the reference.
    pub equal: u64,
    /// At each bit of f32, the lowest first, those with the reference's bit there.
    pub bits: [u64; BITS],
    /// Those whose sign, exponent and first so many bits of the fraction are the reference's.
    pub leading: [u64; FRACTION + 1],
    /// Those that are no further from the reference than one unit of so many bits of the fraction.
    pub near: [u64; FRACTION + 1],
}

/// Samples with a property of their operands in a range, and how many of them are a reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FactorBin {
    /// The property.
    pub factor: Factor,
    /// The smallest value.
    pub from: i32,
    /// The largest value.
    pub to: i32,
    /// Samples.
    pub samples: u64,
    /// Those that are each reference, in the order of [`BitReference::ALL`].
    pub equal: [u64; BitReference::ALL.len()],
    /// The sum of the bits behind the leading one up to which samples are near the exact sum.
    pub bits: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct BitResult {
    /// How the device executed the instruction.
    pub execution: Execution,
    /// Against each reference; the model's only where there is one.
    pub agreements: Vec<Agreement>,
    /// By properties of the operands, those that a sample has.
    pub factors: Vec<FactorBin>,
}

/// The operands of a sample, as values.
struct Sample {
    a: Vec<f64>,
    b: Vec<f64>,
}

/// Compares sums of `request` on a device with each reference; `model` where there is one. What depends on k is measured for 1, 2, 4, ...
/// products as well, as many samples of each.
///
/// # Errors
/// An instruction whose results have more than 32 bits, or are integers, or whose operands are sparse or scaled; those of the device;
/// an interruption.
pub fn run(device: &mut dyn Device, model: Option<&Evaluator>, request: &BitRequest<'_>) -> Result<BitResult> {
    let mut results = Vec::new();
    run_until(device, model, request, None, &mut results)?;
    Ok(results.remove(0))
}

/// As [`run`], within the time `most`. Whatever ends it, `results` has the samples until then, if there are some.
///
/// # Errors
/// As [`run`].
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
    let own = request.op.terms(i);
    let doubled = std::iter::successors(Some(1), |k| Some(2 * k)).take_while(|k| *k < i.k);
    let mut ks: Vec<usize> = doubled.chain([i.k]).filter(|k| *k != own).collect();
    // The operation's own sum comes first: the others say what depends on k.
    ks.insert(0, own);
    let mut result = BitResult { execution, agreements: Vec::new(), factors: Vec::new() };
    let (mut pace, mut outcome) = (Pace::new(1, CHUNK as u64), Ok(()));
    for &terms in &ks {
        let mut tally = Tally::new(model.is_some());
        let until = most.map(|most| Instant::now() + most / ks.len() as u32);
        outcome = sample(device, model, request, terms, (&mut pace, until), &mut tally);
        result.factors.push(tally.whole(Factor::Terms, terms as i32));
        if terms == own {
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

/// Adds the samples of sums of so many products.
fn sample(
    device: &mut dyn Device,
    model: Option<&Evaluator>,
    request: &BitRequest<'_>,
    terms: usize,
    (pace, until): (&mut Pace, Option<Instant>),
    tally: &mut Tally,
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
        let outcome = execute_paced(device, i, &tiles, pace, until, &mut d);
        let executed = d.len() / (i.m * i.n);
        let expected = model.map(|model| model.execute(&tiles.slice(0, executed)));
        let mut references = References::new(i);
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

/// Refuses what has no such bits.
pub(crate) fn check(i: &Instruction) -> Result<()> {
    let wrong = match (i.d.float(), i.is_sparse() || i.scale.is_some()) {
        (None, _) => "its results are integers",
        (Some(float), _) if i.d.bits > 32 || float.precision() > 24 => "its results have more bits than f32",
        (_, true) => "its operands are sparse or have scales",
        _ => return Ok(()),
    };
    Err(Error::request(format!("{i}: {wrong}; agreement bit by bit is of dense instructions with results up to f32")))
}

/// Tiles with a sample at each element of their diagonals, and its operands after they were rounded.
fn operands(request: &BitRequest<'_>, terms: usize, samples: usize, random: &mut ChaCha8Rng) -> (Tiles, Vec<Sample>) {
    let i = request.instruction;
    let per_tile = i.m.min(i.n);
    let mut tiles = Tiles::zeros(i, samples.div_ceil(per_tile));
    let mut next = |format: &'static Format| {
        let value = match request.values {
            OperandValues::Drawn(draw) => draw.next(random),
            OperandValues::Given(values) => values[random.random_range(0..values.len() as u64) as usize],
        };
        let code = format.encode(&Real::from(value), Rounding::Rne, Overflow::Saturate).unwrap_or(0);
        (code, format.to_f64(code))
    };
    let mut drawn = Vec::with_capacity(samples);
    for at in 0..samples {
        let (tile, place) = (at / per_tile, at % per_tile);
        let mut sample = Sample { a: Vec::with_capacity(terms), b: Vec::with_capacity(terms) };
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
struct References<'a> {
    instruction: &'a Instruction,
    wide: &'static Format,
    exact: Dot,
}

impl<'a> References<'a> {
    fn new(instruction: &'a Instruction) -> References<'a> {
        // Every operand is a number of f64.
        let wide = format::find("f64").expect("a format of the table");
        let exact = Dot::new(wide, wide, wide, instruction.d, instruction.k);
        References { instruction, wide, exact }
    }

    /// The references of a sample as codes of f32; `None` where there is none, or it is not finite.
    fn of(&mut self, sample: &Sample, model: Option<u64>) -> [Option<u32>; BitReference::ALL.len()] {
        let half = format::find("f16").expect("a format of the table");
        let rounded = |x: f64| half.to_f64(half.encode_f64(x, Rounding::Rne, Overflow::Standard).unwrap_or(0));
        let products = || sample.a.iter().zip(&sample.b);
        // A product of two numbers of 24 bits is one of f64.
        let in_half = products().map(|(x, y)| rounded(x * y)).reduce(|sum, own| rounded(sum + own));
        let in_single = products().map(|(x, y)| (x * y) as f32).reduce(|sum, own| sum + own);
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

/// The exponent gap, the dynamic range and the cancelled bits of a sample; `None` where everything is zero.
fn properties(sample: &Sample) -> [Option<i32>; 3] {
    let exponent = |x: f64| (x != 0.0).then(|| ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023);
    let spread = |exponents: Vec<i32>| Some(exponents.iter().max()? - exponents.iter().min()?);
    let products: Vec<f64> = sample.a.iter().zip(&sample.b).map(|(x, y)| x * y).collect();
    let of_products: Vec<i32> = products.iter().filter_map(|x| exponent(*x)).collect();
    let operands: Vec<i32> = sample.a.iter().chain(&sample.b).filter_map(|x| exponent(*x)).collect();
    let sum = exponent(products.iter().sum());
    let cancelled = of_products.iter().max().zip(sum).map(|(largest, sum)| (largest - sum).max(0));
    [spread(of_products), spread(operands), cancelled]
}

/// What samples add up to.
struct Tally {
    agreements: Vec<Agreement>,
    bins: Vec<FactorBin>,
    all: FactorBin,
}

/// The ranges that properties are counted in.
const RANGES: [(i32, i32); 9] = [(0, 0), (1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 64), (65, 4096)];

impl Tally {
    fn new(with_model: bool) -> Tally {
        let agreement = |reference: BitReference| Agreement {
            reference,
            samples: 0,
            equal: 0,
            bits: [0; BITS],
            leading: [0; FRACTION + 1],
            near: [0; FRACTION + 1],
        };
        let references = BitReference::ALL.into_iter().filter(|own| with_model || *own != BitReference::Model);
        let bin = |factor: Factor, (from, to): (i32, i32)| FactorBin {
            factor,
            from,
            to,
            samples: 0,
            equal: [0; BitReference::ALL.len()],
            bits: 0,
        };
        let factors = [Factor::Gap, Factor::Range, Factor::Cancelled];
        Tally {
            agreements: references.map(agreement).collect(),
            bins: factors.iter().flat_map(|factor| RANGES.map(|range| bin(*factor, range))).collect(),
            all: bin(Factor::Terms, (0, 0)),
        }
    }

    fn add(
        &mut self,
        i: &Instruction,
        d: u64,
        references: [Option<u32>; BitReference::ALL.len()],
        properties: [Option<i32>; 3],
    ) {
        let Some(own) = bits(i.d, d) else { return };
        for agreement in &mut self.agreements {
            if let Some(reference) = references[agreement.reference as usize] {
                agreement.add(own, reference);
            }
        }
        let equal = references.map(|reference| u64::from(reference == Some(own)));
        let near = references[BitReference::Exact as usize].map_or(0, |exact| near(own, exact));
        let mut count = |bin: &mut FactorBin| {
            bin.samples += 1;
            bin.bits += near as u64;
            bin.equal.iter_mut().zip(equal).for_each(|(count, equal)| *count += equal);
        };
        count(&mut self.all);
        for (factor, value) in [Factor::Gap, Factor::Range, Factor::Cancelled].into_iter().zip(properties) {
            let within = |bin: &&mut FactorBin| {
                bin.factor == factor && value.is_some_and(|value| (bin.from..=bin.to).contains(&value))
            };
            self.bins.iter_mut().find(within).map(&mut count);
        }
    }

    /// All samples as those with one value of a property.
    fn whole(&self, factor: Factor, value: i32) -> FactorBin {
        FactorBin { factor, from: value, to: value, ..self.all }
    }
}

impl Agreement {
    fn add(&mut self, own: u32, reference: u32) {
        self.samples += 1;
        self.equal += u64::from(own == reference);
        let differing = own ^ reference;
        for (bit, count) in self.bits.iter_mut().enumerate() {
            *count += u64::from(differing >> bit & 1 == 0);
        }
        let same = (differing.leading_zeros() as usize).checked_sub(BITS - FRACTION);
        for count in self.leading.iter_mut().take(same.map_or(0, |same| same.min(FRACTION) + 1)) {
            *count += 1;
        }
        if own == reference || own >> 31 == reference >> 31 {
            for count in self.near.iter_mut().take(near(own, reference) + 1) {
                *count += 1;
            }
        }
    }
}

/// The most bits of the fraction of which one unit is not less than what two numbers of f32 are apart (in numbers of f32).
fn near(own: u32, reference: u32) -> usize {
    if own >> 31 != reference >> 31 {
        return 0;
    }
    let apart = own.abs_diff(reference);
    (0..=FRACTION).rev().find(|bits| apart <= 1 << (FRACTION - bits)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::ModelDevice, isa};

    fn result(op: Op, values: &OperandValues) -> BitResult {
        let i = isa::find("mma.m16n8k8.f32.f16.f16.f32").unwrap();
        let mut device = ModelDevice::open("turing").unwrap();
        let model = device.model().unwrap().evaluator(&i).unwrap();
        let request = BitRequest { instruction: &i, op, values, seed: 1, samples: 3000 };
        run(&mut device, Some(&model), &request).unwrap()
    }

    #[test]
    fn a_product_is_that_of_single_precision_and_a_simulated_device_is_its_model() {
        let result = result(Op::Multiply, &OperandValues::Drawn(Draw::Uniform(-1.0, 1.0)));
        for agreement in &result.agreements {
            let all = agreement.reference != BitReference::Half;
            assert_eq!(agreement.equal == 3000, all, "{agreement:?}");
            assert_eq!(agreement.bits.iter().all(|count| *count == 3000), all);
        }
    }

    #[test]
    fn a_truncated_sum_is_near_that_of_single_precision_and_not_always_it() {
        let result = result(Op::InnerProduct, &OperandValues::Drawn(Draw::Normal(0.0, 1.0)));
        let single = result.agreements.iter().find(|own| own.reference == BitReference::Single).unwrap();
        assert!(single.equal < single.samples && single.equal > single.samples / 2, "{single:?}");
        assert!(single.near[21] > single.leading[21] && single.leading.is_sorted_by(|x, y| x >= y));
        assert!(single.near.is_sorted_by(|x, y| x >= y));
        let half = result.agreements[BitReference::Half as usize];
        assert!(half.equal < single.equal / 10);
        let ks: Vec<i32> =
            result.factors.iter().filter(|bin| bin.factor == Factor::Terms).map(|bin| bin.from).collect();
        assert_eq!(ks, [1, 2, 4, 8]);
        let gaps: u64 = result.factors.iter().filter(|bin| bin.factor == Factor::Gap).map(|bin| bin.samples).sum();
        assert_eq!(gaps, 3000);
    }

    #[test]
    fn operands_of_a_users_own_are_used() {
        let result = result(Op::Dot, &OperandValues::Given(vec![1.0, 2.0]));
        assert!(result.agreements.iter().all(|own| own.equal == own.samples), "small integers are exact everywhere");
    }

    #[test]
    fn near_counts_units_of_the_fraction_across_carries() {
        let (x, y) = (1.0f32, 1.0f32 - f32::EPSILON / 2.0);
        assert_eq!(near(x.to_bits(), y.to_bits()), 23);
        assert_eq!(near(x.to_bits(), x.to_bits() + 4), 21);
        assert_eq!(near(x.to_bits(), (-x).to_bits()), 0);
    }
}
