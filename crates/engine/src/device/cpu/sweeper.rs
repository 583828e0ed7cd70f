//! Sweeps of scalar instructions on the processor: every input is executed and compared with the rule.

use std::time::Instant;

use super::{
    scalar_machine::{ScalarMachine, ScalarRoute},
    vector::{BYTES, Vector},
};
use crate::{
    Result,
    arithmetic::scalar_rule::{FastRule, ScalarRule},
    base::parallel,
    device::{ChunkTally, Chunks, Execution, ExecutionKind, Sweeper, Swept},
    format::{Overflow, slices::Encoder},
    inputs::space::{CHUNK, Space},
    isa::scalar::{Form, ScalarOperation},
};

/// Registers filled at a time.
const BATCH: usize = 64;

/// The sweeper of one form.
pub struct CpuSweeper {
    form: &'static Form,
    seed: u64,
    route: &'static ScalarRoute,
    execution: Execution,
}

/// Inputs that are executed together, and their results.
#[derive(Default)]
struct SweepBatch {
    operands: Vec<[u64; 3]>,
    results: Vec<u64>,
}

impl CpuSweeper {
    /// Makes the sweeper of a form whose unit the machine has and the process may use.
    pub(super) fn new(form: &'static Form, seed: u64, route: &'static ScalarRoute) -> CpuSweeper {
        let execution = Execution { kind: ExecutionKind::Native, opcodes: vec![form.opcode.clone()] };
        CpuSweeper { form, seed, route, execution }
    }

    /// Executes a chunk in batches, and hands each to `take` with the number of its first input.
    fn chunk(&self, space: &Space<'_>, number: u64, mut take: impl FnMut(u64, &SweepBatch)) {
        let (from, to) = (self.form.source.bytes(), self.form.result.bytes());
        let lanes = BYTES / from.max(to);
        let end = ((number + 1) * CHUNK).min(space.size());
        let mut registers = [[Vector([0; BYTES]); BATCH]; 3];
        let mut given = [Vector([0; BYTES]); BATCH];
        let mut batch = SweepBatch::default();
        let mut first = number * CHUNK;
        while first < end {
            let count = (lanes * BATCH).min((end - first) as usize);
            batch.operands.clear();
            batch.operands.extend((first..).take(count).map(|index| space.operands(index, 0)));
            for (at, codes) in batch.operands.iter().enumerate() {
                for (register, code) in registers.iter_mut().zip(codes).take(self.form.operation.operands()) {
                    register[at / lanes].0[at % lanes * from..][..from].copy_from_slice(&code.to_le_bytes()[..from]);
                }
            }
            execute(self.route.machine, self.route.mxcsr, &registers, &mut given);
            batch.results.clear();
            batch.results.extend((0..count).map(|at| {
                let mut code = [0; 8];
                code[..to].copy_from_slice(&given[at / lanes].0[at % lanes * to..][..to]);
                u64::from_le_bytes(code)
            }));
            take(first, &batch);
            first += count as u64;
        }
    }
}

/// Executes a machine instruction on full registers.
#[allow(unsafe_code)]
fn execute(machine: ScalarMachine, mxcsr: u32, operands: &[[Vector; BATCH]; 3], results: &mut [Vector; BATCH]) {
    let [a, b, c] = operands;
    // SAFETY: a sweeper exists only if the machine has the unit.
    unsafe { machine(mxcsr, [a, b, c], results) };
}

/// The rule on many inputs: by slice conversion where the form is one, else by the soft-float.
struct BatchRule<'a> {
    rule: &'a ScalarRule<'static>,
    fast: Option<FastRule<'a>>,
    encoder: Option<Encoder<u16>>,
    /// Magnitudes that slices convert: below are flushed ones, above are NaNs.
    smallest: u64,
    infinity: u64,
    values: Vec<f32>,
    codes: Vec<u16>,
    expected: Vec<u64>,
}

impl<'a> BatchRule<'a> {
    fn new(rule: &'a ScalarRule<'static>) -> BatchRule<'a> {
        let form = rule.form();
        let narrows = form.operation == ScalarOperation::Convert && form.source.name == "f32" && form.result.bits == 16;
        let encoder = narrows.then(|| Encoder::new(form.result, rule.rounding(), Overflow::Standard).ok()).flatten();
        BatchRule {
            fast: FastRule::new(rule),
            encoder,
            smallest: if form.flush_inputs { form.source.smallest_normal() } else { 0 },
            infinity: form.source.infinity(false).unwrap_or(u64::MAX),
            rule,
            values: Vec::new(),
            codes: Vec::new(),
            expected: Vec::new(),
        }
    }

    fn one(&self, operands: [u64; 3]) -> u64 {
        self.fast.as_ref().map_or_else(|| self.rule.result(operands), |fast| fast.result(operands))
    }

    /// Expected results of a batch.
    fn expected(&mut self, operands: &[[u64; 3]]) -> &[u64] {
        let mut expected = std::mem::take(&mut self.expected);
        expected.clear();
        if let Some(encoder) = &self.encoder {
            self.values.clear();
            self.values.extend(operands.iter().map(|[a, ..]| f32::from_bits(*a as u32)));
            self.codes.resize(operands.len(), 0);
            encoder.encode(&self.values, &mut self.codes);
            let sign = 1u64 << (self.rule.form().source.bits - 1);
            expected.extend(operands.iter().zip(&self.codes).map(|(operands, code)| {
                let magnitude = operands[0] & !sign;
                let ordinary = (self.smallest..=self.infinity).contains(&magnitude);
                if ordinary { u64::from(*code) } else { self.one(*operands) }
            }));
        } else {
            expected.extend(operands.iter().map(|operands| self.one(*operands)));
        }
        self.expected = expected;
        &self.expected
    }
}

impl Sweeper for CpuSweeper {
    fn execution(&self) -> &Execution {
        &self.execution
    }

    fn sweep(&mut self, chunks: Chunks) -> Result<Swept> {
        let start = Instant::now();
        let (form, space) = (self.form, Space::new(self.form, self.seed));
        let rule = ScalarRule::new(form).expect("a processor rounds by rule");
        let one = |judge: &mut BatchRule<'_>, number: u64| {
            let mut tally = ChunkTally::new(form);
            self.chunk(&space, number, |first, batch| {
                let expected = judge.expected(&batch.operands);
                for (at, (result, expected)) in batch.results.iter().zip(expected).enumerate() {
                    let index = first + at as u64;
                    tally.add(index, 0, batch.operands[at], *expected, *result);
                    tally.digest(index, *result);
                }
            });
            tally
        };
        let parts = parallel::map_with(chunks.numbers(), || BatchRule::new(&rule), one);
        Ok(ChunkTally::swept(parts, start.elapsed().as_secs_f64()))
    }

    fn results(&mut self, chunk: u64) -> Result<Vec<u64>> {
        let mut results = Vec::new();
        self.chunk(&Space::new(self.form, self.seed), chunk, |_, batch| results.extend(&batch.results));
        Ok(results)
    }
}
