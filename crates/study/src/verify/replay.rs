//! Replays: recorded operands executed again by a device, each tile a case that a model judges.

use super::trace::{Verification, difference, reduce, row};
use crate::campaign::shrink::Compared;
use crate::{
    Result,
    comparison::{Difference, Kinds, Nans, Subject, VerificationRow, operands},
    device::{Batches, Device, DeviceName, Execution, Identity},
    isa::MatrixShape,
    trace::Trace,
};

/// Most agreeing cases of a file that are listed.
const MOST_LISTED: usize = 1000;

crate::rows! {
    /// A case of a regression suite: a recorded tile, executed again and compared with a model.
    pub struct ReplayedRow in "replayed" {
        /// Recording.
        file: String => shown("trace").if_varied().essential(),
        /// Instruction.
        instruction: String => shown("instruction").if_varied().essential(),
        /// Tile of the recording, from 0.
        tile: u64 => shown("case").essential(),
        /// Verdict: `agrees`, `differs`, or `now ...` where the recorded outputs did otherwise.
        verdict: &'static str => shown("verdict").essential(),
        /// Outputs compared.
        outputs: u64 => shown("outputs"),
        /// Outputs of the device that differ from the model.
        differing: u64 => shown("differ").essential(),
        /// Recorded outputs that differ from the model.
        recorded_differing: u64 => shown("differed when recorded"),
        /// Operands, those not zero, of the first output that differs or differed when recorded.
        operands: Option<String> => shown("operands").if_filled().essential(),
        /// Result of the device there.
        device_d: Option<String> => shown("device's D").if_filled().essential(),
        /// Result of the model there.
        model_d: Option<String> => shown("model's D").if_filled().essential(),
        /// Recorded result there.
        recorded_d: Option<String> => shown("recorded D").if_filled(),
    }
}

/// The replay of one recording, as far as it went.
#[derive(Default)]
pub struct Replay {
    /// Cases; agreeing ones up to a limit.
    pub cases: Vec<ReplayedRow>,
    /// Tiles executed and compared.
    pub tiles: usize,
    /// Tiles with an output that differs.
    pub differing_tiles: usize,
    /// Outputs that differ.
    pub differing: u64,
    kinds: Kinds,
}

/// Settings of a replay.
#[derive(Debug, Clone, Copy)]
pub struct ReplayRequest<'a> {
    /// File of the recording, for reports.
    pub file: &'a str,
    /// Most causes of differences.
    pub keep: usize,
    /// Equality of NaN codes.
    pub nans: Nans,
}

impl Replay {
    /// Executes every tile of `trace` on `device`, and compares the outputs with those of `judge`.
    ///
    /// # Errors
    /// A device fails, or lacks the instruction; an interruption. The replay keeps what was compared.
    pub fn run(
        &mut self,
        trace: &Trace,
        device: &mut dyn Device,
        judge: &mut dyn Device,
        request: &ReplayRequest,
    ) -> Result<()> {
        let part = MatrixShape { rows: trace.m, columns: trace.n };
        let (mut executed, mut judged) = (Batches::default(), Batches::default());
        while self.tiles < trace.count() {
            let (from, to) =
                (self.tiles, trace.count().min(self.tiles + executed.size(trace.instruction.tile_bytes())));
            let tiles = trace.tiles(from, to);
            let device = executed.execute(device, &trace.instruction, part, &tiles)?;
            let model = judged.execute(judge, &trace.instruction, part, &tiles)?;
            for tile in from..to {
                let at = |place: usize| (tile - from) * trace.m * trace.n + place;
                self.add(trace, tile, &|place| (device.get(at(place)), model.get(at(place))), request);
            }
            self.tiles = to;
        }
        Ok(())
    }

    /// Adds a tile; `answers` gives the codes of the device and of the model for an output.
    fn add(&mut self, trace: &Trace, tile: usize, answers: &dyn Fn(usize) -> (u64, u64), request: &ReplayRequest) {
        let d = trace.instruction.d;
        let each = trace.m * trace.n;
        // A file of inputs has no outputs, and none that differed.
        let has_outputs = trace.has_outputs();
        let recorded = |place: usize| if has_outputs { trace.d.get(tile * each + place) } else { answers(place).1 };
        let differs = |place: &usize| !request.nans.agree(d, answers(*place).0, answers(*place).1);
        let differed = |place: &usize| !request.nans.agree(d, recorded(*place), answers(*place).1);
        let now: Vec<usize> = (0..each).filter(differs).collect();
        let before: Vec<usize> = (0..each).filter(differed).collect();
        for place in &now {
            let (device, model) = answers(*place);
            let difference = difference(trace, tile * each + place, device, model);
            self.kinds.add(&Subject::Matrix(&trace.instruction), difference);
        }
        self.differing += now.len() as u64;
        self.differing_tiles += usize::from(!now.is_empty());
        let shown = now.first().or(before.first()).copied();
        if shown.is_none() && self.cases.len() >= MOST_LISTED {
            return;
        }
        let code = |of: &dyn Fn(usize) -> u64| shown.map(|place| d.hex(of(place)));
        self.cases.push(ReplayedRow {
            file: request.file.into(),
            instruction: trace.instruction.name.clone(),
            tile: tile as u64,
            verdict: match (now.is_empty(), before.is_empty()) {
                (true, true) => "agrees",
                (true, false) => "now agrees",
                (false, false) => "differs",
                (false, true) => "now differs",
            },
            outputs: each as u64,
            differing: now.len() as u64,
            recorded_differing: before.len() as u64,
            operands: shown.map(|place| {
                let case = trace.inputs.case(&trace.part(), tile, place / trace.n, place % trace.n);
                operands(&Subject::Matrix(&trace.part()), &case)
            }),
            device_d: code(&|place| answers(place).0),
            model_d: code(&|place| answers(place).1),
            recorded_d: if has_outputs { code(&recorded) } else { None },
        });
    }

    /// Lists the causes of the differences in `causes`.
    /// They are reduced if a device is given and the judge is a model.
    ///
    /// # Errors
    /// The device fails; an interruption. Causes that were not reduced are listed as found.
    pub fn causes(
        &mut self,
        trace: &Trace,
        device: Option<&mut dyn Device>,
        judge: &dyn Device,
        request: &ReplayRequest,
        causes: &mut Vec<Difference>,
    ) -> Result<()> {
        let instruction = &trace.instruction;
        let evaluator = judge.model().map(|model| model.evaluator(instruction)).transpose()?;
        let mut pair = match (device, &evaluator) {
            (Some(device), Some(model)) => Some(Compared { device, model, instruction, nans: request.nans }),
            _ => None,
        };
        let mut reduce_kind = |kind: &mut Difference| {
            if let Some(pair) = &mut pair {
                kind.reduced = reduce(trace, pair, kind)?;
            }
            Ok(())
        };
        let kinds = std::mem::take(&mut self.kinds);
        kinds.causes(&Subject::Matrix(instruction), request.keep, &mut reduce_kind, causes)
    }

    /// Makes the row of the table of comparisons.
    pub fn row(
        &self,
        trace: &Trace,
        (device, execution): (&Identity, &Execution),
        model: &str,
        request: &ReplayRequest,
    ) -> VerificationRow {
        let compared = (self.tiles * trace.m * trace.n) as u64;
        let result = Verification {
            compared,
            differing: self.differing,
            kinds: Kinds::default(),
            execution: execution.clone(),
            stopped: None,
        };
        VerificationRow {
            device: device.name.to_string(),
            device_description: device.description.clone(),
            execution: execution.kind.name().into(),
            opcodes: execution.opcodes.clone(),
            finished: self.tiles == trace.count(),
            next_tile: Some(self.tiles as u64),
            ..row(request.file, trace, model, &result, request.nans)
        }
    }
}

/// The answer in one sentence: whether a device gives the results of a model.
pub fn answer(device: &DeviceName, model: &DeviceName, replays: &[Replay]) -> String {
    let sum = |count: fn(&Replay) -> usize| replays.iter().map(count).sum::<usize>();
    match (sum(|replay| replay.tiles), sum(|replay| replay.differing_tiles)) {
        (1, 0) => format!("{device} gives the result of {model} in the one case."),
        (cases, 0) => format!("{device} gives the results of {model} in all {cases} cases."),
        (cases, differing) => format!("{device} differs from {model} in {differing} of {cases} cases."),
    }
}
