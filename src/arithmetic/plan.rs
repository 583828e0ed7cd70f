//! A rule made ready for one instruction: every key resolved, every group spelled out. All evaluators work from it.

use super::rule::{
    Alignment, CPosition, Join, Lanes, Late, Operand, Parts, Rounded, Rule, Start, Step, Subnormals, Wrap, ZeroSign,
};
use crate::{
    format::{Class, Format, Overflow, Rounding},
    isa::Instruction,
    softfloat::Target,
};

/// The arithmetic of one instruction.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The instruction.
    pub instruction: Instruction,
    /// The format that A and B are converted to before anything else.
    pub unpack: Option<&'static Format>,
    /// The format that C is converted to before anything else.
    pub unpack_c: Option<&'static Format>,
    /// What becomes of subnormal operands of A, B and C.
    pub operand_subnormals: Subnormals,
    /// What becomes of subnormal results.
    pub result_subnormals: Subnormals,
    /// The (stored) k indices of each group, in order.
    pub groups: Vec<Vec<usize>>,
    /// How one group is summed.
    pub step: PlanStep,
    /// Products of magnitude 2^this or more are infinite.
    pub product_limit: Option<i32>,
    /// What the first group of each chain starts from.
    pub start: Start,
    /// How the results of the groups come together.
    pub join: Join,
    /// When c enters.
    pub c: CPosition,
    /// Result of the last step.
    pub result: Target,
    /// Result of a step that another group continues from.
    pub between: Target,
    /// Result of an ordinary addition outside the steps.
    pub addition: Target,
    /// The conversion of the last value to D.
    pub output: Target,
}

/// How one group is summed.
#[derive(Debug, Clone)]
pub enum PlanStep {
    /// Fused, or exact where `alignment` is absent.
    Fused(Fused),
    /// A chain of fused multiply-adds.
    Fma {
        /// The order in which a NaN operand becomes the result; empty: every NaN is the same.
        nan_operands: Vec<Operand>,
    },
    /// Rounded products, added one after the other.
    Sequential {
        /// Rounding of each product; `None`: exact.
        product: Option<Target>,
    },
    /// Rounded products, added in a binary tree.
    Pairwise {
        /// Rounding of each product; `None`: exact.
        product: Option<Target>,
    },
    /// Exact integers.
    Integer(Wrap),
}

/// A sum that is rounded once.
#[derive(Debug, Clone)]
pub struct Fused {
    /// Alignment; `None`: exact.
    pub alignment: Option<Alignment>,
    /// Rounding of each product; `None`: exact.
    pub product: Option<Target>,
    /// Whether a product's exponent is that of its leading bit.
    pub normalised: bool,
    /// Positions summed apart.
    pub lanes: Option<Lanes>,
    /// A c that is aligned with the sum of the products.
    pub late: Option<Late>,
    /// Products summed exactly before they are scaled.
    pub scale_sums: Option<usize>,
    /// The sign of zero results.
    pub zero: ZeroSign,
}

impl Plan {
    /// Makes `rule` ready for `instruction`.
    ///
    /// # Errors
    /// What keeps the rule from holding for this instruction, with the key.
    pub(super) fn new(rule: &Rule, instruction: &Instruction) -> Result<Plan, String> {
        let i = instruction;
        let nan = nan(rule, i)?;
        if let Some(unpack) = rule.unpack
            && let Some(lossy) = [i.a, i.b].into_iter().find(|format| !unpack.holds(format))
        {
            return Err(format!("'unpack' is {unpack}, which does not hold every number of {lossy}"));
        }
        if let Some(unpack) = rule.unpack_c.filter(|unpack| !unpack.holds(i.c)) {
            return Err(format!("'unpack-c' is {unpack}, which does not hold every number of {}", i.c));
        }
        if let (Some(sums), Some(scale)) = (rule.scale_sums, i.scale)
            && let products = scale.block * i.stored_k() / i.k
            && !products.is_multiple_of(sums)
        {
            return Err(format!("'scale-sums' is {sums}, which does not divide a block's {products} products"));
        }
        if let (Some(sums), None) = (rule.scale_sums, i.scale) {
            return Err(format!("'scale-sums' is {sums}, but the instruction has no block scales"));
        }
        let conversion = rule.output;
        let output = Target {
            format: i.d,
            rounding: conversion.map_or(Rounding::Rne, |to| to.rounding),
            overflow: conversion.map_or(Overflow::Standard, |to| to.overflow),
            nan,
        };
        let mut result = rule.result.as_ref().map_or(output, rounded);
        let mut addition = rule.addition.as_ref().map_or(result, rounded);
        let between = rule.between.as_ref().map_or(result, rounded);
        let product = rule.product.as_ref().map(rounded);
        let step = match rule.step {
            Step::Fused | Step::Exact => PlanStep::Fused(Fused {
                alignment: rule.alignment,
                product,
                normalised: rule.normalised.unwrap_or(false),
                lanes: rule.lanes.clone(),
                late: rule.late,
                scale_sums: rule.scale_sums,
                zero: rule.zero.unwrap_or_default(),
            }),
            Step::Fma => {
                let nan_operands = rule.nan_operands.clone().unwrap_or_default();
                if !nan_operands.is_empty() {
                    if [i.a, i.b, i.c, i.d, addition.format].iter().any(|format| *format != result.format) {
                        return Err("'nan-operands' needs operands, results and additions of one format".into());
                    }
                    (result.nan, addition.nan) = (nan, nan);
                }
                PlanStep::Fma { nan_operands }
            }
            Step::Sequential => PlanStep::Sequential { product },
            Step::Pairwise => PlanStep::Pairwise { product },
            Step::Integer => PlanStep::Integer(rule.wrap.ok_or("the key 'wrap' is missing")?),
        };
        if i.scale.is_some() && !matches!(step, PlanStep::Fused(_)) {
            return Err(format!("'step' is '{}', but block scales need 'fused' or 'exact'", rule.step.name()));
        }
        if rule.scale_sums.is_some()
            && product_span(rule.unpack.unwrap_or(i.a)) + product_span(rule.unpack.unwrap_or(i.b)) > 100
        {
            return Err(format!("'scale-sums': exact sums of products of {} and {} are too wide", i.a, i.b));
        }
        let groups = groups(i.stored_k(), rule.group, rule.parts.as_ref());
        if let Some(sums) = rule.scale_sums
            && !groups.iter().all(|group| runs(group, sums))
        {
            return Err(format!("'scale-sums' is {sums}, but the groups do not consist of such runs of products"));
        }
        Ok(Plan {
            instruction: i.clone(),
            unpack: rule.unpack,
            unpack_c: rule.unpack_c,
            operand_subnormals: rule.operand_subnormals,
            result_subnormals: rule.result_subnormals,
            groups,
            step,
            product_limit: rule.product_limit,
            start: rule.start,
            join: rule.join,
            c: rule.c,
            result,
            between,
            addition,
            output,
        })
    }

    /// The formats of A and B after unpacking.
    pub fn factors(&self) -> [&'static Format; 2] {
        [self.instruction.a, self.instruction.b].map(|format| self.unpack.unwrap_or(format))
    }
}

/// Bits between the last bit of the smallest and the first of the largest number.
fn product_span(format: &Format) -> i32 {
    format.float().map_or(0, |f| f.emax() - f.emin() + f.precision() as i32)
}

/// Whether a group consists of runs of `length` consecutive indices, each beginning at a multiple of it.
fn runs(group: &[usize], length: usize) -> bool {
    group.len().is_multiple_of(length)
        && group.chunks(length).all(|run| run[0] % length == 0 && run.windows(2).all(|w| w[1] == w[0] + 1))
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
