//! The sources of `kernels/` and the templates of `kernels/kit/`, collected by the build.

#[cfg(feature = "cuda")]
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
const KITS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/kits.rs"));

/// The text of a file of `kernels/`. In a constant, a name that no file has fails the build.
#[cfg(feature = "cuda")]
pub(crate) const fn source(name: &str) -> &'static str {
    text(FILES, name)
}

/// The text of a file of `kernels/kit/`. In a constant, a name that no file has fails the build.
///
/// # Panics
/// No file has this name.
pub const fn kit(name: &str) -> &'static str {
    text(KITS, name)
}

const fn text(files: &[(&str, &'static str)], name: &str) -> &'static str {
    let mut at = 0;
    while at < files.len() {
        if equal(files[at].0.as_bytes(), name.as_bytes()) {
            return files[at].1;
        }
        at += 1;
    }
    panic!("no file of kernels/ has this name")
}

const fn equal(x: &[u8], y: &[u8]) -> bool {
    let mut at = 0;
    while at < x.len() && at < y.len() && x[at] == y[at] {
        at += 1;
    }
    at == x.len() && at == y.len()
}
