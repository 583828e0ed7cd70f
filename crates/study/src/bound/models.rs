//! One instruction of every shipped arithmetic: its bound, and the error that operands reach.

use super::construct;
use crate::{
    Result,
    arithmetic::{Model, Program, shipped},
    base::work,
    isa::{self, Case, Instruction},
    product::bound::InstructionBounds,
};

/// An instruction with its bound.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelBound {
    /// Name of the first model with this arithmetic.
    pub model: String,
    /// The first instruction of the rule.
    pub instruction: Instruction,
    /// Rules of models with the same arithmetic.
    pub rules: usize,
    /// |d - exact| over the sum of |a b|, at most.
    pub bound: f64,
    /// The largest of constructed operands.
    pub attained: f64,
    /// These operands.
    pub case: Option<Case>,
}

/// Bound below which only underflow makes errors.
const EXACT: f64 = 1e-40;
/// Places in a binade at which a bound that follows the binades is looked at.
const PLACES: usize = 16;

/// Bounds and attained errors of one instruction of every inexact shipped arithmetic, with c = 0.
///
/// Instructions of one arithmetic differ in names and shapes alone: their formats and programs are equal.
///
/// # Errors
/// A broken model; [`Error::Interrupted`](crate::Error::Interrupted), with the rows until then in `rows`.
pub fn of_models(rows: &mut Vec<ModelBound>) -> Result<()> {
    let mut arithmetics: Vec<(Model, Program, usize)> = Vec::new();
    for name in shipped() {
        let model = Model::load(name)?;
        let mut rules = Vec::new();
        for i in isa::all() {
            let Some(rule) = model.rule(i) else { continue };
            if i.xor || i.d.float().is_none() || rules.iter().any(|known| std::ptr::eq(*known, rule)) {
                continue;
            }
            rules.push(rule);
            let Ok(program) = model.program(i) else { continue };
            match arithmetics.iter_mut().find(|(_, known, _)| are_equal(known, &program)) {
                Some((.., count)) => *count += 1,
                None => arithmetics.push((model.clone(), program, 1)),
            }
        }
    }
    work::each(
        arithmetics,
        usize::MAX,
        |(model, program, rules), (): &mut ()| {
            let i = &program.instruction;
            let Ok(bounds) = InstructionBounds::new(&model, i) else { return Ok(None) };
            let relative = |at: usize| {
                let sum = 1.0 + at as f64 / PLACES as f64;
                bounds.of_magnitudes(sum).finite() / sum
            };
            let bound = (0..PLACES).map(relative).fold(0.0, f64::max);
            let attained = construct::attained(&model, i)?;
            let case = attained.as_ref().map(|attained| attained.case.clone());
            let attained = attained.map_or(0.0, |attained| attained.relative);
            Ok(Some(ModelBound { model: model.name, instruction: i.clone(), rules, bound, attained, case }))
        },
        |row| rows.extend(row.filter(|row| row.bound > EXACT)),
    )
}

/// True if two programs compute the same function of the same formats.
fn are_equal(x: &Program, y: &Program) -> bool {
    let formats = |program: &Program| {
        let i = &program.instruction;
        [i.a.name, i.b.name, i.c.name, i.d.name]
    };
    formats(x) == formats(y)
        && x.instruction.scale == y.instruction.scale
        && x.instruction.is_sparse() == y.instruction.is_sparse()
        && x.unpack == y.unpack
        && x.output == y.output
        && x.operations().eq(y.operations())
}
