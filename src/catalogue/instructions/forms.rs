//! The scalar instructions in the list of instructions.

use super::{SupportRow, how, supported};
use crate::{
    device::{Device, DeviceName, cpu},
    isa::scalar::{self, Form},
    report::Table,
};

crate::rows! {
    /// A scalar instruction.
    pub(crate) struct ScalarRow in "scalar_instructions" {
        /// Its spelling.
        ptx: String => shown("instruction").essential(),
        /// What it does.
        op: &'static str => shown("operation").essential(),
        /// The format of its operands.
        source: &'static str => shown("operands").essential(),
        /// The format of its results.
        result: &'static str => shown("results").essential(),
        /// How many results one execution has.
        lanes: usize => hidden(),
        /// How it rounds.
        rounding: &'static str => hidden(),
        /// What becomes of values that are too large.
        overflow: &'static str => hidden(),
        /// Who has it.
        support: SupportRow => hidden(),
        /// On what its rule was measured.
        evidence: Option<String> => shown("measured on"),
        /// What else is to be known of it.
        note: Option<String> => hidden(),
        /// Why nothing executes it here.
        missing: Option<&'static str> => shown("what is missing"),
    }
}

/// A scalar instruction, and how the device at hand executes it, if there is one.
pub(super) type ListedForm = (&'static Form, Option<String>);

/// The scalar instructions whose spelling contains `wanted`, which is in lower case.
pub(super) fn matching(wanted: &str) -> Vec<&'static Form> {
    scalar::all().iter().filter(|form| form.ptx.to_lowercase().contains(wanted)).collect()
}

/// Those that a target has.
pub(super) fn on_target(target: &str, matching: &[&'static Form]) -> Vec<ListedForm> {
    matching.iter().filter_map(|form| Some((*form, Some(how(form.support_on(target)?))))).collect()
}

/// Those that a device other than a GPU executes: a processor those that it has; a model simulates those of its generation whose rule
/// is known; others execute none.
pub(super) fn on_device(device: &dyn Device, matching: &[&'static Form]) -> Vec<ListedForm> {
    let simulated =
        |form: &Form| device.model().is_some_and(|model| model.has(form.support)) && form.missing().is_none();
    let how = |form: &'static Form| {
        if device.identity().name == DeviceName::Cpu {
            return cpu::sweeps(form).then_some("native");
        }
        simulated(form).then_some("simulated")
    };
    matching.iter().filter_map(|form| Some((*form, Some(how(form)?.to_string())))).collect()
}

/// The table.
pub(super) fn table(rows: &[ListedForm]) -> Table {
    Table::of("Scalar instructions", rows.iter().map(|(form, here)| row(form, here.as_deref())))
}

fn row(form: &Form, here: Option<&str>) -> ScalarRow {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_string());
    ScalarRow {
        ptx: form.ptx.clone(),
        op: form.operation.name(),
        source: form.source.name,
        result: form.result.name,
        lanes: form.lanes,
        rounding: form.rounding.map_or("SR", |rounding| rounding.name()),
        overflow: form.overflow.name(),
        support: supported(form.support, here),
        evidence: text(&form.evidence),
        note: text(&form.note),
        missing: form.missing(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_simulates_what_has_a_rule_on_its_generation_and_no_other_device_does() {
        let all = matching("");
        let open = |name: &str| crate::device::open(Some(&name.into()), std::time::Duration::from_secs(1)).unwrap();
        let simulated = on_device(open("model:hopper").as_ref(), &all);
        let has = |form: &&&Form| form.missing().is_none() && form.support_on("sm_90a").is_some();
        assert_eq!(simulated.len(), all.iter().filter(has).count());
        assert!(on_device(open("exec:a-program").as_ref(), &all).is_empty());
    }

    #[test]
    fn a_target_lists_what_the_table_says_it_assembles() {
        let all = matching("cvt.rn.satfinite.e2m1x2.f32");
        assert!(!all.is_empty() && on_target("sm_90a", &all).is_empty());
        assert_eq!(on_target("sm_100a", &all).len(), all.len());
    }
}
