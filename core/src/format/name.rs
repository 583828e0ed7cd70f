//! Finding a format by name.

use super::{FORMATS, Format, by_rule};
use crate::base::{
    error::{Error, Result},
    nearest::nearest,
};

/// Format with this canonical name or alias, in any letter case, with or without `_` and `-`.
/// `fp8-e4m3` is also `FP8_E4M3` and `fp8e4m3`.
///
/// Every other name eXmY, such as `e8m27`, is a format by IEEE 754's rules: signed, with X = 2 to 11 exponent bits, a bias
/// of `2^(X-1) - 1`, Y = 1 to 52 trailing bits, both zeros, subnormals, infinities and NaNs, and no padding.
///
/// # Errors
/// A name that no format has; the message suggests similar ones, or says the ranges of X and Y.
pub fn find(name: &str) -> Result<&'static Format> {
    let wanted = name.to_ascii_lowercase().replace('_', "-");
    let plain = |name: &str| name.replace('-', "");
    let bare = plain(&wanted);
    if let Some(format) = FORMATS.iter().find(|f| f.name == bare || f.aliases.iter().any(|alias| plain(alias) == bare))
    {
        return Ok(format);
    }
    if let Some(widths) = by_rule::widths(&bare) {
        return by_rule::format(name, widths);
    }
    let known = FORMATS.iter().flat_map(|f| std::iter::once(f.name).chain(f.aliases.iter().copied()));
    Err(Error::request(format!(
        "unknown format '{name}'; the nearest are {}. `tcnum formats` lists them",
        nearest(&wanted, known, 3).join(", ")
    )))
}
