//! Modules that the description of a model leaves as they are, against what its file holds.

use std::collections::BTreeMap;

use super::{
    config::Config,
    tensor::{CheckpointTensor, TensorContent},
};
use crate::{array::ArrayFile, base::visible::one_line};

/// A part of a pattern.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Token {
    One(u8),
    Any,
    Run,
    Digits,
}

/// Reads a pattern; `None` for what is not read here.
///
/// It is `re:` and a regular expression of letters, `.`, `.*` and `\d+`, or a name with `*`.
fn tokens(pattern: &str) -> Option<Vec<Token>> {
    let Some(mut rest) = pattern.strip_prefix("re:") else {
        let token = |byte: u8| match byte {
            b'*' => Token::Run,
            b'?' => Token::Any,
            byte => Token::One(byte),
        };
        return Some(pattern.bytes().map(token).collect());
    };
    let mut tokens = Vec::new();
    rest = rest.strip_prefix('^').unwrap_or(rest);
    while !rest.is_empty() {
        let (token, left) = match rest.as_bytes() {
            [b'.', b'*', ..] => (Token::Run, &rest[2..]),
            [b'\\', b'd', b'+', ..] => (Token::Digits, &rest[3..]),
            [b'\\', b'.', ..] => (Token::One(b'.'), &rest[2..]),
            [b'.', ..] => (Token::Any, &rest[1..]),
            [b'$'] => return Some(tokens),
            [byte, ..] if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') => {
                (Token::One(*byte), &rest[1..])
            }
            _ => return None,
        };
        tokens.push(token);
        rest = left;
    }
    // Such an expression is matched at the beginning.
    tokens.push(Token::Run);
    Some(tokens)
}

/// True if tokens match all of a name.
fn is_match(tokens: &[Token], name: &[u8]) -> bool {
    // Places of the name that the tokens so far can end at.
    let mut places = vec![false; name.len() + 1];
    places[0] = true;
    for token in tokens {
        let mut next = vec![false; name.len() + 1];
        for at in 0..=name.len() {
            let step = at > 0 && (places[at - 1] || matches!(token, Token::Run | Token::Digits) && next[at - 1]);
            next[at] = match token {
                Token::One(byte) => at > 0 && places[at - 1] && name[at - 1] == *byte,
                Token::Any => at > 0 && places[at - 1],
                Token::Run => places[at] || step,
                Token::Digits => step && name[at - 1].is_ascii_digit(),
            };
        }
        places = next;
    }
    places[name.len()]
}

/// Adds doubts to tensors that are on the list of what is left as it is and quantised, or the reverse.
pub(super) fn doubt(tensors: &mut [CheckpointTensor], file: &ArrayFile, config: &Config) {
    let Some((key, patterns)) = config.ignored() else { return };
    let Some(all) = patterns.iter().map(|pattern| tokens(pattern)).collect::<Option<Vec<_>>>() else { return };
    // Names of modules without the numbers of layers and experts, of which one is quantised.
    let kind = |name: &str| name.split('.').filter(|part| part.parse::<u64>().is_err()).collect::<Vec<_>>().join(".");
    let quantised = tensors.iter().filter(|tensor| tensor.quantised().is_some());
    let quantised: BTreeMap<String, String> =
        quantised.map(|tensor| (kind(&tensor.name), tensor.name.clone())).collect();
    for tensor in tensors {
        let Some(module) = tensor.name.strip_suffix(".weight") else { continue };
        let listed = all.iter().any(|tokens| is_match(tokens, module.as_bytes()));
        let near = listed || patterns.iter().any(|pattern| module.contains(pattern.trim_matches('*')));
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
        for (pattern, name, matched) in [
            ("lm_head", "lm_head", true),
            ("lm_head", "model.lm_head", false),
            ("model.layers.0*", "model.layers.0.mlp.up_proj", true),
            ("*router*", "model.layers.3.router.gate", true),
            ("re:.*lm_head", "model.lm_head", true),
            (r"re:model\.layers\.\d+\.mlp\.gate$", "model.layers.12.mlp.gate", true),
            (r"re:model\.layers\.\d+\.mlp\.gate$", "model.layers.12.mlp.gate_proj", false),
            (r"re:.*mlp.gate", "model.layers.12.mlp.gate_proj", true),
            (r"re:visual.*", "model.visual.blocks", false),
        ] {
            assert_eq!(is_match(&tokens(pattern).unwrap(), name.as_bytes()), matched, "{pattern} {name}");
        }
        assert_eq!(tokens("re:.*(gate|up)_proj"), None);
    }
}
