//! Sweeps of several scalar instructions.

use super::{
    digests::RecordedDigests,
    sweep::{SweepRequest, run as sweep},
    sweep_table::{self, SweepRow},
};
use crate::{
    Error, Result,
    base::interrupt,
    comparison::{Listing, MismatchOrigin, Subject},
    device::{Device, DeviceName, ExecutionKind, cpu},
    format,
    inputs::space::Space,
    isa::scalar::{self, Form, ScalarOperation},
    report::Report,
};

/// Sweeps of several scalar instructions: named ones, or all that do some operations.
#[derive(Debug, Clone, Copy)]
pub struct ScalarPlan<'a> {
    /// Spellings of instructions.
    pub instructions: &'a [String],
    /// The operations, where no instruction is named.
    pub operations: &'a [ScalarOperation],
    /// Formats of operands or results; none: all.
    pub formats: &'a [String],
    /// Seed of sampled inputs.
    pub seed: u64,
    /// The first input; `None`: chunks spread over all inputs.
    pub first: Option<u64>,
    /// Inputs, rounded up to whole chunks; `None`: all on hardware, a few chunks in simulation.
    pub cases: Option<u64>,
    /// Causes of differences of each instruction that are listed.
    pub max_mismatches: usize,
}

/// The results of a plan, whatever ended it.
#[derive(Default)]
pub struct SweptForms {
    rows: Vec<SweepRow>,
    listing: Listing,
    /// Instructions that the device does not have.
    absent: Vec<&'static str>,
    /// Instructions that the device has by the table, and does not compile.
    refusals: Vec<String>,
    forms: Vec<&'static Form>,
    /// Digests of each instruction.
    pub recorded: Vec<RecordedDigests>,
}

impl ScalarPlan<'_> {
    /// The device, `named` or the default one, and the instructions to sweep on it.
    ///
    /// # Errors
    /// Unknown names, no instruction, a first input that an instruction does not have, a device without scalar instructions.
    pub fn chosen(&self, named: Option<&DeviceName>) -> Result<(DeviceName, Vec<&'static Form>)> {
        if let Some(name @ (DeviceName::Exec(_) | DeviceName::Trace(_))) = named {
            return Err(Error::request(format!(
                "{name} executes matrix instructions only; sweep scalar ones on cuda:N, cpu or model:NAME"
            )));
        }
        let on_cpu = || self.forms(true).is_ok_and(|forms| forms.iter().any(|form| cpu::sweeps(form)));
        let name = named.cloned().unwrap_or_else(|| DeviceName::usual(on_cpu));
        let forms = self.forms(name == DeviceName::Cpu)?;
        let last = |form: &Form| Space::new(form, self.seed).size() - 1;
        match self.first.and_then(|first| Some((first, forms.iter().find(|form| last(form) < first)?))) {
            Some((first, form)) => {
                Err(Error::request(format!("{form} has inputs 0 to {}; ‹first› is {first}", last(form))))
            }
            None => Ok((name, forms)),
        }
    }

    /// The instructions, of processors or of GPUs unless they are named.
    fn forms(&self, of_processors: bool) -> Result<Vec<&'static Form>> {
        if !self.instructions.is_empty() {
            return self.instructions.iter().map(|name| scalar::find(name)).collect();
        }
        let formats = self.formats.iter().map(|name| format::find(name)).collect::<Result<Vec<_>>>()?;
        let chosen: Vec<&'static Form> = scalar::all()
            .iter()
            .filter(|form| form.is_of_processors() == of_processors)
            .filter(|form| self.operations.contains(&form.operation) && form.missing().is_none())
            .filter(|form| formats.is_empty() || formats.iter().any(|format| form.concerns(format)))
            .collect();
        if chosen.is_empty() {
            let names: Vec<&str> = self.operations.iter().map(|operation| operation.name()).collect();
            let formats: Vec<&str> = formats.iter().map(|format| format.name).collect();
            return Err(Error::request(format!(
                "no scalar instruction does {} with {}; convert takes f64 to e2m1 and s32, other operations f16 and bf16",
                names.join(", "),
                formats.join(", ")
            )));
        }
        Ok(chosen)
    }

    /// Sweeps instructions on a device; `step` is told each.
    ///
    /// # Errors
    /// A device that has none of them, or fails; [`Error::Interrupted`].
    pub fn run(
        &self,
        forms: Vec<&'static Form>,
        device: &mut dyn Device,
        swept: &mut SweptForms,
        step: &dyn Fn(&str),
    ) -> Result<()> {
        step(&format!("preparing {} instructions on {}", forms.len(), device.identity().name));
        let refusals = device.sweeps().map_or_else(Vec::new, |sweeps| sweeps.prepare(&forms));
        swept.refusals.extend(refusals.iter().map(|(_, error)| format!("Not compiled, against the table: {error}")));
        let refused: Vec<&str> = refusals.iter().map(|(form, _)| form.ptx.as_str()).collect();
        for form in forms.into_iter().filter(|form| !refused.contains(&form.ptx.as_str())) {
            if !swept.rows.is_empty() {
                interrupt::check()?;
            }
            let request = SweepRequest {
                form,
                seed: self.seed,
                first: self.first,
                cases: self.cases,
                max_mismatches: self.max_mismatches,
            };
            step(&format!("sweeping {form} on {}", device.identity().name));
            let mut results = Vec::new();
            let outcome = sweep(device, &request, &mut results);
            for result in &results {
                for difference in &result.differences {
                    swept.listing.add(&Subject::Scalar(form), &MismatchOrigin::default(), difference);
                }
                swept.recorded.push(RecordedDigests::of(&request, result));
                swept.rows.push(sweep_table::row(&request, result));
                swept.forms.push(form);
            }
            match outcome {
                Err(error) if error.is_unavailable() && self.instructions.is_empty() => {
                    swept.absent.push(form.ptx.as_str());
                }
                outcome => outcome?,
            }
        }
        match swept.rows.is_empty() {
            true => Err(Error::request(format!("{} has none of: {}", device.identity().name, swept.absent.join(", ")))),
            false => Ok(()),
        }
    }
}

impl SweptForms {
    /// Puts the results into a report: answer, verdict, notes and tables.
    pub fn report(self, device: &dyn Device, report: &mut Report) {
        let SweptForms { rows, listing, absent, refusals, forms, .. } = self;
        let simulated = rows.iter().any(|row| row.execution == ExecutionKind::Simulated.name());
        report.device = Some(device.identity().clone());
        report.answer = sweep_table::answer(&rows, &device.identity().name);
        report.holds = refusals.is_empty() && rows.iter().all(|row| row.differing == 0);
        report.notes.extend(sweep_table::notes(&absent, simulated));
        report.notes.extend(sweep_table::peculiar(&forms));
        report.notes.extend(refusals);
        report.tables.push(sweep_table::table(rows));
        report.tables.extend(listing.table());
    }
}
