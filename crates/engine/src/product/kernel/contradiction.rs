//! Contradictions between names of kernels and schedules.

use super::{KernelName, KernelNames, KernelRole, KernelUnit, KernelWord, Says, numbers};
use crate::{
    arithmetic::Model,
    format::Format,
    isa::{Instruction, targets},
    product::{BiasEntry, CEntry, PartJoin, Residue, Schedule, SplitK, register::Register},
};

/// Terms that one tile of a kernel may take: of so few, a split leaves one part that is not empty.
const TILE_K: usize = 128;

/// Statement of a name that an instruction, a schedule, a model or a request contradicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// The kernel's name.
    pub kernel: String,
    /// The word of the name; with `absent` in [`KernelWord`], the word that it lacks.
    pub word: String,
    /// The contradiction in a sentence.
    pub sentence: String,
    /// Source of the word's meaning.
    pub source: String,
    /// True if nothing confirms the meaning or a part of it: the name is a hint, and the bits of D decide.
    pub assumed: bool,
}

impl KernelNames {
    /// Contradictions between the names and a schedule for sums of `k` terms.
    ///
    /// `instruction` may be another one than the schedule's, if both have the same arithmetic: D cannot tell them apart, and the name
    /// can. A schedule fits if one of these instructions does.
    pub fn of_match(
        &self,
        instruction: &Instruction,
        schedule: &Schedule,
        k: usize,
    ) -> impl Iterator<Item = Contradiction> {
        self.of_instruction(instruction).chain(self.all(move |says| self.of_schedule(says, schedule, k)))
    }

    /// Contradictions between the names and an instruction.
    pub fn of_instruction(&self, instruction: &Instruction) -> impl Iterator<Item = Contradiction> {
        self.all(|says| of_instruction(says, instruction))
    }

    /// Contradictions between the names and a model that covers none of their targets.
    pub fn of_model(&self, model: &Model) -> impl Iterator<Item = Contradiction> {
        self.all(|says| of_model(says, model))
    }

    /// Contradictions between the names and a request, which has C and a bias or has not.
    pub fn of_request(&self, c: bool, bias: bool) -> impl Iterator<Item = Contradiction> {
        self.all(move |says| match says {
            Says::C(Some(_)) if !c => Some(("beta*C is added".into(), "no C is given".into())),
            Says::C(None) if c => Some(("no C is added".into(), "C is given".into())),
            Says::Bias(_) if !bias => Some(("a bias is added".into(), "no bias is given".into())),
            _ => None,
        })
    }

    /// The facts that `judge` finds contradicted, each with the word's statement and the case.
    fn all(&self, judge: impl Fn(&Says) -> Option<(String, String)>) -> impl Iterator<Item = Contradiction> {
        self.facts().filter_map(move |(kernel, word, says)| {
            let (said, is) = judge(says)?;
            Some(Contradiction::new(kernel, word, &said, &is))
        })
    }

    fn of_schedule(&self, says: &Says, schedule: &Schedule, k: usize) -> Option<(String, String)> {
        let SplitK { join, .. } = schedule.split;
        let parts = schedule.parts(k);
        let this = |is: String| format!("this schedule {is}");
        match says {
            Says::Split(true) if parts.len() == 1 && k > TILE_K => {
                Some(("k is split".into(), this("has one part".into())))
            }
            Says::Split(false) if parts.len() > 1 => {
                Some(("k is not split".into(), this(format!("has {} parts", parts.len()))))
            }
            Says::Partials(said) if parts.len() > 1 => {
                let rounds = matches!(join, PartJoin::Output | PartJoin::Serial);
                let format = if rounds { schedule.output.format } else { register(schedule)? };
                // A sum that the unit gives in the format loses nothing by rounding to it.
                let same = format == *said || !rounds && schedule.instruction.d == *said;
                (!same).then(|| (format!("parts are kept in {said}"), this(format!("keeps them in {format}"))))
            }
            Says::Joined(said) if parts.len() > 1 => {
                let format = if join == PartJoin::Serial { schedule.output.format } else { register(schedule)? };
                (format != *said)
                    .then(|| (format!("parts are added in {said}"), this(format!("adds them in {format}"))))
            }
            Says::Promotion(said) => {
                // A promotion at the end of a part changes nothing.
                let longest = parts.iter().map(|part| part.iter().map(ExactSizeIterator::len).sum()).max().unwrap_or(0);
                let seen = |promote: Option<usize>| promote.filter(|promote| *promote < longest);
                let is = schedule.promote.map_or_else(|| "does not promote".into(), |k| format!("promotes every {k}"));
                let words =
                    || said.map_or_else(|| "sums are not promoted".into(), |k| format!("sums are promoted every {k}"));
                (seen(*said) != seen(schedule.promote)).then(|| (words(), this(is)))
            }
            Says::TileK(said) => {
                // The slab is seen only where a short one comes first.
                let short = parts.iter().flatten().any(|piece| !piece.len().is_multiple_of(schedule.slab));
                let seen = schedule.residue == Residue::First && short && *said != schedule.slab;
                seen.then(|| (format!("k is taken {said} at a time"), this(format!("has slabs of {}", schedule.slab))))
            }
            Says::Slices(said) if *said > 1 && schedule.accumulators.count != *said => Some((
                format!("{said} warps sum parts of a tile's k"),
                this(match schedule.accumulators.count {
                    1 => "has one accumulator".into(),
                    count => format!("has {count} accumulators"),
                }),
            )),
            // With a reduction this is the format of the parts.
            Says::Output(said) if !self.has(KernelRole::Reduction) && *said != schedule.output.format => {
                Some((format!("D is in {said}"), this(format!("has D in {}", schedule.output.format))))
            }
            Says::C(Some(said)) if *said != schedule.c => {
                let place = |entry| match entry {
                    CEntry::Start => "at the start",
                    CEntry::End => "at the end",
                    CEntry::Rounded => "after rounding",
                };
                Some((format!("C is added {}", place(*said)), this(format!("adds C {}", place(schedule.c)))))
            }
            Says::Bias(said) => {
                // Rounding to the register's own format changes nothing.
                let unrounded = register(schedule) == Some(schedule.output.format);
                let same = |entry| match entry {
                    BiasEntry::First => BiasEntry::End,
                    BiasEntry::Rounded if unrounded => BiasEntry::End,
                    entry => entry,
                };
                let place = |entry| match entry {
                    BiasEntry::End => "before D is rounded",
                    BiasEntry::Rounded => "to the rounded D",
                    BiasEntry::First => "to the first part",
                    BiasEntry::Start => "at the start",
                };
                (same(*said) != same(schedule.bias)).then(|| {
                    (format!("the bias is added {}", place(*said)), this(format!("adds it {}", place(schedule.bias))))
                })
            }
            _ => None,
        }
    }
}

impl Contradiction {
    /// The contradiction as a note.
    pub fn note(&self) -> String {
        let assumed = if self.assumed { ". The meaning of the word is assumed" } else { "" };
        format!("The kernel's name does not fit D: {}{assumed}.", self.sentence.trim_end_matches('.'))
    }

    fn new(kernel: &KernelName, word: &KernelWord, said: &str, is: &str) -> Contradiction {
        Contradiction {
            kernel: kernel.name.clone(),
            word: word.word.clone(),
            sentence: format!("{} says that {said}; {is}", word.quoted()),
            source: word.source.clone(),
            assumed: word.is_assumed(),
        }
    }
}

/// The format of a schedule's register.
fn register(schedule: &Schedule) -> Option<&'static Format> {
    Register::of(schedule.instruction.d).map(Register::format)
}

fn of_instruction(says: &Says, instruction: &Instruction) -> Option<(String, String)> {
    let i = instruction;
    match says {
        Says::Unit(KernelUnit::Fma) if i.k > 1 => {
            Some(("there is no matrix instruction".into(), format!("{i} is one")))
        }
        Says::Unit(unit) if *unit != KernelUnit::Fma && i.family() != unit.name() => {
            Some((format!("the instruction is {}", unit.name()), format!("{i} is not")))
        }
        Says::Shape([m, n, k]) => {
            // The n of wgmma and tcgen05, and the m of the latter, change no bits, and one name stands for all.
            let names_shape = ["mma", "wmma"].contains(&i.family());
            let same = i.k == *k && (!names_shape || [i.m, i.n] == [*m, *n]);
            (!same).then(|| (format!("the instruction is {m} x {n} x {k}"), format!("{i} is not")))
        }
        Says::Operands([a, b]) => {
            // A library that stores D by column calls A what the caller calls B.
            let fits = |a, b| takes(i.a, a) && takes(i.b, b);
            let said = if a == b { a.to_string() } else { format!("{a} and {b}") };
            (!fits(*a, *b) && !fits(*b, *a))
                .then(|| (format!("the operands are {said}"), format!("{i} has {} and {}", i.a, i.b)))
        }
        Says::Accumulator(format) if *format != i.d => {
            Some((format!("sums are in {format}"), format!("{i} has {}", i.d)))
        }
        _ => None,
    }
}

/// True if an instruction's operand can be the named one: f32 may be multiplied as tf32.
fn takes(format: &Format, named: &Format) -> bool {
    format == named || named.name == "f32" && format.name == "tf32"
}

fn of_model(says: &Says, model: &Model) -> Option<(String, String)> {
    let Says::Target { sm, later } = says else { return None };
    if model.architectures.is_empty() {
        return None;
    }
    let numbers_of = |name: &String| targets::find(name).into_iter().flat_map(numbers).collect::<Vec<_>>();
    let fits = |number: usize| if *later { number >= *sm } else { number == *sm };
    let covered = model.architectures.iter().flat_map(numbers_of).any(fits);
    let said = if *later { format!("the kernel needs sm_{sm} or later") } else { format!("the kernel is for sm_{sm}") };
    (!covered).then(|| (said, format!("the model {} is of {}", model.name, model.architectures.join(" and "))))
}
