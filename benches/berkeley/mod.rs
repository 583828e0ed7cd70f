//! Berkeley SoftFloat 3e, as a shared library that `tools/softfloat` compiles: its path is in `TCNUM_SOFTFLOAT`.

use libloading::Library;

/// The loaded library.
pub(crate) struct Berkeley(Library);

/// One operation on arrays of operands of the width of its format.
pub(crate) enum Run<'a> {
    /// Of 16 bits.
    Half(Arrays<'a, u16>),
    /// Of 32 bits.
    Single(Arrays<'a, u32>),
    /// Of 64 bits.
    Double(Arrays<'a, u64>),
}

/// Operands, results, and what makes those of these.
pub(crate) struct Arrays<'a, T> {
    library: &'a Library,
    operation: Operation<T>,
    operands: [Vec<T>; 3],
    results: Vec<T>,
}

/// The C functions take and return structures of one integer, which are passed as the integer is.
#[derive(Clone, Copy)]
enum Operation<T> {
    Unary(unsafe extern "C" fn(T) -> T),
    Binary(unsafe extern "C" fn(T, T) -> T),
    Ternary(unsafe extern "C" fn(T, T, T) -> T),
}

impl Berkeley {
    /// The library that the environment names; without one, says so.
    #[allow(unsafe_code)]
    pub(crate) fn load() -> Option<Berkeley> {
        let Some(path) = std::env::var_os("TCNUM_SOFTFLOAT") else {
            eprintln!("Berkeley SoftFloat is left out: TCNUM_SOFTFLOAT is not set (see tools/softfloat)");
            return None;
        };
        // SAFETY: loading SoftFloat runs no code of its own.
        let library = unsafe { Library::new(&path) };
        Some(Berkeley(library.unwrap_or_else(|error| panic!("TCNUM_SOFTFLOAT={}: {error}", path.display()))))
    }

    /// `operation` in `format`; `None` for what SoftFloat has not: arithmetic in bf16.
    pub(crate) fn run(&self, format: &str, operation: &str, operands: &[Vec<u64>; 3]) -> Option<Run<'_>> {
        let name = format!("{format}_{}", if operation == "fma" { "mulAdd" } else { operation });
        Some(match format {
            "f16" => Run::Half(Arrays::new(&self.0, &name, operands, |code| code as u16)),
            "f32" => Run::Single(Arrays::new(&self.0, &name, operands, |code| code as u32)),
            "f64" => Run::Double(Arrays::new(&self.0, &name, operands, |code| code)),
            _ => return None,
        })
    }
}

impl<'a, T: Copy + 'static> Arrays<'a, T> {
    #[allow(unsafe_code)]
    fn new(library: &'a Library, name: &str, operands: &[Vec<u64>; 3], of: impl Fn(u64) -> T) -> Self {
        // SAFETY: functions of these names take as many numbers as this and return one.
        let operation = unsafe {
            match name {
                _ if name.ends_with("sqrt") => Operation::Unary(*library.get(name).expect(name)),
                _ if name.ends_with("mulAdd") => Operation::Ternary(*library.get(name).expect(name)),
                _ => Operation::Binary(*library.get(name).expect(name)),
            }
        };
        let operands = operands.each_ref().map(|codes| codes.iter().map(|code| of(*code)).collect::<Vec<T>>());
        Arrays { library, operation, results: operands[0].clone(), operands }
    }

    /// Runs the operation on all operands; the union of the flags.
    #[allow(unsafe_code)]
    fn run(&mut self) -> u8 {
        // SAFETY: the flags are one byte, which no other thread uses.
        let flags = unsafe { *self.library.get::<*mut u8>("softfloat_exceptionFlags").expect("SoftFloat has flags") };
        // SAFETY: as above.
        unsafe { flags.write(0) };
        let [x, y, z] = &self.operands;
        let operands = x.iter().zip(y).zip(z).zip(&mut self.results);
        // SAFETY: the functions take numbers by value and use no memory but the flags and modes.
        match self.operation {
            Operation::Unary(f) => operands.for_each(|(((x, _), _), result)| *result = unsafe { f(*x) }),
            Operation::Binary(f) => operands.for_each(|(((x, y), _), result)| *result = unsafe { f(*x, *y) }),
            Operation::Ternary(f) => operands.for_each(|(((x, y), z), result)| *result = unsafe { f(*x, *y, *z) }),
        }
        // SAFETY: as above.
        unsafe { flags.read() }
    }
}

impl Run<'_> {
    /// Runs the operation on all operands; the union of the flags.
    pub(crate) fn run(&mut self) -> u8 {
        match self {
            Run::Half(arrays) => arrays.run(),
            Run::Single(arrays) => arrays.run(),
            Run::Double(arrays) => arrays.run(),
        }
    }

    /// The codes of the last results.
    pub(crate) fn codes(&self) -> Vec<u64> {
        match self {
            Run::Half(arrays) => arrays.results.iter().map(|code| u64::from(*code)).collect(),
            Run::Single(arrays) => arrays.results.iter().map(|code| u64::from(*code)).collect(),
            Run::Double(arrays) => arrays.results.clone(),
        }
    }
}
