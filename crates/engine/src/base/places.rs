//! Reading and writing at positions of an open file, by several threads at once.

use std::{fs::File, io::Result};

/// Fills `bytes` from position `at` of the file.
///
/// # Errors
/// Errors of the system; a file that ends earlier.
pub(crate) fn read_at(file: &File, at: u64, bytes: &mut [u8]) -> Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, bytes, at);
    #[cfg(not(unix))]
    return one_after_the_other::read_at(file, at, bytes);
}

/// Writes `bytes` at position `at` of the file.
///
/// # Errors
/// Errors of the system.
pub(crate) fn write_at(file: &File, at: u64, bytes: &[u8]) -> Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_all_at(file, bytes, at);
    #[cfg(not(unix))]
    return one_after_the_other::write_at(file, at, bytes);
}

/// For systems whose files have one position.
#[cfg(not(unix))]
mod one_after_the_other {
    use std::{
        fs::File,
        io::{Read, Result, Seek, SeekFrom, Write},
        sync::{Mutex, PoisonError},
    };

    static TURN: Mutex<()> = Mutex::new(());

    pub(super) fn read_at(mut file: &File, at: u64, bytes: &mut [u8]) -> Result<()> {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(bytes)
    }

    pub(super) fn write_at(mut file: &File, at: u64, bytes: &[u8]) -> Result<()> {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)
    }
}
