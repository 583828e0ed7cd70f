//! Legends of charts.

use super::{
    chart::ChartLine,
    font::width,
    line::STROKE,
    palette,
    scene::{Anchor, Ink, Position, SMALL, Scene},
};

/// Length of a sample in the legend.
const SAMPLE: f64 = 18.0;

/// Draws a legend in as many columns as fit; returns its end.
pub(super) fn legend(lines: &[&ChartLine], corner: Position, room: f64, scene: &mut Scene) -> f64 {
    let widest = lines.iter().map(|line| width(&line.name, SMALL) + SAMPLE + 16.0).fold(1.0, f64::max);
    let columns = ((room / widest) as usize).clamp(1, 4);
    let across = room / columns as f64;
    let mut y = corner.y;
    for row in lines.chunks(columns) {
        let mut end = y;
        for (at, line) in row.iter().enumerate() {
            let x = corner.x + across * at as f64;
            let middle = y + SMALL * 0.5;
            if line.joined {
                let sample = vec![Position::new(x, middle), Position::new(x + SAMPLE, middle)];
                scene.path(sample, line.ink(), STROKE, palette::dash(line.style));
            }
            scene.marks.push(line.dot(Position::new(x + SAMPLE / 2.0, middle), None));
            let name = if line.points.is_empty() { format!("{} (no points)", line.name) } else { line.name.clone() };
            let text = Position::new(x + SAMPLE + 4.0, y);
            end = end.max(scene.paragraph(&name, text, across - SAMPLE - 8.0, SMALL, Anchor::Start, Ink::Text));
        }
        y = end + 1.0;
    }
    y
}
