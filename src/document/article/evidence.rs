//! Evidence of features: measured on which chip, resting on others, or never measured.

use std::collections::BTreeSet;

use super::{Study, short};
use crate::{
    COMMIT, VERSION,
    arithmetic::EvidenceKind,
    base::distinct::distinct,
    document::{
        Block, Chapter, Results, Sheet,
        appendix::{devices, listed, seeds, sheets, versions},
        arithmetic::class_of,
        citations,
        results::chip_of,
        rows::{Rows, together},
    },
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
        let groups = together(new.map(|cell| ((cell.device.clone(), cell.class.clone()), cell.feature.clone())));
        let rows: Vec<_> =
            groups.into_iter().map(|((device, class), features)| vec![device, class, features.join(", ")]).collect();
        let caption = "New: features that were measured, and that no publication in our table states of this device";
        Sheet::new(caption, &[sheets::DEVICE, "instructions", "features"], &[], rows).full()
    }
}

/// Makes the chapter of devices and evidence.
pub(super) fn setup(study: &Study, results: &Results) -> Chapter {
    let said = format!(
        "Results by tcnum {}; document by tcnum {VERSION}, commit {}. {} A model is a description of a chip that the program executes; its \
         results are not measurements. A feature is found by directed inputs: operands for which its possible values give different D. The \
         supplement has an input for each finding, all tables, and the commands that repeat them.",
        versions(results),
        citations::short(COMMIT),
        seeds(results)
    );
    let mut blocks = vec![Block::Text(said)];
    blocks.extend(devices(results).full());
    let of_kind = |kind: EvidenceKind| {
        let groups = together(study.evidence.of_kind(kind).map(|cell| (&cell.rests_on, &cell.device))).into_iter();
        groups.map(move |(source, devices)| (kind, source, devices))
    };
    let groups = EvidenceKind::ALL.into_iter().flat_map(of_kind);
    let row = |(kind, source, devices): (EvidenceKind, &String, Vec<&String>)| {
        let counts = together(devices.into_iter().map(|device| (device, ()))).into_iter();
        let counts: Vec<String> = counts.map(|(device, all)| format!("{device}: {}", all.len())).collect();
        let source = source.strip_prefix(&format!("{}: ", kind.name())).unwrap_or(source);
        vec![kind.name().into(), source.into(), counts.join("; ")]
    };
    let labels = ["evidence", "source", "number of features by device"];
    let caption = "Evidence of the features: measured on a chip, or the source of the model";
    blocks.extend(Sheet::new(caption, &labels, &[], groups.map(row).collect()).full());
    Chapter { id: "setup", heading: "Devices and evidence", blocks }
}

/// Makes the chapter of limits, each a sentence on these results.
pub(super) fn limits(study: &Study, results: &Results) -> Chapter {
    let models: Vec<String> = results.simulated().iter().map(|(chip, _)| short(chip)).collect();
    let evidence = &study.evidence;
    let mut said = Vec::new();
    if !models.is_empty() {
        said.push(format!(
            "No chip was run for {}: models gave these results. An error of a model is an error of this paper.",
            listed(&models)
        ));
    }
    let cells = evidence.of_kind(EvidenceKind::Assumed);
    let assumed = together(cells.map(|cell| (&cell.device, cell.feature.clone()))).into_iter();
    let assumed: Vec<String> =
        assumed.map(|(device, features)| format!("{device}: {}", distinct(features).join(", "))).collect();
    if !assumed.is_empty() {
        said.push(format!(
            "{} of {} features are assumed, because no public source has them, and were never measured. {}.",
            evidence.of_kind(EvidenceKind::Assumed).count(),
            evidence.cells.len(),
            assumed.join("; ")
        ));
    }
    if evidence.hidden > 0 {
        said.push(format!(
            "{} features cannot be seen in any result of their instructions, because the formats hold no operands that would show them.",
            evidence.hidden
        ));
    }
    said.push("A feature is what directed inputs show; other inputs may show more. Equal results do not show how a chip computes.".into());
    let asked: usize = study.all.iter().map(|one| one.instructions.len()).sum();
    if asked > 0 {
        said.push(format!(
            "The features belong to {}. Other shapes of a class may group their terms in another way.",
            counted(asked as u64, "instruction")
        ));
    }
    let verified = study.others.table("verification");
    let compared: i64 = verified.iter().flat_map(|table| Rows(table).iter()).map(|line| line.count("compared")).sum();
    said.push(match compared {
        0 => "These results have no comparison of a chip with its model on random operands.".into(),
        count => format!(
            "{} results were compared with models in every bit. A difference on operands that no regime draws is not seen.",
            grouped(count)
        ),
    });
    if let failed @ [_, ..] = &results.failed()[..] {
        said.push(format!("These results report a mismatch or were interrupted: {}.", failed.join(", ")));
    }
    Chapter { id: "limits", heading: "Threats to validity", blocks: vec![Block::List(said)] }
}
