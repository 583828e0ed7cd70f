//! Surveys: all that is new on a device, by commands of this program whose results stay in a folder.
//!
//! The [`plan`] lists the commands. [`Survey`] runs them and reads their results, [`outcome`] says how far each instruction is known, [`draft`]
//! makes the model file, and [`page`] the document.

mod choice;
pub(crate) mod draft;
mod folder;
mod outcome;
mod page;
mod plan;

use std::{path::PathBuf, time::Duration};

use choice::Comparison;
use folder::SurveyFolder;
pub(crate) use outcome::SurveyRow;
use outcome::{Outcome, OutcomeKind};
use plan::{Chosen, Condition, Plan, Step};

use crate::{
    Error, Interruption, Result, Stage,
    arithmetic::Model,
    base::interrupt,
    device::{self, DeviceName, Identity},
    document::{Measured, Place, Work, measured},
    isa::Instruction,
    report::{Declaration, Kept, Report, Table, Verdict},
};

/// Cases of each instruction by default, for a GPU.
const GPU_CASES: u64 = 10_000_000;
/// Cases of each instruction by default, for any other device.
const OTHER_CASES: u64 = 100_000;

/// Request of a survey.
#[derive(Debug, Clone)]
pub(crate) struct SurveyRequest {
    /// The device.
    pub(crate) device: DeviceName,
    /// The instructions.
    pub(crate) instructions: Vec<Instruction>,
    /// True if instructions that the device lacks are left out, false if they are refused.
    pub(crate) available: bool,
    /// The model to compare with; `None`: the model of the generation, else the nearest.
    pub(crate) model: Option<String>,
    /// Shipped models that the survey does not know.
    pub(crate) withheld: Vec<String>,
    /// Cases of each instruction; `None`: as many as suit the device.
    pub(crate) cases: Option<u64>,
    /// How long a program may take for an answer.
    pub(crate) timeout: Duration,
    /// True if errors of operations, chains and emulated products are measured too, of all instructions.
    pub(crate) errors: bool,
    /// True if costs are measured too.
    pub(crate) cost: bool,
    /// Keys and values to keep with the results.
    pub(crate) notes: Vec<(String, String)>,
    /// The folder.
    pub(crate) folder: PathBuf,
}

/// A survey of a device: its instructions, what they are compared with, and the results so far.
pub(crate) struct Survey {
    request: SurveyRequest,
    folder: SurveyFolder,
    plan: Plan,
    identity: Identity,
    instructions: Vec<Instruction>,
    comparison: Comparison,
    /// Results of the steps.
    kept: Vec<Kept>,
    /// Errors of commands.
    pub(crate) wrong: Vec<Error>,
    /// The interruption.
    interrupted: Option<Interruption>,
    /// The step that a failure of the device or an interruption ended.
    ended_in: Option<String>,
}

/// How a step went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progressed {
    /// The next step can begin.
    On,
    /// The device failed, or an interruption came.
    Ended,
}

impl Survey {
    /// Opens the folder and the device, and lists the instructions that it has.
    ///
    /// # Errors
    /// A folder that is none, or of another survey; a device that cannot be opened, fails, or lacks a named instruction.
    pub(crate) fn open(request: SurveyRequest, watch: &dyn Fn(Stage)) -> Result<Survey> {
        let folder = SurveyFolder::examine(&request.folder)?;
        if let Some(model) = request.model.as_ref().filter(|model| request.withheld.contains(model)) {
            return Err(Error::request(format!(
                "‹model={model}›: ‹without_model› withholds it; leave one of both out"
            )));
        }
        let comparison = Comparison::asked(request.model.as_deref())?;
        let mut device = device::open(Some(&request.device), request.timeout)?;
        let mut instructions = Vec::new();
        let total = request.instructions.len() as u64;
        for (done, instruction) in (0..).zip(&request.instructions) {
            interrupt::check()?;
            let what = format!("asking {} for its instructions", request.device);
            watch(Stage { what: &what, done, total });
            match device.has(instruction) {
                Ok(()) => instructions.push(instruction.clone()),
                Err(error) if request.available && error.exit_status() == 2 => {}
                Err(error) => return Err(error),
            }
        }
        let identity = device.identity().clone();
        folder.claim(&identity)?;
        let plan = Plan::shipped();
        let (kept, wrong) = (Vec::new(), Vec::new());
        let (interrupted, ended_in) = (None, None);
        Ok(Survey { request, folder, plan, identity, instructions, comparison, kept, wrong, interrupted, ended_in })
    }

    /// Takes the steps whose results the folder lacks.
    /// It ends at a failure of the device or an interruption.
    ///
    /// # Errors
    /// A file cannot be written; this program cannot be started.
    pub(crate) fn run(&mut self, declared: &[Declaration], watch: &dyn Fn(Stage)) -> Result<()> {
        if !self.comparison.is_chosen() && self.choose(declared, watch)? == Progressed::Ended {
            return Ok(());
        }
        for step in self.plan.steps.clone() {
            if step.of == Chosen::Described {
                self.write_draft()?;
            }
            let names = self.chosen(step.of);
            if self.holds(&step) && self.step(&step, &names, declared, watch)? == Progressed::Ended {
                break;
            }
        }
        self.write_draft()
    }

    /// True if the condition of a step holds, and it has something to do.
    fn holds(&self, step: &Step) -> bool {
        let is_clocked = matches!(self.request.device, DeviceName::Cpu | DeviceName::Cuda(_));
        let has_scalar = is_clocked || self.request.device.model().is_some();
        match step.only {
            Some(Condition::Errors) => self.request.errors,
            Some(Condition::Cost) => self.request.cost && is_clocked,
            Some(Condition::Scalar) => has_scalar && self.request.available,
            None => true,
        }
    }

    /// Runs the commands of a step for these instructions.
    fn step(
        &mut self,
        step: &Step,
        names: &[String],
        declared: &[Declaration],
        watch: &dyn Fn(Stage),
    ) -> Result<Progressed> {
        let parts: Vec<&[String]> = match step.of {
            Chosen::None => vec![&[]],
            _ => names.chunks(step.most).collect(),
        };
        for (at, names) in parts.iter().enumerate() {
            let name = if parts.len() == 1 { step.name.clone() } else { format!("{}-{}", step.name, at + 1) };
            let model = self.comparison.model_name().unwrap_or_default().to_string();
            let Measured { kept, wrong, interrupted, .. } =
                measured(&[self.work(step, &name, &model, names)], declared, watch)?;
            let failed = wrong.iter().any(|error| matches!(error, Error::Device { .. }));
            self.kept.extend(kept);
            self.wrong.extend(wrong);
            self.interrupted = interrupted;
            if failed || interrupted.is_some() {
                // The page of the results until then is still written.
                interrupt::answered();
                self.ended_in = Some(name);
                return Ok(Progressed::Ended);
            }
        }
        Ok(Progressed::On)
    }

    /// The command of a step for some instructions.
    fn work(&self, step: &Step, name: &str, model: &str, names: &[String]) -> Work {
        let request = &self.request;
        let default = if matches!(request.device, DeviceName::Cuda(_)) { GPU_CASES } else { OTHER_CASES };
        let cases = request.cases.unwrap_or(default).to_string();
        let timeout = request.timeout.as_secs().to_string();
        let notes: Vec<String> = request.notes.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let [folder, draft] = [self.folder.text(), self.folder.file(draft::FILE).display().to_string()];
        let meanings = [
            ("MODEL", vec![model]),
            ("BEFORE", self.comparison.before.iter().map(|before| before.argument.as_str()).collect()),
            ("DRAFT", vec![draft.as_str()]),
            ("CASES", vec![cases.as_str()]),
            ("TIMEOUT", vec![timeout.as_str()]),
            ("NAME", vec![name]),
            ("WITHOUT", request.withheld.iter().flat_map(|model| ["--without-model", model]).collect()),
            ("NOTES", notes.iter().flat_map(|note| ["--note", note]).collect()),
            // Last, as its words are not the plan's.
            ("FOLDER", vec![folder.as_str()]),
        ];
        let mut words = step.words(&meanings);
        words.extend(names.iter().flat_map(|name| ["--instr".to_string(), name.clone()]));
        // Models and files are compared without the device.
        let is_of_device = step.of != Chosen::Described;
        let devices = is_of_device.then(|| request.device.to_string()).into_iter().collect();
        let file = self.folder.file(&format!("{name}.json"));
        Work {
            words,
            devices,
            place: Some(Place { file, also: step.also, description: self.identity.description.clone() }),
        }
    }

    /// The names of the instructions that a step is for.
    fn chosen(&self, chosen: Chosen) -> Vec<String> {
        let outcomes = self.outcomes();
        let before = self.comparison.before.as_ref();
        let is_chosen = |outcome: &&Outcome| match chosen {
            Chosen::Every => true,
            Chosen::Covered => self.comparison.covers(outcome.instruction),
            Chosen::Unlike => outcome.is_unlike(),
            Chosen::Described => {
                outcome.is_described() && before.is_some_and(|before| before.model.rule(outcome.instruction).is_some())
            }
            Chosen::None => false,
        };
        outcomes.iter().filter(is_chosen).map(|outcome| outcome.instruction.name.clone()).collect()
    }

    /// How far each instruction is known.
    fn outcomes(&self) -> Vec<Outcome<'_>> {
        let results: Vec<&Report> = self.kept.iter().map(|kept| &kept.report).collect();
        let covered = |instruction: &Instruction| self.comparison.covers(instruction);
        self.instructions.iter().map(|instruction| Outcome::of(instruction, covered(instruction), &results)).collect()
    }

    /// Writes the draft model and the file of targets, and drops comparisons of an earlier draft.
    fn write_draft(&mut self) -> Result<()> {
        let Some(draft) = draft::model(self)? else { return Ok(()) };
        if self.folder.write(draft::FILE, draft.as_bytes())? {
            let steps = self.plan.steps.iter().filter(|step| step.of == Chosen::Described);
            steps.for_each(|step| self.folder.forget(&step.name));
        }
        self.folder.write(draft::TARGETS, draft::targets(self).as_bytes()).map(drop)
    }

    /// Writes the page, and puts the answer into a report.
    ///
    /// # Errors
    /// The page cannot be written.
    pub(crate) fn report(&self, report: &mut Report) -> Result<()> {
        let news = page::news(self);
        report.device = Some(self.identity.clone());
        let outcomes = self.outcomes();
        report.holds = outcomes.iter().all(|outcome| outcome.is_described()) && self.wrong.is_empty();
        report.verdict = if outcomes.is_empty() { Verdict::Nothing } else { Verdict::Unidentified };
        report.holds &= !outcomes.is_empty();
        report.answer = Some(news.lead.clone());
        report.notes.extend(self.comparison.note.clone());
        report.notes.extend(news.sentences.iter().cloned());
        report.tables.push(Table::of("Surveyed instructions", outcome::rows(self, &outcomes)));
        page::write(self, &news)?;
        report.notes.push(format!("{} has the page, the draft model and the results.", self.folder.text()));
        Ok(())
    }

    /// The error that ended the survey early, if any.
    ///
    /// # Errors
    /// The interruption; the failure of the device.
    pub(crate) fn end(&self) -> Result<()> {
        if let Some(by) = self.interrupted {
            return Err(Error::Interrupted { by });
        }
        match &self.ended_in {
            Some(step) => Err(Error::device(format!(
                "the device failed in the step {step}; {} has the results until then, and the same command resumes",
                self.folder.text()
            ))),
            None => Ok(()),
        }
    }

    /// The model to compare with, if the survey has one.
    fn model(&self) -> Option<&Model> {
        self.comparison.model.as_ref().map(|model| &model.model)
    }

    /// The draft model, once it is written.
    fn draft(&self) -> Option<Model> {
        Model::load(&self.folder.file(draft::FILE).display().to_string()).ok()
    }

    /// Number of instructions with an outcome of these kinds.
    fn count(&self, kinds: &[OutcomeKind]) -> usize {
        self.outcomes().iter().filter(|outcome| kinds.contains(&outcome.kind)).count()
    }
}
