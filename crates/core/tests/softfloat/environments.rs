//! Environments in which operations are compared.

use tcnum_core::{
    format::{Overflow, Rounding},
    softfloat::{Environment, NanRule, Tininess},
};

const OVERFLOWS: [Overflow; 4] = [Overflow::Standard, Overflow::Infinity, Overflow::Nan, Overflow::Saturate];
const TININESSES: [Tininess; 2] = [Tininess::Before, Tininess::After];

/// Combinations of options other than rounding and tininess.
const OPTIONS: u64 = 64;

/// Output function of SplitMix64: every bit of the result depends on every bit of the seed.
pub(crate) fn mixed(seed: u64) -> u64 {
    let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let seed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let seed = (seed ^ seed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed ^ seed >> 31
}

/// All deterministic roundings and two stochastic ones drawn by the seed: with few bits, and with many.
pub(crate) fn roundings(seed: u64) -> [Rounding; 8] {
    let random = mixed(seed);
    let few = Rounding::Sr { random, bits: 1 + (random >> 32) as u32 % 8 };
    let many = Rounding::Sr { random: mixed(random), bits: 64 - (random >> 40) as u32 % 56 };
    let [a, b, c, d, e, f] = Rounding::DETERMINISTIC;
    [a, b, c, d, e, f, few, many]
}

/// One of the 64 combinations of overflow, flushing and rule for NaNs; the first is the default.
/// 64 more saturate finite results only, where the first saturate all.
fn options(environment: Environment, index: u64) -> Environment {
    Environment {
        overflow: match OVERFLOWS[index as usize % 4] {
            Overflow::Saturate if index >= OPTIONS => Overflow::SaturateFinite,
            overflow => overflow,
        },
        nan: NanRule::ALL[index as usize / 4 % 4],
        flush_inputs: index / 16 % 2 == 1,
        flush_results: index / 32 % 2 == 1,
        ..environment
    }
}

fn rounded(seed: u64) -> impl Iterator<Item = Environment> {
    let pairs = roundings(seed).into_iter().flat_map(|rounding| TININESSES.map(|tininess| (rounding, tininess)));
    pairs.map(|(rounding, tininess)| Environment { rounding, tininess, ..Environment::default() })
}

/// All roundings with both rules for tininess, once with the default options and once with others.
/// Over 64 successive seeds each goes with all options.
pub(crate) fn covering(seed: u64) -> Vec<Environment> {
    let others = rounded(seed).enumerate().map(|(i, environment)| options(environment, seed + 5 * i as u64));
    rounded(seed).chain(others).collect()
}

/// All roundings with both rules for tininess, with options by the seed; 64 seeds cover all.
pub(crate) fn rotating(seed: u64) -> Vec<Environment> {
    rounded(seed).enumerate().map(|(i, environment)| options(environment, seed + 5 * i as u64)).collect()
}

/// All combinations.
pub(crate) fn complete(seed: u64) -> Vec<Environment> {
    rounded(seed).flat_map(|environment| (0..OPTIONS).map(move |index| options(environment, index))).collect()
}

/// Environments of operations that do not round: flushing of operands and every rule for NaNs.
/// Other settings follow from the seed.
pub(crate) fn unrounded(seed: u64) -> Vec<Environment> {
    let rounded: Vec<Environment> = rounded(seed).collect();
    let environment = |index: u64| {
        let rest = mixed(seed ^ index << 32);
        let unrounded = rounded[rest as usize % rounded.len()];
        options(unrounded, index % 8 * 4 + rest / 16 % 4 + 32 * (rest / 64 % 2))
    };
    (0..8).map(environment).collect()
}

/// One of all combinations, drawn by the seed.
pub(crate) fn drawn(seed: u64) -> Environment {
    let index = mixed(seed ^ 0x5eed);
    let rounding = roundings(index)[index as usize % 8];
    let environment = Environment { rounding, tininess: TININESSES[index as usize / 8 % 2], ..Environment::default() };
    // One in four has the default options.
    if index >> 20 & 3 == 0 { environment } else { options(environment, index >> 8 & 127) }
}
