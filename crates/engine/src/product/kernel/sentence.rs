//! Facts of names of kernels, in sentences.

use super::{BiasEntry, KernelName, KernelNames, KernelRole, KernelUnit, Says};

impl KernelNames {
    /// The facts of the names, in a sentence.
    pub fn sentence(&self) -> String {
        let known: Vec<&KernelName> = self.kernels.iter().filter(|kernel| kernel.spelling.is_some()).collect();
        if known.is_empty() {
            return self.nothing();
        }
        // The product first, whatever ran before it.
        let product = |kernel: &&&KernelName| kernel.role() == Some(KernelRole::Product);
        let ordered = known.iter().filter(product).chain(known.iter().filter(|kernel| !product(kernel)));
        let mut titles: Vec<String> = Vec::new();
        for title in ordered.filter_map(|kernel| kernel.spelling.as_ref()).map(|spelling| &spelling.title) {
            if !titles.contains(title) {
                titles.push(title.clone());
            }
        }
        titles[0].push_str(&self.target());
        let facts = self.phrases();
        let facts = if facts.is_empty() { "nothing about the bits".into() } else { facts.join(", ") };
        format!("{}: {facts}", titles.join(", "))
    }

    fn nothing(&self) -> String {
        let names: Vec<String> = self.kernels.iter().map(|kernel| format!("`{}`", kernel.name)).collect();
        match &names[..] {
            [] => "No kernel is named.".into(),
            [name] => format!("The name {name} says nothing: the table of kernels lacks it."),
            _ => format!("The names {} say nothing: the table of kernels lacks them.", names.join(", ")),
        }
    }

    /// The target, in words; one that excludes later ones says more than one that does not.
    fn target(&self) -> String {
        let named = |wanted: bool| {
            self.facts().find_map(|(_, _, says)| match says {
                Says::Target { sm, later } if *later == wanted => Some(*sm),
                _ => None,
            })
        };
        match (named(false), named(true)) {
            (Some(sm), _) => format!(" for sm_{sm}"),
            (None, Some(sm)) => format!(" for sm_{sm} and later"),
            (None, None) => String::new(),
        }
    }

    /// Facts in the order of [`phrase`], each once.
    fn phrases(&self) -> Vec<String> {
        let facts: Vec<&Says> = self.facts().map(|(_, _, says)| says).collect();
        let mut phrases: Vec<(usize, String)> = Vec::new();
        for placed in facts.iter().filter_map(|says| phrase(says, &facts)) {
            if !phrases.contains(&placed) {
                phrases.push(placed);
            }
        }
        phrases.sort_by_key(|(place, _)| *place);
        phrases.into_iter().map(|(_, phrase)| phrase).collect()
    }
}

/// A fact in words, with its place in the sentence.
///
/// `None` for a fact that is part of another one's words, and for layouts.
fn phrase(says: &Says, all: &[&Says]) -> Option<(usize, String)> {
    let shaped = all.iter().any(|says| matches!(says, Says::Unit(KernelUnit::Mma | KernelUnit::Wmma)));
    Some(match says {
        Says::Target { .. } | Says::TileK(_) | Says::Layout(_) | Says::Slices(1) => return None,
        Says::Shape(_) if shaped => return None,
        Says::Unit(KernelUnit::Fma) => (0, "fused multiply-adds".into()),
        Says::Unit(unit) => {
            let shape = all.iter().find_map(|says| match says {
                Says::Shape([m, n, k]) if shaped => Some(format!(".m{m}n{n}k{k}")),
                _ => None,
            });
            (0, format!("{}{}", unit.name(), shape.unwrap_or_default()))
        }
        Says::Shape([m, n, k]) => (1, format!("instruction {m} x {n} x {k}")),
        Says::Operands([a, b]) if a == b => (2, format!("{a} operands")),
        Says::Operands([a, b]) => (2, format!("{a} and {b} operands")),
        Says::Accumulator(format) => (3, format!("sums in {format}")),
        Says::Output(format) => (4, format!("D in {format}")),
        Says::Tile([m, n]) => {
            let k = all.iter().find_map(|says| match says {
                Says::TileK(k) => Some(format!(" x {k}")),
                _ => None,
            });
            (5, format!("tile {m} x {n}{}", k.unwrap_or_default()))
        }
        Says::Stages(1) => (6, "1 stage".into()),
        Says::Stages(stages) => (6, format!("{stages} stages")),
        Says::Slices(slices) => (7, format!("{slices} warps along k")),
        Says::Split(true) => (8, "k split".into()),
        Says::Split(false) => (8, "k not split".into()),
        Says::Partials(format) => (9, format!("parts kept in {format}")),
        Says::Joined(format) => (10, format!("parts added in {format}")),
        Says::Promotion(None) => (11, "sums not promoted".into()),
        Says::Promotion(Some(k)) => (11, format!("sums promoted every {k}")),
        Says::Bias(BiasEntry::End) => (12, "bias added before rounding".into()),
        Says::Bias(BiasEntry::Rounded) => (12, "bias added to the rounded D".into()),
        Says::Bias(BiasEntry::First) => (12, "bias added to the first part".into()),
        Says::Bias(BiasEntry::Start) => (12, "sums beginning from the bias".into()),
        Says::C(Some(_)) => (13, "C added".into()),
        Says::C(None) => (13, "no C".into()),
    })
}
