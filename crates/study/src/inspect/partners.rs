//! Tensors that loaders fuse into one: q, k and v of an attention, gate and up.

use std::collections::BTreeMap;

use super::table::CheckpointTensorRow;
use crate::{base::visible::one_line, tensor};

/// Adds a doubt to partners whose global scales differ.
pub(super) fn doubt(rows: &mut [CheckpointTensorRow]) {
    let mut partners: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        if row.global_scale.is_some() {
            partners.entry(tensor::partners(&row.tensor)).or_default().push(at);
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
