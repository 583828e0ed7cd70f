//! Modules that the description of a model leaves as they are, against what its file holds.

use std::collections::BTreeMap;

use super::{
    config::Config,
    tensor::{CheckpointTensor, TensorContent},
};
use crate::{array::ArrayFile, base::visible::one_line, isa::pattern};

/// The pattern of names that says the same as a pattern of modules.
/// `None` for an expression that is not read here.
///
/// It is a name with `*`, or `re:` and a regular expression of letters, `.*`, `\d+` and alternatives.
fn pattern(given: &str) -> Option<String> {
    let Some(expression) = given.strip_prefix("re:") else { return Some(given.into()) };
    // Such an expression is matched at the beginning.
    let (expression, end) = expression.strip_suffix('$').map_or((expression, "*"), |expression| (expression, ""));
    let mut read = expression.strip_prefix('^').unwrap_or(expression).to_string();
    for (from, to) in [(".*", "*"), (r"\d+", "*"), ("[0-9]+", "*"), (r"\.", "."), ("(?:", "("), ("(", "{"), (")", "}")]
    {
        read = read.replace(from, to);
    }
    let is_plain = |part: &str| !part.contains(['|', ',', '\\', '[', '+', '?', '^', '$']);
    let mut parts = read.split(['{', '}']);
    let first = parts.next().is_some_and(is_plain);
    let mut alternatives = false;
    let rest = parts.all(|part| {
        alternatives = !alternatives;
        is_plain(&part.replace('|', if alternatives { "" } else { "|" })) && !(alternatives && part.contains('*'))
    });
    (first && rest && (read.is_empty() || pattern::defect(&read).is_none())).then(|| read.replace('|', ",") + end)
}

/// Adds doubts to tensors that are on the list of what is left as it is and quantised, or the reverse.
pub(super) fn doubt(tensors: &mut [CheckpointTensor], file: &ArrayFile, config: &Config) {
    let Some((key, patterns)) = config.ignored() else { return };
    let Some(mut all) = patterns.iter().map(|given| pattern(given)).collect::<Option<Vec<_>>>() else { return };
    // Under other keys than that of compressed-tensors, the end and the beginning of a name stand for it.
    if key != "ignore" {
        all = all.iter().flat_map(|given| [given.clone(), format!("*.{given}"), format!("{given}.*")]).collect();
    }
    // Quantised modules; their names here have no numbers of layers and experts.
    let kind = |name: &str| name.split('.').filter(|part| part.parse::<u64>().is_err()).collect::<Vec<_>>().join(".");
    let quantised = tensors.iter().filter(|tensor| tensor.quantised().is_some());
    let quantised: BTreeMap<String, String> =
        quantised.map(|tensor| (kind(&tensor.name), tensor.name.clone())).collect();
    for tensor in tensors {
        let Some((module, _)) = tensor.name.rsplit_once('.') else { continue };
        let listed = all.iter().any(|given| pattern::matches(given, module));
        let near = listed || patterns.iter().any(|given| module.contains(given.trim_matches('*')));
        match tensor.content {
            TensorContent::Quantised(_) if listed => {
                let doubt = format!("{} has it under '{key}', and it is quantised", config.file());
                tensor.doubts.push(doubt);
            }
            TensorContent::Plain(array) if !near && file.arrays[array].bits > 8 && tensor.shape.len() == 2 => {
                let Some(other) = quantised.get(&kind(&tensor.name)) else { continue };
                tensor.doubts.push(format!(
                    "{} does not have it under '{key}', and it is not quantised, as '{}' is",
                    config.file(),
                    one_line(other)
                ));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_modules_match_as_their_programs_match_them() {
        for (given, name, matched) in [
            ("lm_head", "lm_head", true),
            ("lm_head", "model.lm_head", false),
            ("model.layers.0*", "model.layers.0.mlp.up_proj", true),
            ("*router*", "model.layers.3.router.gate", true),
            ("re:.*lm_head", "model.lm_head", true),
            (r"re:model\.layers\.\d+\.mlp\.gate$", "model.layers.12.mlp.gate", true),
            (r"re:model\.layers\.\d+\.mlp\.gate$", "model.layers.12.mlp.gate_proj", false),
            (r"re:.*mlp.gate", "model.layers.12.mlp.gate_proj", true),
            ("re:visual.*", "model.visual.blocks", false),
            (r"re:.*(gate|up)_proj$", "model.layers.1.mlp.up_proj", true),
            (r"re:.*(?:gate|up)_proj$", "model.layers.1.mlp.down_proj", false),
            (r"re:^lm_head$", "lm_head", true),
        ] {
            assert_eq!(pattern::matches(&super::pattern(given).unwrap(), name), matched, "{given} {name}");
        }
        for given in ["re:a|b", "re:(a.*|b)", "re:a[bc]", "re:(", "re:a+", "re:(a(b|c))"] {
            assert_eq!(super::pattern(given), None, "{given}");
        }
    }
}
