//! The models inside the program: the files of `models/`, collected when it is built.

/// Name, targets and text, in the order of the targets.
const SHIPPED: &[(&str, &[&str], &str)] = include!(concat!(env!("OUT_DIR"), "/models.rs"));

/// The names of the models inside the program.
pub fn shipped() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, ..)| *name)
}

/// The name of the model that describes a target (`sm_90a`), if one does: no two do.
pub fn of_target(target: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(_, targets, _)| targets.contains(&target)).map(|(name, ..)| *name)
}

/// The text of the model with this name.
pub(super) fn text(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(shipped, ..)| *shipped == name).map(|(.., text)| *text)
}
