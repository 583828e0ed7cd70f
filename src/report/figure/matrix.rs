//! Matrices of pairs: how well each two agree.

use super::{
    font::{cut, width},
    scene::{Anchor, Ink, Scene, Words},
};

const TOP: f64 = 40.0;
const SIZE: f64 = 12.5;
const TILE: f64 = 46.0;
/// Smallest width, so that the title fits.
const LEAST: f64 = 520.0;

/// A tile of the matrix.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PairTile {
    pub(crate) row: usize,
    pub(crate) column: usize,
    /// Darkness, from 0 to 1.
    pub(crate) share: f64,
    /// Its text.
    pub(crate) words: String,
    /// Its tooltip.
    pub(crate) hover: String,
}

/// A matrix of pairs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PairMatrix {
    pub(crate) title: String,
    /// Names of rows and columns.
    pub(crate) names: Vec<String>,
    pub(crate) tiles: Vec<PairTile>,
    /// Remark on the numbers.
    pub(crate) remark: String,
}

impl PairMatrix {
    /// The drawing.
    pub(crate) fn scene(&self) -> Scene {
        let longest = self.names.iter().map(|name| width(name, SIZE)).fold(30.0, f64::max);
        let (left, top) = (longest + 24.0, TOP + longest + 14.0);
        let size = TILE * self.names.len().max(1) as f64;
        let wide = (left + size + 20.0).max(LEAST);
        let mut scene = Scene::titled(wide, top + size + 34.0, &self.title);
        for (at, name) in self.names.iter().enumerate() {
            let middle = TILE * (at as f64 + 0.5);
            scene.words(Words::new((left - 8.0, top + middle + 4.0), &**name, SIZE).anchored(Anchor::End));
            scene.words(Words::new((left + middle + 4.0, top - 8.0), &**name, SIZE).upwards());
        }
        for tile in &self.tiles {
            let (x, y) = (left + TILE * tile.column as f64, top + TILE * tile.row as f64);
            let side = (TILE - 2.0, TILE - 2.0);
            scene.rectangle((x + 1.0, y + 1.0), side, Ink::Grid, 0.6, None);
            let opacity = 0.6 * tile.share.clamp(0.0, 1.0);
            scene.rectangle((x + 1.0, y + 1.0), side, Ink::Color(0), opacity, Some(tile.hover.clone()));
            let words = Words::new((x + TILE / 2.0, y + TILE / 2.0 + 4.0), &*tile.words, 11.5);
            scene.words(words.anchored(Anchor::Middle));
        }
        let remark = cut(&self.remark, SIZE, wide - 20.0);
        scene.words(Words::new((12.0, top + size + 22.0), remark, SIZE).inked(Ink::Faint));
        scene
    }
}
