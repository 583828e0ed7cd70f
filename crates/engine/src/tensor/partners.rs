//! Tensors that loaders fuse into one product: the projections of attention and of gated layers.

/// Parts of names that differ between tensors of one product.
const FUSED: [&[&str]; 7] = [
    &["q_proj", "k_proj", "v_proj"],
    &["gate_proj", "up_proj"],
    &["attn_q", "attn_k", "attn_v"],
    &["ffn_gate", "ffn_up"],
    &["w1", "w3"],
    &["query", "key", "value"],
    &["to_q", "to_k", "to_v"],
];

/// Name of the product that a tensor is fused into.
///
/// Partners have the same name, and other tensors their own.
pub fn partners(tensor: &str) -> String {
    let parts: Vec<&str> = tensor.split('.').collect();
    let fused = |part: &str| FUSED.iter().find(|names| names.contains(&part)).map(|names| names.join("+"));
    parts.iter().map(|part| fused(part).unwrap_or_else(|| part.to_string())).collect::<Vec<_>>().join(".")
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
