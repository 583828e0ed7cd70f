//! Tables of models, of their rules, keys and programs, and of the evidence.

use crate::{
    arithmetic::{
        CPosition, Conversion, Evidence, EvidenceKind, EvidenceSource, Join, KEYS, Lanes, Late, Model, NODE_KEYS,
        NodeKey, NodeKind, OppositeInfinities, OverflowTest, Parts, Program, Rounded, Rule, SpecialOperands, Specials,
        Start, Step, Subnormals, Wrap, ZeroSign, ZeroTerms, ZeroTimesInfinity, aliases,
    },
    isa::{self, Instruction},
    report::{Table, counted},
};

crate::rows! {
    /// A model and its coverage of the instruction table.
    pub struct ModelRow in "models" {
        /// Name.
        model: String => shown("model").essential(),
        /// Generation that it describes.
        title: String => shown("arithmetic of").essential(),
        /// Version of the model.
        version: u32 => shown("version"),
        /// Architectures that it describes.
        architectures: Vec<String> => shown("architectures").essential(),
        /// Other names: GPUs, processors, and other names of its architectures.
        aliases: Vec<String> => shown("also called").essential(),
        /// Number of rules.
        rules: usize => shown("rules").essential(),
        /// Instructions of its architectures that it covers.
        instructions: usize => shown("instructions covered").essential(),
        /// Instructions of its architectures.
        of: usize => hidden(),
        /// Rules with measurements as evidence.
        measured: usize => shown("rules measured"),
        /// Rules with recordings as evidence.
        recorded: usize => shown("recorded"),
        /// Rules with specifications as evidence.
        specified: usize => shown("specification"),
        /// Rules with literature as evidence.
        literature: usize => shown("literature"),
        /// Rules with assumed keys.
        assumed: usize => shown("assumed"),
    }

    /// A rule of a model, as a paper would print it.
    pub struct RuleRow in "rules" {
        /// Number in the model.
        rule: usize => shown("rule").essential(),
        /// Patterns of the instructions that it covers.
        instructions: Vec<String> => shown("instructions").essential(),
        /// Instructions of the model's architectures that it covers.
        covered: usize => hidden(),
        /// Kind of step.
        step: String => shown("step").essential(),
        /// Kind of evidence for the step.
        step_evidence: EvidenceKind => hidden().marks("step"),
        /// Code of NaN results.
        nan: Option<String> => shown("NaN"),
        /// Kind of evidence for the NaN.
        nan_evidence: EvidenceKind => hidden().marks("nan"),
        /// Groups of products along k.
        group: String => shown("groups along k").essential(),
        /// Kind of evidence for the groups.
        group_evidence: EvidenceKind => hidden().marks("group"),
        /// Fraction bits that alignment keeps.
        bits: Option<i32> => shown("bits").essential(),
        /// Kind of evidence for the bits.
        bits_evidence: EvidenceKind => hidden().marks("bits"),
        /// Rounding of alignment.
        cut: Option<&'static str> => shown("alignment").essential(),
        /// Kind of evidence for the rounding of alignment.
        cut_evidence: EvidenceKind => hidden().marks("cut"),
        /// Lowest exponent of alignment.
        floor: Option<i32> => shown("floor"),
        /// Kind of evidence for the floor.
        floor_evidence: EvidenceKind => hidden().marks("floor"),
        /// Place of c.
        c: String => shown("c").essential(),
        /// Kind of evidence for the place of c.
        c_evidence: EvidenceKind => hidden().marks("c"),
        /// Format and rounding of results.
        result: String => shown("result").essential(),
        /// Kind of evidence for the result.
        result_evidence: EvidenceKind => hidden().marks("result"),
        /// Treatment of subnormals.
        subnormals: &'static str => shown("subnormals"),
        /// Kind of evidence for the subnormals.
        subnormals_evidence: EvidenceKind => hidden().marks("subnormals"),
        /// Zero of an empty sum.
        zero: &'static str => shown("zero"),
        /// Kind of evidence for the zero.
        zero_evidence: EvidenceKind => hidden().marks("zero"),
    }

    /// A source of a rule. The first source that covers a key counts; a key without source is assumed.
    pub struct EvidenceRow in "evidence" {
        /// Model.
        model: String => shown("model").if_varied().essential(),
        /// Number of the rule.
        rule: usize => shown("rule").if_varied().essential(),
        /// Number of the source in the rule.
        number: usize => hidden(),
        /// Kind of source.
        kind: EvidenceKind => hidden(),
        /// Source with its kind, and its decided, narrowed and open keys.
        evidence: String => shown("source").essential(),
        /// Keys that it decides; keys that the rule leaves out are counted.
        decided: Vec<String> => hidden(),
        /// Keys that it narrows, each with the values that agree with it.
        narrowed: Vec<String> => hidden(),
        /// Keys that it leaves open, and assumed ones.
        open: Vec<String> => hidden(),
        /// Measured or recorded device.
        device: Option<String> => hidden(),
        /// Date of the measurement.
        date: Option<String> => hidden(),
        /// Cases compared for each instruction.
        cases: Option<u64> => hidden(),
        /// Folder of reports or recordings.
        files: Option<String> => hidden(),
        /// Keys that it covers; empty for all.
        keys: Vec<String> => hidden(),
        /// Patterns of the instructions that it covers; empty for all.
        instructions: Vec<String> => hidden(),
        /// Keys that the source leaves open, with the values that agree with it.
        leaves: Option<String> => hidden(),
    }

    /// An operation in the program of an instruction.
    pub struct ProgramRow in "program" {
        /// Instruction.
        instruction: String => shown("instruction").if_varied().essential(),
        /// Name of the value: a, b, c, the number of an operation, or d.
        value: String => shown("value").essential(),
        /// Operation that computes it.
        operation: String => shown("operation").essential(),
    }

    /// A key of tree nodes in model files.
    pub struct NodeKeyRow in "node_keys" {
        /// Key.
        key: &'static str => shown("key").essential(),
        /// Meaning.
        meaning: &'static str => shown("meaning").essential(),
        /// Allowed values.
        values: &'static str => shown("values").essential(),
        /// Kinds of node with this key, or `all`.
        kinds: Vec<&'static str> => shown("kinds"),
        /// True if these kinds require it.
        required: bool => shown("needed"),
    }

    /// A key of rules in model files.
    pub struct KeyRow in "keys" {
        /// Key.
        key: &'static str => shown("key").essential(),
        /// Meaning.
        meaning: &'static str => shown("meaning").essential(),
        /// Allowed values.
        values: &'static str => shown("values").essential(),
        /// Steps with this key, or `all`.
        steps: Vec<&'static str> => shown("steps"),
        /// True if these steps require it.
        required: bool => shown("needed"),
    }
}

/// Makes the table of models.
pub fn models(models: &[Model]) -> Table {
    let row = |model: &Model| {
        let table = instructions(model);
        let rests = |rule: &&Rule, kind| rule.evidence.iter().any(|evidence| evidence.source.kind() == kind);
        let [measured, recorded, specified, literature, assumed] =
            EvidenceKind::ALL.map(|kind| model.rules.iter().filter(|rule| rests(rule, kind)).count());
        ModelRow {
            model: model.name.clone(),
            title: model.title.clone(),
            version: model.version,
            architectures: model.architectures.clone(),
            aliases: aliases(&model.name).into_iter().filter(|alias| !model.architectures.contains(alias)).collect(),
            rules: model.rules.len(),
            instructions: table.iter().filter(|i| model.rule(i).is_some()).count(),
            of: table.len(),
            measured,
            recorded,
            specified,
            literature,
            assumed,
        }
    };
    Table::of("Models (a rule can rest on several kinds of evidence)", models.iter().map(row))
}

/// Makes the tables of a model's rules and of their evidence.
pub fn model(model: &Model) -> [Table; 2] {
    let title = format!("{}: {}, version {}", model.name, model.title, model.version);
    let table = instructions(model);
    let numbered = || model.rules.iter().enumerate().map(|(index, rule)| (index + 1, rule));
    let rules = numbered().map(|(number, rule)| {
        let covered = table.iter().filter(|i| model.rule(i).is_some_and(|first| std::ptr::eq(first, rule))).count();
        row(number, rule, covered)
    });
    [Table::of(title, rules), evidence((0..model.rules.len()).map(|index| (model, index, Vec::new())))]
}

/// Makes the table of the sources of rules, each with the instructions that use it (none: all).
fn evidence<'a>(rules: impl IntoIterator<Item = (&'a Model, usize, Vec<&'a Instruction>)>) -> Table {
    let values = |(key, values): (&String, &String)| format!("{key} {values}");
    let rows = rules.into_iter().flat_map(|(model, index, used)| {
        let concerns = move |evidence: &Evidence| {
            used.is_empty() || used.iter().any(|instruction| evidence.concerns(&instruction.name))
        };
        let rule = &model.rules[index];
        let sources = rule.evidence.iter().enumerate();
        sources.filter(move |(_, evidence)| concerns(evidence)).map(move |(at, evidence)| {
            let (device, date, cases) = match &evidence.source {
                EvidenceSource::Measured { device, date, cases, .. } => (Some(device.clone()), date.clone(), *cases),
                EvidenceSource::Recorded { device, .. } => (device.clone(), None, None),
                _ => (None, None, None),
            };
            let covered = covered(rule, evidence, at == 0);
            let assumed = evidence.source.kind() == EvidenceKind::Assumed;
            let (decided, assumed) = if assumed { (Vec::new(), covered) } else { (covered, Vec::new()) };
            let (open, narrowed): (Vec<_>, Vec<_>) = evidence.leaves.iter().partition(|(_, values)| *values == "any");
            let open = assumed.into_iter().chain(open.into_iter().map(|(key, _)| key.clone())).collect();
            let narrowed = narrowed.into_iter().map(values).collect();
            EvidenceRow {
                model: model.name.clone(),
                rule: index + 1,
                number: at + 1,
                kind: evidence.source.kind(),
                evidence: in_words(evidence, [("decided", &decided), ("narrowed", &narrowed), ("open", &open)]),
                decided,
                narrowed,
                open,
                device,
                date,
                cases,
                files: evidence.source.files().map(str::to_string),
                keys: evidence.keys.clone(),
                instructions: evidence.instructions.clone(),
                leaves: (!evidence.leaves.is_empty()).then(|| {
                    evidence
                        .leaves
                        .iter()
                        .map(|(key, values)| format!("{key}: {values}"))
                        .collect::<Vec<_>>()
                        .join("; ")
                }),
            }
        })
    });
    Table::of(
        "Evidence of the rules (the first source that covers a key counts; keys without source are assumed)",
        rows,
    )
}

/// Most keys that a rule leaves out and a list of covered keys names; more are counted.
const NAMED: usize = 3;

/// Lists the keys of a rule that a source covers; keys that the rule leaves out are counted.
fn covered(rule: &Rule, evidence: &Evidence, first: bool) -> Vec<String> {
    if evidence.keys.is_empty() {
        return vec![if first { "every key" } else { "every other key" }.into()];
    }
    let (keys, absent): (Vec<&String>, Vec<&String>) = evidence.keys.iter().partition(|key| rule.value(key).is_some());
    if absent.len() <= NAMED {
        return evidence.keys.clone();
    }
    let absent = format!("{} absent keys", absent.len());
    keys.into_iter().cloned().chain([absent]).collect()
}

/// Words a source as a list: `literature: Xie et al.; decided: group; open: zero; only in mma.*`.
fn in_words(evidence: &Evidence, keys: [(&str, &Vec<String>); 3]) -> String {
    let files = evidence.source.files().map_or(String::new(), |files| format!(", {files}"));
    let filled = keys.into_iter().filter(|(_, keys)| !keys.is_empty());
    let only = (!evidence.instructions.is_empty()).then(|| format!("only in {}", evidence.instructions.join(", ")));
    let parts = filled.map(|(kind, keys)| format!("{kind}: {}", keys.join(", "))).chain(only);
    [format!("{evidence}{files}")].into_iter().chain(parts).collect::<Vec<_>>().join("; ")
}

/// Makes the table of evidence for the rules by which models compute instructions, each rule once.
pub fn evidence_for<'a>(uses: impl IntoIterator<Item = (&'a Model, &'a Instruction)>) -> Table {
    let mut rules: Vec<(&Model, usize, Vec<&Instruction>)> = Vec::new();
    for (model, instruction) in uses {
        let first = model.rule(instruction);
        let Some(index) = model.rules.iter().position(|rule| first.is_some_and(|first| std::ptr::eq(rule, first)))
        else {
            continue;
        };
        match rules.iter_mut().find(|(of, listed, _)| (&of.name, *listed) == (&model.name, index)) {
            Some((.., used)) => used.push(instruction),
            None => rules.push((model, index, vec![instruction])),
        }
    }
    evidence(rules)
}

/// Describes a model's coverage in a sentence.
pub fn answer_of_model(model: &Model) -> String {
    let table = instructions(model);
    let all = counted(table.len() as u64, "instruction");
    let described = match table.iter().filter(|i| model.rule(i).is_some()).count() {
        covered if covered == table.len() => all,
        covered => format!("{covered} of {all}"),
    };
    let of = match &model.architectures[..] {
        [] => String::new(),
        architectures => format!(" of {}", architectures.join(", ")),
    };
    format!("{} describes {described}{of}, by {}.", model.name, counted(model.rules.len() as u64, "rule"))
}

/// Counts the models in a sentence.
pub fn answer_of_models(models: &[Model]) -> String {
    let architectures = models.iter().map(|model| model.architectures.len()).sum::<usize>();
    format!("{} describe {}.", counted(models.len() as u64, "model"), counted(architectures as u64, "architecture"))
}

/// Counts the operations of programs in a sentence.
pub fn answer_of_programs(programs: &[&Program]) -> String {
    let of = |program: &&Program| {
        let operations = counted(program.lines().len() as u64, "operation");
        format!("{operations} in {}", program.instruction.name)
    };
    format!("One dot-product-add takes {}.", programs.iter().map(of).collect::<Vec<_>>().join(", "))
}

/// Counts the keys in a sentence.
pub fn answer_of_keys() -> String {
    format!("A rule of a model file has up to {} keys, a node of a tree up to {}.", KEYS.len(), NODE_KEYS.len())
}

/// Makes the table of the operations of programs.
pub fn programs(programs: &[&Program]) -> Table {
    let rows = programs.iter().flat_map(|program| {
        let instruction = program.instruction.name.clone();
        program.lines().into_iter().map(move |(value, operation)| ProgramRow {
            instruction: instruction.clone(),
            value,
            operation,
        })
    });
    Table::of("Program of one dot-product-add", rows)
}

/// Makes the table of the keys of tree nodes.
pub fn node_keys() -> Table {
    let row = |key: &NodeKey| NodeKeyRow {
        key: key.name,
        meaning: key.meaning,
        values: key.values,
        kinds: match key.variants.len() == NodeKind::ALL.len() {
            true => vec!["all"],
            false => key.variants.iter().map(|kind| kind.name()).collect(),
        },
        required: key.required,
    };
    Table::of("Keys of a node of a tree, in the order of the computation", NODE_KEYS.iter().map(row))
}

/// Makes the table of the keys of rules.
pub fn keys() -> Table {
    let steps = |steps: &[Step]| match steps.len() == Step::ALL.len() {
        true => vec!["all"],
        false => steps.iter().map(|step| step.name()).collect(),
    };
    let row = |key: &crate::arithmetic::RuleKey| KeyRow {
        key: key.name,
        meaning: key.meaning,
        values: key.values,
        steps: steps(key.variants),
        required: key.required,
    };
    Table::of("Keys of a rule, in the order of the computation", KEYS.iter().map(row))
}

/// The instructions of a model's architectures, or without architectures those that it covers.
fn instructions(model: &Model) -> Vec<&'static Instruction> {
    let here = |i: &&Instruction| match model.architectures.is_empty() {
        true => model.rule(i).is_some(),
        false => model.has(i.support),
    };
    isa::all().iter().filter(here).collect()
}

fn row(number: usize, rule: &Rule, covered: usize) -> RuleRow {
    let alignment = rule.alignment.as_ref();
    let evidence = |keys: &[&str]| rule.grounds(None, keys).kind;
    RuleRow {
        rule: number,
        instructions: rule.instructions.clone(),
        covered,
        step: step(rule),
        step_evidence: evidence(&[
            "step",
            "product",
            "product-limit",
            "product-bits",
            "normalised",
            "specials",
            "overflow-test",
            "special-operands",
            "special-c",
            "zero-times-infinity",
            "opposite-infinities",
            "zero-terms",
            "start",
            "wrap",
        ]),
        nan: rule.nan.map(|code| format!("{code:#x}")),
        nan_evidence: evidence(&["nan", "nan-operands"]),
        group: groups(rule),
        group_evidence: evidence(&["group", "parts", "scale-sums", "lanes", "join"]),
        bits: alignment.map(|a| a.bits),
        bits_evidence: evidence(&["alignment.bits"]),
        cut: alignment.map(|a| a.rounding.name()),
        cut_evidence: evidence(&["alignment.rounding"]),
        floor: alignment.and_then(|a| a.floor),
        floor_evidence: evidence(&["alignment.floor"]),
        c: c(rule),
        c_evidence: evidence(&["c", "late", "unpack-c", "unpack"]),
        result: results(rule),
        result_evidence: evidence(&["result.rounding", "result.format", "between", "addition", "output"]),
        subnormals: subnormals(rule),
        subnormals_evidence: evidence(&["operand-subnormals", "c-subnormals"]).max(evidence(&["result-subnormals"])),
        zero: zero(rule),
        zero_evidence: evidence(&["zero"]),
    }
}

fn step(rule: &Rule) -> String {
    let mut words = vec![match rule.step {
        Step::Tree => format!("tree of {} nodes", rule.nodes.len()),
        step => step.name().to_string(),
    }];
    words.extend(rule.product.map(|to| format!("products {}", rounded(&to))));
    words.extend(rule.product_limit.map(|limit| format!("products from 2^{limit} infinite")));
    words.extend(rule.product_bits.map(|bits| format!("products cut at {bits} bits")));
    words.extend((rule.normalised == Some(true)).then(|| "products normalised".into()));
    words.extend((rule.start == Start::Product).then(|| "from the first product".into()));
    words.extend((rule.specials == Specials::Operands).then(|| "infinities and NaN from operands".into()));
    let exact = rule.overflow_test == OverflowTest::Exact;
    words.extend(exact.then(|| "overflow before rounding".into()));
    words.extend(special_values(rule));
    words.extend((rule.zero_terms != ZeroTerms::Ignored).then(|| format!("zeros aligned: {}", rule.zero_terms.name())));
    words.extend(rule.wrap.map(|wrap| if wrap == Wrap::Wrap { "wraps" } else { "saturates" }.into()));
    words.join(", ")
}

/// Treatments of infinities and NaNs that differ from IEEE 754.
fn special_values(rule: &Rule) -> Vec<String> {
    let mut words = Vec::new();
    for (specials, operands) in [(Some(rule.special_operands), "a, b"), (rule.special_c, "c")] {
        words.extend(match specials.unwrap_or_default() {
            SpecialOperands::Keep => None,
            SpecialOperands::Nan => Some(format!("infinite {operands} as NaN")),
            SpecialOperands::Finite => Some(format!("infinite and NaN {operands} as numbers")),
        });
    }
    let (product, sum) = (rule.zero_times_infinity, rule.opposite_infinities);
    words.extend((product != ZeroTimesInfinity::Nan).then(|| format!("infinity * 0 = {}", product.name())));
    words.extend((sum != OppositeInfinities::Nan).then(|| format!("infinity - infinity = {} infinity", sum.name())));
    words
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
    words.extend(rule.output.map(|Conversion { rounding, random_bits, .. }| {
        let random = random_bits.map_or_else(String::new, |bits| format!(" with {bits} random bits"));
        format!("then D {}{random}", rounding.name())
    }));
    if words.is_empty() { "-".into() } else { words.join(", ") }
}

fn rounded(to: &Rounded) -> String {
    format!("{} {}", to.format, to.rounding.name())
}

fn subnormals(rule: &Rule) -> &'static str {
    let flushed = |subnormals| subnormals != Subnormals::Keep;
    let c = rule.c_subnormals.unwrap_or(rule.operand_subnormals);
    match (flushed(rule.operand_subnormals), flushed(rule.result_subnormals)) {
        _ if rule.step == Step::Integer => "-",
        _ if flushed(c) != flushed(rule.operand_subnormals) => "c apart",
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
        (Step::Fused | Step::Exact, ZeroSign::ExactPositive) => "exact +0",
        (Step::Fused | Step::Exact, ZeroSign::Common) => "common",
        _ => "IEEE",
    }
}
