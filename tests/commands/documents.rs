//! The pages for people: what they say of models and reports is what models and reports say.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use crate::machine::thorough;
use serde_json::Value;
use tcnum::{
    arithmetic::{CPosition, Model, Rule, Step, Wrap},
    format::{Format, Rounding},
    isa::{self, Instruction},
};
use tcnum_engine::{
    rule::{ChangeVerdict, RefutingData, Tested, refute},
    trace::Trace,
};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text(path: &str) -> String {
    fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Compares what stands between two marks of a page with what is generated, or with `TCNUM_WRITE_SNAPSHOTS` set writes it
/// anew, to be read before it is committed.
fn hold_section(path: &str, section: &str, generated: &str) {
    let (begin, end) = (format!("<!-- begin: {section} -->\n"), format!("<!-- end: {section} -->\n"));
    let page = text(path);
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{path} has no {begin}"));
    let (now, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{path} has no {end}"));
    if std::env::var_os("TCNUM_WRITE_SNAPSHOTS").is_some() {
        fs::write(repository(path), [before, &begin, generated, &end, after].concat()).unwrap();
    } else {
        assert!(now == generated, "{path}, {section}: set TCNUM_WRITE_SNAPSHOTS and run this test again");
    }
}

/// What the H200 ran: the rows of the report on every instruction, by name.
fn every_instruction_of_the_h200() -> Vec<Value> {
    let report: Value = serde_json::from_str(&text("reports/h200/verify/all.json")).unwrap();
    report["tables"]["verification"].as_array().unwrap().clone()
}

/// The mnemonics of the machine instructions of a row: `HMMA` of `2x HMMA.16816.F32(C=prev)`.
fn mnemonics(row: &Value) -> impl Iterator<Item = String> {
    row["opcodes"].as_array().unwrap().iter().map(|opcode| {
        let opcode = opcode.as_str().unwrap();
        let name = opcode.split_once("x ").map_or(opcode, |(_, name)| name);
        name.split(['.', '(']).next().unwrap().to_string()
    })
}

/// How an instruction without a machine instruction of its own is executed.
fn emulation(how: &str) -> &'static str {
    match how {
        "convert" => "emulated with conversions",
        "split-mn" => "emulated as two smaller ones",
        "split-mnk" => "emulated as four smaller ones, two along k",
        "software" => "emulated without a matrix unit",
        _ => panic!("no words for the emulation '{how}'"),
    }
}

fn precision(format: &Format) -> String {
    match format.name {
        "e8m13" => "f32 with 13 fraction bits (e8m13)".into(),
        name => name.into(),
    }
}

fn rounded(rounding: Rounding) -> &'static str {
    match rounding {
        Rounding::Rne => "rounded to nearest",
        Rounding::Rz => "truncated",
        Rounding::Ru => "rounded up",
        Rounding::Rd => "rounded down",
        _ => panic!("no words for the rounding"),
    }
}

/// Bits kept, how a step is rounded, the accumulator in effect, and the answer, for an instruction under its rule.
fn arithmetic(i: &Instruction, rule: &Rule) -> [String; 4] {
    let d = i.d.name;
    if rule.step == Step::Integer {
        let beyond = if rule.wrap == Some(Wrap::Wrap) { "wraps" } else { "saturates" };
        return [
            "all".into(),
            format!("exact, {beyond}"),
            format!("{}-bit integer", i.d.bits),
            format!("integers: the sum is exact, and {beyond} beyond the range of {d}"),
        ];
    }
    let result = rule.result.expect("every other step has one");
    let (format, how) = (result.format.name, rounded(result.rounding));
    let mut steps = format!("{}, {how}", precision(result.format));
    if let (CPosition::Last, Some(addition)) = (rule.c, rule.addition) {
        write!(steps, "; c is added in {}, {}", addition.format.name, rounded(addition.rounding)).unwrap();
    }
    let converted = i.d.name != format && rule.alignment.is_none() || rule.output.is_some();
    if converted {
        write!(steps, "; D to {d}, {}", rounded(rule.output.map_or(Rounding::Rne, |output| output.rounding))).unwrap();
    }
    let accumulator = format!("{}-bit significand", result.format.float().expect("a result is one").precision());
    match (rule.step, &rule.alignment) {
        (Step::Fma, None) => {
            let yes = if format == "f32" { "**yes**".into() } else { format!("**yes, in {format}**") };
            let mut answer = format!("{yes}: each step is an IEEE {format} operation, {how}");
            if rule.c == CPosition::Last {
                answer.push_str("; c is added last");
            }
            if converted {
                write!(answer, "; D is rounded to {d} at the end").unwrap();
            }
            ["all: nothing is aligned".into(), steps, accumulator, answer]
        }
        (Step::Fused, Some(alignment)) => {
            let cut = format!("{}, {}", alignment.bits, rounded(alignment.rounding));
            let (sum, to) = (format!("{}-bit aligned sum", alignment.bits), precision(result.format));
            let answer = match (rule.c, rule.parts.is_some()) {
                (CPosition::Last, true) if d == "f32" => {
                    format!(
                        "**in part**: two chained steps, each a {sum} {how} to {to}; only c is added as IEEE f32 does"
                    )
                }
                (CPosition::Last, true) => {
                    format!("no, {d}: two chained steps, each a {sum} {how} to {to}; c is added in {d}")
                }
                _ if format == d || format == "e8m13" || !converted => {
                    let prefix = if d == "f32" { "**no**".into() } else { format!("no, {d}") };
                    format!("{prefix}: each step is a {sum} {how} to {to}")
                }
                _ => format!("**no**: a {sum} {how} to {to}; D is rounded to {d} at the end"),
            };
            let answer = match rule.unpack_c {
                Some(wider) => format!("{answer}; c is converted to {wider} first"),
                None => answer,
            };
            [cut, steps, accumulator, answer]
        }
        _ => panic!("no words for the arithmetic of {}", i.name),
    }
}

/// How many products one step sums.
fn products(i: &Instruction, rule: &Rule) -> usize {
    let parts = rule.parts.as_ref().map_or(1, |parts| parts.residues.len());
    match rule.step {
        Step::Fma => 1,
        _ => (i.stored_k() / parts).min(rule.group.unwrap_or(usize::MAX)),
    }
}

/// Names as patterns: the family, the shape, D, A and B, C, and what follows; one of these may differ within a pattern.
fn patterns(names: &[&str]) -> Vec<String> {
    let parsed = names.iter().map(|name| {
        let fields: Vec<&str> = name.split('.').collect();
        let shape =
            fields.iter().position(|f| f.starts_with('m') && f[1..].starts_with(|c: char| c.is_ascii_digit())).unwrap();
        let formats = if name.starts_with("wgmma") { 3 } else { 4 };
        let (formats, rest) = fields[shape + 1..].split_at(formats);
        let qualifiers: String = rest.iter().map(|q| format!(".{q}")).collect();
        let c = formats.get(3).map_or(String::new(), |c| c.to_string());
        let fields = [
            fields[..shape].join("."),
            fields[shape].into(),
            formats[0].into(),
            formats[1..3].join("."),
            c,
            qualifiers,
        ];
        fields.map(|field| vec![field])
    });
    let mut merged: Vec<[Vec<String>; 6]> = parsed.collect();
    for place in [5, 1, 3, 4, 2, 0] {
        let mut next: Vec<[Vec<String>; 6]> = Vec::new();
        for one in merged {
            let alike = |other: &&mut [Vec<String>; 6]| (0..6).all(|at| at == place || one[at] == other[at]);
            match next.iter_mut().find(alike) {
                Some(other) => other[place].extend(one[place].iter().cloned()),
                None => next.push(one),
            }
        }
        merged = next;
    }
    let shown = |fields: &[Vec<String>; 6]| {
        let [family, shape, d, operands, c, rest] = fields;
        let c = if c[0].is_empty() { String::new() } else { format!(".{}", choice(c)) };
        let mut rest = rest.clone();
        rest.sort();
        format!("{}.{}.{}.{}{c}{}", choice(family), choice(shape), choice(d), pairs(operands), choice(&rest))
    };
    merged.iter().map(shown).collect()
}

/// `x` of one choice, `m16n8k{8,16}` of several.
fn choice(choices: &[String]) -> String {
    let [first, others @ ..] = choices else { unreachable!("a field has a value") };
    if others.is_empty() {
        return first.clone();
    }
    let common =
        (0..first.len()).take_while(|&at| others.iter().all(|o| o.as_bytes().get(at) == Some(&first.as_bytes()[at])));
    let mut common = common.count();
    // Only shapes are cut, before a number.
    while !first[..common].ends_with('k') && common > 0 {
        common -= 1;
    }
    let ends: Vec<&str> = choices.iter().map(|c| &c[common..]).collect();
    format!("{}{{{}}}", &first[..common], ends.join(","))
}

/// Pairs of formats, A and B: as two choices where all combinations are there.
fn pairs(choices: &[String]) -> String {
    let mut sides: [Vec<String>; 2] = Default::default();
    for pair in choices {
        let (a, b) = pair.split_once('.').unwrap();
        for (side, format) in sides.iter_mut().zip([a, b]) {
            if !side.iter().any(|known| known == format) {
                side.push(format.into());
            }
        }
    }
    match sides[0].len() * sides[1].len() == choices.len() {
        true => format!("{}.{}", choice(&sides[0]), choice(&sides[1])),
        false => choice(choices),
    }
}

/// The table that answers, for every instruction of the H200, whether its accumulation is f32's.
fn accumulation_table() -> String {
    let model = Model::load("hopper").unwrap();
    let rows = every_instruction_of_the_h200();
    #[derive(Default)]
    struct Group {
        first: usize,
        names: Vec<String>,
        products: BTreeSet<usize>,
        mnemonics: Vec<String>,
    }
    let mut groups: BTreeMap<(String, [String; 4]), Group> = BTreeMap::new();
    for row in &rows {
        let name = row["instruction"].as_str().unwrap();
        let i = isa::find(name).unwrap();
        let rule = model.rule(&i).unwrap();
        let support = i.support_on("sm_90a").unwrap();
        let native = row["execution"] == "native";
        assert_eq!(native, support.emulation.is_none(), "{name}: targets/sm_90a.toml and the machine code that ran");
        assert_eq!(row["differing"], 0, "{name}");
        let ran = support.emulation.map_or("native", emulation).to_string();
        let next = groups.len();
        let group = groups.entry((ran, arithmetic(&i, rule))).or_insert(Group { first: next, ..Group::default() });
        group.names.push(name.into());
        group.products.insert(products(&i, rule));
        for mnemonic in mnemonics(row) {
            if !group.mnemonics.contains(&mnemonic) {
                group.mnemonics.push(mnemonic);
            }
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    // What is asked about first: f32 results, then f16, f64 and integers; native before emulated.
    let order = |name: &str| {
        let d = isa::find(name).unwrap().d.name;
        ["f32", "f16", "f64", "s32"].iter().position(|known| *known == d)
    };
    groups.sort_by_key(|((ran, _), group)| (order(&group.names[0]), ran != "native", group.first));
    let mut table = String::from(
        "| instructions | of them | ran as | products a step | bits after the point | a step's result | accumulator in effect \
         | is the accumulation f32? |\n| --- | ---: | --- | --- | --- | --- | --- | --- |\n",
    );
    for ((ran, [bits, steps, accumulator, answer]), group) in &groups {
        let names: Vec<&str> = group.names.iter().map(String::as_str).collect();
        let instructions: Vec<String> = patterns(&names).iter().map(|pattern| format!("`{pattern}`")).collect();
        let products: Vec<String> = group.products.iter().map(usize::to_string).collect();
        let mnemonics: Vec<String> = group.mnemonics.iter().map(|name| format!("`{name}`")).collect();
        writeln!(
            table,
            "| {} | {} | {ran}: {} | {} | {bits} | {steps} | {accumulator} | {answer} |",
            instructions.join("<br>"),
            names.len(),
            mnemonics.join(", "),
            products.join(", "),
        )
        .unwrap();
    }
    let covered: usize = groups.iter().map(|(_, group)| group.names.len()).sum();
    writeln!(table, "| all | {covered} | | | | | | |").unwrap();
    table
}

#[test]
fn the_table_of_accumulations_follows_from_the_model_and_from_what_the_h200_ran() {
    hold_section("docs/findings-h200.md", "accumulation", &accumulation_table());
}

/// Cases of the kept runs of processors that are looked through for changes of rules: their first ones.
const FIRST_CASES: u64 = 1 << 17;

/// The kept runs of processors, by what they are called; the first cases of all of them are the same.
const PROCESSORS: [(&str, &str); 2] = [("Zen 5", "zen5"), ("Emerald Rapids", "sapphire-rapids")];

/// Whether the kept run of the processor in this folder is of the instruction, and began with the first cases of seed 0.
fn ran(folder: &str, i: &Instruction) -> bool {
    let report: Value = serde_json::from_str(&text(&format!("reports/cpu/{folder}/verify.json"))).unwrap();
    let rows = report["tables"]["verification"].as_array().unwrap();
    let Some(row) = rows.iter().find(|row| row["instruction"] == i.name) else { return false };
    assert_eq!((&row["seed"], &row["differing"], &row["finished"]), (&"0".into(), &0.into(), &true.into()), "{i}");
    assert!(row["compared"].as_u64().unwrap() >= FIRST_CASES, "{i}");
    true
}

/// The changes that data leave open: `key`: value, value.
fn left_open(tested: &Tested) -> String {
    let mut open: Vec<(&str, Vec<String>)> = Vec::new();
    for (change, _) in tested.changes.iter().filter(|(_, verdict)| *verdict == ChangeVerdict::Survives) {
        match open.iter_mut().find(|(key, _)| *key == change.key) {
            Some((_, values)) => values.push(change.to()),
            None => open.push((&change.key, vec![change.to()])),
        }
    }
    let open: Vec<String> = open.iter().map(|(key, values)| format!("`{key}`: {}", values.join("; "))).collect();
    if open.is_empty() { "nothing".into() } else { open.join("<br>") }
}

/// What the kept runs of processors and the recordings decide of the rules of every `step`th instruction that was run.
fn power_table(step: usize) -> String {
    let model = Model::load("x86").unwrap();
    let mut recorded: BTreeMap<String, Vec<RefutingData>> = BTreeMap::new();
    for file in files_under("tests/recordings/cpu").iter().filter(|file| file.ends_with(".safetensors")) {
        let trace = Trace::read(&repository("tests/recordings/cpu").join(file)).unwrap();
        let name = trace.instruction.name.clone();
        recorded.entry(name).or_default().push(RefutingData::recorded(file, trace));
    }
    let mut table = String::from(
        "| instruction | runs on | changes of its rule | no operands show | found | the last after | the runs' first cases leave \
         open | the recordings leave open |\n| --- | --- | ---: | ---: | ---: | ---: | --- | --- |\n",
    );
    let on = |i| PROCESSORS.iter().filter(|(_, folder)| ran(folder, i)).map(|(name, _)| *name).collect::<Vec<_>>();
    let instructions = isa::all().iter().filter(|i| model.rule(i).is_some()).map(|i| (i, on(i)));
    for (i, runs) in instructions.filter(|(_, runs)| !runs.is_empty()).step_by(step) {
        let decided = |sources: &[RefutingData]| {
            let mut tested = Vec::new();
            refute(&model, sources, &mut tested, &mut |_| ()).unwrap();
            tested.remove(0)
        };
        let run = decided(&[RefutingData::stream(i, 0, FIRST_CASES)]);
        let recordings = decided(&recorded[&i.name]);
        assert_eq!((run.refuted, recordings.refuted), (None, None), "{i}");
        let count = |wanted: fn(&ChangeVerdict) -> bool| run.changes.iter().filter(|(_, v)| wanted(v)).count();
        let case = |verdict: &ChangeVerdict| match verdict {
            ChangeVerdict::Refuted(place) => Some(place.case),
            _ => None,
        };
        writeln!(
            table,
            "| `{i}` | {} | {} | {} | {} | {} | {} | {} |",
            runs.join(", "),
            run.changes.len(),
            count(|verdict| matches!(verdict, ChangeVerdict::CannotBeObserved(_))),
            count(|verdict| matches!(verdict, ChangeVerdict::Refuted(_))),
            run.changes.iter().filter_map(|(_, verdict)| case(verdict)).max().unwrap(),
            left_open(&run),
            left_open(&recordings),
        )
        .unwrap();
    }
    table
}

#[test]
fn the_table_of_what_processors_decide_follows_from_the_runs_and_the_recordings() {
    let complete = thorough() || std::env::var_os("TCNUM_WRITE_SNAPSHOTS").is_some();
    let rows = power_table(if complete { 1 } else { 48 });
    if complete {
        return hold_section("docs/findings-x86.md", "power", &rows);
    }
    let page = text("docs/findings-x86.md");
    for row in rows.lines() {
        assert!(page.lines().any(|line| line == row), "docs/findings-x86.md, power: {row}");
    }
}

/// The files under a folder of the repository, by their paths from it.
fn files_under(folder: &str) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    let mut folders = vec![repository(folder)];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    files.insert(path.strip_prefix(repository(folder)).unwrap().to_str().unwrap().to_string());
                }
            }
        }
    }
    files
}

/// The targets of a page's links that are not on the web, without what follows a `#`.
fn links(page: &str) -> Vec<&str> {
    let targets = page.split("](").skip(1).map(|rest| rest.split(')').next().unwrap().split('#').next().unwrap());
    targets.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

#[test]
fn the_index_of_reports_has_every_report_with_its_own_command_device_and_date() {
    let index = text("reports/README.md");
    let mut reports = files_under("reports");
    assert!(reports.remove("README.md"));
    let named: Vec<&str> = links(&index).into_iter().filter(|target| !target.starts_with("..")).collect();
    let distinct: BTreeSet<String> = named.iter().map(|name| name.to_string()).collect();
    assert_eq!(distinct, reports, "reports/README.md and the files under reports/");
    assert_eq!(distinct.len(), named.len(), "a report stands twice in reports/README.md");
    let mut checked = 0;
    for name in reports.iter().filter(|name| name.ends_with(".json")) {
        let report: Value = serde_json::from_str(&text(&format!("reports/{name}"))).unwrap();
        let row = index.lines().find(|line| line.contains(&format!("]({name})"))).unwrap();
        // The command without what only says where the report goes.
        let mut command = Vec::new();
        let mut words = report["invocation"].as_str().unwrap().split(' ');
        while let Some(word) = words.next() {
            match word {
                "--note" | "--output" | "--out" | "--also" => {
                    let quoted = words.next().is_some_and(|value| value.starts_with('\'') && !value.ends_with('\''));
                    let _ = quoted && words.any(|word| word.ends_with('\''));
                }
                "-q" | "--quiet" => (),
                _ => command.push(word),
            }
        }
        let command = format!("`{}`", command.join(" "));
        assert!(row.contains(&command), "{name}: its row lacks {command}");
        let device = match name.split('/').collect::<Vec<_>>()[..] {
            ["h200", ..] => "NVIDIA H200",
            ["h100", ..] => "NVIDIA H100 80GB HBM3",
            ["arm", ..] => "FPCR.DN = 1",
            ["cpu", "zen5", _] => "AMD EPYC (AuthenticAMD 26.2.1)",
            ["cpu", "sapphire-rapids", _] => "Intel(R) Xeon(R) Processor (GenuineIntel 6.207.2)",
            ["generations", ..] => "simulated",
            _ => "NVIDIA Hopper (H100, H200), simulated",
        };
        // A report on several devices has them in a table; where models are told apart no device is at work.
        // Captures name the GPU in a note.
        let captured = report["notes"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|note| note.to_string().contains(&format!("gpu {device}")));
        if captured {
            checked += 1;
            continue;
        }
        let described = report["device"]["description"].as_str();
        let several = described.is_none() && report["tables"]["devices"].as_array().is_some_and(|rows| rows.len() > 1);
        assert!(several || described.is_none_or(|description| description.ends_with(device)), "{name}");
        assert!(several || described.is_some() || report["command"] == "distinguish", "{name}");
        if let Some(date) = report["annotations"]["date"].as_str() {
            assert!(row.contains(date), "{name}: its row lacks {date}");
        }
        checked += 1;
    }
    assert!(checked > 0);
}

#[test]
fn links_between_pages_lead_to_files() {
    let folders = ["docs", "experiments", "models", "reports", "src", "targets", "tests"];
    let below = folders.into_iter().flat_map(|folder| {
        files_under(folder).into_iter().filter(|name| name.ends_with(".md")).map(move |name| format!("{folder}/{name}"))
    });
    for page in below.chain(["README.md", "CONTRIBUTING.md"].map(String::from)) {
        let folder = repository(&page).parent().unwrap().to_path_buf();
        let text = text(&page);
        let broken: Vec<&str> = links(&text).into_iter().filter(|target| !folder.join(target).exists()).collect();
        assert!(broken.is_empty(), "{page}: {broken:?}");
    }
}

#[test]
fn the_readme_is_short() {
    assert!(text("README.md").lines().count() <= 200);
}
