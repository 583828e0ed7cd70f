//! Version and commit of the program.

use std::sync::OnceLock;

/// The version of the program, which all its crates share.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

static COMMIT: OnceLock<&'static str> = OnceLock::new();

/// The commit that reports name, in hexadecimal; `unknown` until the program says it.
///
/// It ends in `-dirty` if sources differed.
pub fn commit() -> &'static str {
    COMMIT.get().copied().unwrap_or("unknown")
}

/// Sets the commit that the program is built from.
///
/// The program knows it: this crate is not built anew for each commit.
pub fn set_commit(commit: &'static str) {
    COMMIT.get_or_init(|| commit);
}
