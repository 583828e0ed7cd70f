//! TestFloat's cases and SoftFloat's results, from the libraries of `tools/testfloat-library`.

use std::{fs, path::Path};

use libloading::{Library, Symbol};

use super::sequence;

/// Copy of a library, one per thread: TestFloat and SoftFloat keep their state in global variables.
pub(crate) struct Cases {
    library: Library,
}

/// Batch of cases, as codes.
#[derive(Default)]
pub(crate) struct Batch {
    pub operands: [Vec<u64>; 3],
    /// SoftFloat's results: all cases in one set of options, then in the next.
    /// Sets of options are all roundings, each with tininess before and after rounding.
    pub results: Vec<u64>,
    pub flags: Vec<u8>,
}

impl Cases {
    /// Loads a copy of `folder/libcases-FORMAT.so`, written to `copy` and removed again.
    #[allow(unsafe_code)]
    pub(crate) fn load(folder: &Path, format: &str, copy: &Path) -> Cases {
        let path = folder.join(format!("libcases-{format}.so"));
        fs::copy(&path, copy).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // SAFETY: loading the library runs no code of its own.
        let library = unsafe { Library::new(copy) }.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        fs::remove_file(copy).expect("the copy that was just made");
        Cases { library }
    }

    #[allow(unsafe_code)]
    fn symbol<F>(&self, name: &str) -> Symbol<'_, F> {
        // SAFETY: the callers below name each function with its type in tools/testfloat-cases.c.
        unsafe { self.library.get(name) }.expect("a function of the library")
    }

    /// Total number of cases.
    #[allow(unsafe_code)]
    pub(crate) fn total(&mut self) -> u64 {
        let total = self.symbol::<unsafe extern "C" fn() -> u64>("cases_total");
        // SAFETY: it has no parameters, and this thread alone uses the library.
        unsafe { total() }
    }

    /// Goes to case `2 * pair`, before which rand was called `drawn` times.
    #[allow(unsafe_code)]
    pub(crate) fn seek(&mut self, pair: u64, drawn: u64) {
        let seek = self.symbol::<unsafe extern "C" fn(u64, u64, *const u32)>("cases_seek");
        let state = sequence::state(drawn);
        // SAFETY: it reads 31 numbers, and this thread alone uses the library.
        unsafe { seek(pair, drawn, state.as_ptr()) }
    }

    /// Number of calls of rand before the next case.
    #[allow(unsafe_code)]
    pub(crate) fn drawn(&self) -> u64 {
        let drawn = self.symbol::<unsafe extern "C" fn() -> u64>("cases_drawn");
        // SAFETY: it has no parameters, and this thread alone uses the library.
        unsafe { drawn() }
    }

    /// Sets the operands of the batch to those of the next `count` cases.
    #[allow(unsafe_code)]
    pub(crate) fn next(&mut self, count: usize, batch: &mut Batch) {
        let next = self.symbol::<unsafe extern "C" fn(u64, *mut u64, *mut u64, *mut u64)>("cases_next");
        let [x, y, z] = batch.operands.each_mut().map(|operand| {
            operand.resize(count, 0);
            operand.as_mut_ptr()
        });
        // SAFETY: it writes `count` codes to each of the three, which are as long, and this thread alone uses the
        // library.
        unsafe { next(count as u64, x, y, z) }
    }

    /// Sets the batch's results and flags by SoftFloat's mulAdd, under SoftFloat's numbers of roundings.
    #[allow(unsafe_code)]
    pub(crate) fn mul_add(&mut self, roundings: &[u8], batch: &mut Batch) {
        type MulAdd = unsafe extern "C" fn(u64, *const u8, u64, *const u64, *const u64, *const u64, *mut u64, *mut u8);
        let mul_add = self.symbol::<MulAdd>("cases_mul_add");
        let (sets, count) = (roundings.len(), batch.operands[0].len());
        batch.results.resize(2 * sets * count, 0);
        batch.flags.resize(2 * sets * count, 0);
        let [x, y, z] = batch.operands.each_ref().map(|operand| {
            assert_eq!(operand.len(), count);
            operand.as_ptr()
        });
        let (results, flags) = (batch.results.as_mut_ptr(), batch.flags.as_mut_ptr());
        // SAFETY: it reads `sets` roundings and `count` codes of each operand, and writes a result and flags for each
        // pair of both; all arrays have these lengths.
        unsafe { mul_add(sets as u64, roundings.as_ptr(), count as u64, x, y, z, results, flags) }
    }
}
