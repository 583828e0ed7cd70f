//! Evaluator of one instruction: the reference for one element, the fast evaluator for many.

use super::{
    Program, Rule,
    fast::{FastArithmetic, Scratch},
    reference::{self, Explanation, Recorder, Silent},
};
use crate::{
    base::parallel,
    format::Format,
    isa::{Case, Codes, CodesView, Instruction, Tiles, operands},
};

/// Outputs that a thread takes at a time, if tiles have fewer.
const PIECE: usize = 1 << 9;
/// Outputs whose operands a thread copies at a time; few enough for the nearest caches.
const COPIED: usize = 1 << 10;

/// Arithmetic of one instruction, ready to be evaluated.
#[derive(Debug, Clone)]
pub struct Evaluator {
    program: Program,
    fast: Option<FastArithmetic>,
}

impl Program {
    /// Code of D for the operands of one dot-product-add, by the reference.
    ///
    /// # Panics
    /// If their number is not the instruction's.
    pub fn dot(&self, case: &Case) -> u64 {
        reference::run(self, case, &mut Silent)
    }
}

impl Evaluator {
    pub(super) fn new(program: Program) -> Evaluator {
        Evaluator { fast: FastArithmetic::new(&program), program }
    }

    /// Evaluator of a rule for an instruction, whether or not the rule's patterns match it.
    ///
    /// # Errors
    /// The defect of the rule, or its conflict with the instruction, with the key; random bits of its last rounding.
    pub fn of(rule: &Rule, instruction: &Instruction) -> Result<Evaluator, String> {
        let program = Program::of(rule, instruction)?;
        program.inconstant().map_or(Ok(Evaluator::new(program)), Err)
    }

    /// The arithmetic, operation by operation.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// True if the fast evaluator supports the program; else [`Evaluator::execute`] runs the reference.
    pub fn is_fast(&self) -> bool {
        self.fast.is_some()
    }

    /// Code of D for the operands of one dot-product-add.
    ///
    /// # Panics
    /// If their number is not the instruction's.
    pub fn dot(&self, case: &Case) -> u64 {
        self.program.dot(case)
    }

    /// Explains one dot-product-add step by step.
    ///
    /// # Panics
    /// Like [`Evaluator::dot`].
    pub fn explain(&self, case: &Case) -> Explanation {
        let mut recorder = Recorder::default();
        let d = reference::run(&self.program, case, &mut recorder);
        Explanation { lines: recorder.lines, d }
    }

    /// D codes `[count][m][n]` of `tiles`, computed on all cores; equal to [`Evaluator::dot`].
    pub fn execute(&self, tiles: &Tiles) -> Codes {
        let mut bytes = self.room(tiles);
        let (each, i) = (self.tile_bytes(), &self.program.instruction);
        let together = (PIECE / (i.m * i.n)).max(1);
        let pieces = (0..).step_by(together).zip(bytes.chunks_mut(together * each));
        parallel::each_with(pieces, Scratch::default, |scratch, (first, d)| {
            self.tiles(tiles, first, scratch, d);
        });
        self.codes(bytes)
    }

    /// [`Evaluator::execute`] on the calling thread, for callers that share their work among the cores.
    /// (A thread that waits for its own share would begin other shares of the pool, nested until its stack overflows.)
    pub fn execute_here(&self, tiles: &Tiles) -> Codes {
        let mut bytes = self.room(tiles);
        let mut scratch = Scratch::default();
        self.tiles(tiles, 0, &mut scratch, &mut bytes);
        self.codes(bytes)
    }

    /// Computes the bytes of the D codes of tiles, from operands given by name (see [`operands`]).
    /// Bytes are little-endian.
    ///
    /// It equals [`Evaluator::execute`] but copies only parts of the operands, and for tiles of one element mostly
    /// nothing.
    ///
    /// # Panics
    /// If an operand is missing or its number of codes does not fit the tiles.
    pub fn execute_into(&self, arrays: &[(&'static str, &[u8])], d: &mut [u8]) {
        let i = &self.program.instruction;
        let each = self.tile_bytes();
        let count = d.len() / each;
        let sizes: Vec<(&'static Format, usize)> =
            operands(i).iter().map(|operand| (operand.format, operand.len() * operand.format.bytes())).collect();
        let lengths = arrays.iter().map(|(_, bytes)| bytes.len());
        assert!(lengths.eq(sizes.iter().map(|(_, size)| count * size)), "the operands of the tiles, in order");
        let together = (COPIED / (i.m * i.n)).max(1);
        let pieces = (0..).step_by(together).zip(d.chunks_mut(together * each));
        let copied = |first: usize, count: usize| {
            let piece = arrays.iter().zip(&sizes).map(|((name, bytes), (format, size))| {
                let copy = bytes[first * size..][..count * size].to_vec();
                (*name, Codes::from_bytes(format, copy).expect("whole codes"))
            });
            Tiles::from_arrays(count, piece).expect("an instruction has A, B and C")
        };
        let cases = self.fast.as_ref().filter(|fast| fast.together() > 1);
        parallel::each_with(pieces, Scratch::default, |scratch, (first, d)| match (cases, arrays) {
            (Some(fast), [a, b, c]) => {
                let operands =
                    [(i.a, a.1), (i.b, b.1), (i.c, c.1)].map(|(format, bytes)| CodesView::new(format, bytes));
                let dot = |tile: usize| self.dot(&copied(tile, 1).case(i, 0, 0, 0));
                for (first, d) in (first..).step_by(fast.together()).zip(d.chunks_mut(fast.together() * each)) {
                    fast.cases(operands, first, scratch, d, dot);
                }
            }
            _ => self.tiles(&copied(first, d.len() / each), 0, scratch, d),
        });
    }

    /// Number of bytes of D of one tile.
    fn tile_bytes(&self) -> usize {
        let i = &self.program.instruction;
        i.m * i.n * i.d.bytes()
    }

    /// Zeroed bytes of D of all tiles.
    fn room(&self, tiles: &Tiles) -> Vec<u8> {
        vec![0; tiles.count * self.tile_bytes()]
    }

    fn codes(&self, bytes: Vec<u8>) -> Codes {
        Codes::from_bytes(self.program.instruction.d, bytes).expect("whole codes")
    }

    /// Codes of D of the tiles from `first` on.
    fn tiles(&self, tiles: &Tiles, first: usize, scratch: &mut Scratch, d: &mut [u8]) {
        let each = self.tile_bytes();
        match self.fast.as_ref().map(|fast| (fast, fast.together())) {
            Some((fast, together)) if together > 1 => {
                let dot = |tile: usize| self.dot(&tiles.case(&self.program.instruction, tile, 0, 0));
                let operands = [&tiles.a, &tiles.b, &tiles.c].map(Codes::view);
                for (first, d) in (first..).step_by(together).zip(d.chunks_mut(together * each)) {
                    fast.cases(operands, first, scratch, d, dot);
                }
            }
            _ => d.chunks_exact_mut(each).zip(first..).for_each(|(d, tile)| self.tile(tiles, tile, scratch, d)),
        }
    }

    /// Codes of D of one tile.
    fn tile(&self, tiles: &Tiles, tile: usize, scratch: &mut Scratch, d: &mut [u8]) {
        let i = &self.program.instruction;
        let dot = |at: usize| self.dot(&tiles.case(i, tile, at / i.n, at % i.n));
        match &self.fast {
            Some(fast) => fast.tile(tiles, tile, scratch, d, dot),
            None => {
                let values: Vec<u64> = (0..i.m * i.n).map(dot).collect();
                d.copy_from_slice(Codes::from_values(i.d, &values).as_bytes());
            }
        }
    }
}
