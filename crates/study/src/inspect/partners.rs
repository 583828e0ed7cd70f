//! Tensors that loaders fuse into one: q, k and v of an attention, gate and up.

use std::collections::BTreeMap;

use super::table::CheckpointTensorRow;
use crate::base::visible::one_line;

/// Parts of names that stand at the same place of partners.
const FUSED: [&[&str]; 6] = [
    &["q_proj", "k_proj", "v_proj"],
    &["gate_proj", "up_proj"],
    &["w1", "w3"],
    &["attn_q", "attn_k", "attn_v"],
    &["ffn_gate", "ffn_up"],
    &["to_q", "to_k", "to_v"],
];

/// The name of the tensor that a loader makes of this one and its partners.
fn fused(name: &str) -> Option<String> {
    let mut parts: Vec<&str> = name.split('.').collect();
    let (at, all) = parts
        .iter()
        .enumerate()
        .find_map(|(at, part)| FUSED.iter().find(|all| all.contains(part)).map(|all| (at, *all)))?;
    let joined = all.join("+");
    parts[at] = &joined;
    Some(parts.join("."))
}

/// Adds a doubt to partners whose global scales differ.
pub(super) fn doubt(rows: &mut [CheckpointTensorRow]) {
    let mut partners: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        if let Some(name) = fused(&row.tensor).filter(|_| row.global_scale.is_some()) {
            partners.entry(name).or_default().push(at);
        }
    }
    for all in partners.into_values() {
        let scales = |at: &usize| rows[*at].global_scale;
        let Some(other) = all.iter().find(|at| scales(at) != scales(&all[0])) else { continue };
        let (first, second) = (one_line(&rows[all[0]].tensor), one_line(&rows[*other].tensor));
        let doubt = format!(
            "the global scales of '{first}' and '{second}' differ: a loader that makes one tensor of them takes one"
        );
        for at in all {
            let before = rows[at].doubt.take();
            rows[at].doubt = Some(before.map_or(doubt.clone(), |before| format!("{before}; {doubt}")));
        }
    }
}
