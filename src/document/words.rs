//! The arithmetic of an instruction in one sentence, made of its features.

use crate::{arithmetic::EvidenceKind, base::sentence::capitalised, features::FEATURES, report::marks::Marks};

/// The finding for a feature.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct FeatureFound {
    /// The result; empty where it was not asked.
    pub(super) words: String,
    /// The evidence for the result.
    pub(super) evidence: Option<EvidenceKind>,
}

impl FeatureFound {
    /// The words, with a mark; `-` where the feature cannot be asked.
    pub(super) fn marked(&self, marks: Option<&Marks>) -> String {
        match (&self.words[..], marks.zip(self.evidence).and_then(|(marks, kind)| marks.mark(kind))) {
            ("", _) => "-".into(),
            (words, Some(mark)) => format!("{words} {mark}"),
            (words, None) => words.into(),
        }
    }
}

/// The arithmetic in one sentence; each part has the mark of its weakest evidence.
///
/// `all` has the finding for each of [`FEATURES`].
pub(super) fn sentence(all: &[FeatureFound], marks: Option<&Marks>) -> String {
    let words_of = |name: &str| {
        let at = FEATURES.iter().position(|feature| feature.name == name)?;
        Some(all[at].words.as_str()).filter(|words| !words.is_empty())
    };
    let mut parts: Vec<String> = Vec::new();
    let mut say = |words: String, names: &[&str]| {
        let named = FEATURES
            .iter()
            .zip(all)
            .filter(|(feature, finding)| names.contains(&feature.name) && !finding.words.is_empty());
        let evidence = named.filter_map(|(_, finding)| finding.evidence).max();
        parts.push(FeatureFound { words, evidence }.marked(marks));
    };
    if let Some(text) = words_of("order") {
        say(order(text), &["order"]);
    }
    match (words_of("alignment"), words_of("alignment of c")) {
        (Some("none"), _) | (None, _) => (),
        (Some("exact"), None | Some("exact" | "none")) => {
            say("no bit of a term is lost within a step".into(), &["alignment", "alignment of c"]);
        }
        (Some(of_products), Some(of_c)) if of_products != of_c && of_c != "none" => {
            let words = format!("terms aligned to the largest, products {}, c {}", cut(of_products), cut(of_c));
            say(words, &["alignment", "alignment of c"]);
        }
        (Some(alignment), _) => say(format!("terms aligned to the largest and {}", cut(alignment)), &["alignment"]),
    }
    match (words_of("sums"), words_of("accumulator")) {
        (Some("exact"), Some(width)) => say(format!("exact sums in {width}"), &["sums", "accumulator"]),
        (Some("once") | None, Some(width)) => say(format!("{width} in the accumulator"), &["accumulator"]),
        (Some(rounding), Some(width)) => {
            say(format!("partial sums in {width}, {rounding}"), &["sums", "accumulator"]);
        }
        (_, None) => (),
    }
    if let Some(rounding) = words_of("result") {
        say(format!("result {rounding}"), &["result"]);
    }
    if let Some(what) = words_of("overflow") {
        say(format!("overflow: {what}"), &["overflow"]);
    }
    let subnormal = ["subnormal A, B", "subnormal C", "subnormal D"];
    let known: Vec<(&str, &str)> = subnormal.into_iter().filter_map(|name| Some((name, words_of(name)?))).collect();
    match &known[..] {
        [] => (),
        [(_, first), rest @ ..] if rest.iter().all(|(_, other)| other == first) => {
            say(format!("subnormals {first}"), &subnormal);
        }
        several => several.iter().for_each(|(name, result)| say(format!("{name} {result}"), &[*name])),
    }
    match parts.join("; ") {
        text if text.is_empty() => text,
        text => capitalised(&text) + ".",
    }
}

/// The part about the alignment of some terms: `truncated after 24 bits (RZ)`.
fn cut(alignment: &str) -> String {
    if alignment == "exact" {
        return alignment.into();
    }
    match (alignment.strip_suffix(" or more"), alignment.split_once(", ")) {
        (Some(bits), _) => format!("exact within {bits}"),
        (None, Some((bits, rounding))) => format!("truncated after {bits} ({rounding})"),
        (None, None) => format!("truncated after {alignment}"),
    }
}

/// Longest notation of an order that a sentence repeats, in characters.
const LONGEST: usize = 40;

/// The notation of an order of a sum in words.
fn order(order: &str) -> String {
    // Doubt and exactness concern the rounding within a step, not its terms.
    let plain = order.replace('?', "").replace("exact{", "{");
    let count = |last: &str| Some(last.parse::<usize>().ok()? + 1);
    let between = |start: &str, end: &str| count(plain.strip_prefix(start)?.strip_suffix(end)?);
    if let Some(count) = between("{c, 0..", "}") {
        return format!("c and {count} products in one step");
    }
    if let Some(count) = between("{0..", "}") {
        return format!("{count} products in one step");
    }
    if let Some(count) = between("chain(c, 0..", ")") {
        return format!("{count} products added to c one after the other");
    }
    if let Some(count) = between("chain(0..", ", c)") {
        return format!("{count} products added one after the other, then c");
    }
    if let Some(words) = groups(&plain) {
        return words;
    }
    match plain.chars().count() {
        0..=LONGEST => format!("in the order {order}"),
        _ => "in several steps (see their order)".into(),
    }
}

/// Words for groups of consecutive products that join c one after the other.
///
/// Their notations are `{{c, 0..7}, 8..15}` and `chain(c, {0..3}, {4..7}, ...)`.
fn groups(order: &str) -> Option<String> {
    let first = |text: &str| {
        let (last, rest) = text.split_once('}')?;
        Some((last.parse::<usize>().ok()? + 1, rest.to_string()))
    };
    let (each, rest) = match order.strip_prefix("{{c, 0..") {
        Some(text) => first(text)?,
        None => first(order.strip_prefix("chain(c, {0..")?)?,
    };
    let bounds = rest.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let bounds: Vec<usize> = bounds.map(str::parse).collect::<std::result::Result<_, _>>().ok()?;
    let is_range = rest.replace("...", "").matches("..").count() * 2 == bounds.len();
    let follow =
        bounds.chunks(2).all(|range| matches!(range, [start, end] if start % each == 0 && end + 1 - start == each));
    let last = bounds.last()? + 1;
    (is_range && follow && rest.chars().all(|c| "0123456789., {})".contains(c)))
        .then(|| format!("c and {last} products in {} steps, {each} products each", last / each))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_orders_are_words_and_long_ones_are_short() {
        for (notation, words) in [
            ("{c, 0..15}", "c and 16 products in one step"),
            ("?{c, 0..3}", "c and 4 products in one step"),
            ("exact{exact{c, 0..3}, 4..7}", "c and 8 products in 2 steps, 4 products each"),
            ("{{c, 0..15}, 16..31}", "c and 32 products in 2 steps, 16 products each"),
            ("chain(c, {0..3}, {4..7}, {8..11}, {12..15})", "c and 16 products in 4 steps, 4 products each"),
            ("chain(c, {0..15}, {16..31}, ..., {112..127})", "c and 128 products in 8 steps, 16 products each"),
            ("((c + (0 + 1)) + (2 + 3))", "in the order ((c + (0 + 1)) + (2 + 3))"),
            ("(c + {{0, 1, 4, 5, 8, 9, 12, 13}, 2, 3, 6, 7, 10, 11, 14, 15})", "in several steps (see their order)"),
        ] {
            assert_eq!(order(notation), words);
        }
    }
}
