//! One tile: its operands decoded once, and the kernel run over its rows and columns.

use super::{
    kernel::{Kernel, Outcome, Workspace},
    number::{Element, ZERO},
    scale::{Factor, Scaling},
    stage::either,
    terms::{Factors, Row},
    word::{LANES, Lane},
};
use crate::isa::{Codes, Instruction, Tiles};

/// The decoded operands of a tile.
#[derive(Debug, Default)]
pub(super) struct Tile {
    codes: Vec<u32>,
    c: Vec<u32>,
    positions: Vec<u32>,
    /// A row of A, in the order of the kernel.
    significands: Vec<i32>,
    exponents: Vec<i32>,
    negative: Vec<bool>,
    factors: Vec<Factor>,
    /// B by [`LANES`] columns and k; where the instruction is dense in the order of the kernel.
    rows: Vec<Row>,
    rows_negative: Vec<Lane<bool>>,
    scale_rows: Vec<Row>,
    rows_void: Vec<Lane<bool>>,
    /// The rows of B for a row of A that is not dense.
    chosen: Vec<Row>,
    chosen_negative: Vec<Lane<bool>>,
    chosen_scales: Vec<Row>,
    scale_a: Vec<u32>,
    scale_b: Vec<u32>,
    workspace: Workspace,
    /// The elements of D that are to be computed by other means.
    pub(super) void: Vec<usize>,
}

impl Tile {
    /// Computes the bytes of the D codes `[m][n]` of a tile, and notes the elements that are void.
    #[inline(always)]
    pub(super) fn run(&mut self, kernel: &Kernel, i: &Instruction, tiles: &Tiles, tile: usize, d: &mut [u8]) {
        let stored = i.stored_k();
        self.void.clear();
        self.load_scales(i, tiles, tile);
        self.load_b(kernel, i, tiles, tile);
        widen(&tiles.c, tile * i.m * i.n, i.m * i.n, &mut self.c);
        widen(&tiles.a, tile * i.m * stored, i.m * stored, &mut self.codes);
        if let Some(positions) = &tiles.positions {
            widen(positions, tile * i.m * stored, i.m * stored, &mut self.positions);
        }
        for row in 0..i.m {
            let row_void = self.load_row(kernel, i, row);
            for (block, first) in (0..i.n).step_by(LANES).enumerate() {
                let columns = LANES.min(i.n - first);
                let mut c = [0; LANES];
                c[..columns].copy_from_slice(&self.c[row * i.n + first..][..columns]);
                let Outcome { codes, void } = self.block(kernel, i, row, block, &c);
                let at = row * i.n + first;
                narrow(&codes[..columns], &mut d[at * i.d.bytes()..][..columns * i.d.bytes()]);
                let void = either(&either(&void, &self.rows_void[block]), &[row_void; LANES]);
                if void.contains(&true) {
                    self.void.extend((0..columns).filter(|lane| void[*lane]).map(|lane| at + lane));
                }
            }
        }
    }

    /// The elements of D in a row and a block of columns.
    #[inline(always)]
    fn block(&mut self, kernel: &Kernel, i: &Instruction, row: usize, block: usize, c: &Lane<u32>) -> Outcome {
        let stored = i.stored_k();
        let from = block * i.k;
        if i.chunk().is_some() {
            self.chosen.clear();
            self.chosen_negative.clear();
            self.chosen_scales.clear();
            for &at in &kernel.order {
                let k = from + logical(i, &self.positions[row * stored..], at);
                self.chosen.push(self.rows[k]);
                self.chosen_negative.push(self.rows_negative[k]);
                if !self.factors.is_empty() {
                    self.chosen_scales.push(self.scale_rows[k]);
                }
            }
        }
        let (rows, rows_negative, scale_rows) = match i.chunk() {
            Some(_) => (&self.chosen[..], &self.chosen_negative[..], &self.chosen_scales[..]),
            None => {
                let scales = if self.factors.is_empty() { &[][..] } else { &self.scale_rows[from..from + i.k] };
                (&self.rows[from..from + i.k], &self.rows_negative[from..from + i.k], scales)
            }
        };
        let factors = Factors {
            significands: &self.significands,
            exponents: &self.exponents,
            negative: &self.negative,
            rows,
            rows_negative,
        };
        kernel.run(&factors, &Scaling { factors: &self.factors, rows: scale_rows }, c, &mut self.workspace)
    }

    /// Decodes a row of A; whether something in it is infinite or NaN.
    #[inline(always)]
    fn load_row(&mut self, kernel: &Kernel, i: &Instruction, row: usize) -> bool {
        let stored = i.stored_k();
        let codes = &self.codes[row * stored..][..stored];
        let mut void = false;
        self.significands.clear();
        self.exponents.clear();
        self.negative.clear();
        self.factors.clear();
        for &at in &kernel.order {
            let mut element = kernel.a.operand(codes[at]);
            void |= element.special;
            if let Some(scales) = &kernel.scales {
                let blocks = i.k / scales.block;
                let k = if i.chunk().is_some() { logical(i, &self.positions[row * stored..], at) } else { at };
                let scale = scales.decode(self.scale_a[row * blocks + k / scales.block]);
                void |= scale.special;
                if scales.run == 0 {
                    element = scaled(element, &scale);
                } else {
                    self.factors.push(scale);
                }
            }
            self.significands.push(signed(&element) << kernel.lifted);
            self.exponents.push(element.exponent);
            self.negative.push(element.negative);
        }
        void
    }

    fn load_scales(&mut self, i: &Instruction, tiles: &Tiles, tile: usize) {
        let (Some(scale), Some(a), Some(b)) = (i.scale, &tiles.scale_a, &tiles.scale_b) else { return };
        let blocks = i.k / scale.block;
        widen(a, tile * i.m * blocks, i.m * blocks, &mut self.scale_a);
        widen(b, tile * blocks * i.n, blocks * i.n, &mut self.scale_b);
    }

    /// Decodes B.
    #[inline(always)]
    fn load_b(&mut self, kernel: &Kernel, i: &Instruction, tiles: &Tiles, tile: usize) {
        widen(&tiles.b, tile * i.k * i.n, i.k * i.n, &mut self.codes);
        self.rows.clear();
        self.rows_negative.clear();
        self.rows_void.clear();
        self.scale_rows.clear();
        let dense = i.chunk().is_none();
        for first in (0..i.n).step_by(LANES) {
            let columns = LANES.min(i.n - first);
            let mut void = [false; LANES];
            for position in 0..i.k {
                let k = if dense { kernel.order[position] } else { position };
                let mut codes = [0; LANES];
                codes[..columns].copy_from_slice(&self.codes[k * i.n + first..][..columns]);
                let mut row = Row::default();
                let mut negative = [false; LANES];
                let mut elements = codes.map(|code| kernel.b.operand(code));
                if let Some(scales) = &kernel.scales {
                    let at = k / scales.block * i.n + first;
                    let mut scale_codes = [0; LANES];
                    scale_codes[..columns].copy_from_slice(&self.scale_b[at..][..columns]);
                    let scale = scale_codes.map(|code| scales.decode(code));
                    void = std::array::from_fn(|l| void[l] | scale[l].special);
                    if scales.run == 0 {
                        elements = std::array::from_fn(|l| scaled(elements[l], &scale[l]));
                    } else {
                        self.scale_rows.push(Row {
                            significand: scale.map(|scale| scale.significand),
                            exponent: scale.map(|scale| scale.exponent),
                        });
                    }
                }
                for l in 0..LANES {
                    row.significand[l] = signed(&elements[l]);
                    row.exponent[l] = elements[l].exponent;
                    negative[l] = elements[l].negative;
                    void[l] |= elements[l].special;
                }
                self.rows.push(row);
                self.rows_negative.push(negative);
            }
            self.rows_void.push(void);
        }
    }
}

/// The logical k of the stored element `at` of a row.
#[inline(always)]
fn logical(i: &Instruction, positions: &[u32], at: usize) -> usize {
    i.chunk().map_or(at, |chunk| at / chunk.kept * chunk.length + positions[at] as usize)
}

#[inline(always)]
fn signed(element: &Element) -> i32 {
    let significand = element.significand as i32;
    if element.negative { -significand } else { significand }
}

#[inline(always)]
fn scaled(element: Element, scale: &Factor) -> Element {
    let significand = element.significand * scale.significand as u32;
    let exponent = if significand == 0 { ZERO } else { element.exponent + scale.exponent };
    Element { significand, exponent, ..element }
}

/// `count` codes from `first` on.
#[inline(always)]
fn widen(codes: &Codes, first: usize, count: usize, out: &mut Vec<u32>) {
    let bytes = &codes.as_bytes()[first * codes.width()..][..count * codes.width()];
    out.clear();
    match codes.width() {
        1 => out.extend(bytes.iter().map(|byte| u32::from(*byte))),
        2 => out.extend(bytes.chunks_exact(2).map(|b| u32::from(u16::from_le_bytes([b[0], b[1]])))),
        _ => out.extend(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))),
    }
}

/// Codes in as many bytes as there are for each.
#[inline(always)]
fn narrow(codes: &[u32], bytes: &mut [u8]) {
    match bytes.len() / codes.len() {
        1 => bytes.iter_mut().zip(codes).for_each(|(byte, code)| *byte = *code as u8),
        2 => {
            bytes.chunks_exact_mut(2).zip(codes).for_each(|(b, code)| b.copy_from_slice(&(*code as u16).to_le_bytes()))
        }
        _ => bytes.chunks_exact_mut(4).zip(codes).for_each(|(b, code)| b.copy_from_slice(&code.to_le_bytes())),
    }
}
