//! Sums of products without matrix instructions: loops, vector registers, trees, exact sums.
//!
//! A [`Schedule`](super::Schedule) is made of an instruction's steps in order of k. A [`PlainSum`] rounds products before they are added,
//! joins blocks in trees, or adds exactly. Its candidates are data: `schedules/plain.toml`.

mod evaluate;
mod table;
mod words;

pub(super) use evaluate::PlainOperands;
pub(super) use table::candidates;

use super::AccumulatorJoin;
use crate::{base::named::named, format::Format};

/// A sum of products without matrix instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainSum {
    /// Rounding of the products.
    pub products: ProductRounding,
    /// The format of products and sums.
    pub register: &'static Format,
    /// The accumulators of a block.
    pub lanes: PlainLanes,
    /// k of a block; `None`: one block.
    pub block: Option<usize>,
    /// Joining of the blocks.
    pub tree: BlockTree,
    /// The format of D, to which the sum is rounded.
    pub output: &'static Format,
}

/// Accumulators that pieces of k go to in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainLanes {
    /// Number of accumulators.
    pub count: usize,
    /// The k of a piece.
    pub piece: usize,
    /// Joining of the accumulators.
    pub join: AccumulatorJoin,
    /// Vectors of lanes of which the last is added first.
    pub unrolled: usize,
    /// The k after the last full vector.
    pub rest: LaneRest,
}

named! {
    /// Rounding of products before they are added.
    pub enum ProductRounding {
        Rounded = "rounded": "each product is rounded, then added";
        Fused = "fused": "each product is added exactly, and the sum is rounded";
        Exact = "exact": "the products of a block are added exactly, and their sum is rounded";
    }
}

named! {
    /// The k after the last full vector of lanes.
    pub enum LaneRest {
        Lanes = "lanes": "they go to the lanes";
        After = "after": "they are added to the joined lanes";
    }
}

named! {
    /// Joining of the blocks of a sum.
    pub enum BlockTree {
        Order = "order": "added in order";
        Running = "running": "each begins from the sum so far";
        Pairs = "pairs": "each with its neighbour, and these sums likewise";
        Halves = "halves": "the first half with the second, and these sums likewise";
        Middle = "middle": "k is cut in its middle, and its halves likewise, down to a block";
        Eighths = "eighths": "k is cut in its middle at a multiple of 8, and its halves likewise, down to a block";
    }
}

impl PlainSum {
    /// The simplest description of the same sum of `k` products.
    fn simplified(mut self, k: usize) -> PlainSum {
        self.block = self.block.filter(|block| *block < k);
        if self.block.is_none() {
            self.tree = BlockTree::Order;
        }
        // Blocks of this k make at most two parts.
        if self.block.is_some_and(|block| k <= 2 * block) && matches!(self.tree, BlockTree::Pairs | BlockTree::Halves) {
            self.tree = BlockTree::Order;
        }
        if self.block.is_some_and(|block| k == 2 * block) && self.tree == BlockTree::Middle {
            self.tree = BlockTree::Order;
        }
        // A block of one product is the rounded product.
        if self.block == Some(1) && self.tree == BlockTree::Order {
            (self.block, self.products) = (None, ProductRounding::Rounded);
        }
        let terms = self.block.unwrap_or(k);
        let lanes = &mut self.lanes;
        if lanes.count == 1 || self.products == ProductRounding::Exact {
            *lanes = PlainLanes::ONE;
        }
        if lanes.unrolled > 1 && terms < 2 * lanes.count * lanes.piece {
            lanes.unrolled = 1;
        }
        let vectors = |terms: usize| terms.is_multiple_of(lanes.count * lanes.piece);
        let is_full = vectors(terms) && (self.block.is_none() || vectors(k)) && self.tree != BlockTree::Eighths;
        if is_full || lanes.count == 1 {
            lanes.rest = LaneRest::Lanes;
        }
        lanes.shorten(terms);
        // Accumulators of one product, joined in order, are the order of k.
        if terms == lanes.count && lanes.piece == 1 && lanes.join == AccumulatorJoin::Order && terms > 1 {
            *lanes = PlainLanes::ONE;
            self.products = ProductRounding::Rounded;
        }
        // Blocks that are trees of pairs themselves are part of one tree.
        let is_pairs = match lanes.count {
            1 => self.block == Some(2) && self.products == ProductRounding::Rounded,
            count => self.block == Some(count) && lanes.join == AccumulatorJoin::Pairs && lanes.unrolled == 1,
        };
        if is_pairs && self.tree == BlockTree::Pairs && terms.is_power_of_two() {
            *lanes = PlainLanes::ONE;
            self.block = Some(1);
            self.products = ProductRounding::Rounded;
            return self;
        }
        // An accumulator of one product has nothing to fuse.
        if terms <= lanes.count && self.products == ProductRounding::Fused {
            self.products = ProductRounding::Rounded;
        }
        self
    }

    /// True if schedules of fused multiply-adds are the same sum.
    fn has_schedule(&self) -> bool {
        let PlainLanes { count, piece, unrolled, rest, .. } = self.lanes;
        self.products == ProductRounding::Fused
            && self.block.is_none()
            && (count == 1 || count <= 32 && piece == 1 && unrolled == 1 && rest == LaneRest::Lanes)
    }
}

impl PlainLanes {
    /// One accumulator.
    pub(super) const ONE: PlainLanes =
        PlainLanes { count: 1, piece: 1, join: AccumulatorJoin::Order, unrolled: 1, rest: LaneRest::Lanes };

    /// Leaves out accumulators that get none of at most `terms` products.
    ///
    /// They would add +0 to sums that begin from +0.
    fn shorten(&mut self, terms: usize) {
        if self.rest == LaneRest::After && terms < self.count * self.piece {
            *self = PlainLanes::ONE;
        }
        let used = terms.div_ceil(self.piece).max(1);
        if self.join == AccumulatorJoin::Order {
            self.count = self.count.min(used);
        } else if self.count.is_power_of_two() {
            self.count = self.count.min(used.next_power_of_two());
        }
        match (self.count, self.join) {
            (1, _) => *self = PlainLanes::ONE,
            (2, _) => self.join = AccumulatorJoin::Order,
            (4, AccumulatorJoin::Lanes) => self.join = AccumulatorJoin::Pairs,
            _ => {}
        }
    }
}
