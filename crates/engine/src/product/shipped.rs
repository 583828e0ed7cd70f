//! The data files of `schedules/`.

/// Names (of TOML files without the extension) and texts.
const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/schedules.rs"));

/// Text of a file of `schedules/`.
pub(super) fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
