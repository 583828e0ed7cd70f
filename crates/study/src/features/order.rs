//! The order of the sum, the place of c, and the position within D.

use super::{FeatureCells, FeatureFinding, FeatureWitness};
use crate::{
    Result,
    device::{Batches, Device, ask},
    inputs::Sequence,
    isa::{Case, Codes, Instruction, MatrixShape, Tiles},
    order::{Leaf, Manner, Order, notation},
};

/// Number of cases asked in every element.
const CASES: usize = 4;

/// Adds the features that follow from the order.
pub(super) fn measure(order: &Order, table: &mut FeatureCells) {
    table.put("order", Ok((words(order), None)));
    table.put("c", Ok((entry_of_c(order).into(), None)));
}

/// An order on one line.
pub fn words(order: &Order) -> String {
    notation(order)
}

/// The place where c enters, in words.
pub fn entry_of_c(order: &Order) -> &'static str {
    let is_c = |part: &Order| *part == Order::Leaf(Leaf::C);
    let is_leaf = |part: &Order| matches!(part, Order::Leaf(_));
    let meetings = order.meetings();
    let Some(meeting) = meetings.iter().find(|meeting| meeting.parts.iter().any(is_c)) else { return "nowhere" };
    let is_last = meetings.first().is_some_and(|root| std::ptr::eq(*root, *meeting));
    let others = || meeting.parts.iter().filter(|part| !is_c(part));
    match (is_last, meeting.manner) {
        (true, Manner::Pair) if others().all(is_leaf) => "with the product",
        (true, _) if others().all(is_leaf) => "with all products",
        (true, Manner::Pair) => "last",
        (true, _) if others().all(|part| is_leaf(part) || is_exact(part)) => "with all products",
        (true, _) => "in the last step",
        (false, Manner::Pair) if others().all(is_leaf) => "with the first product",
        (false, _) if others().all(|part| is_leaf(part) || is_exact(part)) => "with the first products",
        (false, Manner::Pair) => "before the other sums",
        (false, _) => "between",
    }
}

/// True if a part is an exact sum.
pub(super) fn is_exact(part: &Order) -> bool {
    matches!(part, Order::Meeting(meeting) if meeting.manner == Manner::Exact)
}

/// Measures whether position or neighbours change a result; returns the element to ask if they do.
pub(super) fn position(
    device: &mut dyn Device,
    batches: &mut Batches,
    i: &Instruction,
) -> Result<(Option<(usize, usize)>, FeatureFinding)> {
    let drawn = Sequence::Random { seed: 0 }.tiles(i, 0, CASES);
    let cases: Vec<Case> = (0..CASES).map(|tile| drawn.case(i, tile, 0, 0)).collect();
    let finding =
        |word: &str, at: usize, d: u64| Ok((word.to_string(), Some(FeatureWitness { case: cases[at].clone(), d })));
    // A model computes each element with the same program.
    if device.model().is_some() {
        let codes = ask(device, batches, i, &cases[..1], 0, 0, 1)?;
        return Ok((None, finding("none", 0, codes[0])));
    }
    let last = (i.m - 1, i.n - 1);
    // Each case is asked in all elements, then alone in the first and in the last element.
    let mut tiles = Tiles::zeros(i, 3 * CASES);
    for (at, case) in cases.iter().enumerate() {
        for row in 0..i.m {
            (0..i.n).for_each(|column| tiles.place(i, at, row, column, case));
        }
        tiles.place(i, CASES + at, 0, 0, case);
        tiles.place(i, 2 * CASES + at, last.0, last.1, case);
    }
    let outputs = batches.execute(device, i, MatrixShape { rows: i.m, columns: i.n }, &tiles)?;
    let each = i.m * i.n;
    for (at, (first, others)) in (0..CASES).map(|at| (at, everywhere(&outputs, at, each))) {
        if let Some(other) = others.into_iter().find(|other| *other != first) {
            return Ok((Some((0, 0)), finding("row or column", at, other)));
        }
        for alone in [outputs.get((CASES + at) * each), outputs.get((2 * CASES + at) * each + each - 1)] {
            if alone != first {
                return Ok((Some((0, 0)), finding("neighbours", at, alone)));
            }
        }
    }
    Ok((None, finding("none", 0, outputs.get(0))))
}

/// The first output of a tile, and all others.
fn everywhere(outputs: &Codes, tile: usize, each: usize) -> (u64, Vec<u64>) {
    let at = tile * each;
    (outputs.get(at), (at + 1..at + each).map(|at| outputs.get(at)).collect())
}
