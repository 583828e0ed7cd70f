//! The order of a sum: which terms of a dot-product-add are summed together, one after the other or side by side, and where c
//! enters.
//!
//! The method is that of masks, after Xie, Gao, Xu and Wang, "FPRev: Revealing the Order of Floating-Point Summation"
//! (arXiv:2411.00442), generalised to steps that sum any number of terms at once. Of three terms, one is huge, one is its negative
//! and one is tiny; the rest are zero. If the huge ones meet first, they cancel, and the tiny one comes through; if the
//! tiny one meets one of them first, it is lost. Each of three terms in turn is the tiny one: that says which two of them meet
//! first, or that all three meet at once. From such answers the tree grows term by term: where the new term belongs is
//! searched on the path to a term that is there, by bisection. Where the formats of A and B hold no terms that are far enough apart, c may:
//! small terms that are lost beside it, alone, in pairs, or only in one order, show which are added before they meet it, and which first.
//!
//! A tree of n terms takes at most about 4 n^2 cases (n^2 / 2 for a step that sums all terms at once, 7 n for a chain in ascending
//! order), and a further [`CHECKS`] that test what was found with terms drawn at random.

mod ask;
mod beside_c;
#[cfg(feature = "cli")]
pub(crate) mod drawing;
mod fold;
mod masks;
mod search;
mod shape;
pub mod table;
mod text;

use std::collections::BTreeSet;

use crate::{
    Error, Result,
    isa::{Case, Instruction},
};
pub use ask::ask;
pub use fold::{Picture, picture};
pub use shape::of_program;
pub use text::{dot, drawing, notation};

/// How many cases test a tree that was found.
pub const CHECKS: usize = 512;
/// The ratio of two terms, as a power of two, of which no sum that is known keeps both unless it keeps all. Where the formats do not
/// allow it, a term that is kept may be so because its step keeps many bits: what is added without loss is undecided, and a step
/// that keeps more bits of some of its parts than of others may appear as two.
pub const WIDE: i32 = 64;
/// The most terms of a sum whose order is searched.
pub const MOST_TERMS: usize = 1 << 16;

/// A term of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Leaf {
    /// The element of C.
    C,
    /// The product with this stored k.
    Product(usize),
}

/// The order of a sum: a tree whose leaves are its terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// A term.
    Leaf(Leaf),
    /// Sums that meet in one step.
    Meeting(Meeting),
}

/// A step of a sum: what is added there at once, which is rounded, or cut, together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meeting {
    /// What meets: two parts or more, in ascending order of their first terms, c before all. (Which of two parts is summed first
    /// cannot be seen, and makes no difference: neither depends on the other.)
    pub parts: Vec<Order>,
    /// How.
    pub manner: Manner,
}

/// How the parts of a step are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Manner {
    /// Two are added.
    Pair,
    /// Several are aligned and added at once: each loses what is too small beside the largest.
    Aligned,
    /// Several are added at once without loss.
    Exact,
    /// Whether they are summed at once, or in which order, cannot be told: the formats hold no operands that would show it.
    Undecided,
}

impl Manner {
    /// The word that reports print.
    pub fn name(self) -> &'static str {
        match self {
            Manner::Pair => "pair",
            Manner::Aligned => "fused",
            Manner::Exact => "exact",
            Manner::Undecided => "undecided",
        }
    }
}

/// What was found of the order of a sum.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundOrder {
    /// The tree.
    pub order: Order,
    /// How many cases were asked, those of the checks included.
    pub asked: usize,
    /// How many cases tested the tree at the end: those whose outcome it decides.
    pub checked: usize,
    /// Of these, the ones that contradict it.
    pub contradictions: Vec<Contradiction>,
    /// The ratio of the largest to the smallest term, as a power of two: the least and the greatest that masks had.
    pub spans: (i32, i32),
}

/// A case in which a sum does not do what its tree says.
#[derive(Debug, Clone, PartialEq)]
pub struct Contradiction {
    /// The two huge terms.
    pub huge: [Leaf; 2],
    /// The tiny one.
    pub tiny: Leaf,
    /// Whether it came through.
    pub kept: bool,
    /// The case.
    pub case: Case,
}

/// Finds the order in which `instruction` sums, by asking for the outputs of cases: `ask` takes any number of them and returns the
/// codes of D.
///
/// # Errors
/// A request error: an instruction of integers, whose sums have no order; formats without signs; a term that does not come out as
/// itself where all others are zero. The errors of `ask`.
pub fn find(instruction: &Instruction, ask: &mut dyn FnMut(&[Case]) -> Result<Vec<u64>>) -> Result<FoundOrder> {
    let i = instruction;
    if [i.a, i.b, i.c, i.d].iter().any(|format| format.is_integer()) {
        return Err(Error::request(format!("{i} sums integers, exactly: its sum has no order")));
    }
    if i.stored_k() + 1 > MOST_TERMS {
        return Err(Error::request(format!("{i} sums {} terms; at most {MOST_TERMS} are searched", i.stored_k() + 1)));
    }
    let mut masks = masks::Masks::new(i, ask)?;
    let order = search::tree(&mut masks)?;
    let order = beside_c::decided(&mut masks, order)?;
    search::checked(masks, order)
}

impl Drop for Meeting {
    /// Without recursion: a chain is as deep as it is long.
    fn drop(&mut self) {
        let mut open = std::mem::take(&mut self.parts);
        while let Some(order) = open.pop() {
            if let Order::Meeting(mut meeting) = order {
                open.append(&mut meeting.parts);
            }
        }
    }
}

impl Leaf {
    /// The leaves of an instruction: c, then the products by their stored k.
    pub(crate) fn all(i: &Instruction) -> Vec<Leaf> {
        std::iter::once(Leaf::C).chain((0..i.stored_k()).map(Leaf::Product)).collect()
    }

    /// What drawings call it: `c`, or the stored k.
    pub fn name(self) -> String {
        match self {
            Leaf::C => "c".into(),
            Leaf::Product(k) => k.to_string(),
        }
    }
}

impl Order {
    /// The tree in which these meet: of one part that part; a pair whatever `manner` says of two.
    pub fn meeting(parts: Vec<Order>, manner: Manner) -> Option<Order> {
        let mut parts = parts;
        match parts.len() {
            0 => None,
            1 => parts.pop(),
            count => {
                parts.sort_by_cached_key(Order::first);
                let manner = if count == 2 && manner != Manner::Undecided { Manner::Pair } else { manner };
                Some(Order::Meeting(Meeting { parts, manner }))
            }
        }
    }

    /// The first of its terms: c before all.
    pub fn first(&self) -> Leaf {
        let mut at = self;
        loop {
            match at {
                Order::Leaf(leaf) => return *leaf,
                // Parts are sorted, so the first term is in the first.
                Order::Meeting(meeting) => at = &meeting.parts[0],
            }
        }
    }

    /// Its terms, in ascending order.
    pub fn leaves(&self) -> BTreeSet<Leaf> {
        let mut leaves = BTreeSet::new();
        self.visit(&mut |order| {
            if let Order::Leaf(leaf) = order {
                leaves.insert(*leaf);
            }
        });
        leaves
    }

    /// Calls `visit` with every subtree, each before its parts.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Order)) {
        // Chains are as deep as they are long.
        let mut open = vec![self];
        while let Some(order) = open.pop() {
            visit(order);
            if let Order::Meeting(meeting) = order {
                open.extend(meeting.parts.iter().rev());
            }
        }
    }

    /// Its steps.
    pub fn meetings(&self) -> Vec<&Meeting> {
        let mut meetings = Vec::new();
        self.visit(&mut |order| {
            if let Order::Meeting(meeting) = order {
                meetings.push(meeting);
            }
        });
        meetings
    }

    /// The most steps that a term passes.
    pub fn depth(&self) -> usize {
        let (mut open, mut deepest) = (vec![(self, 0)], 0);
        while let Some((order, depth)) = open.pop() {
            deepest = deepest.max(depth);
            if let Order::Meeting(meeting) = order {
                open.extend(meeting.parts.iter().map(|part| (part, depth + 1)));
            }
        }
        deepest
    }
}
