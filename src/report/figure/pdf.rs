//! Drawings as PDF: one page, in Helvetica, which every reader has.

use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str, TextStr};

use super::{
    font,
    palette::Marker,
    scene::{Anchor, Ink, Scene, SceneMark, Words},
    svg::rgb,
};

/// Distance of the control points of a quarter circle from its ends, in radii.
const QUARTER: f32 = 0.552_285;
/// Number of steps of opacity.
const STEPS: usize = 20;

/// The bytes of the file.
pub(super) fn bytes(scene: &Scene) -> Vec<u8> {
    let [catalog, tree, page_id, plain, bold, content_id, about] = [1, 2, 3, 4, 5, 6, 7].map(Ref::new);
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(tree);
    pdf.pages(tree).kids([page_id]).count(1);
    pdf.document_info(about).title(TextStr(&scene.title)).creator(TextStr("tcnum"));
    let mut page = pdf.page(page_id);
    page.media_box(Rect::new(0.0, 0.0, scene.width as f32, scene.height as f32));
    page.parent(tree);
    page.contents(content_id);
    let mut resources = page.resources();
    resources.fonts().pair(Name(b"F"), plain).pair(Name(b"B"), bold);
    let mut states = resources.ext_g_states();
    for step in 0..=STEPS {
        let mut state = states.insert(Name(name(step).as_bytes())).start::<pdf_writer::writers::ExtGraphicsState>();
        state.non_stroking_alpha(step as f32 / STEPS as f32);
    }
    states.finish();
    resources.finish();
    page.finish();
    for (id, base) in [(plain, &b"Helvetica"[..]), (bold, b"Helvetica-Bold")] {
        pdf.type1_font(id).base_font(Name(base)).encoding_predefined(Name(b"WinAnsiEncoding"));
    }
    let mut page = PdfPage { content: Content::new(), height: scene.height };
    scene.marks.iter().for_each(|mark| page.draw(mark));
    pdf.stream(content_id, &page.content.finish());
    pdf.finish()
}

/// The name of a step of opacity.
fn name(step: usize) -> String {
    format!("A{step}")
}

/// The colour of an ink, each part from 0 to 1.
fn shares(ink: Ink) -> [f32; 3] {
    rgb(ink).map(|part| f32::from(part) / 255.0)
}

struct PdfPage {
    content: Content,
    height: f64,
}

impl PdfPage {
    /// A position, from the bottom left corner.
    fn at(&self, (x, y): (f64, f64)) -> (f32, f32) {
        (x as f32, (self.height - y) as f32)
    }

    fn path(&mut self, points: &[(f64, f64)]) {
        for (index, point) in points.iter().enumerate() {
            let (x, y) = self.at(*point);
            if index == 0 {
                self.content.move_to(x, y)
            } else {
                self.content.line_to(x, y)
            };
        }
    }

    fn stroke_with(&mut self, ink: Ink) {
        let [red, green, blue] = shares(ink);
        self.content.set_stroke_rgb(red, green, blue);
    }

    fn fill_with(&mut self, ink: Ink) {
        let [red, green, blue] = shares(ink);
        self.content.set_fill_rgb(red, green, blue);
    }

    fn draw(&mut self, mark: &SceneMark) {
        self.content.save_state();
        match mark {
            SceneMark::Line { points, ink, width, dash } => {
                self.stroke_with(*ink);
                self.content.set_line_width(*width as f32);
                self.content.set_dash_pattern(dash.iter().map(|length| *length as f32), 0.0);
                self.path(points);
                self.content.stroke();
            }
            SceneMark::Area { corners, ink, opacity, .. } => {
                let step = (opacity.clamp(0.0, 1.0) * STEPS as f64).round() as usize;
                self.content.set_parameters(Name(name(step).as_bytes()));
                self.fill_with(*ink);
                self.path(corners);
                self.content.close_path().fill_nonzero();
            }
            SceneMark::Dot { at, marker, size, ink, hollow, .. } => {
                self.stroke_with(*ink);
                self.fill_with(if *hollow { Ink::Paper } else { *ink });
                self.dot(*at, *marker, *size);
            }
            SceneMark::Words(words) => self.words(words),
        }
        self.content.restore_state();
    }

    fn dot(&mut self, at: (f64, f64), marker: Marker, size: f64) {
        match marker {
            Marker::Disc => {
                let ((x, y), r) = (self.at(at), size as f32);
                let bend = QUARTER * r;
                self.content.move_to(x + r, y);
                self.content.cubic_to(x + r, y + bend, x + bend, y + r, x, y + r);
                self.content.cubic_to(x - bend, y + r, x - r, y + bend, x - r, y);
                self.content.cubic_to(x - r, y - bend, x - bend, y - r, x, y - r);
                self.content.cubic_to(x + bend, y - r, x + r, y - bend, x + r, y);
                self.content.close_path().fill_nonzero_and_stroke();
            }
            _ => {
                self.path(&marker.corners(at, size));
                self.content.close_path().fill_nonzero_and_stroke();
            }
        }
    }

    fn words(&mut self, words: &Words) {
        let width = font::width(&words.text, words.size);
        let back = match words.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let (x, y) = self.at(words.at);
        let back = back as f32;
        self.fill_with(words.ink);
        self.content.begin_text();
        self.content.set_font(Name(if words.bold { b"B" } else { b"F" }), words.size as f32);
        self.content.set_text_matrix(match words.upwards {
            true => [0.0, 1.0, -1.0, 0.0, x, y - back],
            false => [1.0, 0.0, 0.0, 1.0, x - back, y],
        });
        // From 160 on, Windows-1252 and Unicode agree.
        let code =
            |c: char| u8::try_from(c).ok().filter(|code| (32..127).contains(code) || *code >= 160).unwrap_or(b'?');
        let codes: Vec<u8> = words.text.chars().map(code).collect();
        self.content.show(Str(&codes));
        self.content.end_text();
    }
}
