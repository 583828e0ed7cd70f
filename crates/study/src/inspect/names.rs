//! Names of the same tensors in files of Hugging Face and in GGUF.

use crate::checkpoint::{Checkpoint, CheckpointTensor};

/// Names without their ending: of GGUF, and of Hugging Face; `*` is the number of a layer.
const NAMES: &[(&str, &str)] = &[
    ("token_embd", "model.embed_tokens"),
    ("output_norm", "model.norm"),
    ("output", "lm_head"),
    ("blk.*.attn_norm", "model.layers.*.input_layernorm"),
    ("blk.*.attn_q", "model.layers.*.self_attn.q_proj"),
    ("blk.*.attn_k", "model.layers.*.self_attn.k_proj"),
    ("blk.*.attn_v", "model.layers.*.self_attn.v_proj"),
    ("blk.*.attn_output", "model.layers.*.self_attn.o_proj"),
    ("blk.*.attn_q_norm", "model.layers.*.self_attn.q_norm"),
    ("blk.*.attn_k_norm", "model.layers.*.self_attn.k_norm"),
    ("blk.*.ffn_norm", "model.layers.*.post_attention_layernorm"),
    ("blk.*.ffn_gate", "model.layers.*.mlp.gate_proj"),
    ("blk.*.ffn_up", "model.layers.*.mlp.up_proj"),
    ("blk.*.ffn_down", "model.layers.*.mlp.down_proj"),
];

/// Architectures of GGUF whose files have the rows of q and k in pairs, one of each half of a head.
const PAIRED: [&str; 1] = ["llama"];

/// The text for `*`, if a name is one of a pattern.
fn layer<'n>(pattern: &str, name: &'n str) -> Option<&'n str> {
    match pattern.split_once('*') {
        None => (pattern == name).then_some(""),
        Some((before, after)) => {
            let layer = name.strip_prefix(before)?.strip_suffix(after)?;
            (!layer.is_empty() && layer.bytes().all(|byte| byte.is_ascii_digit())).then_some(layer)
        }
    }
}

/// The name of a tensor by the other convention.
fn other(name: &str) -> Option<String> {
    let (stem, end) = name.rsplit_once('.')?;
    NAMES.iter().flat_map(|(gguf, face)| [(gguf, face), (face, gguf)]).find_map(|(from, to)| {
        let layer = layer(from, stem)?;
        Some(format!("{}.{end}", to.replacen('*', layer, 1)))
    })
}

/// The tensor of this name, or of its name by the other convention.
pub(super) fn get<'c>(checkpoint: &'c Checkpoint, name: &str) -> Option<&'c CheckpointTensor> {
    checkpoint.get(name).or_else(|| checkpoint.get(&other(name)?))
}

/// Heads of a tensor of q or k whose rows lie in pairs.
pub(super) fn heads(checkpoint: &Checkpoint, name: &str) -> Option<usize> {
    let metadata = &checkpoint.file.metadata;
    let architecture = metadata.get("general.architecture").filter(|name| PAIRED.contains(&name.as_str()))?;
    let (stem, _) = name.rsplit_once('.')?;
    let number = |key: &str| metadata.get(&format!("{architecture}.attention.{key}"))?.parse().ok();
    match (layer("blk.*.attn_q", stem), layer("blk.*.attn_k", stem)) {
        (Some(_), _) => number("head_count"),
        (_, Some(_)) => number("head_count_kv").or_else(|| number("head_count")),
        _ => None,
    }
}
