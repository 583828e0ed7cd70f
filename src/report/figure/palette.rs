//! Colours, dashes and markers that are distinct for any colour vision and without colours.

/// Red, green and blue of colours (Okabe and Ito, Color Universal Design, 2008); the last is text's.
pub(crate) const COLORS: [[u8; 3]; 7] =
    [[0, 114, 178], [213, 94, 0], [0, 158, 115], [204, 121, 167], [230, 159, 0], [86, 180, 233], [0, 0, 0]];

/// Lengths of dashes and gaps, one pattern for each round through the colours.
pub(super) const DASHES: [&[f64]; 4] = [&[], &[7.0, 4.0], &[2.0, 3.0], &[9.0, 3.0, 2.0, 3.0]];

/// Marker of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    /// A disc.
    Disc,
    /// A square.
    Square,
    /// A triangle that stands on its side.
    Triangle,
    /// A square that stands on its corner.
    Diamond,
}

/// Markers, in the order of lines.
pub(super) const MARKERS: [Marker; 4] = [Marker::Disc, Marker::Square, Marker::Triangle, Marker::Diamond];

impl Marker {
    /// The corners of a polygonal marker around a position.
    pub(super) fn corners(self, (x, y): (f64, f64), size: f64) -> Vec<(f64, f64)> {
        let around: &[(f64, f64)] = match self {
            Marker::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Marker::Triangle => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            Marker::Diamond => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
            Marker::Disc => &[],
        };
        around.iter().map(|(dx, dy)| (x + dx * size, y + dy * size)).collect()
    }
}
