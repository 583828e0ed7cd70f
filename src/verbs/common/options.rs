//! Options that mean the same in every verb.

use std::{
    collections::BTreeSet,
    fmt::Display,
    io::Write,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use clap::Args;

use super::{
    named::named,
    shared::{OneDevice, Quiet, Seed},
};
use crate::{
    Error, Result, arithmetic,
    array::Container,
    base::{atomic, nearest::nearest},
    campaign::MOST_SHARDS,
    device::{self, Device, DeviceName},
    product::{ArrayFile, ElementPlace},
    report::{self, Report, View, ViewLayout, WIDTH},
    tables,
};

/// Longest `--timeout`, in seconds: a week.
pub(crate) const MAX_TIMEOUT: u64 = 7 * 24 * 60 * 60;

/// Where the result goes, and in what form.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputDestination {
    /// View of the result [default: as the ending of --out says, else table]
    #[arg(long, value_parser = named::<View>(), value_name = "VIEW")]
    pub output: Option<View>,
    /// Write the result here: .json .csv .md .tex .txt; a folder for csv
    #[arg(long, value_name = "FILE", value_parser = output_path)]
    pub out: Option<PathBuf>,
    /// Write the result here too: .json .csv .md .tex .txt (repeatable).
    #[arg(long, value_name = "FILE", value_parser = viewed_file)]
    pub also: Vec<PathBuf>,
    /// Show only these columns in tables, by their JSON keys, in this order.
    #[arg(long, value_name = "KEY,...", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Show only the essential columns in tables.
    #[arg(long, conflicts_with = "columns")]
    pub brief: bool,
    /// Keep KEY=VALUE with the result, such as a date (repeatable).
    #[arg(long = "note", value_name = "KEY=VALUE", value_parser = annotation)]
    pub annotations: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) quiet: Quiet,
    /// Show more progress on standard error.
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,
}

/// The patience with a program behind `exec:`.
#[derive(Args, Debug, Clone, Copy)]
#[command(next_help_heading = "Device")]
pub struct Timeout {
    /// Seconds that an exec: device may take for each answer
    #[arg(long = "timeout", value_name = "SECONDS", default_value_t = 60, value_parser = integer(1..=MAX_TIMEOUT))]
    timeout: u64,
}

impl Timeout {
    /// The longest time for one answer.
    pub fn duration(self) -> Duration {
        Duration::from_secs(self.timeout)
    }
}

/// The flags of a command that runs instructions on a device.
#[derive(Args, Debug, Clone)]
pub struct Common {
    #[command(flatten)]
    pub(crate) device: OneDevice,
    /// The patience with a program.
    #[command(flatten)]
    pub timeout: Timeout,
    /// Processes of an exec: program, which share the tiles
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = integer(1..=256usize), help_heading = "Device")]
    pub(crate) sessions: usize,
    #[command(flatten)]
    pub(crate) seed: Seed,
    /// Output flags.
    #[command(flatten)]
    pub destination: OutputDestination,
}

impl Common {
    /// Opens a device, a program with its sessions.
    ///
    /// # Errors
    /// As [`device::open`]; several sessions of another device.
    pub(crate) fn open(&self, name: &DeviceName) -> Result<Box<dyn Device>> {
        let mut device = device::open(Some(name), self.timeout.duration())?;
        self.share(name, device.as_mut())?;
        Ok(device)
    }

    /// Gives a program its sessions.
    ///
    /// # Errors
    /// Several sessions of another device.
    pub(crate) fn share(&self, name: &DeviceName, device: &mut dyn Device) -> Result<()> {
        if self.sessions > 1 && !matches!(name, DeviceName::Exec(_)) {
            return Err(Error::request(format!("--sessions {}: {name} is no program; leave it out", self.sessions)));
        }
        device.share(self.sessions);
        Ok(())
    }
}

impl OutputDestination {
    /// Refuses, before any work, output that cannot be written as requested.
    ///
    /// # Errors
    /// A request error: a folder for a view other than CSV, a note given twice, columns for JSON or CSV, an unknown column.
    pub fn check(&self) -> Result<()> {
        if let Some(folder) = self.folder().filter(|_| self.view() != View::Csv) {
            return Err(Error::request(format!(
                "--out {}: this is a folder; only --output csv writes to a folder, one file for each table",
                folder.display()
            )));
        }
        if matches!(self.view(), View::Json | View::Csv) && (self.brief || !self.columns.is_empty()) {
            return Err(Error::request(
                "--columns and --brief work with table, markdown and latex; json and csv always have every column",
            ));
        }
        let mut keys = self.annotations.iter().enumerate();
        if let Some((_, (twice, _))) = keys.find(|(i, (key, _))| self.annotations[..*i].iter().any(|(k, _)| k == key)) {
            return Err(Error::request(format!("--note {twice} is given twice; give each key one value")));
        }
        let declared = tables::declared();
        let keys = || declared.iter().flat_map(|table| table.columns.iter().map(|column| &*column.key));
        match self.columns.iter().find(|wanted| !keys().any(|key| key == *wanted)) {
            Some(unknown) => {
                let near = nearest(unknown, keys().collect::<BTreeSet<_>>(), 3).join(", ");
                Err(Error::request(format!("--columns: no table has a column '{unknown}'; the nearest are {near}")))
            }
            None => Ok(()),
        }
    }

    /// Note for a result that has none of the columns of `--columns`.
    pub(crate) fn without_columns(&self, report: &Report) -> Option<String> {
        let has =
            |key: &String| report.tables.iter().any(|table| table.columns.iter().any(|column| column.key == *key));
        (!self.columns.is_empty() && !self.columns.iter().any(has))
            .then(|| format!("No table of this result has a column {}.", self.columns.join(" or ")))
    }

    /// Refuses a folder in --out, for verbs that write one file.
    ///
    /// # Errors
    /// A request error that names the folder.
    pub fn one_file(&self) -> Result<()> {
        match self.folder() {
            Some(folder) => Err(Error::request(format!("--out {}: this is a folder; name a file", folder.display()))),
            None => Ok(()),
        }
    }

    /// The view of `--output`, else the one that the ending of `--out` stands for, else a table.
    fn view(&self) -> View {
        let ending = || self.out.as_deref().and_then(ending_view);
        self.output.or_else(ending).unwrap_or(View::Table)
    }

    /// Folder of the result, if `--out` names a folder.
    pub fn folder(&self) -> Option<&Path> {
        self.out.as_deref().filter(|path| is_folder(path))
    }

    /// Renders `report` to `--out` or standard output, and to the files of `--also`.
    ///
    /// If the file of `--out` cannot be written, the result goes to standard output.
    ///
    /// # Errors
    /// A request error if a file cannot be written, after everything else is; the old file, if any, is then untouched.
    pub fn write(&self, report: &Report) -> Result<()> {
        let also = self.write_also(report);
        let written = match (&self.out, self.folder()) {
            (None, _) => self.print(report),
            (Some(_), Some(folder)) => std::fs::create_dir_all(folder)
                .map_err(|e| Error::request(format!("the folder {} cannot be made: {e}", folder.display())))
                .and_then(|()| report::write_csv_files(report, folder)),
            (Some(path), None) => {
                let text = report::render(report, self.view(), &self.layout());
                atomic::write(path, text.as_bytes())
            }
        };
        let written = match written {
            Err(error) if self.out.is_some() => {
                let mut report = report.clone();
                // The error is returned below, whether a file or an interruption caused it.
                let _ = report.until_interrupted::<()>(Err(error.clone()));
                self.print(&report).and(Err(error.within("--out failed, so the result is on standard output")))
            }
            written => written,
        };
        written.and(also)
    }

    fn print(&self, report: &Report) -> Result<()> {
        let text = report::render(report, self.view(), &self.layout());
        let mut stdout = std::io::stdout();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).or_else(|error| stdout_failed(&error))
    }

    /// Renders `report` to the files of `--also`.
    ///
    /// # Errors
    /// A request error for the first that cannot be written.
    pub fn write_also(&self, report: &Report) -> Result<()> {
        let layout = ViewLayout { columns: self.columns.clone(), brief: self.brief, width: WIDTH };
        let views = self.also.iter().filter_map(|path| Some((path, ending_view(path)?)));
        let write =
            |(path, view): (&PathBuf, View)| atomic::write(path, report::render(report, view, &layout).as_bytes());
        let problems: Vec<Error> = views.map(write).filter_map(Result::err).collect();
        problems.into_iter().next().map_or(Ok(()), Err)
    }

    fn layout(&self) -> ViewLayout {
        let width = if self.out.is_some() { WIDTH } else { terminal_width() };
        ViewLayout { columns: self.columns.clone(), brief: self.brief, width }
    }
}

/// The error that a failed write to standard output means.
///
/// # Errors
/// A request error, unless the reader (such as `head`) has closed the pipe.
pub(crate) fn stdout_failed(error: &std::io::Error) -> Result<()> {
    match error.kind() {
        std::io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Error::request(format!("standard output cannot be written: {error}"))),
    }
}

/// Narrowest terminal that tables are fitted to, in columns.
const NARROWEST: usize = 40;

/// Columns of the terminal on standard output, else of the variable COLUMNS, else [`WIDTH`].
fn terminal_width() -> usize {
    let terminal = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0.into());
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.or_else(said).filter(|width| *width > 0).unwrap_or(WIDTH).max(NARROWEST)
}

/// A device by its name in reports: `model:hopper` for hopper and H100.
#[allow(clippy::unnecessary_wraps, reason = "clap's parsers can fail")]
pub(crate) fn device_name(text: &str) -> Result<DeviceName> {
    Ok(DeviceName::asked(text))
}

/// The file of a recording given as FILE or trace:FILE.
pub(crate) fn recording_file(text: &str) -> String {
    match DeviceName::from(text) {
        DeviceName::Trace(file) => file,
        _ => text.into(),
    }
}

/// The name of a model, without `model:` and aliases: `hopper` for H100; other texts unchanged.
#[allow(clippy::unnecessary_wraps, reason = "clap's parsers can fail")]
pub(crate) fn model_name(text: &str) -> Result<String> {
    let device = DeviceName::from(text);
    let name = device.model().unwrap_or(text);
    Ok(arithmetic::named(name).unwrap_or(name).into())
}

/// Parses the name or alias of a shipped model.
pub(crate) fn shipped_model(text: &str) -> std::result::Result<String, String> {
    let unknown = || format!("no shipped model has this name; did you mean {}?", arithmetic::suggested(text, &[]));
    arithmetic::named(text.strip_prefix("model:").unwrap_or(text)).map(String::from).ok_or_else(unknown)
}

/// Parses a whole number within `range`.
pub(crate) fn integer<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> std::result::Result<T, String> + Clone + Send + Sync
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("expected a whole number from {} to {}", range.start(), range.end()))
    }
}

/// Parses a number of cases from 1 to `most`: `1000000`, `1_000_000`, `1e6`, `10^6`.
pub(crate) fn cases(most: u64) -> impl Fn(&str) -> std::result::Result<u64, String> + Clone + Send + Sync {
    move |text| {
        let power = |exponent: &str| 10u64.checked_pow(exponent.parse().ok()?);
        let number = match (text.split_once(['e', 'E']), text.strip_prefix("10^")) {
            (Some((factor, exponent)), _) => {
                power(exponent).and_then(|power| factor.parse::<u64>().ok()?.checked_mul(power))
            }
            (None, Some(exponent)) => power(exponent),
            (None, None) => text.replace('_', "").parse().ok(),
        };
        number
            .filter(|number| (1..=most).contains(number))
            .ok_or_else(|| format!("expected a whole number from 1 to {most}, such as 1000000 or 1e12"))
    }
}

/// Parses part I of N of a run, `I/N`, with I from 1.
pub(crate) fn shard(text: &str) -> std::result::Result<(u64, u64), String> {
    text.split_once('/')
        .and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)))
        .filter(|(part, parts)| (1..=*parts).contains(part) && *parts <= MOST_SHARDS)
        .ok_or_else(|| "expected I/N: part I of N, from 1/N to N/N".into())
}

/// Parses the path of a file to write; its folder, or that of the link's target, must exist.
pub(crate) fn output_file(text: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let target = atomic::target(&path).map_err(|error| format!("it cannot be written: {error}"))?;
    match target.parent() {
        _ if text.is_empty() => Err("expected the path of a file".into()),
        _ if path.is_dir() => Err("this is a folder".into()),
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(format!("there is no folder {}", folder.display()))
        }
        _ => Ok(path),
    }
}

/// Parses the path of a file to write whose ending names a view.
fn viewed_file(text: &str) -> std::result::Result<PathBuf, String> {
    let path = output_file(text)?;
    let view = ending_view(&path);
    view.map(|_| path).ok_or_else(|| "the ending names no view; use .json, .csv, .md, .tex or .txt".into())
}

/// The view that the ending of a file name stands for.
fn ending_view(path: &Path) -> Option<View> {
    match path.extension()?.to_str()? {
        "json" => Some(View::Json),
        "csv" => Some(View::Csv),
        "md" => Some(View::Markdown),
        "tex" => Some(View::Latex),
        "txt" => Some(View::Table),
        _ => None,
    }
}

/// Parses the destination of a result: a file, or a folder that exists or ends with a slash.
pub(crate) fn output_path(text: &str) -> std::result::Result<PathBuf, String> {
    match text.strip_suffix('/') {
        Some(_) if PathBuf::from(text).is_file() => Err("this is a file".into()),
        // The folder is made later, so only its parent must exist.
        Some(folder) if !folder.is_empty() && !PathBuf::from(text).is_dir() => {
            output_file(folder).map(|_| PathBuf::from(text))
        }
        Some(_) => Ok(text.into()),
        None => file_or_folder(text),
    }
}

/// True if a path names a folder: an existing one, or one to be made (it ends with a slash).
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with('/')
}

/// Parses the path of a folder, or of a file to write.
pub(crate) fn file_or_folder(text: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.is_dir() { Ok(path) } else { output_file(text) }
}

/// Parses the path of a file that holds several arrays.
pub(crate) fn safetensors(text: &str) -> std::result::Result<PathBuf, String> {
    let path = output_file(text)?;
    match Container::of(&path) {
        Ok(Container::Safetensors) => Ok(path),
        _ => Err("it holds several arrays; name a .safetensors file".into()),
    }
}

/// Parses a row and a column.
pub(crate) fn element_place(text: &str) -> std::result::Result<ElementPlace, String> {
    let number = |text: &str| text.trim().parse().ok();
    text.split_once(',')
        .and_then(|(row, column)| Some(ElementPlace { row: number(row)?, column: number(column)? }))
        .ok_or_else(|| "expected ROW,COLUMN, each counted from 0".into())
}

/// Parses the name of an array in a file.
#[allow(clippy::unnecessary_wraps, reason = "clap's parsers can fail")]
pub(crate) fn array_file(text: &str) -> std::result::Result<ArrayFile, String> {
    Ok(ArrayFile::parse(text))
}

fn annotation(text: &str) -> std::result::Result<(String, String), String> {
    text.split_once('=')
        .filter(|(key, _)| !key.is_empty())
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .ok_or_else(|| "expected KEY=VALUE".to_string())
}
