//! Random operands of every operation in wide formats, and in random formats that a record describes.

use proptest::{prelude::*, sample::select};
use tcnum_core::{
    format::{Encoding, Float, Format, Overflow, Specials, Zeros, find},
    softfloat::mpfr::Reference,
    softfloat::{Operation, Unit},
};

use crate::{environments, narrow::carried, operands, tally::Tally};

const NAMES: [&str; 12] =
    ["f16", "bf16", "tf32", "f32", "f64", "e8m13", "e8m17", "e8m24", "e8m30", "e10m23", "e11m20", "e5m12"];

/// Checks every operation that the format can represent on operands drawn by the seed.
fn every_operation(reference: &mut Reference, format: &Format, seed: u64) {
    let mut tally = Tally::default();
    for operation in carried(format) {
        let unit = Unit::new(format, environments::drawn(seed)).unwrap();
        tally.operation(reference, &unit, operation, operands::drawn(format, operation, seed));
    }
    tally.agree();
}

/// Strategy for records: signed or not, with or without zeros and subnormals, any specials and widths.
/// There is room for a normal number; biases put the range around 1 or far from it.
fn record() -> impl Strategy<Value = Float> {
    let specials = select(
        &[
            Specials::Ieee,
            Specials::AllOnesNan,
            Specials::NegativeZeroNan,
            Specials::AllOnesNanInfinity,
            Specials::NegativeZeroNanInfinity,
            Specials::None,
        ][..],
    );
    let overflow = select(&[Overflow::Infinity, Overflow::Nan, Overflow::Saturate][..]);
    let widths = (1..=11u32, 0..=52u32, prop_oneof![0..=5u32, 0..=60u32]);
    let shift = prop_oneof![3 => -40..=40i32, 1 => -1000..=1000i32];
    (widths, any::<bool>(), any::<bool>(), specials, overflow, shift).prop_map(
        |((exponent_bits, trailing_bits, padding_bits), signed, zero, specials, overflow, shift)| {
            let ieee = specials == Specials::Ieee;
            // Infinity and NaN take a binade, and NaN a trailing significand other than zero.
            let exponent_bits = exponent_bits.max(1 + u32::from(ieee));
            let least = match specials {
                Specials::Ieee => 1,
                Specials::AllOnesNanInfinity if exponent_bits == 1 => 2,
                Specials::AllOnesNan | Specials::NegativeZeroNanInfinity if exponent_bits == 1 => 1,
                _ => 0,
            };
            let trailing_bits = trailing_bits.max(least);
            // The NaN in place of -0 takes a sign and a zero.
            let fnuz = matches!(specials, Specials::NegativeZeroNan | Specials::NegativeZeroNanInfinity);
            let (signed, zero) = (signed || fnuz, zero || fnuz);
            let zeros = match (zero, signed && !fnuz) {
                (false, _) => Zeros::None,
                (true, false) => Zeros::Positive,
                (true, true) => Zeros::Both,
            };
            let bias = (1 << (exponent_bits - 1)) - 1 + shift;
            let padding_bits = padding_bits.min(64 - u32::from(signed) - exponent_bits - trailing_bits);
            Float {
                signed,
                exponent_bits,
                trailing_bits,
                padding_bits,
                bias,
                zeros,
                subnormals: zero,
                specials,
                overflow,
            }
        },
    )
}

fn format(record: Float) -> Format {
    let bits = u32::from(record.signed) + record.exponent_bits + record.trailing_bits + record.padding_bits;
    Format { name: "drawn", aliases: &[], bits, encoding: Encoding::Float(record), source: "drawn at random" }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_operation_of_wide_formats(name in select(&NAMES[..]), seed: u64) {
        every_operation(&mut Reference::new(), find(name).unwrap(), seed);
    }

    #[test]
    fn every_operation_of_any_format_that_a_record_describes(record in record(), seed: u64) {
        let (format, mut reference) = (format(record), Reference::new());
        for step in 0..4 {
            every_operation(&mut reference, &format, seed.wrapping_add(step));
        }
    }

    #[test]
    fn conversions_between_any_formats_that_records_describe(from in record(), to in record(), seed: u64) {
        let (from, to, mut reference) = (format(from), format(to), Reference::new());
        let mut tally = Tally::default();
        for step in 0..8 {
            let seed = seed.wrapping_add(step);
            let [code, other, _] = operands::drawn(&from, Operation::Add, seed);
            let environment = environments::drawn(seed);
            tally.conversion(&mut reference, &from, &to, &environment, code);
            tally.conversion(&mut reference, &from, find("s32").unwrap(), &environment, code);
            tally.conversion(&mut reference, find("s32").unwrap(), &to, &environment, other);
        }
        tally.agree();
    }
}
