//! Packing of cases into few tiles: each element of D is a case if its row and column allow.

use std::{cmp::Reverse, collections::HashMap};

use super::{Corner, Corners, sketch::NamedCase};
use crate::{
    inputs::Position,
    isa::{Case, Instruction, Tiles},
};

/// Tile under construction: the contents of each row and column, by number, and the elements in use.
struct Open {
    rows: Vec<Option<usize>>,
    columns: Vec<Option<usize>>,
    used: Vec<bool>,
}

impl Open {
    fn new(i: &Instruction) -> Open {
        Open { rows: vec![None; i.m], columns: vec![None; i.n], used: vec![false; i.m * i.n] }
    }

    /// Free element for row `a` and column `b` with the fewest new lines, and its cost.
    /// A new row costs n, a new column m: the share of the tile that it uses up.
    fn best(&self, a: usize, b: usize) -> Option<(usize, usize, usize)> {
        let (m, n) = (self.rows.len(), self.columns.len());
        let rows = candidates(&self.rows, a, n);
        let columns = candidates(&self.columns, b, m);
        rows.iter()
            .flat_map(|&(row, cost)| columns.iter().map(move |&(column, more)| (cost + more, row, column)))
            .filter(|&(_, row, column)| !self.used[row * n + column])
            .min()
    }
}

/// Lines that hold `content`, at no cost, and the first empty one.
fn candidates(lines: &[Option<usize>], content: usize, cost: usize) -> Vec<(usize, usize)> {
    let holding = (0..lines.len()).filter(|&line| lines[line] == Some(content)).map(|line| (line, 0));
    let empty = lines.iter().position(Option::is_none).map(|line| (line, cost));
    holding.chain(empty).collect()
}

/// Gives equal sequences of codes the same number.
fn number<'a>(known: &mut HashMap<[&'a [u64]; 3], usize>, codes: [&'a [u64]; 3]) -> usize {
    let next = known.len();
    *known.entry(codes).or_insert(next)
}

/// Packs the cases, each into the tile where it costs the fewest new lines.
/// Cases with common columns go first, so that the rare ones fill the gaps.
pub(super) fn pack(i: &Instruction, cases: &[NamedCase]) -> Corners {
    let (mut rows, mut columns) = (HashMap::new(), HashMap::new());
    let mut lines = Vec::with_capacity(cases.len());
    for NamedCase { case, .. } in cases {
        let row = number(&mut rows, [&case.a, &case.positions, &case.scale_a]);
        lines.push((row, number(&mut columns, [&case.b, &case.scale_b, &[]])));
    }
    let mut uses = vec![0usize; columns.len()];
    lines.iter().for_each(|(_, b)| uses[*b] += 1);
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by_key(|&at| Reverse(uses[lines[at].1]));
    let mut open: Vec<Open> = Vec::new();
    let mut positions = vec![Position { tile: 0, row: 0, column: 0 }; cases.len()];
    for at in order {
        let (a, b) = lines[at];
        let best = open.iter().enumerate().filter_map(|(tile, o)| o.best(a, b).map(|(cost, r, c)| (cost, tile, r, c)));
        let (tile, row, column) = best.min().map_or((open.len(), 0, 0), |(_, tile, row, column)| (tile, row, column));
        if tile == open.len() {
            open.push(Open::new(i));
        }
        open[tile].rows[row] = Some(a);
        open[tile].columns[column] = Some(b);
        open[tile].used[row * i.n + column] = true;
        positions[at] = Position { tile, row, column };
    }
    let named = cases.iter().zip(&positions);
    let list: Vec<Corner> =
        named.map(|(case, position)| Corner { name: case.name.clone(), position: *position }).collect();
    let mut tiles = Tiles::zeros(i, open.len());
    for (NamedCase { case, .. }, corner) in cases.iter().zip(&list) {
        write(&mut tiles, i, case, corner.position, &open[corner.position.tile]);
    }
    Corners { tiles, list }
}

/// Writes a case's row, column and c; unused elements of its row get its c too.
fn write(tiles: &mut Tiles, i: &Instruction, case: &Case, at: Position, open: &Open) {
    let Position { tile, row, column } = at;
    tiles.place(i, tile, row, column, case);
    for other in (0..i.n).filter(|&other| other == column || !open.used[row * i.n + other]) {
        tiles.c.set((tile * i.m + row) * i.n + other, case.c);
    }
}
