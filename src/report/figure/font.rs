//! Widths of text in Helvetica, which PDF readers have, and browsers replace by fonts as wide.

/// Widths of the characters from space to `~` in thousandths of the size, by Adobe's metrics.
#[rustfmt::skip]
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611,
    278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500,
    334, 260, 334, 584,
];

/// Approximate width of all other characters.
const OTHER: u16 = 556;

/// Width of a text.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let of = |c: char| (c as usize).checked_sub(32).and_then(|at| WIDTHS.get(at)).copied().unwrap_or(OTHER);
    text.chars().map(|c| f64::from(of(c))).sum::<f64>() * size / 1000.0
}

/// Cuts a text to this width; `...` replaces the end.
pub(super) fn cut(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_string();
    }
    let mut kept: Vec<char> = text.chars().collect();
    while !kept.is_empty() && width(&kept.iter().collect::<String>(), size) + width("...", size) > most {
        kept.pop();
    }
    kept.into_iter().collect::<String>() + "..."
}
