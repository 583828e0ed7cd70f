//! Devices that compute as a model does and do not say how; some of them with a fault.

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tcnum::{
    Result,
    arithmetic::Model,
    inputs::Sequence,
    isa::{Codes, Instruction, Tiles},
};
use tcnum_engine::device::{Device, Execution, ExecutionKind, Identity};
use tcnum_study::identify::Identification;

use crate::arithmetics::cases;

/// What happens to the answers of a model before they are given: of some tiles of an instruction, of which this many were
/// executed before.
type Fault = Box<dyn FnMut(&Instruction, &Tiles, u64, &mut Codes) -> Result<()>>;

/// A device with the arithmetic of a model, which it does not tell.
pub(crate) struct BlackBox {
    identity: Identity,
    model: Model,
    fault: Fault,
    /// Tiles that it has executed.
    pub executed: u64,
}

impl BlackBox {
    /// A device without a fault.
    pub(crate) fn new(model: &Model) -> BlackBox {
        BlackBox::with_fault(model, |_, _, _, _| Ok(()))
    }

    /// A device with a fault.
    pub(crate) fn with_fault(
        model: &Model,
        fault: impl FnMut(&Instruction, &Tiles, u64, &mut Codes) -> Result<()> + 'static,
    ) -> BlackBox {
        let identity = Identity::new("hidden", "a black box");
        BlackBox { identity, model: model.clone(), fault: Box::new(fault), executed: 0 }
    }
}

impl Device for BlackBox {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn prepare(&mut self, i: &Instruction) -> Result<Execution> {
        self.model.evaluator(i)?;
        Ok(Execution { kind: ExecutionKind::External, opcodes: Vec::new() })
    }

    fn execute(&mut self, i: &Instruction, tiles: &Tiles) -> Result<Codes> {
        self.execute_part(i, i.m, i.n, tiles)
    }

    fn execute_part(&mut self, i: &Instruction, m: usize, n: usize, tiles: &Tiles) -> Result<Codes> {
        let part = Instruction { m, n, ..i.clone() };
        let mut answers = self.model.evaluator(&part)?.execute(tiles);
        (self.fault)(&part, tiles, self.executed, &mut answers)?;
        self.executed += tiles.count as u64;
        Ok(answers)
    }
}

/// How many of `count` cases of the verification stream, and of a fifth as many of other random operands, the rule that was found
/// answers otherwise than the model: of neither did the search see any.
pub(crate) fn held_out(identification: &Identification, truth: &Model, i: &'static Instruction, count: usize) -> usize {
    let Some(evaluator) = identification.model().and_then(|model| model.evaluator(i).ok()) else { return count };
    let truth = truth.evaluator(i).unwrap();
    let sequence = Sequence::Random { seed: 99 };
    let tiles = count.div_ceil(i.m * i.n);
    let of_stream = (0..tiles).step_by(64).map(|first| {
        let tiles = sequence.tiles(i, first as u64, 64.min(tiles - first));
        let (x, y) = (evaluator.execute(&tiles), truth.execute(&tiles));
        (0..x.len()).filter(|at| x.get(*at) != y.get(*at)).count()
    });
    let (mut runner, cases) = (runner(7), cases(i));
    let others = (0..count / 5).map(|_| {
        let case = cases.new_tree(&mut runner).unwrap().current();
        usize::from(evaluator.dot(&case) != truth.dot(&case))
    });
    of_stream.sum::<usize>() + others.sum::<usize>()
}

/// What draws the same values for the same seed.
pub(crate) fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}
