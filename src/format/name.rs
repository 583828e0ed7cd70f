//! Finding a format by name.

use super::{FORMATS, Format};
use crate::{Error, Result, nearest::nearest};

/// The format with this canonical name or alias, in any letter case, `_` and `-` alike.
///
/// # Errors
/// A name that no format has: the message gives the nearest valid names.
pub fn find(name: &str) -> Result<&'static Format> {
    let wanted = name.to_ascii_lowercase().replace('_', "-");
    if let Some(format) = FORMATS.iter().find(|f| f.name == wanted || f.aliases.contains(&wanted.as_str())) {
        return Ok(format);
    }
    let known = FORMATS.iter().flat_map(|f| std::iter::once(f.name).chain(f.aliases.iter().copied()));
    Err(Error::request(format!(
        "unknown format '{name}'; the nearest are {}. `tcnum formats` lists all",
        nearest(&wanted, known, 3).join(", ")
    )))
}
