//! Form of the calculator, and the script with the programs of its page.

use maud::{Markup, html};
use serde_json::{Value, json};

use crate::{
    arithmetic::EvidenceKind,
    format::{Overflow, Rounding},
    isa::{Case, Instruction},
};

/// Generation that has the instruction of a calculator.
#[derive(Debug, Clone)]
pub struct Generation {
    /// Name for readers, which links to a calculation hold too.
    pub name: String,
    /// Evidence for the features of each of [`REGIMES`] that the arithmetic has, by the regime's name.
    pub evidence: Vec<(&'static str, EvidenceKind)>,
    /// Program, from [`program_json`](super::program_json).
    pub program: String,
}

/// Operands, steps and results whose features decide D, with these features. `always` decides every D.
pub const REGIMES: [(&str, &[&str]); 8] = [
    (
        "always",
        &[
            "products",
            "order",
            "c",
            "alignment",
            "alignment of c",
            "carry bits",
            "normalisation",
            "sums",
            "accumulator",
            "result",
        ],
    ),
    ("floor", &["floor"]),
    ("subnormal A, B", &["subnormal A, B"]),
    ("subnormal C", &["subnormal C"]),
    ("subnormal D", &["subnormal D"]),
    ("overflow", &["product range", "overflow"]),
    ("infinity or NaN", &["infinities", "NaN"]),
    ("zero", &["zero"]),
];

/// Addresses of the three script files, relative to the page.
#[derive(Debug, Clone, Copy)]
pub struct Scripts<'a> {
    /// File with [`EVALUATOR`](super::EVALUATOR).
    pub evaluator: &'a str,
    /// File with the text of [`programs_script`].
    pub programs: &'a str,
    /// File with [`INTERFACE`](super::INTERFACE).
    pub interface: &'a str,
}

/// Text of the script that gives a page its generations; equal programs are written once.
pub fn programs_script(generations: &[Generation]) -> String {
    let mut programs: Vec<&str> = Vec::new();
    let mut number = |program| {
        programs.iter().position(|other| *other == program).unwrap_or_else(|| {
            programs.push(program);
            programs.len() - 1
        })
    };
    let evidence = |generation: &Generation| -> serde_json::Map<String, Value> {
        generation.evidence.iter().map(|(regime, kind)| (regime.to_string(), kind.name().into())).collect()
    };
    let rows: Vec<Value> = generations
        .iter()
        .map(|generation| {
            json!({
                "name": generation.name,
                "evidence": evidence(generation),
                "program": number(&generation.program),
            })
        })
        .collect();
    let (rows, kinds) = (Value::from(rows), json!(EvidenceKind::ALL.map(EvidenceKind::name)));
    format!("tcnum.kinds = {kinds};\ntcnum.generations = {rows};\ntcnum.programs = [\n{}\n];\n", programs.join(",\n"))
}

/// Part of a page that holds the form and loads the scripts.
/// [`INTERFACE`](super::INTERFACE) makes the fields, and fills them with `example`.
/// The first two generations are chosen at first; another choice and other operands are in the address of the page.
pub fn markup(instruction: &Instruction, example: &Case, scripts: &Scripts<'_>) -> Markup {
    html! {
        div.calculator data-example=(json(example)) {
            noscript { p { "The calculator needs JavaScript." } }
            form aria-label="Operands" autocomplete="off" { p { (help(instruction)) } }
            @for file in [scripts.evaluator, scripts.programs, scripts.interface] { script src=(file) { } }
        }
    }
}

/// Example of the form as JSON.
fn json(example: &Case) -> String {
    let codes = |codes: &[u64]| codes.iter().map(|code| format!("{code:#x}")).collect::<Vec<_>>();
    json!({
        "a": codes(&example.a),
        "b": codes(&example.b),
        "c": format!("{:#x}", example.c),
        "positions": example.positions,
        "scale_a": codes(&example.scale_a),
        "scale_b": codes(&example.scale_b),
    })
    .to_string()
}

/// Explanation of the fields.
fn help(i: &Instruction) -> String {
    let sparse = i.chunk().map_or_else(String::new, |chunk| {
        format!(" A stores {} of every {} elements: each chunk has {}.", chunk.kept, chunk.length, chunk.rule())
    });
    let scale_sentence = i.scale.map_or_else(String::new, |scale| {
        format!(" Every {} elements along k share a scale in {}.", scale.block, scale.format)
    });
    let numbers = if i.a.is_integer() { "3, -7" } else { "1.5, 2^-4, 3*2^-2, inf, nan" };
    let code = i.a.encode_f64(1.0, Rounding::Rne, Overflow::Standard).map_or_else(String::new, |code| i.a.hex(code));
    format!(
        "A is {}, B is {}, C is {} and D is {}. Type numbers ({numbers}) or codes ({code} is 1 in A). \
         Elements without a field are 0.{sparse}{scale_sentence}",
        i.a, i.b, i.c, i.d
    )
}
