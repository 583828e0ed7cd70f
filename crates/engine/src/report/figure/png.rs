//! Drawings as PNG, at 300 pixels an inch.

use tiny_skia::{FillRule, LineCap, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};
use ttf_parser::OutlineBuilder;

use super::{
    font::{self, FACE},
    palette::Marker,
    scene::{Ink, MARK_EDGE, Position, Scene, SceneMark, Words},
    svg::rgb,
};

/// Pixels per point.
const SCALE: f64 = 300.0 / 72.0;
/// Largest number of pixels of a side.
const MOST: f64 = 16_384.0;

/// The bytes of the file.
pub(super) fn bytes(scene: &Scene) -> Vec<u8> {
    let side = |length: f64| (length * SCALE).ceil().clamp(1.0, MOST) as u32;
    let mut pixmap = Pixmap::new(side(scene.width), side(scene.height)).expect("sides of 1 to 16384");
    pixmap.fill(tiny_skia::Color::WHITE);
    scene.marks.iter().for_each(|mark| draw(&mut pixmap, mark));
    pixmap.encode_png().expect("memory can always be written to")
}

fn paint(ink: Ink, opacity: f64) -> Paint<'static> {
    let [red, green, blue] = rgb(ink);
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, (opacity.clamp(0.0, 1.0) * 255.0).round() as u8);
    paint
}

fn path(points: &[Position], closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for (at, Position { x, y }) in points.iter().enumerate() {
        let (x, y) = ((x * SCALE) as f32, (y * SCALE) as f32);
        if at == 0 { builder.move_to(x, y) } else { builder.line_to(x, y) }
    }
    if closed {
        builder.close();
    }
    builder.finish()
}

fn stroke(pixmap: &mut Pixmap, path: Option<Path>, ink: Ink, width: f64, dash: &[f64]) {
    let dashes = dash.iter().map(|length| (length * SCALE) as f32).collect::<Vec<_>>();
    let stroke = Stroke {
        width: (width * SCALE) as f32,
        line_cap: LineCap::Butt,
        dash: StrokeDash::new(dashes, 0.0),
        ..Stroke::default()
    };
    if let Some(path) = path {
        pixmap.stroke_path(&path, &paint(ink, 1.0), &stroke, Transform::identity(), None);
    }
}

fn fill(pixmap: &mut Pixmap, path: Option<Path>, ink: Ink, opacity: f64) {
    if let Some(path) = path {
        pixmap.fill_path(&path, &paint(ink, opacity), FillRule::Winding, Transform::identity(), None);
    }
}

fn draw(pixmap: &mut Pixmap, mark: &SceneMark) {
    match mark {
        SceneMark::Line { points, ink, width, dash } => stroke(pixmap, path(points, false), *ink, *width, dash),
        SceneMark::Area { corners, ink, opacity, .. } => fill(pixmap, path(corners, true), *ink, *opacity),
        SceneMark::Dot { at, marker, size, ink, hollow, .. } => {
            let shape = || match marker {
                Marker::Disc => {
                    PathBuilder::from_circle((at.x * SCALE) as f32, (at.y * SCALE) as f32, (size * SCALE) as f32)
                }
                _ => path(&marker.corners(*at, *size), true),
            };
            fill(pixmap, shape(), if *hollow { Ink::Paper } else { *ink }, 1.0);
            stroke(pixmap, shape(), *ink, MARK_EDGE, &[]);
        }
        SceneMark::Words(words) => self::words(pixmap, words),
    }
}

/// Fills the outlines of a text.
fn words(pixmap: &mut Pixmap, words: &Words) {
    let mut outline = Outline { builder: PathBuilder::new(), right: 0.0 };
    for c in words.text.chars() {
        if let Some(glyph) = FACE.glyph_index(font::drawn(c)) {
            FACE.outline_glyph(glyph, &mut outline);
            outline.right += f32::from(FACE.glyph_hor_advance(glyph).unwrap_or(0));
        }
    }
    let Some(path) = outline.builder.finish() else { return };
    let scale = (words.size * SCALE) as f32 / f32::from(FACE.units_per_em());
    let Position { x, y } = words.start();
    let (x, y) = ((x * SCALE) as f32, (y * SCALE) as f32);
    let placed = match words.upwards {
        true => Transform::from_row(0.0, -scale, -scale, 0.0, x, y),
        false => Transform::from_row(scale, 0.0, 0.0, -scale, x, y),
    };
    pixmap.fill_path(&path, &paint(words.ink, 1.0), FillRule::Winding, placed, None);
}

/// The outline of a text in units of the font, y upwards.
struct Outline {
    builder: PathBuilder,
    /// Position of the next character.
    right: f32,
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.builder.move_to(x + self.right, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.builder.line_to(x + self.right, y);
    }

    fn quad_to(&mut self, bend_x: f32, bend_y: f32, x: f32, y: f32) {
        self.builder.quad_to(bend_x + self.right, bend_y, x + self.right, y);
    }

    fn curve_to(&mut self, first_x: f32, first_y: f32, second_x: f32, second_y: f32, x: f32, y: f32) {
        let right = self.right;
        self.builder.cubic_to(first_x + right, first_y, second_x + right, second_y, x + right, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}
