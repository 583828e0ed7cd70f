//! Every reader of bytes that others made, on damaged files and on any bytes: it reads them, or refuses them with one message.
//!
//! The files that are damaged are those of `tests/corpus/READER/`, and reports and checkpoints of the program itself. Each reader gets
//! `TCNUM_READER_CASES` cases (as many as proptest's own default without it); a found case is kept by putting it into its folder.

#[path = "common/program.rs"]
mod program;

use std::{
    path::{Path, PathBuf},
    sync::{LazyLock, Once},
    time::Duration,
};

use program::tcnum;
use proptest::{prelude::*, sample::Index, test_runner::TestRunner};
use tcnum::{
    Error,
    arithmetic::Model,
    array::Arrays,
    calc::{self, CalcRequest, Check, Operator, Sheet},
    convert,
    device::ExecDevice,
    experiment::Experiment,
    format::{self, Format},
    isa::{self, Tiles},
    probe::digests,
    softfloat::Environment,
    trace::Trace,
    verify::{checkpoint, reports},
};

const HALF: &str = "mma.m16n8k8.f32.f16.f16.f32";
/// The most memory that a test of small files may take: what is asked for beyond ends the program.
const MOST_MEMORY: u64 = 2 << 30;

/// A change of a file.
#[derive(Debug, Clone)]
enum Damage {
    Set(Index, u8),
    Flip(Index, u8),
    Remove(Index, Index),
    Repeat(Index, Index),
    Insert(Index, Vec<u8>),
    End(Index),
}

/// Words at which readers stumble.
const WORDS: [&str; 20] = [
    "99999999999999999999999",
    "18446744073709551615",
    "9223372036854775808",
    "-1",
    "-0",
    "1e999",
    "nan",
    "0x",
    "''",
    "\"",
    "\\u0000",
    "[[[[[[[[",
    "{\"a\":",
    "}}",
    ",",
    "=",
    "\n",
    "\0",
    "\u{feff}",
    "null",
];

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        (at(), 0..8u32).prop_map(|(at, bit)| Damage::Flip(at, 1 << bit)),
        (at(), at()).prop_map(|(from, count)| Damage::Remove(from, count)),
        (at(), at()).prop_map(|(from, count)| Damage::Repeat(from, count)),
        (at(), prop::sample::select(&WORDS[..])).prop_map(|(at, word)| Damage::Insert(at, word.into())),
        (at(), prop::collection::vec(any::<u8>(), 1..9)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        at().prop_map(Damage::End),
    ]
}

fn damaged(mut bytes: Vec<u8>, changes: &[Damage]) -> Vec<u8> {
    for change in changes {
        if bytes.is_empty() {
            break;
        }
        let place = |index: &Index| index.index(bytes.len());
        let range = |from: &Index, count: &Index| {
            let from = place(from);
            from..(from + 1 + count.index(40)).min(bytes.len())
        };
        match change {
            Damage::Set(at, byte) => {
                let at = place(at);
                bytes[at] = *byte;
            }
            Damage::Flip(at, bit) => {
                let at = place(at);
                bytes[at] ^= bit;
            }
            Damage::Remove(from, count) => drop(bytes.drain(range(from, count))),
            Damage::Repeat(from, count) => {
                let range = range(from, count);
                let again = bytes[range.clone()].to_vec();
                bytes.splice(range.end..range.end, again);
            }
            Damage::Insert(at, word) => {
                let at = place(at);
                bytes.splice(at..at, word.iter().copied());
            }
            Damage::End(at) => bytes.truncate(place(at)),
        }
    }
    bytes
}

/// The files of a folder of the corpus, and their names.
fn corpus(reader: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(reader);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let file =
        |path: PathBuf| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap());
    files.into_iter().map(file).collect()
}

/// Gives `read` the seeds, which it reads, then damaged ones and any bytes, all under the names of the seeds. A refusal is one message of
/// the wrong request, and not longer than a person reads; `share` of the cases are made.
fn hold(seeds: &[(String, Vec<u8>)], share: u32, read: impl Fn(&str, &[u8]) -> Result<(), Error>) {
    static LIMIT: Once = Once::new();
    LIMIT.call_once(limit_memory);
    for (name, seed) in seeds {
        read(name, seed).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let cases = std::env::var("TCNUM_READER_CASES").ok().and_then(|count| count.parse().ok());
    let cases = cases.unwrap_or(ProptestConfig::default().cases) / share;
    // What is found is kept as a file of the corpus.
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let changed = prop::collection::vec(damage(), 1..6).prop_map(Some);
    let anything = prop::collection::vec(any::<u8>(), 0..200);
    let case = (any::<Index>(), prop_oneof![9 => changed, 1 => Just(None)], anything);
    let run = TestRunner::new(config).run(&case, |(at, changes, anything)| {
        let (name, seed) = at.get(seeds);
        let bytes = changes.map_or(anything, |changes| damaged(seed.clone(), &changes));
        if let Err(error) = read(name, &bytes) {
            let said = error.to_string();
            prop_assert!(!said.is_empty() && said.len() < 20_000, "{} bytes", said.len());
            prop_assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{said:?}");
            prop_assert!(matches!(error.exit_status(), 2 | 3), "{said}");
        }
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
}

#[cfg(target_os = "linux")]
fn limit_memory() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Data);
    setrlimit(Resource::Data, Rlimit { current: Some(MOST_MEMORY), maximum }).expect("a lower limit is allowed");
}

#[cfg(not(target_os = "linux"))]
fn limit_memory() {}

/// The bytes as a file of this name, for readers of files.
fn as_file<T>(name: &str, bytes: &[u8], read: impl FnOnce(&Path) -> Result<T, Error>) -> Result<T, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    read(&path)
}

/// Text, for readers of text: what is none is refused before.
fn as_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A report and a checkpoint of the program.
static OWN: LazyLock<[(String, Vec<u8>); 2]> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    ["report.json", "run.checkpoint"].map(|name| {
        let path = folder.path().join(name);
        let file = path.to_str().unwrap();
        let flags = if name == "report.json" { ["--out", file] } else { ["--checkpoint", file] };
        let run = ["verify", "--instr", HALF, "--device", "model:hopper", "--model", "ampere", "--cases", "2000"];
        let output = ["--max-mismatches", "2", "--output", "json"];
        assert_eq!(tcnum(&[&run[..], &output, &flags].concat()).status, 1);
        (name.to_string(), std::fs::read(&path).unwrap())
    })
});

#[test]
fn traces() {
    hold(&corpus("trace"), 1, |name, bytes| {
        let trace = as_file(name, bytes, Trace::read)?;
        assert_eq!(trace.d.len(), trace.count() * trace.m * trace.n);
        Ok(())
    });
}

#[test]
fn arrays() {
    hold(&corpus("array"), 1, |name, bytes| {
        let arrays = Arrays::parse(Path::new(name), bytes)?;
        for array in &arrays.arrays {
            // Whether there are codes in it depends on the format that is asked for.
            let _ = array.codes(None);
        }
        let folder = tempfile::tempdir().unwrap();
        let conversion = convert::FileConversion {
            from: convert::FileContent::Scalar(None),
            to: convert::ConversionTarget::Scalar {
                format: format::find("bf16")?,
                rounding: format::Rounding::Rne,
                overflow: format::Overflow::Standard,
            },
            names: Vec::new(),
        };
        let converted = as_file(name, bytes, |path| conversion.run(path, &folder.path().join("out.safetensors")));
        // Files of integers need a format.
        converted.map(drop).or_else(|error| if error.to_string().contains("--from") { Ok(()) } else { Err(error) })
    });
}

#[test]
fn models() {
    let instruction = isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap();
    hold(&corpus("model"), 1, |name, bytes| {
        let model = Model::parse(&as_text(bytes), name)?;
        if model.rule(&instruction).is_some() {
            model.evaluator(&instruction)?;
        }
        Ok(())
    });
}

#[test]
fn formats() {
    hold(&corpus("format"), 1, |name, bytes| {
        let format = Format::from_toml(&as_text(bytes), name)?;
        format.to_f64(format.code_mask());
        Ok(())
    });
}

#[test]
fn experiments() {
    hold(&corpus("experiment"), 1, |name, bytes| Experiment::parse(&as_text(bytes), name).map(drop));
}

#[test]
fn checkpoints() {
    hold(&OWN[1..], 1, |name, bytes| as_file(name, bytes, checkpoint::read).map(drop));
}

#[test]
fn parts_of_reports() {
    hold(&OWN[..1], 1, |_, bytes| reports::parts(&as_text(bytes)).map(drop));
}

#[test]
fn recorded_digests() {
    hold(&corpus("digests"), 1, |name, bytes| as_file(name, bytes, digests::read).map(drop));
}

#[test]
fn lines_of_expected_results() {
    let operator = adder();
    hold(&corpus("lines"), 1, |_, bytes| calc::check(&operator, Check { strict: true, limit: 3 }, bytes).1);
}

#[test]
fn lines_of_operands() {
    let operator = adder();
    hold(&corpus("operations"), 1, |_, bytes| {
        let mut sheet = Sheet::new(&operator);
        let mut lines = as_text(bytes).lines().map(str::to_string).collect::<Vec<_>>();
        lines.iter_mut().try_for_each(|line| sheet.compute(&line.split_whitespace().collect::<Vec<_>>()))
    });
}

#[test]
fn values() {
    let bf16 = format::find("bf16").unwrap();
    hold(&corpus("operations"), 1, |_, bytes| {
        as_text(bytes).split_whitespace().try_for_each(|word| convert::read(Some(bf16), word).map(drop))
    });
}

fn adder() -> Operator {
    let request = CalcRequest {
        operation: "add",
        format: format::find("f16").unwrap(),
        to: None,
        exact: false,
        environment: Environment::default(),
    };
    Operator::new(&request).unwrap()
}

/// The answers of another program: its first line, then, once it was asked, the codes of one tile.
#[cfg(unix)]
#[test]
fn answers_of_programs() {
    use tcnum::device::Device;
    let instruction = isa::find("mma.m8n8k4.f32.f16.f16.f32").unwrap();
    hold(&corpus("exec"), 16, |name, bytes| {
        as_file(name, bytes, |path| {
            let answers = "read offer; head -n 1 \"$0\"; head -c 4 > /dev/null; tail -n +2 \"$0\"";
            let command = format!("sh -c '{answers}' '{}'", path.display());
            let mut device = ExecDevice::new(&command, Duration::from_secs(20))?;
            device.execute(&instruction, &Tiles::zeros(&instruction, 1)).map(drop)
        })
    });
}
