//! Rates of several programs side by side: criterion's samples, and a table of the fastest of each.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use criterion::{BenchmarkGroup, measurement::WallTime};

/// What was measured: a row per task, a column per program.
#[derive(Default)]
pub(crate) struct Rates {
    columns: Vec<String>,
    rows: Vec<(String, Vec<Option<f64>>)>,
}

impl Rates {
    /// Measures `task` under `group`, and keeps the rate of its fastest sample: `work` units are done by one call.
    /// Nothing is kept if criterion's filter leaves it out.
    pub(crate) fn measure(
        &mut self,
        group: &mut BenchmarkGroup<'_, WallTime>,
        row: &str,
        column: &str,
        work: f64,
        mut task: impl FnMut(),
    ) {
        let mut fastest = f64::INFINITY;
        group.bench_function(column, |bencher| {
            bencher.iter_custom(|calls| {
                let start = Instant::now();
                for _ in 0..calls {
                    task();
                    black_box(());
                }
                let elapsed: Duration = start.elapsed();
                fastest = fastest.min(elapsed.as_secs_f64() / calls as f64);
                elapsed
            });
        });
        if fastest.is_finite() {
            self.insert(row, column, work / fastest);
        }
    }

    /// Puts a rate that was measured elsewhere into the table.
    pub(crate) fn insert(&mut self, row: &str, column: &str, rate: f64) {
        let column = place(&mut self.columns, |name| name == column, || column.to_string());
        let row = place(&mut self.rows, |(name, _)| name == row, || (row.to_string(), Vec::new()));
        let cells = &mut self.rows[row].1;
        if cells.len() <= column {
            cells.resize(column + 1, None);
        }
        cells[column] = Some(rate);
    }

    /// Prints the table, each column after the first with how many times slower than the first it is.
    pub(crate) fn print(&self, title: &str) {
        println!("\n{title}");
        print!("{:<16}", "");
        self.columns.iter().for_each(|column| print!("{column:>22}"));
        println!();
        for (name, cells) in &self.rows {
            print!("{name:<16}");
            let first = cells.first().copied().flatten();
            for (column, cell) in cells.iter().enumerate() {
                let text = match (cell, first) {
                    (None, _) => "-".to_string(),
                    (Some(rate), Some(first)) if column > 0 => format!("{rate:.2} ({:.2}x)", first / rate),
                    (Some(rate), _) => format!("{rate:.2}"),
                };
                print!("{text:>22}");
            }
            println!();
        }
    }
}

/// The place of the element that `is` accepts; a `new` one at the end if there is none.
fn place<T>(list: &mut Vec<T>, is: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> usize {
    list.iter().position(is).unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    })
}
