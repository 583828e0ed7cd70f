//! References of a chain: the same chain in plain arithmetic, and the exact one.

use rug::Integer;

use super::exact::{ExactMatrix, ScaledEntry};
use crate::{base::parallel, isa::Instruction};

/// Plain arithmetic of a reference: ascending k, each product and each sum rounded.
///
/// D feeds the next link unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Plain {
    /// binary32, RNE.
    F32,
    /// binary64, RNE: for instructions whose D holds more than 24 bits of significand.
    F64,
    /// 64-bit integers, wrapping: for integer instructions.
    I64,
}

impl Plain {
    /// The plain arithmetic for an instruction's chain.
    pub fn for_instruction(instruction: &Instruction) -> Self {
        if instruction.d.is_integer() {
            Plain::I64
        } else if instruction.d.fraction_bits() > 23 {
            Plain::F64
        } else {
            Plain::F32
        }
    }

    /// The name that reports print: `f32`, `f64`, `i64`.
    pub fn name(self) -> &'static str {
        match self {
            Plain::F32 => "f32",
            Plain::F64 => "f64",
            Plain::I64 => "i64",
        }
    }
}

/// The reference chains of one shape and one set of operand values.
pub(super) struct ReferenceChains {
    k: usize,
    chains: Vec<ReferenceChain>,
}

/// One chain at its present length.
pub(super) struct ReferenceChain {
    plain: PlainMatrix,
    exact: ExactMatrix,
}

#[derive(Debug, Clone)]
enum PlainMatrix {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I64(Vec<i64>),
}

impl ReferenceChains {
    /// The chains that begin with the m x k matrices `a`, in turn; every value is exact in `plain`.
    pub(super) fn new(plain: Plain, m: usize, k: usize, a: &[f64]) -> Self {
        let begin = |a: &[f64]| ReferenceChain { plain: PlainMatrix::new(plain, a), exact: ExactMatrix::new(a) };
        ReferenceChains { k, chains: parallel::map(a.chunks(m * k), begin) }
    }

    /// Adds a link: multiplies each chain that is still `wanted` by its k x k matrix of `b`.
    pub(super) fn advance(&mut self, b: &[f64], wanted: impl Fn(usize) -> bool) {
        let k = self.k;
        let scratch = || (ExactMatrix::new(&vec![0.0; k * k]), vec![Integer::new(); k]);
        let chains = self.chains.iter_mut().zip(b.chunks(k * k)).enumerate().filter(|(index, _)| wanted(*index));
        parallel::each_with(chains, scratch, |(exact_b, row), (_, (chain, b))| {
            chain.plain.multiply(b, k);
            exact_b.assign(b);
            chain.exact.multiply(exact_b, row);
        });
    }

    pub(super) fn chains(&self) -> &[ReferenceChain] {
        &self.chains
    }
}

impl ReferenceChain {
    pub(super) fn plain(&self, index: usize) -> f64 {
        match &self.plain {
            PlainMatrix::F32(d) => d[index].into(),
            PlainMatrix::F64(d) => d[index],
            PlainMatrix::I64(d) => d[index] as f64,
        }
    }

    pub(super) fn exact(&self, index: usize) -> ScaledEntry {
        self.exact.parts(index)
    }
}

impl PlainMatrix {
    fn new(plain: Plain, values: &[f64]) -> Self {
        match plain {
            Plain::F32 => PlainMatrix::F32(values.iter().map(|&v| v as f32).collect()),
            Plain::F64 => PlainMatrix::F64(values.to_vec()),
            Plain::I64 => PlainMatrix::I64(values.iter().map(|&v| v as i64).collect()),
        }
    }

    fn multiply(&mut self, b: &[f64], k: usize) {
        match self {
            PlainMatrix::F32(a) => *a = product(a, b, k, |v| v as f32, |sum, a, b| sum + a * b),
            PlainMatrix::F64(a) => *a = product(a, b, k, |v| v, |sum, a, b| sum + a * b),
            PlainMatrix::I64(a) => {
                *a = product(a, b, k, |v| v as i64, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b)));
            }
        }
    }
}

/// The product of the m x k matrix `a` and the k x k matrix `b`, summed over ascending k from zero.
fn product<T: Copy + Default>(
    a: &[T],
    b: &[f64],
    k: usize,
    convert: impl Fn(f64) -> T,
    multiply_add: impl Fn(T, T, T) -> T,
) -> Vec<T> {
    let b: Vec<T> = b.iter().map(|&v| convert(v)).collect();
    let mut d = vec![T::default(); a.len()];
    for (d, a) in d.chunks_exact_mut(k).zip(a.chunks_exact(k)) {
        for (&a, b) in a.iter().zip(b.chunks_exact(k)) {
            for (sum, &b) in d.iter_mut().zip(b) {
                *sum = multiply_add(*sum, a, b);
            }
        }
    }
    d
}
