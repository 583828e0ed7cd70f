//! Colours, dashes and markers that are distinct for any colour vision and without colours.

use super::scene::Position;

/// Red, green and blue of colours; the last is text's.
///
/// The hues come from Okabe and Ito (Color Universal Design, 2008). Green, orange and sky blue are darker here, so that thin lines
/// have a contrast of 3 to 1 to white paper.
pub(crate) const COLORS: [[u8; 3]; 7] =
    [[0, 114, 178], [213, 94, 0], [0, 102, 74], [204, 121, 167], [112, 78, 0], [32, 154, 223], [0, 0, 0]];

/// Lengths of dashes and gaps.
const DASHES: [&[f64]; 4] = [&[], &[4.0, 2.0], &[1.2, 1.6], &[6.0, 1.6, 1.2, 1.6]];

/// Marker of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Marker {
    /// A disc.
    Disc,
    /// A square.
    Square,
    /// A triangle that stands on its side.
    Triangle,
    /// A square that stands on its corner.
    Diamond,
    /// A triangle that stands on its tip: a zero on a logarithmic axis.
    Zero,
}

/// Markers, in the order of lines.
const MARKERS: [Marker; 4] = [Marker::Disc, Marker::Square, Marker::Triangle, Marker::Diamond];

/// Dash of the line at this index. Dash and marker together repeat after [`super::LOOKS`] lines.
pub(super) fn dash(style: usize) -> &'static [f64] {
    DASHES[style / MARKERS.len() % DASHES.len()]
}

/// The marker of the line at this index.
pub(super) fn marker(style: usize) -> Marker {
    MARKERS[style % MARKERS.len()]
}

impl Marker {
    /// The corners of a polygonal marker around a position.
    pub(super) fn corners(self, at: Position, size: f64) -> Vec<Position> {
        let around: &[(f64, f64)] = match self {
            Marker::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Marker::Triangle => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            Marker::Diamond => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
            Marker::Zero => &[(0.0, 1.4), (1.3, -0.9), (-1.3, -0.9)],
            Marker::Disc => &[],
        };
        around.iter().map(|(dx, dy)| Position::new(at.x + dx * size, at.y + dy * size)).collect()
    }
}
