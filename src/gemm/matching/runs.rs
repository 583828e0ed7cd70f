//! What tells the runs of one arithmetic apart: candidates with equal runs share their sums.

use crate::gemm::Run;

/// What tells runs of one arithmetic and order apart: the k that its steps take, as stretches of steps that take as many, at equal distances.
/// Steps on zeros alone leave sums as they are, but for the sign of a zero.
pub(super) type RunKey = Vec<Stretch>;

/// Steps at equal distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stretch {
    /// The first k of the first step, and of the last.
    ends: [usize; 2],
    /// How many k each takes.
    length: usize,
    /// From the first k of one to that of the next; 0 of a single one.
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
