//! Whole matrix products by a model on the GPU: all elements at once, step by step along k.

use std::{
    fmt::{Display, Write},
    ops::Range,
    sync::Arc,
    time::Instant,
};

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg};

use super::{
    arithmetic::arithmetic,
    constants::constants,
    launch::{codes, grid},
};
use crate::{
    Error, Result,
    arithmetic::Program,
    device::{Chains, ProductShape},
    format::{self, Format},
    isa::Codes,
    kernels::source,
};

/// Rows and columns of the elements that a block sums; a warp has one row.
const TILE: (usize, usize) = (8, 32);
/// Threads of a block that lays out operands.
const THREADS: u32 = 256;
/// Blocks that lay out operands, at most.
const MOST_BLOCKS: usize = 1 << 16;
/// Bytes of the widest operand of a step (`kernels/model_operands.cuh`).
const FACTOR_BYTES: usize = 8;

/// Entry names of the kernel.
pub(super) const ENTRIES: [&str; 3] = ["pack_a", "pack_b", "chains"];

/// Generates the kernel that sums the steps of `program`; `None` for sparse and block-scaled forms.
pub fn kernel(program: &Program) -> Option<String> {
    let i = &program.instruction;
    if i.is_sparse() || i.scale.is_some() {
        return None;
    }
    let mut text = String::new();
    let sizes = [("M", TILE.0), ("N", TILE.1), ("K", i.k), ("STORED_K", i.k), ("SPARSE", 0)];
    for (name, value) in sizes.into_iter().chain([("CHUNK_LENGTH", 1), ("CHUNK_KEPT", 1)]) {
        let _ = writeln!(text, "#define {name} {value}");
    }
    for (name, format) in [("A", i.a), ("B", i.b), ("C", i.c), ("D", i.d)] {
        text += &constants(&format!("Format{name}"), format);
        let code = ["unsigned char", "unsigned short", "unsigned", "unsigned long long"];
        let _ = writeln!(text, "struct {name} {{ typedef {} Code; }};", code[format.bytes().ilog2() as usize]);
    }
    Some([text.as_str(), &arithmetic(program), source("chains.cu")].join("\n"))
}

/// The operands of a product in GPU memory, and the kernel that sums its steps.
pub(super) struct ProductOperands {
    /// Stream of all work.
    pub stream: Arc<CudaStream>,
    /// Entries of the kernel: two that lay out A and B, one that sums.
    pub functions: [CudaFunction; 3],
    /// Shape of the product.
    pub shape: ProductShape,
    /// A, row by row.
    pub a: CudaSlice<u8>,
    /// B, row by row.
    pub b: CudaSlice<u8>,
}

/// A product by a model.
pub(super) struct CudaChains {
    /// The operands and the kernel.
    pub operands: ProductOperands,
    /// The k of a step.
    pub step: usize,
    /// Bytes of a code of A and of B.
    pub widths: (usize, usize),
    /// Format of D.
    pub d: &'static Format,
    /// Seconds that the sums have taken.
    pub seconds: f64,
}

/// The steps of runs, as kernels take them.
pub(super) struct StepList {
    /// First k of each step, and its length.
    pub spans: Vec<i32>,
    /// Steps before the end of each run.
    pub ends: Vec<u64>,
}

impl StepList {
    pub(super) fn of(runs: &[Vec<Range<usize>>]) -> StepList {
        let spans = runs.iter().flatten().flat_map(|step| [step.start as i32, step.len() as i32]).collect();
        let mut count = 0;
        let mut ends = Vec::with_capacity(runs.len());
        for run in runs {
            count += run.len() as u64;
            ends.push(count);
        }
        StepList { spans, ends }
    }
}

/// The launch of a kernel that lays out `elements` elements.
pub(super) fn packing(elements: usize) -> LaunchConfig {
    grid(elements.div_ceil(THREADS as usize).clamp(1, MOST_BLOCKS) as u32, THREADS)
}

impl ProductOperands {
    /// The error of a product that `what` failed to compute.
    pub(super) fn failure(&self, what: &dyn Display, error: &DriverError) -> Error {
        let ProductShape { m, n, k } = self.shape;
        Error::device(format!("a product of {m} x {n} x {k} by {what} failed on the GPU: {error}"))
    }
}

impl Chains for CudaChains {
    fn sum(&mut self, runs: &[Vec<Range<usize>>], promoted: bool) -> Result<Codes> {
        let bytes = self.launch(runs, promoted).map_err(|error| self.operands.failure(&"the model", &error))?;
        codes(if promoted { format::find("f32")? } else { self.d }, bytes)
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}

impl CudaChains {
    /// Launches the kernels and returns the bytes of the sums.
    #[allow(unsafe_code)]
    fn launch(&mut self, runs: &[Vec<Range<usize>>], promoted: bool) -> std::result::Result<Vec<u8>, DriverError> {
        let ProductOperands { stream, functions: [pack_a, pack_b, chains], shape, a, b } = &self.operands;
        let ProductShape { m, n, k } = *shape;
        let StepList { spans, ends } = StepList::of(runs);
        let count = spans.len() as u64 / 2;
        let (tiles_down, tiles_across) = (m.div_ceil(TILE.0), n.div_ceil(TILE.1));
        let places = count as usize * self.step;
        let (of_a, of_b) = (tiles_down * TILE.0 * places, tiles_across * TILE.1 * places);
        let (steps, ends) = (stream.clone_htod(&spans)?, stream.clone_htod(&ends)?);
        // SAFETY: `pack_a` and `pack_b` write all of it before `chains` reads it.
        let memory = |bytes: usize| unsafe { stream.alloc::<u8>(bytes.max(1)) };
        let (mut a_codes, mut a_factors) = (memory(of_a * self.widths.0)?, memory(of_a * FACTOR_BYTES)?);
        let (mut b_codes, mut b_factors) = (memory(of_b * self.widths.1)?, memory(of_b * FACTOR_BYTES)?);
        let (rows, columns, terms) = (m as u64, n as u64, k as u64);
        let (codes, registers) = if promoted { (1, m * n * 4) } else { (m * n * self.d.bytes(), 1) };
        let (mut d, mut sums) = (stream.alloc_zeros::<u8>(codes)?, stream.alloc_zeros::<u8>(registers)?);
        stream.synchronize()?;
        let start = Instant::now();
        let mut launch = stream.launch_builder(pack_a);
        launch.arg(a).arg(&steps).arg(&count).arg(&rows).arg(&terms).arg(&mut a_codes).arg(&mut a_factors);
        // SAFETY: the kernel reads m x k codes, within each step's range. It writes a code and a factor of at most
        // FACTOR_BYTES for each place of the steps and each row, padded to whole tiles.
        unsafe { launch.launch(packing(of_a))? };
        let mut launch = stream.launch_builder(pack_b);
        launch.arg(b).arg(&steps).arg(&count).arg(&columns).arg(&mut b_codes).arg(&mut b_factors);
        // SAFETY: as above, with k x n codes and columns.
        unsafe { launch.launch(packing(of_b))? };
        let (count_of_runs, promotes) = (runs.len() as u64, u64::from(promoted));
        let shape = grid((tiles_down * tiles_across) as u32, (TILE.0 * TILE.1) as u32);
        let mut launch = stream.launch_builder(chains);
        launch.arg(&a_codes).arg(&a_factors).arg(&b_codes).arg(&b_factors).arg(&ends).arg(&count_of_runs);
        launch.arg(&rows).arg(&columns).arg(&promotes).arg(&mut d).arg(&mut sums);
        // SAFETY: the kernel reads whole tiles as laid out, and writes m x n sums or codes of D; the memory has that
        // size.
        unsafe { launch.launch(shape)? };
        stream.synchronize()?;
        self.seconds += start.elapsed().as_secs_f64();
        stream.clone_dtoh(if promoted { &sums } else { &d })
    }
}
