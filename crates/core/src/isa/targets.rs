//! Targets: the architectures, and the instructions that each of them has (`targets/*.toml`).
//!
//! The files are expanded when the program is built. A pattern that matches nothing, an instruction that no target has,
//! and one that a target has twice fail the build.

use std::collections::HashSet;

use super::pattern;

/// Target: an architecture that instructions are assembled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Assembler's name: `sm_90a`, `gfx942`, `znver5`.
    pub name: &'static str,
    /// Generation: `NVIDIA Hopper`.
    pub title: &'static str,
    /// Year, or year and month, in which it was announced: `2022-03`. Texts compare in the order of time.
    pub announced: &'static str,
    /// Names of GPUs or processors of the generation, in recordings and as names of its model: `H200`.
    pub gpus: &'static [&'static str],
    /// Compute capabilities that have its instructions, each with the assembler's exact name; NVIDIA only.
    pub capabilities: &'static [((i32, i32), &'static str)],
    /// Patterns of vendor, family, model and stepping by CPUID, for processors: `AuthenticAMD 26.*`.
    pub processors: &'static [&'static str],
}

/// Support of an instruction by one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Support {
    /// Name of the target: `sm_90a`, `gfx942`.
    pub architecture: &'static str,
    /// Emulation by the assembler (`convert`, `split-k`, `software`, ...); `None` for native support.
    pub emulation: Option<&'static str>,
}

impl Target {
    /// All names of it and of its GPUs: `H100`, `sm_90a`, `sm_90`.
    pub(crate) fn aliases(&self) -> Vec<String> {
        let mut names: Vec<String> = self.gpus.iter().map(|gpu| gpu.to_string()).collect();
        for name in [self.name].into_iter().chain(self.capabilities.iter().map(|(_, name)| *name)) {
            let plain = name.strip_suffix('a').filter(|plain| plain.starts_with("sm_"));
            names.extend([Some(name), plain].into_iter().flatten().map(String::from));
        }
        distinct(names)
    }

    /// True if a text names one of its GPUs, as a separate word: `NVIDIA A100-SXM4-80GB`.
    pub fn is_named_in(&self, text: &str) -> bool {
        let named = |gpu: &&str| {
            let ends = |before: Option<char>, after: Option<char>| {
                [before, after].into_iter().flatten().all(|c| !c.is_ascii_alphanumeric())
            };
            text.match_indices(*gpu)
                .any(|(at, _)| ends(text[..at].chars().last(), text[at + gpu.len()..].chars().next()))
        };
        self.gpus.iter().any(named)
    }
}

/// The names without repetitions, in the order of their first places.
pub(crate) fn distinct(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    names.into_iter().filter(|name| seen.insert(name.clone())).collect()
}

type Relation = &'static [(&'static str, &'static [Support])];

static TARGETS: &[Target] = include!(concat!(env!("OUT_DIR"), "/targets.rs"));
static MATRIX: Relation = include!(concat!(env!("OUT_DIR"), "/matrix_support.rs"));
static SCALAR: Relation = include!(concat!(env!("OUT_DIR"), "/scalar_support.rs"));

/// All targets, NVIDIA's first, ascending.
pub fn all() -> &'static [Target] {
    TARGETS
}

/// Target whose instructions the GPUs with this assembler's name have: `sm_86` for `sm_87`.
pub fn find(name: &str) -> Option<&'static Target> {
    all().iter().find(|target| target.name == name || target.capabilities.iter().any(|(_, known)| *known == name))
}

/// Target of a processor by its vendor, family, model and stepping (`AuthenticAMD 26.2.1`).
/// `None` if the processor has, by `has`, a matrix instruction that the target lacks: then a hypervisor gave it that
/// name.
pub fn named_processor(signature: &str, has: impl Fn(&str) -> bool) -> Option<&'static Target> {
    let named = |target: &&Target| target.processors.iter().any(|known| pattern::matches(known, signature));
    let target = all().iter().find(named)?;
    let lacks = |(_, support): &(&str, &[Support])| !support.iter().any(|support| support.architecture == target.name);
    let more = MATRIX.iter().filter(|row| lacks(row)).any(|(name, _)| has(name));
    (!more).then_some(target)
}

/// Processor target with the most matrix instructions, all of which the machine has by `has`.
pub fn of_instructions(has: impl Fn(&str) -> bool) -> Option<&'static Target> {
    let instructions = |target: &Target| {
        let of = |(name, support): &(&'static str, &'static [Support])| {
            support.iter().any(|support| support.architecture == target.name).then_some(*name)
        };
        MATRIX.iter().filter_map(of).collect::<Vec<_>>()
    };
    let processors = all().iter().filter(|target| !target.processors.is_empty());
    processors
        .filter(|target| instructions(target).into_iter().all(&has))
        .max_by_key(|target| instructions(target).len())
}

/// Targets of the matrix instruction with this canonical name, in the order of [`all`].
pub(super) fn matrix(name: &str) -> &'static [Support] {
    support(MATRIX, name)
}

/// Targets of the scalar instruction with this spelling, in the order of [`all`].
pub(super) fn scalar(ptx: &str) -> &'static [Support] {
    support(SCALAR, ptx)
}

fn support(relation: Relation, name: &str) -> &'static [Support] {
    let at =
        relation.binary_search_by_key(&name, |(name, _)| name).expect("every instruction of the tables has a target");
    relation[at].1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_the_target_that_names_it_unless_it_has_what_that_lacks() {
        let name = |signature: &str, has: fn(&str) -> bool| named_processor(signature, has).map(|target| target.name);
        assert_eq!(name("AuthenticAMD 26.2.1", |_| false), Some("znver5"));
        assert_eq!(name("AuthenticAMD 25.17.1", |_| false), Some("znver4"));
        assert_eq!(name("AuthenticAMD 25.1.1", |_| false), Some("haswell"));
        assert_eq!(name("GenuineIntel 6.85.11", |_| false), Some("cooperlake"));
        let has_tiles = |name: &str| name.starts_with("tdpb") && !name.contains("f8ps");
        assert_eq!(name("GenuineIntel 6.143.8", has_tiles), Some("sapphirerapids"));
        assert_eq!(name("GenuineIntel 6.85.7", has_tiles), None);
        let has_fp8 = |name: &str| name.starts_with("tdp") || name.starts_with("vdpphps");
        assert_eq!(name("GenuineIntel 19.1.0", has_fp8), Some("diamondrapids"));
        assert_eq!(name("GenuineIntel 6.143.8", has_fp8), None);
        assert_eq!(name("SomeoneElse 1.2.3", |_| true), None);
    }

    #[test]
    fn a_processor_has_the_instructions_of_a_target_whatever_it_is_called() {
        assert_eq!(of_instructions(|_| true).map(|target| target.name), Some("diamondrapids"));
        let no_fp8 = of_instructions(|name| !name.contains("f8ps"));
        assert_eq!(no_fp8.map(|target| target.name), Some("graniterapids"));
        let fused = of_instructions(|name| name.starts_with("vfmadd.") && !name.contains("f16"));
        assert!(fused.is_some_and(|target| ["haswell", "skylake-avx512"].contains(&target.name)));
        assert_eq!(of_instructions(|_| false), None);
    }
}
