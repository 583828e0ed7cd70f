//! The answers that a kit program has printed, as recordings.
//!
//! A line `tcnum-kit 1 INSTRUCTION 8x8` begins the answers of an instruction, with the rows and columns of D that are printed. Then come
//! `device: TEXT`, a line for each tile, and `end N DIGEST` with the number of tiles and, if the program has it, the FNV-1a digest of all printed
//! bytes. The line of a tile, `tile 0 A=.. B=.. C=.. D=..`, has
//! the bytes of each matrix, row by row, as hexadecimal digits; of sparse forms also `positions`, of block-scaled ones `scale_a` and
//! `scale_b`.

use std::{collections::BTreeMap, io::Read, path::Path};

use super::{INCOMPLETE, Trace, part};
use crate::{
    Error, Result,
    array::check_codes,
    base::{digest::fnv1a, text},
    format::Format,
    isa::{self, Codes, Instruction, Operand, Tiles, operands},
};

/// The first word of the answers of an instruction, and the version of their form.
const PRINTED: &str = "tcnum-kit";
const VERSION: &str = "1";

/// Reads what a kit program has printed: one recording for each instruction.
///
/// # Errors
/// A request error that names the file, the line and what is wrong with it.
pub fn read_printed(path: &Path) -> Result<Vec<Trace>> {
    let content = text::read_result(path, "the answers")?;
    parse(&content).map_err(|message| Error::request(format!("answers {}: {message}", path.display())))
}

/// The answers of one instruction so far.
struct Answers {
    instruction: Instruction,
    part: Instruction,
    device: String,
    /// The bytes of each operand, in the order of [`operands`], and of D.
    arrays: Vec<Vec<u8>>,
    /// All bytes in the order of the lines, for the digest.
    printed: Vec<u8>,
    tiles: usize,
    ended: bool,
}

/// Returns true if a file begins as the answers of a kit do.
pub(super) fn is_printed(path: &Path) -> bool {
    let mut start = [0; PRINTED.len()];
    text::open(path).is_ok_and(|(mut file, _)| file.read_exact(&mut start).is_ok()) && start == PRINTED.as_bytes()
}

/// Reads the answers to a kit of one instruction.
pub(super) fn read_one(path: &Path) -> std::result::Result<Trace, String> {
    let mut traces = parse(&text::read_result(path, "the answers").map_err(|error| error.to_string())?)?;
    match traces.pop() {
        Some(trace) if traces.is_empty() => Ok(trace),
        last => {
            let names: Vec<String> = traces.iter().chain(&last).map(|trace| trace.instruction.name.clone()).collect();
            Err(format!(
                "a recording is of one instruction, and these answers are of {}; put the lines of each, from '{PRINTED}' to 'end', into \
                 a file",
                names.join(", ")
            ))
        }
    }
}

fn parse(content: &str) -> std::result::Result<Vec<Trace>, String> {
    let mut all: Vec<Answers> = Vec::new();
    for (at, line) in content.lines().enumerate() {
        let wrong = |message: String| format!("line {}: {message}", at + 1);
        let mut words = line.split_whitespace();
        match (words.next(), all.last_mut()) {
            (None, _) => {}
            (Some(PRINTED), _) => all.push(begin(&mut words).map_err(wrong)?),
            (_, None) => return Err(wrong(format!("answers begin with '{PRINTED} {VERSION} INSTRUCTION 8x8'"))),
            (Some("device:"), Some(answers)) => answers.device = words.collect::<Vec<_>>().join(" "),
            (Some("tile"), Some(answers)) => answers.add(&mut words).map_err(wrong)?,
            (Some("end"), Some(answers)) => answers.end(&mut words).map_err(wrong)?,
            (Some(word), _) => return Err(wrong(format!("'{word}' is not expected here"))),
        }
    }
    if all.is_empty() {
        return Err(format!("it is empty; answers begin with '{PRINTED} {VERSION} INSTRUCTION 8x8'"));
    }
    all.into_iter().map(Answers::trace).collect()
}

/// The answers that a first line announces.
fn begin<'a>(words: &mut impl Iterator<Item = &'a str>) -> std::result::Result<Answers, String> {
    let [version, name, shape] = [(); 3].map(|()| words.next().unwrap_or_default());
    if version != VERSION {
        return Err(format!("version '{version}' of the answers is unknown; this program reads version {VERSION}"));
    }
    let instruction = isa::find(name).map_err(|error| error.to_string())?;
    let size = shape.split_once('x').and_then(|(m, n)| Some([m.parse().ok()?, n.parse().ok()?]));
    let Some([m, n]) = size.filter(|[m, n]| (1..=instruction.m).contains(m) && (1..=instruction.n).contains(n)) else {
        let (m, n) = (instruction.m, instruction.n);
        return Err(format!("'{shape}' is no part of D of {name}: from 1x1 to {m}x{n}"));
    };
    let part = part(&instruction, [m, n, instruction.k]);
    let arrays = vec![Vec::new(); operands(&part).len() + 1];
    Ok(Answers { instruction, part, device: String::new(), arrays, printed: Vec::new(), tiles: 0, ended: false })
}

impl Answers {
    /// The matrices of a tile: name, format and number of codes.
    fn matrices(&self) -> Vec<(&'static str, &'static Format, usize)> {
        let of = |o: Operand| (o.name, o.format, o.len());
        let d = ("d", self.part.d, self.part.m * self.part.n);
        operands(&self.part).into_iter().map(of).chain([d]).collect()
    }

    /// Adds the tile of a line.
    fn add<'a>(&mut self, words: &mut impl Iterator<Item = &'a str>) -> std::result::Result<(), String> {
        let number = words.next().unwrap_or_default();
        if number != self.tiles.to_string() {
            return Err(format!("tile {} is expected, not '{number}'", self.tiles));
        }
        for (at, (name, format, length)) in self.matrices().into_iter().enumerate() {
            let word = words.next().unwrap_or_default();
            let digits =
                word.split_once('=').filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, digits)| digits);
            let digits = digits.ok_or_else(|| format!("'{}=' is expected", name.to_uppercase()))?;
            let bytes =
                hexadecimal(digits).filter(|bytes| bytes.len() == length * format.bytes()).ok_or_else(|| {
                    format!("{name} has {length} codes of {} bytes, as hexadecimal digits", format.bytes())
                })?;
            self.printed.extend(&bytes);
            self.arrays[at].extend(bytes);
        }
        self.tiles += 1;
        Ok(())
    }

    /// Ends the answers, which the last line counts.
    fn end<'a>(&mut self, words: &mut impl Iterator<Item = &'a str>) -> std::result::Result<(), String> {
        let count = words.next().unwrap_or_default();
        if count != self.tiles.to_string() {
            return Err(format!("'end {count}' after {} tiles: a line is missing", self.tiles));
        }
        let digest = format!("{:016x}", fnv1a(&self.printed));
        if let Some(printed) = words.next().filter(|printed| *printed != digest) {
            let name = &self.instruction;
            return Err(format!(
                "the lines of {name} have the digest {digest}, not {printed}: they are not as the program printed them"
            ));
        }
        self.ended = true;
        Ok(())
    }

    fn trace(self) -> std::result::Result<Trace, String> {
        let name = self.instruction.name.clone();
        if self.tiles == 0 {
            return Err(format!("no tile of {name} was answered"));
        }
        let mut arrays = Vec::new();
        for ((matrix, format, _), bytes) in self.matrices().into_iter().zip(self.arrays) {
            let codes =
                Codes::from_bytes(format, bytes).ok_or_else(|| format!("{name}: {matrix}: a fraction of a code"))?;
            check_codes(&format!("{name}: {matrix}"), format, &codes, 0).map_err(|error| error.to_string())?;
            arrays.push((matrix, codes));
        }
        let (_, d) = arrays.pop().unwrap_or_else(|| ("d", Codes::zeros(self.part.d, 0)));
        let inputs = Tiles::from_arrays(self.tiles, arrays).ok_or("A, B or C is missing")?;
        if let (Some(chunk), Some(positions)) = (self.instruction.chunk(), &inputs.positions)
            && !chunk.allows(positions.iter())
        {
            return Err(format!("positions: each chunk of {name} has {}", chunk.rule()));
        }
        let mut metadata = BTreeMap::from([("source".to_string(), "a kit of tcnum".to_string())]);
        if !self.device.is_empty() {
            metadata.insert("device".into(), self.device);
        }
        if !self.ended {
            metadata.insert(INCOMPLETE.into(), format!("{} tiles; the line with 'end' is missing", self.tiles));
        }
        let Instruction { m, n, k, .. } = self.part;
        Ok(Trace { instruction: self.instruction, m, n, k, inputs, d, metadata })
    }
}

fn hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?, 16).ok())
        .collect()
}
