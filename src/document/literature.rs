//! Chapter of the published figures, features and claims: what agrees, what differs, and what is new.

use super::{
    Block, Chapter, Source,
    article::Study,
    citations,
    claims::{self, Claim},
    repeated::Repeated,
    results::{CHIP, Results},
    rows::{Line, Rows, together},
    sheets::{DEVICE, Sheet, short},
};
use crate::{
    base::distinct::distinct,
    report::{Table, counted as numbered, plain},
};

/// Tables with a published figure in each row, and the columns that say which.
const PUBLISHED: [(&str, &[&str]); 5] = [
    ("cells", &["instruction", "op", "init", "reference"]),
    ("splitting_cells", &["metric", "of", "over", "k", "generation"]),
    ("integer_cells", &["column", "scheme"]),
    ("cost_cells", &["subject", "figure"]),
    ("published_features", &["class", "feature", "gpu"]),
];
/// Beginnings of verdicts on figures that differ.
const DIFFERS: [&str; 2] = ["not reproduced", "differ"];
/// Beginning of verdicts on figures that agree.
const AGREES: [&str; 2] = ["reproduced", "agree"];

/// A published figure or claim.
pub(super) struct Compared {
    device: String,
    source: String,
    what: String,
    published: String,
    measured: String,
    verdict: String,
    why: String,
}

impl Compared {
    /// True if a device of another generation than the published one differs.
    pub(super) fn is_of_another_generation(&self) -> bool {
        self.verdict.ends_with("another generation")
    }

    fn differs(&self) -> bool {
        DIFFERS.iter().any(|words| self.verdict.starts_with(words))
    }

    /// The place of the verdict among the counts.
    fn place(&self) -> usize {
        match AGREES.iter().any(|words| self.verdict.starts_with(words)) {
            true => 0,
            false if self.differs() => 1,
            false => 2,
        }
    }
}

/// The counts of published values about the devices that agree and that differ, in sentences.
pub(super) fn agreement(all: &[Compared]) -> Option<String> {
    let (foreign, own): (Vec<_>, Vec<_>) = all.iter().partition(|row| row.is_of_another_generation());
    let [agree, differ, open] = counted(own);
    let foreign = match foreign.len() {
        0 => String::new(),
        count => {
            format!(" {} for other generations came out differently, too.", numbered(count as u64, "published value"))
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

/// Makes the chapter of some comparisons and claims, and of what no publication states.
pub(super) fn chapter(study: &Study, compared: Vec<&Compared>, claims: Vec<Claim>) -> Chapter {
    let published = study.others.table("published_features");
    let mut blocks: Vec<Block> = agreement(&study.compared).map(Block::Text).into_iter().collect();
    if let Some(table) = &published {
        let keys =
            citations::keys_of(Rows(table).iter().map(|line| line.text("source")).collect::<Vec<_>>().into_iter());
        let text = study.evidence.independence(table).unwrap_or_default() + " The papers with published features are";
        blocks.push(Block::Source(Source { text, key: (!keys.is_empty()).then(|| keys.join(",")) }));
    }
    let sheet = differing(compared);
    if !sheet.shown.rows.is_empty() {
        let text = "A figure that was not reproduced, or a claim that does not hold, has its reason if one is known. Accepted: the \
                    experiment expects the difference. Another generation: the source measured other generations.";
        blocks.push(Block::Text(text.into()));
    }
    blocks.extend(sheet.block());
    if published.is_some() || !study.experiments.is_empty() {
        let text = "Each claim below has the command that repeats it. Their sources are".into();
        let key = distinct(claims.iter().map(|claim| claim.cite.as_str())).join(",");
        if !claims.is_empty() {
            blocks.push(Block::Source(Source { text, key: Some(key) }));
        }
        blocks.extend(claims::sheet(&claims).block());
    }
    blocks.extend(published.iter().filter_map(|table| study.evidence.unstated(table)));
    Chapter { id: "literature", heading: "Comparison with the literature", blocks }
}

/// Makes the table of the figures and claims that differ.
fn differing(compared: Vec<&Compared>) -> Sheet {
    let row = |row: &Compared| {
        let verdict = row.verdict.trim_start_matches("not reproduced: ");
        let cells = [&row.device, &row.source, &row.what, &row.published, &row.measured, verdict, &row.why];
        cells.map(str::to_string).to_vec()
    };
    let labels = ["source", "figure or claim", "published", "measured", "verdict", "why"];
    let rows = compared.into_iter().filter(|row| row.differs()).map(row);
    Sheet::by_device("Differences from the literature", &labels, &[], rows)
}

/// The numbers of figures and claims that are reproduced, that are not, and that cannot be compared.
fn counted<'a>(all: impl IntoIterator<Item = &'a Compared>) -> [usize; 3] {
    let mut counts = [0; 3];
    all.into_iter().for_each(|row| counts[row.place()] += 1);
    counts
}

/// Makes the table of counts: a row for each source and device.
pub(super) fn counts(compared: &[Compared]) -> Sheet {
    let groups = together(compared.iter().map(|row| ([&row.device, &row.source], row))).into_iter();
    let row = |([device, source], rows): ([&String; 2], Vec<&Compared>)| {
        [device, source].into_iter().cloned().chain(counted(rows).map(|count| count.to_string())).collect()
    };
    let labels = [DEVICE, "source", "reproduced", "not reproduced", "not testable"];
    let caption = "Published figures and claims, counted by verdict";
    Sheet::new(caption, &labels, &[2, 3, 4], groups.map(row).collect())
}

/// Every published figure and claim.
pub(super) fn compared(all: &[Repeated], others: &Results) -> Vec<Compared> {
    let mut rows = Vec::new();
    for repeated in all {
        rows.extend(of_results(&repeated.results, &repeated.label));
    }
    rows.extend(of_results(others, ""));
    rows
}

fn of_results(results: &Results, label: &str) -> Vec<Compared> {
    let explanations = results.table("explanations");
    let published = |line: &Line| line.shown("published").unwrap_or_default();
    let compared = |line: &Line, what: String, [published, measured, verdict, why]: [String; 4]| {
        let source = if label.is_empty() { line.text("source") } else { label };
        Compared { device: device(line), source: source.into(), what, published, measured, verdict, why }
    };
    let mut rows = Vec::new();
    let mut add = |key: &str, row: &dyn Fn(&Line) -> Compared| {
        rows.extend(results.table(key).iter().flat_map(|table| Rows(table).iter()).map(|line| row(&line)));
    };
    for (key, naming) in PUBLISHED {
        add(key, &|line| {
            let measured = [line.cell("measured"), line.cell("found")].into_iter().find(|cell| !cell.is_empty());
            let (measured, why) = (measured.map(plain).unwrap_or_default(), why(line, explanations.as_ref()));
            compared(line, named(line, naming), [published(line), measured, line.text("verdict").into(), why])
        });
    }
    add("untestable", &|line| {
        let why = format!("It lacks {}.", line.text("instruction"));
        compared(line, line.text("what").into(), [published(line), String::new(), line.text("verdict").into(), why])
    });
    add("findings", &|line| {
        let verdict = match (line.flag("holds"), line.flag("counts"), line.text("accepted")) {
            (Some(true), ..) => "reproduced: holds",
            (_, Some(false), _) => "not reproduced: another generation",
            (_, _, "") => "not reproduced: not known why",
            _ => "not reproduced: accepted",
        };
        let cells = ["holds", line.text("measured"), verdict, line.text("accepted")].map(String::from);
        compared(line, line.text("claim").into(), cells)
    });
    rows
}

fn device(line: &Line) -> String {
    let name = [line.text("device"), line.text(CHIP)].into_iter().find(|name| !name.is_empty());
    short(name.unwrap_or_default())
}

/// The columns that name a figure, as one text.
fn named(line: &Line, naming: &[&str]) -> String {
    let part = |key: &&str| {
        let text = line.shown(key)?;
        Some(match *key {
            "init" => format!("init {text}"),
            "reference" => format!("against {text}"),
            "over" => format!("over {text}"),
            "of" => format!("of {text}"),
            "k" => format!("k = {text}"),
            "generation" => format!("on {text}"),
            _ => text,
        })
    };
    naming.iter().filter_map(part).collect::<Vec<_>>().join(", ")
}

/// The reason of a row, else the explanation of its cell.
fn why(line: &Line, explanations: Option<&Table>) -> String {
    let reason = [line.text("why"), line.text("reason")].into_iter().find(|text| !text.is_empty());
    let of =
        |other: &Line| ["instruction", "op", "init", "reference"].iter().all(|key| line.text(key) == other.text(key));
    let explained = || {
        let other = explanations.and_then(|table| Rows(table).iter().find(of))?;
        Some([other.text("accepted"), other.text("explanation")].into_iter().find(|text| !text.is_empty())?.to_string())
    };
    reason.map(str::to_string).or_else(explained).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_named_by_columns_of_its_table() {
        for (key, naming) in PUBLISHED {
            let all = crate::tables::declared();
            let table = all.iter().find(|table| table.key == key).expect(key);
            for name in naming {
                assert!(table.columns.iter().any(|column| column.key == *name), "{key}: {name}");
            }
        }
    }
}
