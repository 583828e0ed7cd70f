//! The order within an undecided step, by terms that are lost next to a c of a wider format.
//!
//! A small term is lost next to a much larger c. Two small terms survive if they are added to each other before they meet c. If they are
//! lost, one may still be added first: if it makes c smaller than its power of two, the last place of c becomes finer, and the second
//! term survives.

use super::{
    Leaf, Manner, Order,
    masks::{MaskTerm, Masks},
};
use crate::Result;

/// Largest number of parts of a step for which all pairs are asked.
const MOST_PARTS: usize = 512;
/// Index of the leaf c.
const C: usize = 0;

/// Splits the undecided step with c into the steps that terms lost next to c show.
///
/// Parts that are added exactly, or before they meet c, stay undecided.
pub(super) fn decided(masks: &mut Masks<'_>, order: Order) -> Result<Order> {
    let (mut depth, mut at) = (0, &order);
    // Parts are sorted, so c is in the first part of every step.
    let step = loop {
        match at {
            Order::Leaf(_) => return Ok(order),
            Order::Meeting(meeting) if meeting.parts[0] == Order::Leaf(Leaf::C) => break meeting,
            Order::Meeting(meeting) => (depth, at) = (depth + 1, &meeting.parts[0]),
        }
    };
    let open = step.manner == Manner::Undecided && (3..=MOST_PARTS + 1).contains(&step.parts.len());
    let Some(steps) = (if open { steps(masks, &step.parts[1..])? } else { None }) else { return Ok(order) };
    let mut order = order;
    *first(&mut order, depth) = steps;
    Ok(order)
}

/// Follows the first parts, `depth` times.
fn first(order: &mut Order, depth: usize) -> &mut Order {
    let mut at = order;
    for _ in 0..depth {
        match at {
            Order::Meeting(meeting) => at = &mut meeting.parts[0],
            Order::Leaf(_) => break,
        }
    }
    at
}

/// The steps in which these parts are added to c; `None` if no output shows them.
fn steps(masks: &mut Masks<'_>, parts: &[Order]) -> Result<Option<Order>> {
    let leaves: Vec<usize> = parts.iter().map(|part| masks.number(part.first())).collect();
    let Some(sizes) = Sizes::find(masks, &leaves)? else { return Ok(None) };
    let Some(classes) = sizes.classes(masks, &leaves)?.filter(|classes| classes.len() > 1) else { return Ok(None) };
    let firsts: Vec<usize> = classes.iter().map(|class| leaves[class[0]]).collect();
    let Some(ranks) = sizes.ranks(masks, &firsts)? else { return Ok(None) };
    let mut sum = Order::Leaf(Leaf::C);
    for rank in ranks {
        // Parts that survive in pairs are added before they meet c, or together with it in a step that keeps a few more bits.
        let open = rank.iter().any(|class| classes[*class].len() > 1);
        let added = rank.iter().flat_map(|class| &classes[*class]).map(|part| parts[*part].clone());
        let manner = if open { Manner::Undecided } else { Manner::Aligned };
        sum = Order::meeting(std::iter::once(sum).chain(added).collect(), manner).expect("a step has parts");
    }
    Ok(Some(sum))
}

/// Exponents of c and of the small terms, and their sign.
struct Sizes {
    negative: bool,
    c: i32,
    small: i32,
}

impl Sizes {
    /// The smallest c that loses small terms, but keeps terms of twice the size that shrink c.
    fn find(masks: &mut Masks<'_>, leaves: &[usize]) -> Result<Option<Sizes>> {
        let Some(first) = leaves.first() else { return Ok(None) };
        let small = leaves.iter().map(|leaf| masks.tiny[*leaf]).max().unwrap_or(0);
        if leaves.iter().any(|leaf| masks.huge[*leaf] <= small) {
            return Ok(None);
        }
        let least = (small + 2).max(masks.tiny[C]);
        let tried = |negative| (least..=masks.huge[C]).map(move |c| Sizes { negative, c, small });
        let tried: Vec<Sizes> = [false, true].into_iter().flat_map(tried).collect();
        let entries: Vec<Vec<MaskTerm>> = tried.iter().map(|sizes| sizes.with(&[sizes.lost(*first)])).collect();
        let outputs = masks.outputs(&entries)?;
        let mut lost = tried.into_iter().zip(outputs).filter(|(sizes, output)| sizes.is_c(masks, *output));
        let Some((sizes, _)) = lost.next() else { return Ok(None) };
        let entries: Vec<Vec<MaskTerm>> = leaves
            .iter()
            .flat_map(|leaf| [sizes.with(&[sizes.lost(*leaf)]), sizes.with(&[sizes.against(*leaf)])])
            .collect();
        let outputs = masks.outputs(&entries)?;
        let all = outputs.chunks(2).all(|pair| sizes.is_c(masks, pair[0]) && !sizes.is_c(masks, pair[1]));
        Ok(all.then_some(sizes))
    }

    /// A term that is lost next to c.
    fn lost(&self, leaf: usize) -> MaskTerm {
        (leaf, self.negative, self.small)
    }

    /// A term that makes c smaller.
    fn against(&self, leaf: usize) -> MaskTerm {
        (leaf, !self.negative, self.small + 1)
    }

    /// These terms together with c.
    fn with(&self, terms: &[MaskTerm]) -> Vec<MaskTerm> {
        [&[(C, self.negative, self.c)], terms].concat()
    }

    fn is_c(&self, masks: &Masks<'_>, output: u64) -> bool {
        masks.is(output, self.negative, self.c)
    }

    /// Indices of leaves whose small terms survive in pairs; `None` if that is not transitive.
    fn classes(&self, masks: &mut Masks<'_>, leaves: &[usize]) -> Result<Option<Vec<Vec<usize>>>> {
        let pairs: Vec<(usize, usize)> =
            (0..leaves.len()).flat_map(|one| (one + 1..leaves.len()).map(move |other| (one, other))).collect();
        let entries: Vec<Vec<MaskTerm>> =
            pairs.iter().map(|(one, other)| self.with(&[self.lost(leaves[*one]), self.lost(leaves[*other])])).collect();
        let outputs = masks.outputs(&entries)?;
        let together: Vec<bool> = outputs.into_iter().map(|output| !self.is_c(masks, output)).collect();
        let mut first: Vec<usize> = (0..leaves.len()).collect();
        for ((one, other), together) in pairs.iter().zip(&together) {
            if *together {
                first[*other] = first[*other].min(first[*one]);
            }
        }
        let same = |(one, other): &(usize, usize)| first[*one] == first[*other];
        if pairs.iter().zip(together).any(|(pair, together)| same(pair) != together) {
            return Ok(None);
        }
        let mut classes: Vec<Vec<usize>> = Vec::new();
        for (place, representative) in first.iter().enumerate() {
            match classes.iter_mut().find(|class| class[0] == *representative) {
                Some(class) => class.push(place),
                None => classes.push(vec![place]),
            }
        }
        Ok(Some(classes))
    }

    /// Indices of leaves in the order in which they are added to c; `None` without such an order.
    fn ranks(&self, masks: &mut Masks<'_>, leaves: &[usize]) -> Result<Option<Vec<Vec<usize>>>> {
        let alone: Vec<Vec<MaskTerm>> = leaves.iter().map(|leaf| self.with(&[self.against(*leaf)])).collect();
        let alone = masks.outputs(&alone)?;
        let count = leaves.len();
        let pairs: Vec<(usize, usize)> = (0..count)
            .flat_map(|one| (0..count).filter(move |other| *other != one).map(move |other| (one, other)))
            .collect();
        let entries: Vec<Vec<MaskTerm>> = pairs
            .iter()
            .map(|(one, other)| self.with(&[self.against(leaves[*one]), self.lost(leaves[*other])]))
            .collect();
        let outputs = masks.outputs(&entries)?;
        // A term that makes c smaller was added before the term that then survives.
        let before = pairs.iter().zip(outputs).filter(|((one, _), output)| alone[*one] != *output);
        let mut earlier = vec![0; count];
        let mut ordered = vec![false; count * count];
        for ((one, other), _) in before {
            earlier[*other] += 1;
            ordered[one * count + other] = true;
        }
        if pairs.iter().any(|(one, other)| ordered[one * count + other] != (earlier[*one] < earlier[*other])) {
            return Ok(None);
        }
        let mut ranks: Vec<Vec<usize>> = vec![Vec::new(); count];
        earlier.into_iter().enumerate().for_each(|(place, rank)| ranks[rank].push(place));
        ranks.retain(|rank| !rank.is_empty());
        Ok(Some(ranks))
    }
}
