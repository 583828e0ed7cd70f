//! Batches of tiles that take a device about a second each, between which the work may be interrupted.

use std::time::{Duration, Instant};

use super::Device;
use crate::{
    Error, Result,
    base::{interrupt, pace::Pace},
    isa::{Codes, Instruction, Tiles},
};

/// The most bytes of the tiles of a batch, about.
const MOST_BYTES: usize = 32 << 20;

/// Hands tiles to a device in batches, and measures how fast it is.
#[derive(Debug, Clone)]
pub struct Batches {
    pace: Pace,
    /// Tiles that were answered.
    pub tiles: u64,
    /// How long the answers took.
    pub time: Duration,
}

impl Default for Batches {
    fn default() -> Batches {
        Batches { pace: Pace::new(1, u64::MAX), tiles: 0, time: Duration::ZERO }
    }
}

impl Batches {
    /// How many tiles of so many bytes the next batch has at most.
    pub fn size(&self, tile_bytes: usize) -> usize {
        let most = (MOST_BYTES / tile_bytes.max(1)).max(1);
        usize::try_from(self.pace.size()).map_or(most, |size| size.min(most))
    }

    /// The D codes `[count][m][n]` of tiles with so many rows and columns, the rest being zero.
    ///
    /// # Errors
    /// Those of the device, which has answered short among them; an interruption between two batches.
    pub fn execute(
        &mut self,
        device: &mut dyn Device,
        i: &Instruction,
        (m, n): (usize, usize),
        tiles: &Tiles,
    ) -> Result<Codes> {
        // A model computes nothing but what is asked; other devices get whole tiles.
        let shape = if device.model().is_some() { (m, n) } else { (i.m, i.n) };
        let bytes = Instruction { m: shape.0, n: shape.1, ..i.clone() }.tile_bytes();
        let mut all = Codes::zeros(i.d, 0);
        let mut from = 0;
        while from < tiles.count {
            let to = tiles.count.min(from + self.size(bytes));
            match to - from == tiles.count {
                true => return self.one(device, i, (m, n), tiles),
                false => all.extend(&self.one(device, i, (m, n), &tiles.slice(from, to))?),
            }
            from = to;
        }
        Ok(all)
    }

    /// The D codes of one batch.
    fn one(
        &mut self,
        device: &mut dyn Device,
        i: &Instruction,
        (m, n): (usize, usize),
        batch: &Tiles,
    ) -> Result<Codes> {
        interrupt::check()?;
        let start = Instant::now();
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

    /// A model that notes how many tiles it gets at a time.
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
        let whole = batches.execute(&mut device, &i, (8, 8), &tiles).unwrap();
        assert_eq!(whole.as_bytes(), device.0.execute(&i, &tiles).unwrap().as_bytes());
        assert_eq!((device.1[0], device.1.iter().sum::<usize>(), batches.tiles), (1, 50, 50));
        let part = batches.execute(&mut device, &i, (2, 3), &tiles.slice(0, 0)).unwrap();
        assert_eq!((part.len(), batches.tiles), (0, 50));
    }
}
