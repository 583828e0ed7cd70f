//! Conversions between formats, integer formats included.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tcnum_core::{
    format::{FORMATS, Format},
    softfloat::Operation,
};

use crate::{environments, machine::amount, operands, tally::Tally};

/// Formats whose codes are all visited, with the first code of each 256 of them.
fn visited() -> Vec<(&'static Format, u64)> {
    let narrow = FORMATS.iter().filter(|format| format.bits <= 16);
    narrow.flat_map(|format| (0..=format.code_mask() >> 8).map(move |high| (format, high << 8))).collect()
}

#[test]
fn every_code_of_16_bits_and_fewer_to_every_format() {
    // A sample of the blocks of the wider formats; every format begins a block.
    let looked_at = visited().into_iter().filter(|(_, first)| (first >> 8) % amount(7, 1) == 0);
    let tally = Tally::over(looked_at.collect::<Vec<_>>(), |tally, reference, (from, first)| {
        // The judge of tables searches all values: every code of narrow formats, a sample of the others.
        let searched = from.bits <= 8 || first >> 8 & 0xf == 0;
        for to in FORMATS.iter().filter(|to| searched || to.table().is_none()) {
            for environment in environments::rotating(first >> 8) {
                for code in first..=(first + 0xff).min(from.code_mask()) {
                    tally.conversion(reference, from, to, &environment, code);
                }
            }
        }
    });
    tally.settle("conversions of codes of 16 bits and fewer");
}

#[test]
#[ignore = "takes minutes: every environment"]
fn every_code_of_16_bits_and_fewer_to_every_format_in_every_environment() {
    let tally = Tally::over(visited(), |tally, reference, (from, first)| {
        for to in FORMATS.iter() {
            for environment in environments::complete(first >> 8) {
                for code in first..=(first + 0xff).min(from.code_mask()) {
                    tally.conversion(reference, from, to, &environment, code);
                }
            }
        }
    });
    tally.settle("conversions of codes of 16 bits and fewer, every environment");
}

/// Code of `from` near a number of `to`, near half-way between two, or near the ends of its range.
fn near(from: &Format, to: &Format, rng: &mut ChaCha8Rng) -> u64 {
    let plain = tcnum_core::softfloat::Environment::default();
    let there = operands::drawn(to, Operation::Sqrt, rng.next_u64())[0];
    let here = tcnum_core::softfloat::Converter::new(to, from, plain).convert(there & to.code_mask()).code.unwrap_or(0);
    let padding = from.float().map_or(0, |record| record.padding_bits);
    // Half-way points differ from numbers of a narrower format in one bit of the significand.
    let half: u64 = match (from.float(), to.float()) {
        (Some(from), Some(to)) if from.trailing_bits > to.trailing_bits => {
            1 << (from.trailing_bits - to.trailing_bits - 1)
        }
        _ => 0,
    };
    let bits = rng.next_u64();
    let step = [0, half, half.wrapping_add(1), half.wrapping_sub(1), 1, u64::MAX][bits as usize % 6];
    here.wrapping_add(step << padding)
}

/// Checks random codes of formats of more than 16 bits to each format, half near the target's edges.
fn random(cases: u64) -> Tally {
    let wide = FORMATS.iter().filter(|format| format.bits > 16);
    let parts = wide.flat_map(|from| FORMATS.iter().map(move |to| (from, to)));
    Tally::over(parts.collect::<Vec<_>>(), |tally, reference, (from, to)| {
        let mut rng = ChaCha8Rng::seed_from_u64(u64::from(from.bits) << 32 | u64::from(to.bits));
        for seed in 0..cases {
            let random =
                operands::drawn(from, Operation::Sqrt, rng.next_u64())[0] >> (seed % 2 * (rng.next_u64() % 48));
            let code = if seed % 4 < 2 { near(from, to, &mut rng) } else { random };
            tally.conversion(reference, from, to, &environments::drawn(seed), code);
        }
    })
}

#[test]
fn random_codes_of_wider_formats_to_every_format() {
    random(4000).settle("conversions of random codes of more than 16 bits");
}

#[test]
#[ignore = "takes a minute: 10^5 codes of each pair of formats"]
fn many_random_codes_of_wider_formats_to_every_format() {
    random(100_000).settle("conversions of many random codes of more than 16 bits");
}
