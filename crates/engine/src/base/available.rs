//! Attempts that a device may be unable to serve.

use crate::{Error, Result};

/// The result of an attempt; `None` where the device lacks what it needs.
///
/// # Errors
/// All others.
pub fn if_available<T>(attempt: Result<T>) -> Result<Option<T>> {
    attempt.map(Some).or_else(|error: Error| if error.is_unavailable() { Ok(None) } else { Err(error) })
}
