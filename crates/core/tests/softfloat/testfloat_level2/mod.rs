//! Berkeley TestFloat's level 2 of mulAdd in f16, f32 and f64, every case in every set of options.
//!
//! As text these are 2.3 * 10^12 lines. Here TestFloat's generator, SoftFloat and the soft-float are one process, and
//! pieces of the cases are checked in parallel. A piece begins at a place of `positions-f16.csv` and the like (cases
//! come in pairs, the first of which has random operands; a place is the number of a pair, and the count of random
//! numbers before it). Each piece must end where the next one begins, so that all of them together are TestFloat's own
//! sequence.
//!
//!     tools/testfloat-library target/testfloat
//! TCNUM_TESTFLOAT=target/testfloat cargo test --release -p tcnum-core --features mpfr --test softfloat
//! testfloat_level2 -- --ignored --nocapture
//!
//! Each piece writes a line to `target/testfloat/pieces.csv` (format, piece, cases, comparisons, differences); pieces
//! in that file are not run again. `TCNUM_TESTFLOAT_SECONDS=N` starts no piece after that time,
//! `TCNUM_TESTFLOAT_PIECES=f64:0-99` runs those pieces only.

mod library;
mod sequence;

use std::{
    collections::BTreeSet,
    env,
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use library::{Batch, Cases};
use tcnum_core::{
    format::{self, Format, Rounding},
    softfloat::{Environment, Flags, NanRule, Operation, Outcome, Tininess, Unit},
};

/// All roundings, with SoftFloat's numbers.
const ROUNDINGS: [(Rounding, u8); 6] = [
    (Rounding::Rne, 0),
    (Rounding::Rz, 1),
    (Rounding::Rd, 2),
    (Rounding::Ru, 3),
    (Rounding::Rna, 4),
    (Rounding::Ro, 6),
];

/// Cases at a time: their operands and results stay in the cache.
const BATCH: usize = 512;

/// First case of a piece of the sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Position {
    pair: u64,
    drawn: u64,
}

#[derive(Clone, Copy)]
struct Sequence {
    format: &'static str,
    positions: &'static str,
    /// Number of values of each operand in TestFloat: exponents and signs, times trailing patterns.
    values: u64,
}

const SEQUENCES: [Sequence; 3] = [
    Sequence { format: "f16", positions: include_str!("positions-f16.csv"), values: 22 * 36 },
    Sequence { format: "f32", positions: include_str!("positions-f32.csv"), values: 22 * 88 },
    Sequence { format: "f64", positions: include_str!("positions-f64.csv"), values: 22 * 204 },
];

impl Sequence {
    /// First cases of the pieces, and the end of the sequence.
    fn positions(&self) -> Vec<Position> {
        let mut lines = self.positions.lines();
        assert_eq!(lines.next(), Some("pair,drawn"));
        let number =
            |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("positions of {}: {text}", self.format));
        let position = |line: &str| {
            let (pair, drawn) = line.split_once(',').expect("two columns");
            Position { pair: number(pair), drawn: number(drawn) }
        };
        lines.map(position).collect()
    }

    fn pairs(&self) -> u64 {
        self.values.pow(3)
    }
}

#[test]
fn the_pieces_cover_the_sequences() {
    for sequence in SEQUENCES {
        let positions = sequence.positions();
        assert_eq!(positions[0], Position { pair: 0, drawn: 0 });
        assert!(positions.is_sorted_by(|a, b| a.pair < b.pair && a.drawn < b.drawn), "{}", sequence.format);
        assert_eq!(positions.last().unwrap().pair, sequence.pairs(), "{}", sequence.format);
    }
}

#[test]
fn the_kept_report_has_every_case_in_every_set_of_options_and_none_differs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/softfloat/mul-add-pieces.csv");
    let lines = reported(&path);
    let mut expected = vec!["format,piece,cases,compared,differing".to_string()];
    for sequence in SEQUENCES {
        for (i, ends) in sequence.positions().windows(2).enumerate() {
            let cases = 2 * (ends[1].pair - ends[0].pair);
            expected.push(format!("{},{i},{cases},{},0", sequence.format, cases * 2 * ROUNDINGS.len() as u64));
        }
    }
    assert_eq!(lines.len(), expected.len());
    assert!(lines.iter().all(|line| expected.contains(line)));
}

/// Result of a piece.
#[derive(Default)]
struct Tally {
    compared: u64,
    differing: u64,
    examples: Vec<String>,
}

impl Tally {
    /// Compares SoftFloat's results in one set of options with the unit's; all NaNs are equal.
    fn compare(
        &mut self,
        unit: &Unit,
        operands: [&[u64]; 3],
        results: &[u64],
        flags: &[u8],
        outcomes: &mut Vec<Outcome>,
    ) {
        outcomes.resize(results.len(), Outcome { code: None, flags: Flags::NONE });
        unit.outcomes(Operation::Fma, operands, outcomes);
        let infinity = unit.format().largest(false) + 1;
        let nan = |code: u64| code & (unit.format().code_mask() >> 1) > infinity;
        for (i, ((outcome, result), flags)) in outcomes.iter().zip(results).zip(flags).enumerate() {
            let same = outcome.code.is_some_and(|code| code == *result || nan(code) && nan(*result));
            if !same || outcome.flags.bits() != *flags {
                self.differing += 1;
                if self.examples.len() < 3 {
                    let operands = operands.map(|codes| codes[i]);
                    let (theirs, environment) = (Flags::from_bits(*flags), unit.environment());
                    self.examples
                        .push(format!("{operands:x?} -> {result:x} {theirs:?}, here {outcome:x?} ({environment:?})"));
                }
            }
        }
        self.compared += outcomes.len() as u64;
    }
}

/// Runs one piece in every set of options.
fn run(cases: &mut Cases, format: &'static Format, piece: [Position; 2]) -> Tally {
    let [from, to] = piece;
    // SoftFloat's 8086 rule flags zero times infinity plus NaN, like the canonical rule.
    let unit = |rounding, tininess| {
        Unit::new(format, Environment { rounding, tininess, nan: NanRule::Canonical, ..Environment::default() })
            .unwrap()
    };
    let units = ROUNDINGS.map(|(rounding, _)| [Tininess::Before, Tininess::After].map(|rule| unit(rounding, rule)));
    let (mut batch, mut outcomes, mut tally) = (Batch::default(), Vec::new(), Tally::default());
    let mut left = 2 * (to.pair - from.pair);
    cases.seek(from.pair, from.drawn);
    while left > 0 {
        let count = left.min(BATCH as u64) as usize;
        cases.next(count, &mut batch);
        cases.mul_add(&ROUNDINGS.map(|(_, number)| number), &mut batch);
        let operands = batch.operands.each_ref().map(Vec::as_slice);
        let sets = batch.results.chunks(count).zip(batch.flags.chunks(count));
        for (unit, (results, flags)) in units.as_flattened().iter().zip(sets) {
            tally.compare(unit, operands, results, flags, &mut outcomes);
        }
        left -= count as u64;
    }
    assert_eq!(
        tally.compared,
        2 * (to.pair - from.pair) * units.as_flattened().len() as u64,
        "{format}: every case in every set of options"
    );
    assert_eq!(cases.drawn(), to.drawn, "{format}: the piece from {from:?} does not end at {to:?}");
    tally
}

/// Complete lines of a report of pieces.
fn reported(path: &Path) -> Vec<String> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    BufReader::new(file).lines().map(|line| line.expect("text")).filter(|line| line.split(',').count() == 5).collect()
}

/// True if `TCNUM_TESTFLOAT_PIECES` asks for this piece: all, or of the form `f64:0-99`.
fn wanted(format: &str, piece: usize) -> bool {
    let Ok(text) = env::var("TCNUM_TESTFLOAT_PIECES") else { return true };
    let parse = || {
        let (name, range) = text.split_once(':')?;
        let (first, last) = range.split_once('-')?;
        Some((name, first.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
    };
    let (name, first, last) =
        parse().unwrap_or_else(|| panic!("TCNUM_TESTFLOAT_PIECES={text} is not of the form f64:0-99"));
    name == format && (first..=last).contains(&piece)
}

#[test]
#[ignore = "takes 15 hours of a core, and the libraries that tools/testfloat-library compiles"]
fn not_one_case_of_mul_add_differs() {
    let Some(folder) = env::var_os("TCNUM_TESTFLOAT").map(PathBuf::from) else {
        panic!("TCNUM_TESTFLOAT is not set: the folder that tools/testfloat-library wrote to");
    };
    let started = Instant::now();
    let limit =
        env::var("TCNUM_TESTFLOAT_SECONDS").map(|text| text.parse().expect("TCNUM_TESTFLOAT_SECONDS is a number"));
    let limit = limit.map_or(Duration::MAX, Duration::from_secs);

    let report = folder.join("pieces.csv");
    let key = |line: &str| line.split(',').take(2).collect::<Vec<_>>().join(",");
    let done: BTreeSet<String> = reported(&report).iter().map(|line| key(line)).collect();
    let mut pieces = Vec::new();
    for (at, sequence) in SEQUENCES.iter().enumerate() {
        for (i, ends) in sequence.positions().windows(2).enumerate() {
            if wanted(sequence.format, i) && !done.contains(&format!("{},{i}", sequence.format)) {
                pieces.push((at, i, [ends[0], ends[1]]));
            }
        }
    }
    let output = OpenOptions::new().create(true).append(true).open(&report).expect("the report");
    let (output, next) = (Mutex::new(output), AtomicUsize::new(0));
    thread::scope(|scope| {
        for worker in 0..thread::available_parallelism().map_or(1, usize::from) {
            let (output, next, pieces, folder) = (&output, &next, &pieces, &folder);
            scope.spawn(move || {
                let mut libraries = SEQUENCES.map(|sequence| {
                    let name = sequence.format;
                    let mut library = Cases::load(folder, name, &folder.join(format!("libcases-{name}-{worker}.so")));
                    assert_eq!(library.total(), 2 * sequence.pairs(), "{name}");
                    library
                });
                while started.elapsed() < limit {
                    let Some((at, i, ends)) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    let sequence = SEQUENCES[*at];
                    let tally = run(&mut libraries[*at], format::find(sequence.format).unwrap(), *ends);
                    let cases = 2 * (ends[1].pair - ends[0].pair);
                    let line = format!("{},{i},{cases},{},{}\n", sequence.format, tally.compared, tally.differing);
                    output.lock().unwrap().write_all(line.as_bytes()).expect("the report");
                    for example in tally.examples {
                        eprintln!("{} piece {i}: {example}", sequence.format);
                    }
                }
            });
        }
    });

    let part = ["TCNUM_TESTFLOAT_PIECES", "TCNUM_TESTFLOAT_SECONDS"].iter().any(|name| env::var_os(name).is_some());
    let lines = reported(&report);
    for sequence in SEQUENCES {
        let of: Vec<Vec<u64>> = lines
            .iter()
            .filter_map(|line| line.strip_prefix(&format!("{},", sequence.format)))
            .map(|line| line.split(',').map(|number| number.parse().expect("a number")).collect())
            .collect();
        let sum = |column: usize| of.iter().map(|row| row[column]).sum::<u64>();
        let all = sequence.positions().len() - 1;
        println!(
            "{}: {} of {all} pieces, {} of {} cases, {} comparisons, {} differ",
            sequence.format,
            of.len(),
            sum(1),
            2 * sequence.pairs(),
            sum(2),
            sum(3)
        );
        assert_eq!(sum(3), 0, "{}: some cases differ", sequence.format);
        let sets = 2 * ROUNDINGS.len() as u64;
        assert!(
            part || (of.len(), sum(1), sum(2)) == (all, 2 * sequence.pairs(), 2 * sequence.pairs() * sets),
            "{}: some pieces are missing",
            sequence.format
        );
    }
}
