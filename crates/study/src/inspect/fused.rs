//! Tensors that one of two checkpoints fuses: rows of one tensor against its parts.

use super::{
    compare::{SAME_VALUES, Side, compare_values, reader, row},
    table::ComparedTensorRow,
};
use crate::{
    Result,
    base::visible::one_line,
    checkpoint::{Checkpoint, CheckpointTensor, TensorContent, aliases},
    tensor::{Matrices, TensorPiece, fused_parts},
};

/// Rows of each part by which the order of rows is found.
const SAMPLE: usize = 16;

/// A tensor of one checkpoint whose parts are tensors of the other.
pub(super) struct Fused<'a> {
    fused: Side<'a>,
    /// The parts in the usual order of their rows.
    parts: Vec<Side<'a>>,
    fused_is_first: bool,
}

/// Order of the rows of a fused tensor: of so many groups, each with rows of all parts in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RowOrder {
    parts: Vec<usize>,
    groups: usize,
}

/// The tensors of one checkpoint whose parts are in the other.
pub(super) fn find<'a>(of_fused: &'a Checkpoint, parts: &'a Checkpoint, fused_is_first: bool) -> Vec<Fused<'a>> {
    let lone = of_fused.tensors.iter().filter(|tensor| parts.by_any_name(&tensor.name).is_none());
    let found = lone.filter_map(|tensor| {
        let all = aliases(&tensor.name).into_iter().flat_map(|name| fused_parts(&name));
        let found = |names: Vec<String>| names.iter().map(|name| Some((parts, parts.by_any_name(name)?))).collect();
        let parts = all.into_iter().find_map(found)?;
        Some(Fused { fused: (of_fused, tensor), parts, fused_is_first })
    });
    found.collect()
}

/// The tensor with one row for each entry of its first axes; a vector becomes a column.
fn in_rows(tensor: &CheckpointTensor) -> CheckpointTensor {
    let mut tensor = tensor.clone();
    if let ([_], TensorContent::Plain(_)) = (&tensor.read_shape[..], &tensor.content) {
        tensor.read_shape.push(1);
    }
    tensor
}

/// The orders of parts that are tried, the usual first.
fn orders(sizes: &[usize]) -> Vec<RowOrder> {
    let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in sizes {
        let longer = |order: Vec<usize>| {
            let left = (0..sizes.len()).filter(|part| !order.contains(part)).collect::<Vec<_>>();
            left.into_iter().map(move |part| [&order[..], &[part]].concat())
        };
        orders = orders.into_iter().flat_map(longer).collect();
    }
    let usual = orders[0].clone();
    let least = sizes.iter().copied().min().unwrap_or(0);
    let groups = (2..=least).filter(|groups| sizes.iter().all(|size| size.is_multiple_of(*groups)));
    let blocks = orders.into_iter().map(|parts| RowOrder { parts, groups: 1 });
    blocks.chain(groups.map(|groups| RowOrder { parts: usual.clone(), groups })).collect()
}

impl RowOrder {
    /// Place in the fused tensor of a row of a part; rows are counted over all matrices.
    fn place(&self, sizes: &[usize], part: usize, row: usize) -> usize {
        let all: usize = sizes.iter().sum();
        let before: usize = self.parts.iter().take_while(|other| **other != part).map(|other| sizes[*other]).sum();
        let (matrix, row, each) = (row / sizes[part], row % sizes[part], sizes[part] / self.groups);
        matrix * all + row / each * (all / self.groups) + before / self.groups + row % each
    }
}

impl<'a> Fused<'a> {
    /// True if this is the fused tensor.
    pub(super) fn is_fused(&self, tensor: &CheckpointTensor) -> bool {
        std::ptr::eq(self.fused.1, tensor)
    }

    /// The number of a tensor among the parts.
    pub(super) fn part(&self, tensor: &CheckpointTensor) -> Option<usize> {
        self.parts.iter().position(|(_, part)| std::ptr::eq(*part, tensor))
    }

    /// Number of parts.
    pub(super) fn count(&self) -> usize {
        self.parts.len()
    }

    /// Compares a part with its rows of the fused tensor; `done` gets numbers of values.
    ///
    /// # Errors
    /// As [`super::compare`].
    pub(super) fn compare(&self, number: usize, done: &mut dyn FnMut(u64)) -> Result<ComparedTensorRow> {
        let (fused, part) = (in_rows(self.fused.1), in_rows(self.parts[number].1));
        // The fused tensor as the comparison sees it: so many of its rows.
        let viewed = CheckpointTensor {
            name: part.name.clone(),
            shape: part.shape.clone(),
            read_shape: part.read_shape.clone(),
            ..fused.clone()
        };
        let (fused_in, part_in) = (self.fused.0, self.parts[number].0);
        let (first, second): (Side, Side) = match self.fused_is_first {
            true => ((fused_in, &viewed), (part_in, &part)),
            false => ((part_in, &part), (fused_in, &viewed)),
        };
        let mut row = row(first, second);
        let name = one_line(&fused.name);
        row.fused = Some(fused.name.clone());
        if !fused.is_decoded() || self.parts.iter().any(|(_, part)| !part.is_decoded()) {
            row.finding = format!("not compared: '{name}' or a part of it is not decoded");
            return Ok(row);
        }
        let Some(sizes) = self.sizes() else {
            let shape = &fused.shape;
            row.finding = format!("not compared: '{name}' has the shape {shape:?}, and its parts have other rows");
            return Ok(row);
        };
        let order = self.order(&sizes)?;
        let Matrices { count, rows, .. } = Matrices::of(&part.read_shape);
        let places = (0..count * rows).map(|row| order.place(&sizes, number, row)).collect();
        let fused = reader((fused_in, &fused), Some(places))?;
        let part = reader((part_in, &part), part_in.unpaired(&part.name, rows))?;
        let readers = if self.fused_is_first { (fused, part) } else { (part, fused) };
        let mut row = compare_values(row, (first, second), &readers, true, done)?;
        row.fused_rows = Some(match order.groups {
            1 => {
                let start = order.place(&sizes, number, 0);
                format!("{start} to {}", start + sizes[number] - 1)
            }
            groups => format!("in {groups} groups"),
        });
        if order.parts != orders(&sizes)[0].parts {
            let stems: Vec<String> = order.parts.iter().map(|at| self.stem(*at)).collect();
            let same = if row.finding == SAME_VALUES { "same values, but" } else { "values differ, and" };
            row.finding = format!("{same} the rows of '{name}' lie in the order {}", stems.join(", "));
        }
        Ok(row)
    }

    /// The part of a name that the other parts do not share.
    fn stem(&self, number: usize) -> String {
        let words = |at: usize| self.parts[at].1.name.split('.');
        let other = if number == 0 { 1 } else { 0 };
        let own = words(number).zip(words(other)).find(|(word, other)| word != other);
        own.map_or(self.parts[number].1.name.clone(), |(word, _)| one_line(word).to_string())
    }

    /// Rows of the parts, if they are the rows of the fused tensor.
    fn sizes(&self) -> Option<Vec<usize>> {
        let fused = Matrices::of(&in_rows(self.fused.1).read_shape);
        let parts: Vec<Matrices> = self.parts.iter().map(|(_, part)| Matrices::of(&in_rows(part).read_shape)).collect();
        let fit = parts.iter().all(|part| (part.count, part.columns) == (fused.count, fused.columns) && part.rows > 0);
        let sizes: Vec<usize> = parts.iter().map(|part| part.rows).collect();
        (fit && sizes.iter().sum::<usize>() == fused.rows).then_some(sizes)
    }

    /// The order whose rows are nearest to those of the parts.
    ///
    /// It is the usual one, unless another is much nearer.
    fn order(&self, sizes: &[usize]) -> Result<RowOrder> {
        let fused = in_rows(self.fused.1);
        let fused = reader((self.fused.0, &fused), None)?;
        let all = orders(sizes);
        let mut distances = vec![0.0; all.len()];
        for (number, (checkpoint, part)) in self.parts.iter().enumerate() {
            let part = in_rows(part);
            let Matrices { rows, columns, .. } = Matrices::of(&part.read_shape);
            let part = reader((checkpoint, &part), checkpoint.unpaired(&part.name, rows))?;
            let one = |row: usize| TensorPiece { rows: row..row + 1, columns: 0..columns };
            for at in 0..SAMPLE {
                let row = rows * (2 * at + 1) / (2 * SAMPLE);
                let values = part.values(&one(row), None)?;
                for (order, distance) in all.iter().zip(&mut distances) {
                    let others = fused.values(&one(order.place(sizes, number, row)), None)?;
                    let pairs = values.iter().zip(&others).filter(|(x, y)| x.is_finite() && y.is_finite());
                    *distance += pairs.map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
                }
            }
        }
        let least = (0..all.len()).min_by(|x, y| distances[*x].total_cmp(&distances[*y])).unwrap_or(0);
        let nearest = if distances[least] < distances[0] / 4.0 { least } else { 0 };
        Ok(all.into_iter().nth(nearest).expect("the usual order is one"))
    }
}
