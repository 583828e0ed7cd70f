//! Features that the literature states, compared with findings cell by cell.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{DeviceFeatures, Features, Generations, classes::class};
use crate::{arithmetic::EvidenceKind, base::named::named, isa::pattern};

/// The published cells.
const CELLS: &str = include_str!("published.csv");

/// A published cell.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PublishedFeature {
    /// The source: authors and where it appeared.
    pub source: String,
    /// The table, section or file.
    pub place: String,
    /// The device as the source names it.
    pub gpu: String,
    /// The model of its generation.
    pub model: String,
    /// Pattern of the instructions that it is about.
    pub instruction: String,
    /// The feature.
    pub feature: String,
    /// The finding, in the words of a measurement.
    pub value: String,
    /// A remark on the value, or why it differs; empty without one.
    pub note: String,
}

named! {
    /// The agreement of a published cell with a finding.
    pub enum Agreement {
        Differs = "differs": "Both are known, and they differ";
        Agrees = "agrees": "Both say the same";
        NotComparable = "not comparable": "The finding is a bound, or the formats cannot show the feature";
    }
}

/// A published cell next to the finding of a device.
#[derive(Debug, Clone)]
pub struct PublishedComparison<'a> {
    /// The published cell.
    pub published: &'static PublishedFeature,
    /// The device.
    pub device: &'a DeviceFeatures,
    /// The measured features.
    pub features: &'a Features,
    /// The class of the instruction.
    pub class: String,
    /// The finding.
    pub finding: Option<&'a str>,
    /// Its evidence.
    pub evidence: Option<EvidenceKind>,
    /// The agreement.
    pub agreement: Agreement,
    /// Why they cannot be compared.
    pub reason: Option<String>,
}

/// All published cells.
pub(super) fn all() -> &'static [PublishedFeature] {
    static ALL: LazyLock<Vec<PublishedFeature>> = LazyLock::new(|| {
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(CELLS.as_bytes());
        reader.deserialize().map(|cell| cell.expect("the published cells are well-formed CSV")).collect()
    });
    &ALL
}

/// The published cells about instructions that were measured, the differences first.
///
/// A cell about several measured instructions is compared with each that finds something else.
pub fn compared(all: &Generations) -> Vec<PublishedComparison<'_>> {
    let mut rows: Vec<PublishedComparison> = Vec::new();
    for published in self::all() {
        let of_model = |device: &&DeviceFeatures| device.identity.generation.shipped_model() == Some(&published.model);
        for device in all.devices.iter().filter(of_model) {
            let first = rows.len();
            let about = |features: &&Features| pattern::matches(&published.instruction, &features.instruction.name);
            for features in device.measured.iter().filter(about) {
                let mut row = comparison(published, device, features);
                if all.any_nan && published.feature == "NaN" {
                    row.agreement = Agreement::NotComparable;
                    row.reason = Some("any NaN code counts as equal to any other".into());
                }
                if !rows[first..].iter().any(|other| other.finding == row.finding) {
                    rows.push(row);
                }
            }
        }
    }
    rows.sort_by_key(|row| row.agreement != Agreement::Differs);
    rows
}

fn comparison<'a>(
    published: &'static PublishedFeature,
    device: &'a DeviceFeatures,
    features: &'a Features,
) -> PublishedComparison<'a> {
    let finding = features.finding(&published.feature);
    let (agreement, reason) = match finding {
        Some(finding) => agreement(&published.value, finding),
        None => {
            let why = features.cell(&published.feature).and_then(|cell| cell.remark.clone());
            (Agreement::NotComparable, Some(why.unwrap_or_else(|| "it was not asked".into())))
        }
    };
    let evidence = features.evidence(&published.feature);
    let class = class(&features.instruction);
    PublishedComparison { published, device, features, class, finding, evidence, agreement, reason }
}

/// The agreement of two findings in words; for those that cannot be compared with the reason.
///
/// A published value may say less: `24 bits` agrees with `24 bits, RZ`. A finding that is a bound, or one of several roundings, decides
/// only values outside of the bound.
fn agreement(published: &str, finding: &str) -> (Agreement, Option<String>) {
    let decided = |agree: bool| (if agree { Agreement::Agrees } else { Agreement::Differs }, None);
    let open = || (Agreement::NotComparable, Some(format!("operands show {finding} only")));
    let less = finding.strip_prefix(published).is_some_and(|rest| rest.is_empty() || rest.starts_with([',', ';']));
    if less {
        return decided(true);
    }
    if let (Some(stated), Some(bounded)) = (Bounded::of(published), Bounded::of(finding)) {
        return match bounded.includes(&stated) {
            Inclusion::Disjoint => decided(false),
            Inclusion::Within => decided(true),
            Inclusion::Partly => open(),
        };
    }
    let mut roundings = finding.split(" or ");
    match finding.contains(" or ") && roundings.any(|one| one == published) {
        true => open(),
        false => decided(false),
    }
}

/// A number, or the numbers from or to one, with what follows it.
struct Bounded<'a> {
    least: i64,
    most: i64,
    /// The unit and, of exact numbers, the rest: `bits`, `bits, RZ`.
    rest: &'a str,
    exact: bool,
}

/// How a finding and a statement overlap.
enum Inclusion {
    /// No number is in both.
    Disjoint,
    /// Every number of the finding is one of the statement.
    Within,
    /// The finding leaves open whether the statement holds.
    Partly,
}

impl<'a> Bounded<'a> {
    fn of(text: &'a str) -> Option<Bounded<'a>> {
        let (number, rest) = text.split_once(' ').unwrap_or((text, ""));
        let number: i64 = number.parse().ok()?;
        let bound = |end: &str| rest.strip_suffix(end).map(str::trim_end);
        Some(match (bound("or more"), bound("or less")) {
            (Some(rest), _) => Bounded { least: number, most: i64::MAX, rest, exact: false },
            (_, Some(rest)) => Bounded { least: i64::MIN, most: number, rest, exact: false },
            _ => Bounded { least: number, most: number, rest, exact: true },
        })
    }

    /// How this finding overlaps a statement.
    fn includes(&self, stated: &Bounded) -> Inclusion {
        let unit = |bounded: &Bounded<'a>| bounded.rest.split([',', ';']).next().map(String::from);
        let stated_unit = stated.rest.split([',', ';']).next().map(String::from);
        let apart = self.most < stated.least || stated.most < self.least || unit(self) != stated_unit;
        // Exact numbers that are equal differ in the rest, such as a rounding.
        let other = self.exact && stated.exact;
        match (apart || other, stated.least <= self.least && self.most <= stated.most) {
            (true, _) => Inclusion::Disjoint,
            (_, true) => Inclusion::Within,
            _ => Inclusion::Partly,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arithmetic::shipped,
        device::{Device, ModelDevice},
        features::{ClassChoice, FEATURES, measure_generations},
        isa,
    };

    #[test]
    fn a_published_value_may_say_less_and_a_bound_decides_only_what_is_outside() {
        for (published, finding, expected) in [
            ("24 bits, RZ", "24 bits, RZ", Agreement::Agrees),
            ("24 bits", "24 bits, RZ", Agreement::Agrees),
            ("24 bits, RZ", "24 bits, RZ; between neighbours 31 bits, RD", Agreement::Agrees),
            ("24 bits, RD", "24 bits, RZ", Agreement::Differs),
            ("25 bits, RZ", "24 bits, RZ", Agreement::Differs),
            ("2 bits", "24 bits, RZ", Agreement::Differs),
            ("24 bits, RZ", "24", Agreement::Differs),
            ("24 bits, RZ", "20 bits or more", Agreement::NotComparable),
            ("19 bits, RZ", "20 bits or more", Agreement::Differs),
            ("2 or more", "2", Agreement::Agrees),
            ("2 or more", "3 or more", Agreement::Agrees),
            ("2 or more", "1 or more", Agreement::NotComparable),
            ("2 or more", "1", Agreement::Differs),
            ("-132", "-28 or less", Agreement::NotComparable),
            ("-20", "-28 or less", Agreement::Differs),
            ("-132", "-133", Agreement::Differs),
            ("RNE", "RNE or RNA", Agreement::NotComparable),
            ("RZ", "RNE or RNA", Agreement::Differs),
            ("kept", "flushed", Agreement::Differs),
            ("exact", "none", Agreement::Differs),
        ] {
            let (agreement, reason) = agreement(published, finding);
            assert_eq!(agreement, expected, "{published} and {finding}");
            assert_eq!(reason.is_some(), agreement == Agreement::NotComparable, "{published} and {finding}");
        }
    }

    #[test]
    fn a_published_cell_names_a_model_a_feature_and_an_instruction_of_the_model() {
        let all = all();
        assert!(all.len() > 100, "{}", all.len());
        for (at, cell) in all.iter().enumerate() {
            let target = |i: &isa::Instruction| {
                i.support.iter().any(|support| crate::arithmetic::of_target(support.architecture) == Some(&cell.model))
            };
            let matching = |i: &&isa::Instruction| pattern::matches(&cell.instruction, &i.name) && target(i);
            assert!(shipped().any(|name| name == cell.model), "{cell:?}");
            assert!(FEATURES.iter().any(|feature| feature.name == cell.feature), "{cell:?}");
            assert!(isa::all().iter().any(|i| matching(&i)), "{cell:?}");
            assert!(!cell.source.is_empty() && !cell.place.is_empty() && !cell.gpu.is_empty(), "{cell:?}");
            let same = |other: &PublishedFeature| PublishedFeature {
                value: String::new(),
                note: String::new(),
                ..other.clone()
            };
            assert!(all[..at].iter().all(|other| same(other) != same(cell)), "repeated: {cell:?}");
        }
    }

    /// Every published cell next to the findings of the shipped models.
    fn of_models() -> Generations {
        let mut instructions: Vec<isa::Instruction> = Vec::new();
        for cell in all() {
            instructions.extend(isa::all().iter().filter(|i| pattern::matches(&cell.instruction, &i.name)).cloned());
        }
        let mut seen = std::collections::HashSet::new();
        instructions.retain(|i| seen.insert(i.name.clone()));
        let devices = shipped().map(|name| Box::new(ModelDevice::open(name).unwrap()) as Box<dyn Device>).collect();
        let mut generations = Generations::default();
        let choice = ClassChoice { named: instructions, classes: Vec::new() };
        measure_generations(devices, &choice, &mut |_| (), &mut generations).unwrap();
        generations
    }

    #[test]
    fn every_published_cell_is_compared_and_every_difference_is_explained() {
        let generations = of_models();
        let rows = compared(&generations);
        for cell in all() {
            assert!(rows.iter().any(|row| row.published == cell), "not compared: {cell:?}");
        }
        for row in rows.iter().filter(|row| row.agreement == Agreement::Differs) {
            assert!(!row.published.note.is_empty(), "unexplained: {:?}, found {:?}", row.published, row.finding);
        }
        // A value that is changed is noticed wherever a value is decided.
        for row in rows.iter().filter(|row| row.agreement == Agreement::Agrees) {
            for value in ["another", &format!("x{}", row.published.value), &format!("{}x", row.published.value)] {
                let (agreement, _) = agreement(value, row.finding.unwrap());
                assert_eq!(agreement, Agreement::Differs, "{value} and {:?}", row.finding);
            }
        }
    }
}
