//! The reference evaluator: computes one dot-product-add as its rule says, step by step, in integers.

use rayon::prelude::*;

use super::rule::{Alignment, CPosition, Join, Operand, Parts, Rounded, Rule, Start, Step, Wrap};
use crate::{
    format::{Class, Decoded, Finite, Format, Overflow, Real, Rounding},
    isa::{Codes, Instruction, Tiles},
    softfloat::{self, Target},
};

/// The arithmetic of one instruction, ready to be evaluated.
#[derive(Debug, Clone)]
pub struct Evaluator {
    instruction: Instruction,
    step: StepKind,
    /// The format that operands are converted to before anything else.
    unpack: Option<&'static Format>,
    /// The k indices of each group, in order.
    groups: Vec<Vec<usize>>,
    start: Start,
    join: Join,
    c: CPosition,
    addition: Target,
    output: Target,
}

#[derive(Debug, Clone)]
enum StepKind {
    Fused { alignment: Alignment, result: Target },
    Fma { result: Target, nan_operands: Vec<Operand> },
    Integer(Wrap),
}

/// A value between two steps: decoded, with the fraction bits of the format that holds it.
#[derive(Debug, Clone, Copy)]
struct Held {
    value: Decoded,
    fraction_bits: i32,
}

impl Held {
    fn of(format: &Format, code: u64) -> Held {
        Held { value: format.decode(code), fraction_bits: format.fraction_bits() as i32 }
    }

    /// Exponent of the significand's units digit: the number's own exponent, a subnormal counting as the
    /// smallest normal one.
    fn exponent(&self) -> i32 {
        self.value.exponent + self.fraction_bits
    }
}

/// One term of a fused sum: its exact value, and the exponent of its significand's units digit.
#[derive(Clone, Copy)]
struct Term {
    value: Finite,
    exponent: i32,
}

impl Evaluator {
    /// Prepares `rule` for `instruction`.
    ///
    /// # Errors
    /// What keeps the rule from holding for this instruction, with the key.
    pub(super) fn new(rule: &Rule, instruction: &Instruction) -> Result<Evaluator, String> {
        let nan = nan(rule, instruction)?;
        if let Some(unpack) = rule.unpack
            && let Some(lossy) = [instruction.a, instruction.b].into_iter().find(|format| !unpack.holds(format))
        {
            return Err(format!("'unpack' is {unpack}, which does not hold every number of {lossy}"));
        }
        let result = rule.result.as_ref().map(rounded);
        let to_output = Target { format: instruction.d, rounding: Rounding::Rne, overflow: Overflow::Standard, nan };
        let mut addition = rule.addition.as_ref().map(rounded).or(result).unwrap_or(to_output);
        let missing = |key: &str| format!("the key '{key}' is missing");
        let step = match rule.step {
            Step::Fused => StepKind::Fused {
                alignment: rule.alignment.ok_or_else(|| missing("alignment"))?,
                result: result.ok_or_else(|| missing("result"))?,
            },
            Step::Fma => {
                let mut result = result.ok_or_else(|| missing("result"))?;
                let nan_operands = rule.nan_operands.clone().unwrap_or_default();
                if !nan_operands.is_empty() {
                    let Instruction { a, b, c, d, .. } = instruction;
                    if [a, b, c, d, &addition.format].iter().any(|format| **format != result.format) {
                        return Err("'nan-operands' needs operands, results and additions of one format".into());
                    }
                    (result.nan, addition.nan) = (nan, nan);
                }
                StepKind::Fma { result, nan_operands }
            }
            Step::Integer => StepKind::Integer(rule.wrap.ok_or_else(|| missing("wrap"))?),
        };
        Ok(Evaluator {
            step,
            unpack: rule.unpack,
            groups: groups(instruction.k, rule.group, rule.parts.as_ref()),
            start: rule.start,
            join: rule.join,
            c: rule.c,
            addition,
            output: to_output,
            instruction: instruction.clone(),
        })
    }

    /// The code of `c + sum of a[i]*b[i]`, from `k` codes of A and B and one of C.
    ///
    /// Panics if `a` or `b` does not have k elements.
    pub fn dot(&self, a: &[u64], b: &[u64], c: u64) -> u64 {
        let operands = |format, codes: &[u64]| codes.iter().map(|code| self.operand(format, *code)).collect::<Vec<_>>();
        self.dot_decoded(&operands(self.instruction.a, a), &operands(self.instruction.b, b), c)
    }

    /// An operand of A or B, decoded, and unpacked where the rule says so.
    fn operand(&self, format: &Format, code: u64) -> Decoded {
        let decoded = format.decode(code);
        match self.unpack {
            Some(wider) if decoded.is_finite() => {
                let code = wider.encode(&decoded.real(), Rounding::Rne, Overflow::Standard);
                wider.decode(code.expect("finite values have codes"))
            }
            _ => decoded,
        }
    }

    /// D codes `[count][m][n]` of `tiles`, computed on all cores.
    pub fn execute(&self, tiles: &Tiles) -> Codes {
        let Instruction { m, n, .. } = self.instruction;
        let outputs: Vec<u64> = (0..tiles.count).into_par_iter().flat_map_iter(|tile| self.tile(tiles, tile)).collect();
        debug_assert_eq!(outputs.len(), tiles.count * m * n);
        Codes::from_values(self.instruction.d, &outputs)
    }

    fn tile(&self, tiles: &Tiles, tile: usize) -> Vec<u64> {
        let Instruction { m, n, k, a, b, .. } = self.instruction;
        let rows: Vec<Decoded> = (0..m * k).map(|i| self.operand(a, tiles.a.get(tile * m * k + i))).collect();
        // B by columns.
        let columns: Vec<Decoded> =
            (0..n * k).map(|i| self.operand(b, tiles.b.get(tile * k * n + i % k * n + i / k))).collect();
        (0..m * n)
            .map(|at| {
                let (row, column) = (at / n, at % n);
                let c = tiles.c.get(tile * m * n + at);
                self.dot_decoded(&rows[row * k..][..k], &columns[column * k..][..k], c)
            })
            .collect()
    }

    fn dot_decoded(&self, a: &[Decoded], b: &[Decoded], c: u64) -> u64 {
        assert!(a.len() == self.instruction.k && b.len() == self.instruction.k, "k operands of A and of B");
        if let StepKind::Integer(wrap) = &self.step {
            return self.integer(*wrap, a, b, c);
        }
        let c = Held::of(self.instruction.c, c);
        let zero = Held::of(self.instruction.c, self.instruction.c.zero(false).unwrap_or(0));
        let first = if self.c == CPosition::First { c } else { zero };

        let mut total = (self.join == Join::Add && self.c == CPosition::First).then_some(c);
        for group in &self.groups {
            let sum = match (total, self.join) {
                (None, Join::Chain) => self.group(group, a, b, first),
                (Some(previous), Join::Chain) => self.group(group, a, b, previous),
                (None, Join::Add) => self.group(group, a, b, zero),
                (Some(previous), Join::Add) => self.add(previous, self.group(group, a, b, zero)),
            };
            total = Some(sum);
        }
        let mut total = total.unwrap_or(first);
        if self.c == CPosition::Last {
            total = self.add(total, c);
        }
        match &self.step {
            StepKind::Fma { result, nan_operands } if !nan_operands.is_empty() && total.value.class == Class::Nan => {
                result.format.quiet_nan(total.value.negative, total.value.significand).unwrap_or(result.nan)
            }
            _ => self.output.round(&total.value.real()),
        }
    }

    fn group(&self, group: &[usize], a: &[Decoded], b: &[Decoded], from: Held) -> Held {
        match &self.step {
            StepKind::Fused { alignment, result } => self.fused(alignment, result, group, a, b, from),
            StepKind::Fma { result, nan_operands } => self.fma(result, nan_operands, group, a, b, from),
            StepKind::Integer(_) => unreachable!("integers are summed at once"),
        }
    }

    fn add(&self, x: Held, y: Held) -> Held {
        let code = softfloat::add(&x.value.real(), &y.value.real(), &self.addition);
        Held::of(self.addition.format, code)
    }

    /// A chain of fused multiply-adds over ascending indices.
    fn fma(
        &self,
        result: &Target,
        nan_operands: &[Operand],
        group: &[usize],
        a: &[Decoded],
        b: &[Decoded],
        from: Held,
    ) -> Held {
        let mut sum = from.value;
        for (position, &i) in group.iter().enumerate() {
            let code = if position == 0 && self.start == Start::Product {
                result.round(&softfloat::product(&a[i].real(), &b[i].real()))
            } else if let Some(nan) = first_nan(nan_operands, &a[i], &b[i], &sum) {
                result.format.quiet_nan(nan.negative, nan.significand).unwrap_or(result.nan)
            } else {
                softfloat::fma(&a[i].real(), &b[i].real(), &sum.real(), result)
            };
            sum = result.format.decode(code);
        }
        Held { value: sum, fraction_bits: result.format.fraction_bits() as i32 }
    }

    /// All terms aligned to the largest exponent, cut, added exactly, and rounded once.
    fn fused(
        &self,
        alignment: &Alignment,
        result: &Target,
        group: &[usize],
        a: &[Decoded],
        b: &[Decoded],
        from: Held,
    ) -> Held {
        if !from.value.is_finite() || group.iter().any(|&i| !a[i].is_finite() || !b[i].is_finite()) {
            return Held::of(result.format, result.round(&special_sum(group, a, b, from)));
        }
        // The terms: every non-zero product, exact and unnormalised, and a non-zero c.
        let [a_format, b_format] = [self.instruction.a, self.instruction.b].map(|f| self.unpack.unwrap_or(f));
        let fraction_bits = (a_format.fraction_bits() + b_format.fraction_bits()) as i32;
        let products = group.iter().filter_map(|&i| product(&a[i], &b[i], fraction_bits));
        let c = held_term(from);
        // The largest exponent, never below the floor; the weight of the last bit that alignment keeps.
        let from_c = c.map_or(alignment.floor, |c| c.exponent.max(alignment.floor));
        let largest = products.clone().map(|term| term.exponent).fold(from_c, i32::max);
        let quantum = largest - alignment.bits;
        let units = |term: Term| {
            let (units, _) = term.value.round_to_quantum(quantum, alignment.rounding);
            if term.value.negative { -(units as i128) } else { units as i128 }
        };
        let sum = products.map(units).sum::<i128>() + c.map_or(0, units);
        let code = result.round(&Real::Finite(Finite::exact(sum < 0, sum.unsigned_abs(), quantum)));
        let mut held = Held::of(result.format, code);
        if held.value.class == Class::Zero {
            // A zero sum, and one that underflows to zero, is +0.
            held.value.negative = false;
        }
        held
    }

    /// The exact integer sum, brought into the range of D.
    fn integer(&self, wrap: Wrap, a: &[Decoded], b: &[Decoded], c: u64) -> u64 {
        let signed = |d: &Decoded| if d.negative { -(d.significand as i128) } else { d.significand as i128 };
        let sum =
            signed(&self.instruction.c.decode(c)) + a.iter().zip(b).map(|(a, b)| signed(a) * signed(b)).sum::<i128>();
        let d = self.instruction.d;
        match wrap {
            Wrap::Wrap => sum as u64 & d.code_mask(),
            Wrap::Saturate => self.output.round(&Real::Finite(Finite::exact(sum < 0, sum.unsigned_abs(), 0))),
        }
    }
}

/// The code of every NaN of D, 0 for integers.
fn nan(rule: &Rule, instruction: &Instruction) -> Result<u64, String> {
    let Instruction { a, b, c, d, .. } = instruction;
    let integers = rule.step == Step::Integer;
    if [a, b, c, d].iter().any(|format| format.is_integer() != integers) {
        let has = if integers { "floating-point" } else { "integer" };
        return Err(format!("'step' is '{}', but there are {has} operands", rule.step.name()));
    }
    match rule.nan {
        _ if integers => Ok(0),
        Some(code) if code <= d.code_mask() && d.decode(code).class == Class::Nan => Ok(code),
        Some(code) => Err(format!("'nan' is {code:#x}, which is no NaN of {d}")),
        None => Err("the key 'nan' is missing".into()),
    }
}

fn rounded(to: &Rounded) -> Target {
    // Without NaN the format would have been refused with the file.
    Target { format: to.format, rounding: to.rounding, overflow: to.overflow, nan: to.format.nan().unwrap_or(0) }
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

/// The groups of k indices, in the order in which they are summed.
fn groups(k: usize, group: Option<usize>, parts: Option<&Parts>) -> Vec<Vec<usize>> {
    let parts: Vec<Vec<usize>> = match parts {
        None => vec![(0..k).collect()],
        Some(Parts { period, residues }) => {
            residues.iter().map(|part| (0..k).filter(|i| part.contains(&(i % period))).collect()).collect()
        }
    };
    parts.iter().flat_map(|part| part.chunks(group.unwrap_or(k)).map(<[usize]>::to_vec)).collect()
}

/// The product of two finite operands as a term; `None` if it is zero.
fn product(a: &Decoded, b: &Decoded, fraction_bits: i32) -> Option<Term> {
    (a.significand != 0 && b.significand != 0).then(|| {
        let exponent = a.exponent + b.exponent;
        let significand = u128::from(a.significand) * u128::from(b.significand);
        Term {
            value: Finite::exact(a.negative != b.negative, significand, exponent),
            exponent: exponent + fraction_bits,
        }
    })
}

/// A held value as a term; `None` if it is zero.
fn held_term(held: Held) -> Option<Term> {
    (held.value.significand != 0).then(|| Term {
        value: Finite::exact(held.value.negative, held.value.significand.into(), held.value.exponent),
        exponent: held.exponent(),
    })
}

/// The sum of terms of which at least one is not finite: NaN, or the infinity that all infinite terms agree on.
fn special_sum(group: &[usize], a: &[Decoded], b: &[Decoded], from: Held) -> Real {
    let products = group.iter().map(|&i| softfloat::product(&a[i].real(), &b[i].real()));
    let mut infinity = None;
    for term in products.chain([from.value.real()]) {
        match (term, infinity) {
            (Real::Nan, _) => return Real::Nan,
            (Real::Infinity { negative }, Some(other)) if negative != other => return Real::Nan,
            (Real::Infinity { negative }, _) => infinity = Some(negative),
            (Real::Finite(_), _) => {}
        }
    }
    infinity.map_or(Real::Nan, |negative| Real::Infinity { negative })
}
