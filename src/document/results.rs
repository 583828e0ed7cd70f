//! Several results as one: their chips, and their joined tables.

use std::collections::{BTreeMap, HashMap};

use super::rows::{Line, Rows, together};
use crate::{
    base::distinct::distinct,
    device::{DeviceName, Generation, Identity},
    report::{Cell, CellKind, CellValue, Column, Kept, Report, Table, shown},
};

/// Key of the column with the chip of a row.
pub(super) const CHIP: &str = "chip";
/// Columns that name a device.
const DEVICES: [&str; 2] = ["device", "other"];

/// Results and their chips.
pub(crate) struct Results {
    /// The results, each once.
    pub(super) kept: Vec<Kept>,
    /// The chip of each result.
    pub(super) chips: Vec<String>,
}

impl Results {
    /// Gathers results; equal ones count once.
    pub(crate) fn new(all: Vec<Kept>) -> Results {
        let mut kept: Vec<Kept> = Vec::new();
        for result in all {
            if !kept.iter().any(|known| known.report == result.report) {
                kept.push(result);
            }
        }
        let chips = kept.iter().map(|result| result.report.device.as_ref().map_or(String::new(), chip)).collect();
        Results { kept, chips }
    }

    /// Makes the results of the command that just ran.
    pub(crate) fn of(report: &Report) -> Results {
        let (version, commit) = (crate::VERSION.to_string(), Some(crate::COMMIT.to_string()));
        Results::new(vec![Kept { path: "".into(), version, commit, report: report.clone(), unknown: Vec::new() }])
    }

    /// The chips that are not simulated, else the models; the chip of most results first.
    pub(super) fn subjects(&self) -> Vec<String> {
        let devices = self.kept.iter().flat_map(|kept| devices(&kept.report));
        let mut chips = together(devices.map(|device| (chip(&device), is_model(&device))));
        let real = chips.iter().any(|(_, simulated)| !simulated[0]);
        chips.retain(|(_, simulated)| !real || !simulated[0]);
        chips.sort_by_key(|(_, all)| std::cmp::Reverse(all.len()));
        chips.into_iter().map(|(name, _)| name).collect()
    }

    /// All chips that results name, each once.
    pub(super) fn chips(&self) -> Vec<String> {
        distinct(self.kept.iter().flat_map(|kept| devices(&kept.report)).map(|device| chip(&device)))
    }

    /// Joins the tables of a key, with a first column for the chip; equal rows count once.
    pub(super) fn table(&self, key: &str) -> Option<Table> {
        let mut all: Option<Table> = None;
        for (at, result) in self.kept.iter().enumerate() {
            for table in result.report.tables.iter().filter(|table| table.key == key && !table.rows.is_empty()) {
                let joined = all.get_or_insert_with(|| {
                    let look = shown("on").if_varied().essential();
                    let chip = Column { key: CHIP.into(), meaning: "The chip.", kind: CellKind::Text, look };
                    let columns = std::iter::once(chip).chain(table.columns.iter().cloned()).collect();
                    Table { columns, rows: Vec::new(), title: table.title.clone(), ..*table }
                });
                let names = self.names(at);
                let devices: Vec<usize> =
                    (0..table.columns.len()).filter(|&column| DEVICES.contains(&&*table.columns[column].key)).collect();
                for row in &table.rows {
                    let mut cells: Vec<Cell> =
                        std::iter::once(self.chips[at].cell()).chain(row.iter().cloned()).collect();
                    for &column in &devices {
                        if let Cell::Text(name) = &mut cells[column + 1]
                            && let Some(chip) = names.get(name.as_str())
                        {
                            *name = chip.clone();
                        }
                    }
                    joined.rows.push(cells);
                }
            }
        }
        let mut table = all?;
        let mut seen = std::collections::HashSet::new();
        table.rows.retain(|row| seen.insert(format!("{row:?}")));
        Some(table)
    }

    /// The simulated chips, each with the kinds of evidence that the results name.
    pub(super) fn simulated(&self) -> Vec<(String, String)> {
        let devices = self.kept.iter().flat_map(|kept| {
            let table = kept.report.tables.iter().filter(|table| table.key == "devices");
            table.flat_map(described).chain(kept.report.device.clone())
        });
        let evidence = |device: &Identity| {
            let named = |(key, value): &(String, String)| (key == "model_evidence").then(|| value.clone());
            device.details.iter().find_map(named)
        };
        let chips = together(devices.filter(is_model).map(|device| (chip(&device), evidence(&device)))).into_iter();
        chips.map(|(chip, kinds)| (chip, kinds.into_iter().flatten().next().unwrap_or_default())).collect()
    }

    /// A sentence on the evidence of simulated chips; `None` if no shown chip is simulated.
    pub(super) fn according_to(&self, is_shown: impl Fn(&str) -> bool) -> Option<String> {
        let shown: Vec<String> = self
            .simulated()
            .into_iter()
            .filter(|(chip, _)| is_shown(chip))
            .map(|(chip, rests_on)| match rests_on.is_empty() {
                true => format!("{chip}: not stated by older results"),
                false => format!("{chip}: {rests_on}"),
            })
            .collect();
        (!shown.is_empty())
            .then(|| format!("According to arithmetic models, and what these rest on: {}.", shown.join("; ")))
    }

    /// The shipped model of a chip, or the model that the chip is.
    pub(super) fn model_of(&self, name: &str) -> Option<String> {
        let device = self.kept.iter().flat_map(|kept| devices(&kept.report)).find(|device| chip(device) == name)?;
        let mut said: BTreeMap<String, String> = device.details.iter().cloned().collect();
        said.extend([("device".into(), device.name.to_string()), ("description".into(), device.description.clone())]);
        let model = device.name.model().map(String::from);
        model.or_else(|| Generation::of_recording(&said).shipped_model().map(String::from))
    }

    /// The chips of the devices that a result names.
    fn names(&self, at: usize) -> HashMap<String, String> {
        let report = &self.kept[at].report;
        let mut names = HashMap::new();
        for table in report.tables.iter().filter(|table| table.key == "devices") {
            for (row, identity) in Rows(table).iter().zip(described(table)) {
                names.insert(row.text("device").to_string(), chip(&identity));
                names.insert(identity.name.short(), chip(&identity));
            }
        }
        if let Some(device) = &report.device {
            names.insert(device.name.to_string(), self.chips[at].clone());
        }
        names
    }

    /// Results that were interrupted or have exit status 1: file, command and verdict.
    pub(super) fn failed(&self) -> Vec<String> {
        let failed = self.kept.iter().filter(|kept| !kept.report.holds || kept.report.interrupted.is_some());
        let outcome = |report: &Report| match report.interrupted {
            Some(by) => format!("interrupted by {}", by.name()),
            None => report.verdict.name().into(),
        };
        failed.map(|kept| format!("{} ({}: {})", kept.name(), kept.report.command, outcome(&kept.report))).collect()
    }
}

/// The device of a result, else its devices.
fn devices(report: &Report) -> Vec<Identity> {
    let several = report.tables.iter().filter(|table| table.key == "devices");
    match &report.device {
        Some(device) => vec![device.clone()],
        None => several.flat_map(described).collect(),
    }
}

/// The devices of a table of devices.
fn described(table: &Table) -> impl Iterator<Item = Identity> {
    Rows(table).iter().map(|row| {
        let evidence = row.text("details").split_once("model_evidence ").map(|(_, kinds)| kinds.to_string());
        let details = evidence.map(|kinds| ("model_evidence".into(), kinds)).into_iter().collect();
        Identity { details, ..Identity::new(row.text("device"), row.text("description")) }
    })
}

/// True if a device is a model.
fn is_model(device: &Identity) -> bool {
    device.name.model().is_some()
}

/// The usual name of the chip of a device: `NVIDIA H200`, `NVIDIA Hopper (model)`.
pub(crate) fn chip(device: &Identity) -> String {
    let description = called(&device.description);
    // The description of a library ends with its GPU.
    match description.rsplit_once(" on ") {
        Some((_, chip)) if matches!(device.name, DeviceName::CublasLt(_)) => chip.to_string(),
        _ if description.is_empty() => device.name.to_string(),
        _ => description,
    }
}

/// A description in short; for a model its generation.
fn called(description: &str) -> String {
    // A campaign adds the rule of the model.
    let model = description.strip_prefix("arithmetic model of ").and_then(|rest| rest.split_once(", simulated"));
    model.map_or(description.to_string(), |(model, _)| {
        let generation = model.split_once(" (").map_or(model, |(generation, _)| generation);
        format!("{generation} (model)")
    })
}

/// The chip of a row, by its own columns, else by its result.
pub(super) fn chip_of(line: &Line) -> String {
    let names = [called(line.text("recorded_on")), called(line.text("device_description"))];
    let named = names.into_iter().chain([line.text("device").to_string(), line.text(CHIP).to_string()]);
    named.into_iter().find(|name| !name.is_empty()).unwrap_or_default()
}
