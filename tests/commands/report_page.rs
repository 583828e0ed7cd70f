//! Documents of kept results: what they hold, that they load nothing, and that a good one is not lost.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::program::{Run, tcnum};

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("reports").join(name)
}

/// Runs `tcnum report` on results, to a document.
fn report(results: &[&Path], out: &Path) -> Run {
    let mut arguments = vec!["report"];
    arguments.extend(results.iter().map(|path| path.to_str().unwrap()));
    arguments.extend(["--out", out.to_str().unwrap()]);
    tcnum(&arguments)
}

/// The page of results, which can be made.
fn page(results: &[&Path]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("page.html");
    let run = report(results, &out);
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    fs::read_to_string(out).unwrap()
}

/// Elements that have no end.
const VOID: [&str; 5] = ["meta", "!DOCTYPE", "input", "link", "wbr"];

/// Checks that every element of a page ends where it has to, and that attributes are quoted.
pub(crate) fn well_formed(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some((_, behind)) = rest.split_once('<') {
        let (tag, behind) = behind.split_once('>').expect("a tag ends");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        assert!(tag.matches('"').count().is_multiple_of(2), "<{tag}>");
        rest = behind;
        match tag {
            _ if VOID.contains(&name) || tag.ends_with('/') => (),
            _ if tag.starts_with('/') => assert_eq!(open.pop(), Some(name), "</{name}> ends another element"),
            "style" | "script" => rest = rest.split_once(&format!("</{name}>")).expect("it ends").1,
            _ => open.push(name),
        }
    }
    assert_eq!(open, [""; 0]);
}

#[test]
fn what_instructions_compute_stands_beside_what_they_cost() {
    let folder = tempfile::tempdir().unwrap();
    let (features, costs) = (folder.path().join("features.json"), kept("h200/costs.json"));
    let measured = ["features", "--device", "model:hopper", "--instr", "mma.m16n8k16.f32.f16.f16.f32"];
    let run = tcnum(&[&measured[..], &["-q", "--output", "json", "--out", features.to_str().unwrap()]].concat());
    assert_eq!(run.status, 0, "{}", run.stderr);
    let words = ["Arithmetic and cost", "<td>NVIDIA H200: "];
    let both = page(&[&features, &costs]);
    assert!(words.iter().all(|word| both.contains(word)));
    let alone = page(&[&features]);
    assert!(!words.iter().any(|word| alone.contains(word)));
}

#[test]
fn a_page_has_every_part_of_its_results_and_is_well_formed() {
    let names = ["cpu/zen5/verify.json", "h200/chain-figure-17.json", "h200/schemes.json", "products/promotion.json"];
    let paths: Vec<PathBuf> = names.iter().map(|name| kept(name)).collect();
    let page = page(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>());
    well_formed(&page);
    for words in [
        "NVIDIA H200",
        "AMD EPYC",
        "Native instructions",
        "Verification",
        "Limits",
        "Chains of products",
        "Error against k",
        "tcnum verify --all",
        "promoted every 128",
        "role=\"img\"",
        "prefers-color-scheme",
        "@media print",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // Each figure and table has a name for those who do not see it.
    assert_eq!(page.matches("<svg ").count(), page.matches("role=\"img\" aria-label=\"").count());
    assert_eq!(page.matches("<table>").count(), page.matches("<caption>").count());
    assert!(page.matches("<svg ").count() >= 4);
}

#[test]
fn a_page_loads_nothing() {
    let page = page(&[&kept("cpu/zen5/verify.json"), &kept("h200/verify/two-gpus.json")]);
    for loading in [" src=", "@import", "url(", "<link", "<iframe", "<object", "fetch(", "http:", "https:", "XMLHttp"] {
        assert!(!page.contains(loading), "{loading}");
    }
    assert!(page.contains("default-src 'none'"));
    // Links lead to parts of the page.
    for target in page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        let id = target.strip_prefix('#').expect("a part of the page");
        assert!(page.contains(&format!("id=\"{id}\"")), "{target}");
    }
}

/// The kept result, with `change` applied, in a folder.
fn changed(folder: &Path, name: &str, change: impl Fn(&mut Value)) -> PathBuf {
    let mut document: Value = serde_json::from_str(&fs::read_to_string(kept(name)).unwrap()).unwrap();
    change(&mut document);
    let path = folder.join("changed.json");
    fs::write(&path, document.to_string()).unwrap();
    path
}

/// Puts `text` in the place of every text of a document, but keys and what says its kind.
fn infect(value: &mut Value, text: &str) {
    match value {
        Value::String(string) => *string = text.into(),
        Value::Array(values) => values.iter_mut().for_each(|value| infect(value, text)),
        Value::Object(members) => {
            members
                .iter_mut()
                .filter(|(key, _)| *key != "tcnum" && *key != "interrupted")
                .for_each(|(_, value)| infect(value, text));
        }
        _ => (),
    }
}

#[test]
fn texts_of_files_and_devices_are_no_mark_up_in_any_document() {
    const EVIL: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>\u{1b}[2J\u{202e}\\input{x}`|";
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "cpu/zen5/verify.json",
        "h200/chain-figure-17.json",
        "h200/schemes.json",
        "cpu/zen5/identify.json",
        "h200/table-12.json",
    ] {
        let path = changed(folder.path(), name, |document| infect(document, EVIL));
        let text = page(&[&path]);
        well_formed(&text);
        assert!(
            text.contains("&lt;script&gt;alert(1)") && !text.contains("<script>alert") && !text.contains("<img"),
            "{name}"
        );
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()) && !text.contains('\u{202e}'), "{name}");
        let out = folder.path().join("text.md");
        assert_eq!(report(&[&path], &out).status, 0);
        assert!(!fs::read_to_string(&out).unwrap().replace("\\<", "").contains("<script>"), "{name}");
        let paper = folder.path().join("paper/");
        assert_eq!(report(&[&path], &folder.path().join("paper/")).status, 0, "{name}");
        for part in fs::read_dir(paper.join("parts")).unwrap() {
            let tex = fs::read_to_string(part.unwrap().path()).unwrap();
            assert!(!tex.contains("\\input{x}"), "{name}");
        }
    }
}

#[test]
fn a_result_that_cannot_be_read_is_said_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let good = kept("cpu/zen5/verify.json");
    let text = fs::read_to_string(&good).unwrap();
    let bad = folder.path().join("bad.json");
    let mixed = changed(folder.path(), "cpu/zen5/verify.json", |document| {
        document["tables"]["regimes"][0]["instruction"] = json!("mma.m16n8k8.f32.f16.f16.f32");
    });
    let mixed = fs::read_to_string(mixed).unwrap();
    for (content, says) in [
        (text.replacen("\"schema\": 2", "\"schema\": 7", 1), "version 7"),
        (text[..text.len() / 2].to_string(), "truncated"),
        (String::new(), "truncated"),
        ("{}".into(), "not a result"),
        ("# a text".into(), "not JSON"),
        (mixed, "mixes instructions"),
        (text.replacen("\"compared\":", "\"compared\":\"many\",\"old\":", 1), "is not of the column's kind"),
    ] {
        fs::write(&bad, &content).unwrap();
        let out = folder.path().join("page.html");
        let run = report(&[&bad, &good], &out);
        assert_eq!(run.status, 1, "{says}: {}", run.stderr);
        assert!(run.stderr.contains(says) && run.stderr.contains("bad.json"), "{says}: {}", run.stderr);
        assert!(fs::read_to_string(&out).unwrap().contains("AMD EPYC"));
        // A document that is there stays.
        fs::write(&out, "the good one").unwrap();
        let run = report(&[&bad, &good], &out);
        assert!(run.status == 1 && run.stderr.contains("is not replaced"), "{}", run.stderr);
        assert_eq!(fs::read_to_string(&out).unwrap(), "the good one");
        // Nothing can be read.
        let run = report(&[&bad], &out);
        assert!(run.status == 2 && run.stderr.contains("no document was written"), "{}", run.stderr);
        fs::remove_file(&out).unwrap();
    }
    let run = report(&[&good], &folder.path().join("page.docx"));
    assert!(run.status == 2 && run.stderr.contains(".html"), "{}", run.stderr);
}

/// Every kept result of the H200, and what is said of it on its model.
fn all_of_the_h200() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in ["h200", "h200/verify", "h200/scalar"] {
        let entries = fs::read_dir(kept(folder)).unwrap().map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.extension().is_some_and(|end| end == "json")));
    }
    files.sort();
    files
}

#[test]
fn the_page_of_all_that_the_h200_gave_is_small() {
    let files = all_of_the_h200();
    let page = page(&files.iter().map(PathBuf::as_path).collect::<Vec<_>>());
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    well_formed(&page);
    for words in ["301", "185", "116", "wgmma.m64n8k32.f32.e4m3.e4m3"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn the_figures_of_a_command_are_files_of_every_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let chain = ["chain", "--fmt", "bf16", "--device", "model:hopper", "--chains", "3", "--length", "3"];
    for (name, begins) in [("a.svg", &b"<svg"[..]), ("a.pdf", b"%PDF-"), ("a.png", b"\x89PNG")] {
        let run = tcnum(&[&chain[..], &["--plot", &path(name), "--plots", &path("all")]].concat());
        assert_eq!(run.status, 0, "{}", run.stderr);
        assert!(fs::read(path(name)).unwrap().starts_with(begins), "{name}");
        for ending in ["svg", "pdf", "png"] {
            assert!(Path::new(&path("all")).join(format!("chain.{ending}")).is_file(), "{ending}");
        }
    }
    let svg = fs::read_to_string(path("a.svg")).unwrap();
    assert!(svg.contains("Chains of products, bf16, mma, hopper") && svg.contains("chain length N (links)"), "{svg}");
    // Nothing else is replaced.
    fs::write(Path::new(&path("all")).join("chain.pdf"), "my own").unwrap();
    let run = tcnum(&[&chain[..], &["--plots", &path("all")]].concat());
    assert!(run.status == 2 && run.stderr.contains("is not a drawing"), "{}", run.stderr);
    // Refused before the work: the devices would fail, and the files are not there.
    for line in [
        "distinguish exec:false exec:false --fmt f16",
        "verify --device trace:none.safetensors",
        "probe scalar --op convert --device exec:false",
        "gemm match d.npy --a a.npy --b b.npy",
        "gemm between exec:false exec:false --shape 8,8,8",
        "gemm library --shapes none.csv",
        "emulate --scheme l16-r8 --device exec:false",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let run = tcnum(&[&words[..], &["--plot", &path("none.svg")]].concat());
        let refused = ["has no figure", "unexpected argument '--plot'"].iter().any(|words| run.stderr.contains(words));
        assert!(run.status == 2 && refused, "{line}: {}", run.stderr);
    }
}

#[test]
fn a_page_has_the_first_rows_of_a_very_long_table_and_says_how_many_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let mut result: Value =
        serde_json::from_str(&fs::read_to_string(kept("h200/chain-figure-17.json")).unwrap()).unwrap();
    let rows = result["tables"]["chain"].as_array().unwrap().clone();
    let longer = |number: usize| {
        let mut row = rows[number % rows.len()].clone();
        row["length"] = json!(number + 1);
        row
    };
    result["tables"]["chain"] = (0..12_000).map(longer).collect();
    let path = folder.path().join("long.json");
    fs::write(&path, result.to_string()).unwrap();
    let page = page(&[&path]);
    assert!(page.contains("(the first 10000 of 12000 rows; the results have all)"));
    // Its rows, and those of the other tables.
    assert!((10_000..10_100).contains(&page.matches("<tr>").count()));
}

#[test]
fn a_device_without_an_appendix_is_sent_to_the_survey() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("page.html");
    let run = tcnum(&["report", "--device", "hopper", "--out", out.to_str().unwrap()]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("`tcnum survey --device model:hopper --out FOLDER`"), "{}", run.stderr);
    assert!(!out.exists());
}
