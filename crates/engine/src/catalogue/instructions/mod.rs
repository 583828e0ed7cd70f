//! Tables of matrix and scalar instructions: where each exists, and what a device executes.

mod forms;
mod matrix;

use std::time::Duration;

pub use forms::ScalarRow;
pub use matrix::MatrixRow;

use forms::ListedForm;
use matrix::ListedInstruction;

use crate::{
    Error, Result,
    base::{nearest::nearest, visible::shortened},
    device::{self, DeviceName, cuda},
    isa::{self, Support},
    report::{Report, counted},
};

/// Adds to `report` the instructions whose name contains `wanted` (lower case) and that `device` has.
///
/// # Errors
/// A request error: no instruction matches, or the device executes none of them. Errors of the device.
pub fn instructions(wanted: &str, device: Option<&DeviceName>, timeout: Duration, report: &mut Report) -> Result<()> {
    let (matrix, scalar) = (matrix::matching(wanted), forms::matching(wanted));
    if matrix.is_empty() && scalar.is_empty() {
        let names = isa::all().iter().map(|i| i.name.as_str()).chain(isa::scalar::all().iter().map(|i| i.ptx.as_str()));
        let near = nearest(wanted, names, 3).join(", ");
        return Err(Error::request(format!("no instruction contains '{wanted}'; the nearest are {near}")));
    }
    let mut outcome = Ok(None);
    let (identity, matrix, scalar) = match device {
        None => {
            let matrix = matrix.into_iter().map(|i| (i, None)).collect();
            (None, matrix, scalar.into_iter().map(|form| (form, None)).collect())
        }
        // A GPU's instructions come from the tables: nothing is compiled.
        Some(DeviceName::Cuda(ordinal)) => {
            let (identity, architecture) = cuda::identify(&cuda::gpu::get(*ordinal)?)?;
            let target = architecture.table;
            (Some(identity), matrix::on_target(target, &matrix), forms::on_target(target, &scalar))
        }
        Some(name) => {
            let mut device = device::open(Some(name), timeout)?;
            let mut present = Vec::new();
            outcome = matrix::on_device(device.as_mut(), &matrix, &mut present);
            let scalar = if outcome.is_ok() { forms::on_device(device.as_ref(), &scalar) } else { Vec::new() };
            (Some(device.identity().clone()), present, scalar)
        }
    };
    if let (Some(identity), true, true) = (&identity, matrix.is_empty(), scalar.is_empty()) {
        return Err(outcome?.unwrap_or_else(|| {
            Error::request(format!(
                "{} ({}) has no such instruction; omit ‹device› to see which architectures do",
                identity.name, identity.description
            ))
        }));
    }
    report.answer =
        Some(answer(wanted, identity.as_ref().map(|identity| identity.name.to_string()).as_deref(), &matrix, &scalar));
    report.device = identity;
    if !matrix.is_empty() {
        report.notes.extend(matrix::note(&matrix));
        report.tables.push(matrix::table(&matrix));
    }
    if !scalar.is_empty() {
        report.tables.push(forms::table(&scalar));
    }
    outcome.map(drop)
}

/// Counts the instructions in a sentence.
fn answer(wanted: &str, device: Option<&str>, matrix: &[ListedInstruction], scalar: &[ListedForm]) -> String {
    let has_kernel = matrix.iter().filter(|(i, _)| i.missing().is_none()).count()
        + scalar.iter().filter(|(form, _)| form.missing().is_none()).count();
    let counts = format!(
        "{} and {}",
        counted(matrix.len() as u64, "matrix instruction"),
        counted(scalar.len() as u64, "scalar instruction")
    );
    let named = if wanted.is_empty() { String::new() } else { format!(" with '{}' in their names", shortened(wanted)) };
    match device {
        Some(device) => format!("{device} executes {counts}{named}."),
        None => format!("{counts}{named}; the program executes {has_kernel} of them on a GPU or a processor."),
    }
}

crate::rows! {
    /// The support of an instruction.
    pub struct SupportRow in "support" {
        /// Execution on the chosen device.
        here: Option<String> => shown("on this device").if_filled().essential(),
        /// Targets where it is one machine instruction, without a device.
        native: Vec<String> => shown("native on").if_filled().essential(),
        /// Targets where it is a sequence, with the sequence.
        emulated: Vec<String> => shown("emulated on").if_filled().essential(),
    }
}

/// Makes the entry of an instruction for its targets, or for the chosen device.
fn supported(support: &[Support], here: Option<&str>) -> SupportRow {
    let list = |emulated: bool, name: fn(&Support) -> String| match here {
        Some(_) => Vec::new(),
        None => support.iter().filter(|s| s.emulation.is_some() == emulated).map(name).collect(),
    };
    let how = |s: &Support| match s.emulation {
        Some(emulation) => format!("{} ({emulation})", s.architecture),
        None => s.architecture.to_string(),
    };
    SupportRow {
        here: here.map(Into::into),
        native: list(false, |s| s.architecture.to_string()),
        emulated: list(true, how),
    }
}

/// Describes an architecture's support.
fn how(support: &Support) -> String {
    support.emulation.map_or("native".into(), |emulation| format!("emulated ({emulation})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(pattern: &str, device: Option<&str>) -> Result<Report> {
        let mut report = Report::new("instructions", "tcnum instructions");
        let device = device.map(DeviceName::from);
        instructions(pattern, device.as_ref(), Duration::from_secs(1), &mut report).map(|()| report)
    }

    #[test]
    fn a_pattern_that_only_one_table_has_lists_that_table() {
        let keys = |pattern: &str, device| -> Vec<&str> {
            list(pattern, device).unwrap().tables.iter().map(|table| table.key).collect()
        };
        for device in [None, Some("model:hopper")] {
            assert_eq!(keys("mma.m16n8k16", device), ["instructions"]);
            assert_eq!(keys("cvt.rn", device), ["scalar_instructions"]);
            assert_eq!(keys("bf16", device), ["instructions", "scalar_instructions"]);
        }
    }

    #[test]
    fn what_nothing_has_is_refused_with_the_nearest_of_both_tables() {
        for (pattern, near) in
            [("mma.m16n8k17", "m16n8k1"), ("cvt.rn.satfinit.e4m3x2.f32", "'cvt.rn.satfinite.e4m3x2.f32'")]
        {
            let error = list(pattern, None).unwrap_err();
            assert!(error.exit_status() == 2 && error.to_string().contains(near), "{error}");
        }
        // The model simulates what has a rule; a device that executes none of the matches says so.
        let error = list("cvt.rs.", Some("model:hopper")).unwrap_err();
        assert!(error.exit_status() == 2 && error.to_string().contains("no such instruction"), "{error}");
        assert_eq!(list("", Some("mode:x")).unwrap_err().exit_status(), 2);
    }
}
