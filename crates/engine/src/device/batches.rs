//! Batches of tiles, sized by the time that a device takes.
//! The work can be interrupted before each of them.

use std::time::{Duration, Instant};

use super::Device;
use crate::{
    Error, Result,
    base::{interrupt, work::Pace},
    isa::{Codes, Instruction, MatrixShape, Tiles},
};

/// Bytes of a batch, at most (about).
const MOST_BYTES: usize = 32 << 20;

/// Hands tiles to a device in batches, and measures its speed.
#[derive(Debug, Clone)]
pub struct Batches {
    pace: Pace,
    /// Tiles answered so far.
    pub tiles: u64,
    /// Time that the answers took.
    pub time: Duration,
}

impl Default for Batches {
    fn default() -> Batches {
        Batches { pace: Pace::new(1, u64::MAX), tiles: 0, time: Duration::ZERO }
    }
}

impl Batches {
    /// Tiles in the next batch, at most, where each tile has `tile_bytes` bytes.
    pub fn size(&self, tile_bytes: usize) -> usize {
        let most = (MOST_BYTES / tile_bytes.max(1)).max(1);
        usize::try_from(self.pace.size()).map_or(most, |size| size.min(most))
    }

    /// Executes tiles whose first rows and columns, as `shape` counts them, are given; the rest is zero.
    /// Returns D codes `[count][m][n]`.
    ///
    /// # Errors
    /// The device fails or answers short; an interruption before a batch.
    pub fn execute(
        &mut self,
        device: &mut dyn Device,
        i: &Instruction,
        shape: MatrixShape,
        tiles: &Tiles,
    ) -> Result<Codes> {
        let mut all = Codes::zeros(i.d, 0);
        self.extend(device, i, shape, tiles, None, &mut all).map(|()| all)
    }

    /// Adds the D codes of tiles to `all` until the time `until`, for at least one batch.
    /// After an error, `all` still has the codes answered before it.
    ///
    /// # Errors
    /// The device fails or answers short; an interruption before a batch.
    pub fn extend(
        &mut self,
        device: &mut dyn Device,
        i: &Instruction,
        shape: MatrixShape,
        tiles: &Tiles,
        until: Option<Instant>,
        all: &mut Codes,
    ) -> Result<()> {
        // A model computes only the outputs asked for; other devices get whole tiles.
        let MatrixShape { rows: m, columns: n } =
            if device.model().is_some() { shape } else { MatrixShape { rows: i.m, columns: i.n } };
        let bytes = Instruction { m, n, ..i.clone() }.tile_bytes();
        let mut from = 0;
        while from < tiles.count {
            interrupt::check()?;
            if from > 0 && until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            let to = tiles.count.min(from + self.size(bytes));
            match to - from == tiles.count {
                true => all.extend(&self.one(device, i, shape, tiles)?),
                false => all.extend(&self.one(device, i, shape, &tiles.slice(from, to))?),
            }
            from = to;
        }
        Ok(())
    }

    /// Executes one batch and returns its D codes.
    fn one(&mut self, device: &mut dyn Device, i: &Instruction, shape: MatrixShape, batch: &Tiles) -> Result<Codes> {
        let (start, MatrixShape { rows: m, columns: n }) = (Instant::now(), shape);
        let codes = match (m, n) == (i.m, i.n) {
            true => device.execute(i, batch)?,
            false => device.execute_part(i, m, n, batch)?,
        };
        let (took, asked) = (start.elapsed(), batch.count * m * n);
        if codes.len() != asked {
            let name = &device.identity().name;
            return Err(Error::device(format!("{name} answered {} outputs of {asked}", codes.len())));
        }
        self.pace.took(batch.count as u64, took);
        self.tiles += batch.count as u64;
        self.time += took;
        Ok(codes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::{Execution, Identity, ModelDevice},
        inputs::Sequence,
        isa,
    };

    /// A model that notes the size of each batch.
    struct Noted(ModelDevice, Vec<usize>);

    impl Device for Noted {
        fn identity(&self) -> &Identity {
            self.0.identity()
        }

        fn prepare(&mut self, i: &Instruction) -> Result<Execution> {
            self.0.prepare(i)
        }

        fn execute(&mut self, i: &Instruction, tiles: &Tiles) -> Result<Codes> {
            self.1.push(tiles.count);
            self.0.execute(i, tiles)
        }
    }

    #[test]
    fn batches_begin_with_one_tile_and_make_up_all() {
        let i = isa::find("mma.m8n8k4.f16.f16.f16.f16").unwrap();
        let mut device = Noted(ModelDevice::open("volta").unwrap(), Vec::new());
        let tiles = Sequence::Random { seed: 0 }.tiles(&i, 0, 50);
        let mut batches = Batches::default();
        let outputs = batches.execute(&mut device, &i, MatrixShape { rows: 8, columns: 8 }, &tiles).unwrap();
        assert_eq!(outputs.as_bytes(), device.0.execute(&i, &tiles).unwrap().as_bytes());
        assert_eq!((device.1[0], device.1.iter().sum::<usize>(), batches.tiles), (1, 50, 50));
        let part = batches.execute(&mut device, &i, MatrixShape { rows: 2, columns: 3 }, &tiles.slice(0, 0)).unwrap();
        assert_eq!((part.len(), batches.tiles), (0, 50));
    }
}
