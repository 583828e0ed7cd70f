//! A paper of given length: a draft of what its results say.
//!
//! The appendix of all results is its supplement.

mod bounds;
mod evidence;
mod fit;

use super::{
    Block, Chapter, Document, Figure, Results, Sheet, Source,
    appendix::{self, Repeated, differences, listed, sheets, short},
    arithmetic::{self as arithmetics, Arithmetic, class_of},
    citations, claims, figures, generations, is_native, proof,
    rows::{Rows, together},
};
use crate::{
    arithmetic::Model,
    base::distinct::distinct,
    format::Format,
    isa::{self, Instruction},
    report::{Cell, counted, marks::Marks},
};
pub(crate) use fit::Fitted;

/// The choice of what a paper is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subject {
    /// Operand formats; empty for all.
    pub(crate) formats: Vec<&'static Format>,
    /// Experiments by name; empty for all.
    pub(crate) experiments: Vec<String>,
}

/// Mark of the names of models.
const MODEL: &str = " (model)";
/// Tables of the growth of errors.
const GROWTH: [&str; 2] = ["chain", "product_errors"];
/// Features that the table of all generations has as columns, where they differ.
const COLUMNS: [&str; 8] = ["order", "alignment", "floor", "carry bits", "accumulator", "sums", "result", "NaN"];
/// Longest order of a sum in that table, in characters.
const LONGEST: usize = 40;

/// How the words of features are read.
const READING: &str = "Braces hold the terms of one sum: {{c, 0..7}, 8..15} is the sum of c and products 0 to 7, to which a second sum adds \
                       products 8 to 15. A sum aligns its terms to the largest exponent among them, but never to one below the floor. The \
                       alignment keeps a number of fraction bits, and cuts off the others with the rounding in the cell (RZ: toward zero, RNE: to nearest, \
                       ties to even). Carry bits stand above the largest exponent. The column sums has the rounding between the sums of an \
                       instruction (once: there is one sum), accumulator the significant bits that pass from one sum to the next or leave the only \
                       one, and result the rounding to D. Where a cell ends in or more, or in or less, the formats show a bound alone.";

/// The results that a paper is about, and what its chapters share.
struct Study {
    experiments: Vec<Repeated>,
    others: Results,
    all: Vec<Arithmetic>,
    /// Published figures and claims about the devices, and the number of those about others that differ.
    compared: Vec<differences::Compared>,
    foreign: usize,
    evidence: evidence::Evidence,
    /// The devices, each with its model.
    models: Vec<(String, String)>,
}

/// Makes a paper of at most `pages` pages.
pub(crate) fn article(results: &Results, subject: &Subject, pages: usize) -> Fitted {
    let results = results.of_formats(&subject.formats);
    let (mut experiments, others) = appendix::separated(&results);
    experiments.retain(|repeated| subject.experiments.is_empty() || subject.experiments.contains(&repeated.name));
    let features = others.table("features").map(|mut table| {
        generations::present(&mut table);
        table
    });
    let mut compared = differences::compared(&experiments, &others);
    let all = compared.len();
    compared.retain(|row| !row.is_of_another_generation());
    let study = Study {
        foreign: all - compared.len(),
        models: results.chips().into_iter().filter_map(|chip| Some((chip.clone(), results.model_of(&chip)?))).collect(),
        all: features.as_ref().map(arithmetics::arithmetics).unwrap_or_default(),
        evidence: evidence::Evidence::of(features.as_ref()),
        compared,
        experiments,
        others,
    };
    let bounds = bounds::Bounds::of(&study.all, &results);
    let mut parts = vec![
        evidence::setup(&study, &results),
        study.features(),
        study.literature(),
        study.growth(),
        bounds.chapter(),
        evidence::limits(&study, &results),
    ];
    parts.retain(|part| !part.blocks.is_empty());
    let chips: Vec<String> = results.subjects().iter().map(|chip| short(chip)).collect();
    let lead = study.summary(&chips, subject, &bounds);
    let mut document = Document { title: listed(&chips), lead, parts };
    if chips.iter().all(|chip| chip.ends_with(MODEL)) {
        unmark(&mut document, &chips);
    }
    fit::fitted(document, pages)
}

/// Leaves out the mark of models where all devices are models, which the abstract says.
fn unmark(document: &mut Document, chips: &[String]) {
    let names = chips.iter().map(|chip| {
        let name = chip.trim_end_matches(MODEL);
        (chip, name.split_once(", ").map_or(name.into(), |(name, kind)| format!("{name} ({kind})")))
    });
    let names: Vec<(&String, String)> = names.collect();
    let plain = |text: &mut String| names.iter().for_each(|(marked, name)| *text = text.replace(*marked, name));
    plain(&mut document.title);
    plain(&mut document.lead);
    document.lead += " All devices here are models: no chip was run for this paper, and measured values are those that a model rests on.";
    for block in document.parts.iter_mut().flat_map(|part| &mut part.blocks) {
        match block {
            Block::Text(text) | Block::Source(Source { text, .. }) => plain(text),
            Block::List(items) => items.iter_mut().for_each(plain),
            Block::Table(Sheet { caption, shown }) => {
                plain(caption);
                shown.rows.iter_mut().flatten().for_each(plain);
            }
            _ => (),
        }
    }
}

impl Study {
    /// The abstract, each sentence from the results.
    fn summary(&self, chips: &[String], subject: &Subject, bounds: &bounds::Bounds) -> String {
        let formats: Vec<String> = subject.formats.iter().map(|format| format.name.to_string()).collect();
        let operands =
            if formats.is_empty() { String::new() } else { format!(" with operands in {}", listed(&formats)) };
        let count: usize = self.all.iter().map(|arithmetic| arithmetic.instructions.len()).sum();
        let what = match count {
            0 => "matrix instructions".into(),
            count => counted(count as u64, "matrix instruction"),
        };
        let mut said = vec![format!("We describe the arithmetic of {what}{operands} on {}.", listed(chips))];
        said.extend(proof::comparisons(&self.others));

        said.extend(self.evidence.sentence());
        let varied: Vec<String> =
            self.varied().into_iter().map(|at| crate::features::FEATURES[at].name.into()).collect();
        if !varied.is_empty() {
            said.push(format!("The instructions differ in these features: {}.", listed(&varied)));
        }
        said.extend(self.agreement());
        said.extend(self.others.table("published_features").and_then(|table| self.evidence.independence(&table)));
        said.extend(bounds.sentence());
        said.join(" ")
    }

    /// The features, by number, that are not the same in all instructions that show them.
    fn varied(&self) -> Vec<usize> {
        let words = |at: usize| {
            distinct(self.all.iter().map(|one| &one.findings[at].words[..]).filter(|words| !words.is_empty()))
        };
        (0..crate::features::FEATURES.len()).filter(|at| words(*at).len() > 1).collect()
    }

    /// The chapter of features: a row for each arithmetic, and those that all share in a sentence.
    fn features(&self) -> Chapter {
        let names = |at: &usize| crate::features::FEATURES[*at].name;
        let (columns, more): (Vec<usize>, Vec<usize>) =
            self.varied().into_iter().partition(|at| COLUMNS.contains(&names(at)));
        let more: Vec<String> = more.iter().map(|at| names(at).into()).collect();
        let marks =
            Marks::of(self.all.iter().flat_map(|one| one.findings.iter().filter_map(|finding| finding.evidence)));
        let row = |one: &Arithmetic| {
            let class = one.classes().join(", ");
            let cell = |at: &usize| {
                let mut finding = one.findings[*at].clone();
                if names(at) == "order" && finding.words.chars().count() > LONGEST {
                    finding.words = "in several steps".into();
                }
                finding.marked(marks.as_ref())
            };
            let cells = columns.iter().map(cell).collect::<Vec<_>>();
            ((class, cells), short(&one.chip))
        };
        let rows = together(self.all.iter().map(row))
            .into_iter()
            .map(|((class, cells), chips)| [distinct(chips).join(", "), class].into_iter().chain(cells).collect());
        let labels: Vec<&str> = [sheets::DEVICE, "instructions"].into_iter().chain(columns.iter().map(names)).collect();
        let legend = marks.as_ref().map(|marks| &marks.legend[..]);
        let caption =
            crate::report::marks::captioned("Features that differ, by generation (-: no operands show it)", legend);
        let shared = (0..crate::features::FEATURES.len()).filter_map(|at| {
            let words = self.all.iter().map(|one| &one.findings[at].words[..]).find(|words| !words.is_empty())?;
            (!self.varied().contains(&at)).then(|| format!("{}: {words}", names(&at)))
        });
        let shared: Vec<String> = shared.collect();
        let mut blocks = Vec::new();
        if !shared.is_empty() {
            blocks.push(Block::Text(format!("The same in all instructions that show it: {}.", shared.join("; "))));
        }
        if !more.is_empty() {
            blocks.push(Block::Text(format!("The supplement also has the differences in {}.", listed(&more))));
        }
        if !self.all.is_empty() {
            blocks.push(Block::Text(READING.into()));
        }
        blocks.extend(self.emulated().map(Block::Text));
        blocks.extend(Sheet::new(caption, &labels, &[], rows.collect()).full());
        Chapter { id: "features", heading: "Features by generation", blocks }
    }

    /// The classes that the assembler makes of other instructions, in a sentence.
    fn emulated(&self) -> Option<String> {
        let on = self.all.iter().filter_map(|one| {
            let model = Model::load(self.models.iter().find(|(chip, _)| *chip == one.chip)?.1.as_str()).ok()?;
            let name = one.instructions.iter().find(|name| isa::known(name).is_some_and(|i| !is_native(&model, &i)))?;
            Some((class_of(name), short(&one.chip)))
        });
        let all: Vec<String> =
            together(on).into_iter().map(|(class, on)| format!("{class} on {}", listed(&distinct(on)))).collect();
        (!all.is_empty()).then(|| {
            format!(
                "The assembler makes some instructions of others, so their rows show these: {}. The unit for their operands, if there is one, is in the \
                 rows of other families.",
                all.join("; ")
            )
        })
    }

    /// The counts of published values that agree and that differ.
    fn agreement(&self) -> Option<String> {
        let [agree, differ, open] = differences::counted(&self.compared);
        let foreign = match self.foreign {
            0 => String::new(),
            count => {
                format!(
                    " {} for other generations came out differently, too.",
                    counted(count as u64, "published value")
                )
            }
        };
        (agree + differ + open > 0).then(|| {
            format!(
                "{} published values and claims are about these devices: {agree} are reproduced, {open} cannot be compared, and {differ} came out \
                 differently.{foreign}",
                agree + differ + open
            )
        })
    }

    /// The chapter of differences from the literature, and of what it does not state.
    fn literature(&self) -> Chapter {
        let mut blocks: Vec<Block> = self.agreement().map(Block::Text).into_iter().collect();
        let published = self.others.table("published_features");
        if let Some(table) = &published {
            let keys =
                citations::keys_of(Rows(table).iter().map(|line| line.text("source")).collect::<Vec<_>>().into_iter());
            let text =
                self.evidence.independence(table).unwrap_or_default() + " The papers with published features are";
            blocks.push(Block::Source(Source { text, key: (!keys.is_empty()).then(|| keys.join(",")) }));
        }
        if self.compared.is_empty() {
            blocks.push(Block::Text("These results repeat no published value.".into()));
        }
        blocks.extend(differences::sheet(&self.compared));
        let mut claims = claims::claims();
        claims.retain(|claim| {
            claim.agreement != claims::AGREEMENTS[0]
                && self.models.iter().any(|(_, model)| claim.models.contains(model))
        });
        blocks.extend(claims::sheet(&claims).full());
        blocks.extend(published.iter().filter_map(|table| self.evidence.unstated(table)));
        Chapter { id: "literature", heading: "New results and contradictions of the literature", blocks }
    }

    /// The chapter of the growth of errors: for each experiment its claims, a figure and a table.
    fn growth(&self) -> Chapter {
        let mut blocks = Vec::new();
        for repeated in &self.experiments {
            let tables: Vec<_> = GROWTH.iter().filter_map(|key| repeated.results.table(key)).collect();
            if tables.is_empty() {
                continue;
            }
            blocks.push(Block::Source(Source { text: repeated.source.clone(), key: repeated.cite.clone() }));
            blocks.extend(repeated.notes.iter().cloned().map(Block::Text));
            if let Some(findings) = repeated.results.table("findings") {
                let holds = Rows(&findings)
                    .iter()
                    .map(|line| (line.text("claim").to_string(), (line.flag("holds"), short(line.text("device")))));
                let on = |devices: &[(Option<bool>, String)], wanted: bool| {
                    let names = devices.iter().filter(|(holds, _)| *holds == Some(wanted)).map(|(_, name)| &name[..]);
                    names.collect::<Vec<_>>().join(", ")
                };
                let rows = together(holds).into_iter();
                let rows = rows.map(|(claim, devices)| vec![claim, on(&devices, true), on(&devices, false)]).collect();
                let caption = format!("Claims of {}", repeated.label);
                blocks.extend(Sheet::new(caption, &["claim", "holds on", "fails on"], &[], rows).full());
            }
            for table in &tables {
                let (shown, _) = figures::of_table(&repeated.results, table);
                let figures = shown.into_iter().take(1).map(|figure| repeated.named(figure));
                // The supplement has the same figure of all formats.
                blocks.extend(
                    figures.map(|figure| Block::Figure(Figure { name: format!("paper-{}", figure.name), ..figure })),
                );
            }
            let ends = repeated.results.table("curves").or(tables.into_iter().find(|table| table.key != "chain"));
            blocks.extend(ends.iter().flat_map(sheets::sheets).filter_map(Sheet::full));
        }
        Chapter { id: "growth", heading: "Growth of errors", blocks }
    }
}

impl Results {
    /// The results with only the rows of matrix instructions on these formats; without formats, on all.
    fn of_formats(&self, formats: &[&'static Format]) -> Results {
        let mut kept = self.kept.clone();
        let is_other = |name: &str| {
            let multiplies = |i: &Instruction| formats.is_empty() || formats.contains(&i.a) || formats.contains(&i.b);
            isa::known(name).is_some_and(|i| i.m * i.n * i.k == 1 || !multiplies(&i))
        };
        for table in kept.iter_mut().flat_map(|kept| &mut kept.report.tables) {
            if let Some(at) = table.columns.iter().position(|column| column.key == "instruction") {
                table.rows.retain(|row| !matches!(&row[at], Cell::Text(name) if is_other(name)));
            }
        }
        Results::new(kept)
    }
}
