//! Drawings, independent of file kinds.

use super::{font, palette::Marker};
use crate::report::human::wrapped;

/// Font size of a title.
const TITLE: f64 = 15.0;
/// Font size of a remark.
const NOTE: f64 = 11.5;
/// Margin of a remark.
const EDGE: f64 = 12.0;

/// A drawing: marks in drawing order, in points from the top left corner.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scene {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Its description for readers who do not see it.
    pub(crate) title: String,
    pub(crate) marks: Vec<SceneMark>,
}

/// Ink of a mark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Ink {
    /// The background.
    Paper,
    /// Words and axes.
    Text,
    /// Less important words.
    Faint,
    /// Lines behind the data.
    Grid,
    /// The colour at this index, modulo their number.
    Color(usize),
}

/// The point of a text that its position names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// Its first character.
    Start,
    /// Its middle.
    Middle,
    /// Its last character.
    End,
}

/// A text at a position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Words {
    /// Its position, on the base line.
    pub(crate) at: (f64, f64),
    pub(crate) text: String,
    /// The font size.
    pub(crate) size: f64,
    /// The point of the text at this position.
    pub(crate) anchor: Anchor,
    pub(crate) ink: Ink,
    /// True if it is bold.
    pub(crate) bold: bool,
    /// True if it runs from below to above.
    pub(crate) upwards: bool,
}

/// One mark of a drawing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SceneMark {
    /// A line through points.
    Line {
        points: Vec<(f64, f64)>,
        ink: Ink,
        /// The width of the line.
        width: f64,
        /// Lengths of dashes and gaps; empty for a solid line.
        dash: &'static [f64],
    },
    /// A filled polygon.
    Area {
        corners: Vec<(f64, f64)>,
        ink: Ink,
        /// From 0 (invisible) to 1.
        opacity: f64,
        /// Its tooltip.
        hover: Option<String>,
    },
    /// A marker.
    Dot {
        /// Its position.
        at: (f64, f64),
        /// Its shape.
        marker: Marker,
        /// Half its width.
        size: f64,
        ink: Ink,
        /// True if only its edge is drawn.
        hollow: bool,
        /// Its tooltip.
        hover: Option<String>,
    },
    /// A text.
    Words(Words),
}

impl Words {
    /// A plain text.
    pub(crate) fn new(at: (f64, f64), text: impl Into<String>, size: f64) -> Words {
        Words { at, text: text.into(), size, anchor: Anchor::Start, ink: Ink::Text, bold: false, upwards: false }
    }

    /// Sets the anchor.
    pub(crate) fn anchored(self, anchor: Anchor) -> Words {
        Words { anchor, ..self }
    }

    /// Sets the ink.
    pub(crate) fn inked(self, ink: Ink) -> Words {
        Words { ink, ..self }
    }

    /// Makes it bold.
    pub(crate) fn bold(self) -> Words {
        Words { bold: true, ..self }
    }

    /// Turns it upwards.
    pub(crate) fn upwards(self) -> Words {
        Words { upwards: true, ..self }
    }
}

impl Scene {
    /// An empty drawing.
    pub(crate) fn new(width: f64, height: f64, title: impl Into<String>) -> Scene {
        Scene { width, height, title: title.into(), marks: Vec::new() }
    }

    /// A drawing with its title on top, cut to the width.
    pub(crate) fn titled(width: f64, height: f64, title: &str) -> Scene {
        let mut scene = Scene::new(width, height, title);
        // Bold letters are a tenth wider.
        let shown = font::cut(title, TITLE * 1.1, width - 20.0);
        scene.words(Words::new((width / 2.0, 22.0), shown, TITLE).anchored(Anchor::Middle).bold());
        scene
    }

    /// True if a text of the drawing contains these words.
    pub(crate) fn says(&self, words: &str) -> bool {
        let has = |mark: &SceneMark| matches!(mark, SceneMark::Words(own) if own.text.contains(words));
        self.title.contains(words) || self.marks.iter().any(has)
    }

    /// Adds a wrapped remark at the bottom.
    pub(crate) fn note(&mut self, text: &str) {
        let room = self.width - 2.0 * EDGE;
        for line in wrapped(text, |line| font::width(line, NOTE) < room) {
            self.words(Words::new((EDGE, self.height + 4.0), line, NOTE).inked(Ink::Faint));
            self.height += NOTE * 1.4;
        }
    }

    /// Draws a straight line.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, width: f64) {
        self.path(vec![from, to], ink, width, &[]);
    }

    /// Draws a line through points.
    pub(crate) fn path(&mut self, points: Vec<(f64, f64)>, ink: Ink, width: f64, dash: &'static [f64]) {
        self.marks.push(SceneMark::Line { points, ink, width, dash });
    }

    /// Fills a rectangle.
    pub(crate) fn rectangle(
        &mut self,
        (x, y): (f64, f64),
        (w, h): (f64, f64),
        ink: Ink,
        opacity: f64,
        hover: Option<String>,
    ) {
        let corners = vec![(x, y), (x + w, y), (x + w, y + h), (x, y + h)];
        self.marks.push(SceneMark::Area { corners, ink, opacity, hover });
    }

    /// Writes a text.
    pub(crate) fn words(&mut self, words: Words) {
        self.marks.push(SceneMark::Words(words));
    }
}
