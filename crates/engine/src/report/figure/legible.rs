//! Legibility of the words of a drawing.

use super::{Position, SMALL, Scene, SceneMark, Words, font};

/// Distance that texts may come closer than their boxes say, in points.
const TOUCH: f64 = 0.05;

/// The texts of a scene.
pub(super) fn words(scene: &Scene) -> Vec<&Words> {
    scene.marks.iter().filter_map(|mark| if let SceneMark::Words(text) = mark { Some(text) } else { None }).collect()
}

/// Left, top, right and bottom of a text.
pub(super) fn bounds(words: &Words) -> [f64; 4] {
    let Position { x, y } = words.start();
    let (width, up, down) =
        (font::width(&words.text, words.size), font::ASCENT * words.size, font::DESCENT * words.size);
    if words.upwards { [x - up, y - width, x + down, y] } else { [x, y - up, x + width, y + down] }
}

impl Scene {
    /// Says which text leaves the drawing, overlaps another or is too small; `None` if all can be read.
    pub fn unreadable(&self) -> Option<String> {
        let texts = words(self);
        let boxes: Vec<[f64; 4]> = texts.iter().map(|text| bounds(text)).collect();
        for (at, [left, top, right, bottom]) in boxes.iter().enumerate() {
            if *left < -TOUCH || *top < -TOUCH || *right > self.width + TOUCH || *bottom > self.height + TOUCH {
                return Some(format!("'{}' leaves the drawing", texts[at].text));
            }
            let overlaps = |other: &[f64; 4]| {
                other[0] < right - TOUCH
                    && other[2] > left + TOUCH
                    && other[1] < bottom - TOUCH
                    && other[3] > top + TOUCH
            };
            if let Some(other) = boxes[at + 1..].iter().position(overlaps) {
                return Some(format!("'{}' overlaps '{}'", texts[at].text, texts[at + 1 + other].text));
            }
        }
        let is_number = |text: &str| text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let small = texts.iter().find(|text| text.size < SMALL && !is_number(&text.text));
        small.map(|text| format!("'{}' is too small", text.text))
    }
}
