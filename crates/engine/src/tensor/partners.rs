//! Tensors that loaders fuse into one product: the projections of attention and of gated layers.

/// Names of a fused tensor, and of its parts in the order of their rows.
const FUSED: [(&[&str], &[&str]); 7] = [
    (&["qkv_proj", "Wqkv", "c_attn", "query_key_value", "linear_qkv", "qkv"], &["q_proj", "k_proj", "v_proj"]),
    (&["gate_up_proj", "linear_fc1"], &["gate_proj", "up_proj"]),
    (&["attn_qkv"], &["attn_q", "attn_k", "attn_v"]),
    (&["ffn_gate_up"], &["ffn_gate", "ffn_up"]),
    (&["w13"], &["w1", "w3"]),
    (&["query_key_value", "qkv"], &["query", "key", "value"]),
    (&["to_qkv", "qkv"], &["to_q", "to_k", "to_v"]),
];

/// Name of the product that a tensor is fused into.
///
/// Partners have the same name, and other tensors their own.
pub fn partners(tensor: &str) -> String {
    let parts: Vec<&str> = tensor.split('.').collect();
    let fused = |part: &str| FUSED.iter().find(|(_, names)| names.contains(&part)).map(|(_, names)| names.join("+"));
    parts.iter().map(|part| fused(part).unwrap_or_else(|| part.to_string())).collect::<Vec<_>>().join(".")
}

/// Names of the parts of a fused tensor, for each convention that has its name.
pub fn fused_parts(tensor: &str) -> Vec<Vec<String>> {
    let words: Vec<&str> = tensor.split('.').collect();
    let named = |part: &str, at: usize| [&words[..at], &[part], &words[at + 1..]].concat().join(".");
    let fused = FUSED.iter().flat_map(|(words_of_fused, parts)| {
        let at = words.iter().position(|word| words_of_fused.contains(word))?;
        Some(parts.iter().map(|part| named(part, at)).collect())
    });
    fused.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_lie_in_one_layer() {
        let product = |name: &str| partners(&format!("model.layers.3.self_attn.{name}.weight"));
        assert_eq!(product("q_proj"), product("v_proj"));
        assert_ne!(product("q_proj"), product("o_proj"));
        assert_ne!(product("q_proj"), partners("model.layers.4.self_attn.q_proj.weight"));
        assert_eq!(partners("blk.0.ffn_up.weight"), partners("blk.0.ffn_gate.weight"));
        assert_eq!(partners("monkey.weight"), "monkey.weight");
    }
}
