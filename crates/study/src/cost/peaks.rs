//! Peaks that vendors publish: `peaks.csv`, one row for each target and operand format.
//!
//! Targets whose GPUs have different rates have no row.

use std::sync::LazyLock;

use crate::isa::Instruction;

struct Peak {
    target: &'static str,
    operands: &'static str,
    /// Dense fused multiply-adds a clock of a multiprocessor.
    multiply_adds: f64,
}

static PEAKS: LazyLock<Vec<Peak>> = LazyLock::new(|| {
    let row = |line: &'static str| {
        let mut fields = line.splitn(4, ',');
        let mut next = || fields.next().expect("peaks.csv has four fields in every row");
        let (target, operands) = (next(), next());
        Peak { target, operands, multiply_adds: next().parse().expect("peaks.csv has numbers in its third field") }
    };
    include_str!("peaks.csv").lines().skip(1).map(row).collect()
});

/// The vendor's peak on `target`, in fused multiply-adds a clock of an SM; sparse forms count twice.
pub(super) fn peak(target: &str, instruction: &Instruction) -> Option<f64> {
    let row = PEAKS.iter().find(|peak| peak.target == target && peak.operands == instruction.a.name)?;
    Some(row.multiply_adds * if instruction.is_sparse() { 2.0 } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{format, isa};

    #[test]
    fn every_peak_is_of_a_target_and_a_format() {
        for peak in PEAKS.iter() {
            assert!(
                isa::targets::find(peak.target).is_some() && format::find(peak.operands).is_ok(),
                "{}",
                peak.target
            );
        }
    }

    #[test]
    fn sparse_forms_have_twice_the_peak() {
        let of = |name| peak("sm_90a", &isa::find(name).unwrap());
        assert_eq!(of("mma.m16n8k16.f32.f16.f16.f32"), Some(2048.0));
        assert_eq!(of("mma.sp.m16n8k16.f32.f16.f16.f32"), Some(4096.0));
        assert_eq!(of("mma.m16n8k64.s32.s4.s4.s32"), None);
    }
}
