//! The tables and the plot of agreement bit by bit.

use super::bits::{BITS, BitReference, BitResult, FRACTION, Factor};
use crate::report::{Table, grouped};

/// The bits of the fraction that extended precision needs, by EGEMM-TC.
const EXTENDED: usize = 21;

crate::rows! {
    /// How many results have the bit of a reference, at a bit of f32.
    pub struct BitRow in "bit_agreement" {
        /// The instruction.
        instruction: String => shown("instruction").if_varied().essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// What operands are drawn from.
        values: String => shown("values").if_varied(),
        /// The bit of f32, 31 the sign.
        bit: usize => shown("bit").essential(),
        /// What it belongs to: sign, exponent, or the fraction, of which 1 is the first bit.
        place: String => shown("is").essential(),
        /// Samples.
        samples: u64 => shown("samples"),
        /// Those with the bit of the sum in half precision.
        half: u64 => shown("=half").essential(),
        /// Those with the bit of the sum in single precision.
        single: u64 => shown("=single").essential(),
        /// Those with the bit of the exact sum, rounded once.
        exact: u64 => shown("=exact").essential(),
        /// Those with the bit of the model's result.
        model: Option<u64> => shown("=model").if_filled().essential(),
    }

    /// How results agree with a reference.
    pub struct BitReferenceRow in "bit_references" {
        /// The instruction.
        instruction: String => shown("instruction").if_varied().essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// What operands are drawn from.
        values: String => shown("values").if_varied(),
        /// The reference.
        reference: &'static str => shown("reference").essential(),
        /// What it is.
        meaning: &'static str => hidden(),
        /// Samples with a finite reference and result.
        samples: u64 => shown("samples").essential(),
        /// Those that are the reference in every bit.
        equal: u64 => shown("equal").essential(),
        /// Those whose first 21 bits of the fraction, exponent and sign are the reference's.
        first_21: u64 => shown("first 21 bits equal").essential(),
        /// Those within one unit of the 21st bit of the fraction: a carry may change all bits.
        near_21: u64 => shown("within a unit of bit 21").essential(),
        /// The same by the number of bits, from 0 to 23: first so many bits equal.
        leading: Vec<u64> => hidden(),
        /// And within a unit of so many.
        near: Vec<u64> => hidden(),
    }

    /// Agreement of samples by a property of their operands.
    pub struct BitFactorRow in "bit_factors" {
        /// The instruction.
        instruction: String => shown("instruction").if_varied().essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// What operands are drawn from.
        values: String => shown("values").if_varied(),
        /// The property.
        factor: &'static str => shown("property").essential(),
        /// Its smallest value here.
        from: i32 => shown("from").essential(),
        /// Its largest value here.
        to: i32 => shown("to").essential(),
        /// Samples.
        samples: u64 => shown("samples").essential(),
        /// Those that are the sum in half precision.
        half: u64 => shown("=half").essential(),
        /// Those that are the sum in single precision.
        single: u64 => shown("=single").essential(),
        /// Those that are the exact sum, rounded once.
        exact: u64 => shown("=exact").essential(),
        /// Those that are the model's result.
        model: u64 => shown("=model"),
        /// The mean number of bits of the fraction (23 at most) of which one unit holds the distance to the exact sum, rounded.
        bits: f64 => shown("bits to exact").essential(),
    }
}

/// What was compared, and what it gave.
pub struct Compared {
    /// The instruction.
    pub instruction: String,
    /// The device.
    pub device: String,
    /// What operands are drawn from.
    pub values: String,
    /// What it gave.
    pub result: BitResult,
}

/// The tables.
pub fn tables(all: &[Compared]) -> Vec<Table> {
    let agreements = Table::of("Sums against each reference", all.iter().flat_map(references));
    let bits = Table::of("Samples with the bit of the reference, at each bit of f32", all.iter().flat_map(bits));
    let factors = Table::of("Equal samples by properties of their operands", all.iter().flat_map(factors));
    [agreements, factors, bits].into_iter().filter_map(Table::filled).collect()
}

/// The table of one property of the operands, if there are samples.
pub fn against(all: &[Compared], factor: Factor) -> Option<Table> {
    let rows = all.iter().flat_map(factors).filter(|row| row.factor == factor.name());
    Table::of(format!("Equal samples by {}", factor.name()), rows).filled()
}

fn references(own: &Compared) -> Vec<BitReferenceRow> {
    let row = |agreement: &super::bits::Agreement| BitReferenceRow {
        instruction: own.instruction.clone(),
        device: own.device.clone(),
        values: own.values.clone(),
        reference: agreement.reference.name(),
        meaning: crate::base::named::Named::meaning(agreement.reference),
        samples: agreement.samples,
        equal: agreement.equal,
        first_21: agreement.leading[EXTENDED],
        near_21: agreement.near[EXTENDED],
        leading: agreement.leading.to_vec(),
        near: agreement.near.to_vec(),
    };
    own.result.agreements.iter().map(row).collect()
}

fn bits(own: &Compared) -> Vec<BitRow> {
    let agreement = |reference: BitReference| own.result.agreements.iter().find(move |own| own.reference == reference);
    let row = |bit: usize| {
        let at = |reference: BitReference| agreement(reference).map(|own| own.bits[bit]);
        BitRow {
            instruction: own.instruction.clone(),
            device: own.device.clone(),
            values: own.values.clone(),
            bit,
            place: place(bit),
            samples: agreement(BitReference::Exact).map_or(0, |own| own.samples),
            half: at(BitReference::Half).unwrap_or(0),
            single: at(BitReference::Single).unwrap_or(0),
            exact: at(BitReference::Exact).unwrap_or(0),
            model: at(BitReference::Model),
        }
    };
    (0..BITS).rev().map(row).collect()
}

/// What a bit of f32 belongs to.
fn place(bit: usize) -> String {
    match bit {
        31 => "sign".into(),
        FRACTION.. => "exponent".into(),
        _ => format!("fraction {}", FRACTION - bit),
    }
}

fn factors(own: &Compared) -> Vec<BitFactorRow> {
    let row = |bin: &super::bits::FactorBin| {
        let equal = |reference: BitReference| bin.equal[reference as usize];
        BitFactorRow {
            instruction: own.instruction.clone(),
            device: own.device.clone(),
            values: own.values.clone(),
            factor: bin.factor.name(),
            from: bin.from,
            to: bin.to,
            samples: bin.samples,
            half: equal(BitReference::Half),
            single: equal(BitReference::Single),
            exact: equal(BitReference::Exact),
            model: equal(BitReference::Model),
            bits: bin.bits as f64 / bin.samples as f64,
        }
    };
    own.result.factors.iter().map(row).collect()
}

/// How the results agree with the model and with the other computations of the same sums, in one sentence; `None` where nothing was
/// compared.
pub fn answer(all: &[Compared]) -> Option<String> {
    let first = all.first()?;
    let sum = |reference: BitReference| {
        let own = all.iter().flat_map(|one| &one.result.agreements).filter(|own| own.reference == reference);
        own.fold((0, 0), |(equal, samples), own| (equal + own.equal as i64, samples + own.samples as i64))
    };
    let part = |(equal, samples): (i64, i64)| match equal == samples {
        true => format!("all {}", grouped(samples)),
        false => format!("{} of {}", grouped(equal), grouped(samples)),
    };
    let exact = sum(BitReference::Exact);
    let what = match all {
        [one] => one.instruction.clone(),
        all => format!("{} comparisons", all.len()),
    };
    Some(format!(
        "{what} on {} gave the bits of the model in {} sums, of the exact sum in {}, of single precision in {}, of half precision in {}.",
        first.device,
        part(sum(BitReference::Model)),
        part(exact),
        part(sum(BitReference::Single)),
        part(sum(BitReference::Half)),
    ))
}

/// What the reader of the numbers must know.
pub fn note() -> String {
    "Every sample is a sum of products without c, of operands that were rounded before. half and single round every product and every sum, \
     in ascending k. A distance of one unit can change every bit, by a carry: 'within a unit' says how far results are apart."
        .into()
}
