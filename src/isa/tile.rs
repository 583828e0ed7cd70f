//! Arrays of codes, and the tiles that instructions consume.

use super::Instruction;
use crate::{digest::fnv1a, format::Format};

/// An array of codes, each in the smallest unsigned integer (1, 2, 4 or 8 bytes) that holds its format,
/// little-endian: the layout of trace files, of the `exec:` protocol and of GPU memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Codes {
    width: usize,
    bytes: Vec<u8>,
}

impl Codes {
    /// `len` codes of value 0 for `format`.
    pub fn zeros(format: &Format, len: usize) -> Self {
        Codes { width: format.bytes(), bytes: vec![0; format.bytes() * len] }
    }

    /// Codes from their bytes; `None` unless the length is a multiple of the format's code size.
    pub fn from_bytes(format: &Format, bytes: Vec<u8>) -> Option<Self> {
        bytes.len().is_multiple_of(format.bytes()).then_some(Codes { width: format.bytes(), bytes })
    }

    /// The codes of `values`, each cut to the format's code size.
    pub fn from_values(format: &Format, values: &[u64]) -> Self {
        let width = format.bytes();
        let mut bytes = Vec::with_capacity(width * values.len());
        for value in values {
            bytes.extend_from_slice(&value.to_le_bytes()[..width]);
        }
        Codes { width, bytes }
    }

    /// Number of codes.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes per code.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The little-endian bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The code at `index`. Panics if out of range.
    #[inline]
    pub fn get(&self, index: usize) -> u64 {
        let mut word = [0; 8];
        word[..self.width].copy_from_slice(&self.bytes[index * self.width..][..self.width]);
        u64::from_le_bytes(word)
    }

    /// Sets the code at `index`, cut to the code size. Panics if out of range.
    #[inline]
    pub fn set(&mut self, index: usize, code: u64) {
        self.bytes[index * self.width..][..self.width].copy_from_slice(&code.to_le_bytes()[..self.width]);
    }

    /// The codes in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Appends the codes of `other`, which must have the same code size.
    pub fn extend(&mut self, other: &Codes) {
        assert_eq!(self.width, other.width, "codes of one width");
        self.bytes.extend_from_slice(&other.bytes);
    }

    /// Matrices of `from.0` rows and `from.1` columns at `to.0` rows and `to.1` columns: cut, or continued with
    /// codes of value 0, in each direction. Panics if `from` is empty.
    pub fn resized(&self, from: (usize, usize), to: (usize, usize)) -> Codes {
        if from == to {
            return self.clone();
        }
        let count = self.len() / (from.0 * from.1);
        let mut bytes = vec![0; count * to.0 * to.1 * self.width];
        let kept = from.1.min(to.1) * self.width;
        for matrix in 0..count {
            for row in 0..from.0.min(to.0) {
                let source = (matrix * from.0 + row) * from.1 * self.width;
                let target = (matrix * to.0 + row) * to.1 * self.width;
                bytes[target..target + kept].copy_from_slice(&self.bytes[source..source + kept]);
            }
        }
        Codes { width: self.width, bytes }
    }

    /// The codes `from..to` as a new array.
    pub fn slice(&self, from: usize, to: usize) -> Codes {
        Codes { width: self.width, bytes: self.bytes[from * self.width..to * self.width].to_vec() }
    }
}

/// `count` tiles: the inputs of that many executions of one instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiles {
    /// Number of tiles.
    pub count: usize,
    /// A codes, `[count][m][k]`.
    pub a: Codes,
    /// B codes, `[count][k][n]`.
    pub b: Codes,
    /// C codes, `[count][m][n]`.
    pub c: Codes,
}

impl Tiles {
    /// `count` tiles of an instruction with every code 0.
    pub fn zeros(instruction: &Instruction, count: usize) -> Self {
        let i = instruction;
        Tiles {
            count,
            a: Codes::zeros(i.a, count * i.m * i.k),
            b: Codes::zeros(i.b, count * i.k * i.n),
            c: Codes::zeros(i.c, count * i.m * i.n),
        }
    }

    /// Tiles `from..to` of these.
    pub fn slice(&self, from: usize, to: usize) -> Tiles {
        let part = |codes: &Codes| {
            let each = codes.len() / self.count.max(1);
            codes.slice(from * each, to * each)
        };
        Tiles { count: to - from, a: part(&self.a), b: part(&self.b), c: part(&self.c) }
    }

    /// The operands of one element of D: row `row` of A and column `column` of B (k codes each), and c.
    pub fn operands(&self, i: &Instruction, tile: usize, row: usize, column: usize) -> (Vec<u64>, Vec<u64>, u64) {
        let a = (0..i.k).map(|k| self.a.get((tile * i.m + row) * i.k + k)).collect();
        let b = (0..i.k).map(|k| self.b.get((tile * i.k + k) * i.n + column)).collect();
        (a, b, self.c.get((tile * i.m + row) * i.n + column))
    }

    /// Appends the tiles of `other`, which must be of the same instruction.
    pub fn extend(&mut self, other: &Tiles) {
        self.count += other.count;
        self.a.extend(&other.a);
        self.b.extend(&other.b);
        self.c.extend(&other.c);
    }

    /// Tiles of which these are the first `m` rows of A and C and the first `n` columns of B and C, at the
    /// instruction's full shape; the rest is zero.
    pub fn padded(&self, instruction: &Instruction, m: usize, n: usize) -> Tiles {
        let i = instruction;
        Tiles {
            count: self.count,
            a: self.a.resized((m, i.k), (i.m, i.k)),
            b: self.b.resized((i.k, n), (i.k, i.n)),
            c: self.c.resized((m, n), (i.m, i.n)),
        }
    }

    /// A 64-bit FNV-1a digest of all input bytes: two runs with equal digests had the same inputs.
    pub fn digest(&self) -> u64 {
        fnv1a([&self.a, &self.b, &self.c].into_iter().flat_map(|codes| codes.as_bytes()))
    }
}
