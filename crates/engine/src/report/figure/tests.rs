//! Drawings: files of their kind, and text that is readable in print.

use proptest::prelude::*;

use super::*;
use palette::COLORS;

fn point(x: f64, y: f64) -> Point {
    Point::new(x, y, format!("{x}: {y}"))
}

fn panel(lines: Vec<ChartLine>) -> Panel {
    Panel { title: String::new(), lines }
}

fn chart(panels: Vec<Panel>) -> Chart {
    Chart {
        title: "Errors of <b> & \u{e9}".into(),
        x: Axis::new("k", Scale::Octaves),
        y: Axis::new("relative error", Scale::Decades),
        panels,
        legend: "instruction".into(),
        level: None,
        notes: vec!["a remark".into()],
    }
}

fn two_lines() -> Chart {
    let mut first = ChartLine::new("<script>alert(1)</script>", vec![point(32.0, 1e-7), point(1024.0, 2e-3)]);
    first.band = vec![Band { x: 32.0, least: 1e-8, most: 1e-6 }, Band { x: 1024.0, least: 1e-3, most: 5e-3 }];
    first.crossed = true;
    let second = ChartLine { style: 9, ..ChartLine::new("second", vec![point(64.0, 1e-4), point(64.0, 0.0)]) };
    chart(vec![panel(vec![first, second])])
}

fn svg(drawing: &Drawing) -> String {
    svg::standalone(&drawing.scene(170))
}

#[test]
fn a_drawing_is_a_file_of_its_kind_and_the_same_every_time() {
    for (name, begins) in [("a.svg", &b"<svg"[..]), ("a.PDF", b"%PDF-"), ("a.png", b"\x89PNG")] {
        let kind = DrawingKind::of(Path::new(name)).unwrap();
        let bytes = || Drawing::Chart(two_lines()).scene(85).bytes(kind);
        assert!(bytes().starts_with(begins), "{name}");
        assert_eq!(bytes(), bytes(), "{name}");
    }
    for name in ["a.jpg", "a", "svg"] {
        assert!(DrawingKind::of(Path::new(name)).unwrap_err().contains(".svg, .pdf, .png"), "{name}");
    }
}

#[test]
fn words_of_a_drawing_are_no_mark_up() {
    let scene = Drawing::Chart(two_lines()).scene(170);
    for text in [svg::standalone(&scene), inline(&scene)] {
        assert!(
            !text.contains("<script") && text.contains("&lt;script&gt;") && text.contains("&lt;b&gt; &amp;"),
            "{text}"
        );
    }
    assert_eq!(svg::escaped("\u{0}\u{1b}\u{ffff}a\"'"), "\\u{0}\\u{1b}\u{fffd}a&quot;&#39;");
}

#[test]
fn a_pdf_has_its_font_inside() {
    let bytes = Drawing::Chart(two_lines()).scene(170).bytes(DrawingKind::Pdf);
    let text = String::from_utf8_lossy(&bytes);
    assert_eq!((text.matches("/Type /Font\n").count(), text.matches("/FontFile2").count()), (1, 1), "{text}");
    let streams = bytes.windows(7).enumerate().filter(|(_, window)| window == b"stream\n").map(|(at, _)| at + 7);
    let files = streams.filter_map(|at| miniz_oxide::inflate::decompress_to_vec_zlib(&bytes[at..]).ok());
    assert!(files.into_iter().any(|file| file == font::FILE));
}

#[test]
fn the_letters_of_a_picture_stay_in_their_measured_boxes() {
    for upwards in [false, true] {
        let mut scene = Scene::new(200.0, 200.0, "");
        let text = Words::new(Position::new(100.0, 100.0), "Mgjpq|Wfy_{}(10^-7)", 8.0);
        scene.words(if upwards { text.upwards() } else { text });
        let [left, top, right, bottom] = legible::bounds(legible::words(&scene)[0]);
        let pixels = tiny_skia::Pixmap::decode_png(&scene.bytes(DrawingKind::Png)).unwrap();
        let scale = f64::from(pixels.width()) / 200.0;
        let mut inked = 0;
        for (at, pixel) in pixels.pixels().iter().enumerate().filter(|(_, pixel)| pixel.red() < 128) {
            let (x, y) = ((at as u32 % pixels.width()) as f64 / scale, (at as u32 / pixels.width()) as f64 / scale);
            assert!(
                (left - 0.5..right + 0.5).contains(&x) && (top - 0.5..bottom + 0.5).contains(&y),
                "{pixel:?} {x} {y}"
            );
            inked += 1;
        }
        assert!(inked > 500, "{inked}");
    }
}

#[test]
fn numbers_that_have_no_place_are_left_out_with_a_note_and_nothing_is_still_a_drawing() {
    for unplaced in [point(4.0, f64::NAN), point(4.0, f64::INFINITY), point(4.0, -1.0)] {
        let text =
            svg(&Drawing::Chart(chart(vec![panel(vec![ChartLine::new("alone", vec![point(2.0, 1.0), unplaced])])])));
        assert!(text.contains("alone") && text.contains("is left out") && !text.contains("NaN"), "{text}");
    }
    let text = svg(&Drawing::Chart(chart(vec![panel(vec![ChartLine::new("alone", vec![])])])));
    assert!(text.contains("alone (no points)"));
    assert!(svg(&Drawing::Chart(chart(vec![]))).contains("relative error"));
    let none =
        Matrix { title: "t".into(), rows: vec![], columns: vec![], tiles: vec![], manners: vec![], notes: vec![] };
    assert!(svg(&Drawing::Matrix(none)).contains(">t<"));
}

#[test]
fn a_zero_on_a_logarithmic_axis_has_its_own_mark_at_the_edge_and_a_note() {
    let marks = |y: f64| {
        let line = ChartLine::new("a", vec![point(2.0, y), point(4.0, 1e-3), point(8.0, 1e-2)]);
        let scene = chart(vec![panel(vec![line])]).scene(240.0);
        let lowest = scene.marks.iter().filter_map(|mark| match mark {
            SceneMark::Dot { at, marker, hover: Some(_), .. } => Some((at.y, *marker)),
            _ => None,
        });
        let lowest = lowest.max_by(|one, other| one.0.total_cmp(&other.0)).unwrap().1;
        let joined = scene.marks.iter().any(|mark| matches!(mark, SceneMark::Line { points, .. } if points.len() == 3 && points[0].y != points[1].y && points[1].x != points[2].x && points[1].y != points[2].y));
        (lowest, svg::standalone(&scene).contains("logarithmic axis: zero"), joined)
    };
    assert_eq!(marks(0.0), (Marker::Zero, true, false));
    assert_eq!(marks(1e-4), (Marker::Disc, false, true));
}

#[test]
fn axes_have_round_numbers() {
    let labels = |axis: Axis, numbers: &[f64]| {
        let ticks = axis.range(numbers.iter().copied()).ticks(6, &axis.names, |_| true);
        ticks.into_iter().map(|(_, label)| label).collect::<Vec<_>>()
    };
    assert_eq!(labels(Axis::new("", Scale::Linear), &[0.0, 1.0]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
    assert_eq!(labels(Axis::new("", Scale::Whole), &[1.0, 3.0]), ["1", "2", "3"]);
    assert_eq!(labels(Axis::new("", Scale::Octaves), &[32.0, 256.0]), ["32", "64", "128", "256"]);
    assert_eq!(labels(Axis::new("", Scale::Decades), &[3e-4, 0.5, 20.0]), ["10^-4", "10^-2", "1", "100"]);
    assert_eq!(labels(Axis::new("", Scale::Decades), &[0.0, 20.0]), ["0", "10", "100"]);
    assert_eq!(labels(Axis::of_names("", vec!["a".into(), "b".into()]), &[]), ["a", "b"]);
}

/// Relative luminance of linear red, green and blue (WCAG 2).
fn linear(color: [u8; 3]) -> [f64; 3] {
    color.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    })
}

/// Lightness and hue in Oklab (Ottosson, 2020).
fn oklab([r, g, b]: [f64; 3]) -> [f64; 3] {
    let [l, m, s] = [
        0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b,
        0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b,
        0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b,
    ]
    .map(f64::cbrt);
    [
        0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
        1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
        0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
    ]
}

/// Linear colours as eyes see them: with all cones, and without long, medium or short ones.
///
/// The matrices come from Machado, Oliveira and Fernandes (2009), for whole deficiency.
const EYES: [[[f64; 3]; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
];

#[test]
fn colours_are_visible_on_white_and_distinct_for_every_eye() {
    for color in COLORS {
        let [r, g, b] = linear(color);
        let contrast = 1.05 / (0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05);
        assert!(contrast >= 3.0, "{color:?}: {contrast}");
    }
    for eye in EYES {
        let seen = COLORS.map(|color| {
            let rgb = linear(color);
            oklab(eye.map(|row| row.iter().zip(rgb).map(|(share, part)| share * part).sum()))
        });
        for (at, one) in seen.iter().enumerate() {
            for (other, color) in seen[at + 1..].iter().zip(&COLORS[at + 1..]) {
                let apart = one.iter().zip(other).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
                assert!(apart > 0.07, "{:?} and {color:?}: {apart}", COLORS[at]);
            }
        }
    }
}

#[test]
fn the_lines_of_a_panel_are_distinct_without_colours() {
    let looks: std::collections::HashSet<_> =
        (0..LOOKS).map(|style| (palette::marker(style), format!("{:?}", palette::dash(style)))).collect();
    assert_eq!(looks.len(), LOOKS);
}

fn name() -> impl Strategy<Value = String> {
    "[a-z0-9. =,*>-]{0,12}[a-z0-9]{1,30}"
}

fn a_chart() -> impl Strategy<Value = Chart> {
    let scale = || prop::sample::select(vec![Scale::Linear, Scale::Whole, Scale::Decades, Scale::Octaves]);
    let number =
        || prop_oneof![4 => (-30.0..30.0f64).prop_map(f64::exp2), 1 => Just(0.0), 1 => Just(1e9), 1 => Just(f64::NAN)];
    let line =
        (name(), prop::collection::vec((number(), number()), 0..6), 0..30usize).prop_map(|(name, points, style)| {
            let points = points.into_iter().map(|(x, y)| point(x, y)).collect();
            ChartLine { style, ..ChartLine::new(name, points) }
        });
    let panel = (prop_oneof![Just(String::new()), name()], prop::collection::vec(line, 0..=LEGEND));
    let panels = prop::collection::vec(panel.prop_map(|(title, lines)| Panel { title, lines }), 0..14);
    let names = prop::collection::vec(name(), 0..20);
    (panels, scale(), scale(), names, any::<bool>(), name(), name()).prop_map(
        |(panels, x, y, names, named, title, text)| {
            let y = if named { Axis::of_names(title.clone(), names) } else { Axis::new(title.clone(), y) };
            let notes = vec![[text.as_str(); 9].join(" ")];
            Chart { title: text, x: Axis::new(title, x), y, panels, legend: "legend".into(), level: Some(1.0), notes }
        },
    )
}

fn a_matrix() -> impl Strategy<Value = Matrix> {
    (1..30usize, 1..30usize, name(), 0..2_000_000u32).prop_map(|(rows, columns, name, count)| {
        let tile = |row: usize| (0..columns).map(move |column| (row, column));
        let tiles = (0..rows).flat_map(tile).map(|(row, column)| Tile {
            row,
            column,
            share: 0.5,
            words: vec![format!("{count}/{count}"), "100".into()],
            hover: String::new(),
        });
        Matrix {
            title: name.clone(),
            rows: vec![name.clone(); rows],
            columns: vec![name.clone(); columns],
            tiles: tiles.collect(),
            manners: ["both", "per cent", "none"].map(String::from).to_vec(),
            notes: vec![],
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_of_a_chart_overlaps_another_or_leaves_the_drawing(chart in a_chart(), width in prop::sample::select(&WIDTHS[..])) {
        prop_assert_eq!(Drawing::Chart(chart).scene(width).unreadable(), None);
    }

    #[test]
    fn numbers_of_a_matrix_stay_in_their_tiles(matrix in a_matrix(), width in prop::sample::select(&WIDTHS[..])) {
        let columns = matrix.columns.len();
        let drawing = Drawing::Matrix(matrix).scene(width);
        if columns <= 16 || width == 170 {
            prop_assert_eq!(drawing.unreadable(), None);
        }
    }

    #[test]
    fn ticks_of_whole_numbers_are_whole_and_distinct(least in -1e6..1e6f64, length in 0.0..1e6f64, most in 5..20usize) {
        let axis = Axis::new("", Scale::Whole);
        let ticks = axis.range([least.floor(), (least + length).floor()].into_iter()).ticks(most, &[], |_| true);
        prop_assert!(ticks.iter().all(|(share, label)| label.parse::<i64>().is_ok() && (-1e-6..1.0 + 1e-6).contains(share)));
        prop_assert!(!ticks.is_empty() && ticks.windows(2).all(|two| two[0].1 != two[1].1));
    }

    #[test]
    fn a_wrapped_text_keeps_its_letters_and_its_width(text in "[ -~]{0,120}", room in 12.0..200.0f64) {
        let lines = font::wrapped(&text, SMALL, room);
        prop_assert!(lines.iter().all(|line| font::width(line, SMALL) <= room || line.chars().count() == 1));
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert_eq!(letters(&lines.concat()), letters(&text));
    }
}
