//! The table of scalar instructions.

use super::{SupportRow, how, supported};
use crate::{
    device::{Device, DeviceName, cpu},
    isa::scalar::{self, Form},
    report::Table,
};

crate::rows! {
    /// A scalar instruction.
    pub struct ScalarRow in "scalar_instructions" {
        /// Spelling.
        ptx: String => shown("instruction").essential(),
        /// Operation.
        op: &'static str => shown("operation").essential(),
        /// Format of the operands.
        source: &'static str => shown("operands").essential(),
        /// Format of the results.
        result: &'static str => shown("results").essential(),
        /// Results of one execution.
        lanes: usize => hidden(),
        /// Rounding direction.
        rounding: &'static str => hidden(),
        /// Treatment of values that are too large.
        overflow: &'static str => hidden(),
        /// Support.
        support: SupportRow => hidden(),
        /// Device of the measurements behind its rule.
        evidence: Option<String> => shown("measured on"),
        /// Remark.
        note: Option<String> => hidden(),
        /// Reason that nothing executes it here.
        missing: Option<&'static str> => shown("missing"),
    }
}

/// A scalar instruction, and how the chosen device executes it.
pub(super) type ListedForm = (&'static Form, Option<String>);

/// Scalar instructions whose spelling contains `wanted` (lower case).
pub(super) fn matching(wanted: &str) -> Vec<&'static Form> {
    scalar::all().iter().filter(|form| form.ptx.to_lowercase().contains(wanted)).collect()
}

/// Scalar instructions of a target.
pub(super) fn on_target(target: &str, matching: &[&'static Form]) -> Vec<ListedForm> {
    matching.iter().filter_map(|form| Some((*form, Some(how(form.support_on(target)?))))).collect()
}

/// Scalar instructions that a device other than a GPU executes.
/// A processor has some; a model simulates its generation's instructions with a known rule; other devices have none.
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

/// Makes the table.
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
