//! The command line: parses, calls one function, renders. Nothing is computed here.

mod calc;
mod chain;
mod common;
mod completions;
mod convert;
mod cost;
mod devices;
mod diff;
mod distinguish;
mod emulate;
mod exec_check;
mod experiment;
mod explain;
mod formats;
mod gemm;
mod identify;
mod instructions;
mod manual;
mod merge;
mod models;
mod power;
mod probe;
mod quantise;
mod record;
mod report;
mod tree;
mod verify;

use std::{cell::RefCell, ffi::OsString, io::Write, process::ExitCode, time::Duration};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    Error, Interruption, Result,
    base::{
        interrupt, signals,
        visible::{visible, without_middle},
    },
    report::{Report, Verdict},
};
pub use common::options::{Common, OutputDestination};
use common::{
    drawings::{self, Figures},
    files,
    gates::{self, Gates},
    named,
    options::{self, MAX_TIMEOUT, integer},
    progress::{self, Bar, Progress},
    rounding, select,
};

/// Profiles the numeric behaviour of low-precision formats and of the matrix instructions of GPUs.
///
/// Example: tcnum probe --fmt bf16 --op accumulate
///
/// With no --device, the first NVIDIA GPU is used; where there is none, this machine's processor (cpu), if it has an instruction for
/// what was asked; else the simulated device model:hopper.
/// Exit status: 0 done and what was claimed holds; 1 done, and a mismatch was found, or --time-limit was reached; 2 the request or its
/// input was wrong; 3 the device failed, or memory ran out; 130 or 143: a signal (SIGINT, SIGTERM) stopped it, and the report covers the work done
/// before it. A second signal ends the program at once.
#[derive(Parser)]
#[command(version, max_term_width = 110)]
struct Cli {
    /// Stop after this many seconds, and report what was found until then (exit status 1).
    #[arg(long, global = true, value_name = "SECONDS", value_parser = integer(1..=MAX_TIMEOUT), help_heading = "Limits")]
    time_limit: Option<u64>,
    #[command(subcommand)]
    request: Request,
}

/// What a command line asks for: a result, a document of results, or text about the command line itself.
#[derive(Subcommand)]
enum Request {
    #[command(flatten)]
    Command(Box<Command>),
    Report(report::Arguments),
    Completions(completions::Arguments),
    #[command(hide = true)]
    Manual(manual::Arguments),
}

#[derive(Subcommand)]
enum Command {
    Formats(formats::Arguments),
    Convert(convert::Arguments),
    Quantise(Box<quantise::Arguments>),
    Calc(Box<calc::Arguments>),
    Instructions(instructions::Arguments),
    Models(models::Arguments),
    Devices(devices::Arguments),
    Probe(Box<probe::Arguments>),
    Record(Box<record::Arguments>),
    Verify(Box<verify::Arguments>),
    Explain(explain::Arguments),
    Merge(merge::Arguments),
    #[command(name = "exec-check")]
    ExecCheck(exec_check::Arguments),
    Power(Box<power::Arguments>),
    Identify(Box<identify::Arguments>),
    Distinguish(Box<distinguish::Arguments>),
    Chain(Box<chain::Arguments>),
    Tree(Box<tree::Arguments>),
    Gemm(Box<gemm::Arguments>),
    Emulate(Box<emulate::Arguments>),
    Cost(cost::Arguments),
    Experiment(experiment::Arguments),
    Diff(diff::Arguments),
}

thread_local! {
    /// The command line that runs on this thread, the program's name first; empty before one does.
    static WORDS: RefCell<Vec<OsString>> = const { RefCell::new(Vec::new()) };
}

/// Runs the command line of this process: results on standard output, errors on standard error.
pub fn main() -> ExitCode {
    signals::outlive_limits();
    ExitCode::from(status(std::env::args_os().collect()))
}

/// Runs a command line, the program's name first, as [`main`] does that of the process, and returns its exit status.
pub fn status(words: Vec<OsString>) -> u8 {
    let mut command = command();
    let (matches, cli) = match parsed(&mut command, words) {
        Ok(parsed) => parsed,
        Err(said) => return say(&said),
    };
    begin(cli.time_limit);
    let done = distinct(&command, &matches).and_then(|()| match cli.request {
        Request::Completions(arguments) => completions::run(&arguments).map(|()| 0),
        Request::Manual(arguments) => manual::run(&arguments).map(|()| 0),
        Request::Report(arguments) => report::run(&arguments),
        Request::Command(command) => run(&command, matches.subcommand_name().unwrap_or_default()),
    });
    done.unwrap_or_else(|error| fail(&error))
}

/// The report of a command line, the program's name first, for programs that show results themselves: nothing is printed, and
/// only `--out` writes it to a file. With it what stopped the command in the middle, after which it is of what came before.
///
/// # Errors
/// Words that are no command line; the errors of the command.
pub fn report(words: Vec<OsString>) -> Result<(Report, Option<Error>)> {
    let mut command = command();
    let (matches, cli) = parsed(&mut command, words).map_err(|said| {
        let text = said.render().to_string();
        let what = text.split("\n\nUsage:").next().unwrap_or(&text).split("\n\nFor more information").next();
        Error::request(what.unwrap_or(&text).trim().trim_start_matches("error: "))
    })?;
    distinct(&command, &matches)?;
    let Request::Command(command) = cli.request else {
        return Err(Error::request("this command writes documents, and has no report"));
    };
    let destination = command.destination();
    begin(cli.time_limit);
    let (report, failure) = complete(&command, matches.subcommand_name().unwrap_or_default())?;
    match destination.out {
        Some(_) => destination.write(&report)?,
        None => destination.write_also(&report)?,
    }
    Ok((report, failure))
}

/// The arguments in `words`, which stand in reports from now on.
fn parsed(command: &mut clap::Command, words: Vec<OsString>) -> clap::error::Result<(ArgMatches, Cli)> {
    let matches = command.try_get_matches_from_mut(&words)?;
    let cli = Cli::from_arg_matches(&matches)?;
    WORDS.set(words);
    Ok((matches, cli))
}

/// Refuses arguments of which one names a file to write that another one names.
fn distinct(command: &clap::Command, given: &ArgMatches) -> Result<()> {
    let subcommand = given.subcommand().and_then(|(name, given)| Some((command.find_subcommand(name)?, given)));
    subcommand.map_or(Ok(()), |(command, given)| files::distinct(command, given))
}

/// Prints help, or what is wrong with the arguments, which may be long, or hold control characters.
fn say(said: &clap::Error) -> u8 {
    let text = said.render().to_string();
    let shown = without_middle(&visible(&text)).into_owned();
    let printed = match said.exit_code() != 0 && shown != text {
        true => writeln!(std::io::stderr(), "{}", shown.trim_end()),
        false => said.print().and_then(|()| std::io::stdout().flush()),
    };
    match (printed, said.exit_code()) {
        (Ok(()), status) => u8::try_from(status).unwrap_or(2),
        (Err(error), 0) => options::stdout_failed(&error).map_or_else(|error| fail(&error), |()| 0),
        (Err(_), _) => 2,
    }
}

/// Says on standard error what went wrong with a part of the work, whose rest goes on.
fn warn(error: &Error) {
    // A closed standard error cannot be reported anywhere.
    let _ = writeln!(std::io::stderr(), "warning: {error}");
}

/// Says what went wrong on standard error.
fn fail(error: &Error) -> u8 {
    fail_with("error", error)
}

fn fail_with(word: &str, error: &Error) -> u8 {
    // A closed standard error cannot be reported anywhere.
    let _ = writeln!(std::io::stderr(), "{word}: {error}");
    error.exit_status()
}

/// The command line, in which a negative number is a value wherever one is expected: `--samples -1` is out of range,
/// not an unknown option.
fn command() -> clap::Command {
    let values = |argument: clap::Arg| match argument.get_action().takes_values() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    };
    Cli::command().mut_subcommands(|subcommand| subcommand.mut_args(values))
}

impl Command {
    /// The figures of the result, if the command may have some.
    ///
    /// # Errors
    /// A file that says which figures there are, and cannot be read.
    fn figures(&self) -> Result<Option<Figures<'_>>> {
        Ok(Some(match self {
            Command::Quantise(a) => a.drawings.of("errors by format", true),
            Command::Probe(a) => a.drawings.of("errors of matrix instructions", a.has_figures()),
            Command::Verify(a) => a.drawings.of("rates of campaigns (--instr, --fmt, --all)", a.has_figures()),
            Command::Distinguish(a) => a.drawings.of("which models compute alike, without devices", a.has_figures()),
            Command::Chain(a) => a.drawings.of("errors by length", true),
            Command::Gemm(a) => {
                a.drawings.of("how far a product that is computed is from the exact one", a.has_figures())
            }
            Command::Emulate(a) => a.drawings.of("errors of products in f32", a.has_figures()?),
            Command::Cost(a) => a.drawings.of("rates by warps and independent runs", true),
            Command::Experiment(a) => {
                a.drawings.of("errors of chains and products, and agreement bit by bit", a.has_figures()?)
            }
            _ => return Ok(None),
        }))
    }

    /// Where the result goes; nowhere of a command that makes a document.
    fn destination(&self) -> OutputDestination {
        let destination = match self {
            Command::Formats(a) => &a.destination,
            Command::Convert(a) => &a.destination,
            Command::Quantise(a) => &a.destination,
            Command::Calc(a) => &a.destination,
            Command::Instructions(a) => &a.destination,
            Command::Models(a) => &a.destination,
            Command::Devices(a) => &a.destination,
            Command::Probe(a) => &a.common.destination,
            Command::Record(a) => &a.common.destination,
            Command::Verify(a) => &a.destination,
            Command::Explain(a) => &a.destination,
            Command::Merge(a) => &a.destination,
            Command::ExecCheck(a) => &a.destination,
            Command::Power(a) => &a.destination,
            Command::Identify(a) => &a.common.destination,
            Command::Distinguish(a) => &a.destination,
            Command::Chain(a) => &a.destination,
            Command::Tree(a) => &a.destination,
            Command::Gemm(a) => &a.destination,
            Command::Emulate(a) => &a.destination,
            Command::Cost(a) => &a.destination,
            Command::Diff(a) => &a.destination,
            Command::Experiment(a) => &a.destination,
        };
        // --out of a file that is converted, recorded or computed names that; the report goes to standard output.
        let file = matches!(self, Command::Record(_))
            || matches!(self, Command::Gemm(a) if a.computes_one())
            || matches!(self, Command::Convert(a) if a.input.is_some());
        OutputDestination { out: destination.out.clone().filter(|_| !file), ..destination.clone() }
    }

    /// Where the checks go, and the file that they are about, if there is one.
    fn gates(&self) -> Option<(Gates, Option<String>)> {
        match self {
            Command::Verify(a) => Some((a.gates.clone(), None)),
            Command::Experiment(a) => Some((a.gates.clone(), Some(a.file.to_string_lossy().into()))),
            Command::Diff(a) => Some((a.gates.clone(), a.source().map(String::from))),
            _ => None,
        }
    }
}

/// Does what a command asks for and delivers its result; the exit status.
fn run(command: &Command, name: &str) -> Result<u8> {
    let destination = command.destination();
    let (report, failure) = complete(command, name)?;
    let gates = command.gates().map_or(Ok(()), |(gates, source)| gates.write(&report, source.as_deref()));
    let whole = failure.is_none() && report.interrupted.is_none();
    let drawings =
        command.figures().and_then(|figures| figures.map_or(Ok(()), |figures| figures.write(&report, whole)));
    // What cannot be delivered somewhere keeps nothing back from elsewhere.
    let problems = [failure.map_or(Ok(()), Err), destination.write(&report), gates, drawings];
    let problems: Vec<Error> = problems.into_iter().filter_map(Result::err).collect();
    let status = report.interrupted.map_or(u8::from(!report.holds), Interruption::exit_status);
    let said = std::iter::once("error").chain(std::iter::repeat("also")).zip(&problems);
    Ok(said.map(|(word, error)| fail_with(word, error)).chain([status]).max().unwrap_or(status))
}

/// The report of a command, and what stopped it where there still is something to report. Whatever ends the work early ends it
/// here: the result that there is until then is a result, and says what ended it.
///
/// # Errors
/// Output that cannot be written as requested; what stopped a command that has nothing to report.
fn complete(command: &Command, name: &str) -> Result<(Report, Option<Error>)> {
    let destination = command.destination();
    destination.check()?;
    command.figures()?.map_or(Ok(()), |figures| figures.check())?;
    let mut report = Report::new(name.to_string(), invocation());
    let outcome = reported(command, &mut report);
    let empty = report.tables.iter().all(|table| table.rows.is_empty());
    let failure = match outcome {
        Err(error) if empty => {
            interrupt::answered();
            return Err(error);
        }
        outcome => report.until_interrupted(outcome).err(),
    };
    interrupt::answered();
    if let Some(error) = &failure {
        report.verdict = Verdict::Unfinished;
        report.notes.insert(0, format!("The result covers the work done before this: {error}"));
    }
    report.annotations = destination.annotations.clone();
    report.notes.extend(destination.without_columns(&report));
    Ok((report, failure))
}

/// Lets signals, and the limit of time in seconds, interrupt what follows.
fn begin(limit: Option<u64>) {
    interrupt::begin();
    signals::watch();
    if let Some(seconds) = limit {
        interrupt::limit(Duration::from_secs(seconds));
    }
}

/// Has a command fill its report: as much of it as is known, whatever ends the work.
///
/// # Errors
/// Those of the command; [`Error::Interrupted`] where an interruption ended it.
fn reported(command: &Command, report: &mut Report) -> Result<()> {
    match command {
        Command::Formats(a) => formats::run(a, report),
        Command::Convert(a) => convert::run(a, report),
        Command::Quantise(a) => quantise::run(a, report),
        Command::Calc(a) => calc::run(a, report),
        Command::Instructions(a) => instructions::run(a, report),
        Command::Models(a) => models::run(a, report),
        Command::Devices(a) => devices::run(a, report),
        Command::Probe(a) => probe::run(a, report),
        Command::Record(a) => record::run(a, report),
        Command::Verify(a) => verify::run(a, report),
        Command::Explain(a) => explain::run(a, report),
        Command::Merge(a) => merge::run(a, report),
        Command::ExecCheck(a) => exec_check::run(a, report),
        Command::Power(a) => power::run(a, report),
        Command::Identify(a) => identify::run(a, report),
        Command::Distinguish(a) => distinguish::run(a, report),
        Command::Chain(a) => chain::run(a, report),
        Command::Tree(a) => tree::run(a, report),
        Command::Gemm(a) => gemm::run(a, report),
        Command::Emulate(a) => emulate::run(a, report),
        Command::Cost(a) => cost::run(a, report),
        Command::Experiment(a) => experiment::run(a, report),
        Command::Diff(a) => diff::run(a, report),
    }
}

/// The command line that runs on this thread, or that of this process, with the program's own name in front, quoted for a shell.
pub fn invocation() -> String {
    let quote = |argument: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@".contains(c);
        if !argument.is_empty() && argument.chars().all(plain) {
            argument
        } else {
            format!("'{}'", argument.replace('\'', "'\\''"))
        }
    };
    let own = WORDS.with_borrow(Vec::clone);
    let words = if own.is_empty() { std::env::args_os().collect() } else { own };
    let arguments = words.iter().skip(1).map(|word| quote(word.to_string_lossy().into_owned()));
    std::iter::once("tcnum".to_string()).chain(arguments).collect::<Vec<_>>().join(" ")
}
