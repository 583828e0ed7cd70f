//! The devices of a report with several.

use super::Table;
use crate::device::Identity;

crate::rows! {
    /// A device of a result with several.
    pub struct DeviceRow in "devices" {
        /// As `--device` names it.
        device: String => shown("device").essential(),
        /// The device in words.
        description: String => shown("description").essential(),
        /// Versions and other facts.
        details: Option<String> => shown("details"),
    }
}

/// Makes the table of the devices of a result.
pub fn devices<'a>(title: &str, identities: impl Iterator<Item = &'a Identity>) -> Table {
    let row = |identity: &Identity| {
        let details = identity.details.iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>();
        DeviceRow {
            device: identity.name.to_string(),
            description: identity.description.clone(),
            details: (!details.is_empty()).then(|| details.join(", ")),
        }
    };
    Table::of(title, identities.map(row))
}
