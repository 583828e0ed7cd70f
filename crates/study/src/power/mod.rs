//! Power of data: the one-step changes of a model's rules that they refute.

pub mod tables;

use crate::{
    arithmetic::Model,
    rule::{ChangeVerdict, Tested},
};

/// The answer for all rules in one sentence; `None` if no rule was tested.
pub fn answer(model: &Model, all: &[Tested]) -> Option<String> {
    let rules = match all.len() {
        0 => return None,
        1 => format!("a rule of {}", model.name),
        count => format!("{count} rules of {}", model.name),
    };
    let refuted = all.iter().filter(|tested| tested.refuted.is_some()).count();
    if refuted > 0 {
        let some = if all.len() == 1 { String::new() } else { format!("{refuted} of ") };
        return Some(format!("The data contradict {some}{rules}, version {}, as it stands.", model.version));
    }
    let single = || all.iter().flat_map(|tested| &tested.changes).filter(|(change, _)| !change.ranged);
    let count = |wanted: fn(&ChangeVerdict) -> bool| single().filter(|(_, verdict)| wanted(verdict)).count();
    let surviving = count(|verdict| *verdict == ChangeVerdict::Survives);
    Some(format!(
        "The data refute {} of {} one-step changes of {rules}, version {}; {surviving} survive{}, and {} cannot be observed.",
        count(|verdict| matches!(verdict, ChangeVerdict::Refuted(_))),
        single().count(),
        model.version,
        if surviving == 1 { "s" } else { "" },
        count(|verdict| matches!(verdict, ChangeVerdict::CannotBeObserved(_))),
    ))
}
