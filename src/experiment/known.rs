//! Results by the arithmetic that gives them: equal programs on equal inputs are run once.

use super::{
    answers::Question,
    emulated::SchemeKey,
    products::{OperandKey, ProductErrorRow},
};
use crate::{
    Result,
    arithmetic::Program,
    chain::{ChainCurve, ChainRequest},
    device::Device,
    emulate::EmulationResult,
    isa::Instruction,
    product::Factors,
    report::Table,
};

/// Results by what decides them.
#[derive(Debug)]
pub(super) struct Known<K, V>(Vec<(K, V)>);

impl<K, V> Default for Known<K, V> {
    fn default() -> Self {
        Known(Vec::new())
    }
}

impl<K: PartialEq, V> Known<K, V> {
    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    pub(super) fn add(&mut self, key: K, value: V) {
        self.0.push((key, value));
    }
}

impl<K: PartialEq, V: Clone + Default> Known<K, V> {
    /// The result of a key, which `compute` fills once; without a key it always does.
    ///
    /// A result that an error has cut short is returned, and not kept.
    pub(super) fn once(&mut self, key: Option<K>, compute: impl FnOnce(&mut V) -> Result<()>) -> (V, Result<()>) {
        if let Some(known) = key.as_ref().and_then(|key| self.get(key)) {
            return (known.clone(), Ok(()));
        }
        let mut value = V::default();
        let outcome = compute(&mut value);
        if let (Ok(()), Some(key)) = (&outcome, key) {
            self.add(key, value.clone());
        }
        (value, outcome)
    }
}

/// The results so far of one or several experiments on simulated devices.
#[derive(Default)]
pub(crate) struct KnownResults {
    pub(super) answers: Known<(Program, Question), Vec<Table>>,
    pub(super) curves: Known<(Program, ChainRequest), ChainCurve>,
    pub(super) schemes: Known<SchemeKey, EmulationResult>,
    pub(super) products: Known<(Program, Option<usize>, OperandKey), ProductErrorRow>,
    /// Drawn operands, with their exact products as sums of two numbers of f64.
    pub(super) operands: Known<OperandKey, (Factors, Vec<[f64; 2]>)>,
}

/// The arithmetic of an instruction on a simulated device, without names; `None` for other devices.
pub(super) fn arithmetic(device: &dyn Device, instruction: &Instruction) -> Option<Program> {
    let mut program = device.model()?.program(instruction).ok()?;
    for step in &mut program.steps {
        step.name.clear();
        step.group = None;
    }
    Some(program)
}

/// The same without what no element depends on: name, targets, rows and columns of the instruction.
pub(super) fn arithmetic_of_element(device: &dyn Device, instruction: &Instruction) -> Option<Program> {
    let mut program = arithmetic(device, instruction)?;
    let instruction = &mut program.instruction;
    (instruction.m, instruction.n, instruction.kernel, instruction.support) = (1, 1, None, &[]);
    instruction.name.clear();
    instruction.ptx.clear();
    Some(program)
}
