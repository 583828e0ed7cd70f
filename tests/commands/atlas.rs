//! The site of `tcnum atlas`: its links, its bytes, its folder, and what an interruption leaves.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
    rc::Rc,
};

use serde_json::Value;
use tcnum::{Interruption, interruptible, verbs};

use crate::{
    machine::{Need, has_tool},
    program::{Run, tcnum, validate_report},
};

/// Models and instructions with several arithmetics, a scale, sparsity, integers and terms that are exclusive ors.
const SUBSET: [&str; 20] = [
    "--model",
    "ampere",
    "--model",
    "hopper",
    "--model",
    "blackwell-rtx",
    "--model",
    "cdna4",
    "--instr",
    "mma.m16n8k32.f32.e4m3.e4m3.f32",
    "--instr",
    "mma.sp.m16n8k32.f32.f16.f16.f32",
    "--instr",
    "mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16",
    "--instr",
    "mma.m8n8k128.s32.b1.b1.s32.xor.popc",
    "--instr",
    "mfma.16x16x128.f32.e4m3.e4m3.f32",
    "--instr",
    "wgmma.m64n8k32.f32.e4m3.e4m3",
];

/// Runs `tcnum atlas` into a folder.
fn atlas(arguments: &[&str], out: &Path) -> Run {
    tcnum(&[&["atlas", "-q"], arguments, &["--out", out.to_str().unwrap()]].concat())
}

/// The files below a folder by their names, with their bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(subfolder) = folders.pop() {
        for entry in fs::read_dir(&subfolder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_string();
                    files.insert(name, fs::read(&path).unwrap());
                }
            }
        }
    }
    files
}

/// The values of an attribute in a page.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let begin = format!(" {name}=\"");
    page.split(&begin).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// Asserts that each page is well-formed, that ids are unique, and that each address leads to a file and an id of the site.
fn assert_links(site: &BTreeMap<String, Vec<u8>>) {
    let text = |name: &str| String::from_utf8(site[name].clone()).unwrap();
    let pages: BTreeMap<&String, String> =
        site.keys().filter(|name| name.ends_with(".html")).map(|name| (name, text(name))).collect();
    assert!(pages.contains_key(&"index.html".to_string()));
    let mut linked = BTreeSet::from(["index.html".to_string()]);
    for (name, page) in &pages {
        crate::report_page::well_formed(page);
        let ids = attributes(page, "id");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{name} has an id twice");
        for used in ["aria-labelledby", "aria-controls"].iter().flat_map(|attribute| attributes(page, attribute)) {
            assert!(ids.contains(&used), "{name}: nothing is named {used}");
        }
        let folder = Path::new(name).parent().unwrap();
        for address in attributes(page, "href").into_iter().chain(attributes(page, "src")) {
            if address == "data:," {
                continue;
            }
            let (file, id) = address.split_once('#').unwrap_or((address, ""));
            let target = if file.is_empty() { name.to_string() } else { resolved(folder, file) };
            assert!(site.contains_key(&target), "{name}: {address} leads to no file");
            if !id.is_empty() {
                assert!(attributes(&text(&target), "id").contains(&id), "{name}: {address} leads to no id");
            }
            linked.insert(target);
        }
        for part in ["BibTeX", "tcnum atlas ", "commit", "Content-Security-Policy", "viewport"] {
            assert!(page.contains(part), "{name} lacks {part}");
        }
        assert!(!page.contains("style=\"") && !page.contains("onclick"), "{name} breaks its policy");
    }
    let unlinked: Vec<_> = pages.keys().filter(|name| !linked.contains(**name)).collect();
    assert!(unlinked.is_empty(), "no page leads to {unlinked:?}");
    // The search has each page but the first.
    let index = text("search.js");
    let json = index.split_once("window.tcnumIndex = ").unwrap().1.trim_end().trim_end_matches(';');
    let rows: Vec<Value> = serde_json::from_str(json).unwrap();
    let indexed: BTreeSet<String> = rows.iter().map(|row| format!("{}.html", row[2].as_str().unwrap())).collect();
    let known: BTreeSet<String> =
        pages.keys().map(|name| name.to_string()).filter(|name| name != "index.html").collect();
    assert_eq!(indexed, known);
}

/// The name of the file at a relative address.
fn resolved(folder: &Path, address: &str) -> String {
    let mut path = PathBuf::from(folder);
    for part in address.split('/') {
        match part {
            ".." => assert!(path.pop(), "{address} leaves the site"),
            part => path.push(part),
        }
    }
    path.to_str().unwrap().to_string()
}

#[test]
fn links_resolve_and_pages_say_what_the_models_compute() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("site");
    let run = atlas(&SUBSET, &out);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.lines().next().unwrap().contains(": 6 instructions of 4 generations"), "{}", run.stdout);
    let site = files(&out);
    assert_links(&site);
    let page = |name: &str| String::from_utf8(site[name].clone()).unwrap();
    let hopper = page("generation/hopper.html");
    assert!(hopper.contains("No: sums keep 14 bits, RZ; f32 has 24."), "{hopper}");
    let instruction_page = page("instruction/mma.m16n8k32.f32.e4m3.e4m3.f32.html");
    for part in ["emulated (convert)", "mma.sync.aligned.m16n8k32", "tcnum distinguish", "[[rule]]", "<svg", "sm_90a"] {
        assert!(instruction_page.contains(part), "{part}");
    }
    let wgmma = page("instruction/wgmma.m64n8k32.f32.e4m3.e4m3.html");
    assert!(wgmma.contains("NVIDIA H200") && wgmma.contains("reports/h200/costs.json"));
}

/// Anchors that papers link to, by the folder of a page. Names are added here, never taken away.
const ANCHORS: [(&str, &str); 5] = [
    ("", "answers generations formats instructions claims reading addresses source"),
    ("generation", "instructions rules source"),
    ("format", "instructions format others source"),
    (
        "instruction",
        "arithmetic picture features differences calculator rule evidence where cost related source arithmetic-1",
    ),
    ("claim", "claim here source"),
];

#[test]
fn anchors_and_claims_have_pages_that_stay() {
    let folder = tempfile::tempdir().unwrap();
    let run = atlas(&["--model", "volta", "--model", "turing"], folder.path());
    assert_eq!(run.status, 0, "{}", run.stderr);
    let site = files(folder.path());
    assert_links(&site);
    let text = |name: &str| String::from_utf8(site[name].clone()).unwrap();
    let index = text("index.html");
    for (kind, anchors) in ANCHORS {
        let pages = site
            .keys()
            .filter(|name| name.ends_with(".html") && name.rsplit_once('/').map_or("", |(folder, _)| folder) == kind);
        let ids: BTreeSet<String> = pages
            .flat_map(|name| attributes(&text(name), "id").into_iter().map(String::from).collect::<Vec<_>>())
            .collect();
        // Costs were measured on other generations.
        for anchor in anchors.split(' ').filter(|anchor| *anchor != "cost") {
            assert!(ids.contains(anchor), "{kind}: {anchor}");
            assert!(anchor == "arithmetic-1" || index.contains(&format!("#{anchor}</code>")), "{kind}: {anchor}");
        }
    }
    for claim in ["table-12", "egemm-figure-7", "deepseek-14-bits", "mma-sim-cdna1"] {
        let page = text(&format!("claim/{claim}.html"));
        assert!(page.contains("tcnum ") && page.contains("author = {"), "{page}");
    }
    assert!(index.contains("Are subnormal A and B kept?"));
}

/// The commands of a page repeat its answers.
#[test]
fn the_input_of_a_difference_is_that_of_its_command() {
    let folder = tempfile::tempdir().unwrap();
    let instruction = "mma.m16n8k16.f32.f16.f16.f32";
    let run = atlas(&["--model", "ampere", "--model", "hopper", "--instr", instruction], folder.path());
    assert_eq!(run.status, 0, "{}", run.stderr);
    let page = fs::read_to_string(folder.path().join(format!("instruction/{instruction}.html"))).unwrap();
    let line = page.lines().find(|line| line.starts_with("tcnum distinguish ")).unwrap();
    let words: Vec<&str> = line.split(' ').skip(1).chain(["-q", "--output", "json"]).collect();
    let run = tcnum(&words);
    let report = validate_report(&run.stdout);
    let reasons = report["tables"]["reasons"].as_array().unwrap();
    let shown: Vec<&str> = reasons.iter().filter_map(|reason| reason["operands"].as_str()).collect();
    assert!(!shown.is_empty());
    shown.iter().for_each(|operands| assert!(page.contains(operands), "{operands}"));
}

/// Words of a search, and the pages that it finds first, of these models and instructions.
const SEARCHES: [(&str, &[&str]); 9] = [
    ("H100 fp8", &[WGMMA, FP8]),
    ("hopper e4m3", &[WGMMA, FP8]),
    ("wgmma fp8", &[WGMMA]),
    ("nvfp4", &[NVFP4]),
    ("tcgen05 mxfp4", &[MXFP4]),
    ("mxfp4", &[MXFP4]),
    ("v_mfma_f32_16x16x16_f16", &[MFMA]),
    ("MI300X v_mfma_f32_16x16x16f16", &[MFMA]),
    ("V100 fp8", &[]),
];
const WGMMA: &str = "wgmma.m64n8k32.f32.e4m3.e4m3";
const FP8: &str = "mma.m16n8k32.f32.e4m3.e4m3.f32";
const NVFP4: &str = "mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16";
const MXFP4: &str = "tcgen05.m128n16k64.f32.e2m1.e2m1.f32.ue8m0.block32";
const MFMA: &str = "mfma.16x16x16.f32.f16.f16.f32";

#[test]
fn a_search_finds_instructions_by_gpu_format_and_mnemonic_together() {
    if !has_tool("node", Need::Node) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let models = ["volta", "hopper", "blackwell", "blackwell-rtx", "cdna3"].map(|name| ["--model", name]);
    let instructions = [FP8, WGMMA, NVFP4, MXFP4, MFMA].map(|name| ["--instr", name]);
    let run = atlas(&[models.concat(), instructions.concat()].concat(), folder.path());
    assert_eq!(run.status, 0, "{}", run.stderr);
    let script = "globalThis.window = globalThis; process.argv.slice(1, 3).forEach((file) => require(file)); \
                  const found = process.argv.slice(3).map((query) => tcnumSearch(tcnumIndex, query)); \
                  console.log(JSON.stringify(found.map((rows) => rows.map((row) => row[0]))));";
    let files = [folder.path().join("search.js"), Path::new(env!("CARGO_MANIFEST_DIR")).join("src/atlas/atlas.js")];
    let queries = SEARCHES.iter().map(|(query, _)| query);
    let run = Command::new("node").args(["-e", script]).args(files).args(queries).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let results: Vec<Vec<String>> = serde_json::from_slice(&run.stdout).unwrap();
    for ((query, first), names) in SEARCHES.iter().zip(results) {
        let shown: BTreeSet<&str> = names.iter().take(first.len()).map(String::as_str).collect();
        assert_eq!(shown, first.iter().copied().collect(), "{query}: {names:?}");
        assert!(!first.is_empty() || names.is_empty(), "{query}: {names:?}");
    }
}

#[test]
fn a_page_that_names_two_floors_says_why_they_differ() {
    let folder = tempfile::tempdir().unwrap();
    // Products of f16 are at least 2^-48: no operand shows the floor of the rule. Products of bf16 show it.
    for (instruction, hidden) in [("mma.m16n8k16.f32.f16.f16.f32", true), ("mma.m16n8k16.f32.bf16.bf16.f32", false)] {
        let out = folder.path().join(instruction);
        assert_eq!(atlas(&["--model", "hopper", "--instr", instruction], &out).status, 0);
        let page = fs::read_to_string(out.join(format!("instruction/{instruction}.html"))).unwrap();
        assert!(page.contains("exponent at least -133"));
        assert_eq!(page.contains("or less ") || page.contains("or less<"), hidden, "{instruction}");
        assert_eq!(page.contains("says what operands can show"), hidden, "{instruction}");
    }
}

/// Operands of the calculator, with the regimes that decide D.
const DECIDED: [(&str, &[&str]); 7] = [
    ("{ a: [0x3c00n], b: [0x3c01n], c: 0x30000000n }", &["always"]),
    ("{ a: [0x0001n], b: [0x3c00n], c: 0x3f800000n }", &["always", "subnormal A, B"]),
    ("{ a: [0x3c00n], b: [0x3c00n], c: 0x00000001n }", &["always", "subnormal C"]),
    ("{ a: [0x3c00n], b: [0x3c00n], c: 0xbf800000n }", &["always", "zero"]),
    ("{ a: [0x7c00n], b: [0x3c00n], c: 0n }", &["always", "infinity or NaN"]),
    ("{ a: [0x7bffn], b: [0x7bffn], c: 0xff800000n }", &["always", "infinity or NaN"]),
    ("{ c: 0x00000001n }", &["always", "subnormal C", "subnormal D"]),
];

#[test]
fn the_calculator_gives_the_evidence_of_what_decided_the_result() {
    if !has_tool("node", Need::Node) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let instruction = "mma.m16n8k16.f32.f16.f16.f32";
    let run = atlas(&["--model", "ampere", "--model", "hopper", "--instr", instruction], folder.path());
    assert_eq!(run.status, 0, "{}", run.stderr);
    let operands = DECIDED.map(|(operands, _)| operands).join(", ");
    let script = format!(
        "process.argv.slice(1).forEach((file) => require(file)); \
         console.log(JSON.stringify(tcnum.generations.map(({{ evidence, program }}) => [{operands}].map((input) => {{ \
           const {{ regimes }} = tcnum.evaluate(tcnum.programs[program], input); \
           return [regimes, tcnum.evidence(evidence, tcnum.kinds, regimes)]; }}))));"
    );
    let files = ["evaluator.js", &format!("instruction/{instruction}.js")].map(|name| folder.path().join(name));
    let run = Command::new("node").args(["-e", &script]).args(files).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let results: Vec<Vec<(Vec<String>, String)>> = serde_json::from_slice(&run.stdout).unwrap();
    let [ampere, hopper] = &results[..] else { panic!("{results:?}") };
    for ((operands, regimes), (decided, _)) in DECIDED.iter().zip(ampere) {
        assert_eq!(decided, regimes, "{operands}");
    }
    // The model of Ampere rests on recordings for finite sums, and on less for infinities and NaN.
    let usual = &ampere[0].1;
    assert!(!usual.contains("assumed") && ampere[4].1 != *usual, "{ampere:?}");
    assert!(hopper.iter().all(|(_, evidence)| evidence == "measured"), "{hopper:?}");
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let mut sites = Vec::new();
    for (name, threads) in [("one", "1"), ("two", "3")] {
        let out = folder.path().join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_tcnum"));
        command.arg("atlas").args(SUBSET).arg("--out").arg(&out).env("RAYON_NUM_THREADS", threads);
        assert!(command.output().unwrap().status.success());
        sites.push(files(&out));
    }
    assert!(sites[0] == sites[1]);
}

#[test]
fn a_folder_with_other_files_is_refused_and_an_earlier_site_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let small = ["--model", "volta", "--instr", "mma.m8n8k4.f32.f16.f16.f32"];
    let other = ["--model", "volta", "--instr", "mma.m8n8k4.f16.f16.f16.f16"];
    // A folder that holds something; a file.
    let full = folder.path().join("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("thesis.tex"), "mine").unwrap();
    for (out, why) in [(full.clone(), "it is not empty"), (full.join("thesis.tex"), "this is a file")] {
        let run = atlas(&small, &out);
        assert!(run.status == 2 && run.stderr.contains(why), "{}", run.stderr);
    }
    assert_eq!(files(&full).len(), 1);
    // An earlier site: its pages go, the reader's files stay.
    let out = folder.path().join("site");
    fs::create_dir(&out).unwrap();
    assert_eq!(atlas(&small, &out).status, 0);
    fs::write(out.join("instruction/notes.txt"), "mine").unwrap();
    assert_eq!(atlas(&other, &out).status, 0);
    let mut site = files(&out);
    assert_eq!(site.remove("instruction/notes.txt").as_deref(), Some(&b"mine"[..]));
    assert_links(&site);
    assert!(!site.contains_key("instruction/mma.m8n8k4.f32.f16.f16.f32.html"));
    // A file of the reader where a page would be.
    let mine = out.join("instruction/mma.m8n8k4.f32.f16.f16.f32.html");
    fs::write(&mine, "mine").unwrap();
    let before = files(&out);
    let run = atlas(&small, &out);
    assert!(run.status == 2 && run.stderr.contains("would be lost"), "{}", run.stderr);
    assert!(files(&out) == before);
    // A marker that names files elsewhere is none.
    let marker = r#"{"tcnum": "0", "commit": "0", "complete": true, "files": ["../site/index.html"]}"#;
    fs::write(full.join("tcnum-atlas.json"), marker).unwrap();
    assert_eq!(atlas(&small, &full).status, 2);
}

#[test]
fn an_interruption_leaves_a_site_of_the_work_before_it_or_nothing() {
    let mut outcomes = BTreeSet::new();
    for at in [1, 2, 3, 4, 1000] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("site");
        let checks = Rc::new(Cell::new(0));
        let stop = move || {
            checks.set(checks.get() + 1);
            (checks.get() >= at).then_some(Interruption::Term)
        };
        let words = ["tcnum", "atlas", "--model", "volta", "--model", "turing", "-q", "--out", out.to_str().unwrap()];
        let made = interruptible(stop, || verbs::report(words.iter().map(Into::into).collect()));
        match made {
            Err(error) => {
                assert!(error.to_string().contains("interrupted"), "{error}");
                assert!(!out.exists());
                outcomes.insert("nothing");
            }
            Ok((report, failure)) => {
                assert_eq!(failure, None);
                let site = files(&out);
                assert_links(&site);
                let index = String::from_utf8(site["index.html"].clone()).unwrap();
                let marker: Value = serde_json::from_slice(&site["tcnum-atlas.json"]).unwrap();
                let partial = report.interrupted.is_some();
                assert_eq!(index.contains("Interrupted by SIGTERM: this site has 32 of "), partial);
                assert_eq!(marker["complete"], Value::Bool(!partial));
                outcomes.insert(if partial { "part" } else { "all" });
            }
        }
    }
    assert_eq!(outcomes, BTreeSet::from(["nothing", "part", "all"]));
}

#[test]
fn a_model_and_an_instruction_of_the_reader_have_pages_and_hostile_names_are_text() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = r#"<script>alert(1)</script>&\u0022'../x"#;
    let model = fs::read_to_string("models/volta.toml").unwrap();
    let model = model.replace("name = \"volta\"", &format!("name = \"{hostile}\""));
    let model = model.replace("title = \"NVIDIA Volta (V100)\"", &format!("title = \"{hostile} \\u202e\""));
    let model = model.replace("Xie et al.", "<img src=x>");
    let file = folder.path().join("m x.toml");
    fs::write(&file, model).unwrap();
    let out = folder.path().join("site");
    let instruction = "mma.m8n8k4.f32.f16.f16.f32";
    let run = atlas(&["--model", file.to_str().unwrap(), "--model", "volta", "--instr", instruction], &out);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let site = files(&out);
    assert_links(&site);
    assert_eq!(site.keys().filter(|name| name.starts_with("generation/")).count(), 2);
    for (name, bytes) in site.iter().filter(|(name, _)| name.ends_with(".html")) {
        let page = String::from_utf8(bytes.clone()).unwrap();
        assert!(!page.contains("<script>") && !page.contains("<img") && !page.contains('\u{202e}'), "{name}");
    }
    let index = String::from_utf8(site["index.html"].clone()).unwrap();
    assert!(index.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{index}");
    // Two models of one name.
    let twin = folder.path().join("volta.toml");
    fs::copy("models/volta.toml", &twin).unwrap();
    let run = atlas(&["--model", twin.to_str().unwrap(), "--model", "volta"], &folder.path().join("twins"));
    assert!(run.status == 2 && run.stderr.contains("named 'volta', too"), "{}", run.stderr);
    // An instruction that the models lack.
    let run = atlas(&["--model", "volta", "--instr", "mfma.32x32x8.f32.f16.f16.f32"], &folder.path().join("none"));
    assert!(run.status == 2 && run.stderr.contains("none of the models (volta)"), "{}", run.stderr);
}

/// `tools/costs` wrote the compiled costs from the kept results.
#[test]
fn the_costs_of_the_pages_are_those_of_the_reports() {
    let mut reader = csv::Reader::from_path("crates/study/src/cost/measured.csv").unwrap();
    let rows: Vec<BTreeMap<String, String>> = reader.deserialize().map(|row| row.unwrap()).collect();
    let report: Value = serde_json::from_slice(&fs::read("reports/h200/costs.json").unwrap()).unwrap();
    let costs = report["tables"]["costs"].as_array().unwrap();
    let measured: Vec<_> = rows.iter().filter(|row| row["source"] == "reports/h200/costs.json").collect();
    assert_eq!(measured.len(), costs.len());
    for (row, cost) in measured.iter().zip(costs) {
        assert_eq!(cost["instruction"], row["instruction"].as_str());
        for key in ["latency", "tera", "best_rate"] {
            let (shown, kept) = (row[key].parse::<f64>().ok(), cost[key].as_f64());
            let near = match (shown, kept) {
                (Some(shown), Some(kept)) => (shown - kept).abs() <= 1e-3 * kept,
                (shown, kept) => shown.is_none() && kept.is_none(),
            };
            assert!(near, "{} {key}: {shown:?} and {kept:?}", row["instruction"]);
        }
    }
}
