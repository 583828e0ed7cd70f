//! Line charts, with a legend below.

use super::{
    axis::{Axis, AxisRange},
    font::{cut, width},
    palette::{COLORS, DASHES, MARKERS, Marker},
    scene::{Anchor, Ink, Scene, SceneMark, Words},
};

/// Width of a chart.
const WIDTH: f64 = 720.0;
/// Height of the axes.
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 40.0;
/// Room below the axes for numbers and a title.
const BELOW: f64 = 52.0;
/// Height of a line of the legend.
const LINE: f64 = 19.0;
const SIZE: f64 = 12.5;
/// Half the width of a mark.
const DOT: f64 = 3.0;
const CROSS: f64 = 6.0;
/// Largest number of points drawn for a line; longer lines are thinned.
const MOST_POINTS: usize = 1024;

/// A point of a line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Point {
    /// Number on the horizontal axis.
    pub(crate) x: f64,
    /// Number on the vertical axis.
    pub(crate) y: f64,
    /// Its tooltip.
    pub(crate) hover: String,
}

/// Range of the numbers behind a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Band {
    /// Number on the horizontal axis.
    pub(crate) x: f64,
    /// Smallest number on the vertical axis.
    pub(crate) least: f64,
    /// Largest number on the vertical axis.
    pub(crate) most: f64,
}

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChartLine {
    pub(crate) name: String,
    /// Index of its colour, dash and marker.
    pub(crate) style: usize,
    /// True if it is dashed and its markers hollow, whatever its index.
    pub(crate) dashed: bool,
    /// True if a cross stands at its end.
    pub(crate) crossed: bool,
    /// True if its points are joined.
    pub(crate) joined: bool,
    /// Its points, in order.
    pub(crate) points: Vec<Point>,
    /// The band around it.
    pub(crate) band: Vec<Band>,
}

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// The horizontal axis.
    pub(crate) x: Axis,
    /// The vertical axis.
    pub(crate) y: Axis,
    pub(crate) lines: Vec<ChartLine>,
    /// Heading of the legend.
    pub(crate) legend: String,
    /// Remark on marks and bands.
    pub(crate) remark: String,
}

impl ChartLine {
    /// A line with these points.
    pub(crate) fn new(name: impl Into<String>, style: usize, points: Vec<Point>) -> ChartLine {
        ChartLine { name: name.into(), style, dashed: false, crossed: false, joined: true, points, band: Vec::new() }
    }

    fn ink(&self) -> Ink {
        Ink::Color(self.style)
    }

    fn dash(&self) -> &'static [f64] {
        DASHES[(self.style / COLORS.len() + usize::from(self.dashed)) % DASHES.len()]
    }

    fn marker(&self) -> Marker {
        MARKERS[self.style % MARKERS.len()]
    }
}

/// The ranges of both axes.
struct ChartFrame {
    x: AxisRange,
    y: AxisRange,
}

impl ChartFrame {
    /// The position of a point, if it has one.
    fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (right, up) = (self.x.share(x)?, self.y.share(y)?);
        Some((LEFT + right * (WIDTH - LEFT - RIGHT), TOP + (1.0 - up) * HEIGHT))
    }
}

impl Chart {
    /// The drawing.
    pub(crate) fn scene(&self) -> Scene {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let bands = || self.lines.iter().flat_map(|line| &line.band);
        let frame = ChartFrame {
            x: self.x.range(points().map(|point| point.x)),
            y: self.y.range(points().map(|point| point.y).chain(bands().flat_map(|band| [band.least, band.most]))),
        };
        let columns = self.columns();
        let rows = self.lines.len().div_ceil(columns);
        let notes = usize::from(!self.remark.is_empty()) + usize::from(!self.legend.is_empty());
        let height = TOP + HEIGHT + BELOW + LINE * (rows + notes) as f64 + 10.0;
        let mut scene = Scene::titled(WIDTH, height, &self.title);
        self.axes(&frame, &mut scene);
        // Longer lines first, so that the end of a shorter line stays visible where lines coincide.
        let mut order: Vec<&ChartLine> = self.lines.iter().collect();
        order.sort_by_key(|line| std::cmp::Reverse(line.points.len()));
        order.iter().for_each(|line| band(line, &frame, &mut scene));
        order.iter().for_each(|line| draw(line, &frame, &mut scene));
        self.explain(columns, &mut scene);
        scene
    }

    /// Number of columns of the legend.
    fn columns(&self) -> usize {
        let widest = self.lines.iter().map(|line| width(&line.name, SIZE) + 60.0).fold(1.0, f64::max);
        (((WIDTH - LEFT) / widest) as usize).clamp(1, 4)
    }

    fn axes(&self, frame: &ChartFrame, scene: &mut Scene) {
        let (right, bottom) = (WIDTH - RIGHT, TOP + HEIGHT);
        for (share, label) in frame.y.ticks(9, &self.y.names) {
            let y = TOP + (1.0 - share) * HEIGHT;
            scene.line((LEFT, y), (right, y), Ink::Grid, 1.0);
            scene.words(Words::new((LEFT - 8.0, y + 4.0), label, SIZE).anchored(Anchor::End));
        }
        for (share, label) in frame.x.ticks(16, &self.x.names) {
            let x = LEFT + share * (right - LEFT);
            scene.line((x, TOP), (x, bottom), Ink::Grid, 1.0);
            scene.line((x, bottom), (x, bottom + 4.0), Ink::Text, 1.0);
            scene.words(Words::new((x, bottom + 18.0), label, SIZE).anchored(Anchor::Middle));
        }
        scene.path(vec![(LEFT, TOP), (LEFT, bottom), (right, bottom)], Ink::Text, 1.0, &[]);
        scene.words(Words::new(((LEFT + right) / 2.0, bottom + 38.0), &*self.x.title, 13.5).anchored(Anchor::Middle));
        scene.words(Words::new((18.0, TOP + HEIGHT / 2.0), &*self.y.title, 13.5).anchored(Anchor::Middle).upwards());
    }

    /// The legend and the remark.
    fn explain(&self, columns: usize, scene: &mut Scene) {
        let mut y = TOP + HEIGHT + BELOW + LINE / 2.0;
        if !self.legend.is_empty() {
            scene.words(Words::new((LEFT, y + 4.0), &*self.legend, SIZE).inked(Ink::Faint));
            y += LINE;
        }
        let room = (WIDTH - LEFT) / columns as f64;
        for (at, line) in self.lines.iter().enumerate() {
            let (x, y) = (LEFT + room * (at % columns) as f64, y + LINE * (at / columns) as f64);
            if line.joined {
                scene.path(vec![(x, y), (x + 30.0, y)], line.ink(), 2.0, line.dash());
            }
            scene.marks.push(dot(line, (x + 15.0, y), None));
            let remark = if line.points.is_empty() { " (nothing to draw)" } else { "" };
            let name = cut(&format!("{}{remark}", line.name), SIZE * 1.08, room - 46.0);
            scene.words(Words::new((x + 38.0, y + 4.0), name, SIZE));
        }
        y += LINE * self.lines.len().div_ceil(columns) as f64;
        if !self.remark.is_empty() {
            let remark = cut(&self.remark, SIZE, WIDTH - LEFT - RIGHT);
            scene.words(Words::new((LEFT, y + 4.0), remark, SIZE).inked(Ink::Faint));
        }
    }
}

fn dot(line: &ChartLine, at: (f64, f64), hover: Option<String>) -> SceneMark {
    SceneMark::Dot { at, marker: line.marker(), size: DOT, ink: line.ink(), hollow: line.dashed, hover }
}

/// At most `MOST_POINTS` items, evenly chosen, and the last.
fn thinned<T>(items: &[T]) -> impl Iterator<Item = &T> {
    let every = items.len().div_ceil(MOST_POINTS).max(1);
    let chosen = move |(at, _): &(usize, &T)| at.is_multiple_of(every) || at + 1 == items.len();
    items.iter().enumerate().filter(chosen).map(|(_, item)| item)
}

/// Draws the band around a line.
fn band(line: &ChartLine, frame: &ChartFrame, scene: &mut Scene) {
    let edge = |which: fn(&Band) -> f64| thinned(&line.band).filter_map(move |band| frame.place(band.x, which(band)));
    let mut corners: Vec<(f64, f64)> = edge(|band| band.most).collect();
    let below: Vec<(f64, f64)> = edge(|band| band.least).collect();
    corners.extend(below.into_iter().rev());
    if corners.len() > 3 {
        scene.marks.push(SceneMark::Area { corners, ink: line.ink(), opacity: 0.15, hover: None });
    }
}

fn draw(line: &ChartLine, frame: &ChartFrame, scene: &mut Scene) {
    let placed: Vec<((f64, f64), &Point)> =
        thinned(&line.points).filter_map(|point| Some((frame.place(point.x, point.y)?, point))).collect();
    if line.joined && placed.len() > 1 {
        scene.path(placed.iter().map(|(at, _)| *at).collect(), line.ink(), 2.0, line.dash());
    }
    for (at, point) in &placed {
        let hover = format!("{}\n{}", line.name, point.hover);
        scene.marks.push(dot(line, *at, Some(hover)));
    }
    if let Some(((x, y), _)) = placed.last().filter(|_| line.crossed) {
        for rise in [CROSS, -CROSS] {
            scene.line((x - CROSS, y - rise), (x + CROSS, y + rise), line.ink(), 2.0);
        }
    }
}
