//! The tables of trees.

use std::collections::BTreeSet;

use super::{Contradiction, FoundOrder, Leaf, Manner, drawing, notation};
use crate::{isa::Instruction, report::Table};

/// The most characters of a tree that an answer repeats.
const LONGEST: usize = 80;

crate::rows! {
    /// The order in which an instruction sums.
    pub struct TreeRow in "trees" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// The row and column of D that were asked, where elements may differ.
        element: Option<Vec<u64>> => hidden(),
        /// How many terms it sums, c included.
        terms: usize => shown("terms"),
        /// In how many steps.
        steps: usize => shown("steps"),
        /// The most steps that a term passes.
        depth: usize => shown("depth"),
        /// How many steps are of terms whose order is not decided.
        undecided: usize => shown("undecided").essential(),
        /// How many cases were asked.
        cases: usize => shown("cases"),
        /// How many of them tested the tree in the end.
        checks: usize => shown("checks"),
        /// How many of those contradict it.
        contradictions: usize => shown("contradictions").essential(),
        /// The least ratio of a large term to a small one, as a power of two.
        least_span: Option<i32> => hidden(),
        /// The greatest.
        greatest_span: Option<i32> => hidden(),
        /// The tree on one line: (x + y) two that are added, {x, y, z} fused, exact{...} without loss, ?{...} undecided, chain(x, y, z) one after the other.
        tree: String => shown("tree").essential(),
    }

    /// A line of the drawing of a tree: the last step first, and below each step what it sums.
    pub struct DrawingRow in "drawing" {
        /// The line.
        line: String => shown("drawing").essential(),
    }

    /// A sum that does not do what its tree says: of two large terms that cancel and a small one, the small one should be kept or lost.
    pub struct ContradictionRow in "contradictions" {
        /// The instruction.
        instruction: String => shown("instruction").if_varied(),
        /// The large terms: c, or k.
        large: Vec<String> => shown("large").essential(),
        /// The small one.
        small: String => shown("small").essential(),
        /// Whether the device keeps it.
        kept: bool => shown("kept").essential(),
        /// The row of A.
        a: Vec<String> => hidden(),
        /// The column of B.
        b: Vec<String> => hidden(),
        /// The element of C.
        c: String => hidden(),
    }
}

/// The row of what was found of an instruction.
pub fn row(i: &Instruction, element: Option<(usize, usize)>, found: &FoundOrder) -> TreeRow {
    let meetings = found.order.meetings();
    let spans = Some(found.spans).filter(|(least, greatest)| least <= greatest);
    TreeRow {
        instruction: i.name.clone(),
        element: element.map(|(row, column)| vec![row as u64, column as u64]),
        terms: found.order.leaves().len(),
        steps: meetings.len(),
        depth: found.order.depth(),
        undecided: meetings.iter().filter(|meeting| meeting.manner == Manner::Undecided).count(),
        cases: found.asked,
        checks: found.checked,
        contradictions: found.contradictions.len(),
        least_span: spans.map(|spans| spans.0),
        greatest_span: spans.map(|spans| spans.1),
        tree: notation(&found.order),
    }
}

/// What was found, in one sentence, of a device with this name; `None` where nothing was.
pub fn answer(rows: &[TreeRow], device: &str) -> Option<String> {
    let contradicted = rows.iter().filter(|row| row.contradictions > 0).count();
    match rows {
        [] => None,
        [row] if contradicted > 0 => Some(format!(
            "{} on {device} is no tree of sums: {} of {} checks contradict the nearest one.",
            row.instruction, row.contradictions, row.checks
        )),
        [row] => {
            let steps = if row.steps == 1 { "one step".into() } else { format!("{} steps", row.steps) };
            let open = match row.undecided {
                0 => String::new(),
                1 => ", the order within one of them undecided".into(),
                count => format!(", the order within {count} of them undecided"),
            };
            let tree = if row.tree.len() <= LONGEST { format!(": {}", row.tree) } else { String::new() };
            Some(format!("{} on {device} sums its {} terms in {steps}{open}{tree}.", row.instruction, row.terms))
        }
        rows => {
            let orders = rows.iter().map(|row| &row.tree).collect::<BTreeSet<_>>().len();
            let undecided = rows.iter().filter(|row| row.undecided > 0).count();
            Some(format!(
                "{} instructions on {device} sum in {orders} different orders; {undecided} leave a step undecided, and {contradicted} \
                 are no tree.",
                rows.len()
            ))
        }
    }
}

/// The drawing of a tree.
pub fn drawn(i: &Instruction, found: &FoundOrder) -> Table {
    Table::of(format!("The order of {i}"), drawing(&found.order).into_iter().map(|line| DrawingRow { line }))
}

/// The rows of what contradicts a tree.
pub fn contradictions(i: &Instruction, found: &FoundOrder) -> Vec<ContradictionRow> {
    let row = |Contradiction { huge, tiny, kept, case }: &Contradiction| ContradictionRow {
        instruction: i.name.clone(),
        large: huge.iter().map(|leaf: &Leaf| leaf.name()).collect(),
        small: tiny.name(),
        kept: *kept,
        a: case.a.iter().map(|code| i.a.hex(*code)).collect(),
        b: case.b.iter().map(|code| i.b.hex(*code)).collect(),
        c: i.c.hex(case.c),
    };
    found.contradictions.iter().map(row).collect()
}
