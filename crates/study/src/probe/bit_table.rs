//! Tables of agreement bit by bit.

use super::bits::{BITS, BitReference, BitResult, FRACTION};
use crate::report::{Report, Table, grouped};

/// Fraction bits that extended precision needs, by EGEMM-TC.
const EXTENDED: usize = 21;

crate::rows! {
    /// Results with the bit of each reference, at a bit of f32.
    pub struct BitRow in "bit_agreement" {
        /// The instruction.
        instruction: String => shown("instruction").if_varied().essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// Distribution of the operands.
        values: String => shown("values").if_varied(),
        /// The bit of f32, 31 the sign.
        bit: usize => shown("bit").essential(),
        /// Field of the bit: sign, exponent or fraction (1 is its first bit).
        place: String => shown("is").essential(),
        /// Samples.
        samples: u64 => shown("samples"),
        /// Samples with the bit of the sum in half precision.
        half: u64 => shown("=half").essential(),
        /// Samples with the bit of the sum in single precision.
        single: u64 => shown("=single").essential(),
        /// Samples with the bit of the exact sum, rounded once.
        exact: u64 => shown("=exact").essential(),
        /// Samples with the bit of the model's result.
        model: Option<u64> => shown("=model").if_filled().essential(),
    }

    /// Agreement of results with a reference.
    pub struct BitReferenceRow in "bit_references" {
        /// The instruction.
        instruction: String => shown("instruction").if_varied().essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// Distribution of the operands.
        values: String => shown("values").if_varied(),
        /// The reference.
        reference: &'static str => shown("reference").essential(),
        /// Definition of the reference.
        meaning: &'static str => hidden(),
        /// Samples with a finite reference and result.
        samples: u64 => shown("samples").essential(),
        /// Samples equal to the reference in every bit.
        equal: u64 => shown("equal").essential(),
        /// Samples with the sign, exponent and first 21 fraction bits of the reference.
        first_21: u64 => shown("first 21 bits equal").essential(),
        /// Samples within one unit of the 21st fraction bit, since a carry may change every bit.
        near_21: u64 => shown("within a unit of bit 21").essential(),
        /// Samples with equal leading fraction bits, by their number from 0 to 23.
        leading: Vec<u64> => hidden(),
        /// Samples within one unit of a fraction bit, by its number from 0 to 23.
        near: Vec<u64> => hidden(),
    }

    /// Agreement of samples by a property of their operands.
    pub struct BitFactorRow in "bit_factors" {
        /// The instruction.
        instruction: String => shown("instruction").if_varied().essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// Distribution of the operands.
        values: String => shown("values").if_varied(),
        /// The property.
        factor: &'static str => shown("property").essential(),
        /// Its smallest value here.
        from: i32 => shown("from").essential(),
        /// Its largest value here.
        to: i32 => shown("to").essential(),
        /// Samples.
        samples: u64 => shown("samples").essential(),
        /// Samples equal to the sum in half precision.
        half: u64 => shown("=half").essential(),
        /// Samples equal to the sum in single precision.
        single: u64 => shown("=single").essential(),
        /// Samples equal to the exact sum, rounded once.
        exact: u64 => shown("=exact").essential(),
        /// Samples equal to the model's result.
        model: u64 => shown("=model"),
        /// Mean number of fraction bits (at most 23) that agree with the exact sum to one unit.
        bits: f64 => shown("bits to exact").essential(),
    }
}

/// The agreement of one instruction on a device.
pub struct Compared {
    /// The instruction.
    pub instruction: String,
    /// The device.
    pub device: String,
    /// Distribution of the operands.
    pub values: String,
    /// The agreement.
    pub result: BitResult,
}

/// Puts agreements into a report: answer, verdict and tables.
pub fn report(all: &[Compared], report: &mut Report) {
    report.answer = answer(all);
    let agreements = all.iter().flat_map(|compared| &compared.result.agreements);
    report.holds = agreements
        .filter(|agreement| agreement.reference == BitReference::Model)
        .all(|agreement| agreement.equal == agreement.samples);
    report.tables = tables(all);
}

/// The tables.
pub fn tables(all: &[Compared]) -> Vec<Table> {
    let agreements = Table::of("Sums against each reference", all.iter().flat_map(references));
    let bits = Table::of("Samples equal to the reference at each bit of f32", all.iter().flat_map(bits));
    let factors = Table::of("Equal samples by properties of their operands", all.iter().flat_map(factors));
    [agreements, factors, bits].into_iter().filter_map(Table::filled).collect()
}

fn references(compared: &Compared) -> Vec<BitReferenceRow> {
    let row = |agreement: &super::bits::BitAgreement| BitReferenceRow {
        instruction: compared.instruction.clone(),
        device: compared.device.clone(),
        values: compared.values.clone(),
        reference: agreement.reference.name(),
        meaning: crate::base::named::Named::meaning(agreement.reference),
        samples: agreement.samples,
        equal: agreement.equal,
        first_21: agreement.leading[EXTENDED],
        near_21: agreement.near[EXTENDED],
        leading: agreement.leading.to_vec(),
        near: agreement.near.to_vec(),
    };
    compared.result.agreements.iter().map(row).collect()
}

fn bits(compared: &Compared) -> Vec<BitRow> {
    let agreement = |reference: BitReference| {
        compared.result.agreements.iter().find(move |agreement| agreement.reference == reference)
    };
    let row = |bit: usize| {
        let at = |reference: BitReference| agreement(reference).map(|agreement| agreement.bits[bit]);
        BitRow {
            instruction: compared.instruction.clone(),
            device: compared.device.clone(),
            values: compared.values.clone(),
            bit,
            place: place(bit),
            samples: agreement(BitReference::Exact).map_or(0, |agreement| agreement.samples),
            half: at(BitReference::Half).unwrap_or(0),
            single: at(BitReference::Single).unwrap_or(0),
            exact: at(BitReference::Exact).unwrap_or(0),
            model: at(BitReference::Model),
        }
    };
    (0..BITS).rev().map(row).collect()
}

/// The field of a bit of f32.
fn place(bit: usize) -> String {
    match bit {
        31 => "sign".into(),
        FRACTION.. => "exponent".into(),
        _ => format!("fraction {}", FRACTION - bit),
    }
}

fn factors(compared: &Compared) -> Vec<BitFactorRow> {
    let row = |bin: &super::bits::PropertyBin| {
        let equal = |reference: BitReference| bin.equal[reference as usize];
        BitFactorRow {
            instruction: compared.instruction.clone(),
            device: compared.device.clone(),
            values: compared.values.clone(),
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
    compared.result.factors.iter().map(row).collect()
}

/// Agreement with each reference, in a sentence; `None` if nothing was compared.
fn answer(all: &[Compared]) -> Option<String> {
    let first = all.first()?;
    let sum = |reference: BitReference| {
        let agreements =
            all.iter().flat_map(|one| &one.result.agreements).filter(|agreement| agreement.reference == reference);
        agreements.fold((0, 0), |(equal, samples), agreement| {
            (equal + agreement.equal as i64, samples + agreement.samples as i64)
        })
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
        "{what} on {} gave the bits of the model in {} sums, the exact sum in {}, single precision in {}, half precision in {}.",
        first.device,
        part(sum(BitReference::Model)),
        part(exact),
        part(sum(BitReference::Single)),
        part(sum(BitReference::Half)),
    ))
}

/// The note about the references.
pub fn note() -> String {
    "Every sample is a sum of products of rounded operands, without c. half and single round every product and every sum, in ascending k. \
     A carry can change every bit, so 'within a unit' shows the distance."
        .into()
}
