//! Drawings of results, written as SVG, PDF or PNG.
//!
//! Charts, matrices and commands make a [`Scene`] of lines, areas and words, in points on paper. The same scene gives the same bytes,
//! because its one font is a part of the program.

mod axis;
mod chart;
mod font;
mod grid;
mod legend;
mod legible;
mod line;
mod matrix;
mod palette;
mod pdf;
mod png;
mod scene;
mod svg;

use std::path::Path;

pub use axis::{Axis, Scale};
pub use chart::{Band, Chart, ChartLine, Panel, Point};
pub use font::width as text_width;
pub use matrix::{Matrix, Tile};
pub use palette::Marker;
pub use scene::{Anchor, Ink, Position, SMALL, Scene, SceneMark, Size, TEXT, Words};
pub use svg::inline;

use crate::{Error, Result, base::atomic};

/// Most entries of a legend, and lines of a panel.
pub const LEGEND: usize = 8;
/// Number of lines that differ without colours.
pub const LOOKS: usize = 16;
/// Separator between the names of equal lines.
pub const EQUAL: &str = " = ";
/// Widths of figures in millimetres: one column of a page, and two.
pub const WIDTHS: [u32; 2] = [85, 170];
/// Points of a millimetre.
pub const MILLIMETRE: f64 = 72.0 / 25.4;

/// A drawing that is laid out for the width that it is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Drawing {
    /// A chart.
    Chart(Chart),
    /// A matrix.
    Matrix(Matrix),
}

impl Drawing {
    /// The title.
    pub fn title(&self) -> &str {
        match self {
            Drawing::Chart(chart) => &chart.title,
            Drawing::Matrix(matrix) => &matrix.title,
        }
    }

    /// The remarks, to add others.
    pub fn notes(&mut self) -> &mut Vec<String> {
        match self {
            Drawing::Chart(chart) => &mut chart.notes,
            Drawing::Matrix(matrix) => &mut matrix.notes,
        }
    }

    /// The drawing of a width in millimetres.
    pub fn scene(&self, millimetres: u32) -> Scene {
        let width = f64::from(millimetres) * MILLIMETRE;
        match self {
            Drawing::Chart(chart) => chart.scene(width),
            Drawing::Matrix(matrix) => matrix.scene(width),
        }
    }
}

/// File kinds of drawings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawingKind {
    /// Scalable Vector Graphics.
    Svg,
    /// Portable Document Format: one page of the size of the drawing.
    Pdf,
    /// Portable Network Graphics, 300 pixels an inch.
    Png,
}

/// File endings and their kinds.
const KINDS: [(&str, DrawingKind); 3] =
    [("svg", DrawingKind::Svg), ("pdf", DrawingKind::Pdf), ("png", DrawingKind::Png)];

impl DrawingKind {
    /// Every kind.
    pub fn all() -> [DrawingKind; 3] {
        KINDS.map(|(_, kind)| kind)
    }

    /// The file ending of this kind.
    pub fn ending(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("", |(ending, _)| ending)
    }

    /// True if these are the bytes of a file of this kind.
    pub fn begins(self, bytes: &[u8]) -> bool {
        bytes.starts_with(match self {
            DrawingKind::Svg => b"<svg",
            DrawingKind::Pdf => b"%PDF-",
            DrawingKind::Png => b"\x89PNG",
        })
    }

    /// The kind that the ending of a path names.
    pub fn of(path: &Path) -> std::result::Result<DrawingKind, String> {
        let ending = path.extension().unwrap_or_default();
        let known = KINDS.iter().find(|(extension, _)| ending.eq_ignore_ascii_case(extension));
        known.map(|(_, kind)| *kind).ok_or_else(|| {
            let name = |(ending, _): &(&str, DrawingKind)| format!(".{ending}");
            let names: Vec<String> = KINDS.iter().map(name).collect();
            format!("drawings are SVG, PDF or PNG; give a name that ends in {}", names.join(", "))
        })
    }
}

impl Scene {
    /// The drawing as the bytes of a file.
    pub fn bytes(&self, kind: DrawingKind) -> Vec<u8> {
        match kind {
            DrawingKind::Svg => svg::standalone(self).into_bytes(),
            DrawingKind::Pdf => pdf::bytes(self),
            DrawingKind::Png => png::bytes(self),
        }
    }

    /// Writes the drawing to a file of the kind that its ending names, whole or not at all.
    ///
    /// # Errors
    /// A request error for another ending, or a file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let kind = DrawingKind::of(path).map_err(|why| Error::request(format!("{}: {why}", path.display())))?;
        atomic::write(path, &self.bytes(kind))
    }
}

#[cfg(test)]
mod tests;
