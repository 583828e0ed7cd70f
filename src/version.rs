//! What the program was built from.

/// The version of the package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit in hexadecimal, with `-dirty` behind it where the sources differed from it; `unknown` where they were in no
/// repository.
pub const COMMIT: &str = env!("TCNUM_COMMIT");
