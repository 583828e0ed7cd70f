//! Libraries as devices: they compute whole matrix products, by algorithms that have attributes.

use super::Identity;
use crate::{
    Error, Result,
    base::named::named,
    format::{self, Format},
    isa::Codes,
};

named! {
    /// What a library computes in, as its callers ask for it.
    pub enum Compute {
        Single = "32f": "sums in f32";
        FastTf32 = "32f-fast-tf32": "operands of f32 are cut to tf32, sums are f32";
        Half = "16f": "sums in f16";
        Integer = "32i": "sums in s32";
    }
}

named! {
    /// How the operands lie in memory.
    pub enum OperandLayout {
        Plain = "nn": "A is m x k and B is k x n, row by row: a product of two matrices";
        Weights = "nt": "A is m x k and B is n x k, row by row: the weights of a layer";
    }
}

/// A whole matrix product D = alpha*A*B + beta*C that a library is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Rows of A and D.
    pub m: usize,
    /// Columns of B and D.
    pub n: usize,
    /// Terms of each sum.
    pub k: usize,
    /// The format of A.
    pub a: &'static Format,
    /// The format of B.
    pub b: &'static Format,
    /// The format of D.
    pub d: &'static Format,
    /// What it is computed in.
    pub compute: Compute,
    /// How A and B lie in memory.
    pub layout: OperandLayout,
    /// Whether sums of FP8 stay in the matrix unit, which is faster and less accurate.
    pub fast_accumulation: bool,
    /// The factor of the product.
    pub alpha: f64,
    /// The factor of C.
    pub beta: f64,
}

impl Problem {
    /// A product of matrices of the kind that `name` names (see [`Problem::kind`]), alone: alpha is 1, beta 0.
    ///
    /// # Errors
    /// A request error: what is wrong, and what is expected.
    pub fn of_kind(name: &str, (m, n, k): (usize, usize, usize), layout: OperandLayout) -> Result<Problem> {
        let wrong = |what: String| {
            let computes: Vec<&str> = Compute::ALL.iter().map(|compute| compute.name()).collect();
            Error::request(format!(
                "'{name}': {what}; a product of a library is D.A.B.COMPUTE, such as bf16.bf16.bf16.32f (COMPUTE is one of {}), or \
                 D.A.B.32f.fast for FP8 with fast accumulation",
                computes.join(", ")
            ))
        };
        let parts: Vec<&str> = name.split('.').collect();
        let (own, fast) = match &parts[..] {
            [own @ .., "fast"] => (own, true),
            own => (own, false),
        };
        let [d, a, b, compute] = own else { return Err(wrong(format!("it has {} parts", parts.len()))) };
        let format = |name: &str| format::find(name).map_err(|error| wrong(error.to_string()));
        let known = Compute::ALL.into_iter().find(|known| known.name() == *compute);
        let compute = known.ok_or_else(|| wrong(format!("'{compute}' is nothing to compute in")))?;
        let problem = Problem {
            m,
            n,
            k,
            a: format(a)?,
            b: format(b)?,
            d: format(d)?,
            compute,
            layout,
            fast_accumulation: fast,
            alpha: 1.0,
            beta: 0.0,
        };
        match fast && !(is_fp8(problem.a) && is_fp8(problem.b)) {
            true => Err(wrong("fast accumulation is of FP8 alone".into())),
            false => Ok(problem),
        }
    }

    /// What is computed, whatever the shape: `f32.bf16.bf16.32f`, as D.A.B.COMPUTE, and `.fast` with fast accumulation.
    pub fn kind(&self) -> String {
        let Problem { a, b, d, compute, fast_accumulation, .. } = self;
        format!("{d}.{a}.{b}.{}{}", compute.name(), if *fast_accumulation { ".fast" } else { "" })
    }

    /// Its name: `gemm.m64n32k100.f16.f16.f16.32f.nt`, as `gemm.SHAPE.KIND.LAYOUT`.
    pub fn name(&self) -> String {
        let Problem { m, n, k, layout, .. } = self;
        format!("gemm.m{m}n{n}k{k}.{}.{}", self.kind(), layout.name())
    }

    /// The format of C: that of D, but f16 for D in FP8.
    pub fn c_format(&self) -> &'static Format {
        match is_fp8(self.d) {
            true => format::find("f16").expect("a format of the table"),
            false => self.d,
        }
    }
}

/// Whether a format is one of those that libraries call FP8.
pub(super) fn is_fp8(format: &Format) -> bool {
    matches!(format.name, "e4m3" | "e5m2")
}

/// What an algorithm of a library is configured to: numbers as the library has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// The algorithm's number.
    pub id: u32,
    /// The number of the tile's shape.
    pub tile: u32,
    /// The number of the stages: how much k is loaded at a time, and how many such loads are under way.
    pub stages: u32,
    /// Into how many parts k is cut.
    pub split_k: u32,
    /// How the parts are joined.
    pub reduction: u32,
    /// The order of the tiles.
    pub swizzle: u32,
    /// An option of the algorithm's own.
    pub custom: u32,
    /// The number of the shape within a tile.
    pub inner: u32,
    /// The number of the shape of the clusters.
    pub cluster: u32,
}

/// The attributes of an algorithm that a caller chooses; the others are the library's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChosenAlgorithm {
    /// The algorithm's number.
    pub id: u32,
    /// See [`Attributes`].
    pub tile: Option<u32>,
    /// See [`Attributes`].
    pub stages: Option<u32>,
    /// See [`Attributes`].
    pub split_k: Option<u32>,
    /// See [`Attributes`].
    pub reduction: Option<u32>,
    /// See [`Attributes`].
    pub swizzle: Option<u32>,
    /// See [`Attributes`].
    pub custom: Option<u32>,
    /// See [`Attributes`].
    pub inner: Option<u32>,
    /// See [`Attributes`].
    pub cluster: Option<u32>,
}

impl ChosenAlgorithm {
    /// The algorithm that `ID,tile=20,stages=15,splitk=4` describes.
    ///
    /// # Errors
    /// What is wrong with the text, and what it may be.
    pub fn parse(text: &str) -> std::result::Result<ChosenAlgorithm, String> {
        let number = |what: &str, text: &str| {
            text.trim()
                .parse::<u32>()
                .map_err(|_| format!("{what} is '{text}': expected a number, as the library has it"))
        };
        let mut parts = text.split(',');
        let id = number("the algorithm", parts.next().unwrap_or_default())?;
        let mut chosen = ChosenAlgorithm { id, ..ChosenAlgorithm::default() };
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let place = match key.trim() {
                "tile" => &mut chosen.tile,
                "stages" => &mut chosen.stages,
                "splitk" => &mut chosen.split_k,
                "reduction" => &mut chosen.reduction,
                "swizzle" => &mut chosen.swizzle,
                "custom" => &mut chosen.custom,
                "inner" => &mut chosen.inner,
                "cluster" => &mut chosen.cluster,
                other => {
                    return Err(format!(
                        "'{other}' is no attribute: they are tile, stages, splitk, reduction, swizzle, custom, inner, cluster"
                    ));
                }
            };
            *place = Some(number(key.trim(), value)?);
        }
        Ok(chosen)
    }
}

/// What a library computed.
#[derive(Debug, Clone, PartialEq)]
pub struct LibraryProduct {
    /// D, row by row.
    pub d: Codes,
    /// The algorithm that computed it.
    pub attributes: Attributes,
    /// The bytes of scratch memory that it took.
    pub workspace: usize,
}

/// A library that computes whole matrix products.
pub trait Library {
    /// What it is, for reports.
    fn identity(&self) -> &Identity;

    /// Computes a product of the codes of A (m x k), B (k x n) and C (m x n), each row by row, by the algorithm that its heuristic
    /// names first, or by the chosen one.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the library has no algorithm for the problem, or does not take the
    /// chosen one; a device error if it fails.
    fn multiply(
        &mut self,
        problem: &Problem,
        a: &Codes,
        b: &Codes,
        c: Option<&Codes>,
        chosen: Option<&ChosenAlgorithm>,
    ) -> Result<LibraryProduct>;
}
