//! One dot-product-add computed by models, by a device, or as recorded.

use std::path::Path;

use super::{answer, results};
use crate::{
    Error, Result,
    arithmetic::{Model, of_target},
    comparison::{Subject, operands},
    device::{Batches, DEFAULT_MODEL, Device, Generation, selection},
    isa::{Case, Instruction, MatrixShape, Tiles},
    report::{Report, Verdict},
    steps::{rows, table},
    trace::Trace,
};

/// The result of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceResult {
    /// The name of the device.
    pub device: String,
    /// The code of D.
    pub code: u64,
}

/// A dot-product-add, with the tile that it is in.
#[derive(Debug, Clone)]
pub struct DotProductAdd {
    /// The instruction.
    pub instruction: Instruction,
    /// The operands.
    pub case: Case,
    tile: Tiles,
    /// The place of its output in the tile's.
    at: usize,
    /// The recorded code of its output.
    recorded: Option<u64>,
    /// The usual model, with a note where nothing decides it; an error where there is none.
    usual: Result<(String, Option<String>)>,
}

impl DotProductAdd {
    /// A case of an instruction, in a tile of zeros.
    pub fn alone(instruction: Instruction, case: Case) -> DotProductAdd {
        let mut tile = Tiles::zeros(&instruction, 1);
        tile.place(&instruction, 0, 0, 0, &case);
        let usual = Ok((usual_model(&instruction).into(), None));
        DotProductAdd { instruction, case, tile, at: 0, recorded: None, usual }
    }

    /// The output at `[tile, row, column]` of the recording in `file`.
    ///
    /// # Errors
    /// A place that is not recorded.
    pub fn recorded(file: &Path, trace: &Trace, place: [usize; 3]) -> Result<DotProductAdd> {
        let counts = [("tile", trace.count()), ("row", trace.m), ("column", trace.n)];
        for ((what, count), given) in counts.into_iter().zip(place) {
            if given >= count {
                let file = file.display();
                return Err(Error::request(format!("--{what} {given}: {file} has {count} {what}s, from 0")));
            }
        }
        let [tile, row, column] = place;
        let instruction = trace.instruction.clone();
        let recorded = Some(trace.d.get((tile * trace.m + row) * trace.n + column));
        let tile = trace.padded(tile, tile + 1);
        let case = tile.case(&instruction, 0, row, column);
        let at = row * instruction.n + column;
        let usual = Generation::of_recording(&trace.metadata).model(&file.to_string_lossy());
        Ok(DotProductAdd { instruction, case, tile, at, recorded, usual })
    }

    /// Executes the case on `device`; without a named model, that of its generation becomes the usual one.
    ///
    /// # Errors
    /// A device that lacks the instruction or fails; no model of its generation.
    pub fn execute(&mut self, device: &mut dyn Device, model_is_named: bool) -> Result<u64> {
        let i = &self.instruction;
        device.has(i)?;
        if !model_is_named {
            let (model, _, note) = selection::model(None, device, std::slice::from_ref(i))?;
            self.usual = Ok((model, note));
        }
        Ok(Batches::default().execute(device, i, MatrixShape { rows: i.m, columns: i.n }, &self.tile)?.get(self.at))
    }

    /// Fills the report with every result, step by step in the named models, else in the usual one.
    /// `executed` is the result of a device.
    ///
    /// # Errors
    /// A model that is unknown or does not cover the instruction; no usual one.
    pub fn explain(
        &self,
        named: [Option<&str>; 2],
        executed: Option<DeviceResult>,
        report: &mut Report,
    ) -> Result<Vec<Model>> {
        let DotProductAdd { instruction, case, recorded, usual, .. } = self;
        let (first, undecided) = match named[0] {
            Some(name) => (name.into(), None),
            None => usual.clone()?,
        };
        report.notes.extend(undecided);
        let names: Vec<&str> = std::iter::once(&first[..]).chain(named[1]).collect();
        let models: Vec<Model> = names.iter().map(|name| Model::load(name)).collect::<Result<_>>()?;
        let explain = |model: &Model| Ok(model.evaluator(instruction)?.explain(case));
        let explanations = models.iter().map(explain).collect::<Result<Vec<_>>>()?;
        let titles: Vec<String> = names.iter().map(|name| format!("model {name}")).collect();
        let given = executed.as_ref().map(|result| (&result.device[..], result.code));
        let of_models = titles.iter().zip(&explanations).map(|(title, said)| (&title[..], said.d));
        let by: Vec<(&str, u64)> =
            recorded.map(|code| ("recorded", code)).into_iter().chain(given).chain(of_models).collect();
        report.holds = by.windows(2).all(|pair| pair[0].1 == pair[1].1);
        report.verdict = Verdict::Differ;
        let steps = rows(None, &explanations);
        report.answer = Some(answer(instruction.d, &by, &steps));
        let title = format!("{instruction}: {}", operands(&Subject::Matrix(instruction), case));
        report.tables = vec![results(title, instruction.d, by), table(&titles, steps)];
        Ok(models)
    }
}

/// The model of an instruction where none is named.
pub fn usual_model(i: &Instruction) -> &'static str {
    only_model(i).unwrap_or(DEFAULT_MODEL)
}

/// The model of all targets that have the instruction, where they share one.
fn only_model(i: &Instruction) -> Option<&'static str> {
    let mut models = i.support.iter().map(|support| of_target(support.architecture));
    let first = models.next()??;
    models.all(|other| other == Some(first)).then_some(first)
}
