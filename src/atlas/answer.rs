//! Short answers: width and rounding of an arithmetic, and the accumulation of FP8.

use super::{
    Site,
    entry::{Arithmetic, Entry},
    generation::Generation,
};
use crate::{
    arithmetic::EvidenceKind,
    base::{distinct::distinct, sentence::listed},
    features::FEATURES,
    format::{self, Format},
};

/// Significant bits of f32.
const F32: u32 = 24;
/// Operand formats of FP8.
pub(super) const FP8: [&str; 4] = ["e4m3", "e4m3fnuz", "e5m2", "e5m2fnuz"];

/// Width and rounding of an arithmetic: `24 bits, RZ`, `\u{2265} 12 bits, RNE`.
pub(super) fn width_and_rounding(arithmetic: &Arithmetic) -> String {
    let width = arithmetic.finding("accumulator").map(|words| match words.strip_suffix(" or more") {
        Some(least) => format!("\u{2265} {least}"),
        None => words.to_string(),
    });
    match (width, arithmetic.finding("result")) {
        (Some(width), Some(rounding)) => format!("{width}, {rounding}"),
        (Some(width), None) => match arithmetic.finding("sums") {
            Some("exact") => format!("{width}, exact"),
            _ => width,
        },
        (None, _) => "not shown by its formats".into(),
    }
}

/// The alignment of an arithmetic in few words, if it cuts terms.
pub(super) fn alignment(arithmetic: &Arithmetic) -> Option<String> {
    let words = arithmetic
        .finding("alignment")
        .filter(|words| !["none", "exact"].contains(words) && !words.ends_with("or more"))?;
    Some(format!("terms cut after {}", words.split(';').next().unwrap_or(words)))
}

/// The weakest evidence of width, rounding and alignment.
pub(super) fn evidence(generation: &Generation, entry: &Entry, arithmetic: &Arithmetic) -> Option<EvidenceKind> {
    let asked = ["accumulator", "result", "sums", "alignment"];
    let features =
        FEATURES.iter().filter(|feature| asked.contains(&feature.name) && arithmetic.finding(feature.name).is_some());
    features.filter_map(|feature| Some(entry.evidence(&generation.model, &feature.keys())?.0)).max()
}

/// The instruction that stands for a format on a generation.
///
/// A native, dense one without scales, of largest k, is preferred.
pub(super) fn representative<'a>(
    entries: &'a [Entry],
    generations: &[Generation],
    generation: usize,
    format: &Format,
) -> Option<(&'a Entry, &'a Arithmetic)> {
    let of_format = entries.iter().filter(|entry| entry.instruction.a == format && entry.instruction.b == format);
    let candidates = of_format.filter_map(|entry| Some((entry, entry.of(generation)?)));
    candidates.min_by_key(|(entry, _)| {
        let i = &entry.instruction;
        let wide = if i.d.is_integer() { i.d.bits == 32 } else { i.d.bits == 32.max(format.bits) };
        (
            !generations[generation].is_native(i),
            i.is_sparse(),
            !wide,
            i.scale.is_some(),
            i.qualifiers().count(),
            i.has_qualifier("satfinite"),
            std::cmp::Reverse(i.k),
            std::cmp::Reverse(i.m * i.n),
            i.name.clone(),
        )
    })
}

/// The number at the beginning of a text.
fn leading(text: &str) -> Option<u32> {
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The answer to "does FP8 accumulate in f32?".
pub(super) struct Fp8Answer<'a> {
    /// The answer in a sentence.
    pub(super) words: String,
    /// A remark on emulated forms; empty without one.
    pub(super) remark: String,
    /// The instruction that the answer is about, if there is one.
    pub(super) entry: Option<&'a Entry>,
}

/// Answer of a generation to the question: does FP8 accumulate in f32?
///
/// A site of some instructions knows only these.
pub(super) fn fp8(site: &Site, generation: usize) -> Fp8Answer<'_> {
    let Site { entries, generations, .. } = site;
    let formats = ["e4m3", "e4m3fnuz"].into_iter().filter_map(|name| format::find(name).ok());
    let mut candidates = formats.filter_map(|format| representative(entries, generations, generation, format));
    let Some((entry, arithmetic)) = candidates.next() else {
        let words = if site.is_restricted { "-" } else { "No FP8 instruction." };
        return Fp8Answer { words: words.into(), remark: String::new(), entry: None };
    };
    let what = width_and_rounding(arithmetic);
    let native = generations[generation].is_native(&entry.instruction);
    let emulated = entries.iter().filter(|other| {
        FP8.contains(&other.instruction.a.name)
            && other.of(generation).is_some()
            && !generations[generation].is_native(&other.instruction)
    });
    let families = distinct(emulated.map(|other| other.instruction.family().to_string()));
    let remark = match &families[..] {
        families if native && !families.is_empty() => {
            format!(
                "FP8 forms of {} are emulated by other instructions; the answer does not hold for them.",
                listed(families)
            )
        }
        _ => String::new(),
    };
    let words = match arithmetic.finding("accumulator").and_then(leading) {
        _ if !native && site.is_restricted => {
            format!("{} is emulated: FP8 operands are converted first; sums have {what}.", entry.instruction.name)
        }
        _ if !native => format!("Emulated: FP8 operands are converted first; sums have {what}."),
        None => "Its formats do not show the width.".into(),
        Some(bits) if bits < F32 && arithmetic.finding("accumulator").is_some_and(|width| width.contains("more")) => {
            format!("Not shown by its formats: {what}.")
        }
        Some(bits) if bits < F32 => format!("No: sums keep {what}; f32 has {F32}."),
        Some(_) => format!("Yes: sums keep {what}."),
    };
    Fp8Answer { words, remark, entry: Some(entry) }
}
