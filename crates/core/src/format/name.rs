//! Finding a format by name.

use super::{FORMATS, Format, by_rule};
use crate::base::{
    error::{Error, Result},
    nearest::nearest,
};

/// Format with this canonical name or alias, in any letter case, with or without `_` and `-`.
/// `fp8-e4m3` is also `FP8_E4M3` and `fp8e4m3`.
///
/// Other names are formats by rule:
///
/// - eXmY, such as `e8m27`, by IEEE 754's rules: signed, with X = 2 to 11 exponent bits, a bias of `2^(X-1) - 1`,
///   Y = 1 to 52 trailing bits, both zeros, subnormals, infinities and NaNs, and no padding;
/// - sN and uN, such as `s3` and `u12`: integers of N = 2 to 32 bits;
/// - binaryKpPsf, such as `binary8p3se`: IEEE P3109's formats of K = 3 to 16 bits and precision P, signed (`s`) or not
///   (`u`), with infinities (`e`) or without (`f`).
///
/// # Errors
/// A name that no format has; the message suggests similar ones, or says the ranges of the parameters.
pub fn find(name: &str) -> Result<&'static Format> {
    let wanted = name.to_ascii_lowercase().replace('_', "-");
    let plain = |name: &str| name.replace('-', "");
    let bare = plain(&wanted);
    if let Some(format) = FORMATS.iter().find(|f| f.name == bare || f.aliases.iter().any(|alias| plain(alias) == bare))
    {
        return Ok(format);
    }
    if let Some((_, format)) = by_rule::named(&bare) {
        return format.map_err(|reason| Error::request(format!("unknown format '{name}'; {reason}")));
    }
    let known = FORMATS.iter().flat_map(|f| std::iter::once(f.name).chain(f.aliases.iter().copied()));
    Err(Error::request(format!(
        "unknown format '{name}'; the nearest are {}. `tcnum formats` lists them",
        nearest(&wanted, known, 3).join(", ")
    )))
}
