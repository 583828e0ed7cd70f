//! Version and commit of the program.

/// The version of the package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit in hexadecimal, with `-dirty` if sources differed; `unknown` outside a repository.
pub const COMMIT: &str = env!("TCNUM_COMMIT");
