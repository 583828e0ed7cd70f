//! What a GPU is called, alone and as the one that a library works on, and what is known of one.

use crate::{Error, Result};

/// One GPU, as the driver describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// The N of `cuda:N`.
    pub ordinal: usize,
    /// The vendor's name: `NVIDIA H200`.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (i32, i32),
    /// Its memory in bytes.
    pub memory: usize,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Its place on the PCI bus: `00000000:1b:00.0`.
    pub place: String,
}

/// The N of `cuda:N`; `None` if the name is not that of a GPU.
///
/// # Errors
/// A request error if what follows `cuda:` is not a number.
pub fn cuda(name: &str) -> Option<Result<usize>> {
    let number = name.strip_prefix("cuda:")?;
    Some(number.parse().map_err(|_| {
        Error::request(format!("'{name}' is not a GPU: write cuda:0 for the first one. `tcnum devices` lists all"))
    }))
}

/// The N of `cublaslt:N` or `cublaslt`; `None` if the name is not the library's.
///
/// # Errors
/// A request error if what follows `cublaslt:` is not a number.
pub fn cublaslt(name: &str) -> Option<Result<usize>> {
    let number = name.strip_prefix("cublaslt")?;
    if number.is_empty() {
        return Some(Ok(0));
    }
    let number = number.strip_prefix(':')?;
    Some(
        number.parse().map_err(|_| {
            Error::request(format!("'{name}' is not a GPU: write cublaslt:0 for cuBLASLt on the first one"))
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_named_by_its_number() {
        assert_eq!(cuda("cuda:12"), Some(Ok(12)));
        assert_eq!(cuda("model:hopper"), None);
        assert_eq!(cuda("cuda:-1").unwrap().unwrap_err().exit_status(), 2);
        assert_eq!(["cublaslt", "cublaslt:3"].map(|name| cublaslt(name).unwrap()), [Ok(0), Ok(3)]);
        assert_eq!(cublaslt("cuda:0"), None);
    }
}
