//! Standard input: an interruption ends the wait for more; it is read by lines or words.

use std::io::{self, BufRead, Read};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use super::interrupt;
use crate::{Error, Result};

/// Interval of checks for an interruption while there is nothing to read.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Longest line or word, in bytes.
const LONGEST: usize = 4 << 20;
/// Rows of a report from standard input, at most: they stay in memory.
pub(crate) const MOST_ROWS: usize = 2_000_000;

/// Standard input without a buffer, so that unread bytes stay in the pipe.
/// An interruption ends the reading with an error that [`Error::reading`] turns into [`Error::Interrupted`].
#[derive(Debug, Clone, Copy)]
pub struct StandardInput;

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let input = io::stdin();
        loop {
            interrupt::check().map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&LOOK)) {
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            match rustix::io::read(&input, &mut *buffer) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                outcome => return Ok(outcome?),
            }
        }
    }
}

/// Calls `work` with each nonempty line of `input`.
///
/// # Errors
/// Errors of `work`, with the line number; unreadable input; a line longer than `LONGEST`; an interruption.
pub fn each_line(input: impl BufRead, work: impl FnMut(&str) -> Result<()>) -> Result<()> {
    each(input, "line", |byte| byte == b'\n', work)
}

/// Calls `work` with each word of `input`, separated by white space.
///
/// # Errors
/// As [`each_line`].
pub fn each_word(input: impl BufRead, work: impl FnMut(&str) -> Result<()>) -> Result<()> {
    each(input, "word", |byte| byte.is_ascii_whitespace(), work)
}

fn each(
    input: impl BufRead,
    what: &str,
    ends: impl Fn(u8) -> bool,
    mut work: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    let (mut line, mut piece) = (1, Vec::new());
    let mut bytes = input.bytes();
    loop {
        let place = || format!("standard input, line {line}");
        let byte = bytes.next().transpose().map_err(|error| Error::reading(error, place()))?;
        if let Some(byte) = byte.filter(|byte| !ends(*byte)) {
            if piece.len() == LONGEST {
                return Err(Error::request(format!("{}: the {what} is longer than {} MiB", place(), LONGEST >> 20)));
            }
            piece.push(byte);
            continue;
        }
        if !piece.is_empty() {
            let text = str::from_utf8(&piece)
                .map_err(|_| Error::request("it is not text (UTF-8); give operands as numbers or hexadecimal codes"));
            text.and_then(&mut work).map_err(|error| error.within(place()))?;
            piece.clear();
        }
        match byte {
            None => return Ok(()),
            Some(byte) => line += u64::from(byte == b'\n'),
        }
    }
}

/// Refuses a row beyond `MOST_ROWS`.
///
/// # Errors
/// A request error that names the limit, and with `instead` a way without one.
pub fn room_for_a_row(rows: usize, instead: &str) -> Result<()> {
    match rows < MOST_ROWS {
        true => Ok(()),
        false => Err(Error::request(format!("a report has at most {MOST_ROWS} rows of standard input; {instead}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_words_are_those_of_the_text_whatever_ends_it() {
        let text = "1 2\n\n  3\t4\r\n5";
        let (mut lines, mut words) = (Vec::new(), Vec::new());
        each_line(text.as_bytes(), |line| {
            lines.push(line.to_string());
            Ok(())
        })
        .unwrap();
        each_word(text.as_bytes(), |word| {
            words.push(word.to_string());
            Ok(())
        })
        .unwrap();
        assert_eq!(lines, ["1 2", "  3\t4\r", "5"]);
        assert_eq!(words, ["1", "2", "3", "4", "5"]);
    }

    #[test]
    fn an_error_names_its_line_and_ends_the_reading() {
        let refuse = |piece: &str| if piece == "x" { Err(Error::request("no number")) } else { Ok(()) };
        let wrong = |text: &[u8]| each_word(text, refuse).unwrap_err().to_string();
        assert_eq!(wrong(b"1 2\n3 x\n4"), "standard input, line 2: no number");
        assert!(wrong(b"1\n\n\xff\xfe 2").starts_with("standard input, line 3: it is not text (UTF-8)"));
        assert_eq!(wrong(&[b'1'; LONGEST + 1]), "standard input, line 1: the word is longer than 4 MiB");
        assert_eq!(each_word(&[b'1'; LONGEST][..], refuse), Ok(()));
    }
}
