//! Orders that a sum may have if masks do not decide it.
//!
//! Hardware adds blocks of products one after the other, side by side, or at once.

use crate::order::{Leaf, Manner, Meeting, Order, notation};

/// The part of an order that masks leave open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Undecided {
    /// The order in which the blocks that masks found are added.
    Blocks,
    /// The whole order: masks found no blocks.
    Products,
}

/// The part of an order that masks leave open; `None` if they decide all of it.
pub(super) fn undecided(order: &Order) -> Option<Undecided> {
    let is_block = |part: &&Order| matches!(part, Order::Meeting(_));
    let blocks: Vec<&Order> = step(order)?.parts.iter().filter(is_block).collect();
    match blocks[..] {
        [] => Some(Undecided::Products),
        // The only block begins with c, so the steps follow one another, as far as c shows.
        [before] if before.first() == Leaf::C => None,
        _ => Some(Undecided::Blocks),
    }
}

/// Largest number of products for which groups of every size are tried.
const MOST_PRODUCTS: usize = 64;

/// The other orders that a sum may have if masks leave its order open; empty if they decide it.
///
/// The first undecided step may add its parts in every usual way. The order itself stands for adding all at once, and is left out.
pub(super) fn alternatives(order: &Order) -> Vec<Order> {
    let mut all = Vec::new();
    let Some(step) = step(order) else { return all };
    let with_c = step.parts.first() == Some(&Order::Leaf(Leaf::C));
    let parts: Vec<Order> = step.parts[usize::from(with_c)..].to_vec();
    let c = with_c.then_some(Order::Leaf(Leaf::C));
    for blocks in blocks(&parts) {
        for arrangement in [at_once(&blocks, c.as_ref()), one_by_one(&blocks, c.as_ref())].concat() {
            let itself = matches!(&arrangement, Order::Meeting(meeting) if meeting.parts == step.parts);
            let alternative = replaced(order, step, &arrangement);
            if !itself && !all.contains(&alternative) {
                all.push(alternative);
            }
        }
    }
    all
}

/// The order with each sum of products merged into the step that adds it; `None` if nothing changes.
///
/// If formats reach little farther than a step keeps bits, masks see one step as two.
pub(super) fn flattened(order: &Order) -> Option<Order> {
    fn flat(order: &Order) -> Order {
        let Order::Meeting(meeting) = order else { return order.clone() };
        let is_block = |part: &Order| match part {
            Order::Meeting(block) => block.parts.iter().all(|part| matches!(part, Order::Leaf(Leaf::Product(_)))),
            Order::Leaf(_) => false,
        };
        // If all parts are sums of products, the step adds these sums to one another.
        let opens = !meeting.parts.iter().all(is_block);
        let parts = meeting.parts.iter().flat_map(|part| match part {
            Order::Meeting(block) if opens && is_block(part) => block.parts.clone(),
            part => vec![flat(part)],
        });
        Order::Meeting(Meeting { parts: parts.collect(), manner: Manner::Exact })
    }
    let flat = flat(order);
    (notation(&flat) != notation(order)).then_some(flat)
}

/// The first undecided step of more than two parts, from the last step down.
fn step(order: &Order) -> Option<&Meeting> {
    order.meetings().into_iter().find(|meeting| meeting.manner == Manner::Undecided && meeting.parts.len() > 2)
}

/// The possible blocks of these parts: the blocks that masks found, else groups of every size.
fn blocks(parts: &[Order]) -> Vec<Vec<Order>> {
    let count = parts.len();
    if !(2..=MOST_PRODUCTS).contains(&count) || parts.iter().any(|part| matches!(part, Order::Meeting(_))) {
        return vec![parts.to_vec()];
    }
    let group = |size: usize| parts.chunks(size).filter_map(|parts| joined(parts.to_vec())).collect();
    (2..count).rev().filter(|size| count.is_multiple_of(*size)).map(group).chain([parts.to_vec()]).collect()
}

/// Orders that add all blocks at once, together with c or before c is added.
fn at_once(blocks: &[Order], c: Option<&Order>) -> Vec<Order> {
    let Some(c) = c else { return joined(blocks.to_vec()).into_iter().collect() };
    let with_c = joined([std::slice::from_ref(c), blocks].concat());
    let before = joined(blocks.to_vec()).and_then(|blocks| joined(vec![c.clone(), blocks]));
    with_c.into_iter().chain(before).collect()
}

/// Orders that add one block after the other, from c on or with c at the end.
/// A block is added at once with the sum before it, or is summed first. The sum of blocks in pairs is included.
fn one_by_one(blocks: &[Order], c: Option<&Order>) -> Vec<Order> {
    let mut all = Vec::new();
    let descending: Vec<Order> = blocks.iter().rev().cloned().collect();
    for blocks in [blocks, &descending] {
        for opened in [true, false] {
            let chain = |start: Order, blocks: &[Order]| {
                blocks.iter().try_fold(start, |sum, block| match block {
                    Order::Meeting(Meeting { parts, manner }) if opened && *manner != Manner::Pair => {
                        joined([vec![sum], parts.clone()].concat())
                    }
                    _ => joined(vec![sum, block.clone()]),
                })
            };
            let last = blocks.split_first().and_then(|(first, rest)| chain(first.clone(), rest));
            match c {
                Some(c) => {
                    all.extend(chain(c.clone(), blocks));
                    all.extend(last.and_then(|sum| joined(vec![c.clone(), sum])));
                }
                None => all.extend(last),
            }
        }
    }
    all.extend(in_pairs(blocks.to_vec()).and_then(|sum| joined(c.cloned().into_iter().chain([sum]).collect())));
    all
}

/// Adds neighbours in pairs, then the sums in pairs, until one sum is left.
fn in_pairs(blocks: Vec<Order>) -> Option<Order> {
    let mut blocks = blocks;
    while blocks.len() > 1 {
        blocks = blocks.chunks(2).filter_map(|pair| joined(pair.to_vec())).collect();
    }
    blocks.pop()
}

/// One step that adds these parts and nothing else; the fit decides if the step aligns them.
fn joined(parts: Vec<Order>) -> Option<Order> {
    Order::meeting(parts, Manner::Exact)
}

/// The order with one of its steps replaced.
fn replaced(order: &Order, step: &Meeting, by: &Order) -> Order {
    match order {
        Order::Meeting(meeting) if std::ptr::eq(meeting, step) => by.clone(),
        Order::Meeting(Meeting { parts, manner }) => {
            let parts = parts.iter().map(|part| replaced(part, step, by)).collect();
            Order::Meeting(Meeting { parts, manner: *manner })
        }
        Order::Leaf(leaf) => Order::Leaf(*leaf),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn products(range: std::ops::Range<usize>) -> Vec<Order> {
        range.map(|k| Order::Leaf(Leaf::Product(k))).collect()
    }

    #[test]
    fn what_is_decided_has_no_alternatives() {
        let pair = Order::meeting(products(0..2), Manner::Pair).unwrap();
        assert!(alternatives(&pair).is_empty());
    }

    #[test]
    fn blocks_that_masks_found_are_added_in_every_usual_order() {
        let block = |range| Order::meeting(products(range), Manner::Undecided).unwrap();
        let parts = vec![Order::Leaf(Leaf::C), block(0..4), block(4..8)];
        let order = Order::meeting(parts, Manner::Undecided).unwrap();
        let notations: Vec<String> = alternatives(&order).iter().map(notation).collect();
        for wanted in ["((c + ?{0..3}) + ?{4..7})", "exact{exact{c, 0..3}, 4..7}", "(c + (?{0..3} + ?{4..7}))"] {
            assert!(notations.iter().any(|notation| notation == wanted), "{wanted} is not in {notations:?}");
        }
    }

    #[test]
    fn products_of_which_nothing_is_known_are_grouped_in_every_size() {
        let parts = [vec![Order::Leaf(Leaf::C)], products(0..8)].concat();
        let order = Order::meeting(parts, Manner::Undecided).unwrap();
        let notations: Vec<String> = alternatives(&order).iter().map(notation).collect();
        for wanted in ["exact{exact{c, 0..3}, 4..7}", "(c + exact{0..7})", "chain(c, 0..7)"] {
            assert!(notations.iter().any(|notation| notation == wanted), "{wanted} is not in {notations:?}");
        }
    }
}
