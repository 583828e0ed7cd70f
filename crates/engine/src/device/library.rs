//! Libraries that compute whole matrix products, by algorithms with attributes.

use super::{Identity, ProductShape};
use crate::{
    Error, Result,
    base::named::named,
    format::{self, Format},
    isa::Codes,
};

named! {
    /// The compute type that a caller asks a library for.
    pub enum Compute {
        Single = "32f": "sums in f32";
        FastTf32 = "32f-fast-tf32": "operands of f32 are cut to tf32, sums are f32";
        Half = "16f": "sums in f16";
        Integer = "32i": "sums in s32";
    }
}

named! {
    /// Memory layout of the operands.
    pub enum OperandLayout {
        Plain = "nn": "A is m x k and B is k x n, row by row: a product of two matrices";
        Weights = "nt": "A is m x k and B is n x k, row by row: the weights of a layer";
    }
}

/// A matrix product D = alpha*A*B + beta*C for a library.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Rows of A and D.
    pub m: usize,
    /// Columns of B and D.
    pub n: usize,
    /// Terms of each sum.
    pub k: usize,
    /// Format of A.
    pub a: &'static Format,
    /// Format of B.
    pub b: &'static Format,
    /// Format of D.
    pub d: &'static Format,
    /// Compute type.
    pub compute: Compute,
    /// Memory layout of A and B.
    pub layout: OperandLayout,
    /// True if FP8 sums stay in the matrix unit, which is faster and less accurate.
    pub fast_accumulation: bool,
    /// Factor of the product.
    pub alpha: f64,
    /// Factor of C.
    pub beta: f64,
}

impl Problem {
    /// Makes the product of the kind `name` (see [`Problem::kind`]), with alpha 1 and beta 0.
    ///
    /// # Errors
    /// A request error: the wrong part and the expected form.
    pub fn of_kind(name: &str, shape: ProductShape, layout: OperandLayout) -> Result<Problem> {
        let wrong = |what: String| {
            let computes: Vec<&str> = Compute::ALL.iter().map(|compute| compute.name()).collect();
            Error::request(format!(
                "'{name}': {what}; a product of a library is D.A.B.COMPUTE, such as bf16.bf16.bf16.32f (COMPUTE is one of {}), or \
                 D.A.B.32f.fast for FP8 with fast accumulation",
                computes.join(", ")
            ))
        };
        let parts: Vec<&str> = name.split('.').collect();
        let (names, fast) = match &parts[..] {
            [names @ .., "fast"] => (names, true),
            names => (names, false),
        };
        let [d, a, b, compute] = names else { return Err(wrong(format!("it has {} parts", parts.len()))) };
        let format = |name: &str| format::find(name).map_err(|error| wrong(error.to_string()));
        let known = Compute::ALL.into_iter().find(|known| known.name() == *compute);
        let compute = known.ok_or_else(|| wrong(format!("'{compute}' is not a compute type")))?;
        let ProductShape { m, n, k } = shape;
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
            true => Err(wrong("only FP8 has fast accumulation".into())),
            false => Ok(problem),
        }
    }

    /// The kind of product, D.A.B.COMPUTE: `f32.bf16.bf16.32f`; `.fast` is added for fast accumulation.
    pub fn kind(&self) -> String {
        let Problem { a, b, d, compute, fast_accumulation, .. } = self;
        format!("{d}.{a}.{b}.{}{}", compute.name(), if *fast_accumulation { ".fast" } else { "" })
    }

    /// The full name, `gemm.SHAPE.KIND.LAYOUT`: `gemm.m64n32k100.f16.f16.f16.32f.nt`.
    pub fn name(&self) -> String {
        let Problem { m, n, k, layout, .. } = self;
        format!("gemm.m{m}n{n}k{k}.{}.{}", self.kind(), layout.name())
    }

    /// The format of C: D's format, or f16 where D is FP8.
    pub fn c_format(&self) -> &'static Format {
        match is_fp8(self.d) {
            true => format::find("f16").expect("a format of the table"),
            false => self.d,
        }
    }
}

/// Returns true for the formats that libraries call FP8.
pub(super) fn is_fp8(format: &Format) -> bool {
    matches!(format.name, "e4m3" | "e5m2")
}

/// The configuration of a library's algorithm, in the library's own numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// Number of the algorithm.
    pub id: u32,
    /// Number of the tile shape.
    pub tile: u32,
    /// Number of the stages: the k loaded at a time, and the loads under way.
    pub stages: u32,
    /// Parts of k (split-K).
    pub split_k: u32,
    /// Reduction scheme of the parts.
    pub reduction: u32,
    /// Order of the tiles.
    pub swizzle: u32,
    /// An option of this algorithm.
    pub custom: u32,
    /// Number of the shape within a tile.
    pub inner: u32,
    /// Number of the cluster shape.
    pub cluster: u32,
}

/// The attributes that a caller chooses; the library sets the rest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChosenAlgorithm {
    /// Number of the algorithm.
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
    /// Parses `ID,tile=20,stages=15,splitk=4`.
    ///
    /// # Errors
    /// The wrong part of the text, and the expected form.
    pub fn parse(text: &str) -> std::result::Result<ChosenAlgorithm, String> {
        let number = |what: &str, text: &str| {
            text.trim().parse::<u32>().map_err(|_| format!("{what} is '{text}', not a number"))
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
                        "'{other}' is not an attribute; they are tile, stages, splitk, reduction, swizzle, custom, inner, cluster"
                    ));
                }
            };
            *place = Some(number(key.trim(), value)?);
        }
        Ok(chosen)
    }
}

/// A product from a library.
#[derive(Debug, Clone, PartialEq)]
pub struct LibraryProduct {
    /// D, row by row.
    pub d: Codes,
    /// Algorithm that computed it.
    pub attributes: Attributes,
    /// Scratch memory used, in bytes.
    pub workspace: usize,
}

/// A library that computes whole matrix products.
pub trait Library {
    /// Describes the library for reports.
    fn identity(&self) -> &Identity;

    /// Computes a product from the codes of A (m x k), B (k x n) and C (m x n), each row by row.
    /// The library's heuristic chooses the algorithm unless `chosen` does.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the library has no algorithm for the problem, or refuses the chosen one; a device
    /// error if it fails.
    fn multiply(
        &mut self,
        problem: &Problem,
        a: &Codes,
        b: &Codes,
        c: Option<&Codes>,
        chosen: Option<&ChosenAlgorithm>,
    ) -> Result<LibraryProduct>;
}
