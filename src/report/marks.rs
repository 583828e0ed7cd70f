//! The marks of cells: behind each what it rests on, with a legend.

use std::collections::BTreeSet;

use crate::{
    arithmetic::EvidenceKind,
    report::{Cell, CellValue, Kind},
};

impl CellValue for EvidenceKind {
    const KIND: Kind = Kind::Text;

    fn cell(&self) -> Cell {
        Cell::Text(self.name().into())
    }
}

/// The kind that `evidence` names, where `cell` says something.
pub(super) fn kind(cell: &Cell, evidence: &Cell) -> Option<EvidenceKind> {
    match evidence {
        Cell::Text(name) if cell.text() != "-" => EvidenceKind::named(name),
        _ => None,
    }
}

/// The marks of a table whose cells rest on these kinds, and what explains them.
pub(crate) struct Marks {
    /// Explains the marks; where all cells rest on one kind, names it.
    pub(crate) legend: String,
    several: bool,
}

impl Marks {
    /// The marks of these kinds; `None` if there are none.
    pub(crate) fn of(kinds: impl IntoIterator<Item = EvidenceKind>) -> Option<Marks> {
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

    /// The mark behind a cell that rests on `kind`; `None` where the legend says it of all.
    pub(crate) fn mark(&self, kind: EvidenceKind) -> Option<&'static str> {
        self.several.then(|| kind.mark())
    }
}

/// `caption` with the legend.
pub(crate) fn captioned(caption: &str, legend: Option<&str>) -> String {
    match legend {
        Some(legend) => format!("{}; {legend}", caption.trim_end_matches('.')),
        None => caption.to_string(),
    }
}
