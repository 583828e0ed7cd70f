//! Drawings of results, written as SVG, PDF or PNG.
//!
//! Charts, matrices and commands make a [`Scene`] of lines, areas and words. The same scene gives the same bytes, because no font is read
//! from the machine.

mod axis;
mod bars;
mod chart;
mod font;
mod matrix;
mod palette;
mod pdf;
mod png;
mod scene;
mod svg;

use std::path::Path;

pub(crate) use axis::{Axis, Scale};
pub(crate) use bars::{Bars, ChartBar};
pub(crate) use chart::{Band, Chart, ChartLine, Point};
pub(crate) use font::width as text_width;
pub(crate) use matrix::{PairMatrix, PairTile};
pub(crate) use palette::Marker;
pub(crate) use scene::{Ink, Scene, SceneMark, Words};
pub(crate) use svg::inline;

use crate::{Error, Result, base::atomic};

/// File kinds of drawings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DrawingKind {
    /// Scalable Vector Graphics.
    Svg,
    /// Portable Document Format: one page of the size of the drawing.
    Pdf,
    /// Portable Network Graphics, at twice the size of the drawing.
    Png,
}

/// File endings and their kinds.
const KINDS: [(&str, DrawingKind); 3] =
    [("svg", DrawingKind::Svg), ("pdf", DrawingKind::Pdf), ("png", DrawingKind::Png)];

impl DrawingKind {
    /// Every kind.
    pub(crate) fn all() -> [DrawingKind; 3] {
        KINDS.map(|(_, kind)| kind)
    }

    /// The file ending of this kind.
    pub(crate) fn ending(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("", |(ending, _)| ending)
    }

    /// True if these are the bytes of a file of this kind.
    pub(crate) fn begins(self, bytes: &[u8]) -> bool {
        bytes.starts_with(match self {
            DrawingKind::Svg => b"<svg",
            DrawingKind::Pdf => b"%PDF-",
            DrawingKind::Png => b"\x89PNG",
        })
    }

    /// The kind that the ending of a path names.
    pub(crate) fn of(path: &Path) -> std::result::Result<DrawingKind, String> {
        let ending = path.extension().unwrap_or_default();
        let known = KINDS.iter().find(|(own, _)| ending.eq_ignore_ascii_case(own));
        known.map(|(_, kind)| *kind).ok_or_else(|| {
            let name = |(ending, _): &(&str, DrawingKind)| format!(".{ending}");
            let names: Vec<String> = KINDS.iter().map(name).collect();
            format!("drawings are SVG, PDF or PNG; give a name that ends in {}", names.join(", "))
        })
    }
}

impl Scene {
    /// The drawing as the bytes of a file.
    pub(crate) fn bytes(&self, kind: DrawingKind) -> Vec<u8> {
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
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let kind = DrawingKind::of(path).map_err(|why| Error::request(format!("{}: {why}", path.display())))?;
        atomic::write(path, &self.bytes(kind))
    }
}

#[cfg(test)]
mod tests;
