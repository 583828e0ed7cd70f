//! Options of verbs whose results have figures.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{super::warn, options::output_file, shared::Plot};
use crate::{
    Error, Result,
    base::{
        atomic::{self, DerivedKind},
        text,
    },
    document::{Figure, figures},
    report::{
        Report,
        figure::{DrawingKind, WIDTHS},
    },
};

/// The figures that a verb may draw.
pub(crate) struct Figures<'a> {
    drawings: &'a Drawings,
    /// Subject of the figures, for messages.
    show: &'static str,
    /// True if this request has a figure.
    some: bool,
}

impl Figures<'_> {
    /// Refuses, before any work, a figure that the result will not have.
    ///
    /// # Errors
    /// A request error that says what figures show.
    pub(crate) fn check(&self) -> Result<()> {
        match self.drawings.flag().filter(|_| !self.some) {
            None if self.drawings.plot_width.is_some() && self.drawings.flag().is_none() => {
                Err(Error::request("--plot-width: there is no figure; give --plot or --plots"))
            }
            Some(flag) => Err(Error::request(format!("{flag}: this result has no figure; figures show {}", self.show))),
            None => Ok(()),
        }
    }

    /// Draws the figures of a result; `complete` means that the work was not interrupted.
    ///
    /// # Errors
    /// A request error: a whole result without a figure, a file that cannot be written, or one that is no drawing.
    pub(crate) fn write(&self, report: &Report, complete: bool) -> Result<()> {
        let Some(flag) = self.drawings.flag() else { return Ok(()) };
        match figures(report) {
            all if !all.is_empty() => self.drawings.write(&all),
            _ if complete => Err(Error::request(format!("{flag}: this result has no figure"))),
            _ => Ok(()),
        }
    }
}

/// Destination of the figures of a result.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct Drawings {
    #[command(flatten)]
    plot: Plot,
    /// Width of figures: 85 mm (one column) or 170 mm (two) [default: 170].
    #[arg(long, value_name = "MM", value_parser = millimetres, help_heading = "Output")]
    plot_width: Option<u32>,
    /// Draw every figure of the result to this folder, as SVG, PDF and PNG.
    #[arg(long, value_name = "FOLDER", value_parser = folder, help_heading = "Output")]
    plots: Option<PathBuf>,
}

/// Parses the path of a drawing.
pub(crate) fn figure_file(text: &str) -> std::result::Result<PathBuf, String> {
    let path = output_file(text)?;
    DrawingKind::of(&path).map(|_| path)
}

/// Parses a width of figures.
fn millimetres(text: &str) -> std::result::Result<u32, String> {
    let known = WIDTHS.iter().find(|width| width.to_string() == text.trim_end_matches("mm").trim());
    known.copied().ok_or_else(|| "expected 85 (one column) or 170 (two columns)".into())
}

/// Parses the path of a folder that exists or can be made.
fn folder(text: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match () {
        () if text.is_empty() => Err("expected the path of a folder".into()),
        () if path.exists() && !path.is_dir() => Err("this is a file".into()),
        () if !above.is_dir() => Err(format!("there is no folder {}", above.display())),
        () => Ok(path),
    }
}

/// A file in a folder of drawings.
struct DrawingFile(DrawingKind);

impl DerivedKind for DrawingFile {
    fn description(&self) -> String {
        "a drawing".into()
    }

    fn is_of_kind(&self, path: &Path) -> bool {
        text::bytes(path, text::LONGEST_RESULT).is_ok_and(|bytes| self.0.begins(&bytes))
    }
}

impl Drawings {
    /// The figures of a verb: `show` is their subject, `some` says if this request has one.
    pub(crate) fn of(&self, show: &'static str, some: bool) -> Figures<'_> {
        Figures { drawings: self, show, some }
    }

    /// The option that asks for figures, if given.
    pub(crate) fn flag(&self) -> Option<&'static str> {
        self.plot.as_ref().map(|_| "--plot").or(self.plots.as_ref().map(|_| "--plots"))
    }

    fn write(&self, all: &[Figure]) -> Result<()> {
        let width = self.plot_width.unwrap_or(WIDTHS[1]);
        if let (Some(path), Some(first)) = (&*self.plot, all.first()) {
            if all.len() > 1 && self.plots.is_none() {
                warn(&Error::request(format!(
                    "--plot draws the first of {} figures; --plots FOLDER draws all",
                    all.len()
                )));
            }
            first.drawing.scene(width).write(path).map_err(|error| error.within("--plot"))?;
        }
        let Some(folder) = &self.plots else { return Ok(()) };
        std::fs::create_dir_all(folder).map_err(|error| {
            Error::request(format!("--plots: the folder {} cannot be made: {error}", folder.display()))
        })?;
        let files = all.iter().flat_map(|figure| DrawingKind::all().map(move |kind| (figure, kind)));
        let path = |name: &str, kind: DrawingKind| folder.join(format!("{name}.{}", kind.ending()));
        files
            .clone()
            .try_for_each(|(figure, kind)| atomic::derivable(&path(&figure.name, kind), &DrawingFile(kind)))?;
        files.clone().try_for_each(|(figure, kind)| {
            atomic::write(&path(&figure.name, kind), &figure.drawing.scene(width).bytes(kind))
        })
    }
}
