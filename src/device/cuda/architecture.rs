//! Compute capabilities and the assembler targets that go with them.

/// What a GPU's kernels are compiled for, and which column of the instruction table describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architecture {
    /// Compute capability, major and minor.
    pub capability: (i32, i32),
    /// The assembler target of exactly this GPU, `sm_90a`.
    pub target: &'static str,
    /// The architecture of the instruction table whose instructions it has, with the same lowerings.
    pub table: &'static str,
}

const fn own(capability: (i32, i32), target: &'static str) -> Architecture {
    Architecture { capability, target, table: target }
}

const fn like(capability: (i32, i32), target: &'static str, table: &'static str) -> Architecture {
    Architecture { capability, target, table }
}

/// Every compute capability with matrix instructions that the program knows.
pub const ARCHITECTURES: &[Architecture] = &[
    own((7, 0), "sm_70"),
    like((7, 2), "sm_72", "sm_70"),
    own((7, 5), "sm_75"),
    own((8, 0), "sm_80"),
    own((8, 6), "sm_86"),
    like((8, 7), "sm_87", "sm_86"),
    like((8, 8), "sm_88", "sm_86"),
    own((8, 9), "sm_89"),
    own((9, 0), "sm_90a"),
    own((10, 0), "sm_100a"),
    like((10, 1), "sm_101a", "sm_100a"),
    own((10, 3), "sm_103a"),
    like((11, 0), "sm_110a", "sm_100a"),
    own((12, 0), "sm_120a"),
    own((12, 1), "sm_121a"),
];

/// The architecture of a compute capability, or `None` if it has no matrix instructions or is not known.
pub fn of_capability(capability: (i32, i32)) -> Option<&'static Architecture> {
    ARCHITECTURES.iter().find(|a| a.capability == capability)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    #[test]
    fn every_architecture_of_the_instruction_table_belongs_to_a_capability() {
        for support in isa::all().iter().filter(|i| i.family() != "mfma").flat_map(|i| &i.support) {
            assert!(ARCHITECTURES.iter().any(|a| a.target == support.architecture), "{}", support.architecture);
        }
    }

    #[test]
    fn every_capability_has_instructions_in_the_table() {
        for a in ARCHITECTURES {
            assert!(isa::all().iter().any(|i| i.kernel.is_some() && i.support_on(a.table).is_some()), "{a:?}");
            let digits: String = a.target.chars().filter(char::is_ascii_digit).collect();
            assert_eq!(digits, format!("{}{}", a.capability.0, a.capability.1));
        }
    }
}
