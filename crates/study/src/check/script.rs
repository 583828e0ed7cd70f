//! A test in Python of products by a claim, which needs no more than NumPy.

use std::collections::BTreeSet;

use super::{
    Basis, Tolerance,
    power::{Fault, Missed},
    tables::missed_sentence,
};
use crate::{
    base::named::Named,
    format::Format,
    product::{Schedule, bound::Claim},
};

/// The program, with names between @ in place of its facts.
const TEMPLATE: &str = include_str!("template.py");
/// Formats that NumPy has a type for, and bf16.
const TYPED: [&str; 9] = ["f64", "f32", "tf32", "f16", "bf16", "s8", "u8", "s32", "s64"];

/// A test in Python.
#[derive(Debug, Clone)]
pub struct TestScript<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The basis of its tolerance.
    pub basis: Basis,
    /// The bound relative to the sum of |a b| for each k; empty where a tolerance counts.
    pub relative: Vec<(usize, f64)>,
    /// The tolerance, for given operands.
    pub tolerance: Option<Tolerance>,
    /// The faults that the test misses with given operands, and their k.
    pub missed: Option<(Missed, usize)>,
    /// True if the arrays of A and B hold their transposes.
    pub transposed: [bool; 2],
}

/// Where a test in Python is written, and by which command.
#[derive(Debug, Clone)]
pub struct ScriptOrigin {
    /// The name of the file, without its ending.
    pub stem: String,
    /// The command.
    pub invocation: String,
}

impl TestScript<'_> {
    /// The program.
    pub fn text(&self, origin: &ScriptOrigin) -> String {
        let schedule = &self.claim.schedules[0];
        let i = &schedule.instruction;
        let formats = [
            ("a", Some(i.a)),
            ("b", Some(i.b)),
            ("d", Some(schedule.output.format)),
            ("scale_a", i.scale.map(|scale| scale.format)),
            ("scale_b", i.scale.map(|scale| scale.format)),
        ];
        let formats: Vec<(&str, &Format)> =
            formats.into_iter().filter_map(|(name, format)| Some((name, format?))).collect();
        let (atol, rtol) = self.tolerance.as_ref().map_or((0.0, 0.0), |tolerance| (tolerance.atol, tolerance.rtol));
        let relative = self.relative.iter().map(|(k, bound)| format!("{k}: {bound:e}"));
        let names = formats.iter().map(|(name, format)| format!("{name:?}: \"{format}\""));
        let transposed =
            ["a", "b"].iter().zip(self.transposed).filter(|(_, is)| *is).map(|(name, _)| format!("{name:?}"));
        let facts = [
            ("SUMMARY", self.summary()),
            ("DETAILS", self.details()),
            ("FILE", format!("{}.py", origin.stem)),
            ("MODULE", origin.stem.clone()),
            ("ORIGIN", format!("Written by `{}`.", origin.invocation.replace(['\\', '"'], "'"))),
            ("ALPHA", format!("{:?}", schedule.alpha)),
            ("BETA", format!("{:?}", schedule.beta)),
            ("RELATIVE", dictionary(relative)),
            ("ATOL", format!("{atol:e}")),
            ("RTOL", format!("{rtol:e}")),
            ("FORMATS", dictionary(names)),
            ("TRANSPOSED", format!("[{}]", transposed.collect::<Vec<_>>().join(", "))),
            ("SCALE_BLOCKS", scale_blocks(schedule)),
            ("VALUES", values(&formats)),
        ];
        facts.into_iter().fold(TEMPLATE.into(), |text, (name, fact)| text.replace(&format!("@{name}@"), &fact))
    }

    /// The first sentence: the product that passes, and zeros if they pass.
    fn summary(&self) -> String {
        let zeros = self.missed.as_ref().is_some_and(|(missed, _)| missed.faults.contains(&Fault::Zeros));
        let zeros = if zeros { ", and a product of zeros" } else { "" };
        let words = &self.claim.words;
        match self.basis {
            Basis::Expected => format!("Passes an element of a product by {words} with probability 1 - 10^-6{zeros}."),
            _ => format!("Passes every product by {words}{zeros}."),
        }
    }

    fn details(&self) -> String {
        let operands = match (self.basis, self.relative.is_empty()) {
            (Basis::Magnitudes, false) => {
                "The tolerance of an element is proven for any normal operands without overflow and underflow.".into()
            }
            (basis, _) => format!("The tolerance is for the A and B of the command below alone: {}.", basis.meaning()),
        };
        let missed = self
            .missed
            .as_ref()
            .map(|(missed, k)| format!("\n{}", missed_sentence("With these operands it", missed, *k)));
        operands + &missed.unwrap_or_default()
    }
}

/// A dictionary of Python with these entries.
fn dictionary(entries: impl Iterator<Item = String>) -> String {
    format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
}

fn scale_blocks(schedule: &Schedule) -> String {
    let [a, b] = match (schedule.instruction.scale, &schedule.scales) {
        (Some(scale), _) => [[1, scale.block], [scale.block, 1]],
        (None, Some(blocks)) => [blocks.a, blocks.b],
        (None, None) => return "{}".into(),
    };
    let pair = |name: &str, [rows, columns]: [usize; 2]| format!("\"{name}\": ({rows}, {columns})");
    dictionary([pair("scale_a", a), pair("scale_b", b)].into_iter())
}

/// The values of all codes of the formats that NumPy has no type for.
fn values(formats: &[(&str, &Format)]) -> String {
    let named: BTreeSet<&str> = formats.iter().map(|(_, format)| format.name).collect();
    let tabled = named.into_iter().filter(|name| !TYPED.contains(name));
    let entry = |name: &str| {
        let format = formats.iter().find(|(_, format)| format.name == name).map(|(_, format)| *format)?;
        let codes = (format.bits <= 8).then(|| 0..1u64 << format.bits)?;
        let values: Vec<String> = codes.map(|code| python_number(format.to_f64(code))).collect();
        let lines: Vec<String> = values.chunks(12).map(|line| format!("        {},\n", line.join(", "))).collect();
        Some(format!("\n    \"{name}\": [\n{}    ]", lines.concat()))
    };
    let entries: Vec<String> = tabled.filter_map(entry).collect();
    if entries.is_empty() { "{}".into() } else { format!("{{{},\n}}", entries.join(",")) }
}

/// A number as Python reads it.
fn python_number(value: f64) -> String {
    match value {
        value if value.is_nan() => "nan".into(),
        f64::INFINITY => "inf".into(),
        f64::NEG_INFINITY => "-inf".into(),
        value => format!("{value:?}"),
    }
}
