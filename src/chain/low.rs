//! The chain that the device computes.

use super::operand::EntryFormat;
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
    /// How many tiles make the k columns of a product.
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
    /// `chains` chains of `instruction` that begin with the codes `a`, `[chain][m][k]`.
    pub(super) fn new(instruction: &Instruction, chains: usize, a: &[u64]) -> Self {
        let blocks = instruction.k.div_ceil(instruction.n);
        Low {
            instruction: instruction.clone(),
            entry: EntryFormat::new(instruction.a),
            blocks,
            tiles: Tiles::zeros(instruction, chains * blocks),
            a: a.to_vec(),
            values: vec![0.0; a.len()],
            overflow: vec![Overflowed::default(); chains],
        }
    }

    /// Adds a link: executes D = A*B for all chains at once, with the codes `b`, `[chain][k][k]`, and rounds D to
    /// the format of A. Once every chain has overflowed there is nothing left to compute.
    ///
    /// # Errors
    /// Those of the device, which also fails if it answers short.
    pub(super) fn advance(&mut self, device: &mut dyn Device, b: &[u64]) -> Result<()> {
        if self.overflow.iter().all(|chain| chain.happened) {
            return Ok(());
        }
        self.fill_a();
        self.fill_b(b);
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
        self.take(&d);
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

    /// Takes D from its column blocks, as doubles and, rounded, as the next A.
    fn take(&mut self, d: &Codes) {
        let Instruction { m, n, k, .. } = self.instruction;
        let (format, entry, blocks) = (self.instruction.d, &self.entry, self.blocks);
        let chains = self.a.chunks_mut(m * k).zip(self.values.chunks_mut(m * k)).zip(&mut self.overflow);
        parallel::each(chains.enumerate(), |(chain, ((a, values), overflow))| {
            overflow.happened |= overflow.entered;
            for index in 0..m * k {
                let (row, column) = (index / k, index % k);
                let tile = chain * blocks + column / n;
                let code = d.get((tile * m + row) * n + column % n);
                let (next, saturated) = entry.code(format, code);
                a[index] = next;
                values[index] = format.to_f64(code);
                overflow.entered |= saturated;
                overflow.happened |= !values[index].is_finite();
            }
        });
    }

    /// Whether a chain has overflowed: its D, or that of a shorter one, has an infinity or a NaN or was computed
    /// from an entry that was saturated.
    pub(super) fn overflowed(&self, chain: usize) -> bool {
        self.overflow[chain].happened
    }
}
