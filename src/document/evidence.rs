//! Evidence of features: measured on which chip, resting on others, or never measured.

use std::collections::BTreeSet;

use super::{
    Block, Chapter,
    arithmetic::class_of,
    article::Study,
    results::chip_of,
    rows::{Rows, together},
    sheets::{Sheet, short},
};
use crate::{
    arithmetic::EvidenceKind,
    base::{distinct::distinct, sentence::listed},
    isa,
    report::{Table, counted, grouped},
};

/// The features of results by their evidence.
#[derive(Default)]
pub(super) struct Evidence {
    /// Each feature of an instruction on a device that operands show.
    cells: Vec<EvidenceCell>,
    /// Number of those that no operands show.
    hidden: usize,
}

/// The evidence of a feature.
struct EvidenceCell {
    device: String,
    class: String,
    feature: String,
    kind: Option<EvidenceKind>,
    rests_on: String,
}

impl Evidence {
    /// The evidence of a table of features.
    pub(super) fn of(features: Option<&Table>) -> Evidence {
        let mut all = Evidence::default();
        for line in features.iter().flat_map(|table| Rows(table).iter()) {
            if line.text("found").is_empty() {
                // A class that was not measured has no instruction.
                all.hidden += usize::from(isa::known(line.text("instruction")).is_some());
                continue;
            }
            all.cells.push(EvidenceCell {
                device: short(&chip_of(&line)),
                class: class_of(line.text("instruction")),
                feature: line.text("feature").into(),
                kind: EvidenceKind::named(line.text("evidence")),
                rests_on: line.text("rests_on").into(),
            });
        }
        all
    }

    fn of_kind(&self, kind: EvidenceKind) -> impl Iterator<Item = &EvidenceCell> {
        self.cells.iter().filter(move |cell| cell.kind == Some(kind))
    }

    /// The number of features of each kind of evidence, in a sentence.
    pub(super) fn sentence(&self) -> Option<String> {
        let counts = EvidenceKind::ALL.map(|kind| (self.of_kind(kind).count(), kind.name())).into_iter();
        let counts: Vec<String> =
            counts.filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
        (!counts.is_empty()).then(|| {
            format!("{} of features by evidence: {}.", counted(self.cells.len() as u64, "finding"), listed(&counts))
        })
    }

    /// On what the published features that agree rest, in a sentence.
    ///
    /// A source is named by its first author, in publications and in evidence.
    pub(super) fn independence(&self, published: &Table) -> Option<String> {
        let mut counts = [0; 3];
        for line in Rows(published).iter().filter(|line| line.text("verdict") == "agrees") {
            let (device, class) = (short(&chip_of(&line)), class_of(line.text("instruction")));
            let is_it = |cell: &&EvidenceCell| {
                (&cell.device, &cell.class, &cell.feature[..]) == (&device, &class, line.text("feature"))
            };
            let author = line.text("source").split(' ').next().unwrap_or_default();
            counts[match self.cells.iter().find(is_it) {
                Some(cell) if cell.kind == Some(EvidenceKind::Measured) => 0,
                Some(cell) if cell.kind != Some(EvidenceKind::Assumed) && !cell.rests_on.contains(author) => 1,
                _ => 2,
            }] += 1;
        }
        let [measured, others, same] = counts;
        (measured + others + same > 0).then(|| {
            format!(
                "{} published features agree: {measured} were measured by this program, {others} rest on another source, and {same} rest on the \
                 publication itself or are assumed: their agreement is no evidence.",
                measured + others + same
            )
        })
    }

    /// The features measured here that no publication of the program's table states.
    pub(super) fn unstated(&self, published: &Table) -> Option<Block> {
        let stated: BTreeSet<[String; 3]> = Rows(published)
            .iter()
            .map(|line| [short(&chip_of(&line)), class_of(line.text("instruction")), line.text("feature").to_string()])
            .collect();
        let new = self.of_kind(EvidenceKind::Measured);
        let new = new.filter(|cell| !stated.contains(&[cell.device.clone(), cell.class.clone(), cell.feature.clone()]));
        let groups = together(new.map(|cell| ((&cell.device, &cell.class), &cell.feature[..]))).into_iter();
        let rows = groups.map(|((device, class), all)| vec![device.clone(), class.clone(), all.join(", ")]);
        let caption = "New: features that were measured, and that no publication in our table states of this device";
        Sheet::by_device(caption, &["instructions", "features"], &[], rows).block()
    }

    /// The number of features of each device, by source.
    pub(super) fn sources(&self) -> Sheet {
        let of_kind = |kind| {
            let groups = together(self.of_kind(kind).map(|cell| (&cell.rests_on, (&cell.device, ())))).into_iter();
            groups.map(move |(source, devices)| {
                let counts = together(devices).into_iter();
                let counts: Vec<String> = counts.map(|(device, all)| format!("{device}: {}", all.len())).collect();
                let source = source.strip_prefix(&format!("{}: ", kind.name())).unwrap_or(source);
                vec![kind.name().into(), source.into(), counts.join("; ")]
            })
        };
        let rows = EvidenceKind::ALL.into_iter().flat_map(of_kind).collect();
        let labels = ["evidence", "source", "number of features by device"];
        Sheet::new("Evidence of the features: a measurement, or the source of the model", &labels, &[], rows)
    }
}

/// Makes the chapter of limits, each a sentence on these results.
pub(super) fn limits(study: &Study) -> Chapter {
    let models: Vec<String> = study.results.simulated().iter().map(|(chip, _)| short(chip)).collect();
    let evidence = &study.evidence;
    let mut said = Vec::new();
    if !models.is_empty() {
        said.push(format!(
            "No chip was run for {}: models gave these results. An error of a model is an error of this document.",
            listed(&models)
        ));
    }
    let assumed: Vec<&EvidenceCell> = evidence.of_kind(EvidenceKind::Assumed).collect();
    if !assumed.is_empty() {
        let by_device = together(assumed.iter().map(|cell| (&cell.device, &cell.feature[..]))).into_iter();
        let by_device = by_device.map(|(device, features)| format!("{device}: {}", distinct(features).join(", ")));
        said.push(format!(
            "{} of {} features are assumed, because no public source has them, and were never measured. {}.",
            assumed.len(),
            evidence.cells.len(),
            by_device.collect::<Vec<_>>().join("; ")
        ));
    }
    if evidence.hidden > 0 {
        said.push(format!(
            "{} features cannot be seen in any result of their instructions, because the formats hold no operands that would show them.",
            evidence.hidden
        ));
    }
    let asked: usize = study.all.iter().map(|one| one.instructions.len()).sum();
    if asked > 0 {
        said.push(format!(
            "A feature is what directed inputs show; other inputs may show more. The features belong to {}. Other shapes of a class may \
             group their terms in another way.",
            counted(asked as u64, "instruction")
        ));
    }
    let verified = study.others.table("verification");
    let compared: i64 = verified.iter().flat_map(|table| Rows(table).iter()).map(|line| line.count("compared")).sum();
    if compared > 0 {
        said.push(format!(
            "{} results were compared with models in every bit. A difference on operands that no regime draws is not seen. Equal results do \
             not show how a chip computes, only that no compared input distinguishes it from the model.",
            grouped(compared)
        ));
    } else if asked > 0 {
        said.push("These results have no comparison of a chip with its model on random operands.".into());
    }
    let blocks = if said.is_empty() { Vec::new() } else { vec![Block::List(said)] };
    Chapter { id: "limits", heading: "Limits", blocks }
}
