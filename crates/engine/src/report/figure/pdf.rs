//! Drawings as PDF: one page, with its font inside.

use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr, types::FontFlags, writers};

use super::{
    font::{self, FACE},
    palette::Marker,
    scene::{Ink, MARK_EDGE, Position, Scene, SceneMark, Words},
    svg::rgb,
};

/// Distance of the control points of a quarter circle from its ends, in radii.
const QUARTER: f32 = 0.552_285;
/// Number of steps of opacity.
const STEPS: usize = 20;
/// Codes of the font: Latin-1, which Windows-1252 shares but for 128 to 159.
const CODES: std::ops::RangeInclusive<u8> = 32..=255;
/// Name of the font. A tag in front says that it is a part of Arimo.
const FONT: Name = Name(b"LATINA+Arimo");
/// Level of compression, 0 to 10.
const LEVEL: u8 = 9;

/// The bytes of the file.
pub(super) fn bytes(scene: &Scene) -> Vec<u8> {
    let [catalog, tree, page_id, font_id, descriptor, file, content_id, about] = [1, 2, 3, 4, 5, 6, 7, 8].map(Ref::new);
    let mut pdf = Pdf::new();
    // The newest that pdflatex includes without a warning.
    pdf.set_version(1, 5);
    pdf.catalog(catalog).pages(tree);
    pdf.pages(tree).kids([page_id]).count(1);
    pdf.document_info(about).title(TextStr(&scene.title)).creator(TextStr("tcnum"));
    let mut page = pdf.page(page_id);
    page.media_box(Rect::new(0.0, 0.0, scene.width as f32, scene.height as f32));
    page.parent(tree);
    page.contents(content_id);
    let mut resources = page.resources();
    resources.fonts().pair(Name(b"F"), font_id);
    let mut states = resources.ext_g_states();
    for step in 0..=STEPS {
        let mut state = states.insert(Name(name(step).as_bytes())).start::<writers::ExtGraphicsState>();
        state.non_stroking_alpha(step as f32 / STEPS as f32);
    }
    states.finish();
    resources.finish();
    page.finish();
    embed(&mut pdf, font_id, descriptor, file);
    let mut page = PdfPage { content: Content::new(), height: scene.height };
    scene.marks.iter().for_each(|mark| page.draw(mark));
    let content = miniz_oxide::deflate::compress_to_vec_zlib(&page.content.finish(), LEVEL);
    pdf.stream(content_id, &content).filter(Filter::FlateDecode);
    pdf.finish()
}

/// Writes the font: its widths, its measures, its file.
fn embed(pdf: &mut Pdf, font_id: Ref, descriptor: Ref, file: Ref) {
    let size = |units: i16| f32::from(units) * 1000.0 / f32::from(FACE.units_per_em());
    let mut font = pdf.indirect(font_id).dict();
    font.pair(Name(b"Type"), Name(b"Font")).pair(Name(b"Subtype"), Name(b"TrueType")).pair(Name(b"BaseFont"), FONT);
    font.pair(Name(b"FirstChar"), i32::from(*CODES.start())).pair(Name(b"LastChar"), i32::from(*CODES.end()));
    font.pair(Name(b"Encoding"), Name(b"WinAnsiEncoding")).pair(Name(b"FontDescriptor"), descriptor);
    let widths = CODES.map(|code| (font::advance(char::from(code)) * 1000.0) as f32);
    font.insert(Name(b"Widths")).array().items(widths);
    font.finish();
    let all = FACE.global_bounding_box();
    pdf.font_descriptor(descriptor)
        .name(FONT)
        .flags(FontFlags::NON_SYMBOLIC)
        .bbox(Rect::new(size(all.x_min), size(all.y_min), size(all.x_max), size(all.y_max)))
        .italic_angle(0.0)
        .ascent(size(FACE.ascender()))
        .descent(size(FACE.descender()))
        .cap_height(size(FACE.capital_height().unwrap_or(FACE.ascender())))
        // The usual one of a regular weight.
        .stem_v(88.0)
        .font_file2(file);
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(font::FILE, LEVEL);
    let mut stream = pdf.stream(file, &packed);
    stream.filter(Filter::FlateDecode);
    stream.pair(Name(b"Length1"), font::FILE.len() as i32);
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
    fn at(&self, position: Position) -> (f32, f32) {
        (position.x as f32, (self.height - position.y) as f32)
    }

    fn path(&mut self, points: &[Position]) {
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
                self.content.set_line_width(MARK_EDGE as f32);
                self.dot(*at, *marker, *size);
            }
            SceneMark::Words(words) => self.words(words),
        }
        self.content.restore_state();
    }

    fn dot(&mut self, at: Position, marker: Marker, size: f64) {
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
        let (x, y) = self.at(words.start());
        self.fill_with(words.ink);
        self.content.begin_text();
        self.content.set_font(Name(b"F"), words.size as f32);
        self.content.set_text_matrix(match words.upwards {
            true => [0.0, 1.0, -1.0, 0.0, x, y],
            false => [1.0, 0.0, 0.0, 1.0, x, y],
        });
        let codes: Vec<u8> =
            words.text.chars().map(|c| u8::try_from(font::drawn(c)).expect("the font has Latin-1")).collect();
        self.content.show(Str(&codes));
        self.content.end_text();
    }
}
