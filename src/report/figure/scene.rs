//! What a drawing consists of, without saying how it is written.

use super::{font, palette::Marker};

/// The size of a remark.
const NOTE: f64 = 11.5;
/// The room beside a remark.
const EDGE: f64 = 12.0;

/// A drawing: marks on a plane whose origin is the top left corner, in points, drawn one after the other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scene {
    /// The width.
    pub(crate) width: f64,
    /// The height.
    pub(crate) height: f64,
    /// What it shows, for readers who do not see it.
    pub(crate) title: String,
    /// The marks.
    pub(crate) marks: Vec<Mark>,
}

/// What something is drawn with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Ink {
    /// The ground.
    Paper,
    /// Words and axes.
    Text,
    /// Less important words.
    Faint,
    /// Lines behind the data.
    Grid,
    /// The colour with this number, counted around.
    Color(usize),
}

/// Which end of a text its place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// Its first character.
    Start,
    /// Its middle.
    Middle,
    /// Its last character.
    End,
}

/// A text in its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Words {
    /// Where its base line is.
    pub(crate) at: (f64, f64),
    /// The text.
    pub(crate) text: String,
    /// The size of the font.
    pub(crate) size: f64,
    /// Which end of it is there.
    pub(crate) anchor: Anchor,
    /// The ink.
    pub(crate) ink: Ink,
    /// Whether it is bold.
    pub(crate) bold: bool,
    /// Whether it runs from below to above.
    pub(crate) upwards: bool,
}

/// One mark of a drawing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Mark {
    /// A line through points.
    Line {
        /// The points.
        points: Vec<(f64, f64)>,
        /// The ink.
        ink: Ink,
        /// How thick it is.
        width: f64,
        /// Lengths of dashes and gaps; none of a solid line.
        dash: &'static [f64],
    },
    /// A filled polygon.
    Area {
        /// Its corners.
        corners: Vec<(f64, f64)>,
        /// The ink.
        ink: Ink,
        /// From 0, not to be seen, to 1.
        opacity: f64,
        /// What is said of it where a pointer rests on it.
        hover: Option<String>,
    },
    /// The mark of a point.
    Dot {
        /// Where it is.
        at: (f64, f64),
        /// Its shape.
        marker: Marker,
        /// Half of its width.
        size: f64,
        /// The ink.
        ink: Ink,
        /// Whether only its edge is drawn.
        hollow: bool,
        /// What is said of it where a pointer rests on it.
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

    /// The same, at this end.
    pub(crate) fn anchored(self, anchor: Anchor) -> Words {
        Words { anchor, ..self }
    }

    /// The same, in this ink.
    pub(crate) fn inked(self, ink: Ink) -> Words {
        Words { ink, ..self }
    }

    /// The same, bold.
    pub(crate) fn bold(self) -> Words {
        Words { bold: true, ..self }
    }

    /// The same, from below to above.
    pub(crate) fn upwards(self) -> Words {
        Words { upwards: true, ..self }
    }
}

impl Scene {
    /// An empty drawing.
    pub(crate) fn new(width: f64, height: f64, title: impl Into<String>) -> Scene {
        Scene { width, height, title: title.into(), marks: Vec::new() }
    }

    /// Whether a text of it has these words.
    pub(crate) fn says(&self, words: &str) -> bool {
        let has = |mark: &Mark| matches!(mark, Mark::Words(own) if own.text.contains(words));
        self.title.contains(words) || self.marks.iter().any(has)
    }

    /// Adds a remark below all else, in lines as wide as the drawing.
    pub(crate) fn note(&mut self, text: &str) {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split(' ') {
            match lines.last_mut() {
                Some(line) if font::width(&format!("{line} {word}"), NOTE) < self.width - 2.0 * EDGE => {
                    *line += &format!(" {word}");
                }
                _ => lines.push(word.to_string()),
            }
        }
        for line in lines {
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
        self.marks.push(Mark::Line { points, ink, width, dash });
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
        self.marks.push(Mark::Area { corners, ink, opacity, hover });
    }

    /// Writes a text.
    pub(crate) fn words(&mut self, words: Words) {
        self.marks.push(Mark::Words(words));
    }
}
