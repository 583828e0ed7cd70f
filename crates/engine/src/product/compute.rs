//! Computation of a matrix product by a schedule.

use std::{
    cell::Cell,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    ElementPlace, Executor, Factors, Matrix, Run, Schedule, Walk,
    bound::ErrorSource,
    epilogue::{self, RegisterArithmetic},
    executor::{ExecutedBy, executed},
    matrix::value,
    register::Register,
    schedule::{AccumulatorJoin, Accumulators, BiasEntry, CEntry},
};
use crate::{
    Error, Result,
    base::{interrupt, work},
    device::Chains,
    isa::{Codes, Instruction, Tiles},
};

/// Computes every bit of D by a schedule; `done` is told the number of finished elements.
///
/// # Errors
/// Matrices that do not fit ([`Factors::check`]), a result without a code in the output's format (NaN, where it has none), a device
/// that fails, [`Error::Interrupted`].
pub fn compute(
    schedule: &Schedule,
    executor: &mut Executor,
    factors: &Factors,
    done: &(dyn Fn(u64) + Sync),
) -> Result<Matrix> {
    schedule.check().map_err(Error::request)?;
    factors.check(schedule)?;
    let factors = &*factors.rounded(schedule)?;
    let walk = schedule.walk(factors.k());
    walk.check(schedule, factors)?;
    let (rows, columns) = (factors.a.rows, factors.b.columns);
    let tile = executor.tile.clone();
    let work = Work { schedule, factors, walk: &walk, tile: &tile };
    let blocks = blocks(rows, columns, &tile, executor.together);
    let finished = AtomicU64::new(0);
    let count = |block: &Block| {
        let elements = block.elements() as u64;
        done(finished.fetch_add(elements, Ordering::Relaxed) + elements);
    };
    let outputs: Vec<Vec<u8>> = match &mut executor.by {
        ExecutedBy::Chains(chains) => return work.chained(chains.as_mut(), done),
        ExecutedBy::Threads(execute) => work::map(&blocks, |block| {
            let output = work.block(block, &mut |_, _, sum| sum(&mut |tiles| Ok(execute(tiles))))?;
            count(block);
            Ok(output)
        })?,
        ExecutedBy::Device(device) => blocks
            .iter()
            .map(|block| {
                let output = work.block(block, &mut |_, _, sum| sum(&mut |tiles| executed(*device, &tile, tiles)))?;
                count(block);
                Ok(output)
            })
            .collect::<Result<_>>()?,
    };
    let format = schedule.output.format;
    let mut bytes = vec![0; rows * columns * format.bytes()];
    for (block, output) in blocks.iter().zip(outputs) {
        let width = block.columns.len() * format.bytes();
        for (row, line) in block.rows.clone().zip(output.chunks_exact(width)) {
            bytes[(row * columns + block.columns.start) * format.bytes()..][..width].copy_from_slice(line);
        }
    }
    Ok(Matrix::new(rows, columns, format, Codes::from_bytes(format, bytes).expect("whole codes")))
}

/// The initial value of the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum InitialSum {
    /// Zero.
    Zero,
    /// C.
    C,
    /// The bias.
    Bias,
}

/// Gives the sums of a run (of one accumulator), from its initial value and what executes its tiles.
type Summed<'s> = dyn FnMut(&Run, InitialSum, &mut dyn FnMut(&mut Execute) -> Result<Codes>) -> Result<Codes> + 's;

/// Codes of the sums of some elements, side by side from `first` on.
#[derive(Debug, Clone, Copy)]
pub(super) struct SumCodes<'c> {
    pub(super) codes: &'c Codes,
    pub(super) first: usize,
}

impl SumCodes<'_> {
    fn get(self, element: usize) -> u64 {
        self.codes.get(self.first + element)
    }
}

/// A run whose sums are known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SummedRun<T> {
    /// A k of the run, if it has one.
    pub(super) k: Option<usize>,
    /// The sums of its accumulators.
    pub(super) sums: Vec<T>,
}

/// Codes of the elements of D on the diagonal, from the runs of their parts and the codes of sums.
pub(super) fn diagonal<'c, T>(
    schedule: &Schedule,
    factors: &Factors,
    parts: &[Vec<SummedRun<T>>],
    codes: &dyn Fn(&T) -> SumCodes<'c>,
) -> Result<Codes> {
    let walk = Walk { parts: Vec::new() };
    let work = Work { schedule, factors, walk: &walk, tile: &schedule.instruction };
    let bytes = work.diagonal(parts, codes)?;
    Ok(Codes::from_bytes(schedule.output.format, bytes).expect("whole codes"))
}

/// The unit's sum after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSum {
    /// The k that the step takes.
    pub k: Range<usize>,
    /// The code of the sum, in the format of the instruction's D.
    pub sum: u64,
}

/// The element of a 1 x 1 product, and the unit's sum after each step that takes a k.
///
/// # Errors
/// As [`compute`]; a device that sums all steps at once.
pub fn steps(schedule: &Schedule, executor: &mut Executor, factors: &Factors) -> Result<(Vec<StepSum>, u64)> {
    let factors = &*factors.rounded(schedule)?;
    factors.check(&Schedule { operands: None, ..schedule.clone() })?;
    let walk = schedule.walk(factors.k());
    walk.check(schedule, factors)?;
    let tile = executor.tile.clone();
    let work = Work { schedule, factors, walk: &walk, tile: &tile };
    let mut all = Vec::new();
    let bytes = work.block(&Block::new(0..1, 0..1), &mut |run, _, sum| {
        let mut steps = run.steps.iter();
        sum(&mut |tiles| {
            let codes = match &mut executor.by {
                ExecutedBy::Threads(execute) => execute(tiles),
                ExecutedBy::Device(device) => executed(*device, &tile, tiles)?,
                ExecutedBy::Chains(_) => return Err(Error::unavailable("all steps are summed at once")),
            };
            let k = steps.next().cloned().unwrap_or_default();
            if !k.is_empty() {
                all.push(StepSum { k, sum: codes.get(0) });
            }
            Ok(codes)
        })
    })?;
    let d = Codes::from_bytes(schedule.output.format, bytes).expect("whole codes").get(0);
    Ok((all, d))
}

/// Some elements of D, computed side by side.
#[derive(Debug, Clone)]
struct Block {
    rows: Range<usize>,
    columns: Range<usize>,
    /// True for elements on a diagonal: the first row and the first column, the second of both, and so on.
    diagonal: bool,
}

impl Block {
    fn new(rows: Range<usize>, columns: Range<usize>) -> Block {
        Block { rows, columns, diagonal: false }
    }

    fn elements(&self) -> usize {
        if self.diagonal { self.rows.len() } else { self.rows.len() * self.columns.len() }
    }

    /// Row and column of each element, row by row.
    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let Block { rows, columns, diagonal } = self.clone();
        rows.enumerate().flat_map(move |(at, row)| {
            let of_row = if diagonal { columns.start + at..columns.start + at + 1 } else { columns.clone() };
            of_row.map(move |column| (row, column))
        })
    }
}

/// D in blocks of about `count` tiles, as square as possible.
fn blocks(rows: usize, columns: usize, tile: &Instruction, together: usize) -> Vec<Block> {
    let down = rows.div_ceil(tile.m).min((together as f64).sqrt() as usize).max(1);
    let across = columns.div_ceil(tile.n).min(together / down).max(1);
    let down = rows.div_ceil(tile.m).min(together / across).max(1);
    let (height, width) = (down * tile.m, across * tile.n);
    let line = |row: usize| {
        let block = move |column| Block::new(row..rows.min(row + height), column..columns.min(column + width));
        (0..columns).step_by(width).map(block)
    };
    (0..rows).step_by(height).flat_map(line).collect()
}

/// A product in computation.
struct Work<'a> {
    schedule: &'a Schedule,
    factors: &'a Factors,
    walk: &'a Walk,
    /// The instruction, with the rows and columns of the executor's tiles.
    tile: &'a Instruction,
}

/// Executes tiles.
type Execute<'e> = dyn FnMut(&Tiles) -> Result<Codes> + 'e;

impl Work<'_> {
    /// D, where all elements are summed at once.
    fn chained(&self, chains: &mut dyn Chains, done: &(dyn Fn(u64) + Sync)) -> Result<Matrix> {
        let register = Register::of(self.schedule.instruction.d).expect("the schedule is checked");
        let Factors { a, b, c, bias, .. } = self.factors;
        let (rows, columns) = (a.rows, b.columns);
        let promoted = self.schedule.promote.is_some();
        if let Some(why) = self.schedule.not_at_once(self.factors) {
            return Err(Error::unavailable(why));
        }
        let bare = self.schedule.is_bare(self.walk.parts.len(), c.is_some(), bias.is_some());
        let mut parts = Vec::with_capacity(self.walk.parts.len());
        for part in &self.walk.parts {
            interrupt::check()?;
            let runs: Vec<Vec<Range<usize>>> = part.iter().map(|run| run.steps.clone()).collect();
            let codes = chains.sum(&runs, promoted)?;
            if codes.len() != rows * columns {
                return Err(Error::device(format!("{} sums were computed of {}", codes.len(), rows * columns)));
            }
            parts.push(codes);
        }
        let format = if promoted { register.format() } else { self.schedule.instruction.d };
        let output = self.schedule.output.format;
        let codes = match (bare, &parts[..]) {
            (true, [codes]) => codes.clone(),
            _ => {
                let line = |row: usize| {
                    let values = |codes: &Codes| {
                        (0..columns).map(|column| value(format, codes.get(row * columns + column))).collect()
                    };
                    let block = Block::new(row..row + 1, 0..columns);
                    self.finish(&block, parts.iter().map(values).collect())
                };
                let lines: Vec<Vec<u8>> = work::map(0..rows, line)?;
                Codes::from_bytes(output, lines.concat()).expect("whole codes")
            }
        };
        done((rows * columns) as u64);
        Ok(Matrix::new(rows, columns, output, codes))
    }

    /// The bytes of the codes of D in a block, row by row.
    fn block(&self, block: &Block, summed: &mut Summed) -> Result<Vec<u8>> {
        let Factors { c, bias, .. } = self.factors;
        let bare = self.schedule.is_bare(self.walk.parts.len(), c.is_some(), bias.is_some());
        let mut parts = Vec::with_capacity(self.walk.parts.len());
        for (at, part) in self.walk.parts.iter().enumerate() {
            let start = self.start(at);
            let mut sums = None;
            for run in part {
                let codes = self.accumulated(run, block, start, summed)?;
                if bare {
                    return Ok(self.in_order(block, SumCodes { codes: &codes, first: 0 }));
                }
                self.promote(run.k(), block, SumCodes { codes: &codes, first: 0 }, &mut sums);
            }
            parts.push(sums.expect("a part has a run"));
        }
        self.finish(block, parts)
    }

    /// The initial value of the first run of a part.
    fn start(&self, part: usize) -> InitialSum {
        let Factors { c, bias, .. } = self.factors;
        match part {
            0 if c.is_some() && self.schedule.c == CEntry::Start => InitialSum::C,
            0 if bias.is_some() && self.schedule.bias == BiasEntry::Start => InitialSum::Bias,
            _ => InitialSum::Zero,
        }
    }

    /// The codes of D of the tiles of a block after a run, whose accumulators are joined.
    fn accumulated(&self, run: &Run, block: &Block, start: InitialSum, summed: &mut Summed) -> Result<Codes> {
        let Accumulators { count, join, .. } = self.schedule.accumulators;
        if count == 1 {
            return summed(run, start, &mut |execute| self.run(run, block, start, execute));
        }
        let mut all = Vec::new();
        for (at, chain) in run.dealt(self.schedule).iter().enumerate() {
            let start = if at == 0 { start } else { InitialSum::Zero };
            all.push(summed(chain, start, &mut |execute| self.run(chain, block, start, execute))?);
        }
        if let [_] = all[..] {
            return Ok(all.remove(0));
        }
        let chain_sums: Vec<SumCodes> = all.iter().map(|codes| SumCodes { codes, first: 0 }).collect();
        Ok(self.joined(join, &chain_sums, all[0].len()))
    }

    /// The codes of `count` joined sums of accumulators.
    fn joined(&self, join: AccumulatorJoin, all: &[SumCodes], count: usize) -> Codes {
        let d = self.schedule.instruction.d;
        let numbers = Numbers::new(self.schedule);
        let sum = |at: usize| {
            let sums = all.iter().map(|codes| value(d, codes.get(at))).collect();
            numbers.register.code(epilogue::joined(&numbers, sums, join))
        };
        Codes::from_values(d, &(0..count).map(sum).collect::<Vec<_>>())
    }

    /// The bytes of the elements on the diagonal, from the sums of all runs.
    fn diagonal<'c, T>(&self, parts: &[Vec<SummedRun<T>>], codes: &dyn Fn(&T) -> SumCodes<'c>) -> Result<Vec<u8>> {
        let Factors { a, c, bias, .. } = self.factors;
        let block = Block { diagonal: true, ..Block::new(0..a.rows, 0..a.rows) };
        let bare = self.schedule.is_bare(parts.len(), c.is_some(), bias.is_some());
        let mut all = Vec::with_capacity(parts.len());
        for part in parts {
            let mut sums = None;
            for run in part {
                let chain_sums: Vec<SumCodes> = run.sums.iter().map(codes).collect();
                let joined;
                let sum = match chain_sums[..] {
                    [sum] => sum,
                    _ => {
                        joined = self.joined(self.schedule.accumulators.join, &chain_sums, block.elements());
                        SumCodes { codes: &joined, first: 0 }
                    }
                };
                if bare {
                    return Ok(self.in_order(&block, sum));
                }
                self.promote(run.k, &block, sum, &mut sums);
            }
            all.push(sums.expect("a part has a run"));
        }
        self.finish(&block, all)
    }

    /// The codes of D of the tiles of a block after a run of one accumulator.
    fn run(&self, run: &Run, block: &Block, start: InitialSum, execute: &mut Execute) -> Result<Codes> {
        let i = self.tile;
        let (down, across) = (block.rows.len().div_ceil(i.m), block.columns.len().div_ceil(i.n));
        let count = down * across;
        let mut c = Codes::zeros(i.c, count * i.m * i.n);
        let Factors { c: given, bias, .. } = self.factors;
        match (start, given, bias) {
            (InitialSum::C, Some(start), _) => {
                self.each(block, |tile, row, column| c.set(tile, start.get(row, column)))
            }
            (InitialSum::Bias, _, Some(start)) => self.each(block, |tile, _, column| c.set(tile, start.get(0, column))),
            _ => (),
        }
        for step in &run.steps {
            interrupt::check()?;
            let rows = |tile: usize| block.rows.start + tile / across * i.m..block.rows.end;
            let columns = |tile: usize| block.columns.start + tile % across * i.n..block.columns.end;
            let of_rows = |matrix: &Matrix, from: usize, to: usize, width: usize| {
                let mut bytes = vec![0; count * i.m * width * matrix.format.bytes()];
                let (line, to) = (width * matrix.format.bytes(), to.min(matrix.columns));
                for (tile, lines) in bytes.chunks_exact_mut(i.m * line).enumerate() {
                    for (row, line) in rows(tile).zip(lines.chunks_exact_mut(line)) {
                        let source = matrix.bytes(row, from, to - from);
                        line[..source.len()].copy_from_slice(source);
                    }
                }
                Codes::from_bytes(matrix.format, bytes).expect("whole codes")
            };
            let of_columns = |matrix: &Matrix, from: usize, to: usize, height: usize| {
                let mut bytes = vec![0; count * height * i.n * matrix.format.bytes()];
                let (line, to) = (i.n * matrix.format.bytes(), to.min(matrix.rows));
                for (tile, lines) in bytes.chunks_exact_mut(height * line).enumerate() {
                    let columns = columns(tile);
                    for (k, line) in (from..to).zip(lines.chunks_exact_mut(line)) {
                        let source = matrix.bytes(k, columns.start, columns.len().min(i.n));
                        line[..source.len()].copy_from_slice(source);
                    }
                }
                Codes::from_bytes(matrix.format, bytes).expect("whole codes")
            };
            let Factors { a, b, scale_a, scale_b, .. } = self.factors;
            let mut tiles = Tiles {
                count,
                a: of_rows(a, step.start, step.end, i.k),
                b: of_columns(b, step.start, step.end, i.k),
                c,
                positions: None,
                scale_a: None,
                scale_b: None,
            };
            if let Some(scale) = i.scale {
                let (from, to) = (step.start / scale.block, step.end.div_ceil(scale.block));
                let width = i.k / scale.block;
                tiles.scale_a = scale_a.as_ref().map(|scales| of_rows(scales, from.min(to), to, width));
                tiles.scale_b = scale_b.as_ref().map(|scales| of_columns(scales, from.min(to), to, width));
            }
            c = execute(&tiles)?;
        }
        Ok(c)
    }

    /// Calls `visit` with the place in the tiles, the row and the column of each element of a block.
    fn each(&self, block: &Block, mut visit: impl FnMut(usize, usize, usize)) {
        let i = self.tile;
        if block.diagonal {
            return block.places().enumerate().for_each(|(at, (row, column))| visit(at, row, column));
        }
        let across = block.columns.len().div_ceil(i.n);
        for (down, row) in block.rows.clone().enumerate() {
            for (right, column) in block.columns.clone().enumerate() {
                let tile = down / i.m * across + right / i.n;
                visit((tile * i.m + down % i.m) * i.n + right % i.n, row, column);
            }
        }
    }

    /// The bytes of the codes of tiles, row by row of the block.
    fn in_order(&self, block: &Block, codes: SumCodes) -> Vec<u8> {
        let width = codes.codes.width();
        let mut bytes = Vec::with_capacity(block.elements() * width);
        self.each(block, |at, _, _| bytes.extend_from_slice(&codes.get(at).to_le_bytes()[..width]));
        bytes
    }

    /// Adds the unit's sums of a run to the part's sums, where sums are promoted.
    fn promote(&self, k: Option<usize>, block: &Block, codes: SumCodes, sums: &mut Option<Vec<f64>>) {
        let Work { schedule, factors, .. } = *self;
        let numbers = Numbers::new(schedule);
        let d = schedule.instruction.d;
        let has_run_scales = schedule.scales.is_some_and(|scales| !scales.multiply.is_at_end());
        let first = sums.is_none();
        let sums = sums.get_or_insert_with(|| vec![0.0; block.elements()]);
        let mut places = sums.iter_mut();
        self.each(block, |at, row, column| {
            let Some(sum) = places.next() else { return };
            // Any scale will do for a run of zeros.
            let scales =
                k.filter(|_| has_run_scales).and_then(|k| factors.scales_at(schedule, ElementPlace { row, column }, k));
            let before = (!first).then_some(&*sum);
            *sum = epilogue::promoted(&numbers, schedule, before, &value(d, codes.get(at)), scales);
        });
    }

    /// Joins the parts, scales and rounds: the bytes of the codes of D in a block, row by row.
    fn finish(&self, block: &Block, parts: Vec<Vec<f64>>) -> Result<Vec<u8>> {
        let Work { schedule, factors, .. } = *self;
        let numbers = Numbers::new(schedule);
        let format = schedule.output.format;
        let width = format.bytes();
        let mut bytes = Vec::with_capacity(block.elements() * width);
        for (at, (row, column)) in block.places().enumerate() {
            let addends =
                factors.addends(schedule, numbers.register.round(schedule.beta), ElementPlace { row, column });
            let sums = parts.iter().map(|part| part[at]).collect();
            let d = numbers.code(epilogue::finished(&numbers, schedule, sums, &addends));
            if numbers.lacks_nan.get() {
                return Err(Error::request(format!(
                    "D is NaN at row {row}, column {column}, and {format} has no NaN; choose another output format"
                )));
            }
            bytes.extend_from_slice(&d.to_le_bytes()[..width]);
        }
        Ok(bytes)
    }
}

/// The register's arithmetic on numbers.
struct Numbers<'a> {
    register: Register,
    schedule: &'a Schedule,
    /// True if D holds the numbers of the register as they are.
    plain: bool,
    nan: Option<u64>,
    /// Set when a NaN is rounded to an output format without one.
    lacks_nan: Cell<bool>,
}

impl Numbers<'_> {
    fn new(schedule: &Schedule) -> Numbers<'_> {
        let register = Register::of(schedule.instruction.d).expect("the schedule is checked");
        let output = &schedule.output;
        Numbers {
            register,
            schedule,
            plain: register.format() == output.format && matches!(register, Register::Single | Register::Double),
            nan: output.nan.or(output.format.nan()),
            lacks_nan: Cell::new(false),
        }
    }

    /// The code of a number in D's format.
    #[inline]
    fn code(&self, x: f64) -> u64 {
        let output = &self.schedule.output;
        match x {
            x if x.is_nan() => self.nan.unwrap_or_else(|| {
                self.lacks_nan.set(true);
                0
            }),
            x if self.plain && self.register == Register::Single => u64::from((x as f32).to_bits()),
            x if self.plain => x.to_bits(),
            x => output.format.encode_f64(x, output.rounding, output.overflow).unwrap_or_default(),
        }
    }
}

impl RegisterArithmetic for Numbers<'_> {
    type Value = f64;

    fn zero(&self) -> f64 {
        0.0
    }

    #[inline]
    fn number(&self, x: f64) -> f64 {
        self.register.round(x)
    }

    #[inline]
    fn add(&self, x: &f64, y: &f64, _: ErrorSource) -> f64 {
        self.register.add(*x, *y)
    }

    #[inline]
    fn multiply(&self, x: &f64, factor: f64) -> f64 {
        self.register.multiply(*x, self.register.round(factor))
    }

    #[inline]
    fn multiply_add(&self, x: &f64, factor: f64, y: &f64, _: ErrorSource) -> f64 {
        self.register.fma(*x, self.register.round(factor), *y)
    }

    #[inline]
    fn output(&self, x: &f64) -> f64 {
        value(self.schedule.output.format, self.code(*x))
    }
}
