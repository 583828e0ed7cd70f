//! Matrices of shares, such as how well each two agree.

use super::{
    font::{LINE, width, wrapped},
    scene::{Anchor, EDGE, Ink, Position, SMALL, Scene, Size, Words},
};

/// Largest width of a tile, in points.
const WIDEST: f64 = 60.0;
/// Smallest and largest height of a tile.
const LOWEST: f64 = 11.0;
const HIGHEST: f64 = 17.0;
/// Largest share of the width for the names of rows.
const NAMES: f64 = 0.35;
/// Distance of a text from the edge of its tile.
const INSET: f64 = 1.5;

/// A tile of the matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Tile {
    /// Number of its row.
    pub row: usize,
    /// Number of its column.
    pub column: usize,
    /// Darkness, from 0 to 1.
    pub share: f64,
    /// Its text in each of the matrix's manners.
    pub words: Vec<String>,
    /// Its tooltip.
    pub hover: String,
}

/// A matrix of shares.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// The title.
    pub title: String,
    /// Names of rows.
    pub rows: Vec<String>,
    /// Names of columns.
    pub columns: Vec<String>,
    /// The tiles, in any order.
    pub tiles: Vec<Tile>,
    /// Remarks on the texts of tiles, the longest text first, without texts last.
    ///
    /// The first manner whose texts fit is drawn.
    pub manners: Vec<String>,
    /// Other remarks.
    pub notes: Vec<String>,
}

impl Matrix {
    /// The drawing of this width, in points.
    pub(crate) fn scene(&self, across: f64) -> Scene {
        let (mut scene, top) = Scene::titled(across, &self.title);
        let names: Vec<Vec<String>> = self.rows.iter().map(|name| wrapped(name, SMALL, NAMES * across)).collect();
        let left = names.iter().flatten().map(|name| width(name, SMALL)).fold(0.0, f64::max) + EDGE + 4.0;
        let wide = ((across - EDGE - left) / self.columns.len().max(1) as f64).min(WIDEST);
        let lines = names.iter().map(Vec::len).max().unwrap_or(1) as f64 * SMALL * LINE + 2.0;
        let high = wide.clamp(LOWEST, HIGHEST).max(lines);
        let turned = self.columns.iter().any(|name| width(name, SMALL) > wide - 2.0 * INSET);
        let longest = self.columns.iter().map(|name| width(name, SMALL)).fold(0.0, f64::max);
        let top = top + if turned { longest } else { SMALL * LINE } + 3.0;
        for (at, lines) in names.iter().enumerate() {
            for (line, text) in lines.iter().enumerate() {
                let down = (line as f64 - (lines.len() - 1) as f64 / 2.0) * SMALL * LINE;
                let y = top + high * (at as f64 + 0.5) + 0.36 * SMALL + down;
                scene.words(Words::new(Position::new(left - 4.0, y), &**text, SMALL).anchored(Anchor::End));
            }
        }
        for (at, name) in self.columns.iter().enumerate() {
            let middle = left + wide * (at as f64 + 0.5);
            let words = match turned {
                true => Words::new(Position::new(middle + 0.36 * SMALL, top - 3.0), &**name, SMALL).upwards(),
                false => Words::new(Position::new(middle, top - 4.0), &**name, SMALL).anchored(Anchor::Middle),
            };
            scene.words(words);
        }
        let fits = |manner: &usize| {
            let texts = self.tiles.iter().filter_map(|tile| tile.words.get(*manner));
            texts.into_iter().all(|text| width(text, SMALL) <= wide - 2.0 * INSET)
        };
        let manner = (0..self.manners.len()).find(fits).unwrap_or(self.manners.len());
        for tile in &self.tiles {
            let (x, y) = (left + wide * tile.column as f64, top + high * tile.row as f64);
            let (corner, size) = (Position::new(x + 0.5, y + 0.5), Size { width: wide - 1.0, height: high - 1.0 });
            scene.rectangle(corner, size, Ink::Grid, 0.6, None);
            let opacity = 0.6 * tile.share.clamp(0.0, 1.0);
            scene.rectangle(corner, size, Ink::Color(0), opacity, Some(tile.hover.clone()));
            if let Some(text) = tile.words.get(manner) {
                let at = Position::new(x + wide / 2.0, y + high / 2.0 + 0.36 * SMALL);
                scene.words(Words::new(at, &**text, SMALL).anchored(Anchor::Middle));
            }
        }
        let notes: Vec<String> = self.manners.get(manner).into_iter().chain(&self.notes).cloned().collect();
        scene.noted(&notes, top + high * self.rows.len().max(1) as f64 + 6.0)
    }
}
