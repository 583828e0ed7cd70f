//! Table of sweeps of scalar instructions.

use super::sweep::{SweepRequest, SweepResult};
use crate::{
    device::DeviceName,
    inputs::space::Space,
    isa::scalar::Form,
    report::{Table, grouped},
};

crate::rows! {
    /// A sweep of a scalar instruction, compared with its rule in every bit.
    pub struct SweepRow in "sweeps" {
        /// The instruction.
        ptx: String => shown("instruction").essential(),
        /// The kind of execution on the device.
        execution: &'static str => shown("ran").essential(),
        /// The machine instructions that ran.
        opcodes: Vec<String> => shown("machine code"),
        /// The operation.
        op: &'static str => hidden(),
        /// The format of its operands.
        source: &'static str => hidden(),
        /// The format of its results.
        result: &'static str => hidden(),
        /// The inputs in words.
        space: String => shown("inputs"),
        /// Inputs that were executed.
        inputs: u64 => shown("executed"),
        /// Results of single lanes that were compared.
        compared: u64 => shown("compared").essential(),
        /// Compared results of a zero first operand.
        compared_zero: u64 => hidden(),
        /// Compared results of a subnormal first operand.
        compared_subnormal: u64 => hidden(),
        /// Compared results of a normal first operand.
        compared_normal: u64 => hidden(),
        /// Compared results of an infinite first operand.
        compared_infinite: u64 => hidden(),
        /// Compared results of a NaN first operand.
        compared_nan: u64 => hidden(),
        /// Results that differ.
        differing: u64 => shown("differ").essential(),
        /// Duration, without compilation.
        seconds: f64 => shown("time").unit("s"),
        /// Inputs executed per second.
        inputs_per_second: f64 => shown("inputs/s"),
        /// The number of the first chunk.
        first_chunk: u64 => hidden(),
        /// Distance between chunks.
        chunk_step: u64 => hidden(),
        /// Number of chunks.
        chunks: u64 => hidden(),
        /// Digest of all inputs and the registers they give: equal digests mean equal results.
        digest: String => shown("digest"),
    }
}

/// The table of sweeps.
pub fn table(rows: Vec<SweepRow>) -> Table {
    Table::of("Sweeps of scalar instructions", rows)
}

/// The row of a sweep.
pub fn row(request: &SweepRequest, outcome: &SweepResult) -> SweepRow {
    let (form, swept) = (request.form, &outcome.swept);
    // In the order of CLASSES.
    let [compared_zero, compared_subnormal, compared_normal, compared_infinite, compared_nan] = swept.compared;
    SweepRow {
        ptx: form.ptx.clone(),
        execution: outcome.execution.kind.name(),
        opcodes: outcome.execution.opcodes.clone(),
        op: form.operation.name(),
        source: form.source.name,
        result: form.result.name,
        space: Space::new(form, request.seed).description().into(),
        inputs: outcome.inputs,
        compared: swept.compared.iter().sum(),
        compared_zero,
        compared_subnormal,
        compared_normal,
        compared_infinite,
        compared_nan,
        differing: swept.differing(),
        seconds: swept.seconds,
        inputs_per_second: outcome.inputs as f64 / swept.seconds,
        first_chunk: outcome.chunks.first,
        chunk_step: outcome.chunks.step,
        chunks: outcome.chunks.count,
        digest: format!("{:016x}", outcome.digest),
    }
}

/// The comparison of all sweeps with their rules, in a sentence; `None` without sweeps.
pub fn answer(rows: &[SweepRow], device: &DeviceName) -> Option<String> {
    let sum = |count: fn(&SweepRow) -> u64| rows.iter().map(count).sum::<u64>() as i64;
    let (compared, differing) = (grouped(sum(|row| row.compared)), sum(|row| row.differing));
    let device = device.spoken();
    let what = match rows {
        [] => return None,
        [row] => row.ptx.clone(),
        rows => format!("{} scalar instructions", rows.len()),
    };
    let some = rows.iter().filter(|row| row.differing > 0).count();
    Some(match (differing, rows.len()) {
        (0, 1) => format!("{what} of {device} follows its rule in all {compared} results."),
        (0, _) => format!("{what} of {device} follow their rules in all {compared} results."),
        (_, 1) => format!("{what} of {device} differs from its rule in {} of {compared} results.", grouped(differing)),
        (_, all) => format!(
            "{some} of {all} scalar instructions of {device} differ from their rules in {} of {compared} results.",
            grouped(differing)
        ),
    })
}

/// Notes about missing instructions and simulation.
pub fn notes(absent: &[&str], simulated: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if simulated {
        notes.push(
            "No hardware ran: the rule's exact evaluation was compared with the engine's, on a part of the inputs; use ‹cases› for \
             more."
                .into(),
        );
    }
    if !absent.is_empty() {
        notes.push(format!("The device lacks {} of the instructions: {}.", absent.len(), absent.join(", ")));
    }
    notes
}

/// Notes of the table of instructions, each once.
pub fn peculiar(forms: &[&Form]) -> Vec<String> {
    let mut notes: Vec<&str> = Vec::new();
    for note in forms.iter().map(|form| form.note.as_str()).filter(|note| !note.is_empty()) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let named = |note: &&str| {
        let names: Vec<&str> = forms.iter().filter(|form| form.note == *note).map(|form| form.ptx.as_str()).collect();
        format!("{}: {note}", names.join(", "))
    };
    notes.iter().map(named).collect()
}
