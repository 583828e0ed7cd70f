//! Features of two devices side by side.

use crate::{
    Result,
    arithmetic::EvidenceKind,
    device::Device,
    features::{self, FEATURES},
    isa::Instruction,
};

/// A feature of two instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeaturePair {
    /// Instructions.
    pub instructions: [String; 2],
    /// Feature.
    pub feature: &'static str,
    /// Findings; `None` where it cannot be asked.
    pub findings: [Option<String>; 2],
    /// Kinds of evidence.
    pub evidence: [Option<EvidenceKind>; 2],
}

impl FeaturePair {
    /// True if the findings are the same.
    pub fn is_same(&self) -> bool {
        self.findings[0] == self.findings[1]
    }
}

/// Measures the features of an instruction on each of two devices; features of neither are left out.
///
/// # Errors
/// A device lacks its instruction, or fails.
pub fn features(devices: [&mut dyn Device; 2], instructions: [&Instruction; 2]) -> Result<Vec<FeaturePair>> {
    let [first, second] = devices;
    let both = [features::measure(first, instructions[0])?, features::measure(second, instructions[1])?];
    let pair = |feature: &'static features::Feature| {
        let findings = both.each_ref().map(|features| features.finding(feature.name).map(String::from));
        let evidence = both.each_ref().map(|features| features.evidence(feature.name));
        FeaturePair { instructions: instructions.map(|i| i.name.clone()), feature: feature.name, findings, evidence }
    };
    Ok(FEATURES.iter().map(pair).filter(|pair| pair.findings.iter().any(Option::is_some)).collect())
}
