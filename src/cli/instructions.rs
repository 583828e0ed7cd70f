//! `tcnum instructions`: the instruction table.

use std::time::Duration;

use clap::Args;

use super::options::{Destination, MAX_TIMEOUT, integer};
use crate::{
    Error, Result,
    device::{self, Identity, cuda},
    isa::{self, Instruction, Support},
    nearest::nearest,
    report::{Cell, Column, Report, Table},
};

/// Lists the matrix instructions: where each exists, and whether a GPU executes it here.
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
    let matching = matching(arguments.pattern.as_deref())?;
    let (device, present) = match arguments.device.as_deref() {
        None => (None, matching.into_iter().map(|i| (i, None)).collect()),
        Some(name) => {
            let (identity, present) = match cuda::ordinal(name) {
                Some(ordinal) => on_gpu(ordinal?, &matching)?,
                None => on_device(name, Duration::from_secs(arguments.timeout), &matching)?,
            };
            (Some(identity), present)
        }
    };
    let executed = present.iter().filter(|(i, _)| i.missing().is_none()).count();
    let mut notes = vec![format!("{} instructions, {executed} of them with a kernel", present.len())];
    if present.iter().any(|(i, _)| i.family().starts_with("wgmma") || i.family() == "tcgen05") {
        notes.push(
            "wgmma and tcgen05 are listed with their smallest n; any other allowed n can be written in its place"
                .into(),
        );
    }
    Ok(Report { device, notes, tables: vec![table(&present)], ..Report::new("instructions", super::invocation()) })
}

/// An instruction, and how the device at hand executes it, if there is one.
type Listed = (&'static Instruction, Option<String>);

/// What the GPU has, by the instruction table: nothing is compiled.
fn on_gpu(ordinal: usize, matching: &[&'static Instruction]) -> Result<(Identity, Vec<Listed>)> {
    let (identity, architecture) = cuda::identify(&cuda::gpu::get(ordinal)?)?;
    let here = |i: &&'static Instruction| Some((*i, Some(how(i.support_on(architecture.table)?))));
    let present: Vec<Listed> = matching.iter().filter_map(here).collect();
    if present.is_empty() {
        return Err(Error::request(format!(
            "{} ({}) has no such instruction; without --device the list says which architectures do",
            identity.name, identity.description
        )));
    }
    Ok((identity, present))
}

/// What the device does not refuse; if it refuses everything, what it said first.
fn on_device(name: &str, timeout: Duration, matching: &[&'static Instruction]) -> Result<(Identity, Vec<Listed>)> {
    let mut device = device::open(Some(name), timeout)?;
    let (mut present, mut refusal) = (Vec::new(), None);
    for instruction in matching {
        match device.prepare(instruction) {
            Ok(execution) => present.push((*instruction, Some(execution.kind.name().to_string()))),
            Err(error @ Error::Request { .. }) => refusal = refusal.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match refusal {
        Some(error) if present.is_empty() => Err(error),
        _ => Ok((device.identity().clone(), present)),
    }
}

fn matching(pattern: Option<&str>) -> Result<Vec<&'static Instruction>> {
    let wanted = pattern.unwrap_or("").to_lowercase();
    let matches = |i: &&Instruction| [&i.name, &i.ptx].iter().any(|name| name.to_lowercase().contains(&wanted));
    let found: Vec<&Instruction> = isa::all().iter().filter(matches).collect();
    if found.is_empty() {
        let near = nearest(&wanted, isa::all().iter().map(|i| i.name.as_str()), 3).join(", ");
        return Err(Error::request(format!("no instruction contains '{wanted}'; the nearest are {near}")));
    }
    Ok(found)
}

fn table(rows: &[Listed]) -> Table {
    let mut columns = vec![
        Column::new("instruction", "instruction"),
        Column::new("ptx", "vendor's spelling"),
        Column::hidden("m"),
        Column::hidden("n"),
        Column::hidden("k"),
        Column::hidden("a"),
        Column::hidden("b"),
        Column::hidden("c"),
        Column::hidden("d"),
        Column::hidden("scale"),
        Column::new("native", "native on"),
        Column::new("emulated", "emulated on"),
    ];
    let on_device = rows.iter().any(|(_, here)| here.is_some());
    if on_device {
        columns.truncate(10);
        columns.push(Column::new("here", "on this device"));
    }
    columns.push(Column::new("executed", "executed"));
    columns.push(Column::new("missing", "what is missing"));
    Table {
        key: "instructions",
        title: "Matrix instructions".into(),
        columns,
        rows: rows.iter().map(|(i, here)| row(i, here.as_deref())).collect(),
    }
}

fn row(i: &Instruction, here: Option<&str>) -> Vec<Cell> {
    let text = |text: &str| Cell::Text(text.to_string());
    let mut cells = vec![text(&i.name), text(&i.ptx)];
    cells.extend([i.m, i.n, i.k].map(|size| Cell::Integer(size as i64)));
    cells.extend([i.a, i.b, i.c, i.d].map(|format| text(format.name)));
    cells.push(i.scale.map_or(Cell::Empty, |s| Cell::Text(format!("{} for each {} along k", s.format, s.block))));
    match here {
        Some(how) => cells.push(text(how)),
        None => {
            let list = |emulated: bool, name: fn(&Support) -> String| {
                let on = i.support.iter().filter(|s| s.emulation.is_some() == emulated);
                Cell::List(on.map(|s| Cell::Text(name(s))).collect())
            };
            cells.push(list(false, |s| s.architecture.clone()));
            cells.push(list(true, |s| match &s.emulation {
                Some(emulation) => format!("{} ({emulation})", s.architecture),
                None => s.architecture.clone(),
            }));
        }
    }
    cells.push(Cell::Flag(i.missing().is_none()));
    cells.push(i.missing().map_or(Cell::Empty, text));
    cells
}

fn how(support: &Support) -> String {
    support.emulation.as_ref().map_or("native".into(), |emulation| format!("emulated ({emulation})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_selects_by_name_or_spelling_in_any_case() {
        assert_eq!(matching(None).unwrap().len(), isa::all().len());
        let found = matching(Some("M16N8K16.F32.BF16")).unwrap();
        assert!(!found.is_empty() && found.iter().all(|i| i.name.contains("m16n8k16.f32.bf16")));
        assert!(matching(Some("mma.sync.aligned.m16n8k8.row.col")).unwrap().len() > 1);
        let error = matching(Some("mma.m16n8k17")).unwrap_err();
        assert_eq!(error.exit_status(), 2);
        assert!(error.to_string().contains("m16n8k1"), "{error}");
    }

    #[test]
    fn every_row_has_a_cell_for_each_column_with_and_without_a_device() {
        for i in isa::all() {
            for here in [None, i.support.first().map(how)] {
                let table = table(&[(i, here)]);
                assert_eq!(table.rows[0].len(), table.columns.len(), "{i}");
            }
        }
    }

    #[test]
    fn a_model_lists_exactly_what_it_covers() {
        let all = matching(None).unwrap();
        let (identity, present) = on_device("model:hopper", Duration::from_secs(1), &all).unwrap();
        assert_eq!(identity.name, "model:hopper");
        let model = crate::arithmetic::Model::load("hopper").unwrap();
        for i in all {
            let listed = present.iter().find(|(other, _)| other.name == i.name);
            assert_eq!(listed.is_some(), model.rule(i).is_some(), "{i}");
            assert!(listed.is_none_or(|(_, how)| how.as_deref() == Some("simulated")), "{i}");
        }
    }

    #[test]
    fn a_device_of_no_known_kind_is_a_request_error() {
        let all = matching(None).unwrap();
        assert_eq!(on_device("mode:x", Duration::from_secs(1), &all).unwrap_err().exit_status(), 2);
    }
}
