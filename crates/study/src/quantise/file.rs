//! The tensors of files, quantised one after the other.

use std::collections::BTreeSet;

use super::{
    Quantisation,
    budget::{Budget, PlannedFormats},
    losses::{WORST, WorstRun},
    table::{self, QuantisationRow, TensorQuantisationRow, WorstRunRow},
    tensor::TensorLosses,
    view::TensorRows,
};
use crate::{
    Result,
    array::{ArrayFile, StreamedArray},
    report::{Table, counted},
    tensor::UnsoundValues,
};

/// A number of tensors, and of their values.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TensorCount {
    /// The tensors.
    pub tensors: u64,
    /// Their values.
    pub values: u64,
}

impl TensorCount {
    fn add(&mut self, array: &StreamedArray) {
        self.tensors += 1;
        self.values += array.len() as u64;
    }
}

/// Losses of the tensors so far.
#[derive(Debug, Default)]
pub struct FileLosses {
    /// For each target, those of the tensors whose values all are plausible weights.
    all: Vec<TensorLosses>,
    /// The tensors that `all` is about.
    sound: TensorCount,
    unsound: UnsoundValues,
    /// Names of the tensors that `all` leaves out.
    left_out: BTreeSet<String>,
    /// The tensors and columns of the worst runs of each target.
    worst: Vec<Vec<(WorstRun, String, usize)>>,
    tensors: Vec<TensorQuantisationRow>,
    /// All tensors so far.
    pub counted: TensorCount,
    budget: Budget,
}

impl FileLosses {
    /// Quantises a tensor, and adds what it lost.
    ///
    /// # Errors
    /// An axis that it does not have, elements that are no numbers, a file that cannot be read, a signal.
    pub fn add(&mut self, how: &Quantisation, file: &ArrayFile, array: &StreamedArray) -> Result<()> {
        let view = TensorRows::new(file, array, how.axis)?;
        let columns = view.columns;
        let results = how.tensor(view)?;
        self.all.resize_with(how.targets.len(), TensorLosses::default);
        self.worst.resize_with(how.targets.len(), Vec::new);
        let is_sound = results.first().is_none_or(|result| {
            let losses = &result.losses.losses;
            !self.unsound.add(&array.name, [losses.nan, losses.infinite], Some(result.losses.largest.into()))
        });
        if is_sound {
            self.sound.add(array);
            self.budget.add(&array.name, how.targets, &results);
        } else {
            self.left_out.insert(array.name.clone());
        }
        for (at, (target, result)) in how.targets.iter().zip(&results).enumerate() {
            self.tensors.push(TensorQuantisationRow {
                tensor: array.name.clone(),
                shape: array.shape.clone(),
                quantisation: table::row(target, result),
            });
            let runs = result.losses.worst.iter().map(|run| (*run, array.name.clone(), columns));
            self.worst[at].extend(runs);
            self.worst[at].sort_by(|x, y| y.0.ratio.total_cmp(&x.0.ratio));
            self.worst[at].truncate(WORST);
            if !is_sound {
                continue;
            }
            let all = &mut self.all[at];
            all.losses.add(&result.losses);
            if let Some(product) = result.product {
                all.product.get_or_insert_default().add(&product);
            }
        }
        self.counted.add(array);
        Ok(())
    }

    /// The format of each tensor with the least loss in at most so many bits a value.
    ///
    /// `names` are the formats as the user gave them.
    ///
    /// # Errors
    /// A budget below all formats; scales that files do not have.
    pub fn plan(&mut self, how: &Quantisation, names: &[String], bits: f64) -> Result<PlannedFormats> {
        std::mem::take(&mut self.budget).plan(how.targets, names, bits)
    }

    /// The target of least error in a sentence, and the tables: all tensors, each tensor, the worst runs.
    ///
    /// The sentence on a plan follows the one on values that no weight has.
    pub fn results(self, how: &Quantisation, plan: Option<String>) -> (Option<String>, Vec<Table>) {
        let TensorCount { tensors, values } = self.counted;
        let of_all = || how.targets.iter().zip(&self.all).map(|(target, result)| table::row(target, result));
        let of_all: Vec<QuantisationRow> = if self.sound.tensors > 0 { of_all().collect() } else { Vec::new() };
        let is_sound = |row: &&TensorQuantisationRow| !self.left_out.contains(&row.tensor);
        let sound: Vec<&TensorQuantisationRow> = self.tensors.iter().filter(is_sound).collect();
        let mut sentences: Vec<String> = self.unsound.sentence().into_iter().chain(plan).collect();
        sentences.extend(table::answer(how.targets, &of_all, &sound));
        sentences.extend(match (self.unsound.tensors() as u64, self.sound.tensors) {
            (0, _) => None,
            (_, 0) => Some("No mean is given.".to_string()),
            (count, _) => Some(format!("The mean leaves out {}.", counted(count, "tensor"))),
        });
        let answer = (!sentences.is_empty()).then(|| sentences.join(" "));
        let mut tables = Vec::new();
        if tensors == 1 {
            let rows: Vec<QuantisationRow> = self.tensors.iter().map(|row| row.quantisation.clone()).collect();
            tables.push(Table::of(format!("1 tensor, {values} values"), rows));
        } else if self.sound.tensors > 0 {
            let what = counted(self.sound.tensors, "tensor");
            tables.push(Table::of(format!("{what}, {} values", self.sound.values), of_all));
        }
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
