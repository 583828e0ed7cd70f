//! Sizes and axes of the panels of a chart.

use super::{
    axis::{AxisRange, Scale},
    chart::Chart,
    font::{self, width, wrapped},
    scene::{EDGE, Ink, Position, SMALL, Scene, Size, TEXT, Words},
};

/// Distance of panels, in points.
pub(super) const GAP: f64 = 16.0;
/// Smallest width of a panel.
const NARROWEST: f64 = 92.0;
/// Height of a panel over its width, and its bounds.
const SHAPE: f64 = 0.62;
const LOWEST: f64 = 84.0;
const HIGHEST: f64 = 210.0;
/// Distance of the base line of numbers from the axis above them, and the room for them.
const BELOW: f64 = 10.5;
pub(super) const NUMBERS: f64 = 14.0;
/// Largest share of the width for names at the vertical axis.
const NAMES: f64 = 0.4;
/// Room to the right of panels, and how far numbers may stand beyond them.
const RIGHT: f64 = 8.0;
const BEYOND: f64 = 4.5;
/// Widths of lines of axes, and of the grid.
pub(super) const AXIS: f64 = 0.6;
const FINE: f64 = 0.4;
/// Size of an exponent, in sizes of its base (6 pt where numbers have 7), and how high it stands.
const EXPONENT: f64 = 6.0 / 7.0;
const RAISED: f64 = 0.35;

/// Sizes and axes of the panels of a chart.
pub(super) struct Grid {
    pub(super) columns: usize,
    /// Left edge of the first panel.
    pub(super) left: f64,
    /// Size of a panel.
    pub(super) size: Size,
    pub(super) x: AxisRange,
    pub(super) y: AxisRange,
    /// Positions from 0 to 1, and labels.
    pub(super) x_ticks: Vec<(f64, String)>,
    /// Positions from 0 to 1, and the lines of labels.
    pub(super) y_ticks: Vec<(f64, Vec<String>)>,
    /// The lines of the title of the vertical axis.
    pub(super) y_title: Vec<String>,
}

impl Grid {
    /// Height of a named row.
    pub(super) fn row(&self) -> f64 {
        self.size.height / self.y_ticks.len().max(1) as f64
    }

    /// The position of a point in a panel at `corner`, if it has one.
    pub(super) fn place(&self, corner: Position, x: f64, y: f64) -> Option<Position> {
        let (right, up) = (self.x.share(x)?, self.y.share(y)?);
        Some(Position::new(corner.x + right * self.size.width, corner.y + (1.0 - up) * self.size.height))
    }
}

impl Chart {
    /// The sizes for a drawing of this width.
    pub(super) fn grid(&self, width: f64) -> Grid {
        let points = || self.panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
        let bands = || self.panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.band);
        let x = self.x.range(points().flat_map(|point| point.reach.into_iter().flatten().chain([point.x])));
        let y = bands().flat_map(|band| [band.least, band.most]).chain(points().map(|point| point.y)).chain(self.level);
        let y = self.y.range(y);
        let count = self.panels.len().max(1);
        let wanted = match count {
            1 => 1,
            2 | 4 => 2,
            12.. => 4,
            _ => 3,
        };
        let mut grid = Grid {
            columns: 1,
            left: EDGE,
            size: Size { width: 0.0, height: 0.0 },
            x,
            y,
            x_ticks: Vec::new(),
            y_ticks: Vec::new(),
            y_title: Vec::new(),
        };
        // Each label at the left narrows the panels, whose height then has room for fewer labels.
        loop {
            let room = width - grid.left - RIGHT;
            grid.columns = (((room + GAP) / (NARROWEST + GAP)) as usize).clamp(1, wanted);
            let across = (room - (grid.columns - 1) as f64 * GAP) / grid.columns as f64;
            grid.size = Size { width: across, height: (across * SHAPE).clamp(LOWEST, HIGHEST) };
            let named = self.y.scale == Scale::Names;
            if named {
                let names: Vec<_> = self.y.names.iter().map(|name| wrapped(name, SMALL, NAMES * width)).collect();
                let lines = names.iter().map(Vec::len).max().unwrap_or(1) as f64;
                grid.size.height = (lines * SMALL * font::LINE + 3.0) * names.len().max(1) as f64;
                let place = |at: usize| grid.y.share(at as f64).unwrap_or(0.0);
                grid.y_ticks = names.into_iter().enumerate().map(|(at, lines)| (place(at), lines)).collect();
            } else {
                let apart = SMALL * font::LINE / grid.size.height;
                let fit = |ticks: &[(f64, String)]| ticks.windows(2).all(|two| two[1].0 - two[0].0 >= apart);
                let ticks = grid.y.ticks(9, &self.y.names, fit);
                grid.y_ticks = ticks.into_iter().map(|(share, label)| (share, vec![label])).collect();
            }
            let rows = count.div_ceil(grid.columns) as f64;
            let tall = rows * (grid.size.height + NUMBERS) - NUMBERS;
            grid.y_title = wrapped(&self.y.title, TEXT, tall);
            grid.y_title.retain(|line| !line.is_empty());
            let labels = grid.y_ticks.iter().flat_map(|(_, lines)| lines).map(|line| label_width(line));
            let titles = grid.y_title.len() as f64 * TEXT * font::LINE;
            let left = EDGE + titles + labels.fold(0.0, f64::max) + 6.0;
            if left <= grid.left + 0.01 {
                break;
            }
            grid.left = left;
        }
        let across = grid.size.width;
        let fit = |ticks: &[(f64, String)]| {
            let spans: Vec<[f64; 2]> = ticks.iter().map(|(share, text)| label_span(*share, text, across)).collect();
            spans.windows(2).all(|two| two[1][0] - two[0][1] >= 4.0)
        };
        grid.x_ticks = grid.x.ticks(16, &self.x.names, fit);
        grid
    }
}

/// Draws the axes of a panel, with numbers, and with labels at the left if it is the first of its row.
pub(super) fn axes(grid: &Grid, corner: Position, first: bool, scene: &mut Scene) {
    let (Position { x: left, y: top }, Size { width: across, height: down }) = (corner, grid.size);
    let (right, bottom) = (left + across, top + down);
    for (share, lines) in &grid.y_ticks {
        let y = top + (1.0 - share) * down;
        scene.line(Position::new(left, y), Position::new(right, y), Ink::Grid, FINE);
        for (at, text) in lines.iter().enumerate().filter(|_| first) {
            let base = y + 0.36 * SMALL + (at as f64 - (lines.len() - 1) as f64 / 2.0) * SMALL * font::LINE;
            label(text, Position::new(left - 3.0 - label_width(text), base), scene);
        }
    }
    for (share, text) in &grid.x_ticks {
        let x = left + share * across;
        let foot = Position::new(x, bottom);
        scene.line(Position::new(x, top), foot, Ink::Grid, FINE);
        scene.line(foot, Position::new(x, bottom + 2.0), Ink::Text, AXIS);
        label(text, Position::new(left + label_span(*share, text, across)[0], bottom + BELOW), scene);
    }
    let corners = vec![corner, Position::new(left, bottom), Position::new(right, bottom)];
    scene.path(corners, Ink::Text, AXIS, &[]);
}

/// Begin and end of the label of the horizontal tick at `share`, from the left edge of a panel.
fn label_span(share: f64, text: &str, across: f64) -> [f64; 2] {
    let width = label_width(text);
    let from = (share * across - width / 2.0).min(across + BEYOND - width).max(-BEYOND);
    [from, from + width]
}

/// Width of a label, whose exponent stands after `^`.
fn label_width(text: &str) -> f64 {
    let (base, exponent) = text.split_once('^').unwrap_or((text, ""));
    width(base, SMALL) + width(exponent, SMALL * EXPONENT)
}

fn label(text: &str, at: Position, scene: &mut Scene) {
    let (base, exponent) = text.split_once('^').unwrap_or((text, ""));
    scene.words(Words::new(at, base, SMALL));
    if !exponent.is_empty() {
        let raised = Position::new(at.x + width(base, SMALL), at.y - RAISED * SMALL);
        scene.words(Words::new(raised, exponent, SMALL * EXPONENT));
    }
}
