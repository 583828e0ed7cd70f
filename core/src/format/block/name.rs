//! Finding block formats and scale rules by name.

use super::{BLOCK_FORMATS, BlockFormat, SCALE_RULES, ScaleRule};
use crate::{Error, Result, base::nearest::nearest};

fn bare(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '-'], "")
}

/// Block format with this name or alias, in any letter case, with or without `_` and `-`.
/// `mxfp8` is `mxfp8-e4m3` and `mxfp6` is `mxfp6-e2m3`: the formats with more precision.
pub fn find(name: &str) -> Option<&'static BlockFormat> {
    let wanted = bare(name);
    BLOCK_FORMATS.iter().find(|f| bare(f.name) == wanted || f.aliases.iter().any(|alias| bare(alias) == wanted))
}

/// Scale rule with this name or alias.
///
/// # Errors
/// A name that no rule has; the message suggests similar ones.
pub fn find_rule(name: &str) -> Result<&'static ScaleRule> {
    let wanted = bare(name);
    let found = SCALE_RULES.iter().find(|r| r.name == wanted || r.aliases.iter().any(|alias| bare(alias) == wanted));
    found.ok_or_else(|| {
        let near = nearest(&wanted, SCALE_RULES.iter().map(|rule| rule.name), 2).join(", ");
        Error::request(format!("unknown scale rule '{name}'; the nearest are {near}; there are {}", known_rules()))
    })
}

fn known_rules() -> String {
    SCALE_RULES.iter().map(|rule| rule.name).collect::<Vec<_>>().join(", ")
}
