//! Units that round at random: they are no functions, and `identify` says how they round.

use std::time::Duration;

use rand::RngExt;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use tcnum::{
    Result,
    isa::{Case, Codes, Instruction, Tiles},
};
use tcnum_engine::device::{Device, Execution, ExecutionKind, Identity};
use tcnum_study::identify::{Plan, WORK, identify};

use crate::{
    hardware::{AlignedSum, Value, aligned, finite, infinity, product, read},
    kinds::described,
};

/// A sum as a code of f32: so many random bits are added below its last bit, and the rest is cut off.
fn rounded(AlignedSum { sum, last, .. }: AlignedSum, bits: u32, random: &mut ChaCha8Rng) -> u64 {
    if sum == 0 {
        return 0;
    }
    let magnitude = sum.unsigned_abs();
    let leading = 127 - magnitude.leading_zeros() as i32;
    let (sign, right) = (u64::from(sum < 0) << 31, leading - 23);
    let mut kept = if right > 0 { magnitude >> right } else { magnitude << -right };
    if right > 0 {
        let rest = magnitude & ((1 << right) - 1);
        let seen = if right as u32 > bits { rest >> (right as u32 - bits) } else { rest << (bits - right as u32) };
        kept += u128::from((seen + random.random_range(0..1u128 << bits)) >> bits != 0);
    }
    let carried = i32::from(kept >> 24 != 0);
    match leading + last + 127 + carried {
        ..=0 => sign,
        255.. => infinity(sum < 0),
        biased => sign | (biased as u64) << 23 | (kept >> carried) as u64 & 0x7f_ffff,
    }
}

/// All products and c aligned and cut at 30 bits, rounded with so many random bits.
fn dot(case: &Case, bits: u32, random: &mut ChaCha8Rng) -> u64 {
    let factor = |code: &u64| read(*code, 8, 7, true);
    let mut terms: Vec<Value> = case.a.iter().zip(&case.b).map(|(a, b)| product(factor(a), factor(b))).collect();
    terms.push(read(case.c, 8, 23, true));
    finite(&terms).map_or_else(|special| special, |terms| rounded(aligned(&terms, 30), bits, random))
}

/// A unit whose roundings take so many random bits.
struct RandomUnit {
    identity: Identity,
    bits: u32,
    random: ChaCha8Rng,
}

impl Device for RandomUnit {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn prepare(&mut self, _: &Instruction) -> Result<Execution> {
        Ok(Execution { kind: ExecutionKind::External, opcodes: Vec::new() })
    }

    fn execute(&mut self, i: &Instruction, tiles: &Tiles) -> Result<Codes> {
        let mut answers = Codes::zeros(i.d, tiles.count * i.m * i.n);
        for at in 0..answers.len() {
            let (tile, row, column) = (at / (i.m * i.n), at / i.n % i.m, at % i.n);
            answers.set(at, dot(&tiles.case(i, tile, row, column), self.bits, &mut self.random));
        }
        Ok(answers)
    }
}

#[test]
fn a_unit_that_rounds_at_random_is_told_with_its_random_bits() {
    let i = described(
        r#"{ name = "random.m4n8k8.f32.bf16.bf16.f32", m = 4, n = 8, k = 8, a = "bf16", b = "bf16", c = "f32", d = "f32" }"#,
    );
    for (bits, words) in
        [(1, "of 1 random bit."), (2, "of 2 random bits."), (4, "of 4 random bits."), (24, "random bits or more)")]
    {
        let identity = Identity::new("random", "a unit");
        let mut unit = RandomUnit { identity, bits, random: ChaCha8Rng::seed_from_u64(7) };
        let plan = Plan {
            seed: 1,
            budget: 20_000,
            time: Duration::MAX,
            catalogue: false,
            found_rules: Vec::new(),
            withheld: Vec::new(),
            work: WORK,
        };
        let error = identify(&mut unit, i, plan).unwrap_err().to_string();
        assert!(error.contains("is not a function of its operands"), "{error}");
        assert!(error.contains("It rounds stochastically: ") && error.contains(words), "{bits} bits: {error}");
        // Of few random bits, the last bits of the sum decide nothing.
        let cut = error.split("cut at ").nth(1).unwrap_or_else(|| panic!("{error}"));
        let least: i32 = cut.split(' ').next().unwrap().parse().unwrap();
        assert!((24..=30).contains(&least), "{bits} bits: {error}");
    }
}
