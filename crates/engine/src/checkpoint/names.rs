//! Names of the same tensors in files of Hugging Face and in GGUF.

use super::{open::Checkpoint, tensor::CheckpointTensor};

/// Names of the same tensor without their ending, GGUF's first; `*` is the number of a layer.
const NAMES: &[&[&str]] = &[
    &["token_embd", "model.embed_tokens"],
    &["output_norm", "model.norm"],
    &["output", "lm_head"],
    &["blk.*.attn_norm", "model.layers.*.input_layernorm"],
    &["blk.*.attn_q", "model.layers.*.self_attn.q_proj"],
    &["blk.*.attn_k", "model.layers.*.self_attn.k_proj"],
    &["blk.*.attn_v", "model.layers.*.self_attn.v_proj"],
    &[
        "blk.*.attn_qkv",
        "model.layers.*.self_attn.qkv_proj",
        "transformer.h.*.self_attention.query_key_value",
        "gpt_neox.layers.*.attention.query_key_value",
        "decoder.layers.*.self_attention.linear_qkv",
    ],
    &["blk.*.attn_output", "model.layers.*.self_attn.o_proj"],
    &["blk.*.attn_q_norm", "model.layers.*.self_attn.q_norm"],
    &["blk.*.attn_k_norm", "model.layers.*.self_attn.k_norm"],
    &["blk.*.ffn_norm", "model.layers.*.post_attention_layernorm"],
    &["blk.*.ffn_gate", "model.layers.*.mlp.gate_proj"],
    &["blk.*.ffn_up", "model.layers.*.mlp.up_proj"],
    &["blk.*.ffn_gate_up", "model.layers.*.mlp.gate_up_proj", "decoder.layers.*.mlp.linear_fc1"],
    &["blk.*.ffn_down", "model.layers.*.mlp.down_proj"],
    // The experts of gpt-oss have no ending.
    &["blk.*.ffn_gate_exps.weight", "model.layers.*.mlp.experts.gate_proj"],
    &["blk.*.ffn_up_exps.weight", "model.layers.*.mlp.experts.up_proj"],
    &["blk.*.ffn_down_exps.weight", "model.layers.*.mlp.experts.down_proj"],
];

/// Architecture of GGUF whose files have the rows of q and k in pairs, one of each half of a head.
pub(super) const PAIRED: &str = "llama";

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

/// Names of a tensor by all conventions, its own first.
pub fn aliases(name: &str) -> Vec<String> {
    let (stem, end) = name.rfind('.').map_or((name, ""), |dot| name.split_at(dot));
    let named = |stem: &str, end: &str| {
        let by = |names: &&[&str]| names.iter().find_map(|from| layer(from, stem).map(str::to_string));
        let (names, layer) = NAMES.iter().find_map(|names| Some((names, by(names)?)))?;
        Some(names.iter().map(|to| to.replacen('*', &layer, 1) + end).collect::<Vec<_>>())
    };
    let others = named(name, "").or_else(|| named(stem, end)).unwrap_or_default();
    [vec![name.to_string()], others].concat()
}

/// The name of a tensor in GGUF; `None` if it has none there.
pub(super) fn gguf_name(name: &str) -> Option<String> {
    aliases(name).get(1).cloned()
}

/// Places of so many rows in pairs, one of each half of a head, by their places in halves.
///
/// `None` if heads do not divide them.
pub(super) fn pairs(heads: usize, rows: usize) -> Option<Vec<usize>> {
    let fits = heads > 0 && rows.is_multiple_of(2 * heads);
    let (head, half) = (rows / heads.max(1), rows / heads.max(1) / 2);
    fits.then(|| (0..rows).map(|row| row / head * head + 2 * (row % head % half) + row % head / half).collect())
}

/// True for q, false for k, and `None` for other tensors.
pub(super) fn is_query(name: &str) -> Option<bool> {
    let name = gguf_name(name)?;
    let (stem, _) = name.rsplit_once('.')?;
    ["blk.*.attn_q", "blk.*.attn_k"].iter().position(|pattern| layer(pattern, stem).is_some()).map(|at| at == 0)
}

impl Checkpoint {
    /// The tensor of this name, or of its name by another convention.
    pub fn by_any_name(&self, name: &str) -> Option<&CheckpointTensor> {
        aliases(name).iter().find_map(|alias| self.get(alias))
    }

    /// Places in the file of so many rows of q or k, whose heads have them in pairs.
    ///
    /// `None` if they are in order.
    pub fn unpaired(&self, name: &str, rows: usize) -> Option<Vec<usize>> {
        let metadata = &self.file.metadata;
        metadata.get("general.architecture").filter(|name| *name == PAIRED)?;
        let number = |key: &str| metadata.get(&format!("{PAIRED}.attention.{key}"))?.parse().ok();
        let heads = match is_query(name)? {
            true => number("head_count"),
            false => number("head_count_kv").or_else(|| number("head_count")),
        };
        pairs(heads?, rows)
    }
}
