//! Files of drawings: each has its kind, and the same bytes every time.

use super::*;

fn point(x: f64, y: f64) -> Point {
    Point { x, y, hover: format!("{x}: {y}") }
}

fn chart(lines: Vec<ChartLine>) -> Chart {
    Chart {
        title: "Errors of <b> & \u{e9}".into(),
        x: Axis::new("k", Scale::Octaves),
        y: Axis::new("relative error", Scale::Decades),
        lines,
        legend: "instruction".into(),
        remark: "a remark".into(),
    }
}

fn two_lines() -> Scene {
    let mut first = ChartLine::new("<script>alert(1)</script>", 0, vec![point(32.0, 1e-7), point(1024.0, 2e-3)]);
    first.band = vec![Band { x: 32.0, least: 1e-8, most: 1e-6 }, Band { x: 1024.0, least: 1e-3, most: 5e-3 }];
    first.crossed = true;
    chart(vec![first, ChartLine::new("second", 9, vec![point(64.0, 1e-4), point(64.0, 0.0)])]).scene()
}

#[test]
fn a_drawing_is_a_file_of_its_kind_and_the_same_every_time() {
    for (name, begins) in [("a.svg", &b"<svg"[..]), ("a.PDF", b"%PDF-"), ("a.png", b"\x89PNG")] {
        let kind = DrawingKind::of(Path::new(name)).unwrap();
        let bytes = two_lines().bytes(kind);
        assert!(bytes.starts_with(begins), "{name}");
        assert_eq!(bytes, two_lines().bytes(kind), "{name}");
    }
    for name in ["a.jpg", "a", "svg"] {
        assert!(DrawingKind::of(Path::new(name)).unwrap_err().contains(".svg, .pdf, .png"), "{name}");
    }
}

#[test]
fn words_of_a_drawing_are_no_mark_up() {
    for text in [svg::standalone(&two_lines()), inline(&two_lines())] {
        assert!(
            !text.contains("<script") && text.contains("&lt;script&gt;") && text.contains("&lt;b&gt; &amp;"),
            "{text}"
        );
    }
    assert_eq!(svg::escaped("\u{0}\u{1b}\u{ffff}a\"'"), "\\u{0}\\u{1b}\u{fffd}a&quot;&#39;");
}

#[test]
fn numbers_that_have_no_place_are_left_out_and_nothing_is_still_a_drawing() {
    for points in [
        vec![],
        vec![point(0.0, 1.0)],
        vec![point(4.0, f64::NAN)],
        vec![point(4.0, f64::INFINITY)],
        vec![point(2.0, 1.0)],
    ] {
        let text = svg::standalone(&chart(vec![ChartLine::new("alone", 0, points)]).scene());
        assert!(text.contains("alone") && !text.contains("NaN") && !text.contains("inf"), "{text}");
    }
    assert!(svg::standalone(&chart(vec![]).scene()).contains("relative error"));
    let none = Bars { title: "t".into(), axis: Axis::new("x", Scale::Linear), bars: vec![] };
    assert!(svg::standalone(&none.scene()).contains(">t<"));
    let none = PairMatrix { title: "t".into(), names: vec![], tiles: vec![], remark: String::new() };
    assert!(svg::standalone(&none.scene()).contains(">t<"));
}

#[test]
fn axes_have_round_numbers() {
    let labels = |axis: Axis, numbers: &[f64]| {
        let ticks = axis.range(numbers.iter().copied()).ticks(6, &axis.names);
        ticks.into_iter().map(|(_, label)| label).collect::<Vec<_>>()
    };
    assert_eq!(labels(Axis::new("", Scale::Linear), &[0.0, 1.0]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
    assert_eq!(labels(Axis::new("", Scale::Octaves), &[32.0, 256.0]), ["32", "64", "128", "256"]);
    assert_eq!(
        labels(Axis::new("", Scale::Decades), &[3e-4, 0.5, 20.0]),
        ["1e-4", "1e-3", "1e-2", "1e-1", "1", "10", "100"][..].iter().step_by(2).copied().collect::<Vec<_>>()
    );
    assert_eq!(labels(Axis::of_names("", vec!["a".into(), "b".into()]), &[]), ["a", "b"]);
}

#[test]
fn texts_that_are_too_long_are_cut() {
    assert_eq!(font::cut("abc", 10.0, 100.0), "abc");
    let cut = font::cut(&"m".repeat(100), 10.0, 100.0);
    assert!(cut.ends_with("...") && font::width(&cut, 10.0) <= 100.0 && cut.len() > 5, "{cut}");
}
