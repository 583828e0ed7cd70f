//! `tcnum probe` of scalar instructions.

use super::{super::Progress, Arguments};
use crate::{
    Error, Result,
    base::interrupt,
    comparison::{Listing, MismatchOrigin, Subject},
    device::{self, Device, DeviceName, ExecutionKind, cpu},
    format,
    inputs::space::Space,
    isa::scalar::{self, Form, ScalarOperation},
    probe::{
        digests::{self, RecordedDigests},
        sweep::{SweepRequest, run as sweep},
        sweep_table::{self, SweepRow},
    },
    report::Report,
};

/// The scalar operations among `--op`, those of `--instr` included; `None` if the request is about matrix instructions.
///
/// # Errors
/// Both kinds at once; a name that begins as those of scalar instructions do, and is none.
pub(super) fn operations(arguments: &Arguments) -> Result<Option<Vec<ScalarOperation>>> {
    let mut operations: Vec<ScalarOperation> = arguments.ops.iter().filter_map(|op| op.scalar()).collect();
    let mut matrix = arguments.ops.iter().any(|op| op.scalar().is_none());
    for name in &arguments.selection.instructions {
        match scalar::find(name) {
            Ok(form) => operations.push(form.operation),
            Err(error) if scalar::begins_alike(name) => return Err(error),
            Err(_) => matrix = true,
        }
    }
    match (operations.is_empty(), matrix) {
        (true, _) => Ok(None),
        (false, false) => Ok(Some(operations)),
        (false, true) => Err(Error::request(
            "matrix instructions, their operations (multiply, inner-product, accumulate, dot) and scalar ones do not go together; \
             ask for them in two commands",
        )),
    }
}

/// Sweeps the scalar instructions.
///
/// # Errors
/// Unknown names, a selection without any instruction, a device that executes none or cannot be opened, or fails.
pub(super) fn run(arguments: &Arguments, operations: &[ScalarOperation], report: &mut Report) -> Result<()> {
    refuse_unused(arguments)?;
    let on_cpu = || forms(arguments, operations, true).is_ok_and(|forms| forms.iter().any(|form| cpu::sweeps(form)));
    let name = arguments.common.device.clone().unwrap_or_else(|| DeviceName::usual(on_cpu));
    let forms = forms(arguments, operations, name == DeviceName::Cpu)?;
    let last = |form: &Form| Space::new(form, arguments.common.seed).size() - 1;
    if let Some((first, form)) =
        arguments.first.and_then(|first| Some((first, forms.iter().find(|form| last(form) < first)?)))
    {
        return Err(Error::request(format!("{form} has inputs 0 to {}; --first is {first}", last(form))));
    }
    let timeout = arguments.common.timeout.duration();
    let mut device = device::open(Some(&name), timeout)?;
    let mut swept = SweptForms::default();
    let outcome = swept.all(arguments, forms, device.as_mut());
    let SweptForms { rows, listing, absent, refusals, recorded, forms } = swept;
    if rows.is_empty() && outcome.is_ok() {
        return Err(Error::request(format!("{} has none of: {}", device.identity().name, absent.join(", "))));
    }
    let simulated = rows.iter().any(|row| row.execution == ExecutionKind::Simulated.name());
    report.answer = sweep_table::answer(&rows, &device.identity().name);
    report.holds = refusals.is_empty() && rows.iter().all(|row| row.differing == 0);
    report.notes.extend(sweep_table::notes(&absent, simulated));
    report.notes.extend(sweep_table::peculiar(&forms));
    report.notes.extend(refusals);
    report.device = Some(device.identity().clone());
    report.notes.extend(listing.notes());
    report.tables.push(sweep_table::table(rows));
    report.tables.extend(listing.table());
    let written = arguments.digests.as_ref().filter(|_| !recorded.is_empty());
    outcome.and(written.map_or(Ok(()), |path| digests::write(path, &recorded)))
}

/// What was swept, whatever ended it.
#[derive(Default)]
struct SweptForms {
    rows: Vec<SweepRow>,
    listing: Listing,
    /// Instructions that the device does not have.
    absent: Vec<&'static str>,
    /// What is to be said of instructions that the device has by the table, and does not compile.
    refusals: Vec<String>,
    recorded: Vec<RecordedDigests>,
    forms: Vec<&'static Form>,
}

impl SweptForms {
    /// Sweeps each form.
    fn all(&mut self, arguments: &Arguments, forms: Vec<&'static Form>, device: &mut dyn Device) -> Result<()> {
        let progress = Progress::new(&arguments.common.destination);
        progress.step(&format!("preparing {} instructions on {}", forms.len(), device.identity().name));
        let refusals = device.sweeps().map_or_else(Vec::new, |sweeps| sweeps.prepare(&forms));
        self.refusals.extend(refusals.iter().map(|(_, error)| format!("Not compiled, against the table: {error}")));
        let refused: Vec<&str> = refusals.iter().map(|(form, _)| form.ptx.as_str()).collect();
        for form in forms.into_iter().filter(|form| !refused.contains(&form.ptx.as_str())) {
            if !self.rows.is_empty() {
                interrupt::check()?;
            }
            let request = SweepRequest {
                form,
                seed: arguments.common.seed,
                first: arguments.first,
                cases: arguments.cases,
                max_mismatches: arguments.max_mismatches,
            };
            progress.step(&format!("sweeping {form} on {}", device.identity().name));
            let mut results = Vec::new();
            let outcome = sweep(device, &request, &mut results);
            for result in &results {
                for difference in &result.differences {
                    self.listing.add(&Subject::Scalar(form), &MismatchOrigin::default(), difference);
                }
                self.recorded.push(RecordedDigests::of(&request, result));
                self.rows.push(sweep_table::row(&request, result));
                self.forms.push(form);
            }
            match outcome {
                Err(error) if error.is_unavailable() && arguments.selection.instructions.is_empty() => {
                    self.absent.push(form.ptx.as_str());
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }
}

/// Refuses what a sweep would leave aside: its report would speak of a device that did nothing.
fn refuse_unused(arguments: &Arguments) -> Result<()> {
    let flags = [
        ("--init", !arguments.inits.is_empty()),
        ("--summary", arguments.summary),
        ("--samples", arguments.samples.is_some()),
        ("--dist", !arguments.distributions.is_empty()),
        ("--bits", arguments.bits),
        ("--model", arguments.model.is_some()),
        (
            "--fmt beside --instr",
            !arguments.selection.instructions.is_empty() && !arguments.selection.formats.is_empty(),
        ),
    ];
    if let Some((flag, _)) = flags.into_iter().find(|(_, given)| *given) {
        return Err(Error::request(format!(
            "{flag} is for matrix instructions; a sweep takes every input, or those of --first and --cases"
        )));
    }
    match &arguments.common.device {
        Some(name @ (DeviceName::Exec(_) | DeviceName::Trace(_))) => Err(Error::request(format!(
            "{name} executes matrix instructions only; scalar ones are swept on a GPU (cuda:N) or a processor (cpu), or simulated (model:NAME)"
        ))),
        _ => Ok(()),
    }
}

/// The forms that the arguments choose: those of processors, or those of GPUs, unless they name some.
fn forms(arguments: &Arguments, operations: &[ScalarOperation], of_processors: bool) -> Result<Vec<&'static Form>> {
    let selection = &arguments.selection;
    if !selection.instructions.is_empty() {
        let named = selection.instructions.iter().map(|name| scalar::find(name)).collect::<Result<Vec<_>>>()?;
        let asked: Vec<ScalarOperation> = arguments.ops.iter().filter_map(|op| op.scalar()).collect();
        return match named.iter().find(|form| !asked.is_empty() && !asked.contains(&form.operation)) {
            Some(form) => {
                let operation = form.operation.name();
                Err(Error::request(format!("{form} does {operation}, which is not the --op; omit --op")))
            }
            None => Ok(named),
        };
    }
    let formats = selection.formats.iter().map(|name| format::find(name)).collect::<Result<Vec<_>>>()?;
    let chosen: Vec<&'static Form> = scalar::all()
        .iter()
        .filter(|form| form.is_of_processors() == of_processors)
        .filter(|form| operations.contains(&form.operation) && form.missing().is_none())
        .filter(|form| formats.is_empty() || formats.iter().any(|format| form.concerns(format)))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = operations.iter().map(|operation| operation.name()).collect();
        let formats: Vec<&str> = formats.iter().map(|format| format.name).collect();
        return Err(Error::request(format!(
            "no scalar instruction does {} with {}; convert has f64 to e2m1 and s32, the others f16 and bf16",
            names.join(", "),
            formats.join(", ")
        )));
    }
    Ok(chosen)
}
