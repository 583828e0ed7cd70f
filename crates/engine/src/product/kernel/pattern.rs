//! Patterns of words in names of kernels: text, and holes for numbers, formats, shapes and layouts.

use std::collections::BTreeMap;

use super::{Numbers, Shapes};
use crate::format::Format;

/// Most digits of a number in a name.
const MOST_DIGITS: usize = 6;
/// Most letters of a layout.
const MOST_LAYOUTS: usize = 4;

/// A pattern of a word.
#[derive(Debug, Clone)]
pub(super) struct Pattern(Vec<Piece>);

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Hole(Hole),
}

/// A hole of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hole {
    /// A number of one of [`NUMBERS`], by its name.
    Number(&'static str),
    /// A format of one of [`FORMATS`], by its name.
    Format(&'static str),
    /// Digits of an instruction's shape.
    Shape,
    /// Letters of layouts.
    Layout,
    /// Any number.
    AnyNumber,
    /// Any format.
    AnyFormat,
}

/// Names of holes that take a number.
const NUMBERS: [&str; 10] = ["m", "n", "k", "i.m", "i.n", "i.k", "stages", "slices", "target", "least"];
/// Names of holes that take a format.
const FORMATS: [&str; 7] = ["ab", "a", "b", "acc", "d", "partials", "joined"];

/// Part of a name that a hole took.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Taken {
    Number(usize),
    Format(&'static Format),
    Shape(Numbers),
    Layout(String),
}

/// Holes and the parts that they took, in the order of the pattern.
pub(super) type Captures = Vec<(Hole, Taken)>;

/// Spellings of formats and shapes, which holes take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spellings<'a> {
    pub formats: &'a BTreeMap<String, &'static Format>,
    pub shapes: &'a Shapes,
}

impl Hole {
    /// Name between braces.
    pub(super) fn name(self) -> &'static str {
        match self {
            Hole::Number(name) | Hole::Format(name) => name,
            Hole::Shape => "shape",
            Hole::Layout => "layout",
            Hole::AnyNumber => "_",
            Hole::AnyFormat => "_type",
        }
    }

    fn parse(name: &str) -> Option<Hole> {
        let number = NUMBERS.iter().copied().map(Hole::Number);
        let format = FORMATS.iter().copied().map(Hole::Format);
        let rest = [Hole::Shape, Hole::Layout, Hole::AnyNumber, Hole::AnyFormat];
        number.chain(format).chain(rest).find(|hole| hole.name() == name)
    }
}

impl Pattern {
    /// The pattern of a text with holes between braces, or its defect.
    pub(super) fn parse(text: &str) -> Result<Pattern, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or_else(|| format!("\"{text}\" has a '{{' without '}}'"))?;
            let hole = Hole::parse(name).ok_or_else(|| format!("\"{text}\": '{{{name}}}' is not a hole"))?;
            if !before.is_empty() {
                pieces.push(Piece::Text(before.into()));
            }
            pieces.push(Piece::Hole(hole));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.into()));
        }
        if pieces.is_empty() { Err("a word is empty".into()) } else { Ok(Pattern(pieces)) }
    }

    /// Holes, in their order.
    pub(super) fn holes(&self) -> impl Iterator<Item = Hole> + '_ {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Hole(hole) => Some(*hole),
            Piece::Text(_) => None,
        })
    }

    /// Length of the word at the beginning of `text`, and the parts for the holes; `ends` judges the rest.
    pub(super) fn read(
        &self,
        text: &str,
        spellings: Spellings,
        ends: impl Fn(&str) -> bool,
    ) -> Option<(usize, Captures)> {
        let mut captures = Vec::new();
        let rest = follow(&self.0, text, spellings, &ends, &mut captures)?;
        Some((text.len() - rest.len(), captures))
    }
}

/// True if a word may end before `rest`.
pub(super) fn ends_word(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric())
}

/// The rest of `text` behind the pieces.
fn follow<'t>(
    pieces: &[Piece],
    text: &'t str,
    spellings: Spellings,
    ends: &impl Fn(&str) -> bool,
    captures: &mut Captures,
) -> Option<&'t str> {
    let Some((piece, others)) = pieces.split_first() else {
        return ends(text).then_some(text);
    };
    let hole = match piece {
        Piece::Text(literal) => return follow(others, text.strip_prefix(literal.as_str())?, spellings, ends, captures),
        Piece::Hole(hole) => *hole,
    };
    for (length, capture) in takes(hole, text, spellings) {
        let before = captures.len();
        captures.push((hole, capture));
        if let Some(rest) = follow(others, &text[length..], spellings, ends, captures) {
            return Some(rest);
        }
        captures.truncate(before);
    }
    None
}

/// Parts that a hole may take at the beginning of `text`, with their lengths.
fn takes(hole: Hole, text: &str, spellings: Spellings) -> Vec<(usize, Taken)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match hole {
        Hole::Number(_) | Hole::AnyNumber => {
            let number = text[..digits].parse().ok().filter(|_| digits <= MOST_DIGITS);
            // A tile, a stage or a warp of nothing is not one.
            let number = number.filter(|number| *number > 0 || hole == Hole::AnyNumber);
            number.map(|number| (digits, Taken::Number(number))).into_iter().collect()
        }
        Hole::Shape => {
            let shape = spellings.shapes.get(&text[..digits]);
            shape.map(|shape| (digits, Taken::Shape(*shape))).into_iter().collect()
        }
        Hole::Layout => {
            let length = text.len() - text.trim_start_matches(['n', 't', 'N', 'T']).len();
            let is_layout = (1..=MOST_LAYOUTS).contains(&length);
            is_layout.then(|| (length, Taken::Layout(text[..length].to_lowercase()))).into_iter().collect()
        }
        Hole::Format(_) | Hole::AnyFormat => {
            let mut formats: Vec<(usize, Taken)> = spellings
                .formats
                .iter()
                .filter(|(name, _)| text.starts_with(name.as_str()))
                .map(|(name, format)| (name.len(), Taken::Format(format)))
                .collect();
            formats.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
            formats
        }
    }
}
