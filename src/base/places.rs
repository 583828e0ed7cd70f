//! Reading and writing at a place of an open file, by several threads at once.

use std::{fs::File, io::Result};

/// Fills `bytes` with what the file has from `at` on.
///
/// # Errors
/// Those of the system; a file that ends before.
pub(crate) fn read_at(file: &File, at: u64, bytes: &mut [u8]) -> Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, bytes, at);
    #[cfg(not(unix))]
    return one_after_the_other::read_at(file, at, bytes);
}

/// Writes `bytes` from `at` on.
///
/// # Errors
/// Those of the system.
pub(crate) fn write_at(file: &File, at: u64, bytes: &[u8]) -> Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_all_at(file, bytes, at);
    #[cfg(not(unix))]
    return one_after_the_other::write_at(file, at, bytes);
}

/// Where a file has one place at a time.
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
