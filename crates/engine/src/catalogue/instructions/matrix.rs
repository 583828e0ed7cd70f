//! The table of matrix instructions.

use super::{SupportRow, how, supported};
use crate::{
    Error, Result,
    base::interrupt,
    device::Device,
    isa::{self, Instruction},
    report::Table,
};

crate::rows! {
    /// A matrix instruction.
    pub struct MatrixRow in "instructions" {
        /// Canonical name.
        instruction: String => shown("instruction").essential(),
        /// Vendor's spelling.
        ptx: String => shown("vendor's spelling"),
        /// Rows of A, C and D.
        m: usize => hidden(),
        /// Columns of B, C and D.
        n: usize => hidden(),
        /// Columns of A, rows of B.
        k: usize => hidden(),
        /// Format of A.
        a: &'static str => hidden(),
        /// Format of B.
        b: &'static str => hidden(),
        /// Format of C.
        c: &'static str => hidden(),
        /// Format of D.
        d: &'static str => hidden(),
        /// Format of block scales, and elements that share one.
        scale: Option<String> => hidden(),
        /// Support.
        support: SupportRow => hidden(),
        /// True if a GPU executes it here.
        executed: bool => shown("executed"),
        /// Reason that no GPU does.
        missing: Option<&'static str> => shown("missing"),
    }
}

/// An instruction, and how the chosen device executes it.
pub(super) type ListedInstruction = (&'static Instruction, Option<String>);

/// Instructions whose name or vendor's spelling contains `wanted` (lower case).
pub(super) fn matching(wanted: &str) -> Vec<&'static Instruction> {
    let matches = |i: &&Instruction| [&i.name, &i.ptx].iter().any(|name| name.to_lowercase().contains(wanted));
    isa::all().iter().filter(matches).collect()
}

/// Instructions of a target.
pub(super) fn on_target(target: &str, matching: &[&'static Instruction]) -> Vec<ListedInstruction> {
    matching.iter().filter_map(|i| Some((*i, Some(how(i.support_on(target)?))))).collect()
}

/// Adds the instructions that the device accepts to `present`; returns its first refusal.
///
/// # Errors
/// The device fails; an interruption.
pub(super) fn on_device(
    device: &mut dyn Device,
    matching: &[&'static Instruction],
    present: &mut Vec<ListedInstruction>,
) -> Result<Option<Error>> {
    let mut refusal = None;
    for instruction in matching {
        match interrupt::check().and_then(|()| device.prepare(instruction)) {
            Ok(execution) => present.push((*instruction, Some(execution.kind.name().to_string()))),
            Err(error @ (Error::Request { .. } | Error::Unavailable { .. })) => refusal = refusal.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    Ok(refusal)
}

/// Note about listed shapes.
pub(super) fn note(rows: &[ListedInstruction]) -> Option<String> {
    let sized = rows.iter().any(|(i, _)| i.family().starts_with("wgmma") || i.family() == "tcgen05");
    sized.then(|| "wgmma and tcgen05 are listed with their smallest n; every other allowed n works too.".into())
}

/// Makes the table.
pub(super) fn table(rows: &[ListedInstruction]) -> Table {
    Table::of("Matrix instructions", rows.iter().map(|(i, here)| row(i, here.as_deref())))
}

fn row(i: &Instruction, here: Option<&str>) -> MatrixRow {
    MatrixRow {
        instruction: i.name.clone(),
        ptx: i.ptx.clone(),
        m: i.m,
        n: i.n,
        k: i.k,
        a: i.a.name,
        b: i.b.name,
        c: i.c.name,
        d: i.d.name,
        scale: i.scale.map(|s| format!("{} for each {} along k", s.format, s.block)),
        support: supported(i.support, here),
        executed: i.missing().is_none(),
        missing: i.missing(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_selects_by_name_or_spelling() {
        assert_eq!(matching("").len(), isa::all().len());
        let instructions = matching("m16n8k16.f32.bf16");
        assert!(!instructions.is_empty() && instructions.iter().all(|i| i.name.contains("m16n8k16.f32.bf16")));
        assert!(matching("mma.sync.aligned.m16n8k8.row.col").len() > 1);
        assert!(matching("mma.m16n8k17").is_empty());
    }

    #[test]
    fn a_model_lists_exactly_what_it_covers() {
        let all = matching("");
        let mut device = crate::device::open(Some(&"model:hopper".into()), std::time::Duration::from_secs(1)).unwrap();
        let mut present = Vec::new();
        on_device(device.as_mut(), &all, &mut present).unwrap();
        let model = crate::arithmetic::Model::load("hopper").unwrap();
        for i in all {
            let listed = present.iter().find(|(other, _)| other.name == i.name);
            assert_eq!(listed.is_some(), model.rule(i).is_some(), "{i}");
            assert!(listed.is_none_or(|(_, how)| how.as_deref() == Some("simulated")), "{i}");
        }
    }
}
