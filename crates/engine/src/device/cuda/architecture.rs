//! Compute capabilities and their assembler targets.

use std::sync::LazyLock;

use crate::isa::{Target, targets};

/// The compilation target of a GPU, and the target whose instructions it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architecture {
    /// Compute capability, major and minor.
    pub capability: (i32, i32),
    /// Assembler target of exactly this GPU: `sm_90a`.
    pub target: &'static str,
    /// Target in `targets/` with the same instructions and lowerings.
    pub table: &'static str,
}

/// Known compute capabilities with matrix instructions, from the targets.
pub static ARCHITECTURES: LazyLock<Vec<Architecture>> = LazyLock::new(|| {
    let of = |table: &'static Target| {
        let capabilities = table.capabilities.iter();
        capabilities.map(|&(capability, target)| Architecture { capability, target, table: table.name })
    };
    targets::all().iter().flat_map(of).collect()
});

/// Finds the architecture of a compute capability; `None` if unknown or without matrix instructions.
pub fn of_capability(major: i32, minor: i32) -> Option<&'static Architecture> {
    ARCHITECTURES.iter().find(|a| a.capability == (major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    #[test]
    fn every_architecture_of_the_instruction_table_belongs_to_a_capability() {
        let of_nvidia = |support: &&isa::Support| support.architecture.starts_with("sm_");
        for support in isa::all().iter().flat_map(|i| i.support).filter(of_nvidia) {
            assert!(ARCHITECTURES.iter().any(|a| a.target == support.architecture), "{}", support.architecture);
        }
    }

    #[test]
    fn every_capability_has_instructions_in_the_table() {
        for a in ARCHITECTURES.iter() {
            assert!(isa::all().iter().any(|i| i.kernel.is_some() && i.support_on(a.table).is_some()), "{a:?}");
            let digits: String = a.target.chars().filter(char::is_ascii_digit).collect();
            assert_eq!(digits, format!("{}{}", a.capability.0, a.capability.1));
        }
    }
}
