//! Keys of the runs of one arithmetic: candidates with equal runs share their sums.

use crate::gemm::Run;

/// Key of a run of one arithmetic and order: its steps, as stretches at equal distances.
///
/// Steps on zeros are left out: they change nothing but the sign of a zero.
pub(super) type RunKey = Vec<Stretch>;

/// Steps at equal distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stretch {
    /// The first k of the first step, and of the last.
    ends: [usize; 2],
    /// Number of k of each.
    length: usize,
    /// Distance between the first k of neighbours; 0 for a single step.
    distance: isize,
}

pub(super) fn key(run: &Run) -> RunKey {
    let mut stretches = RunKey::new();
    for step in run.steps.iter().filter(|step| !step.is_empty()) {
        match stretches.last_mut() {
            Some(Stretch { ends, length, distance })
                if *length == step.len()
                    && (*distance == 0 || *distance == step.start.cast_signed() - ends[1].cast_signed()) =>
            {
                (*distance, ends[1]) = (step.start.cast_signed() - ends[1].cast_signed(), step.start);
            }
            _ => stretches.push(Stretch { ends: [step.start; 2], length: step.len(), distance: 0 }),
        }
    }
    stretches
}
