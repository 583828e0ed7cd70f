//! The tiles of a kit: those on which the candidate arithmetics of an instruction differ.

use std::collections::HashSet;

use super::part;
use crate::{
    Result,
    arithmetic::{Evaluator, Rule},
    base::{digest::fnv1a, interrupt, parallel},
    distinction::candidates,
    inputs::{Corners, Sequence},
    isa::{Instruction, Tiles},
    rule::{changed, changes},
    trace::Trace,
};

/// Tiles of the stream, after the corners, from which a kit is chosen.
const STREAMED: usize = 256;
/// The same for an instruction whose arithmetic has no fast evaluator.
const STREAMED_SLOWLY: usize = 16;

/// The tiles of operands of one instruction, and what they tell apart.
#[derive(Debug, Clone)]
pub struct KitInputs {
    /// The instruction.
    pub instruction: Instruction,
    /// The rows and columns that are filled and printed; all of k.
    pub part: Instruction,
    /// The operands, of the part.
    pub tiles: Tiles,
    /// Candidate arithmetics.
    pub candidates: usize,
    /// Groups of candidates that the tiles tell apart.
    pub apart: usize,
}

/// Chooses the tiles of a kit, at least `least`.
///
/// Candidates are the known arithmetics of the operands, and those that differ in one key from an arithmetic that a model has for this
/// instruction. Tiles are taken one after the other, each the one that splits the candidates into the most groups; then, up to
/// `least`, corners and tiles of the stream with this seed.
///
/// # Errors
/// An interruption.
pub fn inputs(instruction: &Instruction, least: usize, seed: u64) -> Result<KitInputs> {
    let part = part(instruction);
    let rules = rules(&part);
    let evaluators = parallel::map(&rules, |rule| Evaluator::of(rule, &part).ok());
    let evaluators: Vec<Evaluator> = evaluators.into_iter().flatten().collect();
    let is_fast = evaluators.first().is_none_or(Evaluator::is_fast);
    let mut pool = Corners::of(&part).tiles;
    let streamed = if is_fast { STREAMED } else { STREAMED_SLOWLY };
    pool.extend(&Sequence::Random { seed }.tiles(&part, 0, streamed.max(least)));
    let answers = parallel::map(&evaluators, |evaluator| tile_digests(evaluator, &part, &pool));
    interrupt::check()?;
    let (chosen, apart) = cover(&answers, pool.count);
    let rest = (0..pool.count).filter(|tile| !chosen.contains(tile)).take(least.saturating_sub(chosen.len()));
    let mut tiles = Tiles::zeros(&part, 0);
    for tile in chosen.iter().copied().chain(rest) {
        tiles.extend(&pool.slice(tile, tile + 1));
    }
    if tiles.count == 0 {
        tiles = pool.slice(0, 1);
    }
    Ok(KitInputs { instruction: instruction.clone(), part, tiles, candidates: evaluators.len(), apart })
}

impl KitInputs {
    /// The tiles of a trace, in the rows and columns that it has.
    pub fn of_trace(trace: &Trace) -> KitInputs {
        let part = Instruction { m: trace.m, n: trace.n, ..trace.instruction.clone() };
        let tiles = trace.tiles(0, trace.count());
        KitInputs { instruction: trace.instruction.clone(), part, tiles, candidates: 0, apart: 0 }
    }
}

/// The rules of the candidates: the known ones, then the neighbours of the instruction's own.
fn rules(part: &Instruction) -> Vec<Rule> {
    let known = candidates(part);
    let own = known.iter().filter(|known| known.origins.iter().any(|origin| origin.instruction == part.name));
    let near = own.flat_map(|known| {
        let rule = known.rule();
        changes(rule, part).into_iter().filter(|change| !change.ranged).filter_map(|change| changed(rule, &[change]))
    });
    let near: Vec<Rule> = near.collect();
    known.iter().map(|known| known.rule().clone()).chain(near).collect()
}

/// A digest of D for each tile.
fn tile_digests(evaluator: &Evaluator, part: &Instruction, tiles: &Tiles) -> Vec<u64> {
    if interrupt::pending().is_some() {
        return vec![0; tiles.count];
    }
    let d = evaluator.execute_here(tiles);
    let each = part.m * part.n * part.d.bytes();
    d.as_bytes().chunks(each).map(fnv1a).collect()
}

/// Tiles that split the candidates as all tiles together do, and the number of groups.
fn cover(answers: &[Vec<u64>], tiles: usize) -> (Vec<usize>, usize) {
    let mut group = vec![0_usize; answers.len()];
    let mut groups = usize::from(!answers.is_empty());
    let mut chosen = Vec::new();
    loop {
        let split = |tile: usize| -> HashSet<(usize, u64)> {
            group.iter().zip(answers).map(|(group, answers)| (*group, answers[tile])).collect()
        };
        let all: Vec<usize> = (0..tiles).collect();
        let counts = parallel::map(&all, |tile| split(*tile).len());
        // The first of the best, so that corners come before drawn tiles.
        let Some((best, count)) = counts.into_iter().enumerate().rev().max_by_key(|(_, count)| *count) else { break };
        if count <= groups {
            break;
        }
        let mut names: Vec<(usize, u64)> = split(best).into_iter().collect();
        names.sort_unstable();
        group = group
            .iter()
            .zip(answers)
            .map(|(group, answers)| names.binary_search(&(*group, answers[best])).unwrap_or_default())
            .collect();
        groups = count;
        chosen.push(best);
    }
    (chosen, groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    #[test]
    fn a_kit_tells_the_known_arithmetics_apart_with_few_tiles() {
        let i = isa::find("mma.m16n8k32.f32.e4m3.e4m3.f32").unwrap();
        let kit = inputs(&i, 0, 0).unwrap();
        let known: Vec<Evaluator> =
            candidates(&kit.part).iter().map(|known| Evaluator::of(known.rule(), &kit.part).unwrap()).collect();
        let answers = |tiles: &Tiles| -> usize {
            known.iter().map(|known| known.execute(tiles).as_bytes().to_vec()).collect::<HashSet<_>>().len()
        };
        let told = answers(&kit.tiles);
        assert!(
            told >= 8 && told >= answers(&crate::inputs::stream::tiles(&kit.part, 1, 0, 500)),
            "{told} of {}",
            known.len()
        );
        assert!(kit.tiles.count <= 24 && kit.apart > 100, "{} tiles, {} groups", kit.tiles.count, kit.apart);
    }

    #[test]
    fn the_cover_splits_as_all_tiles_do() {
        let answers = vec![vec![0, 0, 1], vec![0, 1, 1], vec![1, 1, 1], vec![0, 0, 1]];
        assert_eq!(cover(&answers, 3), (vec![0, 1], 3));
        assert_eq!(cover(&[], 3), (vec![], 0));
    }
}
