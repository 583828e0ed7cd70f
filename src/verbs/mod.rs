//! The command line: parses, calls one function, renders. Nothing is computed here.

mod atlas;
mod attention;
mod bound;
mod calc;
mod chain;
mod check;
mod common;
mod completions;
mod convert;
mod cost;
mod coverage;
mod devices;
mod diff;
mod distinguish;
mod emulate;
mod exec_check;
mod experiment;
mod explain;
mod features;
mod formats;
mod gemm;
#[cfg(test)]
mod help;
mod identify;
mod inspect;
mod instructions;
mod kit;
mod manual;
mod merge;
mod models;
#[cfg(test)]
mod pages;
mod power;
mod probe;
mod quantise;
mod record;
mod report;
mod survey;
mod tree;
mod verify;

use std::{cell::RefCell, ffi::OsString, io::Write, process::ExitCode, time::Duration};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    COMMIT, Error, Interruption, Result,
    base::{
        interrupt, signals,
        visible::{visible, without_middle},
    },
    document::quoted,
    report::{Report, Verdict},
    set_commit,
};
pub use common::options::{Common, OutputDestination};
use common::{
    drawings, files, gates, named,
    options::{self, MAX_TIMEOUT, integer},
    progress::{self, Bar, Progress},
    rounding, select, shared, spelling,
    verb::Verb,
};

/// Profiles the numeric behaviour of low-precision formats and of the matrix instructions of GPUs.
#[derive(Parser)]
#[command(version, max_term_width = 110, after_help = HELP)]
struct Cli {
    /// Stop after this many seconds and report what was found (exit status 1).
    #[arg(long, global = true, value_name = "SECONDS", value_parser = integer(1..=MAX_TIMEOUT), help_heading = "Limits")]
    time_limit: Option<u64>,
    #[command(subcommand)]
    request: Request,
}

/// The end of `tcnum --help`.
const HELP: &str = "\
Examples:
  tcnum probe --fmt bf16 --op accumulate
  tcnum explain --instr mma.m16n8k16.f32.bf16.bf16.f32 --device hopper
  tcnum verify --all --available --device cuda:0
  tcnum quantise model.safetensors --to e4m3,mxfp4,nvfp4

Device: --device, else the first NVIDIA GPU, else this processor (cpu) if it has the instruction, else model:hopper.

Exit status:
  0         done, and what was claimed holds
  1         done: a mismatch or a difference was found, or --time-limit ended the work
  2         the request or its input was wrong
  3         the device failed, or memory ran out
  130, 143  SIGINT or SIGTERM ended the work; the result covers what was done (a second signal ends at once)";

/// Declares the verbs by task.
///
/// A verb is a module with `Arguments`, which implement [`Verb`] and hold the help, and with `run`, which fills a report with all that
/// is known of the result when the work ends for any reason.
macro_rules! verbs {
    ($($task:literal: { $($verb:ident: $module:ident,)* })*) => {
        #[derive(Subcommand)]
        enum Request {
            $($($verb(Box<$module::Arguments>),)*)*
        }

        impl Request {
            fn verb(&self) -> &dyn Verb {
                match self {
                    $($(Request::$verb(arguments) => arguments.as_ref(),)*)*
                }
            }

            fn run(&self, report: &mut Report) -> Result<()> {
                match self {
                    $($(Request::$verb(arguments) => $module::run(arguments, report),)*)*
                }
            }
        }

        /// The tasks, each with the modules of its verbs.
        const TASKS: &[(&str, &[&str])] = &[$(($task, &[$(stringify!($module)),*])),*];
    };
}

// In the order of the help.
verbs! {
    "Formats and data": {
        Formats: formats,
        Convert: convert,
        Inspect: inspect,
        Quantise: quantise,
        Calc: calc,
    }
    "Instructions, models and devices": {
        Instructions: instructions,
        Models: models,
        Devices: devices,
    }
    "An instruction against references and models": {
        Probe: probe,
        Record: record,
        Verify: verify,
        Merge: merge,
        Explain: explain,
        Power: power,
        Coverage: coverage,
        ExecCheck: exec_check,
    }
    "An instruction that nobody has described": {
        Identify: identify,
        Kit: kit,
        Survey: survey,
        Features: features,
        Distinguish: distinguish,
        Tree: tree,
    }
    "Matrix products made of instructions": {
        Gemm: gemm,
        Bound: bound,
        Check: check,
        Attention: attention,
        Chain: chain,
        Emulate: emulate,
        Cost: cost,
    }
    "Published results and documents": {
        Experiment: experiment,
        Report: report,
        Diff: diff,
        Atlas: atlas,
    }
    "The command line": {
        Completions: completions,
        Manual: manual,
    }
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

/// Runs a command line, the program's name first, and returns its exit status.
pub fn status(words: Vec<OsString>) -> u8 {
    let mut command = command();
    let (matches, cli) = match parsed(&mut command, words) {
        Ok(parsed) => parsed,
        Err(said) => return say(&said),
    };
    begin(cli.time_limit);
    let name = matches.subcommand_name().unwrap_or_default();
    distinct(&command, &matches).and_then(|()| run(&cli.request, name)).unwrap_or_else(|error| fail(&error))
}

/// Runs a command line, the program's name first, and returns its report instead of printing it.
///
/// Messages name parameters, which [`crate::spelled`] spells. Files have them as options.
/// `--out`, `--also`, `--junit` and `--sarif` write their files. The error ended the work early; the report then covers the work before it.
///
/// # Errors
/// Words that are no command line; the errors of the command.
pub fn report(words: Vec<OsString>) -> Result<(Report, Option<Error>)> {
    let outcome = unprinted(words).map(|(report, failure)| (report, failure.map(spelling::for_program)));
    outcome.map_err(spelling::for_program)
}

fn unprinted(words: Vec<OsString>) -> Result<(Report, Option<Error>)> {
    let mut command = command();
    let (matches, cli) = parsed(&mut command, words).map_err(|said| {
        let text = said.render().to_string();
        let what = text.split("\n\nUsage:").next().unwrap_or(&text).split("\n\nFor more information").next();
        Error::request(what.unwrap_or(&text).trim().trim_start_matches("error: "))
    })?;
    distinct(&command, &matches)?;
    let Some(destination) = destination(cli.request.verb()) else {
        return Err(Error::request("this command writes documents, and has no report"));
    };
    if cli.request.verb().starts_commands() {
        return Err(Error::request("this command starts others of the program; run it on the command line"));
    }
    begin(cli.time_limit);
    let (report, failure) = complete(&cli.request, matches.subcommand_name().unwrap_or_default())?;
    let shown = report.clone().reworded(spelling::options);
    let written = match destination.out {
        Some(_) => destination.write(&shown),
        None => destination.write_also(&shown),
    };
    write_checks(cli.request.verb(), &shown, failure.as_ref()).and(written)?;
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
    match given.subcommand().and_then(|(name, given)| Some((command.find_subcommand(name)?, given))) {
        Some((command, given)) => distinct(command, given),
        None => files::distinct(command, given),
    }
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
    let _ = writeln!(std::io::stderr(), "warning: {}", spelling::options(&error.to_string()));
}

/// Says what went wrong on standard error.
fn fail(error: &Error) -> u8 {
    fail_with("error", error)
}

fn fail_with(word: &str, error: &Error) -> u8 {
    // A closed standard error cannot be reported anywhere.
    let _ = writeln!(std::io::stderr(), "{word}: {}", spelling::options(&error.to_string()));
    error.exit_status()
}

/// The command line.
fn command() -> clap::Command {
    let command = Cli::command().mut_subcommands(with_negative_numbers);
    let template =
        format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}\nOptions:\n{{options}}{{after-help}}", tasks(&command));
    command.help_template(template)
}

/// A command that takes negative numbers as values, so that `--samples -1` is out of range.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let values = |argument: clap::Arg| match argument.get_action().takes_values() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    };
    command.mut_args(values).mut_subcommands(with_negative_numbers)
}

/// The commands that help lists, those below a verb with its name: `gemm compute`.
pub fn listed() -> Vec<String> {
    fn below(command: &clap::Command, name: &str) -> Vec<String> {
        let visible = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
        let named = visible
            .map(|subcommand| (subcommand, format!("{name} {}", subcommand.get_name()).trim_start().to_string()));
        named.flat_map(|(subcommand, name)| [vec![name.clone()], below(subcommand, &name)].concat()).collect()
    }
    below(&command(), "")
}

/// The verbs by task, each with what it does, for the help of the program.
fn tasks(command: &clap::Command) -> String {
    let width = command.get_subcommands().map(|verb| verb.get_name().len()).max().unwrap_or_default();
    let mut text = String::new();
    for (task, modules) in TASKS {
        text += &format!("{task}:\n");
        for name in modules.iter().map(|module| module.replace('_', "-")) {
            let about = command.find_subcommand(&name).and_then(clap::Command::get_about);
            text += &format!("  {name:width$}  {}\n", about.map(ToString::to_string).unwrap_or_default());
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

/// Where the result of a verb goes, if it has one.
fn destination(verb: &dyn Verb) -> Option<OutputDestination> {
    let destination = verb.destination()?;
    Some(OutputDestination { out: destination.out.clone().filter(|_| !verb.makes_file()), ..destination.clone() })
}

/// Writes the files of checks that a verb was asked for.
fn write_checks(verb: &dyn Verb, report: &Report, failure: Option<&Error>) -> Result<()> {
    let failure = failure.cloned().map(spelling::for_command_line);
    verb.gates().map_or(Ok(()), |(gates, source)| gates.write(report, failure.as_ref(), source.as_deref()))
}

/// Does what a command line asks for and delivers its result; the exit status.
fn run(request: &Request, name: &str) -> Result<u8> {
    let verb = request.verb();
    let (report, failure) = complete(request, name)?;
    let report = report.reworded(spelling::options);
    let is_complete = failure.is_none() && report.interrupted.is_none();
    // A destination that fails keeps no other destination from its part of the result.
    let checked = write_checks(verb, &report, failure.as_ref());
    let problems = [
        failure.map_or(Ok(()), Err),
        destination(verb).map_or(Ok(()), |destination| destination.write(&report)),
        checked,
        verb.figures().and_then(|figures| figures.map_or(Ok(()), |figures| figures.write(&report, is_complete))),
    ];
    let problems: Vec<Error> = problems.into_iter().filter_map(Result::err).collect();
    let status = report.interrupted.map_or(u8::from(!report.holds), Interruption::exit_status);
    let said = std::iter::once("error").chain(std::iter::repeat("also")).zip(&problems);
    Ok(said.map(|(word, error)| fail_with(word, error)).chain([status]).max().unwrap_or(status))
}

/// Runs a request; returns its report and the error, if any, that ended the work early.
///
/// # Errors
/// Output that cannot be written as requested; what stopped a command that has nothing to report.
fn complete(request: &Request, name: &str) -> Result<(Report, Option<Error>)> {
    let destination = destination(request.verb()).unwrap_or_default();
    destination.check()?;
    request.verb().figures()?.map_or(Ok(()), |figures| figures.check())?;
    let mut report = Report::new(name.to_string(), invocation());
    let outcome = request.run(&mut report);
    let empty = report.tables.iter().all(|table| table.rows.is_empty());
    let failure = match outcome {
        Err(error) if empty => {
            interrupt::answered();
            // A run without results is an error among the checks; a wrong request is no run.
            if matches!(error, Error::Device { .. } | Error::Interrupted { .. }) {
                write_checks(request.verb(), &report, Some(&error)).unwrap_or_else(|unwritten| warn(&unwritten));
            }
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
    set_commit(COMMIT);
    interrupt::begin();
    signals::watch();
    if let Some(seconds) = limit {
        interrupt::limit(Duration::from_secs(seconds));
    }
}

/// The command line of this thread, else of this process, quoted for a shell, after `tcnum`.
pub fn invocation() -> String {
    let words = WORDS.with_borrow(Vec::clone);
    let words = if words.is_empty() { std::env::args_os().collect() } else { words };
    let arguments = words.iter().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("tcnum".to_string()).chain(arguments).collect::<Vec<_>>().join(" ")
}
