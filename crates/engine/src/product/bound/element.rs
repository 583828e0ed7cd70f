//! Error analysis of an element of D from its operands.

use super::{
    enclosed::{Enclosed, ErrorBound, Significand},
    operand::{ElementScale, KnownProducts, Operand},
    step::step,
    walk::{ChainStart, ElementSums, element},
};
use crate::{
    Error, Result,
    arithmetic::{ElementaryOperation, Model, Program},
    format::Format,
    isa::Instruction,
    product::{ElementPlace, Factors, Matrix, Run, Schedule, Walk, epilogue::ElementAddends},
};

/// The analysis of products by a schedule, element by element, from operands that are known.
///
/// The running error analysis of every operation: alignment, rounding of each step, promotion, joining, output. Its bounds hold for
/// this order of the sums alone, and are the tightest that this package gives.
pub struct ElementBounds<'a> {
    schedule: &'a Schedule,
    factors: &'a Factors,
    program: Program,
    walk: Walk,
}

impl<'a> ElementBounds<'a> {
    /// The analysis of a product by `schedule` in a model's arithmetic.
    ///
    /// # Errors
    /// Operands that do not fit the schedule, or are in other formats; a model without the instruction; an instruction of exclusive ors, or
    /// one whose products leave pieces of significands out.
    pub fn new(model: &Model, schedule: &'a Schedule, factors: &'a Factors) -> Result<ElementBounds<'a>> {
        factors.check(schedule)?;
        let i = &schedule.instruction;
        for (name, matrix, format) in [("A", &factors.a, i.a), ("B", &factors.b, i.b)] {
            if matrix.format != format {
                return Err(Error::request(format!(
                    "{name} holds {}, and {i} takes {format}; give {name} in {format}, as the unit gets it",
                    matrix.format
                )));
            }
        }
        let program = checked(model, &schedule.instruction)?;
        Ok(ElementBounds { schedule, factors, program, walk: schedule.walk(factors.k()) })
    }

    /// The bound of an element; `None` where an operand is infinite or NaN.
    pub fn of(&self, row: usize, column: usize) -> Option<ErrorBound> {
        self.enclosed(row, column).map(|enclosed| enclosed.error)
    }

    fn enclosed(&self, row: usize, column: usize) -> Option<Enclosed> {
        let Factors { a, b, .. } = self.factors;
        let k = self.factors.k();
        let i = &self.schedule.instruction;
        let [x, y, _] = &self.program.unpack;
        let of_row: Option<Vec<Operand>> = (0..k).map(|k| Operand::of(i.a, a.get(row, k), x)).collect();
        let of_column: Option<Vec<Operand>> = (0..k).map(|k| Operand::of(i.b, b.get(k, column), y)).collect();
        let sums = KnownElement {
            bounds: self,
            row,
            column,
            a: of_row?,
            b: of_column?,
            scales: self.block_scales(row, column)?,
        };
        let finite = |matrix: &Option<Matrix>, row: usize| {
            matrix.as_ref().is_none_or(|matrix| matrix.value(row, column).is_finite())
        };
        // With beta = 0 C is not read.
        if self.schedule.beta != 0.0 && !finite(&self.factors.c, row) || !finite(&self.factors.bias, 0) {
            return None;
        }
        Some(element(self.schedule, &self.walk, &sums))
    }

    /// The scales of each k, of instructions that have them.
    fn block_scales(&self, row: usize, column: usize) -> Option<Vec<ElementScale>> {
        let Some(scale) = self.schedule.instruction.scale else { return Some(Vec::new()) };
        let (Some(a), Some(b)) = (&self.factors.scale_a, &self.factors.scale_b) else { return Some(Vec::new()) };
        let one = |k: usize| {
            let block = k / scale.block;
            ElementScale::of(scale.format, a.get(row, block), b.get(block, column))
        };
        (0..self.factors.k()).map(one).collect()
    }
}

/// The program of an instruction, if it can be analysed.
pub(super) fn checked(model: &Model, i: &Instruction) -> Result<Program> {
    if i.xor {
        return Err(Error::request(format!("{i} counts bits of exclusive ors, which have no error")));
    }
    let program = model.program(i)?;
    match covers_pieces(&program) {
        true => Ok(program),
        false => {
            Err(Error::request(format!("{} leaves pieces of products of {i} out; they have no bound", model.name)))
        }
    }
}

/// True if the pieces of each product add up to it.
fn covers_pieces(program: &Program) -> bool {
    let mut pieces: Vec<Vec<(u64, u64)>> = vec![Vec::new(); program.instruction.stored_k()];
    for operation in program.operations() {
        match operation {
            ElementaryOperation::Multiply(multiply) => {
                multiply.factors.iter().for_each(|factors| pieces[factors.k].push((factors.a, factors.b)));
            }
            ElementaryOperation::Fma { factors, .. } => pieces[factors.k].push((factors.a, factors.b)),
            ElementaryOperation::Integer(_) => return true,
            _ => (),
        }
    }
    let uncut = [(u64::MAX, u64::MAX)];
    let bits = program.factors().map(|format| format.fraction_bits() + 1);
    // Pairs of single bits: each in one piece.
    let once = |pairs: &[(u64, u64)], x: u32, y: u32| {
        pairs.iter().filter(|(a, b)| a >> x & 1 == 1 && b >> y & 1 == 1).count() == 1
    };
    let tiled = |pairs: &[(u64, u64)]| (0..bits[0]).all(|x| (0..bits[1]).all(|y| once(pairs, x, y)));
    pieces.iter().all(|pairs| pairs[..] == uncut || tiled(pairs))
}

/// An element whose operands are known.
struct KnownElement<'a> {
    bounds: &'a ElementBounds<'a>,
    row: usize,
    column: usize,
    a: Vec<Operand>,
    b: Vec<Operand>,
    scales: Vec<ElementScale>,
}

impl ElementSums for KnownElement<'_> {
    fn chain(&self, run: &Run, start: ChainStart) -> Enclosed {
        let program = &self.bounds.program;
        let start_of = |matrix: &Option<Matrix>, row: usize| {
            let entry = matrix.as_ref().map(|matrix| (matrix.format, matrix.get(row, self.column)));
            entry.map_or(Enclosed::ZERO, |(format, code)| code_of(format, code))
        };
        let mut sum = match start {
            ChainStart::Zero => Enclosed::ZERO,
            ChainStart::C => start_of(&self.bounds.factors.c, self.row),
            ChainStart::Bias => start_of(&self.bounds.factors.bias, 0),
        };
        for steps in &run.steps {
            let scales = if self.scales.is_empty() { &[][..] } else { &self.scales[steps.clone()] };
            let products = KnownProducts { a: &self.a[steps.clone()], b: &self.b[steps.clone()], scales };
            sum = step(program, &products, sum);
        }
        sum
    }

    fn cap(&self) -> f64 {
        f64::INFINITY
    }

    fn scales(&self, run: &Run) -> Option<[f64; 2]> {
        let schedule = self.bounds.schedule;
        schedule.scales.filter(|scales| !scales.multiply.is_at_end())?;
        self.bounds.factors.scales_at(schedule, ElementPlace { row: self.row, column: self.column }, run.k()?)
    }

    fn addends(&self) -> ElementAddends {
        let schedule = self.bounds.schedule;
        self.bounds.factors.addends(schedule, schedule.beta, ElementPlace { row: self.row, column: self.column })
    }
}

/// A code of C.
pub(super) fn code_of(format: &'static Format, code: u64) -> Enclosed {
    let datum = format.decode(code);
    match datum.significand {
        0 => Enclosed::ZERO,
        bits => Enclosed {
            span: Some(format.fraction_bits() as i32),
            significand: Significand::of(format),
            ..Enclosed::number(
                datum.to_f64(),
                Some(datum.exponent + format.fraction_bits() as i32),
                datum.exponent + bits.trailing_zeros() as i32,
            )
        },
    }
}
