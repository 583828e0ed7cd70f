//! Drawings as SVG: a file, or a part of a page whose style sheet sets the inks.

use std::fmt::Write;

use super::{
    font,
    palette::{COLORS, Marker},
    scene::{Anchor, Ink, MARK_EDGE, Position, Scene, SceneMark, Words},
};
use crate::base::visible::visible;

/// Fonts with the widths of the measured one.
///
/// Readers that have none of them stretch another to the measured width.
const FONTS: &str = "Arimo, Helvetica, Arial, 'Liberation Sans', sans-serif";

/// A complete file, on white.
pub(super) fn standalone(scene: &Scene) -> String {
    let (width, height) = (number(scene.width), number(scene.height));
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}pt\" height=\"{height}pt\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"{FONTS}\">\n<title>{}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
        escaped(&scene.title)
    );
    marks(scene, &mut text, &|ink| color(ink), "\n");
    text + "</svg>\n"
}

/// A part of an HTML page whose style sheet sets `--paper`, `--text`, `--faint`, `--grid`, `--c0` ...
pub fn inline(scene: &Scene) -> String {
    let mut text = format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
        number(scene.width),
        number(scene.height),
        escaped(&scene.title)
    );
    let variable = |ink| match ink {
        Ink::Paper => "var(--paper)".to_string(),
        Ink::Text => "var(--text)".into(),
        Ink::Faint => "var(--faint)".into(),
        Ink::Grid => "var(--grid)".into(),
        Ink::Color(at) => format!("var(--c{})", at % COLORS.len()),
    };
    marks(scene, &mut text, &variable, "");
    text + "</svg>"
}

/// Hexadecimal colour of an ink on white.
fn color(ink: Ink) -> String {
    let [red, green, blue] = rgb(ink);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// The colour of an ink on white.
pub(super) fn rgb(ink: Ink) -> [u8; 3] {
    match ink {
        Ink::Paper => [255, 255, 255],
        Ink::Text => [0, 0, 0],
        Ink::Faint => [90, 90, 90],
        Ink::Grid => [222, 222, 222],
        Ink::Color(at) => COLORS[at % COLORS.len()],
    }
}

fn marks(scene: &Scene, text: &mut String, ink: &dyn Fn(Ink) -> String, end: &str) {
    for mark in &scene.marks {
        match mark {
            SceneMark::Line { points, ink: mark_ink, width, dash } => {
                let dashes: Vec<String> = dash.iter().map(|length| number(*length)).collect();
                let dashes = match dash {
                    [] => String::new(),
                    _ => format!(" stroke-dasharray=\"{}\"", dashes.join(" ")),
                };
                let _ = write!(
                    text,
                    "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{dashes}/>",
                    path(points, false),
                    ink(*mark_ink),
                    number(*width)
                );
            }
            SceneMark::Area { corners, ink: mark_ink, opacity, hover } => {
                let opacity =
                    if *opacity < 1.0 { format!(" fill-opacity=\"{}\"", number(*opacity)) } else { String::new() };
                let shape = format!("<path d=\"{}\" fill=\"{}\"{opacity}", path(corners, true), ink(*mark_ink));
                text.push_str(&closed(&shape, "path", hover.as_deref()));
            }
            SceneMark::Dot { at, marker, size, ink: mark_ink, hollow, hover } => {
                let color = ink(*mark_ink);
                let fill = if *hollow { ink(Ink::Paper) } else { color.clone() };
                let (shape, element) = match marker {
                    Marker::Disc => {
                        let (x, y, size) = (number(at.x), number(at.y), number(*size));
                        (
                            format!(
                                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{size}\" fill=\"{fill}\" stroke=\"{color}\" stroke-width=\"{MARK_EDGE}\""
                            ),
                            "circle",
                        )
                    }
                    _ => {
                        let corners = path(&marker.corners(*at, *size), true);
                        (
                            format!(
                                "<path d=\"{corners}\" fill=\"{fill}\" stroke=\"{color}\" stroke-width=\"{MARK_EDGE}\""
                            ),
                            "path",
                        )
                    }
                };
                text.push_str(&closed(&shape, element, hover.as_deref()));
            }
            SceneMark::Words(words) => text.push_str(&self::words(words, &ink(words.ink))),
        }
        text.push_str(end);
    }
}

/// A closed element, with its tooltip.
fn closed(shape: &str, element: &str, hover: Option<&str>) -> String {
    match hover {
        Some(said) => format!("{shape}><title>{}</title></{element}>", escaped(said)),
        None => format!("{shape}/>"),
    }
}

fn words(words: &Words, ink: &str) -> String {
    let (x, y) = (number(words.at.x), number(words.at.y));
    let anchor = match words.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let turned = if words.upwards { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    let (size, length) = (number(words.size), number(font::width(&words.text, words.size)));
    format!(
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\" \
         fill=\"{ink}\"{anchor}{turned}>{}</text>",
        escaped(&words.text)
    )
}

fn path(points: &[Position], closed: bool) -> String {
    let mut text = String::new();
    for (at, Position { x, y }) in points.iter().enumerate() {
        let _ = write!(text, "{}{} {}", if at == 0 { 'M' } else { 'L' }, number(*x), number(*y));
    }
    if closed {
        text.push('Z');
    }
    text
}

/// A coordinate with two decimals at most.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".into() } else { short.into() }
}

/// Text without mark-up, and without characters that XML lacks or that change the direction of text.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ => escaped.push(c),
        }
    }
    escaped
}
