//! The chain that the device computes.

use super::{
    operand::{ChainOperand, EntryFormat},
    scaling::OperandEntry,
};
use crate::{
    Error, Result,
    base::parallel,
    device::Device,
    isa::{Codes, Instruction, Tiles},
};

/// The chains of one instruction at their present length.
pub(super) struct Low {
    instruction: Instruction,
    entry: EntryFormat,
    /// Entry of A as a whole, if it has scales.
    scaled_entry: Option<OperandEntry>,
    /// The codes of the scales of its blocks, `[chain][m][blocks]`.
    scales: Vec<u64>,
    /// Factors of the results of each chain, for the scales of A; empty without scales.
    factors: Vec<f64>,
    /// Number of tiles for the k columns of a product.
    blocks: usize,
    tiles: Tiles,
    /// A of the next link, `[chain][m][k]`.
    a: Vec<u64>,
    /// D of the last link as doubles, `[chain][m][k]`.
    pub values: Vec<f64>,
    overflow: Vec<Overflowed>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Overflowed {
    /// D has, or had in an earlier link, an infinity or a NaN, or came from a saturated entry.
    happened: bool,
    /// An entry of the next A is saturated.
    entered: bool,
}

impl Low {
    /// `chains` chains of `instruction` that begin with `a`, `[chain][m][k]`; results enter by `entry`.
    pub(super) fn new(instruction: &Instruction, chains: usize, a: &ChainOperand, entry: OperandEntry) -> Self {
        let blocks = instruction.k.div_ceil(instruction.n);
        Low {
            instruction: instruction.clone(),
            entry: EntryFormat::new(instruction.a),
            scaled_entry: entry.is_scaled().then_some(entry),
            scales: a.scales.clone(),
            factors: a.factors.clone(),
            blocks,
            tiles: Tiles::zeros(instruction, chains * blocks),
            a: a.codes.clone(),
            values: vec![0.0; a.codes.len()],
            overflow: vec![Overflowed::default(); chains],
        }
    }

    /// Adds a link to all chains at once: D = A*B with `b`, `[chain][k][k]`, rounded to the format of A.
    ///
    /// Once every chain has overflowed, nothing is computed.
    pub(super) fn advance(&mut self, device: &mut dyn Device, b: &ChainOperand) -> Result<()> {
        if self.overflow.iter().all(|chain| chain.happened) {
            return Ok(());
        }
        self.fill_a();
        self.fill_b(&b.codes);
        self.fill_scales(b);
        let d = device.execute(&self.instruction, &self.tiles)?;
        let expected = self.tiles.count * self.instruction.m * self.instruction.n;
        if d.len() != expected {
            return Err(Error::device(format!(
                "{} answered {} of {expected} outputs of {}",
                device.identity().name,
                d.len(),
                self.instruction
            )));
        }
        self.take(&d, &b.factors);
        Ok(())
    }

    /// Every tile of a chain has the chain's A.
    fn fill_a(&mut self) {
        let each = self.instruction.m * self.instruction.k;
        for (tile, start) in (0..self.tiles.count).map(|tile| (tile, tile / self.blocks * each)) {
            for (index, &code) in self.a[start..start + each].iter().enumerate() {
                self.tiles.a.set(tile * each + index, code);
            }
        }
    }

    /// Tile j of a chain has columns `j*n..(j+1)*n` of the chain's B; columns beyond k stay zero.
    fn fill_b(&mut self, b: &[u64]) {
        let Instruction { n, k, .. } = self.instruction;
        for (row, codes) in b.chunks_exact(k).enumerate() {
            let (chain, row) = (row / k, row % k);
            for (column, &code) in codes.iter().enumerate() {
                let tile = chain * self.blocks + column / n;
                self.tiles.b.set((tile * k + row) * n + column % n, code);
            }
        }
    }

    /// Fills every tile of a chain with the scales of its A, and of the tile's columns of B.
    fn fill_scales(&mut self, b: &ChainOperand) {
        let Instruction { m, n, k, .. } = self.instruction;
        let (Some(of_a), Some(of_b), Some(scale)) =
            (&mut self.tiles.scale_a, &mut self.tiles.scale_b, self.instruction.scale)
        else {
            return;
        };
        let along = k / scale.block;
        for tile in 0..self.tiles.count {
            let (chain, first) = (tile / self.blocks, tile % self.blocks * n);
            for at in 0..m * along {
                of_a.set(tile * m * along + at, self.scales[chain * m * along + at]);
            }
            for block in 0..along {
                for column in 0..n.min(k.saturating_sub(first)) {
                    let code = b.scales[(chain * along + block) * k + first + column];
                    of_b.set((tile * along + block) * n + column, code);
                }
            }
        }
    }

    /// Takes D from its column blocks as doubles and as the next A; `factors` belong to the scales of B.
    fn take(&mut self, d: &Codes, factors: &[f64]) {
        let Instruction { m, n, k, .. } = self.instruction;
        let (format, entry, blocks) = (self.instruction.d, &self.entry, self.blocks);
        let chains = self.a.chunks_mut(m * k).zip(self.values.chunks_mut(m * k)).zip(&mut self.overflow);
        let (scaled_entry, a_factors) = (self.scaled_entry, &self.factors);
        let factor = |factors: &[f64], chain: usize| factors.get(chain).copied().unwrap_or(1.0);
        parallel::each(chains.enumerate(), |(chain, ((a, values), overflow))| {
            let factor = factor(a_factors, chain) * factor(factors, chain);
            overflow.happened |= overflow.entered;
            for index in 0..m * k {
                let (row, column) = (index / k, index % k);
                let tile = chain * blocks + column / n;
                let code = d.get((tile * m + row) * n + column % n);
                values[index] = format.to_f64(code) * factor;
                overflow.happened |= !values[index].is_finite();
                if scaled_entry.is_none() {
                    let (next, saturated) = entry.code(format, code);
                    a[index] = next;
                    overflow.entered |= saturated;
                }
            }
        });
        let Some(entry) = scaled_entry else { return };
        let entered = parallel::map(self.values.chunks(m * k), |matrix| entry.enter(matrix, k));
        self.scales.clear();
        self.factors.clear();
        for (matrix, a) in entered.into_iter().zip(self.a.chunks_mut(m * k)) {
            a.copy_from_slice(&matrix.codes);
            self.scales.extend(matrix.scales);
            self.factors.push(matrix.factor);
        }
    }

    /// True if the D of a chain, so far, has an infinity or a NaN, or came from a saturated entry.
    pub(super) fn overflowed(&self, chain: usize) -> bool {
        self.overflow[chain].happened
    }
}
