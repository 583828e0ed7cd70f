//! A tree drawn as SVG.

use plotters::{coord::Shift, prelude::*};

use super::{Manner, Order, Picture, picture};

/// The room of a step, of a line, and around all.
const ACROSS: i32 = 150;
const LINE: i32 = 26;
const MARGIN: i32 = 24;
const TITLE: i32 = 30;
/// About the width of a character.
const CHARACTER: i32 = 9;
const FONT: (&str, i32) = ("sans-serif", 15);
/// A colour for each manner; those of chains and terms are black.
const COLORS: [(Manner, RGBColor); 4] = [
    (Manner::Pair, RGBColor(0, 114, 178)),
    (Manner::Aligned, RGBColor(213, 94, 0)),
    (Manner::Exact, RGBColor(0, 158, 115)),
    (Manner::Undecided, RGBColor(204, 121, 167)),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// The tree, with its last step on the left and its terms on the right; `title` stands above. The same tree gives the same bytes; no
/// font is read.
pub fn svg(order: &Order, title: &str) -> String {
    let picture = picture(order);
    let mut placed = Vec::new();
    let (mut lines, _) = place(&picture, 0, 0, &mut placed);
    lines = lines.max(1);
    let right = placed.iter().map(|own| own.x + own.words.chars().count() as i32 * CHARACTER).max().unwrap_or(0);
    let width = (right + ACROSS / 2).max(title.chars().count() as i32 * CHARACTER) + 2 * MARGIN;
    let height = TITLE + lines * LINE + 2 * MARGIN;
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, (width.unsigned_abs(), height.unsigned_abs())).into_drawing_area();
    draw(&root, &placed, title).expect("a string can always be written to");
    drop(root);
    text
}

/// Something of a picture in its place.
struct Placed {
    words: String,
    color: RGBColor,
    x: i32,
    y: i32,
    /// Where the step is that it is a part of.
    above: Option<(i32, i32)>,
    /// Whether it has no parts.
    last: bool,
}

/// Places a picture from a line on; how many lines it takes, and which number it has.
fn place(picture: &Picture, depth: i32, line: i32, placed: &mut Vec<Placed>) -> (i32, usize) {
    let (mut lines, mut parts) = (0, Vec::new());
    for part in picture.parts() {
        let (taken, number) = place(part, depth + 1, line + lines, placed);
        lines += taken;
        parts.push(number);
    }
    let y = match (parts.first(), parts.last()) {
        (Some(first), Some(last)) => (placed[*first].y + placed[*last].y) / 2,
        _ => TITLE + MARGIN + line * LINE,
    };
    let x = MARGIN + depth * ACROSS;
    parts.iter().for_each(|part| placed[*part].above = Some((x, y)));
    let (words, last) = (picture.words().to_string(), parts.is_empty());
    placed.push(Placed { words, color: color(picture), x, y, above: None, last });
    (lines.max(1), placed.len() - 1)
}

fn color(picture: &Picture) -> RGBColor {
    match picture {
        Picture::Meeting(manner, _) | Picture::Group(manner, _) => {
            COLORS.iter().find(|(own, _)| own == manner).map_or(BLACK, |(_, color)| *color)
        }
        Picture::Terms(_) | Picture::Chain(_) => BLACK,
    }
}

fn draw(root: &Area, placed: &[Placed], title: &str) -> Drawn {
    root.fill(&WHITE)?;
    root.draw(&Text::new(title.to_string(), (MARGIN, MARGIN / 2), FONT))?;
    let thin = BLACK.mix(0.4).stroke_width(1);
    for own in placed {
        if let Some((x, y)) = own.above {
            let bend = own.x - ACROSS / 6;
            root.draw(&PathElement::new([(x, y), (bend, y), (bend, own.y), (own.x - 8, own.y)], thin))?;
        }
    }
    for own in placed {
        if !own.last {
            root.draw(&Circle::new((own.x, own.y), 5, own.color.filled()))?;
        }
        // Beside a term, above the line that leads on from a step.
        let (x, y) = if own.last { (own.x, own.y - 7) } else { (own.x + 8, own.y - 18) };
        root.draw(&Text::new(own.words.clone(), (x, y), FONT.into_font().color(&own.color)))?;
    }
    root.present()
}
