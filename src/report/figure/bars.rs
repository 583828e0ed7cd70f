//! Bar charts.

use super::{
    axis::Axis,
    font::{cut, width},
    scene::{Anchor, Ink, Scene, Words},
};

const WIDTH: f64 = 720.0;
const TOP: f64 = 40.0;
const BAR: f64 = 20.0;
const SIZE: f64 = 12.5;
/// Largest width of names.
const NAMES: f64 = 300.0;
/// Extra room for names in fonts wider than Helvetica.
const SPARE: f64 = 1.12;
/// Room for the number after a bar.
const NUMBER: f64 = 90.0;

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChartBar {
    pub(crate) name: String,
    /// Its length, as a number of the axis.
    pub(crate) length: f64,
    /// Its number, as text.
    pub(crate) number: String,
    /// Index of its colour.
    pub(crate) color: usize,
    /// Its tooltip.
    pub(crate) hover: String,
}

/// Bars over one axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bars {
    pub(crate) title: String,
    pub(crate) axis: Axis,
    pub(crate) bars: Vec<ChartBar>,
}

impl Bars {
    /// The drawing.
    pub(crate) fn scene(&self) -> Scene {
        let names = self.bars.iter().map(|bar| width(&bar.name, SIZE)).fold(40.0, f64::max).min(NAMES) * SPARE + 16.0;
        let (left, right) = (names, WIDTH - NUMBER);
        let bottom = TOP + BAR * self.bars.len().max(1) as f64;
        let range = self.axis.range(self.bars.iter().map(|bar| bar.length)).with_zero();
        let mut scene = Scene::titled(WIDTH, bottom + 52.0, &self.title);
        for (share, label) in range.ticks(6, &self.axis.names) {
            let x = left + share * (right - left);
            scene.line((x, TOP), (x, bottom), Ink::Grid, 1.0);
            scene.words(Words::new((x, bottom + 17.0), label, SIZE).anchored(Anchor::Middle));
        }
        for (at, bar) in self.bars.iter().enumerate() {
            let y = TOP + BAR * at as f64;
            let length = range.share(bar.length).unwrap_or(0.0).max(0.0) * (right - left);
            scene.rectangle((left, y + 3.0), (length, BAR - 6.0), Ink::Color(bar.color), 0.85, Some(bar.hover.clone()));
            scene.words(Words::new((left - 8.0, y + 14.0), cut(&bar.name, SIZE, NAMES), SIZE).anchored(Anchor::End));
            scene.words(Words::new((left + length + 6.0, y + 14.0), &*bar.number, SIZE));
        }
        scene.path(vec![(left, TOP), (left, bottom), (right, bottom)], Ink::Text, 1.0, &[]);
        let middle = (left + right) / 2.0;
        scene.words(Words::new((middle, bottom + 38.0), &*self.axis.title, 13.5).anchored(Anchor::Middle));
        scene
    }
}
