//! Trees of programs.

use super::{Leaf, Manner, Order};
use crate::{
    arithmetic::{ElementaryOperation, Factors, Multiply, Program, Scaling, Source, Sum},
    format::Format,
};

/// The order in which a program sums, as formats of any range would show it; `None` for integers.
///
/// A sum that is not rounded, and keeps the exponent of its alignment, forms one step with the aligned sum that takes it. If significands
/// are multiplied in pieces, the leading pieces count, because powers of two have only these.
pub fn of_program(program: &Program) -> Option<Order> {
    ProgramOrder { program }.source(program.output.value)
}

struct ProgramOrder<'a> {
    program: &'a Program,
}

impl ProgramOrder<'_> {
    fn source(&self, source: Source) -> Option<Order> {
        match source {
            Source::C => Some(Order::Leaf(Leaf::C)),
            Source::Zero => None,
            Source::Product(step, at) => {
                let multiply = self.program.products(step)?;
                self.products(multiply).into_iter().nth(at).flatten()
            }
            Source::Value(step) => self.value(step),
        }
    }

    fn value(&self, step: usize) -> Option<Order> {
        match &self.program.steps[step].operation {
            ElementaryOperation::Multiply(_) | ElementaryOperation::Integer(_) => None,
            ElementaryOperation::Round { value, .. } => self.source(*value),
            ElementaryOperation::Add { terms, .. } => {
                Order::meeting(terms.iter().filter_map(|term| self.source(*term)).collect(), Manner::Pair)
            }
            ElementaryOperation::Fma { factors, addend, .. } => {
                let parts = [self.source(*addend), self.leaf(factors)];
                Order::meeting(parts.into_iter().flatten().collect(), Manner::Pair)
            }
            ElementaryOperation::Sum(sum) => Order::meeting(self.parts(sum), manner(sum)),
        }
    }

    /// The parts that a sum adds at once.
    fn parts(&self, sum: &Sum) -> Vec<Order> {
        let products = sum.products.iter().filter_map(|step| self.program.products(*step));
        let mut parts: Vec<Order> = products.flat_map(|multiply| self.products(multiply)).flatten().collect();
        // An addend that is always ignored takes part in the alignment alone.
        for addend in sum.addends.iter().filter(|addend| addend.drop.is_none_or(|drop| drop >= 0)) {
            match self.aligned(addend.source).filter(|_| sum.alignment.is_some()) {
                Some(inner) => parts.extend(self.parts(inner)),
                None => parts.extend(self.source(addend.source)),
            }
        }
        parts
    }

    /// The sum behind a value that is not rounded and keeps the exponent of its alignment.
    fn aligned(&self, source: Source) -> Option<&Sum> {
        let Source::Value(step) = source else { return None };
        match &self.program.steps[step].operation {
            ElementaryOperation::Sum(sum) if sum.alignment.is_some() && !sum.normalised => Some(sum),
            _ => None,
        }
    }

    /// The orders of a list of products.
    fn products(&self, multiply: &Multiply) -> Vec<Option<Order>> {
        let leaves = multiply.factors.iter().map(|factors| self.leaf(factors));
        match multiply.scaling {
            Scaling::Sums(run) => {
                let leaves: Vec<Option<Order>> = leaves.collect();
                let sum =
                    |run: &[Option<Order>]| Order::meeting(run.iter().flatten().cloned().collect(), Manner::Exact);
                leaves.chunks(run).map(sum).collect()
            }
            _ => leaves.collect(),
        }
    }

    /// The leaf of a product, if the product has the leading bits of its factors.
    fn leaf(&self, factors: &Factors) -> Option<Order> {
        let leading = |mask: u64, format: &Format| {
            format.float().is_none_or(|float| mask >> (float.precision() - 1).min(63) & 1 != 0)
        };
        let [a, b] = self.program.factors();
        (leading(factors.a, a) && leading(factors.b, b)).then_some(Order::Leaf(Leaf::Product(factors.k)))
    }
}

fn manner(sum: &Sum) -> Manner {
    if sum.alignment.is_some() { Manner::Aligned } else { Manner::Exact }
}
