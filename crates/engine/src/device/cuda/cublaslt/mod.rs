//! The device `cublaslt:N`: NVIDIA's library for matrix products on a GPU, called as PyTorch calls it.
//!
//! The program's matrices are row-major, the library's column-major: an m x n D is the library's n x m D, whose first
//! factor is B. If B has the layout of weights, that factor is transposed (the library's TN), which FP8 needs. The
//! library gets 32 MiB of scratch memory and pointers aligned to 256 bytes, and runs the first algorithm of its
//! heuristic.

mod functions;
mod objects;

use std::{
    ffi::{c_int, c_void},
    sync::Arc,
};

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError};
use half::f16;

use super::{gpu, launch::codes};
use crate::{
    Error, Result,
    base::parallel,
    device::{
        Attributes, ChosenAlgorithm, Compute, DeviceName, Identity, Library, LibraryProduct, OperandLayout, Problem,
        library::is_fp8,
    },
    format::Format,
    isa::Codes,
};
use functions::{Algo, Functions, HeuristicResult, Opaque, functions};
use objects::{LibraryHandle, MatmulDescription, MatrixLayout, Preference, status_name};

/// Scratch memory in bytes, as PyTorch gives on Hopper.
const WORKSPACE: usize = 32 << 20;
/// Alignment of pointers in bytes, as of PyTorch's allocator.
const ALIGNMENT: u32 = 256;
/// Bytes of D before a product, so that an unwritten element does not pass for a result.
const POISON: u8 = 0xa5;

/// The library's numbers of formats.
const TYPES: [(&str, c_int); 8] =
    [("f32", 0), ("tf32", 0), ("f16", 2), ("s8", 3), ("s32", 10), ("bf16", 14), ("e4m3", 28), ("e5m2", 29)];
/// Attribute numbers of an algorithm, in the order of [`Attributes`].
const ATTRIBUTES: [c_int; 9] = [0, 1, 6, 2, 3, 4, 5, 7, 8];
/// The 16-bit attributes: shapes within a tile, and of clusters.
const SHORT: [c_int; 2] = [7, 8];
/// Attribute numbers of a description: transpositions of A and B.
const TRANSPOSED: [c_int; 2] = [3, 4];
/// Attribute numbers of a description: pointers to the scales of A, B and D.
const SCALES: [c_int; 3] = [17, 18, 20];
/// Attribute number of a description: fast accumulation.
const FAST_ACCUMULATION: c_int = 25;

/// The library on a GPU.
pub struct CublasLt {
    stream: Arc<CudaStream>,
    functions: &'static Functions,
    handle: LibraryHandle,
    identity: Identity,
    workspace: CudaSlice<u8>,
    /// 1 in f32, to which the scales of FP8 point.
    one: CudaSlice<f32>,
}

impl CublasLt {
    /// Opens the library on the GPU `cuda:ordinal`.
    ///
    /// # Errors
    /// A request error without the library (what would provide it); a device error without the GPU, or if the library
    /// fails.
    pub fn open(ordinal: usize) -> Result<CublasLt> {
        let (functions, file) = functions()?;
        let gpu = gpu::get(ordinal)?;
        let (gpu_identity, _) = super::identify(&gpu)?;
        let context = CudaContext::new(ordinal).map_err(|error| gpu::failure("opening the GPU", error))?;
        let stream = context.default_stream();
        let handle = LibraryHandle::new(functions)?;
        let memory = |error| Error::device(format!("allocating memory of the GPU failed: {error}"));
        let version = objects::version(functions);
        let mut details =
            vec![("library".to_string(), format!("cuBLASLt {version}")), ("library_file".to_string(), file.clone())];
        details.extend(gpu_identity.details);
        Ok(CublasLt {
            workspace: stream.alloc_zeros::<u8>(WORKSPACE).map_err(memory)?,
            one: stream.clone_htod(&[1.0_f32]).map_err(memory)?,
            stream,
            functions,
            handle,
            identity: Identity {
                name: DeviceName::CublasLt(ordinal),
                description: format!("cuBLASLt {version} on {}", gpu.name),
                details,
                generation: gpu_identity.generation,
            },
        })
    }

    /// Chooses the algorithm, and returns the scratch memory that it needs.
    fn algorithm(&self, problem: &Problem, call: &Call, chosen: Option<&ChosenAlgorithm>) -> Result<(Algo, usize)> {
        let refused = |what: &str, status: c_int| {
            Error::unavailable(format!(
                "{} {what} {} ({})",
                self.identity.description,
                problem.name(),
                status_name(status)
            ))
        };
        let mut result = HeuristicResult::default();
        let [a, b, c, d] = [&call.a, &call.b, &call.c, &call.d].map(MatrixLayout::raw);
        match chosen {
            None => {
                let preference = Preference::new(self.functions, WORKSPACE, ALIGNMENT)?;
                let mut count = 0;
                // SAFETY: all are live objects of the library; one result is requested, and there is room for it.
                #[allow(unsafe_code)]
                let status = unsafe {
                    let (handle, description) = (self.handle.raw(), call.description.raw());
                    (self.functions.heuristic)(
                        handle,
                        description,
                        a,
                        b,
                        c,
                        d,
                        preference.raw(),
                        1,
                        &mut result,
                        &mut count,
                    )
                };
                if status != 0 || count < 1 || result.state != 0 {
                    return Err(refused("has no algorithm for", if status != 0 { status } else { result.state }));
                }
            }
            Some(chosen) => {
                let mut algo = Algo::default();
                let [compute, scale] = numbers_of(problem.compute);
                let types = [problem.b, problem.a, problem.c_format(), problem.d].map(type_of);
                let [of_a, of_b, of_c, of_d] = types;
                // SAFETY: the handle is live, and the algorithm is ours.
                #[allow(unsafe_code)]
                let status = unsafe {
                    (self.functions.algo_init)(
                        self.handle.raw(),
                        compute,
                        scale,
                        of_a?,
                        of_b?,
                        of_c?,
                        of_d?,
                        chosen.id as c_int,
                        &mut algo,
                    )
                };
                if status != 0 {
                    return Err(refused(&format!("has no algorithm {} for", chosen.id), status));
                }
                let ChosenAlgorithm { tile, stages, split_k, reduction, swizzle, custom, inner, cluster, .. } = *chosen;
                let given = [None, tile, stages, split_k, reduction, swizzle, custom, inner, cluster];
                for (number, value) in
                    ATTRIBUTES.into_iter().zip(given).filter_map(|(number, value)| Some((number, value?)))
                {
                    let status = self.set(&mut algo, number, value);
                    if status != 0 {
                        return Err(refused(&format!("does not take attribute {number} = {value} for"), status));
                    }
                }
                // SAFETY: all are live objects of the library.
                #[allow(unsafe_code)]
                let status = unsafe {
                    let (handle, description) = (self.handle.raw(), call.description.raw());
                    (self.functions.algo_check)(handle, description, a, b, c, d, &algo, &mut result)
                };
                if status != 0 || result.state != 0 {
                    return Err(refused(
                        "does not take the chosen algorithm for",
                        if status != 0 { status } else { result.state },
                    ));
                }
                result.algo = algo;
            }
        }
        match result.workspace <= WORKSPACE {
            true => Ok((result.algo, result.workspace)),
            false => Err(refused("needs more than 32 MiB of scratch memory for", 0)),
        }
    }

    #[allow(unsafe_code)]
    fn set(&self, algo: &mut Algo, number: c_int, value: u32) -> c_int {
        let short = value as u16;
        let (pointer, size): (*const c_void, usize) = match SHORT.contains(&number) {
            true => ((&raw const short).cast(), 2),
            false => ((&raw const value).cast(), 4),
        };
        // SAFETY: the value is live and has the size of the attribute.
        unsafe { (self.functions.algo_set)(algo, number, pointer, size) }
    }

    /// Reads the configuration of an algorithm; 0 for attributes that an older library lacks.
    #[allow(unsafe_code)]
    fn attributes(&self, algo: &Algo) -> Attributes {
        let get = |number: c_int| -> u32 {
            let (mut value, mut written) = (0_u32, 0);
            let size = if SHORT.contains(&number) { 2 } else { 4 };
            // SAFETY: the value has room for an attribute of this size; little-endian machines keep a short one in its
            // low half.
            unsafe { (self.functions.algo_get)(algo, number, (&raw mut value).cast(), size, &mut written) };
            value
        };
        let [id, tile, stages, split_k, reduction, swizzle, custom, inner, cluster] = ATTRIBUTES.map(get);
        Attributes { id, tile, stages, split_k, reduction, swizzle, custom, inner, cluster }
    }

    /// Describes the call that computes a problem.
    fn call(&self, problem: &Problem) -> Result<Call> {
        let Problem { m, n, k, layout, compute, .. } = problem;
        let [compute, scale] = numbers_of(*compute);
        let description = MatmulDescription::new(self.functions, compute, scale)?;
        let weights = *layout == OperandLayout::Weights;
        for (number, transposed) in TRANSPOSED.into_iter().zip([weights, false]) {
            description.set(number, &c_int::from(transposed))?;
        }
        if is_fp8(problem.a) || is_fp8(problem.b) {
            let (one, _guard) = self.one.device_ptr(&self.stream);
            let scales = if is_fp8(problem.d) { &SCALES[..] } else { &SCALES[..2] };
            scales.iter().try_for_each(|number| description.set(*number, &one))?;
            description.set(FAST_ACCUMULATION, &i8::from(problem.fast_accumulation))?;
        }
        let layout = |format, (rows, columns): (usize, usize)| {
            MatrixLayout::new(self.functions, type_of(format)?, rows, columns)
        };
        Ok(Call {
            description,
            a: layout(problem.b, if weights { (*k, *n) } else { (*n, *k) })?,
            b: layout(problem.a, (*k, *m))?,
            c: layout(problem.c_format(), (*n, *m))?,
            d: layout(problem.d, (*n, *m))?,
        })
    }

    /// Computes a product, and returns the bytes of D and the status.
    #[allow(unsafe_code)]
    fn run(
        &self,
        problem: &Problem,
        call: &Call,
        algo: &Algo,
        operands: [&[u8]; 3],
    ) -> std::result::Result<(Vec<u8>, c_int), DriverError> {
        let stream = &self.stream;
        let [a, b, c] = operands;
        let (a, b) = (stream.clone_htod(a)?, stream.clone_htod(b)?);
        let mut d = stream.clone_htod(&vec![POISON; problem.m * problem.n * problem.d.bytes()])?;
        let c = if c.is_empty() { None } else { Some(stream.clone_htod(c)?) };
        let (alpha, beta) = (
            ScalarFactor::of(problem.compute, problem.alpha),
            ScalarFactor::of(problem.compute, if c.is_some() { problem.beta } else { 0.0 }),
        );
        let status = {
            let (a, _a) = a.device_ptr(stream);
            let (b, _b) = b.device_ptr(stream);
            let (workspace, _workspace) = self.workspace.device_ptr(stream);
            let c = c.as_ref().map(|c| c.device_ptr(stream));
            let (d, _d) = d.device_ptr_mut(stream);
            // Without C, the library reads none; D's memory stands in unless C's format differs from D's.
            let c = c.as_ref().map_or(if is_fp8(problem.d) { 0 } else { d }, |(c, _)| *c);
            // SAFETY: the layouts describe each matrix's memory; the factors have the type that the description names;
            // the scratch memory has the given size; the stream is the context's, and nothing is freed before it is
            // done.
            unsafe {
                (self.functions.matmul)(
                    self.handle.raw(),
                    call.description.raw(),
                    alpha.pointer(),
                    b as *const c_void,
                    call.a.raw(),
                    a as *const c_void,
                    call.b.raw(),
                    beta.pointer(),
                    c as *const c_void,
                    call.c.raw(),
                    d as *mut c_void,
                    call.d.raw(),
                    algo,
                    workspace as *mut c_void,
                    WORKSPACE,
                    stream.cu_stream() as Opaque,
                )
            }
        };
        let bytes = stream.clone_dtoh(&d)?;
        stream.synchronize()?;
        Ok((bytes, status))
    }
}

impl Library for CublasLt {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn multiply(
        &mut self,
        problem: &Problem,
        a: &Codes,
        b: &Codes,
        c: Option<&Codes>,
        chosen: Option<&ChosenAlgorithm>,
    ) -> Result<LibraryProduct> {
        check(problem, a, b, c)?;
        let failed = |error: DriverError| Error::device(format!("{}: the GPU failed: {error}", problem.name()));
        self.stream.context().bind_to_thread().map_err(failed)?;
        let call = self.call(problem)?;
        let (algo, workspace) = self.algorithm(problem, &call, chosen)?;
        let attributes = self.attributes(&algo);
        let turned;
        let stored_b = match problem.layout {
            OperandLayout::Plain => b.as_bytes(),
            OperandLayout::Weights => {
                turned = transposed(b.as_bytes(), problem.k, problem.n, b.width());
                &turned
            }
        };
        let c = c.filter(|_| problem.beta != 0.0).map_or(&[][..], Codes::as_bytes);
        let (bytes, status) = self.run(problem, &call, &algo, [a.as_bytes(), stored_b, c]).map_err(failed)?;
        if status != 0 {
            return Err(Error::device(format!(
                "cublasLtMatmul failed for {}: {}",
                problem.name(),
                status_name(status)
            )));
        }
        Ok(LibraryProduct { d: codes(problem.d, bytes)?, attributes, workspace })
    }
}

/// The objects of a call.
struct Call {
    description: MatmulDescription,
    a: MatrixLayout,
    b: MatrixLayout,
    c: MatrixLayout,
    d: MatrixLayout,
}

/// alpha or beta, in the type that the description names.
enum ScalarFactor {
    Single(f32),
    Half(u16),
    Integer(i32),
}

impl ScalarFactor {
    fn of(compute: Compute, number: f64) -> ScalarFactor {
        match compute {
            Compute::Single | Compute::FastTf32 => ScalarFactor::Single(number as f32),
            Compute::Half => ScalarFactor::Half(f16::from_f64(number).to_bits()),
            Compute::Integer => ScalarFactor::Integer(number as i32),
        }
    }

    fn pointer(&self) -> *const c_void {
        match self {
            ScalarFactor::Single(number) => (&raw const *number).cast(),
            ScalarFactor::Half(number) => (&raw const *number).cast(),
            ScalarFactor::Integer(number) => (&raw const *number).cast(),
        }
    }
}

/// The library's numbers of a compute type, and of the type of alpha and beta.
fn numbers_of(compute: Compute) -> [c_int; 2] {
    match compute {
        Compute::Single => [68, 0],
        Compute::FastTf32 => [77, 0],
        Compute::Half => [64, 2],
        Compute::Integer => [72, 10],
    }
}

fn type_of(format: &Format) -> Result<c_int> {
    let number = TYPES.iter().find(|(name, _)| *name == format.name).map(|(_, number)| *number);
    number.ok_or_else(|| {
        let known: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
        Error::unavailable(format!(
            "cuBLASLt products of {format} are not supported; supported formats: {}",
            known.join(", ")
        ))
    })
}

/// Refuses operands whose sizes are not the problem's.
fn check(problem: &Problem, a: &Codes, b: &Codes, c: Option<&Codes>) -> Result<()> {
    let Problem { m, n, k, .. } = *problem;
    if m == 0 || n == 0 || k == 0 {
        return Err(Error::request(format!("{}: there is nothing to multiply", problem.name())));
    }
    let fits = |codes: &Codes, count: usize, format: &Format| codes.len() == count && codes.width() == format.bytes();
    if !fits(a, m * k, problem.a) || !fits(b, k * n, problem.b) || !c.is_none_or(|c| fits(c, m * n, problem.c_format()))
    {
        return Err(Error::request(format!("{}: the operands have the wrong size", problem.name())));
    }
    Ok(())
}

/// Transposes a matrix of rows x columns codes of `width` bytes.
fn transposed(bytes: &[u8], rows: usize, columns: usize, width: usize) -> Vec<u8> {
    let mut turned = vec![0; bytes.len()];
    parallel::each(turned.chunks_exact_mut(rows * width).enumerate(), |(column, line)| {
        for (row, code) in line.chunks_exact_mut(width).enumerate() {
            code.copy_from_slice(&bytes[(row * columns + column) * width..][..width]);
        }
    });
    turned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        assert_eq!(transposed(&[1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6], 2, 3, 2), [1, 1, 4, 4, 2, 2, 5, 5, 3, 3, 6, 6]);
    }
}
