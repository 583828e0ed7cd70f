//! What names of kernels say, in sentences.

use super::{BiasEntry, KernelName, KernelNames, KernelRole, Says};

impl KernelNames {
    /// What the names say, in a sentence.
    pub fn sentence(&self) -> String {
        let known: Vec<&KernelName> = self.kernels.iter().filter(|kernel| kernel.spelling.is_some()).collect();
        let Some(first) = known.iter().find(|kernel| kernel.role() == Some(KernelRole::Product)).or(known.first())
        else {
            let (name, say) = if self.kernels.len() == 1 { ("The name", "says") } else { ("The names", "say") };
            let names: Vec<String> = self.kernels.iter().map(|kernel| format!("`{}`", kernel.name)).collect();
            return match names.is_empty() {
                true => "No kernel is named.".into(),
                false => format!("{name} {} {say} nothing: the table of kernels lacks it.", names.join(", ")),
            };
        };
        let title = first.title();
        let mut titles: Vec<String> = vec![title.clone()];
        for kernel in &known {
            let own = kernel.title();
            if !titles.contains(&own) {
                titles.push(own);
            }
        }
        let target = self.facts().find_map(|(_, _, says)| match says {
            Says::Target { sm, later: false } => Some(format!(" for sm_{sm}")),
            _ => None,
        });
        let target = target.or_else(|| {
            self.facts().find_map(|(_, _, says)| match says {
                Says::Target { sm, later: true } => Some(format!(" for sm_{sm} and later")),
                _ => None,
            })
        });
        titles[0].push_str(&target.unwrap_or_default());
        let facts = self.phrases();
        let facts = if facts.is_empty() { "nothing about the bits".into() } else { facts.join(", ") };
        format!("{}: {facts}", titles.join(", "))
    }

    /// Facts in a fixed order, each once.
    fn phrases(&self) -> Vec<String> {
        let mut phrases: Vec<(usize, String)> = Vec::new();
        let facts: Vec<&Says> = self.facts().map(|(_, _, says)| says).collect();
        let tile_k = facts.iter().find_map(|says| match says {
            Says::TileK(k) => Some(format!(" x {k}")),
            _ => None,
        });
        for says in &facts {
            let place = match says {
                Says::Target { .. } | Says::TileK(_) => continue,
                Says::Unit(_) => 0,
                Says::Shape(_) => 1,
                Says::Operands(_) => 2,
                Says::Accumulator(_) => 3,
                Says::Output(_) => 4,
                Says::Tile(_) => 5,
                Says::Stages(_) => 6,
                Says::Slices(_) => 7,
                Says::Split(_) => 8,
                Says::Partials(_) => 9,
                Says::Joined(_) => 10,
                Says::Promotion(_) => 11,
                Says::Bias(_) => 12,
                Says::C(_) => 13,
                Says::Layout(_) => 14,
            };
            let phrase = phrase(says, tile_k.as_deref().unwrap_or_default());
            if !phrase.is_empty() && phrases.iter().all(|(_, own)| *own != phrase) {
                phrases.push((place, phrase));
            }
        }
        phrases.sort_by_key(|(place, _)| *place);
        phrases.into_iter().map(|(_, phrase)| phrase).collect()
    }
}

impl KernelName {
    fn title(&self) -> String {
        self.spelling.as_ref().map_or_else(String::new, |own| format!("{} of {}", own.title, own.library))
    }
}

fn phrase(says: &Says, tile_k: &str) -> String {
    match says {
        Says::Target { .. } | Says::TileK(_) => String::new(),
        Says::Unit(unit) => match unit {
            super::KernelUnit::Fma => "fused multiply-adds".into(),
            unit => unit.name().into(),
        },
        Says::Shape([m, n, k]) => format!("instruction {m} x {n} x {k}"),
        Says::Operands([a, b]) if a == b => format!("{a} operands"),
        Says::Operands([a, b]) => format!("{a} and {b} operands"),
        Says::Accumulator(format) => format!("sums in {format}"),
        Says::Output(format) => format!("D in {format}"),
        Says::Tile([m, n]) => format!("tile {m} x {n}{tile_k}"),
        Says::Stages(1) => "1 stage".into(),
        Says::Stages(stages) => format!("{stages} stages"),
        Says::Slices(1) => String::new(),
        Says::Slices(slices) => format!("{slices} warps along k"),
        Says::Split(true) => "k split".into(),
        Says::Split(false) => "k not split".into(),
        Says::Partials(format) => format!("parts kept in {format}"),
        Says::Joined(format) => format!("parts added in {format}"),
        Says::Promotion(None) => "sums not promoted".into(),
        Says::Promotion(Some(k)) => format!("sums promoted every {k}"),
        Says::Bias(BiasEntry::End) => "bias added before rounding".into(),
        Says::Bias(BiasEntry::Rounded) => "bias added to the rounded D".into(),
        Says::Bias(BiasEntry::Start) => "sums beginning from the bias".into(),
        Says::C(Some(_)) => "C added".into(),
        Says::C(None) => "no C".into(),
        Says::Layout(letters) => format!("layout {letters}"),
    }
}
