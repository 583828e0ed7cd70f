//! Drawings of trees.

use super::{Manner, Order, Picture, picture};
use crate::report::figure::{Ink, Marker, Scene, SceneMark, Words, text_width};

/// Width of a step, in points.
const ACROSS: f64 = 150.0;
/// Height of a line, in points.
const LINE: f64 = 26.0;
/// Margin around the tree, in points.
const MARGIN: f64 = 24.0;
const TITLE: f64 = 30.0;
const SIZE: f64 = 14.0;
/// Radius of the mark of a step.
const DOT: f64 = 5.0;
/// Colour of each manner; chains and terms are black.
const COLORS: [(Manner, usize); 4] =
    [(Manner::Pair, 0), (Manner::Aligned, 1), (Manner::Exact, 2), (Manner::Undecided, 3)];

/// Draws the tree, its last step on the left and its terms on the right.
pub(crate) fn scene(order: &Order, title: &str) -> Scene {
    let picture = picture(order);
    let mut placed = Vec::new();
    let (lines, _) = place(&picture, 0, 0, &mut placed);
    let right = placed.iter().map(|own| own.x + text_width(&own.words, SIZE)).fold(0.0, f64::max);
    let width = (right + ACROSS / 2.0).max(text_width(title, SIZE)) + 2.0 * MARGIN;
    let mut scene = Scene::new(width, TITLE + lines.max(1) as f64 * LINE + 2.0 * MARGIN, title);
    scene.words(Words::new((MARGIN, MARGIN), title, SIZE).bold());
    for own in &placed {
        if let Some((x, y)) = own.above {
            let bend = own.x - ACROSS / 6.0;
            let points = vec![(x, y), (bend, y), (bend, own.y), (own.x - 8.0, own.y)];
            scene.path(points, Ink::Faint, 1.0, &[]);
        }
    }
    for own in placed {
        if !own.last {
            let at = (own.x, own.y);
            let hover = Some(own.words.clone());
            scene.marks.push(SceneMark::Dot {
                at,
                marker: Marker::Disc,
                size: DOT,
                ink: own.ink,
                hollow: false,
                hover,
            });
        }
        // The name of a term stands to its right; the word of a step stands above its line.
        let at = if own.last { (own.x, own.y + 5.0) } else { (own.x + 8.0, own.y - 6.0) };
        scene.words(Words::new(at, own.words, SIZE).inked(own.ink));
    }
    scene
}

/// A node of a picture, with its position.
struct Placed {
    words: String,
    ink: Ink,
    x: f64,
    y: f64,
    /// Position of the step that it belongs to.
    above: Option<(f64, f64)>,
    /// True if it is a leaf.
    last: bool,
}

/// Places a picture from `line` on; returns the lines that it takes, and its index.
fn place(picture: &Picture, depth: usize, line: usize, placed: &mut Vec<Placed>) -> (usize, usize) {
    let (mut lines, mut parts) = (0, Vec::new());
    for part in picture.parts() {
        let (taken, number) = place(part, depth + 1, line + lines, placed);
        lines += taken;
        parts.push(number);
    }
    let y = match (parts.first(), parts.last()) {
        (Some(first), Some(last)) => (placed[*first].y + placed[*last].y) / 2.0,
        _ => TITLE + MARGIN + line as f64 * LINE,
    };
    let x = MARGIN + depth as f64 * ACROSS;
    parts.iter().for_each(|part| placed[*part].above = Some((x, y)));
    let (words, last) = (picture.words().to_string(), parts.is_empty());
    placed.push(Placed { words, ink: ink(picture), x, y, above: None, last });
    (lines.max(1), placed.len() - 1)
}

fn ink(picture: &Picture) -> Ink {
    match picture {
        Picture::Meeting(manner, _) | Picture::Group(manner, _) => {
            COLORS.iter().find(|(own, _)| own == manner).map_or(Ink::Text, |(_, color)| Ink::Color(*color))
        }
        Picture::Terms(_) | Picture::Chain(_) => Ink::Text,
    }
}
