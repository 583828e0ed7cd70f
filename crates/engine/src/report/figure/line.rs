//! Lines of a chart within a panel.

use super::{
    axis::Scale,
    chart::{Band, Chart, ChartLine, Panel, Point},
    grid::{AXIS, Grid},
    palette::{self, Marker},
    scene::{Ink, Position, Scene, SceneMark},
};

/// Width of lines of data.
pub(super) const STROKE: f64 = 1.1;
/// Largest distance of the markers in a named row, and the share of the row that all take.
const DODGE: f64 = 2.6;
const WITHIN: f64 = 0.6;
/// Half the width of a marker, and of a cross.
const DOT: f64 = 1.7;
const CROSS: f64 = 3.2;
/// Most corners, and most markers, of a drawn line.
const MOST_POINTS: usize = 1024;
const MOST_DOTS: usize = 40;

impl ChartLine {
    pub(super) fn ink(&self) -> Ink {
        Ink::Color(self.style)
    }

    pub(super) fn dot(&self, at: Position, hover: Option<String>) -> SceneMark {
        SceneMark::Dot { at, marker: palette::marker(self.style), size: DOT, ink: self.ink(), hollow: false, hover }
    }
}

impl Chart {
    pub(super) fn data(&self, panel: &Panel, grid: &Grid, corner: Position, scene: &mut Scene) {
        if let Some(up) = self.level.and_then(|level| grid.y.share(level)) {
            let y = corner.y + (1.0 - up) * grid.size.height;
            let right = Position::new(corner.x + grid.size.width, y);
            scene.line(Position { y, ..corner }, right, Ink::Faint, AXIS);
        }
        // Longer lines first, so that the end of a shorter line stays visible where lines coincide.
        let mut order: Vec<&ChartLine> = panel.lines.iter().collect();
        order.sort_by_key(|line| std::cmp::Reverse(line.points.len()));
        order.iter().for_each(|line| band(line, grid, corner, scene));
        for line in order {
            // Markers of several lines in one named row stand below one another.
            let at = panel.lines.iter().position(|other| std::ptr::eq(other, line)).unwrap_or(0) as f64;
            let middle = (panel.lines.len() - 1) as f64 / 2.0;
            let apart = DODGE.min(WITHIN * grid.row() / panel.lines.len() as f64);
            let down = if self.y.scale == Scale::Names { (at - middle) * apart } else { 0.0 };
            self.line(line, grid, Position { y: corner.y + down, ..corner }, scene);
        }
    }

    fn line(&self, line: &ChartLine, grid: &Grid, corner: Position, scene: &mut Scene) {
        let zero = |point: &Point| self.x.scale.is_zero(point.x) || self.y.scale.is_zero(point.y);
        let placed: Vec<_> =
            thinned(&line.points, MOST_POINTS).map(|point| (grid.place(corner, point.x, point.y), point)).collect();
        // A line is broken at a zero, and at a point that has no place.
        let runs = placed.split(|(at, point)| at.is_none() || zero(point));
        let near = |one: &(_, &Point), other: &(_, &Point)| other.1.x - one.1.x <= line.gap;
        for run in runs.flat_map(|run| run.chunk_by(near)).filter(|run| line.joined && run.len() > 1) {
            let corners = run.iter().filter_map(|(at, _)| *at).collect();
            scene.path(corners, line.ink(), STROKE, palette::dash(line.style));
        }
        let most = if line.joined { MOST_DOTS } else { placed.len() };
        for (at, point) in thinned(&placed, most).filter_map(|(at, point)| Some(((*at)?, *point))) {
            for end in point.reach.into_iter().flatten() {
                if let Some(to) = grid.place(corner, end, point.y) {
                    scene.line(at, to, line.ink(), AXIS);
                    let (above, below) = (Position::new(to.x, to.y - DOT), Position::new(to.x, to.y + DOT));
                    scene.line(above, below, line.ink(), AXIS);
                }
            }
            let name = if line.name.is_empty() { String::new() } else { format!("{}\n", line.name) };
            let hover = Some(format!("{name}{}", point.hover));
            scene.marks.push(match zero(point) {
                true => {
                    SceneMark::Dot { at, marker: Marker::Zero, size: DOT * 1.3, ink: line.ink(), hollow: true, hover }
                }
                false => line.dot(at, hover),
            });
        }
        if let Some(Position { x, y }) = placed.iter().rev().find_map(|(at, _)| *at).filter(|_| line.crossed) {
            for rise in [CROSS, -CROSS] {
                let (from, to) = (Position::new(x - CROSS, y - rise), Position::new(x + CROSS, y + rise));
                scene.line(from, to, line.ink(), STROKE);
            }
        }
    }
}

/// At most `most` items, evenly chosen, and the last.
fn thinned<T>(items: &[T], most: usize) -> impl Iterator<Item = &T> {
    let every = items.len().div_ceil(most.max(1)).max(1);
    let chosen = move |(at, _): &(usize, &T)| at.is_multiple_of(every) || at + 1 == items.len();
    items.iter().enumerate().filter(chosen).map(|(_, item)| item)
}

/// Draws the band around a line.
fn band(line: &ChartLine, grid: &Grid, corner: Position, scene: &mut Scene) {
    let edge = |which: fn(&Band) -> f64| {
        thinned(&line.band, MOST_POINTS).filter_map(move |band| grid.place(corner, band.x, which(band)))
    };
    let mut corners: Vec<Position> = edge(|band| band.most).collect();
    let below: Vec<Position> = edge(|band| band.least).collect();
    corners.extend(below.into_iter().rev());
    if corners.len() > 3 {
        scene.marks.push(SceneMark::Area { corners, ink: line.ink(), opacity: 0.15, hover: None });
    }
}
