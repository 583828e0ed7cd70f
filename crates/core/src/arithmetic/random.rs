//! Programs whose last rounding draws random bits: both neighbours are right, with a known chance.

use super::{Program, reference};
use crate::{format::Rounding, isa::Case};

/// Codes of D that the random bits of one rounding choose between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbours {
    /// The neighbour towards zero, then the one away from zero.
    /// They are equal for a value that needs no rounding.
    pub codes: [u64; 2],
    /// Random bits of the rounding.
    pub bits: u32,
    /// Number of words of random bits that give the second code.
    pub outward: u64,
}

impl Neighbours {
    /// Probability of the code away from zero.
    pub fn chance(&self) -> f64 {
        self.outward as f64 / 2f64.powi(self.bits as i32)
    }

    /// The code that a word of random bits gives; bits above the rounding's are ignored.
    pub fn code(&self, word: u64) -> u64 {
        let words = 1u64 << self.bits;
        self.codes[usize::from(word % words >= words - self.outward)]
    }
}

impl Program {
    /// Random bits that the unit draws for the last rounding; `None` if D is a function of the operands.
    pub fn random_bits(&self) -> Option<u32> {
        match self.output.target.rounding {
            Rounding::Sr { bits, .. } => Some(bits),
            _ => None,
        }
    }

    /// The results that the random bits choose between; `None` if D is a function of the operands.
    ///
    /// # Panics
    /// If the number of operands is not the instruction's.
    pub fn neighbours(&self, case: &Case) -> Option<Neighbours> {
        self.random_bits().map(|bits| reference::neighbours(self, bits, case))
    }

    /// The defect of a program where D has to be a function of the operands.
    pub(super) fn inconstant(&self) -> Option<String> {
        let bits = self.random_bits()?;
        Some(format!(
            "{} draws random bits ('output.random-bits' is {bits}), so its results are no function of the operands; \
             `tcnum verify` and `tcnum exec-check` compare such a unit",
            self.instruction
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Result,
        arithmetic::{Conversion, Evaluator, Model},
        inputs, isa,
    };

    fn program(output: &str) -> Result<Program> {
        let text = format!(
            "name = 'sr'\ntitle = 'sr'\nversion = 1\n[[rule]]\ninstructions = ['mma*']\nevidence = [{{ assumed = 'a test' }}]\n\
             step = 'exact'\nresult = {{ format = 'f32', rounding = 'RZ' }}\noutput = {output}\nnan = '0x7fff'\n"
        );
        Model::parse(&text, "sr")?.program(&isa::find("mma.m16n8k8.f16.f16.f16.f16").unwrap())
    }

    #[test]
    fn each_word_gives_what_the_stochastic_rounding_gives() {
        let program = program("{ rounding = 'SR', random-bits = 3 }").unwrap();
        let i = &program.instruction;
        for (seed, tiles) in (0..8).map(|seed| (seed, inputs::record_batch(i, seed, 2))) {
            for at in 0..tiles.count * i.m * i.n {
                let case = tiles.case(i, at / (i.m * i.n), at / i.n % i.m, at % i.n);
                let neighbours = program.neighbours(&case).unwrap();
                for random in 0..8 {
                    let mut given = program.clone();
                    given.output.target.rounding = Rounding::Sr { random, bits: 3 };
                    assert_eq!(given.dot(&case), neighbours.code(random), "seed {seed}, case {at}, word {random}");
                }
            }
        }
    }

    #[test]
    fn random_bits_belong_to_stochastic_rounding_and_make_no_function() {
        for (output, what) in [
            ("{ rounding = 'SR' }", "needs 'output.random-bits'"),
            ("{ rounding = 'RZ', random-bits = 3 }", "has no effect unless"),
            ("{ rounding = 'SR', random-bits = 33 }", "allowed are 1 to 32"),
        ] {
            let error = program(output).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        let i = isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap();
        let mut rule = Model::load("hopper").unwrap().rule(&i).unwrap().clone();
        rule.output = Some(Conversion::stochastic(8));
        let Err(error) = Evaluator::of(&rule, &i) else { panic!("an evaluator of a unit that draws") };
        assert!(error.contains("no function of the operands"), "{error}");
    }
}
