//! Classes of cases: what a dot-product-add exercises at each step of a program.
//!
//! The steps and their values are those of an [`Explanation`](crate::arithmetic::Explanation). A program has a finite list of classes;
//! distances beyond the last bit that matters share one.

mod kind;
mod list;
mod of_case;
mod search;

use std::collections::HashMap;

pub use kind::{Capped, ClassFamily, ClassKind, DroppedPart, Side, TermKind};
pub use list::ClassStep;
pub use search::{Filled, fill};

use crate::{
    arithmetic::Evaluator,
    isa::{Case, Instruction},
};

/// The classes of an instruction's arithmetic, in the order of its steps.
pub struct Classes {
    evaluator: Evaluator,
    list: Vec<(ClassStep, ClassKind)>,
    places: HashMap<(ClassStep, ClassKind), usize>,
}

/// The classes of a case, by their places in the list, and its result.
pub struct Classified {
    /// Places in ascending order, each once.
    pub places: Vec<usize>,
    /// Code of D.
    pub d: u64,
}

/// Count of a class, and the first case of it.
#[derive(Debug, Clone, Default)]
pub struct Exercised {
    /// Cases.
    pub cases: u64,
    /// Number of the first one, from 0, with its operands.
    pub first: Option<(u64, Case)>,
}

impl Classes {
    /// The classes of an arithmetic.
    pub fn new(evaluator: Evaluator) -> Classes {
        let list = list::all(evaluator.program());
        let places = list.iter().enumerate().map(|(at, class)| (*class, at)).collect();
        Classes { evaluator, list, places }
    }

    /// All classes.
    pub fn list(&self) -> &[(ClassStep, ClassKind)] {
        &self.list
    }

    /// The instruction.
    pub fn instruction(&self) -> &Instruction {
        &self.evaluator.program().instruction
    }

    /// The arithmetic.
    pub fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    /// The name of a step, as the program's text has it, and its operation in words.
    pub fn step(&self, step: ClassStep) -> (String, String) {
        let program = self.evaluator.program();
        let lines = program.lines();
        let name = match step {
            ClassStep::Operands => return ("operands".into(), String::new()),
            ClassStep::Number(number) => format!("%{number}"),
            ClassStep::Output => "d".into(),
        };
        let words = lines.into_iter().rfind(|(other, _)| *other == name).map(|(_, words)| words);
        (name, words.unwrap_or_default())
    }

    /// The classes of a case.
    ///
    /// # Panics
    /// If the number of operands is not the instruction's.
    pub fn of(&self, case: &Case) -> Classified {
        let explanation = self.evaluator.explain(case);
        let mut places = Vec::new();
        of_case::classify(self.evaluator.program(), case, &explanation, &mut |step, kind| {
            places.extend(self.places.get(&(step, kind)));
        });
        places.sort_unstable();
        places.dedup();
        Classified { places, d: explanation.d }
    }

    /// True if a case has a class of one of the families.
    pub fn has_family(&self, case: &Case, families: &[ClassFamily]) -> bool {
        self.of(case).places.iter().any(|at| families.contains(&self.list[*at].1.family()))
    }
}

/// Counts of all classes over cases.
#[derive(Debug, Clone)]
pub struct Counts {
    /// Cases.
    pub cases: u64,
    /// One for each class, in the order of the list.
    pub classes: Vec<Exercised>,
    /// Recorded results that the arithmetic does not give.
    pub differing: u64,
}

impl Counts {
    /// No cases of these classes.
    pub fn new(classes: &Classes) -> Counts {
        Counts { cases: 0, classes: vec![Exercised::default(); classes.list.len()], differing: 0 }
    }

    /// Adds case `number`, with its recorded result if there is one.
    pub fn add(&mut self, classes: &Classes, number: u64, case: &Case, recorded: Option<u64>) {
        let classified = classes.of(case);
        self.cases += 1;
        self.differing += u64::from(recorded.is_some_and(|code| code != classified.d));
        for at in classified.places {
            let class = &mut self.classes[at];
            class.cases += 1;
            if class.first.as_ref().is_none_or(|(first, _)| number < *first) {
                class.first = Some((number, case.clone()));
            }
        }
    }

    /// Adds the counts of other cases.
    pub fn merge(&mut self, other: Counts) {
        self.cases += other.cases;
        self.differing += other.differing;
        for (class, other) in self.classes.iter_mut().zip(other.classes) {
            class.cases += other.cases;
            let number = |class: &Exercised| class.first.as_ref().map_or(u64::MAX, |(number, _)| *number);
            if number(&other) < number(class) {
                class.first = other.first;
            }
        }
    }
}
