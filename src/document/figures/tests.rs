//! Figures of the results in `reports/`, and of random curves.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::{
    report::{
        figure::{ChartLine, EQUAL, LEGEND, LOOKS, Point, Scale, WIDTHS},
        result,
    },
    tables,
};

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, all);
        } else if path.extension().is_some_and(|ending| ending == "json") {
            all.push(path);
        }
    }
}

/// The figures of every kept result.
fn kept() -> Vec<(String, Vec<Figure>)> {
    let mut all = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("reports"), &mut all);
    let declared = tables::declared();
    let drawn = |path: PathBuf| (path.display().to_string(), figures(&result(&path, &declared).unwrap().report));
    all.into_iter().map(drawn).collect()
}

fn of(name: &str) -> Vec<Figure> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports").join(name);
    figures(&result(&path, &tables::declared()).unwrap().report)
}

fn chart(figure: &Figure) -> &Chart {
    match &figure.drawing {
        Drawing::Chart(chart) => chart,
        Drawing::Matrix(_) => panic!("{} is a matrix", figure.name),
    }
}

#[test]
fn every_figure_is_readable_at_both_widths_and_its_legends_are_short() {
    let mut kinds = HashSet::new();
    for (file, figures) in kept() {
        for figure in figures {
            kinds.insert(figure.name.clone());
            for width in WIDTHS {
                assert_eq!(figure.drawing.scene(width).unreadable(), None, "{file}: {}, {width} mm", figure.name);
            }
            let Drawing::Chart(chart) = &figure.drawing else { continue };
            for panel in &chart.panels {
                assert!(panel.lines.len() <= LEGEND, "{file}: {}", figure.name);
                let points: HashSet<_> = panel.lines.iter().map(|line| format!("{:?}", line.points)).collect();
                assert!(points.len() == panel.lines.len(), "{file}: {}, equal lines", figure.name);
                let looks: HashSet<_> = panel.lines.iter().map(|line| line.style % LOOKS).collect();
                assert!(looks.len() == panel.lines.len(), "{file}: {}, lines that look alike", figure.name);
            }
            let integer_words = ["links", "terms of a sum", "warps", "bit of", "binade"];
            for axis in [&chart.x, &chart.y]
                .into_iter()
                .filter(|axis| integer_words.iter().any(|word| axis.title.contains(word)))
            {
                assert!(matches!(axis.scale, Scale::Whole | Scale::Octaves | Scale::Names), "{}", axis.title);
            }
        }
    }
    assert!(kinds.len() > 15, "{kinds:?}");
}

#[test]
fn a_chain_of_several_devices_is_drawn_with_every_format_and_every_device() {
    let figure = &of("h200/figure-17.json")[0];
    let chart = chart(figure);
    let words = |panel: &Panel| {
        panel.lines.iter().map(|line| line.name.clone()).chain([panel.title.clone()]).collect::<Vec<_>>()
    };
    let said = [chart.panels.iter().flat_map(words).collect(), vec![chart.title.clone()]].concat().join(" ");
    for word in ["bf16", "f16", "tf32", "low", "fp32", "H200", "hopper", "ampere"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}

#[test]
fn notes_say_only_what_is_drawn() {
    for (file, figures) in kept() {
        for figure in figures.iter().filter(|figure| matches!(figure.drawing, Drawing::Chart(_))) {
            let chart = chart(figure);
            let lines = || chart.panels.iter().flat_map(|panel| &panel.lines);
            let notes = chart.notes.join(" ");
            assert_eq!(notes.contains("Cross:"), lines().any(|line| line.crossed), "{file}: {}", figure.name);
            assert_eq!(notes.contains("Band:"), lines().any(|line| !line.band.is_empty()), "{file}: {}", figure.name);
            assert!(!notes.contains("Dashed"), "{file}");
        }
    }
    let promoted = of("products/promotion.json");
    let chart = chart(&promoted[0]);
    assert!(chart.notes.join(" ").contains("Promoted every N") && !chart.title.contains("chips"), "{chart:?}");
    let names: Vec<&str> = chart.panels.iter().flat_map(|panel| &panel.lines).map(|line| line.name.as_str()).collect();
    assert!(names.iter().any(|name| name.contains("promoted every 128")), "{names:?}");
    assert!(names.iter().all(|name| !name.contains("...")), "{names:?}");
}

/// Curves of three kinds of words, whose numbers are few, so that some are equal.
fn some_curves() -> impl Strategy<Value = Vec<(Vec<String>, u8)>> {
    let sizes = (1..6usize, 1..8usize, 1..4usize);
    sizes.prop_flat_map(|(a, b, c)| {
        prop::collection::vec(0..5u8, a * b * c).prop_map(move |numbers| {
            let words =
                |at: usize| vec![format!("a{}", at % a), format!("b{}", at / a % b), format!("c{}", at / a / b)];
            numbers.into_iter().enumerate().map(|(at, number)| (words(at), number)).collect()
        })
    })
}

proptest! {
    #[test]
    fn every_curve_is_drawn_once_under_all_its_words(all in some_curves()) {
        let curves = all.iter().map(|(keys, number)| {
            let points = vec![Point::new(1.0, f64::from(*number), "")];
            Curve { keys: keys.clone(), line: ChartLine::new("", points) }
        });
        let Arranged { panels, fixed, notes } = arranged(curves.collect());
        for (keys, number) in &all {
            let says = |panel: &Panel, line: &ChartLine| {
                let text = [&panel.title, &line.name, &fixed.join(", ")]
                    .map(|words| words.replace([',', '='], " "))
                    .join(" ");
                let listed = notes.iter().filter(|note| note.starts_with(&line.name)).cloned().collect::<String>();
                keys.iter().all(|key| text.split_whitespace().any(|word| word == key) || listed.contains(key))
            };
            let lines = panels.iter().flat_map(|panel| panel.lines.iter().map(move |line| (panel, line)));
            let lines: Vec<_> = lines
                .filter(|(panel, line)| says(panel, line) && line.points[0].y == f64::from(*number))
                .collect();
            prop_assert!(!lines.is_empty(), "{:?} {:?}", keys, panels);
        }
        for panel in &panels {
            prop_assert!((1..=LEGEND).contains(&panel.lines.len()));
            let distinct: HashSet<u64> = panel.lines.iter().map(|line| line.points[0].y.to_bits()).collect();
            prop_assert_eq!(distinct.len(), panel.lines.len());
        }
        let equal = all.iter().any(|(keys, number)| all.iter().any(|other| other.0 != *keys && other.1 == *number));
        let names = panels.iter().flat_map(|panel| panel.lines.iter().map(|line| &line.name));
        prop_assert!(equal || names.into_iter().all(|name| !name.contains(EQUAL)));
    }
}
