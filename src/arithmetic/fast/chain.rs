//! Steps of ordinary roundings: fused multiply-adds, additions one after the other or in a tree.

use super::{
    number::Number,
    pieces::Pieces,
    stage::{Last, Stage},
    terms::Terms,
    word::{Lane, over, set_piece},
};
use crate::{arithmetic::Start, vectors::vectorised};

/// Products of a group, and how they are added.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    pub(super) order: Order,
    pub(super) start: Start,
    /// Bits after the binary point of exact products.
    pub(super) fraction_bits: i32,
    /// The rounding of each product.
    pub(super) product: Option<Stage>,
}

/// The order of additions.
#[derive(Debug, Clone)]
pub(super) enum Order {
    /// One after the other, the product not rounded.
    Fma,
    /// One after the other.
    Sequential,
    /// In a binary tree; for each group whether the next operation takes a product (else it adds the last two results).
    Pairwise(Vec<Vec<bool>>),
}

/// The operations that sum `count` products in a tree: the first half plus the second half.
pub(super) fn tree(count: usize) -> Vec<bool> {
    match count {
        0 => Vec::new(),
        1 => vec![true],
        _ => [tree(count / 2), tree(count - count / 2), vec![false]].concat(),
    }
}

impl Chain {
    /// The sum of group `number` and `from`, and what is still to be done to it.
    pub(super) fn run<'a>(
        &self,
        number: usize,
        pieces: &Pieces,
        from: &Number,
        stage: &'a Stage,
        stack: &mut Vec<Number>,
    ) -> (Number, Last<'a>) {
        match &self.order {
            Order::Fma => self.fma(pieces, from, stage),
            Order::Sequential => self.sequential(pieces, from, stage),
            Order::Pairwise(trees) => self.pairwise(pieces, &trees[number], from, stage, stack),
        }
    }

    fn product(&self, pieces: &Pieces, term: usize) -> Number {
        let exact = exact(pieces, term, self.fraction_bits);
        match &self.product {
            Some(stage) => stage.hold(&exact),
            None => exact,
        }
    }

    fn fma<'a>(&self, pieces: &Pieces, from: &Number, stage: &'a Stage) -> (Number, Last<'a>) {
        let mut sum = from.clone();
        for term in 0..pieces.terms() {
            if term > 0 {
                sum = stage.hold(&sum);
            }
            let product = exact(pieces, term, self.fraction_bits);
            sum = if term == 0 && self.start == Start::Product { product } else { stage.sum(&product, &sum) };
        }
        (sum, Last::Unrounded(stage))
    }

    fn sequential<'a>(&self, pieces: &Pieces, from: &Number, stage: &'a Stage) -> (Number, Last<'a>) {
        let mut sum = from.clone();
        let mut last = Last::Held;
        for term in 0..pieces.terms() {
            let product = self.product(pieces, term);
            if term == 0 && self.start == Start::Product {
                sum = product;
            } else {
                sum = stage.sum(&last.hold(&sum), &product);
                last = Last::Unrounded(stage);
            }
        }
        (sum, last)
    }

    fn pairwise<'a>(
        &self,
        pieces: &Pieces,
        tree: &[bool],
        from: &Number,
        stage: &'a Stage,
        stack: &mut Vec<Number>,
    ) -> (Number, Last<'a>) {
        stack.clear();
        let mut next = 0;
        for &leaf in tree {
            if leaf {
                stack.push(self.product(pieces, next));
                next += 1;
            } else if let (Some(right), Some(left)) = (stack.pop(), stack.pop()) {
                stack.push(stage.hold(&stage.sum(&left, &right)));
            }
        }
        match stack.pop() {
            Some(sum) if self.start == Start::Product => (sum, Last::Held),
            Some(sum) => (stage.sum(from, &sum), Last::Unrounded(stage)),
            None => (from.clone(), Last::Held),
        }
    }
}

vectorised! {
    /// The exact products of one term; significands together have `fraction_bits` after the binary point.
    fn exact(pieces: &Pieces<'_>, term: usize, fraction_bits: i32) -> Number {
        let mut number = Number::ZERO;
        for at in 0..pieces.count {
            let factors = pieces.factors(at);
            let value: Lane<i64> = factors.value(term);
            let exponent = Terms::<i64>::exponent(&factors, term);
            set_piece(&mut number.magnitude, at, &over(&value, i64::unsigned_abs));
            set_piece(&mut number.negative, at, &factors.negative(term));
            set_piece(&mut number.exponent, at, &over(&exponent, |e| e - fraction_bits));
            if pieces.special {
                set_piece(&mut number.special, at, &factors.special(term));
            }
        }
        number
    }
}
