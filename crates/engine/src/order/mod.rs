//! The order of a sum: which terms are added together, in which order, and where c enters.
//!
//! Masks find it, after FPRev (Xie, Gao, Wang and Xue 2025, arXiv:2411.00442), generalised
//! to steps that sum any number of terms at once:
//!
//! - A mask has a huge term, its negative and a tiny term; all others are zero. If the huge terms meet first, they cancel, and the tiny
//!   term survives. If the tiny term meets a huge one first, it is lost.
//! - Three masks, in which each of three terms is the tiny one, show which two terms meet first, or that all three meet at once.
//! - The tree grows term by term. Bisection finds where a new term joins the path to a known term.
//! - Where terms of A and B cannot be far enough apart, small terms are lost next to c instead. Those that survive in pairs, or in one
//!   order only, show which are added before they meet c, and which first.
//!
//! A tree of n terms takes at most about 4 n^2 cases (n^2 / 2 for one fused step, 7 n for a chain in ascending order), and [`CHECKS`] more
//! that test the result with random terms.

mod fold;
mod masks;
mod search;
mod shape;
mod text;
mod with_c;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

pub use crate::bench::Leaf;
use crate::{
    Error, Result,
    base::named::named,
    isa::{Case, Instruction},
};
pub use fold::{Picture, picture};
pub use shape::of_program;
pub use text::{dot, drawing, entry_of_c, notation};

/// Number of random cases that test a tree.
pub const CHECKS: usize = 512;
/// Ratio of two terms, as a power of two, that no known sum keeps unless it is exact.
///
/// With less, a term may survive because its step keeps many bits: exact steps are then undecided, and a step that keeps more bits of
/// some parts may appear as two.
pub const WIDE: i32 = 64;
/// Largest number of terms of a sum whose order is searched.
pub const MOST_TERMS: usize = 1 << 16;

/// The order of a sum, as a tree whose leaves are the terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// A term.
    Leaf(Leaf),
    /// Parts that meet in one step.
    Meeting(Meeting),
}

/// A step of a sum: parts that are added at once and rounded together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meeting {
    /// At least two parts, c first, then by their first terms; no output shows which was summed first.
    pub parts: Vec<Order>,
    /// How the parts are added.
    pub manner: Manner,
}

named! {
    /// How the parts of a step are summed.
    pub enum Manner {
        Pair = "pair": "Two are added";
        Aligned = "fused": "Several are aligned to the largest and added at once";
        Exact = "exact": "Several are added at once without loss";
        Undecided = "undecided": "Several are added at once or in some order; the formats hold no operands that show which";
    }
}

/// The order of a sum that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundOrder {
    /// The tree.
    pub order: Order,
    /// Number of cases asked, checks included.
    pub asked: usize,
    /// Number of checks whose outcome the tree predicts.
    pub checked: usize,
    /// The checks that contradict the tree.
    pub contradictions: Vec<Contradiction>,
    /// True if c and a product of its magnitude and the other sign leave nothing; else masks tell little.
    pub cancels: bool,
    /// Smallest and largest ratio of a huge to a tiny term in the masks, as powers of two.
    pub spans: (i32, i32),
    /// Exponents between which each term alone comes out unchanged.
    pub ranges: BTreeMap<Leaf, RangeInclusive<i32>>,
}

impl FoundOrder {
    /// Number of steps whose inner order is undecided.
    pub fn undecided(&self) -> usize {
        self.order.meetings().iter().filter(|meeting| meeting.manner == Manner::Undecided).count()
    }
}

/// A case whose output contradicts the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Contradiction {
    /// The two huge terms.
    pub huge: [Leaf; 2],
    /// The tiny term.
    pub tiny: Leaf,
    /// True if the tiny term survived.
    pub kept: bool,
    /// The case.
    pub case: Case,
}

/// Finds the order in which `instruction` sums; `ask` returns the codes of D for any number of cases.
///
/// # Errors
/// A request error for an integer instruction, for formats without signs, and if a term alone does not come out unchanged; the errors
/// of `ask`.
pub fn find(instruction: &Instruction, ask: &mut dyn FnMut(&[Case]) -> Result<Vec<u64>>) -> Result<FoundOrder> {
    let i = instruction;
    if [i.a, i.b, i.c, i.d].iter().any(|format| format.is_integer()) {
        return Err(Error::request(format!("{i} sums integers exactly, so its sum has no order")));
    }
    if i.stored_k() + 1 > MOST_TERMS {
        return Err(Error::request(format!(
            "{i} sums {} terms; an order is searched for at most {MOST_TERMS}",
            i.stored_k() + 1
        )));
    }
    let mut masks = masks::Masks::new(i, ask)?;
    let order = search::tree(&mut masks)?;
    let order = with_c::decided(&mut masks, order)?;
    search::checked(masks, order)
}

impl Drop for Meeting {
    /// Not recursive, because a chain is as deep as it is long.
    fn drop(&mut self) {
        let mut open = std::mem::take(&mut self.parts);
        while let Some(order) = open.pop() {
            if let Order::Meeting(mut meeting) = order {
                open.append(&mut meeting.parts);
            }
        }
    }
}

impl Order {
    /// The tree in which `parts` meet; one part is its own tree, two are a pair unless undecided.
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

    /// True for a sum of several parts without loss.
    pub fn is_exact(&self) -> bool {
        matches!(self, Order::Meeting(meeting) if meeting.manner == Manner::Exact)
    }

    /// Its first term; c comes first.
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

    /// Visits every subtree, each before its parts.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Order)) {
        // Not recursive, because a chain is as deep as it is long.
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

    /// Largest number of steps that a term passes.
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
