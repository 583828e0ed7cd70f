//! One dot-product-add step by step, in one arithmetic or in two side by side.

mod element;
mod explained;
mod operands;

pub use element::{ElementRequest, ElementStepRow};
pub use explained::{DeviceResult, DotProductAdd, usual_model};
pub use operands::OperandTexts;

use crate::{
    base::sentence::{capitalised, listed},
    device::DeviceName,
    format::Format,
    report::Table,
    steps::StepRow,
};

crate::rows! {
    /// A result of the explained dot-product-add.
    pub struct ResultRow in "results" {
        /// Source: a model, a device, or the recording.
        by: String => shown("by").essential(),
        /// Code of D.
        d: String => shown("D").essential(),
        /// Value in decimal.
        value: String => shown("value").essential(),
        /// Value as an integer times a power of two.
        exactly: String => shown("exactly"),
    }
}

/// Makes the table of results of a dot-product-add.
pub fn results<'a>(title: String, d: &Format, by: impl IntoIterator<Item = (&'a str, u64)>) -> Table {
    let row = |(who, code): (&str, u64)| {
        let decoded = d.decode(code);
        ResultRow { by: who.into(), d: d.hex(code), value: decoded.decimal(), exactly: decoded.exact_text() }
    };
    Table::of(title, by.into_iter().map(row))
}

/// The answer in one sentence: the results, and the reason in the steps.
pub fn answer(d: &Format, by: &[(&str, u64)], steps: &[StepRow]) -> String {
    let shown = |code: u64| format!("{} ({})", d.hex(code), d.decode(code).decimal());
    let named = |who: &str| match who {
        "recorded" => "the recording".to_string(),
        who => DeviceName::from(who).spoken(),
    };
    let names = |by: &[(&str, u64)]| listed(&by.iter().map(|(who, _)| named(who)).collect::<Vec<_>>());
    let [(_, first), ..] = by else { return String::new() };
    if by.iter().all(|(_, code)| code == first) {
        let give = if by.len() == 1 { "gives" } else { "give" };
        let cut: Vec<String> = steps
            .iter()
            .filter_map(|step| Some((step, step.cut_off.as_deref().filter(|rest| !["0", "-0"].contains(rest))?)))
            .map(|(step, rest)| format!("{rest} of {}", step.step))
            .collect();
        let mut why: Vec<String> = match &cut[..] {
            [] => Vec::new(),
            [one] => vec![format!("alignment drops {one}")],
            [one, ..] => vec![format!("alignment drops {one}, and parts of {} other terms", cut.len() - 1)],
        };
        let beyond = steps.windows(2).find(|two| two[0].step == "sum beyond the register");
        let values = beyond.and_then(|two| two[0].value.as_ref().zip(two[1].value.as_ref()));
        why.extend(values.map(|(sum, held)| format!("the register is too short for {sum}, and holds {held}")));
        // The sum before it becomes a code.
        let rounded = steps.windows(2).find(|two| {
            let becomes = two[0].code.is_none() && two[1].code.is_some() && two[0].step == "aligned sum";
            becomes && two[0].value != two[1].value
        });
        why.extend(rounded.map(|two| format!("the {} is rounded ({})", two[0].step, two[1].step)));
        let why = if why.is_empty() { "alignment drops nothing".into() } else { why.join(", and ") };
        return format!("{} {give} {}: {why}.", capitalised(&names(by)), shown(*first));
    }
    let given: Vec<String> = by.iter().map(|(who, code)| format!("{} gives {}", named(who), shown(*code))).collect();
    let first = steps.iter().find_map(StepRow::difference);
    let why = first.map_or_else(String::new, |first| format!("; they differ first at {first}"));
    format!("{}{why}.", capitalised(&given.join(", ")))
}
