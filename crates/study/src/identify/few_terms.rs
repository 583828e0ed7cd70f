//! Cases with few terms that are not zero, and programs that leave out all other terms.
//!
//! A zero changes no sum except the sign of a zero sum, so the shorter programs show the same, and take less work.

use std::sync::Arc;

use crate::{
    arithmetic::{Addend, ElementaryOperation, Factors, Multiply, OperationStep, Program, Source, Sum},
    bench::Answered,
    format::{Format, Real},
    isa::{Case, Instruction},
};

/// A case that shows a step, and the code of D that the device gave.
#[derive(Debug, Clone)]
pub(super) struct ShownCase {
    pub case: Case,
    pub answer: u64,
    /// The terms that are not zero in its tile, and the case with these alone.
    few: Option<(Arc<FewTerms>, Case)>,
}

/// Some of the terms of an instruction.
#[derive(Debug)]
struct FewTerms {
    /// The stored k of the products.
    ks: Vec<usize>,
    /// The instruction that has these alone, and a product that is zero.
    instruction: Instruction,
}

impl ShownCase {
    /// The cases of one tile.
    pub(super) fn of_tile(part: &Instruction, tile: &[Answered]) -> Vec<ShownCase> {
        let few = FewTerms::of(part, tile).map(Arc::new);
        let of = |(case, answer): &Answered| {
            let few = few.as_ref().map(|few| (few.clone(), few.case(part, case)));
            ShownCase { case: case.clone(), answer: *answer, few }
        };
        tile.iter().map(of).collect()
    }
}

impl FewTerms {
    /// The terms that are not zero in some of the cases; `None` if the instruction has scales.
    fn of(part: &Instruction, cases: &[Answered]) -> Option<FewTerms> {
        if part.scale.is_some() {
            return None;
        }
        let is_there = |k: &usize| cases.iter().any(|(case, _)| case.a[*k] != 0 || case.b[case.logical(part, *k)] != 0);
        let ks: Vec<usize> = (0..part.stored_k()).filter(is_there).collect();
        let instruction = Instruction { k: ks.len() + 1, sparse: None, ..part.clone() };
        Some(FewTerms { ks, instruction })
    }

    fn case(&self, part: &Instruction, case: &Case) -> Case {
        let a = self.ks.iter().map(|k| case.a[*k]).chain([0]);
        let b = self.ks.iter().map(|k| case.b[case.logical(part, *k)]).chain([0]);
        Case::dense(a.collect(), b.collect(), case.c)
    }

    /// A program with these terms alone.
    fn program(&self, program: &Program) -> Program {
        let place = |k: usize| self.ks.iter().position(|kept| *kept == k);
        // For each list of products, the new places of the products that are kept.
        let mut places: Vec<Vec<Option<usize>>> = Vec::new();
        let mut steps = Vec::new();
        for step in &program.steps {
            let source = |source: Source| match source {
                Source::Product(list, at) => places[list][at].map_or(Source::Zero, |at| Source::Product(list, at)),
                other => other,
            };
            let mut kept_places = Vec::new();
            let operation = match &step.operation {
                ElementaryOperation::Multiply(multiply) => {
                    let mut factors = Vec::new();
                    for product in &multiply.factors {
                        let there = place(product.k);
                        kept_places.push(there.map(|_| factors.len()));
                        factors.extend(there.map(|k| Factors { k, ..*product }));
                    }
                    ElementaryOperation::Multiply(Multiply { factors, nans: multiply.nans.clone(), ..*multiply })
                }
                ElementaryOperation::Sum(sum) => {
                    let addends = sum.addends.iter();
                    let addends = addends.map(|addend| Addend { source: source(addend.source), ..*addend }).collect();
                    ElementaryOperation::Sum(Sum { addends, ..sum.clone() })
                }
                ElementaryOperation::Round { value, to, passes_nan } => {
                    ElementaryOperation::Round { value: source(*value), to: *to, passes_nan: *passes_nan }
                }
                ElementaryOperation::Add { terms, to, nans } => {
                    ElementaryOperation::Add { terms: terms.map(source), to: *to, nans: nans.clone() }
                }
                ElementaryOperation::Fma { factors, addend, to, nans } => {
                    let factors = Factors { k: place(factors.k).unwrap_or(self.ks.len()), ..*factors };
                    ElementaryOperation::Fma { factors, addend: source(*addend), to: *to, nans: nans.clone() }
                }
                ElementaryOperation::Integer(sum) => ElementaryOperation::Integer(*sum),
            };
            places.push(kept_places);
            steps.push(OperationStep { operation, group: step.group, name: String::new() });
        }
        Program {
            instruction: self.instruction.clone(),
            unpack: program.unpack,
            specials: program.specials.clone(),
            factor_nan: program.factor_nan,
            invalid: program.invalid,
            steps,
            output: program.output,
        }
    }
}

/// True if two codes are equal, or are zeros of any sign.
pub(super) fn same_but_for_zero(format: &Format, x: u64, y: u64) -> bool {
    let zero = |code: u64| matches!(format.value(code), Real::Finite(value) if value.is_zero());
    x == y || zero(x) && zero(y)
}

/// A program that is run on cases.
pub(super) struct Runs<'a> {
    program: &'a Program,
    few: Option<(Arc<FewTerms>, Program)>,
    /// The products and operations that were computed.
    pub work: u64,
}

impl Runs<'_> {
    pub(super) fn of(program: &Program) -> Runs<'_> {
        Runs { program, few: None, work: 0 }
    }

    /// True if the program gives the answer of a case; the sign of a zero does not count.
    /// The repair of rules decides that sign.
    pub(super) fn explain(&mut self, shown: &ShownCase) -> bool {
        same_but_for_zero(self.program.instruction.d, self.dot(shown), shown.answer)
    }

    /// The code of D; a zero may have the wrong sign.
    fn dot(&mut self, shown: &ShownCase) -> u64 {
        // If zeros count in alignments, no term can be left out.
        let Some((terms, case)) = shown.few.as_ref().filter(|_| !self.program.unpack[0].zeros) else {
            self.work += self.program.instruction.stored_k() as u64;
            return self.program.dot(&shown.case);
        };
        let program = match &mut self.few {
            Some((previous, program)) if Arc::ptr_eq(previous, terms) => program,
            few => &mut few.insert((terms.clone(), terms.program(self.program))).1,
        };
        self.work += (terms.ks.len() + program.steps.len()) as u64;
        program.dot(case)
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::{
        ChaCha8Rng,
        rand_core::{Rng, SeedableRng},
    };

    use super::*;
    use crate::{arithmetic::Model, format::Class, isa};

    /// Models and instructions with many kinds of sums.
    ///
    /// They are fused sums in groups, sparse sums, a chain of fused multiply-adds, lanes with a late c, and an emulated form.
    const INSTRUCTIONS: [(&str, &str); 6] = [
        ("ampere", "mma.m16n8k16.f32.f16.f16.f32"),
        ("hopper", "mma.sp.m16n8k16.f32.tf32.tf32.f32"),
        ("hopper", "mma.m16n8k32.f32.e4m3.e4m3.f32"),
        ("hopper", "mma.m8n8k4.f32.f16.f16.f32"),
        ("cdna3", "mfma.16x16x32.f32.e4m3fnuz.e5m2fnuz.f32"),
        ("cdna3", "mfma.16x16x4.f32.f32.f32.f32"),
    ];
    const TILES: usize = 200;
    const CASES: usize = 16;

    #[test]
    fn without_the_terms_that_are_zero_a_program_gives_the_same() {
        let mut random = ChaCha8Rng::seed_from_u64(26);
        for (model, name) in INSTRUCTIONS {
            let i = isa::find(name).unwrap();
            let program = Model::load(model).unwrap().program(&i).unwrap();
            for _ in 0..TILES {
                let ks: Vec<usize> = (0..4).map(|_| random.next_u64() as usize % i.stored_k()).collect();
                let mut tile = Vec::new();
                for _ in 0..CASES {
                    let mut case = Case::zeros(&i);
                    let mut code = |format: &Format| {
                        let finite = |code: &u64| matches!(format.decode(*code).class, Class::Zero | Class::Normal);
                        std::iter::repeat_with(|| random.next_u64() & format.code_mask()).find(finite).unwrap()
                    };
                    for k in &ks {
                        let at = case.logical(&i, *k);
                        (case.a[*k], case.b[at], case.c) = (code(i.a), code(i.b), code(i.c));
                    }
                    let answer = program.dot(&case);
                    tile.push((case, answer));
                }
                let mut runs = Runs::of(&program);
                for shown in ShownCase::of_tile(&i, &tile) {
                    assert!(runs.explain(&shown), "{name}: {shown:?}");
                }
                // The programs computed only the few terms.
                assert!(runs.work < (CASES * (ks.len() + program.steps.len() + 1)) as u64);
            }
        }
    }
}
