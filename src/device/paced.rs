//! Executing many tiles so that a signal is answered within about a second, however slow a device is.

use std::time::Instant;

use super::Device;
use crate::{
    Error, Result,
    base::{interrupt, pace::Pace},
    isa::{Codes, Instruction, Tiles},
};

/// Adds what a device answers to `tiles` to `d`, about a second's tiles at a time, until the time `until`: at least one tile's.
///
/// # Errors
/// The device fails or answers short; an interruption: `d` has the outputs of the tiles until then.
pub(crate) fn execute_paced(
    device: &mut dyn Device,
    i: &Instruction,
    tiles: &Tiles,
    pace: &mut Pace,
    until: Option<Instant>,
    d: &mut Codes,
) -> Result<()> {
    let mut from = 0;
    while from < tiles.count && (d.len() == 0 || until.is_none_or(|until| Instant::now() < until)) {
        interrupt::check()?;
        let to = tiles.count.min(from + pace.size() as usize);
        let part = if (from, to) == (0, tiles.count) { None } else { Some(tiles.slice(from, to)) };
        let part = part.as_ref().unwrap_or(tiles);
        let answered = pace.measure((to - from) as u64, || device.execute(i, part))?;
        let asked = (to - from) * i.m * i.n;
        if answered.len() != asked {
            let name = &device.identity().name;
            return Err(Error::device(format!("{name} answered {} outputs of {asked}", answered.len())));
        }
        d.extend(&answered);
        from = to;
    }
    Ok(())
}
