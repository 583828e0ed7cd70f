//! Tables of trees.

use std::collections::BTreeSet;

use super::{DeviceOrders, InstructionOrder};
use crate::{
    base::sentence::listed,
    order::{Contradiction, Leaf, WIDE, drawing, notation},
    report::{Report, Table, Verdict, counted},
};

/// Longest tree, in characters, that an answer repeats.
const LONGEST: usize = 80;

crate::rows! {
    /// The order of an instruction's sum.
    pub struct TreeRow in "trees" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// Row and column of D that were asked, where elements may differ.
        element: Option<Vec<u64>> => hidden(),
        /// Number of terms, c included.
        terms: usize => shown("terms"),
        /// Number of steps.
        steps: usize => shown("steps"),
        /// Largest number of steps that a term passes.
        depth: usize => shown("depth"),
        /// Number of steps whose inner order is undecided.
        undecided: usize => shown("undecided").essential(),
        /// Number of cases asked.
        cases: usize => shown("cases"),
        /// Number of checks of the finished tree.
        checks: usize => shown("checks"),
        /// Number of checks that contradict the tree.
        contradictions: usize => shown("contradictions").essential(),
        /// Smallest ratio of a large to a small term in the cases, as a power of two.
        least_span: Option<i32> => hidden(),
        /// Largest ratio of a large to a small term in the cases, as a power of two.
        greatest_span: Option<i32> => hidden(),
        /// The tree on one line: (x + y) added, {x, y} fused, exact{...}, ?{...} undecided, chain(x, y, z).
        tree: String => shown("tree").essential(),
    }

    /// A line of the drawing of a tree: the last step first, the parts of each step below it.
    pub struct DrawingRow in "drawing" {
        /// The line.
        line: String => shown("drawing").essential(),
    }

    /// A case that contradicts the tree: two large terms that cancel, and a small term, lost or kept.
    pub struct ContradictionRow in "contradictions" {
        /// The instruction.
        instruction: String => shown("instruction").if_varied(),
        /// The large terms: c, or k.
        large: Vec<String> => shown("large").essential(),
        /// The small term.
        small: String => shown("small").essential(),
        /// True if the device keeps the small term.
        kept: bool => shown("kept").essential(),
        /// The row of A.
        a: Vec<String> => hidden(),
        /// The column of B.
        b: Vec<String> => hidden(),
        /// The element of C.
        c: String => hidden(),
    }
}

/// Fills `report` with the orders found on the device `name`.
pub fn report(all: &DeviceOrders, name: &str, report: &mut Report) {
    let orders = &all.orders;
    let rows: Vec<TreeRow> = orders.iter().map(row).collect();
    let rests: Vec<String> =
        orders.iter().filter(|order| !order.tree.cancels).map(|order| order.instruction.name.clone()).collect();
    report.answer = match (&rests[..], &rows[..]) {
        ([name_of], [_]) => Some(format!(
            "{name_of} on {name} leaves a rest of a term and its opposite, so masks do not show the order of its sum; the tree is a guess."
        )),
        _ => answer(&rows, name),
    };
    report.holds = rests.is_empty() && rows.iter().all(|row| row.contradictions == 0);
    if !rests.is_empty() && rows.len() > 1 {
        report.notes.push(format!("A term and its opposite leave a rest, so the tree is a guess: {}.", listed(&rests)));
    }
    report.verdict = Verdict::Contradicted;
    report.notes.extend(all.left_out.iter().cloned().chain(limits(orders)));
    report.tables.push(Table::of("Order of the sum", rows));
    if let [InstructionOrder { instruction, tree, .. }] = &orders[..] {
        let lines = drawing(&tree.order).into_iter().map(|line| DrawingRow { line });
        report.tables.push(Table::of(format!("Tree of {instruction}"), lines));
    }
    report.tables.extend(Table::of("Contradictions", orders.iter().flat_map(contradictions)).filled());
}

/// The note on what the formats of the instructions cannot show.
fn limits(orders: &[InstructionOrder]) -> Option<String> {
    if let [order] = orders {
        let (i, (least, greatest)) = (&order.instruction, order.tree.spans);
        return match order.tree.undecided() {
            0 if least < WIDE => Some(format!(
                "{i}: terms of these formats differ by at most 2^{least}. A step that keeps more bits of some parts may appear as two."
            )),
            0 => None,
            count => Some(format!(
                "{i}: the order within {} is undecided. Terms of these formats differ by at most 2^{greatest}, too little for one to \
                 be lost.",
                counted(count as u64, "step")
            )),
        };
    }
    let near = orders.iter().filter(|order| order.tree.undecided() == 0 && order.tree.spans.0 < WIDE).count();
    (near > 0).then(|| {
        format!(
            "{near} of {} instructions have formats whose terms differ by less than 2^{WIDE}. A step that keeps many bits of some parts \
             may appear as two.",
            orders.len()
        )
    })
}

/// The row of an instruction.
fn row(InstructionOrder { instruction, element, tree }: &InstructionOrder) -> TreeRow {
    let spans = Some(tree.spans).filter(|(least, greatest)| least <= greatest);
    TreeRow {
        instruction: instruction.name.clone(),
        element: element.map(|place| vec![place.row as u64, place.column as u64]),
        terms: tree.order.leaves().len(),
        steps: tree.order.meetings().len(),
        depth: tree.order.depth(),
        undecided: tree.undecided(),
        cases: tree.asked,
        checks: tree.checked,
        contradictions: tree.contradictions.len(),
        least_span: spans.map(|spans| spans.0),
        greatest_span: spans.map(|spans| spans.1),
        tree: notation(&tree.order),
    }
}

/// The answer for the device `device`; `None` where nothing was found.
fn answer(rows: &[TreeRow], device: &str) -> Option<String> {
    let contradicted = rows.iter().filter(|row| row.contradictions > 0).count();
    match rows {
        [] => None,
        [row] if contradicted > 0 => Some(format!(
            "{} on {device} has no fixed order of its sum: {} of {} checks contradict the nearest tree.",
            row.instruction, row.contradictions, row.checks
        )),
        [row] => {
            let steps = if row.steps == 1 { "one step".into() } else { format!("{} steps", row.steps) };
            let open = if row.undecided == 0 { String::new() } else { format!(" ({} undecided)", row.undecided) };
            let tree = if row.tree.len() <= LONGEST { format!(": {}", row.tree) } else { String::new() };
            Some(format!("{} on {device} sums its {} terms in {steps}{open}{tree}.", row.instruction, row.terms))
        }
        rows => {
            let orders = rows.iter().map(|row| &row.tree).collect::<BTreeSet<_>>().len();
            let undecided = rows.iter().filter(|row| row.undecided > 0).count();
            Some(format!(
                "{} instructions on {device} have {orders} different orders; {undecided} have an undecided step, and {contradicted} have no \
                 fixed order.",
                rows.len()
            ))
        }
    }
}

/// The rows of the cases that contradict a tree.
fn contradictions(order: &InstructionOrder) -> impl Iterator<Item = ContradictionRow> {
    let i = &order.instruction;
    order.tree.contradictions.iter().map(|Contradiction { huge, tiny, kept, case }| ContradictionRow {
        instruction: i.name.clone(),
        large: huge.iter().map(|leaf: &Leaf| leaf.name()).collect(),
        small: tiny.name(),
        kept: *kept,
        a: case.a.iter().map(|code| i.a.hex(*code)).collect(),
        b: case.b.iter().map(|code| i.b.hex(*code)).collect(),
        c: i.c.hex(case.c),
    })
}
