//! Several experiments in one run, and the tables that compare them.

use std::fmt::Display;

use super::{
    Experiment, Options,
    known::KnownResults,
    score::{ExperimentScore, FigureOutcome, OutcomeCounts},
    scored, table,
};
use crate::{
    Error, Result, Stage,
    base::sentence,
    device::{Device, DeviceName},
    report::{Report, Table, Verdict},
};

crate::rows! {
    /// An experiment, on all devices of a run.
    pub struct ExperimentRow in "experiments" {
        /// The name.
        experiment: String => shown("experiment").essential(),
        /// The quantity that it shows.
        title: String => hidden(),
        /// Devices that ran it.
        devices: usize => shown("devices"),
        /// Published figures that are reproduced, over all devices.
        reproduced: usize => shown("figures reproduced").essential(),
        /// Figures that differ as the file accepts, or on a device of another generation.
        accepted: usize => shown("differ as accepted or expected").essential(),
        /// Other figures that differ.
        differing: usize => shown("differ").essential(),
        /// Figures that a device cannot test.
        untestable: usize => shown("not testable").essential(),
        /// Findings that hold.
        holding: usize => shown("findings hold").essential(),
        /// Findings that do not hold, as the file accepts or on a device of another generation.
        excused: usize => shown("fail as accepted or expected"),
        /// Other findings that do not hold.
        failing: usize => shown("fail").essential(),
        /// False if the run was ended before it was complete.
        complete: bool => shown("complete").if_varied(),
    }

    /// A published figure, with the devices that give the same result.
    #[derive(Default)]
    pub struct FigureRow in "figures" {
        /// The experiment.
        experiment: String => shown("experiment").essential(),
        /// The figure.
        figure: String => shown("figure").essential(),
        /// The figure as printed.
        published: String => shown("published").essential(),
        /// The measured figure.
        measured: Option<f64> => shown("here").essential(),
        /// Its standard error.
        standard_error: Option<f64> => shown("standard error").error_of("measured"),
        /// Samples or elements of the measured figure.
        samples: Option<u64> => shown("samples"),
        /// The difference beyond the printed digits, in standard errors of both figures together.
        distance: Option<f64> => shown("standard errors apart"),
        /// Verdict on the published figure.
        verdict: String => shown("verdict").essential(),
        /// The devices.
        devices: Vec<String> => shown("devices").essential(),
        /// Explanation of a difference.
        why: Option<String> => hidden(),
        /// The verdict decides the exit status.
        decides: bool => hidden(),
    }

    /// A finding, with the devices that give the same result.
    pub struct ExperimentFindingRow in "experiment_findings" {
        /// The experiment.
        experiment: String => shown("experiment").essential(),
        /// The claim.
        claim: String => shown("finding").essential(),
        /// The figures that decide it.
        measured: String => shown("here").essential(),
        /// The claim holds.
        holds: bool => shown("holds").essential(),
        /// The devices.
        devices: Vec<String> => shown("devices").essential(),
        /// Reason for accepting that the claim does not hold.
        accepted: Option<String> => hidden(),
        /// The finding decides the exit status.
        decides: bool => hidden(),
    }

    /// Figures of an experiment that devices cannot test, by the reason.
    pub struct UntestableFigureRow in "untestable_figures" {
        /// The experiment.
        experiment: String => shown("experiment").essential(),
        /// Number of figures on each device.
        figures: usize => shown("figures").essential(),
        /// The reason.
        why: String => shown("not testable: the device").essential(),
        /// The devices.
        devices: Vec<String> => shown("devices").essential(),
    }
}

/// A run of several experiments.
pub struct Suite<'a> {
    /// The experiments.
    pub experiments: &'a [Experiment],
    /// The devices of an experiment.
    pub devices: &'a dyn Fn(&Experiment) -> Vec<DeviceName>,
    /// Opens a device; each is opened once.
    pub open: &'a dyn Fn(&DeviceName) -> Result<Box<dyn Device>>,
    /// The settings.
    pub options: Options,
    /// Takes the whole result of an experiment.
    pub done: &'a mut dyn FnMut(&Experiment, &mut Report) -> Result<()>,
}

/// Rows of all experiments so far.
#[derive(Default)]
struct SuiteRows {
    experiments: Vec<ExperimentRow>,
    figures: Vec<FigureRow>,
    findings: Vec<ExperimentFindingRow>,
    untestable: Vec<UntestableFigureRow>,
    /// All figures and findings.
    score: ExperimentScore,
}

impl Suite<'_> {
    /// Runs the experiments one after the other; equal arithmetic on equal inputs is run once.
    ///
    /// An experiment that no device can run is a row without results. An interrupted run reports the work done before it.
    ///
    /// # Errors
    /// Errors of the devices and of `done`; [`Error::Interrupted`].
    pub fn run(self, report: &mut Report, progress: &mut dyn FnMut(Stage)) -> Result<()> {
        let (mut known, mut rows, mut pool) = (KnownResults::default(), SuiteRows::default(), Vec::new());
        report.seed = Some(self.options.seed);
        report.notes.push(format!(
            "±: the standard error of a measured mean. A figure is reproduced if it rounds to the published digits, or within {} \
             standard errors of both figures together. `tcnum experiment NAME` shows everything that one experiment measures.",
            super::STANDARD_ERRORS
        ));
        let mut ended = Ok(());
        for experiment in self.experiments {
            let names = (self.devices)(experiment);
            let mut devices = match pooled_or_opened(&mut pool, &names, self.open) {
                Ok(devices) => devices,
                Err(error) => {
                    ended = Err(error);
                    break;
                }
            };
            let mut experiment_report = Report { verdict: report.verdict, ..Report::new("experiment", "") };
            let named = |stage: Stage, progress: &mut dyn FnMut(Stage)| {
                progress(Stage { what: &format!("{}: {}", experiment.name, stage.what), ..stage });
            };
            let (score, outcome) =
                scored(experiment, &mut devices, self.options, &mut known, &mut experiment_report, &mut |stage| {
                    named(stage, progress)
                });
            rows.add(experiment, score, devices.len(), outcome.is_ok());
            pool.extend(names.into_iter().zip(devices));
            report.holds &= experiment_report.holds;
            match outcome {
                Err(error) if error.is_unavailable() => {
                    report.notes.push(format!("{}: {error}.", experiment.name));
                    continue;
                }
                Err(error) => {
                    experiment_report.verdict = Verdict::Unfinished;
                    if let Error::Interrupted { by } = &error {
                        experiment_report.interrupted = Some(*by);
                    }
                    experiment_report.notes.insert(0, format!("The result covers the work done before this: {error}"));
                    ended = (self.done)(experiment, &mut experiment_report).and(Err(error));
                    break;
                }
                Ok(()) => ended = (self.done)(experiment, &mut experiment_report),
            }
            if ended.is_err() {
                break;
            }
        }
        let names: Vec<String> = pool.iter().map(|(name, _)| name.to_string()).collect();
        report.device = pool.first().filter(|_| pool.len() == 1).map(|(_, device)| device.identity().clone());
        report.answer = rows.answer(&names);
        report.tables.extend(rows.tables());
        if pool.len() > 1 {
            report.tables.push(table::devices(pool.iter().map(|(_, device)| device.identity())));
        }
        ended
    }
}

/// The devices of these names: out of the pool, else opened.
fn pooled_or_opened(
    pool: &mut Vec<(DeviceName, Box<dyn Device>)>,
    names: &[DeviceName],
    open: &dyn Fn(&DeviceName) -> Result<Box<dyn Device>>,
) -> Result<Vec<Box<dyn Device>>> {
    let one = |name: &DeviceName| match pool.iter().position(|(pooled, _)| pooled == name) {
        Some(at) => Ok(pool.remove(at).1),
        None => open(name),
    };
    names.iter().map(one).collect()
}

impl SuiteRows {
    fn add(&mut self, experiment: &Experiment, score: ExperimentScore, devices: usize, complete: bool) {
        let (name, counts, [agreeing, misprinted, differing]) = (&experiment.name, score.counts(), score.on_paper);
        self.experiments.push(ExperimentRow {
            experiment: name.clone(),
            title: experiment.title.clone(),
            devices,
            reproduced: counts.reproduced + agreeing,
            accepted: counts.forgiven + misprinted,
            differing: counts.differing + differing,
            untestable: counts.untestable,
            holding: counts.holding,
            excused: counts.excused,
            failing: counts.failing,
            complete,
        });
        for figure in score.figures.iter().filter(|figure| figure.judgement.is_some()) {
            let row = FigureRow { experiment: name.clone(), ..figure.row.clone() };
            add(&mut self.figures, row, |row| &mut row.devices);
        }
        for (finding, decides) in &score.findings {
            let row = ExperimentFindingRow {
                experiment: name.clone(),
                claim: finding.claim.clone(),
                measured: finding.measured.clone(),
                holds: finding.holds,
                devices: vec![finding.device.clone()],
                accepted: finding.accepted.clone(),
                decides: *decides,
            };
            add(&mut self.findings, row, |row| &mut row.devices);
        }
        self.add_untestable(name, &score.figures);
        self.score.figures.extend(score.figures);
        self.score.findings.extend(score.findings);
    }

    /// Adds the figures that were not measured, by reason.
    ///
    /// Devices with the same number of them share a row.
    fn add_untestable(&mut self, name: &str, figures: &[FigureOutcome]) {
        let mut reasons: Vec<(&str, &str, usize)> = Vec::new();
        for figure in figures.iter().filter(|figure| figure.judgement.is_none()) {
            let why = figure.missing.as_deref().unwrap_or("has no result");
            for device in &figure.row.devices {
                match reasons.iter_mut().find(|(known, reason, _)| known == device && *reason == why) {
                    Some((.., count)) => *count += 1,
                    None => reasons.push((device, why, 1)),
                }
            }
        }
        for (device, why, figures) in reasons {
            let (experiment, why, devices) = (name.into(), why.into(), vec![device.into()]);
            add(&mut self.untestable, UntestableFigureRow { experiment, figures, why, devices }, |row| {
                &mut row.devices
            });
        }
    }

    fn answer(&self, devices: &[impl Display]) -> Option<String> {
        // Most figures that devices cannot test need a clock; a table counts them.
        let sentences =
            OutcomeCounts { untestable: 0, ..self.score.counts() }.sentences(&sentence::devices(devices))?;
        Some(format!("{} experiments: {sentences}", self.experiments.len()))
    }

    fn tables(self) -> impl Iterator<Item = Table> {
        let tables = [
            Table::of("Experiments, with figures and findings counted over all devices", self.experiments),
            Table::of("Published figures and ours; devices with the same result share a row", self.figures),
            Table::of("Findings; devices with the same result share a row", self.findings),
            Table::of("Figures that devices cannot test", self.untestable),
        ];
        tables.into_iter().filter_map(Table::filled)
    }
}

/// Adds a row; rows that differ in their devices alone are one.
fn add<R: Clone + PartialEq>(rows: &mut Vec<R>, mut row: R, devices: fn(&mut R) -> &mut Vec<String>) {
    let names = std::mem::take(devices(&mut row));
    let same = |other: &&mut R| {
        let mut other = (**other).clone();
        devices(&mut other).clear();
        other == row
    };
    match rows.iter_mut().find(same) {
        Some(known) => devices(known).extend(names),
        None => {
            *devices(&mut row) = names;
            rows.push(row);
        }
    }
}
