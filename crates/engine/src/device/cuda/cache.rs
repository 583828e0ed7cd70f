//! Compiled kernels on disk.
//!
//! Each kernel has two files: `NAME.cubin` (machine code) and `NAME.json` (its compiler and its opcodes). NAME has a
//! digest of all inputs of the compilation. An entry is valid if the machine code is whole and the compiler's file is
//! unchanged or gone. Reading and writing never fail: without a cache, kernels are compiled each time.

use std::{
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};

use super::{compile, loader};
use crate::base::{atomic, digest::fnv1a};

/// A compiled kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Compiled {
    /// Machine code, as the driver loads it.
    pub cubin: Vec<u8>,
    /// Compiler: `NVRTC 13.0`.
    pub compiler: String,
    /// Arithmetic opcodes; `None` without a disassembler.
    pub opcodes: Option<Vec<String>>,
}

#[derive(Serialize, Deserialize)]
struct CacheRecord {
    compiler: String,
    compiler_file: Option<String>,
    opcodes: Option<Vec<String>>,
    cubin_fnv1a: u64,
}

/// The folder of compiled kernels: `$TCNUM_CACHE`, `$XDG_CACHE_HOME/tcnum` or `~/.cache/tcnum`.
/// `None` if none of these variables is set.
pub(super) fn folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("TCNUM_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|base| base.join("tcnum")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache").join("tcnum")))
}

/// The files of one kernel.
#[derive(Debug, Clone)]
pub(super) struct CacheEntry {
    cubin: PathBuf,
    record: PathBuf,
    compiler_file: Option<String>,
}

impl CacheEntry {
    /// The entry in `folder` for `source` compiled for `target`; `label` makes the file name readable.
    pub(super) fn new(folder: &Path, label: &str, source: &str, target: &str) -> CacheEntry {
        let input = [source, target, &compile::options(target).join(" ")].join("\0");
        let name = format!("{label}-{target}-{:016x}", fnv1a(input.as_bytes()));
        CacheEntry {
            cubin: folder.join(format!("{name}.cubin")),
            record: folder.join(format!("{name}.json")),
            compiler_file: loader::nvrtc_file().and_then(|path| identity(&path)),
        }
    }

    /// Reads the kernel if it is whole and from the present compiler.
    pub(super) fn read(&self) -> Option<Compiled> {
        let record: CacheRecord = serde_json::from_slice(&std::fs::read(&self.record).ok()?).ok()?;
        let cubin = std::fs::read(&self.cubin).ok()?;
        let current = self.compiler_file.is_none() || self.compiler_file == record.compiler_file;
        (current && !cubin.is_empty() && fnv1a(&cubin) == record.cubin_fnv1a).then_some(Compiled {
            cubin,
            compiler: record.compiler,
            opcodes: record.opcodes,
        })
    }

    /// Writes a compiled kernel if the folder is writable.
    pub(super) fn write(&self, compiled: &Compiled) {
        let record = CacheRecord {
            compiler: compiled.compiler.clone(),
            compiler_file: self.compiler_file.clone(),
            opcodes: compiled.opcodes.clone(),
            cubin_fnv1a: fnv1a(&compiled.cubin),
        };
        let Ok(text) = serde_json::to_vec_pretty(&record) else { return };
        if let Some(folder) = self.cubin.parent()
            && std::fs::create_dir_all(folder).is_ok()
            && atomic::write(&self.cubin, &compiled.cubin).is_ok()
        {
            // An entry without its record, or with an older one, is not used.
            let _ = atomic::write(&self.record, &text);
        }
    }
}

/// Identifies a version of a file: its real path, size and modification time.
fn identity(path: &Path) -> Option<String> {
    let real = path.canonicalize().ok()?;
    let metadata = real.metadata().ok()?;
    let seconds = metadata.modified().ok()?.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    Some(format!("{} {} {seconds}", real.display(), metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled() -> Compiled {
        Compiled { cubin: vec![1, 2, 3], compiler: "NVRTC 13.0".into(), opcodes: Some(vec!["HMMA.16816.F32".into()]) }
    }

    #[test]
    fn what_was_written_is_read_and_other_sources_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let entry = CacheEntry::new(&folder.path().join("new"), "mma", "source", "sm_90a");
        assert_eq!(entry.read(), None);
        entry.write(&compiled());
        assert_eq!(entry.read(), Some(compiled()));
        for (source, target) in [("source ", "sm_90a"), ("source", "sm_80")] {
            assert_eq!(CacheEntry::new(&folder.path().join("new"), "mma", source, target).read(), None);
        }
    }

    #[test]
    fn a_damaged_entry_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let entry = CacheEntry::new(folder.path(), "mma", "source", "sm_90a");
        entry.write(&compiled());
        std::fs::write(&entry.cubin, [1, 2]).unwrap();
        assert_eq!(entry.read(), None);
        entry.write(&compiled());
        std::fs::write(&entry.record, "{").unwrap();
        assert_eq!(entry.read(), None);
    }

    #[test]
    fn another_compiler_makes_an_entry_stale_and_no_compiler_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let with = |file: Option<&str>| CacheEntry {
            compiler_file: file.map(Into::into),
            ..CacheEntry::new(folder.path(), "mma", "source", "sm_90a")
        };
        with(Some("old")).write(&compiled());
        assert_eq!(with(Some("new")).read(), None);
        assert_eq!(with(Some("old")).read(), Some(compiled()));
        assert_eq!(with(None).read(), Some(compiled()));
    }

    #[test]
    fn an_unwritable_folder_is_no_failure() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let entry = CacheEntry::new(file.path(), "mma", "source", "sm_90a");
        entry.write(&compiled());
        assert_eq!(entry.read(), None);
    }
}
