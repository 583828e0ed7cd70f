//! The CUDA C++ sources of `kernels/`, collected when the program is built.

const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The text of a file of `kernels/`. In a constant, a name that no file has fails the build.
pub(crate) const fn source(name: &str) -> &'static str {
    let mut at = 0;
    while at < FILES.len() {
        if equal(FILES[at].0.as_bytes(), name.as_bytes()) {
            return FILES[at].1;
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
