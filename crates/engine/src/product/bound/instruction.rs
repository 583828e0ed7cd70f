//! Error analysis of one dot-product-add of an instruction.

use super::{
    element::{checked, code_of},
    enclosed::{Enclosed, ErrorBound},
    magnitude::{Magnitudes, PathRates, has_branches, one_step},
    operand::{ElementScale, KnownProducts, Operand},
    step::step,
};
use crate::{
    Result,
    arithmetic::{Model, Program},
    isa::{Case, Instruction, Tiles},
};

/// The analysis of single dot-product-adds: d = c + sum of a b, in a model's arithmetic.
pub struct InstructionBounds {
    program: Program,
}

impl InstructionBounds {
    /// The analysis of an instruction, dense or sparse, with block scales or without.
    ///
    /// # Errors
    /// A model without the instruction; exclusive ors; products of which pieces are left out.
    pub fn new(model: &Model, instruction: &Instruction) -> Result<InstructionBounds> {
        Ok(InstructionBounds { program: checked(model, instruction)? })
    }

    /// The bound of |d - exact| for a case; `None` where an operand is infinite or NaN.
    pub fn of(&self, case: &Case) -> Option<ErrorBound> {
        self.enclosed(case).map(|enclosed| enclosed.error)
    }

    /// The operands of the rows of A (columns of B) of a tile; `None` for a line with an infinity or a NaN.
    ///
    /// Only of dense instructions without scales.
    pub fn lines(&self, tiles: &Tiles, tile: usize) -> Option<[Vec<Option<Vec<Operand>>>; 2]> {
        let i = &self.program.instruction;
        if i.is_sparse() || i.scale.is_some() {
            return None;
        }
        let [x, y, _] = &self.program.unpack;
        let row = |row: usize| {
            (0..i.k).map(|k| Operand::of(i.a, tiles.a.get((tile * i.m + row) * i.k + k), x)).collect::<Option<Vec<_>>>()
        };
        let column = |column: usize| {
            (0..i.k)
                .map(|k| Operand::of(i.b, tiles.b.get((tile * i.k + k) * i.n + column), y))
                .collect::<Option<Vec<_>>>()
        };
        Some([(0..i.m).map(row).collect(), (0..i.n).map(column).collect()])
    }

    /// The bound of c plus the products of a row and a column.
    pub fn of_line(&self, a: &Option<Vec<Operand>>, b: &Option<Vec<Operand>>, c: u64) -> Option<Enclosed> {
        let i = &self.program.instruction;
        if !i.c.decode(c).is_finite() {
            return None;
        }
        let products = KnownProducts { a: a.as_ref()?, b: b.as_ref()?, scales: &[] };
        Some(step(&self.program, &products, code_of(i.c, c)))
    }

    /// The bound of |d - exact| for products of normal numbers whose magnitudes have this sum, and c = 0.
    pub fn of_magnitudes(&self, sum: f64) -> ErrorBound {
        one_step(&self.program, has_branches(&self.program), &Magnitudes::of_sum(sum), sum, &PathRates::default()).error
    }

    /// The bound, with the interval of the exact value.
    pub fn enclosed(&self, case: &Case) -> Option<Enclosed> {
        let i = &self.program.instruction;
        let [x, y, _] = &self.program.unpack;
        let a: Option<Vec<Operand>> = case.a.iter().map(|code| Operand::of(i.a, *code, x)).collect();
        let b: Option<Vec<Operand>> =
            (0..case.a.len()).map(|at| Operand::of(i.b, case.b[case.logical(i, at)], y)).collect();
        if !i.c.decode(case.c).is_finite() {
            return None;
        }
        let scales: Option<Vec<ElementScale>> = match i.scale {
            None => Some(Vec::new()),
            Some(scale) => (0..case.a.len())
                .map(|at| {
                    let block = case.logical(i, at) / scale.block;
                    ElementScale::of(scale.format, case.scale_a[block], case.scale_b[block])
                })
                .collect(),
        };
        let products = KnownProducts { a: &a?, b: &b?, scales: &scales? };
        Some(step(&self.program, &products, code_of(i.c, case.c)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{arithmetic::Evaluator, isa};

    /// Counterexample: products whose exact sum is zero leave an aligned sum that the rounding cuts.
    #[test]
    fn products_that_cancel_do_not_make_c_the_sum() {
        let i = isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap();
        let model = Model::load("hopper").unwrap();
        let a = [
            0x8004, 0x8002, 0x8001, 0x8080, 0x0400, 0x1800, 0x0020, 0x0080, 0x0001, 0x0002, 0x9400, 0x8001, 0x8001,
            0x1400, 0x8040, 0x0010,
        ];
        let b = [
            0x1000, 0x9400, 0x2000, 0x8080, 0x0010, 0x0001, 0x8400, 0x0100, 0x9c00, 0x1400, 0x0002, 0xa400, 0x1800,
            0x8002, 0x0200, 0x8800,
        ];
        let case = Case::dense(a.to_vec(), b.to_vec(), 0xbd69_5b18);
        let evaluator: Evaluator = model.evaluator(&i).unwrap();
        let error = (i.d.to_f64(evaluator.dot(&case)) - i.c.to_f64(case.c)).abs();
        let bound = InstructionBounds::new(&model, &i).unwrap().of(&case).unwrap();
        assert!(error == 2f64.powi(-28) && error <= bound.worst(), "{error:e} {bound:?}");
    }
}
