//! The font of all drawings, and the one measure of text.

use std::sync::LazyLock;

use ttf_parser::Face;

/// Arimo, with the widths of Helvetica and Arial: the letters of Latin-1. `OFL.txt` is its licence.
pub(super) const FILE: &[u8] = include_bytes!("arimo.ttf");
/// The font, parsed.
pub(super) static FACE: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(FILE, 0).expect("a part of the program"));
/// Height of letters above the base line, in sizes.
pub(super) const ASCENT: f64 = 0.74;
/// Depth of letters below the base line, in sizes.
pub(super) const DESCENT: f64 = 0.22;
/// Distance of lines, in sizes.
pub(super) const LINE: f64 = 1.25;

/// The character that is drawn for `c`: `?` if the font lacks it.
pub(super) fn drawn(c: char) -> char {
    if FACE.glyph_index(c).is_some() { c } else { '?' }
}

/// Width of a character in sizes.
pub(super) fn advance(c: char) -> f64 {
    let width = FACE.glyph_index(drawn(c)).and_then(|glyph| FACE.glyph_hor_advance(glyph)).unwrap_or(0);
    f64::from(width) / f64::from(FACE.units_per_em())
}

/// Width of a text.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// Breaks a text into lines of this width: at spaces, else after punctuation, else within a word.
pub(super) fn wrapped(text: &str, size: f64, room: f64) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    // Lengths of the line after which it may break.
    let (mut space, mut mark) = (0, 0);
    let mut used = 0.0;
    for c in text.chars() {
        used += advance(c) * size;
        while !line.is_empty() && c != ' ' && used > room {
            let at = [space, mark, line.len()].into_iter().find(|at| *at > 0).expect("the line has letters");
            let rest = line.split_off(at);
            lines.push(line.trim_end().to_string());
            line = rest.trim_start().to_string();
            (space, mark) = (0, 0);
            used = width(&line, size) + advance(c) * size;
        }
        line.push(c);
        match c {
            ' ' => space = line.len(),
            '.' | ',' | '-' | '_' | '/' | '=' | ':' => mark = line.len(),
            _ => {}
        }
    }
    lines.push(line.trim_end().to_string());
    lines
}
