//! Charts of one or several panels with the same axes.

use super::{
    axis::{Axis, Scale},
    font::{self, wrapped},
    grid::{GAP, NUMBERS, axes},
    legend::legend,
    scene::{Anchor, EDGE, Ink, Position, SMALL, Scene, TEXT, Words},
};

/// A point of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Number on the horizontal axis.
    pub x: f64,
    /// Number on the vertical axis.
    pub y: f64,
    /// Its error bar, from and to on the horizontal axis.
    pub reach: Option<[f64; 2]>,
    /// Its tooltip.
    pub hover: String,
}

/// Range of the numbers behind a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// Number on the horizontal axis.
    pub x: f64,
    /// Smallest number on the vertical axis.
    pub least: f64,
    /// Largest number on the vertical axis.
    pub most: f64,
}

impl Band {
    /// The standard error around a mean; `None` for one that reaches 0, which no logarithmic axis shows.
    pub fn of_error(x: f64, mean: f64, error: Option<f64>) -> Option<Band> {
        let error = error.filter(|error| *error > 0.0 && mean > *error)?;
        Some(Band { x, least: mean - error, most: mean + error })
    }
}

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartLine {
    /// Its name in the legend.
    pub name: String,
    /// Index of its colour, dash and marker.
    pub style: usize,
    /// True if a cross stands at its end.
    pub crossed: bool,
    /// True if its points are joined.
    pub joined: bool,
    /// Distance on the horizontal axis over which points are not joined.
    pub gap: f64,
    /// Its points, in order.
    pub points: Vec<Point>,
    /// The band around it.
    pub band: Vec<Band>,
}

/// Lines that share a pair of axes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panel {
    /// Its title; empty if the panel needs none.
    pub title: String,
    /// The lines.
    pub lines: Vec<ChartLine>,
}

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The title above all panels.
    pub title: String,
    /// The horizontal axis of every panel.
    pub x: Axis,
    /// The vertical axis of every panel.
    pub y: Axis,
    /// The panels, beside each other.
    pub panels: Vec<Panel>,
    /// Heading of the legend.
    pub legend: String,
    /// Number on the vertical axis at which a line crosses each panel.
    pub level: Option<f64>,
    /// Remarks on the drawing; the chart adds remarks on zeros, equal lines and missing points.
    pub notes: Vec<String>,
}

impl Point {
    /// A point without an error bar.
    pub fn new(x: f64, y: f64, hover: impl Into<String>) -> Point {
        Point { x, y, reach: None, hover: hover.into() }
    }
}

impl ChartLine {
    /// A line with these points.
    pub fn new(name: impl Into<String>, points: Vec<Point>) -> ChartLine {
        ChartLine {
            name: name.into(),
            style: 0,
            crossed: false,
            joined: true,
            gap: f64::INFINITY,
            points,
            band: Vec::new(),
        }
    }
}

impl Chart {
    /// A chart without panels and notes.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis, legend: impl Into<String>) -> Chart {
        let (title, legend) = (title.into(), legend.into());
        Chart { title, x, y, panels: Vec::new(), legend, level: None, notes: Vec::new() }
    }

    /// The drawing of this width, in points.
    pub(crate) fn scene(&self, width: f64) -> Scene {
        let (mut scene, mut y) = Scene::titled(width, &self.title);
        let grid = self.grid(width);
        let none = [Panel::default()];
        let panels = if self.panels.is_empty() { &none[..] } else { &self.panels[..] };
        let (shared, mut top) = (self.shared(), y);
        let mut bottom = y;
        for (row, panels) in panels.chunks(grid.columns).enumerate() {
            let titles = panels.iter().map(|panel| wrapped(&panel.title, SMALL, grid.size.width));
            let lines = titles.map(|title| title.iter().filter(|line| !line.is_empty()).count()).max().unwrap_or(0);
            let above = lines as f64 * SMALL * font::LINE;
            if row == 0 {
                top = y + above;
            }
            let mut end = y;
            for (column, panel) in panels.iter().enumerate() {
                let corner = Position::new(grid.left + column as f64 * (grid.size.width + GAP), y + above);
                let middle = Position::new(corner.x + grid.size.width / 2.0, y);
                scene.paragraph(&panel.title, middle, grid.size.width, SMALL, Anchor::Middle, Ink::Text);
                axes(&grid, corner, column == 0, &mut scene);
                self.data(panel, &grid, corner, &mut scene);
                bottom = corner.y + grid.size.height;
                let mut below = bottom + NUMBERS;
                if shared.is_none() {
                    let lines: Vec<_> = panel.lines.iter().collect();
                    below = legend(&lines, Position::new(corner.x, below), grid.size.width, &mut scene);
                }
                end = end.max(below);
            }
            y = end + 4.0;
        }
        let across = (grid.columns.min(panels.len()) as f64) * (grid.size.width + GAP) - GAP;
        let middle = Position::new(grid.left + across / 2.0, y);
        y = scene.paragraph(&self.x.title, middle, across, TEXT, Anchor::Middle, Ink::Text) + 3.0;
        for (at, line) in grid.y_title.iter().enumerate() {
            let x = EDGE + TEXT * (font::ASCENT + at as f64 * font::LINE);
            let base = Position::new(x, (top + bottom) / 2.0);
            scene.words(Words::new(base, &**line, TEXT).anchored(Anchor::Middle).upwards());
        }
        if let Some(lines) = &shared {
            if !self.legend.is_empty() && !lines.is_empty() {
                y = scene.paragraph(&self.legend, Position::new(EDGE, y), width, SMALL, Anchor::Start, Ink::Faint);
            }
            y = legend(lines, Position::new(EDGE, y), width - 2.0 * EDGE, &mut scene);
        }
        scene.noted(&self.remarks(shared.is_some()), y + 2.0)
    }

    /// The lines of one legend for all panels; `None` if each panel needs its own.
    pub(super) fn shared(&self) -> Option<Vec<&ChartLine>> {
        let mut lines: Vec<&ChartLine> = Vec::new();
        for line in self.panels.iter().flat_map(|panel| &panel.lines) {
            if lines.iter().all(|other| (&other.name, other.style) != (&line.name, line.style)) {
                lines.push(line);
            }
        }
        let distinct = lines
            .iter()
            .enumerate()
            .all(|(at, line)| lines[..at].iter().all(|other| other.style != line.style && other.name != line.name));
        lines.retain(|line| !line.name.is_empty());
        (self.panels.len() < 2 || (distinct && lines.len() <= super::LEGEND)).then_some(lines)
    }

    /// The notes, with those on what the chart itself marks.
    fn remarks(&self, shared: bool) -> Vec<String> {
        let lines = || self.panels.iter().flat_map(|panel| &panel.lines);
        let points = || lines().flat_map(|line| &line.points);
        let mut notes = Vec::new();
        if !shared && !self.legend.is_empty() {
            notes.push(format!("Legends: {}.", self.legend));
        }
        notes.extend(self.notes.iter().filter(|note| !note.is_empty()).cloned());
        let named = lines().map(|line| &line.name).chain(self.panels.iter().map(|panel| &panel.title));
        if named.into_iter().any(|name| name.contains(super::EQUAL)) {
            notes.push("Names joined by = have the same numbers, and are drawn once.".into());
        }
        if points().any(|point| self.x.scale.is_zero(point.x) || self.y.scale.is_zero(point.y)) {
            notes.push("Hollow triangle at the edge of a logarithmic axis: zero.".into());
        }
        let of = |scale: Scale, number: f64| {
            number.is_finite() && (number >= 0.0 || !matches!(scale, Scale::Decades | Scale::Octaves))
        };
        match points().filter(|point| !of(self.x.scale, point.x) || !of(self.y.scale, point.y)).count() {
            0 => {}
            1 => notes.push("One point that has no place on the axes is left out.".into()),
            count => notes.push(format!("{count} points that have no place on the axes are left out.")),
        }
        notes
    }
}
