//! Checking a stream of lines on all processors while it is read.

use std::io::{ErrorKind, Read};

use super::{
    LineDifference, Operator,
    lines::{CheckedLines, LineComparison},
};
use crate::{
    Error, Result,
    base::{parallel, threads},
};

/// Bytes that are read before they are compared, while the next are read.
const BLOCK: usize = 4 << 20;
/// Bytes of a block that one task compares.
const PIECE: usize = 128 << 10;

/// How to check.
#[derive(Debug, Clone, Copy)]
pub struct LineCheck {
    /// Compare NaNs, and the integers of invalid conversions, exactly; else any matches any.
    pub strict: bool,
    /// Number of differences that are kept; all are counted.
    pub limit: usize,
}

/// Result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineTally {
    /// Compared lines.
    pub lines: u64,
    /// Lines that differ.
    pub differing: u64,
    /// The first of those.
    pub differences: Vec<LineDifference>,
}

/// Compares the lines of `input` with the results of `operator`.
///
/// A line has operands, result and flags as bare hexadecimal numbers between white space (the layout of Berkeley TestFloat's
/// generator). Empty lines are skipped.
///
/// Result and flags have to be the same, but see [`LineCheck::strict`]. What was found before an error is returned with it: the
/// first line that is malformed, has a code wider than its format or another count of fields (with number and word), or a
/// failure to read, an interruption of `input` among them.
pub fn check(operator: &Operator, check: LineCheck, mut input: impl Read) -> (LineTally, Result<()>) {
    let comparison = LineComparison::new(operator, check.strict, check.limit);
    let (mut tally, mut read) = (LineTally::default(), 0);
    let mut block = Vec::with_capacity(BLOCK + 1);
    let mut status = fill(&mut input, &mut block);
    while !block.is_empty() {
        let lines_end = block.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        if lines_end == 0 {
            let endless = || fault(read + 1, format!("the line is longer than {} MiB", BLOCK >> 20));
            return (tally, status.and_then(|()| Err(endless())));
        }
        let mut next = Vec::with_capacity(BLOCK + 1);
        next.extend_from_slice(&block[lines_end..]);
        let more = status.is_ok();
        threads::start_pool();
        // The calling thread reads, since it is the one that may be interrupted.
        let (mut pieces, mut filled) = (Vec::new(), Ok(()));
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| pieces = compare(&comparison, &block[..lines_end]));
            if more {
                filled = fill(&mut input, &mut next);
            }
        });
        for piece in pieces {
            if let Err(error) = tally.add(piece, &mut read, check.limit) {
                return (tally, Err(error));
            }
        }
        if more {
            status = filled;
        }
        block = next;
    }
    (tally, status)
}

/// The first pieces of `text`, up to the first with a fault.
fn compare(comparison: &LineComparison<'_>, text: &[u8]) -> Vec<CheckedLines> {
    let mut pieces = Vec::with_capacity(text.len() / PIECE + 1);
    let mut rest = text;
    while !rest.is_empty() {
        let least = PIECE.min(rest.len()) - 1;
        let end = rest[least..].iter().position(|&byte| byte == b'\n').map_or(rest.len(), |end| least + end + 1);
        let (piece, others) = rest.split_at(end);
        pieces.push(piece);
        rest = others;
    }
    parallel::map(pieces, |piece| comparison.run(piece))
}

/// Fills a block from `input`, up to its end; the last line gets its line feed.
fn fill(input: &mut impl Read, block: &mut Vec<u8>) -> Result<()> {
    let mut used = block.len();
    block.resize(BLOCK, 0);
    let status = loop {
        if used == BLOCK {
            break Ok(());
        }
        match input.read(&mut block[used..]) {
            Ok(0) => {
                block.truncate(used);
                if used > 0 && block[used - 1] != b'\n' {
                    block.push(b'\n');
                }
                return Ok(());
            }
            Ok(count) => used += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break Err(Error::reading(error, "standard input")),
        }
    };
    block.truncate(used);
    status
}

impl LineTally {
    /// Adds the next piece; `read` lines came before it.
    fn add(&mut self, piece: CheckedLines, read: &mut u64, limit: usize) -> Result<()> {
        self.lines += piece.compared;
        self.differing += piece.differing;
        let room = limit - self.differences.len();
        let numbered = |difference: LineDifference| LineDifference { line: difference.line + *read, ..difference };
        self.differences.extend(piece.differences.into_iter().take(room).map(numbered));
        *read += piece.lines;
        piece.fault.map_or(Ok(()), |what| Err(fault(*read + 1, what)))
    }
}

fn fault(line: u64, what: String) -> Error {
    Error::request(format!("standard input, line {line}: {what}"))
}
