//! The picture of an arithmetic: terms on top, D at the bottom, widths and roundings on the edges.

use crate::{
    arithmetic::Program,
    catalogue::arithmetic::{Input, Part, tree},
    report::figure::{Anchor, Ink, Position, Scene, Size, Words, text_width},
};

/// Size of the letters.
const SIZE: f64 = 13.0;
/// Height of a line.
const LINE: f64 = 17.0;
/// Room around the words of a box.
const ROOM: Size = Size { width: 14.0, height: 6.0 };
/// Gap between neighbours.
const GAP: f64 = 18.0;
/// Length of an edge without words.
const EDGE: f64 = 22.0;
/// Height in which edges gather above a step.
const FAN: f64 = 16.0;
/// Margin around the drawing.
const MARGIN: f64 = 8.0;
/// Room for the arrow of repeated steps.
const LOOP: f64 = 18.0;
/// Fonts of readers may be wider than the one that is measured.
const WIDER: f64 = 1.1;
/// The least width of a drawing, so that letters keep their size.
const NARROW: f64 = 360.0;

/// A box of the drawing and the boxes above it.
struct Placed {
    /// The words inside.
    lines: Vec<String>,
    /// The words on the edge below.
    below: Vec<String>,
    above: Vec<Placed>,
    /// True for a step; terms have no frame.
    framed: bool,
    /// The words on the arrow of equal steps in a row.
    again: Option<Vec<String>>,
    /// Width with the boxes above.
    width: f64,
}

impl Placed {
    fn box_width(&self) -> f64 {
        let widest = |lines: &[String]| lines.iter().map(|line| text_width(line, SIZE) * WIDER).fold(0.0, f64::max);
        let again = self.again.as_ref().map_or(0.0, |words| 2.0 * (LOOP + 5.0 + widest(words)));
        (widest(&self.lines) + 2.0 * ROOM.width).max(widest(&self.below)) + again
    }

    fn height(&self) -> f64 {
        self.lines.len() as f64 * LINE + 2.0 * ROOM.height
    }

    /// Height of the edge below.
    fn edge(&self) -> f64 {
        EDGE + self.below.len() as f64 * LINE
    }

    /// Largest heights of a box and of an edge in each row, from the bottom.
    fn rows(&self, depth: usize, rows: &mut Vec<(f64, f64)>) {
        if rows.len() <= depth {
            rows.push((0.0, 0.0));
        }
        let fan = if self.above.is_empty() { 0.0 } else { FAN };
        rows[depth] = (rows[depth].0.max(self.height() + fan), rows[depth].1.max(self.edge()));
        self.above.iter().for_each(|above| above.rows(depth + 1, rows));
    }
}

/// The box of an input, with the terms of `times` equal steps.
fn place(input: &Input, times: usize) -> Placed {
    let times = times * input.count;
    let mut below = input.rounded.clone();
    below.extend(input.treatment.iter().cloned());
    let (lines, above, framed, again) = match &input.part {
        Part::Leaf(leaf) => (leaf.lines(times), Vec::new(), false, None),
        Part::Step(step) => {
            let above: Vec<Placed> = step.inputs.iter().map(|inner| place(inner, times * step.times)).collect();
            let mut lines = step.lines();
            let again = (step.times > 1).then(|| {
                lines.push(format!("{} times in a row", step.times));
                // The arrow needs no words if each sum is rounded like the last.
                if step.between == input.rounded { Vec::new() } else { step.between.clone() }
            });
            (lines, above, true, again)
        }
    };
    if input.count > 1 {
        below.insert(0, format!("{} such values", input.count));
    }
    let mut placed = Placed { lines, below, above, framed, again, width: 0.0 };
    let all: f64 = placed.above.iter().map(|above| above.width).sum();
    placed.width = placed.box_width().max(all + GAP * placed.above.len().saturating_sub(1) as f64);
    placed
}

/// Draws the sum of a program.
pub(super) fn picture(program: &Program, title: &str) -> Scene {
    let root = place(&tree(program), 1);
    let mut rows = Vec::new();
    root.rows(0, &mut rows);
    let height: f64 = rows.iter().map(|(tall, edge)| tall + edge).sum();
    let width = (root.width + 2.0 * MARGIN).max(NARROW);
    let mut scene = Scene::new(width, height + 2.0 * MARGIN + LINE, title);
    let middle = width / 2.0;
    let bottom = MARGIN + height;
    scene.words(Words::new(Position::new(middle, bottom + LINE - 3.0), "D", SIZE).anchored(Anchor::Middle));
    draw(&mut scene, &root, Position::new(middle - root.width / 2.0, bottom), &rows);
    arrow(&mut scene, Position::new(middle, bottom));
    scene
}

/// True if a drawing fits a phone.
pub(super) fn is_narrow(scene: &Scene) -> bool {
    scene.width <= NARROW
}

/// Draws a box and those above it; `corner` is at the left, at the end of its edge.
fn draw(scene: &mut Scene, placed: &Placed, corner: Position, rows: &[(f64, f64)]) {
    let Some(((tall, edge), rest)) = rows.split_first() else { return };
    let Position { x: left, y: bottom } = corner;
    let middle = left + placed.width / 2.0;
    let under = bottom - edge;
    let top = under - placed.height();
    let inner = placed.lines.iter().map(|line| text_width(line, SIZE) * WIDER).fold(0.0, f64::max) / 2.0 + ROOM.width;
    let words = placed.below.len() as f64 * LINE;
    let begin = bottom - edge + (edge - words) / 2.0;
    scene.line(Position::new(middle, under), Position::new(middle, bottom), Ink::Faint, 1.2);
    for (at, line) in placed.below.iter().enumerate() {
        let y = begin + at as f64 * LINE;
        let half = text_width(line, SIZE) * WIDER / 2.0 + 3.0;
        let size = Size { width: 2.0 * half, height: LINE };
        scene.rectangle(Position::new(middle - half, y), size, Ink::Paper, 1.0, None);
        let words = Words::new(Position::new(middle, y + LINE - 4.5), line, SIZE).anchored(Anchor::Middle);
        scene.words(words.inked(Ink::Color(0)));
    }
    if placed.framed {
        let corners = [(-inner, top), (inner, top), (inner, under), (-inner, under), (-inner, top)];
        let size = Size { width: 2.0 * inner, height: under - top };
        scene.rectangle(Position::new(middle - inner, top), size, Ink::Grid, 0.35, None);
        path(scene, &corners.map(|(x, y)| (middle + x, y)), Ink::Text);
    }
    for (at, line) in placed.lines.iter().enumerate() {
        let y = top + ROOM.height + (at + 1) as f64 * LINE - 4.5;
        scene.words(Words::new(Position::new(middle, y), line, SIZE).anchored(Anchor::Middle));
    }
    if let Some(words) = &placed.again {
        let (x, out) = (middle + inner, middle + inner + LOOP);
        let (from, to) = (under - 8.0, top + 8.0);
        path(scene, &[(x, from), (out, from), (out, to), (x + 2.0, to)], Ink::Color(0));
        path(scene, &[(x + 8.0, to - 4.0), (x + 1.0, to), (x + 8.0, to + 4.0)], Ink::Color(0));
        let begin = (top + under) / 2.0 - words.len() as f64 * LINE / 2.0;
        for (at, line) in words.iter().enumerate() {
            let place = Position::new(out + 5.0, begin + (at + 1) as f64 * LINE - 4.5);
            scene.words(Words::new(place, line, SIZE).inked(Ink::Color(0)));
        }
    }
    let all: f64 = placed.above.iter().map(|above| above.width).sum();
    let gaps = GAP * placed.above.len().saturating_sub(1) as f64;
    let mut x = middle - (all + gaps) / 2.0;
    let count = placed.above.len() as f64;
    let row = bottom - edge - tall;
    for (at, above) in placed.above.iter().enumerate() {
        draw(scene, above, Position::new(x, row), rest);
        // Edges enter a box side by side.
        let (from, entry) = (x + above.width / 2.0, middle - inner + 2.0 * inner * (at as f64 + 0.5) / count);
        let turn = row + FAN / 2.0;
        path(scene, &[(from, row), (from, turn), (entry, turn), (entry, top)], Ink::Faint);
        x += above.width + GAP;
    }
}

/// The head of an arrow that points down.
fn arrow(scene: &mut Scene, tip: Position) {
    let Position { x, y } = tip;
    path(scene, &[(x - 4.0, y - 7.0), (x, y - 0.5), (x + 4.0, y - 7.0)], Ink::Faint);
}

/// Draws a line through the points with these x and y.
fn path(scene: &mut Scene, points: &[(f64, f64)], ink: Ink) {
    let points = points.iter().map(|(x, y)| Position::new(*x, *y)).collect();
    scene.path(points, ink, 1.2, &[]);
}
