//! The measurement of an arithmetic by directed sums of a few terms.
//!
//! `features` reports it, and `identify` begins with it.
//! No model of the device is assumed. The order of the sum ([`crate::order`]) shows which terms meet in one step; inputs for products,
//! alignment and results are made for that order. A property that the formats cannot show is not guessed: it has a reason instead.

mod alignment;
mod integers;
mod monotonicity;
mod range;
mod rounding;
mod specials;
mod steps;
mod width;

use std::collections::HashSet;

use alignment::AlignmentCuts;
use steps::OrderSteps;
use width::SumWidth;

use crate::{
    Error, Result,
    arithmetic::Evaluator,
    bench::{Ask, Term, TermAnswer, TermBench},
    format::Rounding,
    isa::{Case, Instruction, Tiles},
    order::{self, FoundOrder, Order, entry_of_c, notation},
};

/// Why a property has no value: the formats lack the operands that would show it.
const UNSUITED: &str = "the formats hold no such operands";
/// Why a property has no value: it needs the bits that alignment keeps.
const UNKNOWN_WIDTH: &str = "the width of the alignment is unknown";

/// The value of a property in words, with an input that shows it; or the reason why there is none.
pub type Finding = std::result::Result<(String, Option<TermAnswer>), String>;

/// A value with its witness.
fn shows(words: impl Into<String>, answer: &TermAnswer) -> Result<Finding> {
    Ok(Ok((words.into(), Some(answer.clone()))))
}

/// A value without a witness.
fn says(words: impl Into<String>) -> Result<Finding> {
    Ok(Ok((words.into(), None)))
}

/// The reason for a missing value.
fn unknown(why: impl Into<String>) -> Result<Finding> {
    Ok(Err(why.into()))
}

/// A measurement of one property; it may depend on those before it.
type Probe = fn(&mut Measurement) -> Result<Finding>;

/// The probes that need no order of the sum.
const ENDS: &[(&str, Probe)] = &[
    ("subnormal A, B", range::factors),
    ("subnormal C", range::addend),
    ("subnormal D", range::result),
    ("infinities", specials::infinities),
    ("NaN", specials::nans),
    ("zero", specials::zero),
    ("overflow", range::overflow),
];

/// The probes of the steps of a known order.
const STEPS: &[(&str, Probe)] = &[
    ("products", width::products),
    ("product range", range::products),
    ("alignment", alignment::products),
    ("alignment of c", alignment::of_c),
    ("accumulator", width::accumulator),
    ("sums", width::sums),
    ("result", width::result),
    ("extra bits", width::extra),
    ("floor", alignment::floor),
    ("carry bits", steps::carry),
    ("normalisation", steps::normalisation),
    ("monotonicity", monotonicity::measure),
];

/// Questions of the measurement about a device with this arithmetic, except questions about the order.
pub fn tiles_of(evaluator: &Evaluator) -> Tiles {
    let program = evaluator.program();
    let mut ask = |cases: &[Case]| Ok(cases.iter().map(|case| program.dot(case)).collect());
    let mut measurement = Measurement::new(&program.instruction, &mut ask);
    // Questions until an interruption are valid questions.
    let _ = measurement.measure();
    measurement.tiles()
}

/// The measurement of an instruction's arithmetic.
pub struct Measurement<'a> {
    bench: TermBench<'a>,
    steps: OrderSteps,
    cuts: AlignmentCuts,
    /// The widths of inner sums and of the last sum.
    inner: Option<SumWidth>,
    last: Option<SumWidth>,
    /// Roundings that inner sums may have, and those of the last sum; none where they are unknown.
    sums: Vec<Rounding>,
    result: Vec<Rounding>,
    /// The findings so far, by property.
    pub findings: Vec<(&'static str, Finding)>,
    /// Why properties without a finding were not measured: the order of the sum is unknown.
    pub unordered: Option<String>,
    /// The order that masks found, also one that they leave uncertain.
    pub order: Option<FoundOrder>,
}

impl<'a> Measurement<'a> {
    /// No findings; `ask` answers cases of the instruction.
    pub fn new(i: &'a Instruction, ask: &'a mut Ask<'a>) -> Measurement<'a> {
        Measurement {
            bench: TermBench::new(i, ask),
            steps: OrderSteps::default(),
            cuts: AlignmentCuts::default(),
            inner: None,
            last: None,
            sums: Vec::new(),
            result: Vec::new(),
            findings: Vec::new(),
            unordered: None,
            order: None,
        }
    }

    /// Tiles with one case on each place of the diagonal. Cases about the order are not kept.
    pub fn tiles(&self) -> Tiles {
        let (i, mut seen) = (self.bench.i, HashSet::new());
        let cases: Vec<&Case> = self.bench.questions.iter().filter(|case| seen.insert(*case)).collect();
        let lanes = i.m.min(i.n);
        let mut tiles = Tiles::zeros(i, cases.len().div_ceil(lanes));
        for (at, case) in cases.into_iter().enumerate() {
            tiles.place(i, at / lanes, at % lanes, at % lanes, case);
        }
        tiles
    }

    /// Number of cases asked.
    pub fn asked(&self) -> usize {
        self.bench.asked
    }

    /// Measures every property; after an error, the findings until then are kept.
    ///
    /// # Errors
    /// The errors of the bench.
    pub fn measure(&mut self) -> Result<()> {
        if self.bench.i.d.is_integer() {
            return integers::measure(self);
        }
        self.run(ENDS)?;
        let outcome = order::find(self.bench.i, &mut |cases| self.bench.codes(cases));
        match outcome {
            Ok(tree) => {
                let (order, cancels) = (tree.order.clone(), tree.cancels);
                self.order = Some(tree);
                if cancels {
                    return self.of_order(&order);
                }
                self.unordered = Some("a term and its opposite leave a rest, so masks do not show an order".into());
                Ok(())
            }
            // The formats hold no terms that show an order.
            Err(error) if matches!(error, Error::Request { .. }) => {
                self.unordered = Some(error.to_string());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Measures the steps of an order.
    fn of_order(&mut self, order: &Order) -> Result<()> {
        self.findings.push(("order", Ok((notation(order), None))));
        self.findings.push(("c", Ok((entry_of_c(order).into(), None))));
        self.steps = OrderSteps::of(order);
        self.run(STEPS)
    }

    fn run(&mut self, probes: &[(&'static str, Probe)]) -> Result<()> {
        for (name, probe) in probes {
            let finding = probe(self)?;
            self.findings.push((name, finding));
        }
        Ok(())
    }

    /// The finding for a property, if it was measured.
    fn finding(&self, name: &str) -> Option<&Finding> {
        self.findings.iter().find(|(other, _)| *other == name).map(|(_, finding)| finding)
    }
}

/// The leading answers to some sums, as long as the formats hold the sums.
struct Leading {
    answers: Vec<TermAnswer>,
    /// Number of the first answers that have a property.
    count: usize,
}

impl Leading {
    /// Asks the sums; `has` tells from an answer and its number, from 1, if it has the property.
    fn asked(bench: &mut TermBench, sums: &[Vec<Term>], has: impl Fn(&TermAnswer, i32) -> bool) -> Result<Leading> {
        let answers: Vec<TermAnswer> = bench.sums(sums)?.into_iter().map_while(|answer| answer).collect();
        let count = answers.iter().zip(1..).take_while(|(answer, number)| has(answer, *number)).count();
        Ok(Leading { answers, count })
    }

    /// True if the formats hold no further sum.
    fn is_limited(&self) -> bool {
        self.count == self.answers.len()
    }

    /// The last of the answers that have the property.
    fn shown(&self) -> Option<TermAnswer> {
        self.answers.get(self.count.checked_sub(1)?).cloned()
    }
}
