//! Wide tables, split into parts that fit and that each name their rows.

use std::collections::BTreeSet;

use unicode_width::UnicodeWidthStr;

use super::human::ShownTable;

/// Largest number of rows that are compared to choose the columns that name a row.
const COMPARED: usize = 1000;

/// Room for the columns of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Characters in a line.
    pub width: usize,
    /// Characters between two columns.
    pub gap: usize,
    /// Longest text that is not wrapped.
    pub longest: usize,
    /// Width of a cell in characters.
    pub measure: fn(&str) -> usize,
}

impl Room {
    /// Total width of columns.
    pub(super) fn total(&self, widths: impl Iterator<Item = usize>) -> usize {
        let (count, sum) = widths.fold((0, 0), |(count, sum), width| (count + 1, sum + width));
        sum + self.gap * usize::saturating_sub(count, 1)
    }

    /// True if columns of these widths fit.
    pub(super) fn fits(&self, widths: impl Iterator<Item = usize>) -> bool {
        self.total(widths) <= self.width
    }

    /// For a table that is too wide: its columns of equal cells, as `heading: cell`, and the other columns.
    ///
    /// Numbers stay, because they are the result; long texts stay, and at least one column.
    pub(super) fn hoisted(&self, shown: ShownTable) -> (Vec<String>, ShownTable) {
        let columns = shown.labels.len();
        let width = |i: usize| shown.rows.iter().map(|row| (self.measure)(&row[i])).max().unwrap_or(0);
        let wide = !self.fits((0..columns).map(|i| width(i).max((self.measure)(&shown.labels[i]))));
        let same = |i: usize| shown.rows.windows(2).all(|pair| pair[0][i] == pair[1][i]);
        let moves = |i: usize| !shown.numeric[i] && width(i) <= self.longest && same(i);
        let kept: Vec<usize> = (0..columns).filter(|&i| !moves(i)).collect();
        if !wide || shown.rows.len() < 2 || kept.is_empty() || kept.len() == columns {
            return (Vec::new(), shown);
        }
        let gone = (0..columns).filter(|i| !kept.contains(i));
        let common = gone.map(|i| format!("{}: {}", shown.labels[i], shown.rows[0][i])).collect();
        (common, shown.only(&kept))
    }

    /// The columns of each part: all if they fit, else the naming columns and as many others as fit.
    ///
    /// `beside` marks columns that stay next to the one before them.
    pub(super) fn parts(
        &self,
        widths: &[usize],
        numeric: &[bool],
        beside: &[bool],
        rows: &[Vec<String>],
    ) -> Vec<Vec<usize>> {
        if self.fits(widths.iter().copied()) {
            return vec![(0..widths.len()).collect()];
        }
        let names = self.naming_columns(widths, numeric, &rows[..rows.len().min(COMPARED)]);
        let count_new = |part: &[usize]| part.iter().filter(|i| !names.contains(i)).count();
        let mut parts: Vec<Vec<usize>> = vec![Vec::new()];
        for (i, &stays) in beside.iter().enumerate() {
            let first = parts.len() == 1;
            if !first && names.contains(&i) {
                continue;
            }
            let part = parts.last_mut().expect("one at least");
            let fit = |columns: &[usize]| self.fits(columns.iter().map(|&j| widths[j]));
            // Every part has at least one new column, however wide.
            if fit(&[&part[..], &[i]].concat()) || part.len() == if first { 0 } else { names.len() } {
                part.push(i);
                continue;
            }
            let mut next = names.clone();
            if let Some(&last) = part.last().filter(|&&last| stays && last + 1 == i && count_new(part) > 1)
                && fit(&[&names[..], &[last, i]].concat())
            {
                part.pop();
                next.push(last);
            }
            next.extend((!names.contains(&i)).then_some(i));
            parts.push(next);
        }
        parts
    }

    /// The first column, and the fewest other text columns that make rows unique, within half of the width.
    fn naming_columns(&self, widths: &[usize], numeric: &[bool], rows: &[Vec<String>]) -> Vec<usize> {
        let distinct = |names: &[usize]| {
            let named = rows.iter().map(|row| names.iter().map(|&i| row[i].as_str()).collect::<Vec<_>>());
            named.collect::<BTreeSet<_>>().len()
        };
        let mut names = vec![0];
        while distinct(&names) < rows.len() {
            let longer = |i: usize| names.iter().copied().chain([i]).collect::<Vec<_>>();
            let candidates = (1..widths.len()).filter(|&i| !numeric[i] && !names.contains(&i)).map(longer);
            let narrow = candidates.filter(|names| self.total(names.iter().map(|&i| widths[i])) <= self.width / 2);
            let best = narrow.rev().max_by_key(|names| distinct(names));
            match best {
                Some(best) if distinct(&best) > distinct(&names) => names = best,
                _ => break,
            }
        }
        names.sort_unstable();
        names
    }
}

/// Width of the widest line on a terminal.
pub(super) fn cell_width(text: &str) -> usize {
    text.lines().map(|line| if line.is_ascii() { line.len() } else { line.width() }).max().unwrap_or(0)
}
