//! Lines of operands, expected result and expected flags, compared with what an operator computes.

use super::{
    CodeMeaning, Operator,
    hex::{length, load, value},
};
use crate::{
    format::{Class, Format},
    softfloat::{CLASSES, Flags, Outcome},
};

/// Fields of the longest line: three operands, result, flags.
const MOST: usize = 5;

/// A line whose result or flags are not what was computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineDifference {
    /// Its number, from 1.
    pub line: u64,
    /// The operands; zeros where there are fewer.
    pub operands: [u64; 3],
    /// The result that the line has.
    pub expected: u64,
    /// The flags that the line has.
    pub expected_flags: Flags,
    /// The computed result.
    pub computed: Outcome,
}

#[derive(Debug, Default)]
pub(super) struct CheckedLines {
    /// Lines, empty ones included.
    pub(super) lines: u64,
    pub(super) compared: u64,
    pub(super) differing: u64,
    /// The first of those; lines are counted from the start of the piece.
    pub(super) differences: Vec<LineDifference>,
    /// The defect of the line that ended the reading.
    pub(super) fault: Option<String>,
}

pub(super) struct LineComparison<'a> {
    operator: &'a Operator,
    /// Compare NaNs, and integers of invalid conversions, exactly.
    strict: bool,
    limit: usize,
    /// The operands' count, then result and flags.
    fields: usize,
    /// Per field, the bits that a code may not have.
    beyond: [u64; MOST],
}

impl<'a> LineComparison<'a> {
    pub(super) fn new(operator: &'a Operator, strict: bool, limit: usize) -> Self {
        let count = operator.operands();
        let mut beyond = [!operator.format().code_mask(); MOST];
        beyond[count] = match operator.answer() {
            CodeMeaning::Code(format) => !format.code_mask(),
            CodeMeaning::Truth => !1,
            CodeMeaning::Class => !15,
        };
        beyond[count + 1] = !31;
        LineComparison { operator, strict, limit, fields: count + 2, beyond }
    }

    /// Compares the lines of `text`, each with a line feed at its end.
    pub(super) fn run(&self, text: &[u8]) -> CheckedLines {
        let (mut piece, mut at) = (CheckedLines::default(), 0);
        while at < text.len() {
            let start = at;
            match self.fields(text, &mut at) {
                Some((0, _)) => {}
                Some((count, fields)) if count == self.fields && !self.too_wide(&fields) => {
                    piece.compared += 1;
                    self.compare(&fields, &mut piece);
                }
                _ => {
                    let line = text[start..].split(|&byte| byte == b'\n').next().unwrap_or_default();
                    piece.fault = Some(self.fault(line));
                    return piece;
                }
            }
            piece.lines += 1;
        }
        piece
    }

    /// The fields of the line at `at`, which moves on; `None` for a word that is no number, or too many.
    #[inline]
    fn fields(&self, text: &[u8], at: &mut usize) -> Option<(usize, [u64; MOST])> {
        let (mut count, mut fields) = (0, [0; MOST]);
        loop {
            match text[*at] {
                b' ' | b'\t' | b'\r' => *at += 1,
                b'\n' => {
                    *at += 1;
                    return Some((count, fields));
                }
                _ if count == MOST => return None,
                _ => {
                    let word = load(text, *at);
                    let digits = length(word);
                    // None: a control character.
                    let mut number = u64::from(value(word, digits.max(1))?);
                    *at += digits as usize;
                    if digits == 8 {
                        let word = load(text, *at);
                        let digits = length(word);
                        if digits > 0 {
                            number = number << (4 * digits) | u64::from(value(word, digits)?);
                            *at += digits as usize;
                            if digits == 8 && text[*at] > b' ' {
                                return None;
                            }
                        }
                    }
                    fields[count] = number;
                    count += 1;
                }
            }
        }
    }

    #[inline]
    fn too_wide(&self, fields: &[u64; MOST]) -> bool {
        fields.iter().zip(&self.beyond).any(|(field, beyond)| field & beyond != 0)
    }

    #[inline]
    fn compare(&self, fields: &[u64; MOST], piece: &mut CheckedLines) {
        let (operands, flags) = ([fields[0], fields[1], fields[2]], fields[self.fields - 1] as u8);
        let expected = fields[self.fields - 2];
        let computed = self.operator.apply(operands);
        let same_flags = computed.flags.bits() == flags;
        if same_flags && (computed.code == Some(expected) || self.stands_for(&computed, expected)) {
            return;
        }
        piece.differing += 1;
        if piece.differences.len() < self.limit {
            let mut kept = [0; 3];
            kept[..self.fields - 2].copy_from_slice(&fields[..self.fields - 2]);
            piece.differences.push(LineDifference {
                line: piece.lines + 1,
                operands: kept,
                expected,
                expected_flags: Flags::from_bits(flags),
                computed,
            });
        }
    }

    /// True if a result matches another with the same flags: any NaN any NaN, any integer an invalid one.
    #[cold]
    fn stands_for(&self, computed: &Outcome, expected: u64) -> bool {
        let (CodeMeaning::Code(format), Some(code), false) = (self.operator.answer(), computed.code, self.strict)
        else {
            return false;
        };
        let nan = |code| format.decode(code).class == Class::Nan;
        format.is_integer() && computed.flags.contains(Flags::INVALID) || nan(code) && nan(expected)
    }

    /// The defect of `line`, with the word that has it.
    fn fault(&self, line: &[u8]) -> String {
        let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let count = self.fields - 2;
        for (i, word) in words.iter().enumerate().take(self.fields) {
            let shown: String = String::from_utf8_lossy(word).chars().take(60).collect();
            let digits = word.iter().all(u8::is_ascii_hexdigit);
            let number = str::from_utf8(word).ok().filter(|_| digits && word.len() <= 16);
            let Some(number) = number.and_then(|text| u64::from_str_radix(text, 16).ok()) else {
                return format!("'{shown}' is not a number of at most 16 hexadecimal digits");
            };
            if number & self.beyond[i] != 0 {
                let limit = match (i.cmp(&count), self.operator.answer()) {
                    (std::cmp::Ordering::Less, _) => of_format(self.operator.format()),
                    (std::cmp::Ordering::Equal, CodeMeaning::Code(format)) => of_format(format),
                    (std::cmp::Ordering::Equal, CodeMeaning::Truth) => "a truth value, 0 or 1".to_string(),
                    (std::cmp::Ordering::Equal, CodeMeaning::Class) => format!("a class, 0 to {:x}", CLASSES.len() - 1),
                    (std::cmp::Ordering::Greater, _) => "the flags, which have 5 bits".to_string(),
                };
                return format!("'{shown}' is wider than {limit}");
            }
        }
        let operands = if count == 1 { "operand" } else { "operands" };
        format!(
            "'{}' has {} field{}; there must be {}: {count} {operands}, result and flags",
            String::from_utf8_lossy(line).trim().chars().take(100).collect::<String>(),
            words.len(),
            if words.len() == 1 { "" } else { "s" },
            self.fields
        )
    }
}

fn of_format(format: &Format) -> String {
    format!("{format}, whose codes have {} bits", format.bits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{calc::CalcRequest, format::find, machine::amount, softfloat::Environment};

    fn adder() -> Operator {
        let format = find("f16").unwrap();
        let environment = Environment::default();
        Operator::new(&CalcRequest { operation: "add", format, to: None, exact: false, environment }).unwrap()
    }

    /// The fields of a line of f16 addition, read in the plainest way.
    fn plainly(line: &[u8]) -> Option<Vec<u64>> {
        let text = str::from_utf8(line).ok()?;
        let words = text.split([' ', '\t', '\r']).filter(|word| !word.is_empty());
        let number = |word: &str| {
            let digits = word.len() <= 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
            u64::from_str_radix(word, 16).ok().filter(|_| digits)
        };
        let fields = words.map(number).collect::<Option<Vec<u64>>>()?;
        let limits = [0xffff, 0xffff, 0xffff, 0x1f];
        let fits = fields.len() == 4 && fields.iter().zip(limits).all(|(field, limit)| *field <= limit);
        (fields.is_empty() || fits).then_some(fields)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(amount(2_000, 20_000)))]

        /// Whatever the bytes, lines are read as in the plainest way, up to the first that cannot be read.
        #[test]
        fn lines_are_read_as_in_the_plainest_way(
            lines in prop::collection::vec("([0-9a-fA-F]{1,4}[ \t]{1,2}){3}[01]?[0-9a-f]\r?|[ 0aF]{0,24}|[ 0-9A-Gx]{0,40}|(?s:.{0,9})", 0..6)
        ) {
            let adder = adder();
            let lines: Vec<String> = lines.iter().map(|line| line.replace('\n', " ")).collect();
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let piece = LineComparison::new(&adder, true, usize::MAX).run(text.as_bytes());
            let mut expected = CheckedLines::default();
            for line in &lines {
                let Some(fields) = plainly(line.as_bytes()) else {
                    expected.fault = Some(String::new());
                    break;
                };
                expected.lines += 1;
                if let [x, y, result, flags] = fields[..] {
                    expected.compared += 1;
                    let computed = adder.apply([x, y, 0]);
                    expected.differing += u64::from(computed.code != Some(result) || u64::from(computed.flags.bits()) != flags);
                }
            }
            prop_assert_eq!(piece.fault.is_some(), expected.fault.is_some());
            let counts = |piece: &CheckedLines| (piece.lines, piece.compared, piece.differing);
            prop_assert_eq!(counts(&piece), counts(&expected));
            prop_assert_eq!(piece.differences.len() as u64, piece.differing);
        }
    }
}
