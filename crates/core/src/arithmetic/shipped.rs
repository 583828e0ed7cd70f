//! Models inside the program: the files of `models/`, collected by the build, and their names.

use crate::isa::targets;

/// Name, targets and text, in the order of the targets.
const SHIPPED: &[(&str, &[&str], &str)] = include!(concat!(env!("OUT_DIR"), "/models.rs"));
/// Most models, and names of each, in a suggestion.
const MOST_SUGGESTED: usize = 4;

/// Names of the models inside the program.
pub fn shipped() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, ..)| *name)
}

/// Name of the model that describes a target (`sm_90a`); `None` without one.
pub fn of_target(target: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(_, targets, _)| targets.contains(&target)).map(|(name, ..)| *name)
}

/// Shipped model with this name or alias, in any letter case (`Hopper`, `h100`, `SM_90`).
pub fn named(name: &str) -> Option<&'static str> {
    let wanted = plain(name);
    let by_name = shipped().find(|model| plain(model) == wanted);
    by_name.or_else(|| shipped().find(|model| aliases(model).iter().any(|alias| plain(alias) == wanted)))
}

/// Other names of a shipped model: the GPUs and the targets that it describes.
pub fn aliases(model: &str) -> Vec<String> {
    let names = SHIPPED.iter().find(|(name, ..)| *name == model).map_or(&[][..], |(_, targets, _)| targets);
    let targets = targets::all().iter().filter(|target| names.contains(&target.name));
    targets::distinct(targets.flat_map(|target| target.aliases()))
}

/// Likely meanings of an unknown name, among models and the names `others`.
/// Each model is listed with similar aliases: `'ada' (RTX 6000 Ada) or 'turing' (Quadro RTX 6000)`.
pub fn suggested(name: &str, others: &[&'static str]) -> String {
    let models = shipped()
        .flat_map(|model| std::iter::once(model.to_string()).chain(aliases(model)).map(move |alias| (model, alias)));
    let known: Vec<(&str, String)> = models.chain(others.iter().map(|other| (*other, other.to_string()))).collect();
    let (wanted, start) = (words(name), plain(name));
    let shares = |candidate: &[String]| {
        let has = |of: &[String], all: &[String]| !all.is_empty() && all.iter().all(|word| of.contains(word));
        has(candidate, &wanted) || has(&wanted, candidate)
    };
    let mut like: Vec<&(&str, String)> = known.iter().filter(|(_, alias)| shares(&words(alias))).collect();
    if like.is_empty() && !start.is_empty() {
        like = known.iter().filter(|(_, alias)| plain(alias).starts_with(&start)).collect();
    }
    if like.is_empty() {
        let score = |alias: &str| strsim::normalized_damerau_levenshtein(&start, &plain(alias));
        // The first of equally similar ones.
        like.extend(known.iter().rev().max_by(|(_, x), (_, y)| score(x).total_cmp(&score(y))));
    }
    let mut models: Vec<&str> = like.iter().map(|(model, _)| *model).collect();
    models.dedup();
    let shown = |model: &&str| {
        let aliases: Vec<&str> =
            like.iter().filter(|(of, alias)| of == model && alias != model).map(|(_, alias)| &alias[..]).collect();
        let aliases = aliases[..aliases.len().min(MOST_SUGGESTED)].join(", ");
        if aliases.is_empty() { format!("'{model}'") } else { format!("'{model}' ({aliases})") }
    };
    models.iter().take(MOST_SUGGESTED).map(shown).collect::<Vec<_>>().join(" or ")
}

/// Text of the model with this name.
pub(super) fn text(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(shipped, ..)| *shipped == name).map(|(.., text)| *text)
}

/// A name without letter case, spaces, hyphens and underscores.
fn plain(name: &str) -> String {
    name.replace([' ', '-', '_'], "").to_ascii_lowercase()
}

fn words(name: &str) -> Vec<String> {
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    parts.map(str::to_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_means_one_model_in_any_letter_case() {
        let all: Vec<(&str, String)> =
            shipped().flat_map(|m| aliases(m).into_iter().map(move |alias| (m, alias))).collect();
        for (model, alias) in &all {
            for name in [alias.clone(), alias.to_lowercase(), alias.to_uppercase(), alias.replace([' ', '_'], "-")] {
                assert_eq!(named(&name), Some(*model), "{name}");
            }
            let other = all.iter().find(|(other, second)| other != model && plain(second) == plain(alias));
            assert_eq!(other, None, "{alias} names two models");
        }
        for target in targets::all() {
            assert_eq!(named(target.name), of_target(target.name), "{}", target.name);
        }
    }

    #[test]
    fn gpus_are_named_by_product_and_by_architecture() {
        for (model, names) in [
            ("volta", "V100 sm_70 sm70"),
            ("turing", "T4 sm_75"),
            ("ampere", "A100 sm_80 A6000 sm_86 sm_87"),
            ("ada", "L40S sm_89 RTX-4090 rtx4090"),
            ("hopper", "H100 H200 GH200 sm_90 sm_90a sm90a SM90"),
            ("blackwell", "B200 GB200 sm_100 sm_100a B300 sm_103"),
            ("blackwell-rtx", "RTX-5090 sm_120 sm_121a GB10"),
            ("cdna1", "MI100 gfx908"),
            ("cdna2", "MI250X gfx90a"),
            ("cdna3", "MI300X gfx942 mi300a"),
            ("cdna4", "MI355X gfx950"),
            ("rdna3", "RX-7900-XTX gfx1100 8060S gfx1151"),
            ("rdna4", "RX-9070-XT gfx1201"),
            ("x86", "znver5 zen-5 Sapphire-Rapids"),
        ] {
            for name in names.split(' ') {
                assert_eq!(named(name), Some(model), "{name}");
            }
        }
        for unknown in ["", "RTX 6000", "H900", "sm_", "./hopper", "hopper.toml"] {
            assert_eq!(named(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_suggestion_is_what_an_unknown_name_may_mean() {
        for (name, expected) in [
            ("hoper", "'hopper'"),
            ("H900", "'hopper' (H100)"),
            ("NVIDIA H100 80GB HBM3", "'hopper' (H100)"),
            ("4090", "'ada' (RTX 4090)"),
            ("sm_12", "'blackwell-rtx' (sm_120a, sm_120, sm_121a, sm_121)"),
            ("RTX 6000", "'turing' (Quadro RTX 6000) or 'ada' (RTX 6000 Ada) or 'blackwell-rtx' (RTX PRO 6000)"),
            ("cdna", "'cdna1' or 'cdna2' or 'cdna3' or 'cdna4'"),
            ("gfx940", "'cdna3' (gfx942)"),
        ] {
            assert_eq!(suggested(name, &[]), expected, "{name}");
        }
        assert_eq!(
            ["cuda0", "gpu", "H900"].map(|name| suggested(name, &["cuda:0", "cpu"])),
            ["'cuda:0'", "'cpu'", "'hopper' (H100)"]
        );
    }
}
