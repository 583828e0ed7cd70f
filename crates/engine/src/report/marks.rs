//! Marks of cells that show their evidence, with a legend.

use std::collections::BTreeSet;

use crate::{arithmetic::EvidenceKind, report::Cell};

/// The kind that `evidence` names, if `cell` is not empty.
pub(super) fn kind(cell: &Cell, evidence: &Cell) -> Option<EvidenceKind> {
    match evidence {
        Cell::Text(name) if cell.text() != "-" => EvidenceKind::named(name),
        _ => None,
    }
}

/// Marks for some kinds of evidence.
pub struct Marks {
    /// Explanation of the marks, or the name of the only kind.
    pub legend: String,
    several: bool,
}

impl Marks {
    /// The marks of these kinds; `None` if there are none.
    pub fn of(kinds: impl IntoIterator<Item = EvidenceKind>) -> Option<Marks> {
        let kinds: BTreeSet<_> = kinds.into_iter().collect();
        let explained = |kind: EvidenceKind| format!("{} {}", kind.mark(), kind.name());
        let all: Vec<EvidenceKind> = EvidenceKind::ALL.into_iter().filter(|kind| kinds.contains(kind)).collect();
        match &all[..] {
            [] => None,
            [one] => Some(Marks { legend: format!("all {}", one.name()), several: false }),
            several => {
                let words: Vec<String> = several.iter().copied().map(explained).collect();
                Some(Marks { legend: words.join(", "), several: true })
            }
        }
    }

    /// The mark of a cell; `None` where the legend covers all cells.
    pub fn mark(&self, kind: EvidenceKind) -> Option<&'static str> {
        self.several.then(|| kind.mark())
    }
}

/// `caption` with the legend.
pub fn captioned(caption: &str, legend: Option<&str>) -> String {
    match legend {
        Some(legend) => format!("{}; {legend}", caption.trim_end_matches('.')),
        None => caption.to_string(),
    }
}
