//! Berkeley TestFloat's level 2 of mulAdd in f32 and f64, every case in every set of options, against the soft-float.
//!
//! As text these are 2.3 * 10^12 lines. Here TestFloat's generator, SoftFloat and the soft-float are one process, and the
//! cases come in pieces, which are checked side by side. A piece begins where `positions-f32.csv` and `positions-f64.csv` say
//! (cases come in pairs, the first of which has random operands: which pair it is, and how many random numbers went before);
//! that it ends where the next one begins is checked, so all of them together are TestFloat's own sequence.
//!
//!     tools/testfloat-library target/testfloat
//!     TCNUM_TESTFLOAT=target/testfloat cargo test --release --test testfloat_level2 -- --ignored --nocapture
//!
//! One line for each piece goes to `target/testfloat/pieces.csv`; what is there already is not run again.
//! `TCNUM_TESTFLOAT_SECONDS=N` starts no piece after that time, and `TCNUM_TESTFLOAT_PIECES=f64:0-99` runs those pieces only.
#![deny(unsafe_code)]

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

use library::{Batch, Cases, Code, Options};
use tcnum::{
    format::{self, Class, Format, Rounding},
    softfloat::{Environment, Flags, NanRule, Outcome, Tininess, Unit},
};

/// SoftFloat's numbers of the roundings, and of when tininess is detected.
const ROUNDINGS: [(Rounding, u8); 6] = [
    (Rounding::Rne, 0),
    (Rounding::Rz, 1),
    (Rounding::Rd, 2),
    (Rounding::Ru, 3),
    (Rounding::Rna, 4),
    (Rounding::Ro, 6),
];
const TININESS: [(Tininess, u8); 2] = [(Tininess::Before, 0), (Tininess::After, 1)];

/// Cases at a time: their operands and results stay in the cache for all sets of options.
const BATCH: usize = 256;

/// Where a piece of the sequence begins.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Position {
    pair: u64,
    drawn: u64,
}

#[derive(Clone, Copy)]
struct Sequence {
    format: &'static str,
    positions: &'static str,
    /// Values that TestFloat takes for each operand: exponents and signs, times patterns of the trailing significand.
    values: u64,
}

const SEQUENCES: [Sequence; 2] = [
    Sequence { format: "f32", positions: include_str!("positions-f32.csv"), values: 22 * 88 },
    Sequence { format: "f64", positions: include_str!("positions-f64.csv"), values: 22 * 204 },
];

impl Sequence {
    /// Where the pieces begin, and last where the sequence ends.
    fn positions(&self) -> Vec<Position> {
        let mut lines = self.positions.lines();
        assert_eq!(lines.next(), Some("pair,drawn"));
        let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("positions of {}: {text}", self.format));
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

/// What a piece came to.
#[derive(Default)]
struct Tally {
    compared: u64,
    differing: u64,
    examples: Vec<String>,
}

/// The units of a format for every set of options, and SoftFloat's numbers of these.
///
/// SoftFloat's 8086 rule flags zero times infinity plus NaN, as the canonical rule does; any NaN stands for a NaN.
fn sets(format: &'static Format) -> (Vec<Unit<'static>>, Options) {
    let (mut units, mut options) = (Vec::new(), Options { roundings: Vec::new(), tininess: Vec::new() });
    for (rounding, rounding_number) in ROUNDINGS {
        for (tininess, tininess_number) in TININESS {
            let environment = Environment { rounding, tininess, nan: NanRule::Canonical, ..Environment::default() };
            units.push(Unit::new(format, environment).unwrap());
            options.roundings.push(rounding_number);
            options.tininess.push(tininess_number);
        }
    }
    (units, options)
}

impl Tally {
    /// Compares SoftFloat's results of the first `count` cases with those of the units.
    fn compare<T: Code>(&mut self, units: &[Unit], count: usize, batch: &Batch<T>) {
        let [x, y, z] = batch.operands.each_ref().map(|operand| &operand[..count]);
        let expected = batch.results.chunks(units.len()).zip(batch.flags.chunks(units.len()));
        for (((x, y), z), (results, flags)) in x.iter().zip(y).zip(z).zip(expected) {
            let operands: [u64; 3] = [(*x).into(), (*y).into(), (*z).into()];
            for ((unit, result), flags) in units.iter().zip(results).zip(flags) {
                let (result, flags): (u64, Flags) = ((*result).into(), Flags::from_bits(*flags));
                let outcome = unit.fma(operands[0], operands[1], operands[2]);
                if outcome.code != Some(result) || outcome.flags != flags {
                    self.another(unit, operands, result, flags, outcome);
                }
            }
        }
        self.compared += (count * units.len()) as u64;
    }

    /// Counts another outcome than SoftFloat's, unless both are NaNs with the same flags.
    #[cold]
    fn another(&mut self, unit: &Unit, operands: [u64; 3], result: u64, flags: Flags, outcome: Outcome) {
        let nan = |code: u64| unit.format().decode(code).class == Class::Nan;
        if outcome.flags == flags && outcome.code.is_some_and(nan) && nan(result) {
            return;
        }
        self.differing += 1;
        if self.examples.len() < 3 {
            let environment = unit.environment();
            self.examples.push(format!("{operands:x?} -> {result:x} {flags:?}, here {outcome:x?} ({environment:?})"));
        }
    }
}

/// Runs one piece in every set of options.
fn run<T: Code>(cases: &mut Cases, format: &'static Format, piece: [Position; 2]) -> Tally {
    let [from, to] = piece;
    let (units, options) = sets(format);
    let mut batch = Batch::<T>::new(BATCH, units.len());
    let mut tally = Tally::default();
    let mut left = 2 * (to.pair - from.pair);
    cases.seek(from.pair, from.drawn);
    while left > 0 {
        let count = left.min(BATCH as u64) as usize;
        cases.next(count, &mut batch);
        cases.mul_add(&options, count, &mut batch);
        tally.compare(&units, count, &batch);
        left -= count as u64;
    }
    assert_eq!(cases.drawn(), to.drawn, "{format}: the piece from {from:?} does not end at {to:?}");
    tally
}

/// The pieces of a report that are there: lines that end.
fn reported(path: &Path) -> Vec<String> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    BufReader::new(file).lines().map(|line| line.expect("text")).filter(|line| line.split(',').count() == 5).collect()
}

/// Whether `TCNUM_TESTFLOAT_PIECES` asks for this piece: all, or of the form `f64:0-99`.
fn wanted(format: &str, piece: usize) -> bool {
    let Ok(text) = env::var("TCNUM_TESTFLOAT_PIECES") else { return true };
    let parse = || {
        let (name, range) = text.split_once(':')?;
        let (first, last) = range.split_once('-')?;
        Some((name, first.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
    };
    let (name, first, last) = parse().unwrap_or_else(|| panic!("TCNUM_TESTFLOAT_PIECES={text} is not of the form f64:0-99"));
    name == format && (first..=last).contains(&piece)
}

#[test]
#[ignore = "takes a day of a core, and the libraries that tools/testfloat-library compiles"]
fn not_one_case_of_mul_add_differs() {
    let Some(folder) = env::var_os("TCNUM_TESTFLOAT").map(PathBuf::from) else {
        panic!("TCNUM_TESTFLOAT is not set: the folder that tools/testfloat-library wrote to");
    };
    let started = Instant::now();
    let limit = env::var("TCNUM_TESTFLOAT_SECONDS").map(|text| text.parse().expect("TCNUM_TESTFLOAT_SECONDS is a number"));
    let limit = limit.map_or(Duration::MAX, Duration::from_secs);

    let report = folder.join("pieces.csv");
    let key = |line: &str| line.split(',').take(2).collect::<Vec<_>>().join(",");
    let done: BTreeSet<String> = reported(&report).iter().map(|line| key(line)).collect();
    let mut pieces = Vec::new();
    for sequence in SEQUENCES {
        for (i, ends) in sequence.positions().windows(2).enumerate() {
            if wanted(sequence.format, i) && !done.contains(&format!("{},{i}", sequence.format)) {
                pieces.push((sequence, i, [ends[0], ends[1]]));
            }
        }
    }
    let output = OpenOptions::new().create(true).append(true).open(&report).expect("the report");
    let (output, next) = (Mutex::new(output), AtomicUsize::new(0));
    thread::scope(|scope| {
        for worker in 0..thread::available_parallelism().map_or(1, usize::from) {
            let (output, next, pieces, folder) = (&output, &next, &pieces, &folder);
            scope.spawn(move || {
                let copy = |width| folder.join(format!("libcases-f{width}-{worker}.so"));
                let mut single = Cases::load(folder, 32, &copy(32));
                let mut double = Cases::load(folder, 64, &copy(64));
                assert_eq!(single.total(), 2 * SEQUENCES[0].pairs());
                assert_eq!(double.total(), 2 * SEQUENCES[1].pairs());
                while started.elapsed() < limit {
                    let Some((sequence, i, ends)) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    let format = format::find(sequence.format).unwrap();
                    let tally = match format.bits {
                        32 => run::<u32>(&mut single, format, *ends),
                        _ => run::<u64>(&mut double, format, *ends),
                    };
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
    }
}
