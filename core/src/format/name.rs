//! Finding a format by name.

use super::{FORMATS, Format};
use crate::base::{
    error::{Error, Result},
    nearest::nearest,
};

/// Format with this canonical name or alias, in any letter case, with or without `_` and `-`.
/// `fp8-e4m3` is also `FP8_E4M3` and `fp8e4m3`.
///
/// # Errors
/// A name that no format has; the message suggests similar ones.
pub fn find(name: &str) -> Result<&'static Format> {
    let wanted = name.to_ascii_lowercase().replace('_', "-");
    let plain = |name: &str| name.replace('-', "");
    let bare = plain(&wanted);
    if let Some(format) = FORMATS.iter().find(|f| f.name == bare || f.aliases.iter().any(|alias| plain(alias) == bare))
    {
        return Ok(format);
    }
    let known = FORMATS.iter().flat_map(|f| std::iter::once(f.name).chain(f.aliases.iter().copied()));
    Err(Error::request(format!(
        "unknown format '{name}'; the nearest are {}. `tcnum formats` lists all",
        nearest(&wanted, known, 3).join(", ")
    )))
}
