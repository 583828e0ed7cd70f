//! The reference evaluator: computes one dot-product-add as its plan says, step by step, in integers.

use rayon::prelude::*;

use super::{
    explain::{Explanation, Line, Log, Silent},
    fast::{Fast, Scratch},
    plan::{Plan, PlanStep},
    rule::{CPosition, Join, Operand, Rule, Start, Subnormals, Wrap},
};
use crate::{
    format::{Class, Decoded, Finite, Format, Overflow, Real, Rounding},
    isa::{Case, Codes, Instruction, Tiles},
    softfloat::{self, Target},
};

/// The arithmetic of one instruction, ready to be evaluated.
#[derive(Debug, Clone)]
pub struct Evaluator {
    plan: Plan,
    fast: Option<Fast>,
}

/// A value between two steps: decoded, with the fraction bits of the format that holds it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) value: Decoded,
    fraction_bits: i32,
    /// An exact product, whose significand may be wider than that of any datum, in place of `value`.
    exact: Option<Real>,
}

impl Held {
    fn of(format: &Format, code: u64, subnormals: Subnormals) -> Held {
        Held::datum(settled(format.decode(code), subnormals), format)
    }

    fn datum(value: Decoded, format: &Format) -> Held {
        Held { value, fraction_bits: format.fraction_bits() as i32, exact: None }
    }

    /// The value itself.
    pub(super) fn real(&self) -> Real {
        self.exact.unwrap_or_else(|| self.value.real())
    }

    /// Exponent of the significand's units digit: the number's own exponent, a subnormal counting as the
    /// smallest normal one.
    pub(super) fn exponent(&self) -> i32 {
        self.value.exponent + self.fraction_bits
    }
}

/// The decoded operands of one dot-product-add, by stored k.
pub(super) struct Inputs {
    pub(super) a: Vec<Decoded>,
    pub(super) b: Vec<Decoded>,
    /// The product of the scales of A and B, and the exponent of its units digit, for each stored k; or nothing.
    pub(super) scales: Vec<(Real, i32)>,
    c: Held,
}

impl Evaluator {
    /// Prepares `rule` for `instruction`.
    ///
    /// # Errors
    /// What keeps the rule from holding for this instruction, with the key.
    pub(super) fn new(rule: &Rule, instruction: &Instruction) -> Result<Evaluator, String> {
        let plan = Plan::new(rule, instruction)?;
        Ok(Evaluator { fast: Fast::new(&plan), plan })
    }

    /// The arithmetic, spelled out.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The code of D for the operands of one dot-product-add.
    ///
    /// Panics if they are not as many as the instruction takes.
    pub fn dot(&self, case: &Case) -> u64 {
        self.run(case, &mut Silent)
    }

    /// The same, step by step.
    ///
    /// Panics as [`Evaluator::dot`].
    pub fn explain(&self, case: &Case) -> Explanation {
        let mut lines = Vec::new();
        let d = self.run(case, &mut lines);
        Explanation { lines, d }
    }

    /// D codes `[count][m][n]` of `tiles`, computed on all cores by the fast evaluator; equal to [`Evaluator::dot`] of each
    /// element.
    pub fn execute(&self, tiles: &Tiles) -> Codes {
        let i = &self.plan.instruction;
        let each = i.m * i.n;
        let dot = |tile: usize, at: usize| self.dot(&tiles.case(i, tile, at / i.n, at % i.n));
        let Some(fast) = &self.fast else {
            let outputs: Vec<u64> =
                (0..tiles.count * each).into_par_iter().map(|at| dot(at / each, at % each)).collect();
            return Codes::from_values(i.d, &outputs);
        };
        let mut bytes = vec![0; tiles.count * each * i.d.bytes()];
        let chunks = bytes.par_chunks_exact_mut(each * i.d.bytes()).enumerate();
        chunks.for_each_init(Scratch::default, |scratch, (tile, d)| {
            fast.tile(tiles, tile, scratch, d, |at| dot(tile, at));
        });
        Codes::from_bytes(i.d, bytes).expect("whole codes")
    }

    fn run<L: Log>(&self, case: &Case, log: &mut L) -> u64 {
        let plan = &self.plan;
        let stored = plan.instruction.stored_k();
        assert!(case.a.len() == stored && case.b.len() == plan.instruction.k, "the operands of {}", plan.instruction);
        if let PlanStep::Integer(wrap) = plan.step {
            return self.integer(wrap, case, log);
        }
        let inputs = Inputs::new(plan, case);
        let c = inputs.c;
        let zero = Held::of(plan.instruction.c, plan.instruction.c.zero(false).unwrap_or(0), Subnormals::Keep);
        let first = if plan.c == CPosition::First { c } else { zero };

        let mut total = (plan.join == Join::Add && plan.c == CPosition::First).then_some(c);
        for (number, group) in plan.groups.iter().enumerate() {
            let last = number + 1 == plan.groups.len();
            let target = if last || plan.join == Join::Add { &plan.result } else { &plan.between };
            let from = match plan.join {
                Join::Chain => total.unwrap_or(first),
                Join::Add => zero,
            };
            let sum = self.group(number, group, &inputs, from, target, log);
            total = Some(match (total, plan.join) {
                (Some(previous), Join::Add) => self.add(previous, sum, &plan.addition, None, log),
                _ => sum,
            });
        }
        let mut total = total.unwrap_or(first);
        if plan.c == CPosition::Last {
            total = self.add(total, c, &plan.addition, None, log);
        }
        let code = match &plan.step {
            PlanStep::Fma { nan_operands } if !nan_operands.is_empty() && total.value.class == Class::Nan => {
                let quiet = plan.result.format.quiet_nan(total.value.negative, total.value.significand);
                quiet.unwrap_or(plan.result.nan)
            }
            _ => plan.output.round(&total.real()),
        };
        log.line(|| rounding(None, "D", &plan.output, code));
        code
    }

    fn group<L: Log>(
        &self,
        number: usize,
        group: &[usize],
        inputs: &Inputs,
        from: Held,
        target: &Target,
        log: &mut L,
    ) -> Held {
        match &self.plan.step {
            PlanStep::Fused(fused) => {
                let code = fused.sum(&self.plan, number, group, inputs, from, target, log);
                self.hold(code, target)
            }
            PlanStep::Fma { nan_operands } => self.fma(number, nan_operands, group, inputs, from, target, log),
            PlanStep::Sequential { product } => {
                let products = self.products(number, group, inputs, product.as_ref(), log);
                let start = (self.plan.start == Start::C).then_some(from);
                let sum =
                    start.into_iter().chain(products).reduce(|sum, p| self.add(sum, p, target, Some(number), log));
                sum.unwrap_or(from)
            }
            PlanStep::Pairwise { product } => {
                let products = self.products(number, group, inputs, product.as_ref(), log);
                match self.tree(number, &products, target, log) {
                    None => from,
                    Some(sum) if self.plan.start == Start::Product => sum,
                    Some(sum) => self.add(from, sum, target, Some(number), log),
                }
            }
            PlanStep::Integer(_) => unreachable!("integers are summed at once"),
        }
    }

    /// A result, as the next step finds it.
    fn hold(&self, code: u64, target: &Target) -> Held {
        Held::of(target.format, code, self.plan.result_subnormals)
    }

    fn add<L: Log>(&self, x: Held, y: Held, target: &Target, group: Option<usize>, log: &mut L) -> Held {
        let code = softfloat::add(&x.real(), &y.real(), target);
        log.line(|| rounding(group, "addition", target, code));
        self.hold(code, target)
    }

    /// The products of a group, each rounded where the plan says so.
    fn products<L: Log>(
        &self,
        number: usize,
        group: &[usize],
        inputs: &Inputs,
        target: Option<&Target>,
        log: &mut L,
    ) -> Vec<Held> {
        let [a, b] = self.plan.factors();
        let fraction_bits = (a.fraction_bits() + b.fraction_bits()) as i32;
        let mut products = Vec::with_capacity(group.len());
        for &at in group {
            let exact = limited(inputs.product(at), self.plan.product_limit);
            let held = match target {
                Some(target) => self.hold(target.round(&exact), target),
                None => Held { value: datum(&exact), fraction_bits, exact: Some(exact) },
            };
            log.line(|| Line::new(Some(number), product_name(at), held.real()));
            products.push(held);
        }
        products
    }

    /// The sum of the first half plus the sum of the second half.
    fn tree<L: Log>(&self, number: usize, terms: &[Held], target: &Target, log: &mut L) -> Option<Held> {
        match terms {
            [] => None,
            [term] => Some(*term),
            _ => {
                let (left, right) = terms.split_at(terms.len() / 2);
                let left = self.tree(number, left, target, log)?;
                let right = self.tree(number, right, target, log)?;
                Some(self.add(left, right, target, Some(number), log))
            }
        }
    }

    /// A chain of fused multiply-adds over ascending indices.
    #[allow(clippy::too_many_arguments)]
    fn fma<L: Log>(
        &self,
        number: usize,
        nan_operands: &[Operand],
        group: &[usize],
        inputs: &Inputs,
        from: Held,
        target: &Target,
        log: &mut L,
    ) -> Held {
        let mut sum = from.value;
        for (position, &at) in group.iter().enumerate() {
            let (a, b) = (&inputs.a[at], &inputs.b[at]);
            let code = if position == 0 && self.plan.start == Start::Product {
                target.round(&inputs.product(at))
            } else if let Some(nan) = first_nan(nan_operands, a, b, &sum) {
                target.format.quiet_nan(nan.negative, nan.significand).unwrap_or(target.nan)
            } else {
                softfloat::fma(&a.real(), &b.real(), &sum.real(), target)
            };
            log.line(|| rounding(Some(number), &format!("+ {}", product_name(at)), target, code));
            sum = self.hold(code, target).value;
        }
        Held::datum(sum, target.format)
    }

    /// The exact integer sum, brought into the range of D.
    fn integer<L: Log>(&self, wrap: Wrap, case: &Case, log: &mut L) -> u64 {
        let i = &self.plan.instruction;
        let signed = |format: &Format, code: u64| {
            let datum = format.decode(code);
            if datum.negative { -(datum.significand as i128) } else { datum.significand as i128 }
        };
        let exact = |sum: i128| Real::Finite(Finite::exact(sum < 0, sum.unsigned_abs(), 0));
        let mut sum = signed(i.c, case.c);
        log.line(|| Line::new(None, "c", exact(sum)));
        for (at, &a) in case.a.iter().enumerate() {
            let product = signed(i.a, a) * signed(i.b, case.b[case.logical(i, at)]);
            log.line(|| Line::new(None, product_name(at), exact(product)));
            sum += product;
        }
        log.line(|| Line::new(None, "sum", exact(sum)));
        let code = match wrap {
            Wrap::Wrap => sum as u64 & i.d.code_mask(),
            Wrap::Saturate => self.plan.output.round(&exact(sum)),
        };
        log.line(|| rounding(None, "D", &self.plan.output, code));
        code
    }
}

impl Inputs {
    fn new(plan: &Plan, case: &Case) -> Inputs {
        let i = &plan.instruction;
        let operand = |format: &Format, unpack: Option<&'static Format>, code: u64| {
            let decoded = settled(format.decode(code), plan.operand_subnormals);
            match unpack {
                Some(wider) if decoded.is_finite() => {
                    let code = wider.encode(&decoded.real(), Rounding::Rne, Overflow::Standard);
                    wider.decode(code.expect("finite values have codes"))
                }
                _ => decoded,
            }
        };
        let logical = |at: usize| case.logical(i, at);
        let scales = match i.scale {
            None => Vec::new(),
            Some(scale) => {
                let of = |at: usize| {
                    let block = logical(at) / scale.block;
                    let [a, b] = [case.scale_a[block], case.scale_b[block]].map(|code| scale.format.decode(code));
                    let exponent = a.exponent + b.exponent + 2 * scale.format.fraction_bits() as i32;
                    (softfloat::product(&a.real(), &b.real()), exponent)
                };
                (0..case.a.len()).map(of).collect()
            }
        };
        Inputs {
            a: case.a.iter().map(|code| operand(i.a, plan.unpack, *code)).collect(),
            b: (0..case.a.len()).map(|at| operand(i.b, plan.unpack, case.b[logical(at)])).collect(),
            scales,
            c: Held::datum(operand(i.c, plan.unpack_c, case.c), plan.unpack_c.unwrap_or(i.c)),
        }
    }

    /// The exact product of the factors at a stored k, without scales.
    pub(super) fn product(&self, at: usize) -> Real {
        softfloat::product(&self.a[at].real(), &self.b[at].real())
    }
}

/// A datum after the treatment of subnormal numbers.
fn settled(value: Decoded, subnormals: Subnormals) -> Decoded {
    if value.class != Class::Subnormal || subnormals == Subnormals::Keep {
        return value;
    }
    let negative = value.negative && subnormals == Subnormals::SignedZero;
    Decoded { class: Class::Zero, negative, significand: 0, ..value }
}

/// A product at or above the limit is infinite.
pub(super) fn limited(product: Real, limit: Option<i32>) -> Real {
    match (product, limit) {
        (Real::Finite(finite), Some(limit)) if finite.leading_exponent().is_some_and(|e| e >= limit) => {
            Real::Infinity { negative: finite.negative }
        }
        _ => product,
    }
}

/// An exact product as a datum, for its class: the significand of one of f64 is cut short.
fn datum(product: &Real) -> Decoded {
    let datum = |class, negative, significand, exponent| Decoded { class, negative, significand, exponent };
    match *product {
        Real::Nan => datum(Class::Nan, false, 0, 0),
        Real::Infinity { negative } => datum(Class::Infinite, negative, 0, 0),
        Real::Finite(f) if f.significand == 0 => datum(Class::Zero, f.negative, 0, f.exponent),
        Real::Finite(f) => datum(Class::Normal, f.negative, f.significand as u64, f.exponent),
    }
}

/// The first NaN among the operands of `a*b + c`, in the given order.
fn first_nan<'a>(order: &[Operand], a: &'a Decoded, b: &'a Decoded, c: &'a Decoded) -> Option<&'a Decoded> {
    let operand = |which: &Operand| match which {
        Operand::A => a,
        Operand::B => b,
        Operand::C => c,
    };
    order.iter().map(operand).find(|value| value.class == Class::Nan)
}

/// The name of a product in explanations.
pub(super) fn product_name(at: usize) -> String {
    format!("a[{at}]*b[{at}]")
}

/// The line of a rounding to `code`.
pub(super) fn rounding(group: Option<usize>, what: &str, target: &Target, code: u64) -> Line {
    let what = match target.format.is_integer() {
        true => what.to_string(),
        false => format!("{what} to {} {}", target.format, target.rounding.name()),
    };
    Line { code: Some((target.format, code)), ..Line::new(group, what, target.format.value(code)) }
}
