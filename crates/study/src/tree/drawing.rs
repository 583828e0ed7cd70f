//! Drawings of trees.

use crate::{
    order::{Manner, Order, Picture, picture},
    report::figure::{Ink, MILLIMETRE, Marker, Position, SMALL, Scene, SceneMark, TEXT, WIDTHS, Words, text_width},
};

/// Smallest and largest width of a step, in points.
const NARROWEST: f64 = 24.0;
const WIDEST: f64 = 80.0;
/// Height of a line, in points.
const LINE: f64 = 14.0;
/// Margin around the tree, in points.
const MARGIN: f64 = 8.0;
const TITLE: f64 = 14.0;
/// Radius of the mark of a step.
const DOT: f64 = 2.2;
/// Colour of each manner; chains and terms are black.
const COLORS: [(Manner, usize); 4] =
    [(Manner::Pair, 0), (Manner::Aligned, 1), (Manner::Exact, 2), (Manner::Undecided, 3)];

/// Draws the tree, its last step on the left and its terms on the right.
pub fn scene(order: &Order, title: &str) -> Scene {
    let picture = picture(order);
    let mut placed = Vec::new();
    let (lines, _) = place(&picture, 0, 0, &mut placed);
    let paper = f64::from(WIDTHS[1]) * MILLIMETRE;
    let depth = placed.iter().map(|node| node.depth).max().unwrap_or(0).max(1) as f64;
    let longest = placed.iter().filter(|node| node.last).map(|node| text_width(&node.words, SMALL)).fold(0.0, f64::max);
    // A word of a step stands between it and its parts.
    let words = placed.iter().filter(|node| !node.last).map(|node| text_width(&node.words, SMALL)).fold(0.0, f64::max);
    let across = ((paper - longest - 2.0 * MARGIN) / depth).clamp(NARROWEST, WIDEST).max(words + 12.0);
    let x = |node: &Placed| MARGIN + node.depth as f64 * across;
    let right = placed.iter().map(|node| x(node) + text_width(&node.words, SMALL)).fold(0.0, f64::max);
    let width = right.max(text_width(title, TEXT)) + 2.0 * MARGIN;
    let mut scene = Scene::new(width, TITLE + lines.max(1) as f64 * LINE + 2.0 * MARGIN, title);
    scene.words(Words::new(Position::new(MARGIN, MARGIN + TEXT), title, TEXT));
    for node in &placed {
        if let Some((above, y)) = node.above {
            let (from, to) = (MARGIN + above as f64 * across, x(node));
            let bend = to - 6.0;
            let corners = [(from, y), (bend, y), (bend, node.y), (to - 3.0, node.y)];
            scene.path(corners.map(|(x, y)| Position::new(x, y)).to_vec(), Ink::Faint, 0.6, &[]);
        }
    }
    for node in placed {
        if !node.last {
            let at = Position::new(x(&node), node.y);
            let hover = Some(node.words.clone());
            scene.marks.push(SceneMark::Dot {
                at,
                marker: Marker::Disc,
                size: DOT,
                ink: node.ink,
                hollow: false,
                hover,
            });
        }
        // The name of a term stands to its right; the word of a step stands above its line.
        let at = match node.last {
            true => Position::new(x(&node), node.y + 2.5),
            false => Position::new(x(&node) + 3.5, node.y - 2.5),
        };
        scene.words(Words::new(at, node.words, SMALL).inked(node.ink));
    }
    scene
}

/// A node of a picture, with its position.
struct Placed {
    words: String,
    ink: Ink,
    /// Steps before it.
    depth: usize,
    y: f64,
    /// Depth and height of the step that it belongs to.
    above: Option<(usize, f64)>,
    /// True if it is a leaf.
    last: bool,
}

/// Places a picture from `line` on; returns the lines that it takes, and its index.
fn place(picture: &Picture, depth: usize, line: usize, placed: &mut Vec<Placed>) -> (usize, usize) {
    let (mut lines, mut parts) = (0, Vec::new());
    for part in picture.parts() {
        let (part_lines, number) = place(part, depth + 1, line + lines, placed);
        lines += part_lines;
        parts.push(number);
    }
    let y = match (parts.first(), parts.last()) {
        (Some(first), Some(last)) => (placed[*first].y + placed[*last].y) / 2.0,
        _ => TITLE + MARGIN + line as f64 * LINE,
    };
    parts.iter().for_each(|part| placed[*part].above = Some((depth, y)));
    let (words, last) = (picture.words().to_string(), parts.is_empty());
    placed.push(Placed { words, ink: ink(picture), depth, y, above: None, last });
    (lines.max(1), placed.len() - 1)
}

fn ink(picture: &Picture) -> Ink {
    match picture {
        Picture::Meeting(manner, _) | Picture::Group(manner, _) => {
            COLORS.iter().find(|(other, _)| other == manner).map_or(Ink::Text, |(_, color)| Ink::Color(*color))
        }
        Picture::Terms(_) | Picture::Chain(_) => Ink::Text,
    }
}
