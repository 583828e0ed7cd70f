//! TestFloat's cases and SoftFloat's results, from the shared libraries that `tools/testfloat-library` compiles.

use std::{fs, path::Path};

use libloading::{Library, Symbol};

use crate::sequence;

/// A library of its own: TestFloat and SoftFloat keep their state in global variables, so every thread loads a copy.
pub struct Cases {
    library: Library,
    width: u32,
}

/// SoftFloat's numbers of sets of options: of the roundings, and of when tininess is detected.
pub struct Options {
    pub roundings: Vec<u8>,
    pub tininess: Vec<u8>,
}

/// Cases side by side.
pub struct Batch<T> {
    pub operands: [Vec<T>; 3],
    /// SoftFloat's results and flags: those of a case in every set of options stand together.
    pub results: Vec<T>,
    pub flags: Vec<u8>,
}

impl<T: Copy + Default> Batch<T> {
    pub fn new(cases: usize, sets: usize) -> Self {
        let operand = || vec![T::default(); cases];
        let results = vec![T::default(); cases * sets];
        Batch { operands: [operand(), operand(), operand()], results, flags: vec![0; cases * sets] }
    }
}

/// A code of the format of a library.
pub trait Code: Copy + Default + Into<u64> {
    const BITS: u32;
}

impl Code for u32 {
    const BITS: u32 = 32;
}

impl Code for u64 {
    const BITS: u32 = 64;
}

impl Cases {
    /// Loads a copy of `folder/libcases-FORMAT.so`, which it writes to `copy` and removes again.
    #[allow(unsafe_code)]
    pub fn load(folder: &Path, width: u32, copy: &Path) -> Cases {
        let path = folder.join(format!("libcases-f{width}.so"));
        fs::copy(&path, copy).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // SAFETY: loading the library runs no code of its own.
        let library = unsafe { Library::new(copy) }.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        fs::remove_file(copy).expect("the copy that was just made");
        Cases { library, width }
    }

    #[allow(unsafe_code)]
    fn symbol<F>(&self, name: &str) -> Symbol<'_, F> {
        // SAFETY: the callers below name each function with its type in tools/testfloat-cases.c.
        unsafe { self.library.get(name) }.expect("a function of the library")
    }

    /// The number of cases in all.
    #[allow(unsafe_code)]
    pub fn total(&mut self) -> u64 {
        let total = self.symbol::<unsafe extern "C" fn() -> u64>("cases_total");
        // SAFETY: it has no parameters, and this thread alone uses the library.
        unsafe { total() }
    }

    /// Goes to case `2 * pair`, before which rand was called `drawn` times.
    #[allow(unsafe_code)]
    pub fn seek(&mut self, pair: u64, drawn: u64) {
        let seek = self.symbol::<unsafe extern "C" fn(u64, u64, *const u32)>("cases_seek");
        let state = sequence::state(drawn);
        // SAFETY: it reads 31 numbers, and this thread alone uses the library.
        unsafe { seek(pair, drawn, state.as_ptr()) }
    }

    /// How often rand was called before the next case.
    #[allow(unsafe_code)]
    pub fn drawn(&self) -> u64 {
        let drawn = self.symbol::<unsafe extern "C" fn() -> u64>("cases_drawn");
        // SAFETY: it has no parameters, and this thread alone uses the library.
        unsafe { drawn() }
    }

    /// Sets the first `count` operands of the batch to those of the next cases.
    #[allow(unsafe_code)]
    pub fn next<T: Code>(&mut self, count: usize, batch: &mut Batch<T>) {
        let next = self.symbol::<unsafe extern "C" fn(u64, *mut T, *mut T, *mut T)>("cases_next");
        let [x, y, z] = &mut batch.operands;
        assert!(self.width == T::BITS && [x.len(), y.len(), z.len()].iter().all(|&length| length >= count));
        // SAFETY: it writes `count` codes of the library's width to each of the three, which have room for them.
        unsafe { next(count as u64, x.as_mut_ptr(), y.as_mut_ptr(), z.as_mut_ptr()) }
    }

    /// Sets the results and flags of the first `count` cases to those of SoftFloat's mulAdd.
    #[allow(unsafe_code)]
    pub fn mul_add<T: Code>(&mut self, options: &Options, count: usize, batch: &mut Batch<T>) {
        type MulAdd<T> =
            unsafe extern "C" fn(u64, *const u8, *const u8, u64, *const T, *const T, *const T, *mut T, *mut u8);
        let mul_add = self.symbol::<MulAdd<T>>("cases_mul_add");
        let Options { roundings, tininess } = options;
        let [x, y, z] = &batch.operands;
        assert!(self.width == T::BITS && [x.len(), y.len(), z.len()].iter().all(|&length| length >= count));
        assert_eq!(roundings.len(), tininess.len());
        let sets = roundings.len();
        assert!(batch.results.len() >= count * sets && batch.flags.len() >= count * sets);
        let [x, y, z] = [x, y, z].map(|operand| operand.as_ptr());
        let (results, flags) = (batch.results.as_mut_ptr(), batch.flags.as_mut_ptr());
        // SAFETY: it reads `sets` numbers of both options and `count` codes of the library's width from each operand, and
        // writes their product of results and flags, for which there is room.
        unsafe { mul_add(sets as u64, roundings.as_ptr(), tininess.as_ptr(), count as u64, x, y, z, results, flags) }
    }
}
