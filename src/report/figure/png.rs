//! Drawings as PNG, at twice their size, in a bitmap font that is part of the program.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use tiny_skia::{
    FillRule, LineCap, Paint, Path, PathBuilder, Pixmap, PremultipliedColorU8, Stroke, StrokeDash, Transform,
};

use super::{
    palette::Marker,
    scene::{Anchor, Ink, Scene, SceneMark, Words},
    svg::rgb,
};

/// Pixels per point.
const SCALE: f64 = 2.0;
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

fn path(points: &[(f64, f64)], closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for (at, (x, y)) in points.iter().enumerate() {
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
                    PathBuilder::from_circle((at.0 * SCALE) as f32, (at.1 * SCALE) as f32, (size * SCALE) as f32)
                }
                _ => path(&marker.corners(*at, *size), true),
            };
            fill(pixmap, shape(), if *hollow { Ink::Paper } else { *ink }, 1.0);
            stroke(pixmap, shape(), *ink, 1.0, &[]);
        }
        SceneMark::Words(words) => self::words(pixmap, words),
    }
}

/// Draws a text from bitmaps of equal width, turned if it runs upwards.
fn words(pixmap: &mut Pixmap, words: &Words) {
    let height = if words.size > 14.0 { RasterHeight::Size32 } else { RasterHeight::Size24 };
    let weight = if words.bold { FontWeight::Bold } else { FontWeight::Regular };
    let cell = get_raster_width(weight, height);
    let length = (cell * words.text.chars().count()) as i64;
    let back = match words.anchor {
        Anchor::Start => 0,
        Anchor::Middle => length / 2,
        Anchor::End => length,
    };
    let (x, y) = ((words.at.0 * SCALE).round() as i64, (words.at.1 * SCALE).round() as i64);
    // The base line lies about three quarters below the top of a cell.
    let rise = height.val() as i64 * 3 / 4;
    for (index, c) in words.text.chars().enumerate() {
        let Some(raster) = get_raster(c, weight, height).or_else(|| get_raster('?', weight, height)) else { continue };
        for (down, line) in raster.raster().iter().enumerate() {
            for (right, coverage) in line.iter().enumerate().filter(|(_, coverage)| **coverage > 0) {
                let (along, below) = ((index * cell + right) as i64 - back, down as i64 - rise);
                let place = if words.upwards { (x + below, y - along) } else { (x + along, y + below) };
                blend(pixmap, place, rgb(words.ink), *coverage);
            }
        }
    }
}

/// Blends a colour with a pixel, if the pixel is on the drawing.
fn blend(pixmap: &mut Pixmap, (x, y): (i64, i64), color: [u8; 3], coverage: u8) {
    let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { return };
    if x >= pixmap.width() || y >= pixmap.height() {
        return;
    }
    let at = (y * pixmap.width() + x) as usize;
    let below = pixmap.pixels()[at];
    let mix = |over: u8, under: u8| {
        ((u32::from(over) * u32::from(coverage) + u32::from(under) * (255 - u32::from(coverage))) / 255) as u8
    };
    let [red, green, blue] = color;
    let mixed = (mix(red, below.red()), mix(green, below.green()), mix(blue, below.blue()));
    if let Some(pixel) = PremultipliedColorU8::from_rgba(mixed.0, mixed.1, mixed.2, 255) {
        pixmap.pixels_mut()[at] = pixel;
    }
}
