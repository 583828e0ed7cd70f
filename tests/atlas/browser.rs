//! The evaluator and the form of the calculator in a browser, from files.

use std::{fs, path::Path, process::Command};

use maud::html;
use serde_json::{Value, json};
use tcnum::{
    arithmetic::{EvidenceKind, Model},
    atlas::calculator::{self, EVALUATOR, Generation, INTERFACE, STYLE, Scripts},
    format::Rounding,
    inputs::Corners,
    isa::{self, Case, Instruction},
};

use crate::{
    machine::{Need, amount, has_tool},
    node, subjects,
};

const SCRIPTS: Scripts<'_> = Scripts { evaluator: "evaluator.js", programs: "programs.js", interface: "calculator.js" };

/// Writes files, and opens the pages among them; returns what `tools/atlas-check` prints.
///
/// # Panics
/// If it fails.
fn opened(folder: &Path, files: &[(&str, &str)]) -> String {
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/atlas-check");
    let run = Command::new(tool).arg(folder).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

fn page(title: &str, part: maud::Markup, script: &str) -> String {
    let page = html! {
        (maud::DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (maud::PreEscaped(STYLE)) }
            }
            body { h1 { (title) } (part) @if !script.is_empty() { script src=(script) { } } }
        }
    };
    page.into_string()
}

#[test]
fn the_evaluator_gives_the_d_of_the_reference_in_a_browser() {
    if !has_tool("chromium", Need::Chromium) {
        return;
    }
    let subjects = subjects::of_models(amount(20_000, 50_000));
    let scripts =
        html! { @for name in ["evaluator.js", "programs.js", "cases.js", "check.js"] { script src=(name) { } } };
    let files = [
        ("evaluator.js", EVALUATOR),
        ("programs.js", &subjects::programs(&subjects)),
        ("cases.js", &subjects::cases(&subjects)),
        ("check.js", include_str!("check_cases.js")),
        ("check.html", &page("Cases", scripts, "")),
    ];
    let said = opened(&node::folder("browser"), &files);
    assert_eq!(said.trim(), format!("check.html: passed: {} cases", subjects::count(&subjects)));
}

/// Fragment of the address that shows a case in two models.
fn address(case: &Case, models: &[&str]) -> String {
    let codes = |codes: &[u64]| codes.iter().map(|code| format!("{code:x}")).collect::<Vec<_>>().join(".");
    let second = models.get(1).unwrap_or(&"");
    let mut address = format!("one={}&two={second}&c={:x}", models[0], case.c);
    for (name, values) in [
        ("a", &case.a),
        ("b", &case.b),
        ("positions", &case.positions),
        ("scale_a", &case.scale_a),
        ("scale_b", &case.scale_b),
    ] {
        if !values.is_empty() {
            address += &format!("&{name}={}", codes(values));
        }
    }
    address
}

/// Codes that the table of results shows: D of each model, then the correctly rounded result.
fn results(case: &Case, i: &Instruction, models: &[&str]) -> Value {
    let of_model = |name: &&str| i.d.hex(Model::load(name).unwrap().program(i).unwrap().dot(case));
    let exact = case.exact(i, Rounding::Rne).map_or("none".into(), |code| i.d.hex(code));
    models.iter().map(of_model).chain([exact]).collect::<Vec<_>>().into()
}

#[test]
fn the_form_shows_d_for_what_is_typed_and_for_links() {
    if !has_tool("chromium", Need::Chromium) {
        return;
    }
    for (name, models) in [
        ("mma.m16n8k16.f32.f16.f16.f32", &["volta", "ampere", "hopper"][..]),
        ("mma.sp.m16n8k32.f32.f16.f16.f32", &["ampere", "hopper"]),
        ("mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16", &["blackwell-rtx"]),
        ("mma.m16n8k32.s32.s8.s8.s32", &["hopper", "ampere"]),
        ("mma.m8n8k4.f64.f64.f64.f64", &["ampere", "hopper"]),
    ] {
        let i = isa::find(name).unwrap();
        let generation = |name: &&str| {
            let program = Model::load(name).unwrap().program(&i).ok()?;
            let program = calculator::program_json(&program);
            Some(Generation { name: name.to_string(), evidence: vec![("always", EvidenceKind::Measured)], program })
        };
        let models: Vec<&str> = models.iter().copied().filter(|name| generation(name).is_some()).collect();
        let generations: Vec<Generation> = models.iter().filter_map(generation).collect();
        let cases: Vec<Case> = Corners::cases(&i);
        let step = cases.len().div_ceil(amount(20, 100));
        let example = &cases[cases.len() / 3];
        let pair = &models[..models.len().min(2)];
        let last: Vec<&str> = models.iter().rev().copied().take(2).collect();
        let expected = |case: &Case| json!({ "address": address(case, &last), "results": results(case, &i, &last) });
        let expected = json!({
            "example": results(example, &i, pair),
            "cases": cases.iter().step_by(step).map(expected).collect::<Vec<_>>(),
        });
        let count = expected["cases"].as_array().unwrap().len();
        let programs = calculator::programs_script(&generations) + &format!("tcnum.expected = {expected};\n");
        let files = [
            ("evaluator.js", EVALUATOR),
            ("programs.js", &programs),
            ("calculator.js", INTERFACE),
            ("check.js", include_str!("check_page.js")),
            ("page.html", &page(name, calculator::markup(&i, example, &SCRIPTS), "check.js")),
        ];
        let said = opened(&node::folder(&format!("form-{name}")), &files);
        assert_eq!(said.trim(), format!("page.html: passed: {count} cases"), "{name}");
    }
}
