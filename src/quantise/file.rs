//! The tensors of files, quantised one after the other.

use super::{
    Quantisation,
    losses::{WORST, WorstRun},
    table::{self, QuantisationRow, TensorQuantisationRow, WorstRunRow},
    tensor::TensorLosses,
    view::TensorRows,
};
use crate::{
    Result,
    array::{ArrayFile, StreamedArray},
    report::Table,
};

/// Losses of the tensors so far.
#[derive(Debug, Default)]
pub struct FileLosses {
    all: Vec<TensorLosses>,
    /// The tensors and columns of the worst runs of each target.
    worst: Vec<Vec<(WorstRun, String, usize)>>,
    tensors: Vec<TensorQuantisationRow>,
    /// Tensors, and values of them.
    pub counted: (u64, u64),
}

impl FileLosses {
    /// Quantises a tensor, and adds what it lost.
    ///
    /// # Errors
    /// An axis that it does not have, elements that are no numbers, a file that cannot be read, a signal.
    pub fn add(&mut self, how: &Quantisation, file: &ArrayFile, array: &StreamedArray) -> Result<()> {
        let view = TensorRows::new(file, array, how.axis)?;
        let columns = view.columns;
        let found = how.tensor(view)?;
        self.all.resize_with(how.targets.len(), TensorLosses::default);
        self.worst.resize_with(how.targets.len(), Vec::new);
        for (at, (target, own)) in how.targets.iter().zip(&found).enumerate() {
            self.tensors.push(TensorQuantisationRow {
                tensor: array.name.clone(),
                shape: array.shape.clone(),
                quantisation: table::row(target, own),
            });
            let runs = own.losses.worst.iter().map(|run| (*run, array.name.clone(), columns));
            self.worst[at].extend(runs);
            self.worst[at].sort_by(|x, y| y.0.ratio.total_cmp(&x.0.ratio));
            self.worst[at].truncate(WORST);
            let all = &mut self.all[at];
            all.losses.add(&own.losses);
            if let Some(product) = own.product {
                all.product.get_or_insert_default().add(product);
            }
        }
        self.counted.0 += 1;
        self.counted.1 += array.len() as u64;
        Ok(())
    }

    /// The target of least error in a sentence, and the tables: all tensors, each tensor, the worst runs.
    pub fn results(self, how: &Quantisation) -> (Option<String>, Vec<Table>) {
        let (tensors, values) = self.counted;
        let of_all: Vec<QuantisationRow> =
            how.targets.iter().zip(&self.all).map(|(target, own)| table::row(target, own)).collect();
        let answer = table::answer(how.targets, &of_all, &self.tensors);
        let plural = if tensors == 1 { "tensor" } else { "tensors" };
        let mut tables = vec![Table::of(format!("{tensors} {plural}, {values} values"), of_all)];
        if tensors > 1 {
            tables.push(Table::of("Quantisation of each tensor", self.tensors));
        }
        let worst = how.targets.iter().zip(&self.worst).flat_map(|(target, runs)| {
            runs.iter().map(move |(run, name, columns)| table::worst(target, name, *columns, run))
        });
        let worst: Vec<WorstRunRow> = worst.collect();
        if !worst.is_empty() {
            tables.push(Table::of("Worst runs", worst));
        }
        (answer, tables)
    }
}
