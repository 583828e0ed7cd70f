//! `tcnum instructions`: the instruction tables.

mod matrix;
mod scalar;

use std::time::Duration;

use clap::Args;

use super::options::{Destination, MAX_TIMEOUT, integer};
use crate::{
    Error, Result,
    base::nearest::nearest,
    device::{self, cuda},
    isa::{self, Support},
    report::{Cell, Column, Report},
};

/// Lists the instructions, matrix and scalar ones: where each exists, and whether a GPU executes it here.
///
/// Example: tcnum instructions bf16 --device model:hopper
///
/// NVIDIA's rows were measured by assembling the instruction for every architecture: native means that one machine
/// instruction does it, emulated that a sequence does. wgmma and tcgen05 stand with their smallest n; others are written in
/// its place. What no GPU executes here, models and exec: programs do.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only instructions whose name, or vendor's spelling, contains this (in any letter case).
    #[arg(value_name = "PATTERN")]
    pub pattern: Option<String>,
    /// Only instructions that this device executes, and how; of a GPU: all that it has.
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Seconds that an exec: device may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = integer(1..=MAX_TIMEOUT))]
    pub timeout: u64,
    /// Output flags.
    #[command(flatten)]
    pub destination: Destination,
}

/// The instructions that the arguments select.
///
/// # Errors
/// A request error if no instruction matches, or the device executes none of them; the errors of the device.
pub fn run(arguments: &Arguments) -> Result<Report> {
    list(
        &arguments.pattern.as_deref().unwrap_or("").to_lowercase(),
        arguments.device.as_deref(),
        Duration::from_secs(arguments.timeout),
    )
}

/// The instructions that contain `wanted`, and are on `device` if one is given.
fn list(wanted: &str, device: Option<&str>, timeout: Duration) -> Result<Report> {
    let (matrix, scalar) = (matrix::matching(wanted), scalar::matching(wanted));
    if matrix.is_empty() && scalar.is_empty() {
        let names = isa::all().iter().map(|i| i.name.as_str()).chain(isa::scalar::all().iter().map(|i| i.ptx.as_str()));
        let near = nearest(wanted, names, 3).join(", ");
        return Err(Error::request(format!("no instruction contains '{wanted}'; the nearest are {near}")));
    }
    let mut refusal = None;
    let (identity, matrix, scalar) = match device.map(|name| (name, cuda::ordinal(name))) {
        None => {
            let matrix = matrix.into_iter().map(|i| (i, None)).collect();
            (None, matrix, scalar.into_iter().map(|form| (form, None)).collect())
        }
        // What the GPU has, by the tables: nothing is compiled.
        Some((_, Some(ordinal))) => {
            let (identity, architecture) = cuda::identify(&cuda::gpu::get(ordinal?)?)?;
            let target = architecture.table;
            (Some(identity), matrix::on_target(target, &matrix), scalar::on_target(target, &scalar))
        }
        Some((name, None)) => {
            let mut device = device::open(Some(name), timeout)?;
            let (matrix, refused) = matrix::on_device(device.as_mut(), &matrix)?;
            refusal = refused;
            (Some(device.identity().clone()), matrix, scalar::on_device(device.as_ref(), &scalar))
        }
    };
    if let (Some(identity), true, true) = (&identity, matrix.is_empty(), scalar.is_empty()) {
        return Err(refusal.unwrap_or_else(|| {
            Error::request(format!(
                "{} ({}) has no such instruction; without --device the list says which architectures do",
                identity.name, identity.description
            ))
        }));
    }
    let mut report = Report { device: identity, ..Report::new("instructions", super::invocation()) };
    if !matrix.is_empty() {
        report.notes.extend(matrix::notes(&matrix));
        report.tables.push(matrix::table(&matrix));
    }
    if !scalar.is_empty() {
        report.notes.push(scalar::note(&scalar));
        report.tables.push(scalar::table(&scalar));
    }
    Ok(report)
}

/// The columns that say who has an instruction, or how the device at hand executes it.
fn support_columns(on_device: bool) -> Vec<Column> {
    match on_device {
        true => vec![Column::new("here", "on this device")],
        false => vec![Column::new("native", "native on"), Column::new("emulated", "emulated on")],
    }
}

/// The cells of those columns.
fn support_cells(support: &[Support], here: Option<&str>) -> Vec<Cell> {
    if let Some(how) = here {
        return vec![how.into()];
    }
    let list = |emulated: bool, name: fn(&Support) -> String| {
        let on = support.iter().filter(|s| s.emulation.is_some() == emulated);
        Cell::List(on.map(|s| Cell::Text(name(s))).collect())
    };
    let how = |s: &Support| match s.emulation {
        Some(emulation) => format!("{} ({emulation})", s.architecture),
        None => s.architecture.to_string(),
    };
    vec![list(false, |s| s.architecture.to_string()), list(true, how)]
}

/// How an architecture has an instruction.
fn how(support: &Support) -> String {
    support.emulation.map_or("native".into(), |emulation| format!("emulated ({emulation})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(1);

    #[test]
    fn a_pattern_that_only_one_table_has_lists_that_table() {
        let keys = |pattern: &str, device| -> Vec<&str> {
            list(pattern, device, TIMEOUT).unwrap().tables.iter().map(|table| table.key).collect()
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
            let error = list(pattern, None, TIMEOUT).unwrap_err();
            assert!(error.exit_status() == 2 && error.to_string().contains(near), "{error}");
        }
        // The model simulates what the table has rules for; a device that executes nothing of it says so.
        let error = list("cvt.rs.", Some("model:hopper"), TIMEOUT).unwrap_err();
        assert!(error.exit_status() == 2 && error.to_string().contains("no such instruction"), "{error}");
        assert_eq!(list("", Some("mode:x"), TIMEOUT).unwrap_err().exit_status(), 2);
    }
}
