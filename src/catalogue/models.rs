//! Models of arithmetic in tables, like those of papers: a row for each model, for each rule of one, for each key.

use crate::{
    arithmetic::{
        CPosition, Conversion, Join, KEYS, Lanes, Late, Model, Parts, Rounded, Rule, Start, Step, Subnormals, Wrap,
        ZeroSign,
    },
    isa::{self, Instruction},
    report::{Cell, Column, Table},
};

/// The kinds of evidence, as the evidence of a rule names them before a colon.
pub const EVIDENCE: [&str; 4] = ["measured", "recorded", "literature", "assumed"];

/// A row for each model: what it describes, and how much of the instruction table.
pub fn models(models: &[Model]) -> Table {
    let columns = vec![
        Column::new("model", "model"),
        Column::new("title", "arithmetic of"),
        Column::new("version", "version"),
        Column::new("architectures", "architectures"),
        Column::new("rules", "rules"),
        Column::new("instructions", "instructions covered"),
        Column::hidden("of"),
        Column::new("measured", "rules measured"),
        Column::new("recorded", "recorded"),
        Column::new("literature", "literature"),
        Column::new("assumed", "assumed"),
    ];
    let row = |model: &Model| {
        let table = instructions(model);
        let mut row: Vec<Cell> = vec![
            model.name.as_str().into(),
            model.title.as_str().into(),
            model.version.into(),
            model.architectures.clone().into(),
            model.rules.len().into(),
            table.iter().filter(|i| model.rule(i).is_some()).count().into(),
            table.len().into(),
        ];
        row.extend(EVIDENCE.map(|kind| model.rules.iter().filter(|rule| mentions(rule, kind)).count().into()));
        row
    };
    let title = "Models (a rule can rest on several kinds of evidence)";
    Table { rows: models.iter().map(row).collect(), ..Table::new("models", title, columns) }
}

/// The rules of a model, as a paper would print them, and the evidence for each.
pub fn model(model: &Model) -> [Table; 2] {
    let columns = vec![
        Column::new("rule", "rule"),
        Column::new("instructions", "instructions"),
        Column::hidden("covered"),
        Column::new("step", "step"),
        Column::new("nan", "NaN"),
        Column::new("group", "groups along k"),
        Column::new("bits", "bits"),
        Column::new("cut", "cut"),
        Column::new("floor", "floor"),
        Column::new("c", "c"),
        Column::new("result", "result"),
        Column::new("subnormals", "subnormals"),
        Column::new("zero", "zero"),
    ];
    let title = format!("{}: {}, version {}", model.name, model.title, model.version);
    let mut rules = Table::new("rules", title, columns);
    let columns = vec![Column::new("rule", "rule"), Column::new("evidence", "evidence")];
    let mut evidence = Table::new("evidence", "Evidence", columns);
    let table = instructions(model);
    for (index, rule) in model.rules.iter().enumerate() {
        let number = Cell::from(index + 1);
        let covered = table.iter().filter(|i| model.rule(i).is_some_and(|first| std::ptr::eq(first, rule))).count();
        let mut row = vec![number.clone(), rule.instructions.clone().into(), covered.into()];
        row.extend(arithmetic(rule));
        rules.rows.push(row);
        evidence.rows.push(vec![number, rule.evidence.as_str().into()]);
    }
    [rules, evidence]
}

/// A row for each key of a rule.
pub fn keys() -> Table {
    let columns = vec![
        Column::new("key", "key"),
        Column::new("meaning", "meaning"),
        Column::new("values", "values"),
        Column::new("steps", "steps"),
        Column::new("required", "needed"),
    ];
    let steps = |steps: &[Step]| match steps.len() == Step::ALL.len() {
        true => Cell::from("all"),
        false => steps.iter().map(|step| step.name()).collect::<Vec<_>>().into(),
    };
    let row = |key: &crate::arithmetic::Key| {
        vec![key.name.into(), key.meaning.into(), key.values.into(), steps(key.steps), key.required.into()]
    };
    Table {
        rows: KEYS.iter().map(row).collect(),
        ..Table::new("keys", "Keys of a rule, in the order of the computation", columns)
    }
}

/// The instructions of the table that a model's architectures have; of a model that names none, those that it covers.
fn instructions(model: &Model) -> Vec<&'static Instruction> {
    let here = |i: &&Instruction| match model.architectures.is_empty() {
        true => model.rule(i).is_some(),
        false => model.has(i.support),
    };
    isa::all().iter().filter(here).collect()
}

fn mentions(rule: &Rule, kind: &str) -> bool {
    rule.evidence
        .split("; ")
        .any(|part| part.strip_prefix(kind).is_some_and(|rest| rest.is_empty() || rest.starts_with(':')))
}

/// Step, NaN, groups, alignment, c, result, subnormals and zero.
fn arithmetic(rule: &Rule) -> [Cell; 10] {
    let alignment = rule.alignment.as_ref();
    [
        step(rule).into(),
        rule.nan.map(|code| format!("{code:#x}")).into(),
        groups(rule).into(),
        alignment.map(|a| a.bits).into(),
        alignment.map(|a| a.rounding.name()).into(),
        alignment.and_then(|a| a.floor).into(),
        c(rule).into(),
        results(rule).into(),
        subnormals(rule).into(),
        zero(rule).into(),
    ]
}

fn step(rule: &Rule) -> String {
    let mut words = vec![rule.step.name().to_string()];
    words.extend(rule.product.map(|to| format!("products {}", rounded(&to))));
    words.extend(rule.product_limit.map(|limit| format!("products from 2^{limit} infinite")));
    words.extend((rule.normalised == Some(true)).then(|| "products normalised".into()));
    words.extend((rule.start == Start::Product).then(|| "from the first product".into()));
    words.extend(rule.wrap.map(|wrap| if wrap == Wrap::Wrap { "wraps" } else { "saturates" }.into()));
    words.join(", ")
}

fn groups(rule: &Rule) -> String {
    let mut words = Vec::new();
    if let Some(Parts { period, residues }) = &rule.parts {
        let of = |part: &Vec<usize>| part.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        words.push(format!("k mod {period}: {}", residues.iter().map(of).collect::<Vec<_>>().join(", then ")));
    }
    words.push(rule.group.map_or("all".into(), |group| group.to_string()));
    words.extend(rule.scale_sums.map(|sums| format!("sums of {sums} scaled")));
    if let Some(Lanes { period, bits, rounding }) = &rule.lanes {
        words.push(format!("lanes by k mod {period} joined at {bits} bits {}", rounding.name()));
    }
    words.extend((rule.join == Join::Add).then(|| "groups added in order".into()));
    words.join(", ")
}

fn c(rule: &Rule) -> String {
    let mut words = vec![match (rule.c, rule.step, &rule.late) {
        (CPosition::Last, ..) => "last".to_string(),
        (_, Step::Integer, _) => "a term".into(),
        (_, Step::Fused | Step::Exact, None) if rule.join == Join::Chain => "a term".into(),
        (_, _, Some(late)) => late_c(late),
        _ => "first".into(),
    }];
    words.extend(rule.unpack_c.map(|to| format!("as {to}")));
    words.extend(rule.unpack.map(|to| format!("A and B as {to}")));
    words.join(", ")
}

fn late_c(late: &Late) -> String {
    let mut words = vec![format!("late: sum at {}, c at {} bits {}", late.sum_bits, late.c_bits, late.rounding.name())];
    words.extend(late.floor.map(|floor| format!("floor {floor}")));
    words.extend(late.drop.map(|drop| format!("none from {} below", drop + 1)));
    words.join(", ")
}

fn results(rule: &Rule) -> String {
    let mut words: Vec<String> = rule.result.iter().map(rounded).collect();
    words.extend(rule.between.map(|to| format!("between groups {}", rounded(&to))));
    words.extend(rule.addition.map(|to| format!("additions {}", rounded(&to))));
    words.extend(rule.output.map(|Conversion { rounding, .. }| format!("then D {}", rounding.name())));
    if words.is_empty() { "-".into() } else { words.join(", ") }
}

fn rounded(to: &Rounded) -> String {
    format!("{} {}", to.format, to.rounding.name())
}

fn subnormals(rule: &Rule) -> &'static str {
    let flushed = |subnormals| subnormals != Subnormals::Keep;
    match (flushed(rule.operand_subnormals), flushed(rule.result_subnormals)) {
        _ if rule.step == Step::Integer => "-",
        (false, false) => "kept",
        (true, true) => "flushed",
        (true, false) => "operands flushed",
        (false, true) => "results flushed",
    }
}

fn zero(rule: &Rule) -> &'static str {
    match (rule.step, rule.zero.unwrap_or_default()) {
        (Step::Integer, _) => "-",
        (Step::Fused | Step::Exact, ZeroSign::Positive) => "+0",
        (Step::Fused | Step::Exact, ZeroSign::Negative) => "-0",
        _ => "IEEE",
    }
}
