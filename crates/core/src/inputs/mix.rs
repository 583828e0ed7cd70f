//! SplitMix64: random bits as a function of numbers.
//! Source: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators (2014).

/// `2^64` divided by the golden ratio, odd: its multiples are spread evenly.
pub(super) const GOLDEN_WORD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Output function.
pub(super) fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Output for the state `number + 1` steps after `seed`.
pub fn output(seed: u64, number: u64) -> u64 {
    mix(seed.wrapping_add(number.wrapping_add(1).wrapping_mul(GOLDEN_WORD)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected: the first outputs for the seed 1234567, from the generator's reference implementation.
    #[test]
    fn outputs_are_those_of_the_reference_implementation() {
        let expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431];
        assert_eq!([0, 1, 2, 3].map(|number| output(1_234_567, number)), expected);
    }
}
