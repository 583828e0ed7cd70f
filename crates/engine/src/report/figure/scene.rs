//! Drawings, independent of file kinds.

use super::{font, palette::Marker};

/// Font size of titles and of axes' names, in points.
pub const TEXT: f64 = 8.0;
/// Font size of numbers, legends and notes, in points.
pub const SMALL: f64 = 7.0;
/// Width of the edge of a marker, in points.
pub(super) const MARK_EDGE: f64 = 0.6;
/// Margin of a drawing, in points.
pub(super) const EDGE: f64 = 4.0;

/// A position in a drawing, in points from its top left corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Position {
    /// Distance to the right.
    pub x: f64,
    /// Distance downwards.
    pub y: f64,
}

/// Width and height in a drawing, in points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size {
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
}

/// A drawing: marks in drawing order, in points from the top left corner.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Width in points.
    pub width: f64,
    /// Height in points.
    pub height: f64,
    /// Its description for readers who do not see it.
    pub(crate) title: String,
    /// Its marks, the lowest first.
    pub marks: Vec<SceneMark>,
}

/// Ink of a mark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ink {
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
pub enum Anchor {
    /// Its first character.
    Start,
    /// Its middle.
    Middle,
    /// Its last character.
    End,
}

/// A text at a position.
#[derive(Debug, Clone, PartialEq)]
pub struct Words {
    /// Its position, on the base line.
    pub(crate) at: Position,
    pub(crate) text: String,
    /// The font size.
    pub(crate) size: f64,
    /// The point of the text at this position.
    pub(crate) anchor: Anchor,
    pub(crate) ink: Ink,
    /// True if it runs from below to above.
    pub(crate) upwards: bool,
}

/// One mark of a drawing.
#[derive(Debug, Clone, PartialEq)]
pub enum SceneMark {
    /// A line through points.
    Line {
        /// The points, in order.
        points: Vec<Position>,
        /// Its ink.
        ink: Ink,
        /// The width of the line.
        width: f64,
        /// Lengths of dashes and gaps; empty for a solid line.
        dash: &'static [f64],
    },
    /// A filled polygon.
    Area {
        /// The corners, in order.
        corners: Vec<Position>,
        /// Its ink.
        ink: Ink,
        /// From 0 (invisible) to 1.
        opacity: f64,
        /// Its tooltip.
        hover: Option<String>,
    },
    /// A marker.
    Dot {
        /// Its position.
        at: Position,
        /// Its shape.
        marker: Marker,
        /// Half its width.
        size: f64,
        /// Its ink.
        ink: Ink,
        /// True if only its edge is drawn.
        hollow: bool,
        /// Its tooltip.
        hover: Option<String>,
    },
    /// A text.
    Words(Words),
}

impl Position {
    /// The position at these distances.
    pub fn new(x: f64, y: f64) -> Position {
        Position { x, y }
    }
}

impl Words {
    /// A plain text.
    pub fn new(at: Position, text: impl Into<String>, size: f64) -> Words {
        Words { at, text: text.into(), size, anchor: Anchor::Start, ink: Ink::Text, upwards: false }
    }

    /// Sets the anchor.
    pub fn anchored(self, anchor: Anchor) -> Words {
        Words { anchor, ..self }
    }

    /// Sets the ink.
    pub fn inked(self, ink: Ink) -> Words {
        Words { ink, ..self }
    }

    /// The position of its first character.
    pub(super) fn start(&self) -> Position {
        let width = font::width(&self.text, self.size);
        let back = match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        match self.upwards {
            true => Position::new(self.at.x, self.at.y + back),
            false => Position::new(self.at.x - back, self.at.y),
        }
    }

    /// Turns it upwards.
    pub(crate) fn upwards(self) -> Words {
        Words { upwards: true, ..self }
    }
}

impl Scene {
    /// An empty drawing.
    pub fn new(width: f64, height: f64, title: impl Into<String>) -> Scene {
        Scene { width, height, title: title.into(), marks: Vec::new() }
    }

    /// Writes a text in lines around `at.x`, from `at.y` on; returns its end.
    pub(super) fn paragraph(
        &mut self,
        text: &str,
        at: Position,
        room: f64,
        size: f64,
        anchor: Anchor,
        ink: Ink,
    ) -> f64 {
        let mut y = at.y;
        for line in font::wrapped(text, size, room).into_iter().filter(|line| !line.is_empty()) {
            let base = Position::new(at.x, y + size * font::ASCENT);
            self.words(Words::new(base, line, size).anchored(anchor).inked(ink));
            y += size * font::LINE;
        }
        y
    }

    /// A drawing with its title on top, and the end of the title.
    pub(super) fn titled(width: f64, title: &str) -> (Scene, f64) {
        let mut scene = Scene::new(width, 0.0, title);
        let at = Position::new(width / 2.0, EDGE);
        let top = scene.paragraph(title, at, width - 2.0 * EDGE, TEXT, Anchor::Middle, Ink::Text);
        (scene, top + EDGE)
    }

    /// Writes notes from `top` on, and ends the drawing below them.
    pub(super) fn noted(mut self, notes: &[String], top: f64) -> Scene {
        let (mut y, room) = (top, self.width - 2.0 * EDGE);
        for note in notes {
            y = self.paragraph(note, Position::new(EDGE, y), room, SMALL, Anchor::Start, Ink::Faint);
        }
        self.height = y + EDGE;
        self
    }

    /// Draws a straight line.
    pub fn line(&mut self, from: Position, to: Position, ink: Ink, width: f64) {
        self.path(vec![from, to], ink, width, &[]);
    }

    /// Draws a line through points.
    pub fn path(&mut self, points: Vec<Position>, ink: Ink, width: f64, dash: &'static [f64]) {
        self.marks.push(SceneMark::Line { points, ink, width, dash });
    }

    /// Fills a rectangle, whose top left corner is `corner`.
    pub fn rectangle(&mut self, corner: Position, size: Size, ink: Ink, opacity: f64, hover: Option<String>) {
        let (right, bottom) = (corner.x + size.width, corner.y + size.height);
        let corners =
            vec![corner, Position::new(right, corner.y), Position::new(right, bottom), Position::new(corner.x, bottom)];
        self.marks.push(SceneMark::Area { corners, ink, opacity, hover });
    }

    /// Writes a text.
    pub fn words(&mut self, words: Words) {
        self.marks.push(SceneMark::Words(words));
    }
}
