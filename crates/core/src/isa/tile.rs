//! Arrays of codes, and the tiles that instructions consume.

use super::{Case, Instruction};
use crate::{
    base::digest::fnv1a,
    format::{self, Format},
};

/// Rows and columns of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixShape {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
}

/// Array of little-endian codes, each in the smallest unsigned integer of its format (1 to 8 bytes).
/// This is the layout of trace files, of the `exec:` protocol and of GPU memory.
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

    /// True if there are no codes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes per code.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Little-endian bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same bytes as an owned vector.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Borrowed view of the codes.
    pub(crate) fn view(&self) -> CodesView<'_> {
        CodesView { width: self.width, bytes: &self.bytes }
    }

    /// Code at `index`. Panics if out of range.
    #[inline]
    pub fn get(&self, index: usize) -> u64 {
        self.view().get(index)
    }

    /// Sets the code at `index`, cut to the code size. Panics if out of range.
    #[inline]
    pub fn set(&mut self, index: usize, code: u64) {
        match self.width {
            1 => self.bytes[index] = code as u8,
            2 => self.bytes.as_chunks_mut().0[index] = (code as u16).to_le_bytes(),
            4 => self.bytes.as_chunks_mut().0[index] = (code as u32).to_le_bytes(),
            _ => self.bytes.as_chunks_mut().0[index] = code.to_le_bytes(),
        }
    }

    /// Codes in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Appends the codes of `other`, which must have the same code size.
    pub fn extend(&mut self, other: &Codes) {
        assert_eq!(self.width, other.width, "codes of one width");
        self.bytes.extend_from_slice(&other.bytes);
    }

    /// Resizes matrices of the shape `from` to the shape `to`.
    /// Each direction is cut, or continued with codes of value 0. Panics if `from` is empty.
    pub fn resized(&self, from: MatrixShape, to: MatrixShape) -> Codes {
        if from == to {
            return self.clone();
        }
        let count = self.len() / (from.rows * from.columns);
        let mut bytes = vec![0; count * to.rows * to.columns * self.width];
        let kept = from.columns.min(to.columns) * self.width;
        for matrix in 0..count {
            for row in 0..from.rows.min(to.rows) {
                let source = (matrix * from.rows + row) * from.columns * self.width;
                let target = (matrix * to.rows + row) * to.columns * self.width;
                bytes[target..target + kept].copy_from_slice(&self.bytes[source..source + kept]);
            }
        }
        Codes { width: self.width, bytes }
    }

    /// Codes `from..to` as a new array.
    pub fn slice(&self, from: usize, to: usize) -> Codes {
        Codes { width: self.width, bytes: self.bytes[from * self.width..to * self.width].to_vec() }
    }
}

/// Borrowed codes in the layout of [`Codes`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodesView<'a> {
    width: usize,
    bytes: &'a [u8],
}

impl<'a> CodesView<'a> {
    /// View of these bytes, which are whole codes.
    pub(crate) fn new(format: &Format, bytes: &'a [u8]) -> CodesView<'a> {
        CodesView { width: format.bytes(), bytes }
    }

    /// Bytes per code.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Little-endian bytes.
    pub(crate) fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Code at `index`. Panics if out of range.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u64 {
        match self.width {
            1 => self.bytes[index].into(),
            2 => u16::from_le_bytes(self.bytes.as_chunks().0[index]).into(),
            4 => u32::from_le_bytes(self.bytes.as_chunks().0[index]).into(),
            _ => u64::from_le_bytes(self.bytes.as_chunks().0[index]),
        }
    }
}

/// Tiles of operands: inputs of `count` executions of one instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiles {
    /// Number of tiles.
    pub count: usize,
    /// A codes, `[count][m][k]`; only the stored ones in sparse forms, `[count][m][k / 2]`.
    pub a: Codes,
    /// B codes, `[count][k][n]`.
    pub b: Codes,
    /// C codes, `[count][m][n]`.
    pub c: Codes,
    /// Position of each stored element of A in its chunk, in sparse forms: bytes `[count][m][k / 2]`.
    /// See [`Chunk`](super::Chunk).
    pub positions: Option<Codes>,
    /// Scale codes of A in block-scaled forms, `[count][m][k / block]`.
    pub scale_a: Option<Codes>,
    /// Scale codes of B in block-scaled forms, `[count][k / block][n]`.
    pub scale_b: Option<Codes>,
}

/// Array of a tile: its name in trace files, the format of its codes and its two dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operand {
    /// `a`, `b`, `c`, `positions`, `scale_a` or `scale_b`.
    pub name: &'static str,
    /// Format of the codes.
    pub format: &'static Format,
    /// Rows of one tile.
    pub rows: usize,
    /// Columns of one tile.
    pub columns: usize,
}

impl Operand {
    /// Rows and columns of one tile.
    pub fn shape(&self) -> MatrixShape {
        MatrixShape { rows: self.rows, columns: self.columns }
    }

    /// Number of codes in one tile.
    pub fn len(&self) -> usize {
        self.rows * self.columns
    }

    /// True if there are no codes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Arrays of a tile of `instruction`, in the order of the `exec:` protocol.
pub fn operands(i: &Instruction) -> Vec<Operand> {
    let operand = |name, format, rows, columns| Operand { name, format, rows, columns };
    let mut all = vec![operand("a", i.a, i.m, i.stored_k()), operand("b", i.b, i.k, i.n), operand("c", i.c, i.m, i.n)];
    if i.chunk().is_some() {
        all.push(operand("positions", format::find("u8").expect("u8 is in the format table"), i.m, i.stored_k()));
    }
    if let Some(scale) = i.scale {
        all.push(operand("scale_a", scale.format, i.m, i.k / scale.block));
        all.push(operand("scale_b", scale.format, i.k / scale.block, i.n));
    }
    all
}

impl Tiles {
    /// Tiles of an instruction with every code 0; sparse forms have the first positions of every chunk.
    pub fn zeros(instruction: &Instruction, count: usize) -> Self {
        let mut tiles = Tiles::from_arrays(
            count,
            operands(instruction).iter().map(|o| (o.name, Codes::zeros(o.format, count * o.len()))),
        )
        .expect("an instruction has A, B and C");
        if let (Some(positions), Some(chunk)) = (&mut tiles.positions, instruction.chunk()) {
            (0..positions.len()).for_each(|at| positions.set(at, (at % chunk.kept) as u64));
        }
        tiles
    }

    /// Tiles from their arrays by name; `None` unless A, B and C are among them.
    pub fn from_arrays(count: usize, arrays: impl IntoIterator<Item = (&'static str, Codes)>) -> Option<Tiles> {
        let (mut a, mut b, mut c, mut positions, mut scale_a, mut scale_b) = (None, None, None, None, None, None);
        for (name, codes) in arrays {
            let slot = match name {
                "a" => &mut a,
                "b" => &mut b,
                "c" => &mut c,
                "positions" => &mut positions,
                "scale_a" => &mut scale_a,
                _ => &mut scale_b,
            };
            *slot = Some(codes);
        }
        Some(Tiles { count, a: a?, b: b?, c: c?, positions, scale_a, scale_b })
    }

    /// Arrays that exist, by name, in the order of [`operands`].
    pub fn arrays(&self) -> impl Iterator<Item = (&'static str, &Codes)> {
        let always = [("a", &self.a), ("b", &self.b), ("c", &self.c)];
        let sometimes = [("positions", &self.positions), ("scale_a", &self.scale_a), ("scale_b", &self.scale_b)];
        always.into_iter().chain(sometimes.into_iter().filter_map(|(name, codes)| Some((name, codes.as_ref()?))))
    }

    /// These tiles with every array changed by `change`, which gets the array's name.
    fn map(&self, count: usize, change: impl Fn(&'static str, &Codes) -> Codes) -> Tiles {
        Tiles::from_arrays(count, self.arrays().map(|(name, codes)| (name, change(name, codes))))
            .expect("A, B and C stay")
    }

    /// Tiles `from..to`.
    pub fn slice(&self, from: usize, to: usize) -> Tiles {
        self.map(to - from, |_, codes| {
            let each = codes.len() / self.count.max(1);
            codes.slice(from * each, to * each)
        })
    }

    /// Operands of one element of D.
    pub fn case(&self, i: &Instruction, tile: usize, row: usize, column: usize) -> Case {
        let stored = i.stored_k();
        let line = |codes: &Codes, each: usize| -> Vec<u64> {
            (0..each).map(|k| codes.get((tile * i.m + row) * each + k)).collect()
        };
        let down = |codes: &Codes, each: usize| -> Vec<u64> {
            (0..each).map(|k| codes.get((tile * each + k) * i.n + column)).collect()
        };
        let blocks = i.scale.map_or(0, |scale| i.k / scale.block);
        Case {
            a: line(&self.a, stored),
            b: down(&self.b, i.k),
            c: self.c.get((tile * i.m + row) * i.n + column),
            positions: self.positions.as_ref().map_or_else(Vec::new, |codes| line(codes, stored)),
            scale_a: self.scale_a.as_ref().map_or_else(Vec::new, |codes| line(codes, blocks)),
            scale_b: self.scale_b.as_ref().map_or_else(Vec::new, |codes| down(codes, blocks)),
        }
    }

    /// Places the operands of `case` for element (`row`, `column`) of D of a tile.
    pub fn place(&mut self, i: &Instruction, tile: usize, row: usize, column: usize, case: &Case) {
        let (m, n) = (i.m, i.n);
        let line = |codes: &mut Codes, values: &[u64]| {
            let each = values.len();
            values.iter().enumerate().for_each(|(k, code)| codes.set((tile * m + row) * each + k, *code));
        };
        let down = |codes: &mut Codes, values: &[u64]| {
            let each = values.len();
            values.iter().enumerate().for_each(|(k, code)| codes.set((tile * each + k) * n + column, *code));
        };
        line(&mut self.a, &case.a);
        down(&mut self.b, &case.b);
        self.c.set((tile * m + row) * n + column, case.c);
        if let Some(codes) = &mut self.positions {
            line(codes, &case.positions);
        }
        if let Some(codes) = &mut self.scale_a {
            line(codes, &case.scale_a);
        }
        if let Some(codes) = &mut self.scale_b {
            down(codes, &case.scale_b);
        }
    }

    /// Appends the tiles of `other`, which must be of the same instruction.
    pub fn extend(&mut self, other: &Tiles) {
        self.count += other.count;
        self.a.extend(&other.a);
        self.b.extend(&other.b);
        self.c.extend(&other.c);
        let sometimes = [
            (&mut self.positions, &other.positions),
            (&mut self.scale_a, &other.scale_a),
            (&mut self.scale_b, &other.scale_b),
        ];
        for (codes, other_codes) in sometimes {
            if let (Some(codes), Some(other_codes)) = (codes, other_codes) {
                codes.extend(other_codes);
            }
        }
    }

    /// Tiles of the full shape whose first `m` rows of A and C and first `n` columns of B and C are these.
    /// The rest is as in [`Tiles::zeros`].
    pub fn padded(&self, instruction: &Instruction, m: usize, n: usize) -> Tiles {
        self.resized(&Instruction { m, n, ..instruction.clone() }, instruction)
    }

    /// Tiles of the shape of `from` at the shape of `to`, which has the same formats.
    /// They are cut, or continued as in [`Tiles::zeros`], along m, n and k.
    pub fn resized(&self, from: &Instruction, to: &Instruction) -> Tiles {
        let shapes: Vec<_> = operands(from).into_iter().zip(operands(to)).collect();
        self.map(self.count, |name, codes| {
            let (old, new) = shapes.iter().find(|(o, _)| o.name == name).expect("the tiles are this instruction's");
            let mut resized = codes.resized(old.shape(), new.shape());
            if let ("positions", Some(chunk)) = (name, to.chunk()) {
                let outside = |at: usize| at / new.columns % new.rows >= old.rows || at % new.columns >= old.columns;
                (0..resized.len()).filter(|at| outside(*at)).for_each(|at| resized.set(at, (at % chunk.kept) as u64));
            }
            resized
        })
    }

    /// 64-bit FNV-1a digest of all input bytes: two runs with equal digests had the same inputs.
    pub fn digest(&self) -> u64 {
        fnv1a(self.arrays().flat_map(|(_, codes)| codes.as_bytes()))
    }
}
