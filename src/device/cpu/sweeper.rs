//! Scalar instructions on the processor: every input executed, and compared with the rule.

use std::time::Instant;

use rayon::prelude::*;

use super::{
    scalar_machine::{ScalarMachine, ScalarRoute},
    vector::{BYTES, Vector},
};
use crate::{
    Result,
    arithmetic::scalar_rule::{FastRule, ScalarRule},
    device::{Chunks, Execution, ExecutionKind, Sweeper, Swept, Tally},
    inputs::space::{CHUNK, Space},
    isa::scalar::Form,
};

/// Registers that are filled at a time.
const BATCH: usize = 64;

/// A form on the processor.
pub struct CpuSweeper {
    form: &'static Form,
    seed: u64,
    route: &'static ScalarRoute,
    execution: Execution,
}

impl CpuSweeper {
    /// The sweeper of a form whose unit the machine has and the process may use.
    pub(super) fn new(form: &'static Form, seed: u64, route: &'static ScalarRoute) -> CpuSweeper {
        let execution = Execution { kind: ExecutionKind::Native, opcodes: vec![form.opcode.clone()] };
        CpuSweeper { form, seed, route, execution }
    }

    /// Executes the inputs of a chunk, and hands each with its operands and its result to `take`.
    fn chunk(&self, space: &Space<'_>, number: u64, mut take: impl FnMut(u64, [u64; 3], u64)) {
        let (from, to) = (self.form.source.bytes(), self.form.result.bytes());
        let lanes = BYTES / from.max(to);
        let end = ((number + 1) * CHUNK).min(space.size());
        let mut registers = [[Vector([0; BYTES]); BATCH]; 3];
        let mut results = [Vector([0; BYTES]); BATCH];
        let mut operands = Vec::with_capacity(lanes * BATCH);
        let mut first = number * CHUNK;
        while first < end {
            let count = (lanes * BATCH).min((end - first) as usize);
            operands.clear();
            operands.extend((first..).take(count).map(|index| space.operands(index, 0)));
            for (at, codes) in operands.iter().enumerate() {
                for (register, code) in registers.iter_mut().zip(codes) {
                    register[at / lanes].0[at % lanes * from..][..from].copy_from_slice(&code.to_le_bytes()[..from]);
                }
            }
            execute(self.route.machine, self.route.mxcsr, &registers, &mut results);
            for (at, codes) in operands.iter().enumerate() {
                let mut code = [0; 8];
                code[..to].copy_from_slice(&results[at / lanes].0[at % lanes * to..][..to]);
                take(first + at as u64, *codes, u64::from_le_bytes(code));
            }
            first += count as u64;
        }
    }
}

/// Executes a machine instruction on some registers.
#[allow(unsafe_code)]
fn execute(machine: ScalarMachine, mxcsr: u32, operands: &[[Vector; BATCH]; 3], results: &mut [Vector; BATCH]) {
    let [a, b, c] = operands;
    // SAFETY: a sweeper is made only where the machine has the unit.
    unsafe { machine(mxcsr, [a, b, c], results) };
}

impl Sweeper for CpuSweeper {
    fn execution(&self) -> &Execution {
        &self.execution
    }

    fn sweep(&mut self, chunks: Chunks) -> Result<Swept> {
        let start = Instant::now();
        let (form, space) = (self.form, Space::new(self.form, self.seed));
        let rule = ScalarRule::new(form).expect("a processor rounds by rule");
        let fast = FastRule::new(&rule);
        let numbers: Vec<u64> = chunks.numbers().collect();
        let one = |number: &u64| {
            let mut tally = Tally::new(form);
            self.chunk(&space, *number, |index, operands, result| {
                let expected = fast.as_ref().map_or_else(|| rule.result(operands), |fast| fast.result(operands));
                tally.add(index, 0, operands, expected, result);
                tally.digest(index, result);
            });
            tally
        };
        let parts: Vec<Tally> = numbers.par_iter().map(one).collect();
        Ok(Tally::swept(parts, start.elapsed().as_secs_f64()))
    }

    fn results(&mut self, chunk: u64) -> Result<Vec<u64>> {
        let mut results = Vec::new();
        self.chunk(&Space::new(self.form, self.seed), chunk, |_, _, result| results.push(result));
        Ok(results)
    }
}
